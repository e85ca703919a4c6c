/* The names of tensors in a family's file, which is parsed but not read as a family, and those of
 * its components' families. */
#include "catalog/family_names.h"

#include "catalog/read.h"

enum { MOST_NESTED = 4 }; /* components of components */

struct scan {
	struct al_catalog *catalog;
	al_see_name *see;
	void *context;
	int depth;
};

static void see_names(const struct scan *scan, const struct al_item *list,
	enum al_name_bearer bearer)
{
	al_json_each (item, list) {
		const struct al_item *name = al_json_get(item, "name");
		if (al_json_kind(name) == AL_JSON_TEXT)
			scan->see(scan->context, name->text, strlen(name->text), bearer);
		see_names(scan, al_json_get(item, "stored"), AL_NAME_STORED);
	}
}

static void scan_family(const struct scan *scan, const char *name)
{
	const struct scan deeper = {scan->catalog, scan->see, scan->context, scan->depth + 1};
	AL_JSON(doc);

	if (!al_catalog_family_document(scan->catalog, name, &doc, NULL))
		return;
	see_names(scan, al_json_get(doc.root, "modules"), AL_NAME_OTHER);
	see_names(scan, al_json_get(doc.root, "tensors"), AL_NAME_TENSOR);
	al_json_each (component, al_json_get(doc.root, "components")) {
		const struct al_item *family = al_json_get(component, "family");
		if (al_json_kind(family) == AL_JSON_TEXT && scan->depth < MOST_NESTED)
			scan_family(&deeper, family->text);
	}
}

void al_family_each_name(struct al_catalog *catalog, const char *family, al_see_name *see,
	void *context)
{
	const struct scan scan = {catalog, see, context, 0};

	scan_family(&scan, family);
}
