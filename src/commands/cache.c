/* cache: what decoding caches, by kind of layer, per token and for sequences. */
#include "commands/cache.h"

#include "base/number.h"
#include "commands/explain.h"
#include "commands/page.h"
#include "commands/request.h"
#include "ledger/infer.h"

struct cache_options {
	struct al_output_options output;
	struct al_asked asked;
	const char *dtype;
	int64_t tp;
	bool is_whole, explains;
};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct cache_options, dtype, "dtype", "NAME",
		"number format of the KV cache: f32, bf16, fp8, q8_0, q4_k, mxfp4 ... (default: as "
		"the model's files say, or else bf16)"),
	OPTION_COUNT(struct cache_options, tp, "tp", "N",
		"tensor-parallel devices: what one of them holds", .fallback = 1, .least = 1),
	WHOLE_ROW(struct cache_options, is_whole),
	EXPLAIN_ROW(struct cache_options, explains),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct cache_options, asked)},
	{al_variant_rows, offsetof(struct cache_options, asked)},
	{al_engine_rows, offsetof(struct cache_options, asked)}, {rows, 0}, {NULL, 0}};

struct answer {
	struct al_session *session;
	const struct cache_options *options;
	struct al_table *table, *explanations; /* explanations NULL: not asked for */
	bool shows_model, shows_variant, is_noted;
	const struct al_dtype *first; /* the first model's format; NULL: none was answered */
	bool has_formats; /* another model's is another one */
	/* of the request that is being answered: */
	struct al_request *request;
	const struct al_configured_variant *configured;
	int64_t batch, seq, source_seq; /* seq 0: not given */
};

/* One row. */
struct sum {
	int64_t modules, ends_at;
	bool is_known; /* what the engine keeps */
	mpq_t elements, bytes_per_token, bytes;
};

static void sum_init(struct sum *sum)
{
	*sum = (struct sum){.is_known = true};
	mpq_inits(sum->elements, sum->bytes_per_token, sum->bytes, NULL);
}

static void sum_finish(struct sum *sum)
{
	mpq_clears(sum->elements, sum->bytes_per_token, sum->bytes, NULL);
}

/* ---- sums ---- */

static void add_tokens(const struct answer *a, mpq_t bytes, int64_t tokens, mpq_t sum)
{
	al_exact_multiply(bytes, tokens);
	al_exact_multiply(bytes, a->batch);
	al_exact_add(sum, bytes);
}

/* What a new token adds is its own: source tokens and states are there before it. */
static void add_line(const struct answer *a, const struct al_cache_entry *line, bool is_total,
	struct sum *sum)
{
	const bool is_state = line->kind == AL_CACHE_STATE, is_cross = line->kind == AL_CACHE_CROSS;
	mpq_t bytes;

	mpq_init(bytes);
	sum->is_known &= line->rank != NULL;
	if (line->rank) {
		al_dtype_exact_bytes(line->storage, line->rank, bytes);
		if (!is_state && !(is_total && is_cross)) {
			al_exact_add(sum->elements, line->rank);
			al_exact_add(sum->bytes_per_token, bytes);
		}
		add_tokens(a, bytes, line->held, sum->bytes);
	}
	mpq_clear(bytes);
	if (is_total ? line->is_first : line->is_first_of_kind)
		sum->modules += line->entry->times;
	if (!is_total && line->limit > sum->ends_at)
		sum->ends_at = line->limit;
}

/* ---- rows ---- */

