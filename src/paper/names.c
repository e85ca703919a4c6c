/* Names: what a paper's labels are called in the catalogue. */
#include <string.h>

#include "paper/bind.h"

static const char *name_in_map(const struct al_paper_map *map, const char *normal)
{
	for (size_t i = 0; map && i < map->n_names; i++)
		if (strcmp(map->names[i].label, normal) == 0)
			return map->names[i].name;
	return NULL;
}

static const char *name_in(const struct al_embedded_list *list, struct al_arena *arena,
	const char *normal)
{
	for (size_t i = 0; i < list->n_files; i++)
		if (strcmp(al_paper_normal(arena, list->files[i].name), normal) == 0)
			return list->files[i].name;
	return NULL;
}

static const char *find_name(const struct al_paper_map *map, const struct al_embedded_list *list,
	struct al_arena *arena, const char *label)
{
	const char *normal = al_paper_normal(arena, label);
	const char *name = *normal ? name_in_map(map, normal) : NULL;

	return name || !*normal ? name : name_in(list, arena, normal);
}

const char *al_paper_variant(const struct al_paper_map *map, struct al_arena *arena,
	const char *label)
{
	return find_name(map, al_catalog_files(AL_CATALOG_VARIANTS), arena, label);
}

const char *al_paper_model(const struct al_paper_map *map, struct al_arena *arena,
	const char *label)
{
	return find_name(map, al_catalog_files(AL_CATALOG_MODELS), arena, label);
}

static size_t count_words(const char *text)
{
	size_t n = 0;

	for (const char *p = text; *p; p++)
		n += *p != ' ' && (p == text || p[-1] == ' ');
	return n;
}

const char *al_paper_part(struct al_arena *arena, const char *text, size_t n, size_t n_parts)
{
	if (n_parts == 1)
		return text;
	if (count_words(text) != n_parts)
		return NULL;
	const char *p = text + strspn(text, " ");
	for (; n > 0; n--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return al_strndup(arena, p, strcspn(p, " "));
}

size_t al_paper_names(al_paper_namer *name_of, const struct al_paper_map *map,
	struct al_arena *arena, const char *label, const char ***names)
{
	const char *whole = name_of(map, arena, label);
	const size_t n = whole ? 1 : count_words(label);

	*names = al_new_array(arena, const char *, n + 1);
	if (whole || n < 2) {
		(*names)[0] = whole;
		return whole != NULL;
	}
	for (size_t i = 0; i < n; i++) {
		(*names)[i] = name_of(map, arena, al_paper_part(arena, label, i, n));
		if (!(*names)[i])
			return 0;
	}
	return n;
}
