/* list: what is built in, by kind. */
#include "answer/session.h"

#include "catalog/family.h"
#include "catalog/gpu.h"
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
		"print the JSON definition of NAME", .shows_all = true),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {rows, 0}, {NULL, 0}};

/* ---- devices and symbols: one file has them all ---- */

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
	{AL_SHOW(struct al_symbol, title, NULL)},
	{AL_SHOW(struct al_symbol, unit, NULL)},
	{{.key = "default"}, .get = get_default},
	AL_FIELDS_END,
};

/* The summary: "24 symbols; not given, n_kv_heads is n_heads, d_head is d_model/n_heads." */
static bool list_symbols(struct al_session *session, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "symbols", symbol_fields, 0, "%s", "");
	const char *defaults = "";
	size_t n;
	const struct al_symbol *symbols = al_catalog_symbols(session->catalog, &n);

	(void)err;
	for (size_t i = 0; i < n; i++) {
		al_table_add_record(table, &symbols[i]);
		if (symbols[i].fallback)
			defaults = al_format(&session->arena, "%s%s %s is %s", defaults,
				*defaults ? "," : "", symbols[i].name,
				al_formula_source(symbols[i].fallback));
	}
	al_session_claim(session,
		al_format(&session->arena,
			AL_CLAIM_LEAD "All formulas share %s symbols; by default%s.",
			al_claim_count(&session->arena, "symbols", (int64_t)n), defaults));
	return true;
}

static const struct al_table_field device_fields[] = {
	{AL_SHOW_KEY(struct al_gpu, name, "Device")},
	{AL_SHOW(struct al_gpu, also, "Also")},
	{AL_SHOW_BYTES(struct al_gpu, memory, "Memory")},
	{AL_SHOW_BYTES(struct al_gpu, usable, "Usable")},
	{{.key = "bandwidth",
		 .title = "Bandwidth per second",
		 .unit = "B",
		 .scale = "GB",
		 .quantity = AL_QUANTITY_BYTES},
		AL_MEMBER(struct al_gpu, bandwidth)},
	{AL_SHOW_FLOPS(struct al_gpu, bf16, "BF16 per second")},
	{AL_SHOW(struct al_gpu, source, "Source")},
	AL_FIELDS_END,
};

static bool list_devices(struct al_session *session, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "devices", device_fields, 0, "%s", "");
	struct al_gpus devices;

	if (!al_gpus_load(&session->arena, &devices, err))
		return false;
	for (size_t i = 0; i < devices.n; i++)
		al_table_add_record(table, &devices.items[i]);
	al_session_claim(session,
		al_format(&session->arena,
			"--device takes " AL_CLAIM_LEAD
			"%s device names; %s means eight of that device.",
			al_claim_count(&session->arena, "devices", (int64_t)devices.n),
			al_claim_name(&session->arena, "example", "H100x8")));
	return true;
}

/* ---- files ---- */

/* What can be listed. */
static const struct kind {
	const char *name;
	const struct al_embedded_list *files; /* NULL: the catalog's */
	enum al_catalog_kind kind;
	bool (*list)(struct al_session *session, struct al_error *err); /* NULL: files */
} kinds[] = {
	{"models", .kind = AL_CATALOG_MODELS},
	{"families", .kind = AL_CATALOG_FAMILIES},
	{"variants", .kind = AL_CATALOG_VARIANTS},
	{"recipes", .kind = AL_CATALOG_RECIPES},
	{"schemes", .kind = AL_CATALOG_SCHEMES},
	{"engines", .kind = AL_CATALOG_ENGINES},
	{"scenarios", .files = &al_embedded_scenarios},
	{"profiles", .files = &al_embedded_profiles},
	{"schemas", .files = &al_embedded_schemas},
	{"devices", .list = list_devices},
	{"symbols", .list = list_symbols},
};

enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct al_embedded_list *files_of(const struct kind *kind)
{
	return kind->files ? kind->files : al_catalog_files(kind->kind);
}

/* Title and source have the same keys in every kind of file. */
struct file_record {
	const char *name, *title, *idea, *source;
};

enum { WITH_IDEA = 1 };

static const struct al_table_field file_fields[] = {
	{AL_SHOW_KEY(struct file_record, name, "Name")},
	{AL_SHOW(struct file_record, title, "Title")},
	{AL_SHOW(struct file_record, idea, "Idea"), .when = WITH_IDEA},
	{AL_SHOW(struct file_record, source, "Source")},
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
	AL_JSON(doc);

	if (!al_json_parse(&doc, file->name, file->text, file->length, err))
		return false;
	al_table_add_record(table,
		&(struct file_record){file->name, text_of(&doc, "title"), text_of(&doc, "idea"),
			text_of(&doc, "source")});
	return true;
}

/* Families of the user's own, with their files. */
static bool add_own_families(struct al_session *session, struct al_table *table,
	struct al_error *err)
{
	const struct al_family *family;

	if (!al_catalog_own_families(session->catalog, err))
		return false;
	for (size_t i = 0; (family = al_catalog_added_family(session->catalog, i)); i++)
		al_table_add_record(table,
			&(struct file_record){family->name, family->title, .source = family->file});
	return true;
}

static bool list_files(struct al_session *session, const struct kind *kind, struct al_error *err)
{
	const struct al_embedded_list *files = files_of(kind);
	struct al_table *table = al_session_table(session, kind->name, file_fields,
		!kind->files && kind->kind == AL_CATALOG_VARIANTS ? WITH_IDEA : 0, "%s", "");

	for (size_t i = 0; i < files->n_files; i++)
		if (!add_file(table, &files->files[i], err))
			return false;
	const int64_t n_built_in = (int64_t)table->n_rows;
	if (kind->kind == AL_CATALOG_FAMILIES && !kind->files
		&& !add_own_families(session, table, err))
		return false;
	al_session_claim(session,
		al_format(&session->arena,
			AL_CLAIM_LEAD "%s %s are built in; attnledger list %s --source NAME prints "
				      "the file of one.",
			al_claim_count(&session->arena, kind->name, n_built_in), kind->name,
			kind->name));
	return true;
}

/* ---- the command ---- */

static bool print_source(struct al_session *session, const struct kind *kind, const char *name,
	struct al_error *err)
{
	const struct al_embedded_list *files = files_of(kind);
	const struct al_embedded *file = AL_FIND_KNOWN(files->files, files->n_files, "name", name,
		err);

	if (!file)
		return false;
	al_text_init(&session->rendered);
	al_text_add(&session->rendered, file->text);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const char *source = ((const struct list_options *)session->options)->source;
	const char *word = session->line.words[0];
	const struct kind *kind = AL_FIND_KNOWN(kinds, N_KINDS, "list", word, err);

	if (!kind)
		return false;
	if (kind->list && source)
		return al_fail(err, AL_EINPUT, "%s have no JSON file each", kind->name);
	if (kind->list)
		return kind->list(session, err);
	return source ? print_source(session, kind, source, err) : list_files(session, kind, err);
}

const struct al_command al_command_list = {
	.words = "KIND",
	.examples = {"list variants", "list variants --source gqa > my-variant.json"},
	.options = groups,
	.options_size = sizeof(struct list_options),
	.run = run,
};
