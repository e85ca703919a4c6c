/* cache: what decoding caches, by kind of layer, per token and for sequences. */

#include "answer/capacity.h"
#include "answer/explain.h"
#include "answer/request.h"
#include "catalog/gpu.h"
#include "ledger/infer.h"
#include "report/claim.h"

struct cache_options {
	struct al_output_options output;
	struct al_asked asked;
	const char *dtype, *memory;
	int64_t tp;
	bool is_whole, is_total, explains;
};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct cache_options, dtype, "dtype", "NAME",
		"number format of the KV cache: f32, bf16, fp8, q8_0, q4_k, mxfp4 ... (default: "
		"the model's, or bf16)"),
	OPTION_COUNT(struct cache_options, tp, "tp", "N",
		"tensor-parallel devices; the result is for one of them", .fallback = 1,
		.least = 1),
	OPTION_TEXT(struct cache_options, memory, "kv-cache-memory", "SIZE",
		"memory for the cache of one device: how much fits (with --engine)"),
	WHOLE_ROW(struct cache_options, is_whole),
	OPTION_FLAG(struct cache_options, is_total, "total",
		"print only the sum over all kinds of layers"),
	EXPLAIN_ROW(struct cache_options, explains),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct cache_options, asked)},
	{al_variant_rows, offsetof(struct cache_options, asked)},
	{al_engine_rows, offsetof(struct cache_options, asked)},
	{al_capacity_rows, offsetof(struct cache_options, asked)}, {rows, 0}, {NULL, 0}};

struct answer {
	struct al_session *session;
	const struct cache_options *options;
	struct al_table *table, *explanations; /* explanations NULL: not asked for */
	bool shows_model, shows_variant;
	const struct al_dtype *first; /* the first model's format; NULL: none was answered */
	bool has_formats; /* another model's is another one */
	bool has_other_entries; /* in a format of their own */
	bool has_states; /* of a size that doesn't grow with tokens */
	/* of the request that is being answered: */
	struct al_request *request;
	const struct al_configured_variant *configured;
	int64_t batch, seq, source_seq; /* seq 0: not given */
	const char *capacity; /* what --kv-cache-memory holds, in a sentence; NULL: not asked */
};

/* Several models, each at a context of its own? */
static bool has_contexts(const struct answer *a)
{
	return a->shows_model && (a->request->assumes_seq || a->request->lacks_seq);
}

/* ---- rows ---- */

struct record {
	struct al_titled model, kind;
	const char *variant;
	int64_t context, layers, ends_at;
	mpq_srcptr elements_per_token, bytes_per_token, bytes, bytes_of_all;
};

enum { WITH_MODEL = 1, WITH_VARIANT = 2, WITH_DEVICES = 4, WITH_CONTEXT = 8 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, model, "Model"), .when = WITH_MODEL},
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct record, kind, "Kind")},
	{AL_SHOW_COUNT(struct record, layers, "Modules")},
	{AL_SHOW_COUNT(struct record, elements_per_token, "Elements per token")},
	{AL_SHOW_BYTES(struct record, bytes_per_token, "Cache per token")},
	{AL_SHOW_WHOLE(struct record, ends_at, "Window", .unit = "tokens")},
	{AL_SHOW_WHOLE(struct record, context, "Context", .unit = "tokens"), .when = WITH_CONTEXT},
	{AL_SHOW_BYTES(struct record, bytes, "Cache")},
	{AL_SHOW_BYTES(struct record, bytes_of_all, "All devices"), .when = WITH_DEVICES},
	AL_FIELDS_END,
};

/* `kind` AL_N_CACHE_KINDS: the total. */
static struct record begin_row(const struct answer *a, int kind)
{
	const bool is_total = kind == AL_N_CACHE_KINDS;

	return (struct record){.model = {a->request->name, a->request->title},
		.variant = a->configured->name,
		.kind = {is_total ? "total" : al_cache_kind_names[kind],
			is_total ? NULL : al_cache_kind_titles[kind]},
		.context = a->seq ? a->seq : INT64_MIN,
		.layers = INT64_MIN,
		.ends_at = INT64_MIN};
}

