/* The standard symbols: symbols.json. */
#include "catalog/read.h"

extern const struct al_embedded_list al_embedded_symbols;

static bool parse_symbol(struct al_reader *reader, const struct cJSON *node, struct al_symbol *out,
	struct al_error *err)
{
	static const char *const keys[] = {"name", "latex", "title", "unit", "default"};

	out->unit = "";
	if (!al_json_only(reader->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(reader, node, "name", true, &out->name, err)
		|| !al_read_text(reader, node, "latex", true, &out->latex, err)
		|| !al_read_text(reader, node, "title", true, &out->title, err)
		|| !al_read_text(reader, node, "unit", false, &out->unit, err)
		|| !al_read_formula_at(reader, node, "default", false, &out->fallback, err))
		return false;
	if (!al_symbol_is_name(out->name))
		return al_json_fail(reader->doc, node, err, "\"%s\" is no symbol's name",
			out->name);
	if (out->fallback)
		out->fallback_origin = al_format(reader->arena, "default %s",
			al_formula_source(out->fallback));
	return true;
}

/* A default may use the symbols before it, so that no chain of defaults can come back to itself. */
bool al_symbols_parse(struct al_arena *arena, const struct al_json *doc, struct al_symbols *out,
	struct al_error *err)
{
	struct al_reader reader;

	if (!al_json_expect(doc, doc->root, AL_JSON_ARRAY, err))
		return false;
	al_reader_init(&reader, arena, doc, NULL);
	*out = (struct al_symbols){0};
	out->items = al_new_array(arena, struct al_symbol, al_json_size(doc->root));
	al_json_each (node, doc->root) {
		struct al_symbol *symbol = &out->items[out->n];
		if (!parse_symbol(&reader, node, symbol, err))
			return false;
		al_reader_know(&reader, symbol->name);
		out->n++;
	}
	out->names = reader.symbols;
	return true;
}

bool al_symbols_load(struct al_arena *arena, struct al_symbols *out, struct al_error *err)
{
	const struct al_embedded *file = &al_embedded_symbols.files[0];
	struct al_json doc;

	if (!al_json_parse(&doc, "symbols.json", file->text, file->length, err))
		return false;
	bool ok = al_symbols_parse(arena, &doc, out, err);
	al_json_finish(&doc);
	return ok;
}
