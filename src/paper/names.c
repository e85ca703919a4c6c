/* Names: what a paper's labels are called in the catalog. */

#include "paper/bind.h"

static const char *find_name(enum al_catalog_kind kind, const struct al_paper_map *map,
	struct al_paper_subjects *subjects, struct al_arena *arena, const char *label)
{
	const struct al_embedded_list *list = al_catalog_files(kind);
	const char *normal = al_paper_normal(arena, label);
	const struct al_paper_name *known = map ? AL_FIND(map->names, map->n_names, normal) : NULL;

	if (known && *normal)
		return known->name;
	if (kind == AL_CATALOG_MODELS)
		return al_paper_model_word(subjects, label);
	for (size_t i = 0; *normal && i < list->n_files; i++)
		if (strcmp(al_paper_normal(arena, list->files[i].name), normal) == 0)
			return list->files[i].name;
	return NULL;
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

size_t al_paper_names(enum al_catalog_kind kind, const struct al_paper_map *map,
	struct al_paper_subjects *subjects, struct al_arena *arena, const char *label,
	const char ***names)
{
	const char *whole = find_name(kind, map, subjects, arena, label);
	const size_t n = whole ? 1 : count_words(label);

	*names = al_new_array(arena, const char *, n + 1);
	if (whole || n < 2) {
		(*names)[0] = whole;
		return whole != NULL;
	}
	for (size_t i = 0; i < n; i++) {
		(*names)[i] = find_name(kind, map, subjects, arena,
			al_paper_part(arena, label, i, n));
		if (!(*names)[i])
			return 0;
	}
	return n;
}
