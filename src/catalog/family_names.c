/* The names of tensors in a family's file, found without parsing it: a built-in family's text is
 * searched for them, and that of its components' families. */
#include "catalog/family_names.h"

#include "catalog/catalog.h"

enum { MOST_NESTED = 4 }; /* components of components */

struct scan {
	al_see_name *see;
	void *context;
	int depth;
};

/* The text behind `key: `, if it is here; NULL: it isn't. */
static const char *value_of(const char *at, const char *key)
{
	const size_t length = strlen(key);

	if (at[1] != key[1] || strncmp(at, key, length) != 0)
		return NULL;
	at += length;
	at += strspn(at, " \t\n");
	if (*at++ != ':')
		return NULL;
	return at + strspn(at, " \t\n");
}

static void scan_family(const struct scan *scan, const char *name, size_t length);

/* The end of the list of stored tensors that begins here. */
static const char *end_of_list(const char *list)
{
	int depth = 0;

	for (const char *p = list; *p; p++) {
		depth += (*p == '[') - (*p == ']');
		if (depth == 0)
			return p;
	}
	return list;
}

static void scan_text(const struct scan *scan, const char *text)
{
	const char *end_of_stored = text, *end_of_tensors = text;

	for (const char *p = text; (p = strchr(p, '"')); p++) {
		const char *stored = value_of(p, "\"stored\"");
		const char *tensors = value_of(p, "\"tensors\"");
		const char *name = value_of(p, "\"name\""), *family = value_of(p, "\"family\"");
		const char *value = name ? name : family;
		if (stored)
			end_of_stored = end_of_list(stored);
		if (tensors)
			end_of_tensors = end_of_list(tensors);
		if (!value || *value != '"')
			continue;
		const size_t length = strcspn(value + 1, "\"");
		if (name)
			scan->see(scan->context, value + 1, length,
				p < end_of_stored	     ? AL_NAME_STORED
					: p < end_of_tensors ? AL_NAME_TENSOR
							     : AL_NAME_OTHER);
		else
			scan_family(scan, value + 1, length);
		p = value + length + 1;
	}
}

static void scan_family(const struct scan *scan, const char *name, size_t length)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	const struct scan deeper = {scan->see, scan->context, scan->depth + 1};

	for (size_t i = 0; scan->depth < MOST_NESTED && i < files->n_files; i++)
		if (strlen(files->files[i].name) == length
			&& memcmp(files->files[i].name, name, length) == 0)
			scan_text(&deeper, files->files[i].text);
}

void al_family_each_name(const char *family, al_see_name *see, void *context)
{
	const struct scan scan = {see, context, 0};

	scan_family(&scan, family, strlen(family));
}