static void add_columns(struct answer *a)
{
	static const struct al_column columns[] = {
		{.key = "kind", .title = "Kind", .is_key = true},
		{.key = "layers",
			.title = "Modules",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "elements_per_token",
			.title = "Elements per token",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "bytes_per_token",
			.title = "Cache per token",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "ends_at", .title = "Window", .unit = "tokens", .digits = AL_DIGITS_ALL},
		{.key = "bytes",
			.title = "Cache",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
	};

	if (a->shows_model)
		al_table_add_column(a->table,
			(struct al_column){.key = "model", .title = "Model", .is_key = true});
	if (a->shows_variant)
		al_table_add_column(a->table,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_columns(a->table, columns, sizeof(columns) / sizeof(*columns));
}

static struct al_cell *begin_row(struct answer *a, int kind)
{
	struct al_cell *cell = al_table_add_row(a->table);

	if (a->shows_model)
		al_cell_set_titled(a->table, cell++, a->request->name, a->request->title);
	if (a->shows_variant)
		al_cell_set_text(a->table, cell++, a->configured->name);
	if (kind == AL_N_CACHE_KINDS)
		al_cell_set_text(a->table, cell++, "total");
	else
		al_cell_set_titled(a->table, cell++, al_cache_kind_names[kind],
			al_cache_kind_titles[kind]);
	return cell;
}

static void add_row(struct answer *a, int kind, const struct sum *sum)
{
	struct al_cell *cell = begin_row(a, kind);

	al_cell_set_int(a->table, cell++, sum->modules);
	if (!sum->is_known)
		return;
	al_cell_set_exact(a->table, cell++, sum->elements);
	al_cell_set_exact(a->table, cell++, sum->bytes_per_token);
	if (sum->ends_at)
		al_cell_set_int(a->table, cell, sum->ends_at);
	cell++;
	if (!a->seq)
		return;
	al_cell_set_exact(a->table, cell, sum->bytes);
}

/* `kind` AL_N_CACHE_KINDS: the total. */
static void add_kind(struct answer *a, const struct al_cache_entries *cache, int kind)
{
	const bool is_total = kind == AL_N_CACHE_KINDS;
	bool is_there = is_total;
	struct sum sum;

	sum_init(&sum);
	for (size_t i = 0; i < cache->n; i++)
		if (is_total || cache->lines[i].kind == (enum al_cache_kind)kind) {
			add_line(a, &cache->lines[i], is_total, &sum);
			is_there = true;
		}
	if (is_there)
		add_row(a, kind, &sum);
	if (is_total)
		al_table_mark_total(a->table);
	sum_finish(&sum);
}

/* ---- requests ---- */

static bool answer_ledger(struct answer *a, struct al_ledger *ledger, struct al_error *err)
{
	struct al_cache_entries cache;

	struct al_undeclared undeclared;

	if (!al_ledger_cache(ledger, a->request->cache.dtype, a->seq, a->source_seq, &cache, err))
		return false;
	if (!al_ledger_declares_list(ledger, AL_LIST_CACHE, &undeclared)) {
		begin_row(a, AL_N_CACHE_KINDS);
		al_note_undeclared(&undeclared, a->table);
		return true;
	}
	for (int kind = 0; kind <= AL_N_CACHE_KINDS; kind++)
		add_kind(a, &cache, kind);
	for (size_t i = 0; a->explanations && i < cache.n; i++)
		al_explain_cached(a->explanations, a->request->name, &cache.lines[i], a->batch,
			a->seq > 0);
	return true;
}

/* Of a model whose parts are known a variant stands in the place of every module that caches. */
static bool answer_variant(struct answer *a, size_t i, struct al_error *err)
{
	struct al_ledger ledger;

	a->configured = &a->request->variants.items[i];
	struct al_ledger_ask ask = al_request_ask(a->request, a->configured,
		al_request_is_about_model(a->request, true));
	ask.explains = a->explanations != NULL;
	ask.tp = a->options->tp;
	if (ask.tp > 1 && !ask.family)
		return al_fail(err, AL_EINPUT, "--tp needs a whole model, found attention alone");
	if (!al_ledger_open(&ledger, &ask, err))
		return false;
	bool ok = answer_ledger(a, &ledger, err);
	al_ledger_close(&ledger);
	return ok;
}

static bool read_symbol(struct al_request *q, const char *symbol, int64_t fallback, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&q->settings, symbol, &setting, err))
		return false;
	*out = setting ? setting->value.integer : fallback;
	return !setting || *out >= 1
		|| al_fail(err, AL_EINPUT, "%s is %lld, expected 1 or more", symbol,
			(long long)*out);
}

static bool read_tokens(struct answer *a, struct al_error *err)
{
	return read_symbol(a->request, "seq", 0, &a->seq, err)
		&& read_symbol(a->request, "batch", 1, &a->batch, err)
		&& read_symbol(a->request, "source_seq", a->seq, &a->source_seq, err);
}

