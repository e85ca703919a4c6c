/* explore: the formulas of all variants as a page that evaluates them where it is read. */
#include "answer/explore.h"

#include "base/embedded.h"
#include "answer/formulas.h"
#include "answer/request.h"
#include "report/page/page.h"

extern const struct al_embedded_list al_embedded_page; /* src/report/page/ */

static const char first_model[] = "llama-3-8b";
#define cached_title "Cached elements per token" /* as explorer-live.html has it */

struct explore_options {
	struct al_output_options output;
	struct al_asked asked;
	const char *page, *dtype;
};

static const struct al_option_row page_rows[] = {
	OPTION_TEXT(struct explore_options, page, "output", "FILE.html", "file to write",
		.letter = 'o', .is_required = true),
	OPTION_END,
};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct explore_options, dtype, "dtype", "NAME",
		"initial number format of the KV cache (default bf16)"),
	OPTION_END,
};

static const struct al_option_group groups[] = {{al_format_rows, 0}, {page_rows, 0},
	{al_setting_rows, offsetof(struct explore_options, asked)},
	{al_variant_rows, offsetof(struct explore_options, asked)}, {rows, 0}, {al_display_rows, 0},
	{al_only_rows, 0}, {NULL, 0}};

/* One block's; symbols that have a value where the page begins stay symbols. */
static bool fill_formulas(struct al_explore *e, struct al_table *table, struct al_error *err)
{
	struct al_basis block = e->basis;
	const struct al_formulas formulas = {.session = e->session,
		.settings = &e->settings,
		.basis = &block,
		.has_titles = true};

	block.per = AL_BASIS_MODULE;
	al_formulas_begin(&formulas, table);
	table->columns[al_table_find_column(table, "cache")].title = cached_title;
	for (size_t i = 0; i < e->request->variants.n; i++)
		if (!al_formulas_add(&formulas, table, &e->request->variants.items[i], err))
			return false;
	al_basis_note(&block, table);
	return true;
}

/* ---- where the page begins ---- */

static const enum al_measure measures[] = {AL_PARAMETERS, AL_CACHE, AL_CACHE_BYTES, AL_FLOPS};

enum { N_MEASURES = sizeof(measures) / sizeof(*measures) };

struct record {
	const char *variant;
	mpq_srcptr values[N_MEASURES]; /* NULL: not known */
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, variant, "Variant")},
	{AL_COLUMN_COUNT("parameters", "Parameters"), AL_MEMBER(struct record, values[0])},
	{AL_COLUMN_COUNT("cache", cached_title), AL_MEMBER(struct record, values[1])},
	{AL_COLUMN_BYTES("cache_bytes", "Cache"), AL_MEMBER(struct record, values[2])},
	{AL_COLUMN_FLOPS("flops", "Forward FLOPs"), AL_MEMBER(struct record, values[3])},
	AL_FIELDS_END,
};

/* As far as it is known; gives the first reason why something isn't. */
static bool measure(struct al_explore *e, struct record *record,
	const struct al_configured_variant *configured, struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(e->request, configured, false);
	bool ok = true;

	ask.settings = &e->settings;
	struct al_ledger *ledger = al_ledger_create(&e->session->arena, &ask, err);
	for (int i = 0; ledger && i < N_MEASURES; i++) {
		mpq_ptr value = al_exact_new(&e->session->arena);
		if (!al_ledger_declares(ledger, measures[i], NULL, NULL))
			continue;
		if (al_ledger_measure(ledger, measures[i], NULL, value, ok ? err : NULL))
			record->values[i] = value;
		else
			ok = false;
	}
	return ledger && ok;
}

/* A variant that lacks a symbol, or whose widths don't divide, gets the same message here as on the
 * page. */
static void fill_answer(struct al_explore *e, struct al_table *table)
{
	const struct al_configured_variants *variants = &e->request->variants;

	al_table_add_fields(table, fields, 0);
	for (size_t i = 0; i < variants->n; i++) {
		struct record record = {.variant = variants->items[i].name};
		struct al_error err;
		if (!measure(e, &record, &variants->items[i], &err))
			al_table_note(table, "unknown at the start: %s", err.message);
		al_table_add_record(table, &record);
	}
	al_basis_note(&e->request->basis, table);
	al_table_note(table,
		"sizes missing from the model use the variant's defaults (see `attnledger variants "
		"NAME`)");
	al_table_note(table, "%s, except cached elements stored in another format",
		e->request->cache.dtype->name);
}

/* ---- the page ---- */

