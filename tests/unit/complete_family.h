/* The complete text of a built-in family's file, that of the family which it is "like" included. */
#pragma once

#include "base/text.h"
#include "catalog/read.h"

static inline void add_complete(struct al_text *out, const struct al_item *node)
{
	const bool is_object = node->kind == AL_JSON_OBJECT;
	const char *comma = "";

	if (node->kind == AL_JSON_TEXT)
		al_json_quote(out, node->text);
	else if (!is_object && node->kind != AL_JSON_ARRAY)
		al_text_add_bytes(out, node->place, (size_t)(node->end - node->place));
	else {
		al_text_add(out, is_object ? "{" : "[");
		for (const struct al_item *child = node->first; child; child = child->next) {
			al_text_add(out, comma);
			comma = ", ";
			if (is_object) {
				al_json_quote(out, child->key);
				al_text_add(out, ": ");
			}
			add_complete(out, child);
		}
		al_text_add(out, is_object ? "}" : "]");
	}
}

/* The caller's to free. */
static inline char *complete_family(struct al_catalog *catalog, const char *name)
{
	struct al_error err = {0};
	struct al_json doc;
	struct al_text out;

	if (!al_catalog_family_document(catalog, name, &doc, &err))
		fail_msg("%s", err.message);
	al_text_init(&out);
	add_complete(&out, doc.root);
	al_json_finish(&doc);
	return out.data;
}