/* An encoder reads all tokens at once: nothing is kept of them for others to come. */
static void note_encoder(const struct al_request *q, struct al_table *table)
{
	const struct al_forward *forward = q->family ? q->family->forward : NULL;
	bool is_encoder = forward && forward->kind == AL_FORWARD_ENCODER;

	for (size_t i = 0; is_encoder && i < q->family->n_modules; i++)
		is_encoder = !q->family->modules[i].is_cross;
	if (is_encoder)
		al_table_note(table,
			"%s is an encoder, which sees all tokens at once and keeps none: counted "
			"are the keys and values that a decoder of its size would cache",
			q->name);
}

/* What holds for all models that are asked about. */
static void add_common_notes(struct answer *a)
{
	al_table_note(a->table, "dtype: %s, but for cached elements with a format of their own",
		a->request->cache.dtype->name);
	if (a->options->tp > 1)
		al_table_note(a->table, "on one of %lld tensor-parallel devices",
			(long long)a->options->tp);
	al_note_engine(a->request, a->table);
	if (!a->seq) {
		al_table_note(a->table, "give --seq for the cache of whole sequences");
		return;
	}
	al_table_note(a->table, "batch %lld, %lld tokens%s%s", (long long)a->batch,
		(long long)a->seq,
		a->source_seq == a->seq ? ""
					: al_format(&a->table->arena, ", %lld source tokens",
						(long long)a->source_seq),
		al_is_ideal(a->request)
			? "; the least that must be held: --engine NAME says what an engine holds"
			: "");
}

static void say(struct answer *a)
{
	const struct al_request *q = a->request;
	const struct al_cache_facts facts = {.covered = al_request_covered(q, true),
		.dtype = a->has_formats ? "each model's format" : q->cache.dtype->name,
		.engine = al_is_ideal(q) ? "" : q->engine.engine->title,
		.batch = a->batch,
		.seq = a->seq};

	a->session->style.summary = al_cache_summarize(&a->session->arena, a->table, &facts);
}

static bool answer(struct answer *a, struct al_error *err)
{
	if (!read_tokens(a, err) || !al_request_cache_format(a->request, a->options->dtype, err))
		return false;
	for (size_t i = 0; i < a->request->variants.n; i++)
		if (!answer_variant(a, i, err))
			return false;
	al_note_request(a->request, true, a->table);
	note_encoder(a->request, a->table);
	if (!a->is_noted)
		add_common_notes(a);
	a->is_noted = true;
	a->first = a->first ? a->first : a->request->cache.dtype;
	a->has_formats |= a->first != a->request->cache.dtype;
	al_note_cache_format(a->request, "dtype", a->table);
	say(a);
	return true;
}

static void open_tables(struct answer *a)
{
	a->table = al_session_table(a->session, "cache",
		a->shows_model ? "KV cache"
			       : al_format(&a->session->arena, "KV cache of %s",
				       al_request_covered(a->request, true)));
	add_columns(a);
	if (a->options->explains)
		a->explanations = al_explain_table(a->session);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct cache_options *o = session->options;
	const struct al_command_line *line = &session->line;
	struct answer a = {.session = session,
		.options = o,
		.shows_model = line->n_words > 1,
		.shows_variant = al_names_variants(&o->asked)};
	bool ok = true;

	for (size_t i = 0; ok && i < line->n_words; i++) {
		struct al_request request;
		if (!al_ask_request(&request, session, &o->asked, line->words[i], true,
			    AL_BASIS_MODEL, err))
			return false;
		a.request = &request;
		if (i == 0)
			open_tables(&a);
		ok = al_check_whole(&request, o->is_whole, err)
			&& al_refuse_unused_engine(&o->asked, &request, err) && answer(&a, err);
		al_request_finish(&request);
	}
	return ok;
}

static const struct al_page_chart charts[] = {
	{"kind", "bytes_per_token", "bytes for each token", "total"},
	{NULL, NULL, NULL, NULL},
};

const struct al_command al_command_cache = {
	.words = "MODEL|VARIANT...",
	.examples = {"cache gpt-oss-120b --seq 131072",
		"cache gpt3-175b --seq 2048 --variants mha,mqa,mhe-mul"},
	.options = groups,
	.charts = charts,
	.options_size = sizeof(struct cache_options),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
