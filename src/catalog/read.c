/* Reading catalog files: texts, words, symbols and formulas; and the standard symbols. */
#include "catalog/read.h"

#include "catalog/cache.h"

void al_reader_init(struct al_reader *reader, struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard)
{
	*reader = (struct al_reader){.arena = arena, .doc = doc, .prefix = ""};
	for (size_t i = 0; standard && i < standard->n; i++)
		al_reader_know(reader, standard->names[i]);
}

void al_reader_know(struct al_reader *reader, const char *symbol)
{
	*AL_APPEND(reader->arena, reader->symbols, reader->n_symbols, reader->room) = symbol;
}

struct al_record_source al_reader_source(struct al_reader *reader)
{
	return (struct al_record_source){reader->arena, reader->doc, reader};
}

bool al_read_record(struct al_reader *reader, const struct al_record *record,
	const struct al_item *object, void *out, struct al_error *err)
{
	const struct al_record_source source = al_reader_source(reader);

	return al_record_read(&source, record, object, out, err);
}

bool al_read_file(const struct al_file_kind *kind, struct al_arena *arena,
	const struct al_json *doc, const struct al_item *object, const struct al_symbols *standard,
	void **out, struct al_error *err)
{
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, kind->has_standard ? standard : NULL);
	for (size_t i = 0; i < kind->n_symbols; i++)
		al_reader_know(&reader, kind->symbols[i]);
	*out = al_arena_alloc(arena, 1, kind->record->size);
	return al_read_record(&reader, kind->record, object, *out, err);
}

bool al_read_text(struct al_reader *reader, const struct al_item *node, const char **out,
	struct al_error *err)
{
	const char *text;

	if (!al_json_text(reader->doc, node, &text, err))
		return false;
	*out = al_strdup(reader->arena, text);
	return true;
}

bool al_read_path(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	const char *text;

	if (!al_json_text(reader->doc, node, &text, err))
		return false;
	*(const char **)out = al_json_beside(reader->doc, node, reader->arena);
	return true;
}

bool al_read_value(struct al_reader *reader, const struct al_item *node, int64_t *out,
	struct al_error *err)
{
	bool is_true;

	if (al_json_kind(node) != AL_JSON_BOOLEAN)
		return al_json_whole_from(reader->doc, node, 0, out, err);
	if (!al_json_boolean(reader->doc, node, &is_true, err))
		return false;
	*out = is_true;
	return true;
}

bool al_check_names_item(const struct al_json *doc, const struct al_item *object, const char *key,
	const char *what, const void *items, size_t n, size_t size, struct al_error *err)
{
	const struct al_item *node = al_json_get(object, key);
	const char *name;

	return !node
		|| (al_json_text(doc, node, &name, err)
			&& (al_find_known(items, n, size, what, name, err)
				|| al_json_in(doc, node, err)));
}

/* ---- symbols ---- */

static bool begins_name(char c)
{
	return al_is_letter(c) || c == '_';
}

static bool is_name_byte(char c)
{
	return begins_name(c) || al_is_digit(c);
}

bool al_symbol_is_name(const char *text)
{
	static const char *const reserved[] = {"and", "or", "not", "if", "min", "max", "ceil_div",
		"mod"};

	if (!begins_name(*text))
		return false;
	for (const char *p = text; *p; p++)
		if (!is_name_byte(*p))
			return false;
	return al_find_name(text, reserved, sizeof(reserved) / sizeof(*reserved)) < 0;
}

bool al_read_symbol(struct al_reader *reader, const struct al_item *member, const char **out,
	struct al_error *err)
{
	const char *name = al_json_key(member);

	if (!al_symbol_is_name(name))
		return al_json_fail(reader->doc, member, err,
			"found \"%s\", expected a symbol's name (letters, digits and _)", name);
	*out = al_strdup(reader->arena, name);
	return true;
}

bool al_read_own_symbol(struct al_reader *reader, const struct al_item *member, const char **out,
	struct al_error *err)
{
	const char *name;

	if (!al_read_symbol(reader, member, &name, err))
		return false;
	*out = al_format(reader->arena, "%s%s", reader->prefix, name);
	return true;
}

/* ---- formulas ---- */

/* The name at `text`, as the file's formulas mean it: with the prefix where the file defines it. */
static void add_name(struct al_reader *reader, struct al_text *out, const char *text, size_t length)
{
	const char *own = al_format(reader->arena, "%s%.*s", reader->prefix, (int)length, text);

	if (al_find_name(own, reader->symbols, reader->n_symbols) >= 0)
		al_text_add(out, own);
	else
		al_text_add_bytes(out, text, length);
}

