/* The names of tensors in a family's file, which is parsed but not read as a family, and those of
 * its components' families. */
#include "catalog/family_names.h"

#include "catalog/cache.h"

enum { MOST_NESTED = 4 }; /* components of components */

struct scan {
	struct al_catalog *catalog;
	struct al_family_name *items;
	size_t n, room;
};

static void see_names(struct scan *scan, const struct al_item *list, enum al_name_bearer bearer)
{
	struct al_arena *arena = &scan->catalog->arena;

	al_json_each (item, list) {
		const struct al_item *name = al_json_get(item, "name");
		if (al_json_kind(name) == AL_JSON_TEXT) {
			scan->items = al_grow(arena, scan->items, scan->n, &scan->room,
				sizeof(*scan->items));
			scan->items[scan->n++] = (struct al_family_name){al_strdup(arena,
										 name->text),
				bearer};
		}
		see_names(scan, al_json_get(item, "stored"), AL_NAME_STORED);
	}
}

static void scan_family(struct scan *scan, const char *name, int depth)
{
	AL_JSON(doc);

	if (!al_catalog_family_document(scan->catalog, name, &doc, NULL))
		return;
	see_names(scan, al_json_get(doc.root, "modules"), AL_NAME_OTHER);
	see_names(scan, al_json_get(doc.root, "tensors"), AL_NAME_TENSOR);
	al_json_each (component, al_json_get(doc.root, "components")) {
		const struct al_item *family = al_json_get(component, "family");
		if (al_json_kind(family) == AL_JSON_TEXT && depth < MOST_NESTED)
			scan_family(scan, family->text, depth + 1);
	}
}

const struct al_family_names *al_catalog_family_names(struct al_catalog *catalog)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_FAMILIES);

	if (catalog->family_names)
		return catalog->family_names;
	struct al_family_names *out = al_new_array(&catalog->arena, struct al_family_names,
		files->n_files);
	for (size_t i = 0; i < files->n_files; i++) {
		struct scan scan = {.catalog = catalog};
		scan_family(&scan, files->files[i].name, 0);
		out[i] = (struct al_family_names){scan.items, scan.n};
	}
	return catalog->family_names = out;
}
