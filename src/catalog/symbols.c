/* The standard symbols: symbols.json. */
#include "catalog/read.h"

extern const struct al_embedded_list al_embedded_symbols;

/* A default may use the symbols before it, so that no chain of defaults can come back to itself. */
static bool finish_symbol(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_symbol *symbol = record;

	if (!al_symbol_is_name(symbol->name))
		return al_json_fail(reader->doc, node, err, "\"%s\" is no symbol's name",
			symbol->name);
	if (!symbol->unit)
		symbol->unit = "";
	if (symbol->fallback)
		symbol->fallback_origin = al_format(reader->arena, "default %s",
			al_formula_source(symbol->fallback));
	al_reader_know(reader, symbol->name);
	return true;
}

#define AT(member) offsetof(struct al_symbol, member)

static const struct al_field symbol_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("latex", TEXT, AT(latex)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title)), .is_required = true},
	{AL_KEY("unit", TEXT, AT(unit))},
	{AL_KEY("default", BY, AT(fallback)), .read = al_read_formula},
};

static const struct al_record symbol_record = {
	.fields = AL_FIELDS(symbol_fields),
	.size = sizeof(struct al_symbol),
	.check = finish_symbol,
};

bool al_symbols_parse(struct al_arena *arena, const struct al_json *doc, struct al_symbols *out,
	struct al_error *err)
{
	static const struct al_field symbols = {
		.type = AL_FIELD_LIST,
		.record = &symbol_record,
		.offset = offsetof(struct al_symbols, items),
		.n_offset = offsetof(struct al_symbols, n),
	};
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, NULL);
	*out = (struct al_symbols){0};
	const struct al_record_source source = al_reader_source(&reader);
	if (!al_record_read_items(&source, &symbols, doc->root, out, err))
		return false;
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