/* ---- sums ---- */

/* One row's. */
struct sum {
	int64_t modules, ends_at;
	bool is_there, is_known; /* is_known: what the engine keeps */
	bool has_other_format;
	mpq_ptr elements, bytes_per_token, bytes;
};

/* A new token adds only its own entries: source tokens and states are already there. */
static void add_line(const struct answer *a, const struct al_cache_entry *line, bool is_total,
	struct sum *sum)
{
	const bool is_state = line->kind == AL_CACHE_STATE, is_cross = line->kind == AL_CACHE_CROSS;
	mpq_ptr bytes = al_exact_new(a->request->arena);

	sum->is_there = true;
	sum->has_other_format |= line->storage != a->request->cache.dtype;
	sum->is_known &= line->rank != NULL;
	if (line->rank) {
		al_dtype_exact_bytes(line->storage, line->rank, bytes);
		if (!is_state && !(is_total && is_cross)) {
			al_exact_add(sum->elements, line->rank);
			al_exact_add(sum->bytes_per_token, bytes);
		}
		al_exact_multiply(bytes, line->held);
		al_exact_multiply(bytes, a->batch);
		al_exact_add(sum->bytes, bytes);
	}
	if (is_total || line->is_draft ? line->is_first : line->is_first_of_kind)
		sum->modules += line->entry->times;
	if (!is_total && line->limit > sum->ends_at)
		sum->ends_at = line->limit;
}

static void add_padding(const struct answer *a, const struct al_layer_groups *grouped,
	struct sum *sum)
{
	mpq_ptr bytes = al_exact_new(a->request->arena);

	if (grouped->n_groups == 0 || mpq_sgn(grouped->padding) == 0)
		return;
	sum->is_there = true;
	mpq_set(bytes, grouped->padding);
	al_exact_multiply(bytes, a->batch);
	al_exact_add(sum->bytes, bytes);
}

/* Each device holds as much; what several hold of the same keys and values is counted with each. */
static mpq_srcptr of_all_devices(const struct answer *a, mpq_srcptr bytes)
{
	mpq_ptr all = al_exact_new(a->request->arena);

	mpq_set(all, bytes);
	al_exact_multiply(all, a->options->tp);
	return all;
}

static void add_kind(struct answer *a, const struct al_cache_entries *cache, int kind)
{
	const bool is_total = kind == AL_N_CACHE_KINDS;
	struct al_arena *arena = a->request->arena;
	struct record record = begin_row(a, kind);
	struct sum sum = {.is_known = true,
		.is_there = is_total,
		.elements = al_exact_new(arena),
		.bytes_per_token = al_exact_new(arena),
		.bytes = al_exact_new(arena)};

	for (size_t i = 0; i < cache->n; i++)
		if (is_total || al_cache_row_of(&cache->lines[i]) == (enum al_cache_kind)kind)
			add_line(a, &cache->lines[i], is_total, &sum);
	if (is_total || kind == AL_CACHE_PADDING)
		add_padding(a, &cache->groups, &sum);
	if (!sum.is_there)
		return;
	a->has_other_entries |= sum.has_other_format;
	if (kind != AL_CACHE_PADDING)
		record.layers = sum.modules;
	if (sum.is_known && kind != AL_CACHE_PADDING) {
		record.elements_per_token = sum.elements;
		record.bytes_per_token = sum.bytes_per_token;
		record.ends_at = sum.ends_at ? sum.ends_at : INT64_MIN;
	}
	if (sum.is_known && a->seq) {
		record.bytes = sum.bytes;
		record.bytes_of_all = of_all_devices(a, sum.bytes);
	}
	al_table_add_record(a->table, &record);
}

/* ---- in a sentence ---- */

static bool has_kind(const struct answer *a, enum al_cache_kind kind)
{
	return al_count_rows(a->table, "kind", al_cache_kind_names[kind]) > 0;
}

