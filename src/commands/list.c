/* list: what is built in, by kind. */
#include "commands/command.h"

#include <string.h>

#include "ledger/ledger.h"
#include "scenario/scenario.h"
#include "report/venue/profile.h"

extern const struct al_embedded_list al_embedded_schemas; /* schemas/ */

struct list_options {
	struct al_output_options output;
	const char *source;
};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct list_options, source, "source", "NAME",
		"print a built-in's JSON, to copy"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {rows, 0}, {NULL, 0}};

enum kind {
	MODELS,
	FAMILIES,
	VARIANTS,
	RECIPES,
	SCHEMES,
	ENGINES,
	SCENARIOS,
	PROFILES,
	SCHEMAS,
	SYMBOLS,
	N_KINDS
};

static const char *const kind_names[N_KINDS] = {"models", "families", "variants", "recipes",
	"schemes", "engines", "scenarios", "profiles", "schemas", "symbols"};

static const struct al_embedded_list *files_of(enum kind kind)
{
	switch (kind) {
	case MODELS:
		return al_catalog_files(AL_CATALOG_MODELS);
	case FAMILIES:
		return al_catalog_files(AL_CATALOG_FAMILIES);
	case VARIANTS:
		return al_catalog_files(AL_CATALOG_VARIANTS);
	case RECIPES:
		return al_catalog_files(AL_CATALOG_RECIPES);
	case ENGINES:
		return al_catalog_files(AL_CATALOG_ENGINES);
	case SCHEMES:
		return al_catalog_files(AL_CATALOG_SCHEMES);
	case PROFILES:
		return &al_embedded_profiles;
	case SCHEMAS:
		return &al_embedded_schemas;
	default:
		return &al_embedded_scenarios;
	}
}

/* Title and source stand under the same keys in every kind of file. */
struct file_record {
	const char *name, *title, *source;
};

static const struct al_table_field file_fields[] = {
	{{.key = "name", .title = "Name", .is_key = true}, AL_MEMBER(struct file_record, name)},
	{{.key = "title", .title = "Title"}, AL_MEMBER(struct file_record, title)},
	{{.key = "source", .title = "Source"}, AL_MEMBER(struct file_record, source)},
	AL_FIELDS_END,
};

/* NULL where the document has no such text. */
static const char *text_of(const struct al_json *doc, const char *key)
{
	const struct al_item *node = al_json_get(doc->root, key);
	const char *text;

	return node && al_json_text(doc, node, &text, NULL) ? text : NULL;
}

static bool add_file(struct al_table *table, const struct al_embedded *file, struct al_error *err)
{
	struct al_json doc;

	if (!al_json_parse(&doc, file->name, file->text, file->length, err))
		return false;
	al_table_add_record(table,
		&(struct file_record){file->name, text_of(&doc, "title"), text_of(&doc, "source")});
	al_json_finish(&doc);
	return true;
}

static bool list_files(struct al_session *session, enum kind kind, struct al_error *err)
{
	const struct al_embedded_list *files = files_of(kind);
	struct al_table *table = al_session_table(session, kind_names[kind], "");

	al_table_add_fields(table, file_fields, 0);
	for (size_t i = 0; i < files->n_files; i++)
		if (!add_file(table, &files->files[i], err))
			return false;
	return true;
}

static void get_latex(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct al_symbol *symbol = record;

	al_cell_set_latex(table, cell, symbol->latex,
		al_format(&table->arena, "$%s$", symbol->latex));
}

static void get_default(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct al_symbol *symbol = record;

	if (symbol->fallback)
		al_cell_set_text(table, cell, al_formula_source(symbol->fallback));
}

static const struct al_table_field symbol_fields[] = {
	{{.key = "name", .is_key = true}, AL_MEMBER(struct al_symbol, name)},
	{{.key = "latex"}, .get = get_latex},
	{{.key = "title"}, AL_MEMBER(struct al_symbol, title)},
	{{.key = "unit"}, AL_MEMBER(struct al_symbol, unit)},
	{{.key = "default"}, .get = get_default},
	AL_FIELDS_END,
};

static bool list_symbols(struct al_session *session)
{
	struct al_table *table = al_session_table(session, "symbols", "");
	size_t n;
	const struct al_symbol *symbols = al_catalog_symbols(session->catalog, &n);

	al_table_add_fields(table, symbol_fields, 0);
	for (size_t i = 0; i < n; i++)
		al_table_add_record(table, &symbols[i]);
	return true;
}

/* ---- in a sentence ---- */

static const char *say_files(struct al_arena *arena, const char *kind, const struct al_table *table)
{
	return al_format(arena,
		"%zu %s are built in; attnledger list %s --source NAME prints one's file, to copy.",
		table->n_rows, kind, kind);
}

/* "24 symbols; not given, n_kv_heads is n_heads, d_head is d_model/n_heads." */
static const char *say_symbols(struct al_arena *arena, const struct al_table *table)
{
	const char *defaults = "";

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *formula = al_table_text(table, row, "default");
		if (*formula)
			defaults = al_format(arena, "%s%s %s is %s", defaults, *defaults ? "," : "",
				al_table_text(table, row, "name"), formula);
	}
	return al_format(arena,
		"%zu symbols are common to all formulas; where they aren't given,%s.",
		table->n_rows, defaults);
}

static void say(struct al_session *session, enum kind kind)
{
	const struct al_table *table = session->tables[0];

	session->style.summary = kind == SYMBOLS
		? say_symbols(&session->arena, table)
		: say_files(&session->arena, kind_names[kind], table);
}

/* ---- the command ---- */

static bool print_source(struct al_session *session, enum kind kind, const char *name,
	struct al_error *err)
{
	const struct al_embedded_list *files = files_of(kind);
	const struct al_embedded *file = kind == SYMBOLS ? NULL : al_embedded_find(files, name);

	if (kind == SYMBOLS)
		return al_fail(err, AL_EINPUT, "symbols have no file of their own");
	if (file) {
		session->raw = file->text;
		return true;
	}
	const char **names = al_new_array(&session->arena, const char *, files->n_files + 1);
	for (size_t i = 0; i < files->n_files; i++)
		names[i] = files->files[i].name;
	return al_fail_unknown(err, "name", name, names, files->n_files);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const char *word = session->line.words[0];
	const char *source = ((const struct list_options *)session->options)->source;
	int kind = al_find_name(word, kind_names, N_KINDS);

	if (kind < 0)
		return al_fail_unknown(err, "list", word, kind_names, N_KINDS);
	if (source)
		return print_source(session, (enum kind)kind, source, err);
	if (!(kind == SYMBOLS ? list_symbols(session) : list_files(session, (enum kind)kind, err)))
		return false;
	say(session, (enum kind)kind);
	return true;
}

const struct al_command al_command_list = {
	.words = "KIND",
	.examples = {"list variants", "list variants --source gqa > my-variant.json"},
	.options = groups,
	.options_size = sizeof(struct list_options),
	.least_words = 1,
	.most_words = 1,
	.run = run,
};