static void add_page(struct al_explore *e, const struct al_table *formulas, const char *data)
{
	struct al_session *session = e->session;
	const struct explore_options *o = session->options;
	struct al_arena *arena = &session->arena;
	const struct al_page_head head = {.title = "Attention variants by formula",
		.summary = al_format(arena,
			"Parameters, cache and operations of %s, exact at every setting; the page "
			"begins with %s.",
			al_claim_counted(arena, e->request->variants.n, "variant"),
			al_claim_name(arena, "subject", e->request->title)),
		.own = "explorer"};
	struct al_text *out = al_files_add_path(&session->files, o->page);

	al_page_begin(out, &head);
	al_text_add(out, al_embedded_find(&al_embedded_page, "explorer-live")->text);
	al_text_addf(out, "<script type=\"application/json\" id=\"data\">%s</script>\n", data);
	al_page_begin_section(out, "formulas", "Formulas",
		"What the tensors of one attention block add up to, and what each token adds to "
		"its cache, with all options as their files have them.");
	al_page_add_table(out, &(struct al_page_table){.table = formulas, .caption = ""});
	al_page_end_section(out);
	al_page_end(out, &head, al_session_command_text(session), NULL);
}

static bool write_page(struct al_explore *e, const struct al_table *formulas, struct al_error *err)
{
	AL_TEXT(data);
	const bool ok = al_explore_add_data(e, &data, err);
	if (ok)
		add_page(e, formulas, data.data);
	return ok;
}

static const char *say(struct al_explore *e)
{
	const struct explore_options *o = e->session->options;

	const size_t n = e->request->variants.n;
	struct al_arena *arena = &e->session->arena;

	return al_format(arena,
		"%s shows the formulas of %s, starting from %s; open it in any browser.",
		al_claim_name(arena, "page", o->page), al_claim_counted(arena, n, "variant"),
		al_claim_name(arena, "subject", e->request->title));
}

static bool answer(struct al_explore *e, struct al_error *err)
{
	AL_ENDS(al_table_finish) struct al_table formulas = {0};

	if (al_settings_gives(&e->settings, "n_encoder_layers")
		|| al_settings_gives(&e->settings, "n_decoder_layers"))
		return al_fail(err, AL_EINPUT,
			"%s is an encoder-decoder; the page shows models with one stack of layers",
			e->request->name);
	al_table_init(&formulas, "formulas", "Formulas of variants");
	if (!fill_formulas(e, &formulas, err) || !write_page(e, &formulas, err))
		return false;
	fill_answer(e,
		al_session_table(e->session, "explore", NULL, 0, "Starting point: %s",
			al_request_covered(e->request, false)));
	al_session_claim(e->session, say(e));
	return true;
}

/* ---- the command ---- */

static bool open_ledgers(struct al_explore *e, struct al_error *err)
{
	const struct al_configured_variants *variants = &e->request->variants;

	e->ledgers = al_new_array(&e->session->arena, struct al_ledger *, variants->n + 1);
	for (size_t i = 0; i < variants->n; i++) {
		const struct al_ledger_ask ask = {.settings = &e->settings,
			.basis = &e->basis,
			.configured = &variants->items[i]};
		e->ledgers[i] = al_ledger_create(&e->session->arena, &ask, err);
		if (!e->ledgers[i])
			return false;
	}
	return true;
}

static bool explore(struct al_explore *e, struct al_error *err)
{
	const struct explore_options *o = e->session->options;

	if (e->request->basis.per == AL_BASIS_WHOLE)
		return al_fail(err, AL_EINPUT,
			"--basis per=whole: the page shows only attention; use per=module or "
			"per=model");
	e->basis = e->request->basis;
	e->basis.per = AL_BASIS_MODEL;
	al_settings_init(&e->settings, e->session->catalog);
	al_settings_merge(&e->settings, &e->request->settings);
	al_arena_defer(&e->session->arena, al_settings_finish, &e->settings);
	return al_request_cache_format(e->request, o->dtype, err) && open_ledgers(e, err)
		&& answer(e, err);
}

static bool run(struct al_session *session, struct al_error *err)
{
	static const char *const all[] = {"all"};
	const struct explore_options *o = session->options;
	const char *word = al_session_word(session, 0);
	struct al_asked asked = o->asked;

	if (!al_names_variants(&asked))
		asked.variants = (struct al_texts){all, 1};
	asked.keeps_all = true;
	struct al_explore *e = al_new(&session->arena, struct al_explore);
	e->session = session;
	e->request = al_ask_request(session, &asked, word ? word : first_model, false, err);
	return e->request && explore(e, err);
}

const struct al_command al_command_explore = {
	.words = "[MODEL]",
	.examples = {"explore -o explorer.html",
		"explore deepseek-v3 --variant all,./mine.json -o explorer.html"},
	.options = groups,
	.options_size = sizeof(struct explore_options),
	.run = run,
};