/* "at context 131,072, batch size 1"; "at context 448 and 1,500 source tokens, batch size 1" */
static const char *sequences(const struct answer *a)
{
	struct al_arena *arena = &a->session->arena;
	const char *batch = al_claim_count(arena, "batch", a->batch);
	const bool has_sources = has_kind(a, AL_CACHE_CROSS);

	if (has_contexts(a))
		return al_format(arena, "at each one's own context, batch size %s", batch);
	return al_format(arena, "at context %s%s%s%s, batch size %s",
		al_claim_count(arena, "context", a->seq), has_sources ? " and " : "",
		has_sources ? al_claim_count(arena, "source_seq", a->source_seq) : "",
		has_sources ? " source tokens" : "", batch);
}

/* "; windows of 128 tokens in 18 of 36 modules"; "" where no window is in the table. */
static const char *windows(struct al_arena *arena, const struct al_table *table)
{
	const size_t last = table->n_rows - 1;

	for (size_t row = 0; row < last; row++)
		if (*al_claim_cell(arena, table, row, "ends_at"))
			return al_format(arena, "; windows of %s tokens in %s of %s modules",
				al_claim_cell(arena, table, row, "ends_at"),
				al_claim_cell(arena, table, row, "layers"),
				al_claim_cell(arena, table, last, "layers"));
	return "";
}

static const char *engine_text(const struct answer *a)
{
	return al_is_ideal(a->request) ? ""
				       : al_format(&a->session->arena, " with %s",
					       al_claim_name(&a->session->arena, "engine",
						       a->request->engine.engine->title));
}

static const char *dtype_text(const struct answer *a)
{
	return a->has_formats
		? "each model's format"
		: al_claim_name(&a->session->arena, "dtype", a->request->cache.dtype->name);
}

static const char *device_text(const struct answer *a)
{
	return a->options->tp == 1
		? ""
		: al_format(&a->session->arena, " on each of %s devices",
			al_claim_count(&a->session->arena, "devices", a->options->tp));
}

/* The total is the last row. */
static const char *say_one(const struct answer *a)
{
	struct al_arena *arena = &a->session->arena;
	const struct al_table *table = a->table;
	const size_t total = table->n_rows - 1;
	mpq_srcptr per_token = al_cell_exact(table, total, "bytes_per_token");
	const char *all = a->seq ? al_claim_cell(arena, table, total, "bytes") : "";
	const char *covered = al_claim_name(arena, "subject", al_request_covered(a->request, true));

	if (!per_token && total > 0)
		return al_format(arena,
			"The cache of %s in this engine is unknown: sizes that it depends on "
			"aren't set.",
			covered);
	if (!per_token)
		return al_format(arena, "The cache of %s is unknown: its variant doesn't list it.",
			covered);
	if (!a->seq && mpq_sgn(per_token) == 0)
		return al_format(arena,
			"A new token of %s adds nothing to the cache (%s)%s; pass --seq N "
			"for whole sequences.",
			covered, dtype_text(a), engine_text(a));
	if (!a->seq)
		return al_format(arena,
			"Each token of %s takes " AL_CLAIM_LEAD
			"%s of KV cache%s (%s)%s%s; it has no context length of its own: pass "
			"--seq N for whole sequences.",
			covered, al_claim_cell(arena, table, total, "bytes_per_token"),
			engine_text(a), dtype_text(a), device_text(a), windows(arena, table));
	return al_format(arena, "%s " AL_CLAIM_LEAD "%s of KV cache%s%s%s %s (%s): %s%s.",
		al_request_is_encoder(a->request) ? al_format(arena,
			"%s is an encoder and needs no cache; a decoder of its size would need",
			covered)
						  : al_format(arena, "%s needs", covered),
		all, a->has_states ? " and recurrent states" : "", engine_text(a), device_text(a),
		sequences(a), dtype_text(a),
		mpq_sgn(per_token) ? al_format(arena, "%s per token",
			al_claim_cell(arena, table, total, "bytes_per_token"))
				   : "new tokens add nothing",
		windows(arena, table));
}

