/* The names of tensors in a family's file, which is parsed but not read as a family, and those of
 * its components' families. */
#include "catalog/family_names.h"

#include "catalog/cache.h"

struct scan {
	struct al_catalog *catalog;
	const struct al_embedded_list *files;
	struct al_family_names *names; /* of each file; items NULL: not yet */
};

static void add(struct scan *scan, struct al_family_names *names, struct al_family_name name)
{
	names->items = al_grow(&scan->catalog->arena, names->items, names->n, &names->room,
		sizeof(*names->items));
	names->items[names->n++] = name;
}

static void see_names(struct scan *scan, const struct al_item *list, enum al_name_bearer bearer,
	struct al_family_names *out)
{
	al_json_each (item, list) {
		const struct al_item *name = al_json_get(item, "name");
		if (al_json_kind(name) == AL_JSON_TEXT) {
			const char *text = al_strdup(&scan->catalog->arena, name->text);
			add(scan, out, (struct al_family_name){text, bearer});
		}
		see_names(scan, al_json_get(item, "stored"), AL_NAME_STORED, out);
	}
}

static void scan_family(struct scan *scan, size_t index);

/* A component's names are its family's. */
static void see_component(struct scan *scan, const struct al_item *component,
	struct al_family_names *out)
{
	const struct al_item *family = al_json_get(component, "family");
	const struct al_embedded *file = al_json_kind(family) == AL_JSON_TEXT
		? al_embedded_find(scan->files, family->text)
		: NULL;

	if (!file)
		return;
	const size_t index = (size_t)(file - scan->files->files);
	scan_family(scan, index);
	for (size_t i = 0; i < scan->names[index].n; i++)
		add(scan, out, scan->names[index].items[i]);
}

static void scan_family(struct scan *scan, size_t index)
{
	struct al_family_names *out = &scan->names[index];
	AL_JSON(doc);

	if (out->items
		|| !al_catalog_family_document(scan->catalog, scan->files->files[index].name, &doc,
			NULL))
		return;
	see_names(scan, al_json_get(doc.root, "modules"), AL_NAME_OTHER, out);
	see_names(scan, al_json_get(doc.root, "tensors"), AL_NAME_TENSOR, out);
	al_json_each (component, al_json_get(doc.root, "components"))
		see_component(scan, component, out);
}

const struct al_family_names *al_catalog_family_names(struct al_catalog *catalog)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);
	struct scan scan = {.catalog = catalog, .files = files};

	if (catalog->family_names)
		return catalog->family_names;
	scan.names = al_new_array(&catalog->arena, struct al_family_names, files->n_files);
	for (size_t i = 0; i < files->n_files; i++)
		scan_family(&scan, i);
	return catalog->family_names = scan.names;
}