/* "d_model/n_heads" -> "vision_d_model/vision_n_heads" */
static const char *with_prefix(struct al_reader *reader, const char *formula)
{
	if (!*reader->prefix)
		return formula;
	AL_TEXT(out);
	for (const char *p = formula; *p;) {
		size_t length = 1;
		if (*p == '\'' && strchr(p + 1, '\''))
			length = (size_t)(strchr(p + 1, '\'') - p) + 1;
		while (is_name_byte(*p) && is_name_byte(p[length]))
			length++;
		if (begins_name(*p))
			add_name(reader, &out, p, length);
		else
			al_text_add_bytes(&out, p, length);
		p += length;
	}
	formula = al_strdup(reader->arena, out.data);
	return formula;
}

struct search {
	const struct al_reader *reader;
	const char *unknown;
};

static void find_unknown(void *context, const char *symbol)
{
	struct search *search = context;

	if (!search->unknown
		&& al_find_name(symbol, search->reader->symbols, search->reader->n_symbols) < 0)
		search->unknown = symbol;
}

/* The column, from 1, where a symbol first appears in a formula's text. */
static size_t column_of(const char *source, const char *symbol)
{
	size_t length = strlen(symbol);
	bool in_word = false;

	for (const char *p = source; *p; p++) {
		in_word ^= *p == '\'';
		if (!in_word && (p == source || !is_name_byte(p[-1]))
			&& strncmp(p, symbol, length) == 0 && !is_name_byte(p[length]))
			return (size_t)(p - source) + 1;
	}
	return 1;
}

static bool check_symbols(struct al_reader *reader, const struct al_formula *formula,
	struct al_error *err)
{
	struct search search = {.reader = reader};

	al_formula_each_symbol(formula, find_unknown, &search);
	if (!search.unknown)
		return true;
	al_fail_unknown(err, "symbol", search.unknown, reader->symbols, reader->n_symbols);
	return al_in(err, "column %zu", column_of(al_formula_source(formula), search.unknown));
}

bool al_read_formula(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	const struct al_formula *formula;
	const char *text;
	int64_t number;

	if (al_json_kind(node) == AL_JSON_NUMBER) {
		if (!al_json_whole_from(reader->doc, node, 0, &number, err))
			return false;
		text = al_format(reader->arena, "%lld", (long long)number);
	} else if (!al_json_text(reader->doc, node, &text, err))
		return false;
	text = with_prefix(reader, text);
	if (!al_formula_parse(reader->arena, text, AL_DIALECT_CATALOG, &formula, err)
		|| !check_symbols(reader, formula, err))
		return al_json_in(reader->doc, node, err);
	*(const struct al_formula **)out = formula;
	return true;
}

/* ---- the standard symbols ---- */

extern const struct al_embedded_list al_embedded_symbols;

/* A default may use the symbols before it, so that no chain of defaults can come back to itself. */
static bool finish_symbol(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_symbol *symbol = record;

	(void)node;
	(void)err;
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
	AL_JSON(doc);

	return al_json_parse(&doc, "symbols.json", file->text, file->length, err)
		&& al_symbols_parse(arena, &doc, out, err);
}

/* ---- a catalog's symbols ---- */

const struct al_symbol *al_catalog_symbols(struct al_catalog *catalog, size_t *n)
{
	*n = catalog->symbols.n;
	return catalog->symbols.items;
}

/* "R_K", "q_\mathrm{bits}", "\mathit{two\_words}"; one letter stays as it is. */
static const char *latex_of_name(struct al_arena *arena, const char *name)
{
	const size_t n = strlen(name);

	if (n == 1 || (n == 3 && name[1] == '_'))
		return al_strdup(arena, name);
	if (n > 3 && name[1] == '_' && !strchr(name + 2, '_'))
		return al_format(arena, "%c_\\mathrm{%s}", *name, name + 2);
	AL_TEXT(text);
	al_text_add(&text, "\\mathit{");
	for (const char *p = name; *p; p++)
		al_text_addf(&text, *p == '_' ? "\\%c" : "%c", *p);
	al_text_add(&text, "}");
	return al_strdup(arena, text.data);
}

const char *al_catalog_latex(void *context, const char *symbol)
{
	struct al_catalog *catalog = context;
	int index = al_find_name(symbol, catalog->symbols.names, catalog->symbols.n);

	return index >= 0 ? catalog->symbols.items[index].latex
			  : latex_of_name(&catalog->arena, symbol);
}