/* NULL: nothing is known. */
static const char *say(const struct answer *a)
{
	struct al_arena *arena = &a->session->arena;

	if (al_count_rows(a->table, "kind", "total") < 2)
		return a->table->n_rows ? say_one(a) : NULL;
	const bool of_sequences = a->seq && !has_contexts(a);
	const char *compared = al_claim_compared(arena, a->table, "kind", "total",
		of_sequences ? "bytes" : "bytes_per_token");
	return !compared
		? NULL
		: al_format(arena, "KV cache%s%s %s (%s), %s.", engine_text(a), device_text(a),
			of_sequences ? sequences(a) : "per token", dtype_text(a), compared);
}

/* ---- requests ---- */

static bool find_capacity(struct answer *a, struct al_ledger *ledger, struct al_error *err)
{
	struct al_request *q = a->request;
	const struct al_inference inference = {.cache = q->cache.dtype,
		.seq = a->seq,
		.source_seq = a->source_seq};
	struct al_capacity capacity;
	int64_t memory;

	if (!al_capacity_is_known(q) || a->seq == 0)
		return al_fail(err, AL_EINPUT, "--kv-cache-memory needs %s",
			a->seq ? "an engine that logs its capacity, and known groups of layers"
			       : "--seq N");
	if (!al_memory_parse(q->arena, a->options->memory, &memory, err))
		return al_in(err, "--kv-cache-memory");
	if (!al_capacity_find(ledger, q, &inference, al_exact_from_int(q->arena, memory), &capacity,
		    err))
		return false;
	a->capacity = al_capacity_say(&a->session->arena, q, &capacity);
	return true;
}

/* In a model whose parts are known, a variant replaces every module that caches. */
static bool answer_variant(struct answer *a, size_t i, struct al_error *err)
{
	struct al_cache_entries cache;
	struct al_undeclared undeclared;

	a->configured = &a->request->variants.items[i];
	struct al_ledger_ask ask = al_request_ask(a->request, a->configured,
		al_request_is_about_model(a->request, true));
	ask.explains = a->explanations != NULL;
	ask.tp = a->options->tp;
	if (ask.tp > 1 && !ask.family)
		return al_fail(err, AL_EINPUT, "--tp needs a whole model, not only attention");
	if (!al_request_open_draft(a->request, &ask, err))
		return false;
	struct al_ledger *ledger = al_ledger_create(a->request->arena, &ask, err);
	if (!ledger
		|| !al_ledger_cache(ledger, a->request->cache.dtype, a->seq, a->source_seq,
			a->batch, &cache, err))
		return false;
	if (!al_ledger_declares_list(ledger, AL_LIST_CACHE, &undeclared)) {
		const struct record unknown = begin_row(a, AL_N_CACHE_KINDS);
		al_table_add_record(a->table, &unknown);
		al_note_undeclared(&undeclared, a->table);
		return true;
	}
	for (int kind = 0; kind <= AL_N_CACHE_KINDS; kind++)
		add_kind(a, &cache, kind);
	if (!al_capacity_check(a->request, err)
		|| (a->options->memory && !find_capacity(a, ledger, err)))
		return false;
	if (a->request->offload && !a->options->memory)
		return al_fail(err, AL_EINPUT, "--kv-offloading-size needs --kv-cache-memory");
	al_table_mark_total(a->table);
	for (size_t k = 0; a->explanations && k < cache.n; k++)
		al_explain_cached(a->explanations, a->request->name, &cache.lines[k], a->batch,
			a->seq > 0);
	return true;
}

/* An encoder reads all tokens at once: nothing is kept of them for others to come. The claim about
 * one model has that already. */
static void note_encoder(const struct al_request *q, const struct al_session *session,
	struct al_table *table)
{
	if (al_request_is_encoder(q) && session->line.n_words > 1)
		al_table_warn(table,
			"%s is an encoder and needs no cache: these are the keys and values "
			"that a decoder of its size would cache",
			q->name);
}

/* Notes common to all models. */
static void add_common_notes(struct answer *a)
{
	if (a->has_other_entries)
		al_table_note(a->table, "%s, except entries stored in another format",
			a->request->cache.dtype->name);
	if (a->options->tp > 1)
		al_table_warn(a->table,
			"bytes on one of %lld tensor-parallel devices; the column All devices "
			"gives their sum",
			(long long)a->options->tp);
	al_note_engine(a->request, a->table);
	if (a->seq && a->source_seq != a->seq)
		al_table_note(a->table, "%lld source tokens", (long long)a->source_seq);
	if (a->seq && al_is_ideal(a->request))
		al_table_note(a->table,
			"lower bound; add --engine NAME for what an engine allocates");
}

static void open_tables(struct answer *a)
{
	a->table = al_session_table(a->session, "cache", fields,
		(a->shows_model ? WITH_MODEL : 0) | (a->shows_variant ? WITH_VARIANT : 0)
			| (a->options->tp > 1 ? WITH_DEVICES : 0)
			| (has_contexts(a) ? WITH_CONTEXT : 0),
		"KV cache%s%s", a->shows_model ? "" : " of ",
		a->shows_model ? "" : al_request_covered(a->request, true));
	if (a->options->explains)
		a->explanations = al_explain_table(a->session);
}

/* The rows of kind total, as ordinary ones. */
static void keep_totals(struct al_table *table)
{
	const int kind = al_table_find_column(table, "kind");
	size_t n = 0;

	for (size_t i = 0; i < table->n_rows; i++)
		if (strcmp(table->rows[i][kind].text, "total") == 0) {
			table->rows[i][0].is_total = false;
			table->rows[n++] = table->rows[i];
		}
	table->n_rows = n;
}

/* What fits, in the same layout and cache format. */
static void next(struct answer *a)
{
	struct al_arena *arena = &a->session->arena;
	const struct cache_options *o = a->options;
	const char *more[3] = {NULL};
	size_t n = 0;

	if (o->tp > 1)
		more[n++] = al_format(arena, "--tp %lld", (long long)o->tp);
	if (o->dtype)
		more[n++] = al_format(arena, "--cache-dtype %s", al_shell_word(arena, o->dtype));
	al_request_next_fit(a->request, a->session, false, more);
}

static bool answer(void *context, struct al_request *q, struct al_error *err)
{
	struct answer *a = context;

	a->request = q;
	if (!al_request_assume(q, err))
		return false;
	if (!a->table)
		open_tables(a);
	if (!al_check_whole(q, a->options->is_whole, err)
		|| !al_refuse_unused_engine(&a->options->asked, q, err)
		|| !al_request_number(q, "seq", 1, 0, &a->seq, err)
		|| !al_request_number(q, "batch", 1, 1, &a->batch, err)
		|| !al_request_number(q, "source_seq", 1, a->seq, &a->source_seq, err)
		|| !al_request_cache_format(q, a->options->dtype, err))
		return false;
	for (size_t i = 0; i < q->variants.n; i++)
		if (!answer_variant(a, i, err))
			return false;
	al_note_request(q, true, a->table);
	note_encoder(q, a->session, a->table);
	if (!a->first) {
		add_common_notes(a);
		a->first = q->cache.dtype;
	}
	a->has_formats |= a->first != q->cache.dtype;
	al_note_cache_format(q, "dtype", a->table);
	al_note_context(q, a->seq, a->table);
	a->has_states = has_kind(a, AL_CACHE_STATE);
	if (a->options->is_total)
		keep_totals(a->table);
	if (q->is_last)
		al_session_claim(a->session, a->capacity ? a->capacity : say(a));
	if (!a->shows_model)
		next(a);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct cache_options *o = session->options;
	struct answer a = {.session = session,
		.options = o,
		.shows_model = session->line.n_words > 1,
		.shows_variant = al_names_variants(&o->asked)};

	return al_each_request(session, &o->asked, true, answer, &a, err);
}

static const struct al_page_chart chart = {"kind", "bytes_per_token", "bytes for each token",
	"total"};

const struct al_command al_command_cache = {
	.words = "MODEL|VARIANT...",
	.examples = {"cache gpt-oss-120b", "cache gpt3-175b --seq 2048 --variant mha,mqa,mhe-mul"},
	.options = groups,
	.chart = &chart,
	.options_size = sizeof(struct cache_options),
	.run = run,
};
