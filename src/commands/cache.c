/* cache: what decoding keeps, per token and for whole sequences; here of attention variants. */
#include "commands/question.h"

#include <string.h>

#include "base/number.h"
#include "commands/devices.h"
#include "commands/kept.h"

/* A kind of cache: what grows with each token, with the source's tokens, or not at all. */
static const struct kind {
	const char *name;
	enum al_per per;
} kinds[] = {
	{"token", AL_PER_TOKEN},
	{"source token", AL_PER_SOURCE_TOKEN},
	{"sequence", AL_PER_SEQUENCE},
};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct al_cache_options, dtype, "dtype", "NAME",
		"number format of the KV cache: f32, bf16 (default), fp8, q8_0, q4_k, mxfp4 ...",
		.text = "bf16"),
	WHOLE_ROW(struct al_cache_options, is_whole),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_setting_rows, offsetof(struct al_cache_options, asked)},
	{al_variant_rows, offsetof(struct al_cache_options, asked)}, {rows, 0}, {NULL, 0}};

struct answer {
	struct al_question *question;
	const char *dtype;
	int64_t dtype_bytes;
	struct al_table *table;
	bool shows_variant, has_seq, is_two_sided;
	int64_t seq, source_seq, batch;
};

struct sum {
	mpq_t elements, bytes_per_token, bytes;
};

static void sum_init(struct sum *sum)
{
	mpq_inits(sum->elements, sum->bytes_per_token, sum->bytes, NULL);
}

static void sum_finish(struct sum *sum)
{
	mpq_clears(sum->elements, sum->bytes_per_token, sum->bytes, NULL);
}

static void add_row(struct answer *a, const char *variant, const char *kind, int64_t layers,
	const struct sum *sum)
{
	struct al_cell *cell = al_table_add_row(a->table);

	if (a->shows_variant)
		al_cell_set_text(a->table, cell++, variant);
	al_cell_set_text(a->table, cell++, kind);
	al_cell_set_int(a->table, cell++, layers);
	al_cell_set_exact(a->table, cell++, sum->elements);
	al_cell_set_exact(a->table, cell++, sum->bytes_per_token);
	if (a->has_seq)
		al_cell_set_exact(a->table, cell, sum->bytes);
}

/* The tokens that an entry keeps: of the sequence, of the source, or once. */
static bool kept_tokens(struct answer *a, struct al_ledger *ledger, const struct al_entry *entry,
	int64_t *out, struct al_error *err)
{
	struct al_scope scope = al_settings_scope(al_ledger_settings(ledger));

	*out = entry->per == AL_PER_TOKEN	    ? a->seq
		: entry->per == AL_PER_SOURCE_TOKEN ? a->source_seq
						    : 1;
	return !entry->tokens || !a->has_seq || entry->per == AL_PER_SEQUENCE
		|| al_formula_whole(entry->tokens, &scope, 0, out, err);
}

/* Elements and bytes of one entry over all modules. */
static bool add_entry(struct answer *a, struct al_ledger *ledger, const struct al_ledger_entry *e,
	struct sum *sum, struct al_error *err)
{
	int64_t bytes = a->dtype_bytes, tokens;
	mpq_t q;

	if (!kept_tokens(a, ledger, e->entry, &tokens, err)
		|| (e->entry->dtype && !al_dtype_bytes(e->entry->dtype, &bytes, err)))
		return false;
	mpq_init(q);
	mpq_set(q, e->elements);
	if (e->entry->per != AL_PER_SEQUENCE)
		al_exact_add(sum->elements, q);
	al_exact_multiply(q, bytes);
	if (e->entry->per != AL_PER_SEQUENCE)
		al_exact_add(sum->bytes_per_token, q);
	al_exact_multiply(q, tokens);
	al_exact_multiply(q, a->batch);
	al_exact_add(sum->bytes, q);
	mpq_clear(q);
	return true;
}

static bool sum_kind(struct answer *a, struct al_ledger *ledger, enum al_per per, struct sum *sum,
	size_t *n, struct al_error *err)
{
	const struct al_ledger_list *cached;

	*n = 0;
	if (!al_ledger_list(ledger, AL_LIST_CACHE, &cached, err))
		return false;
	for (size_t i = 0; i < cached->n; i++) {
		if (cached->items[i].entry->per != per)
			continue;
		if (!add_entry(a, ledger, &cached->items[i], sum, err))
			return false;
		++*n;
	}
	return true;
}

/* A decoder's cross-attentions keep what its self-attentions keep, of the source's tokens. */
static void add_cross_row(struct answer *a, const char *variant, int64_t layers, struct sum *sum)
{
	if (a->has_seq) {
		al_exact_multiply(sum->bytes, a->source_seq);
		al_exact_divide(sum->bytes, a->seq);
	}
	add_row(a, variant, "source token", layers, sum);
}

static bool add_kind(struct answer *a, const struct al_configured_variant *configured,
	struct al_ledger *ledger, const struct kind *kind, int64_t modules, struct sum *total,
	struct al_error *err)
{
	struct sum sum;
	size_t n;

	sum_init(&sum);
	bool ok = sum_kind(a, ledger, kind->per, &sum, &n, err);
	if (ok && n > 0) {
		add_row(a, configured->name, kind->name, modules, &sum);
		al_exact_add(total->bytes, sum.bytes);
	}
	if (ok && kind->per == AL_PER_TOKEN) {
		al_exact_add(total->elements, sum.elements);
		al_exact_add(total->bytes_per_token, sum.bytes_per_token);
	}
	if (ok && n > 0 && a->is_two_sided && kind->per == AL_PER_TOKEN) {
		add_cross_row(a, configured->name, modules, &sum);
		al_exact_add(total->bytes, sum.bytes);
	}
	sum_finish(&sum);
	return ok;
}

static bool add_variant(struct answer *a, const struct al_configured_variant *configured,
	struct al_error *err)
{
	struct al_question *q = a->question;
	struct al_ledger ledger;
	struct sum total;
	int64_t modules;

	if (!al_ledger_open_module(&ledger, configured, &q->settings, &q->basis, err))
		return false;
	sum_init(&total);
	bool ok = al_ledger_modules(&ledger, true, &modules, err);
	for (int i = 0; ok && i < N_KINDS; i++)
		ok = add_kind(a, configured, &ledger, &kinds[i], modules, &total, err);
	if (ok)
		add_row(a, configured->name, "total", modules, &total);
	sum_finish(&total);
	al_ledger_close(&ledger);
	return ok;
}

static void add_columns(struct answer *a)
{
	struct al_table *t = a->table;

	if (a->shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_column(t,
		(struct al_column){.key = "kind", .title = "Grows with", .is_key = true});
	al_table_add_column(t,
		(struct al_column){.key = "layers",
			.title = "Modules",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL});
	al_table_add_column(t,
		(struct al_column){.key = "elements_per_token",
			.title = "Elements per token",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL});
	al_table_add_column(t,
		(struct al_column){.key = "bytes_per_token",
			.title = "Cache per token",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL});
	al_table_add_column(t,
		(struct al_column){.key = "bytes",
			.title = "Cache",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL});
}

/* A symbol's value, or the fallback where it is not given. */
static bool read_symbol(struct answer *a, const char *symbol, int64_t fallback, bool *is_given,
	int64_t *out, struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&a->question->settings, symbol, &setting, err))
		return false;
	*is_given = setting != NULL;
	*out = setting ? setting->value.integer : fallback;
	return true;
}

/* The whole cache is known where the number of tokens is. */
static bool read_tokens(struct answer *a, struct al_error *err)
{
	bool given;
	int64_t layers;

	if (!read_symbol(a, "seq", 0, &a->has_seq, &a->seq, err)
		|| !read_symbol(a, "source_seq", a->seq, &given, &a->source_seq, err)
		|| !read_symbol(a, "batch", 1, &given, &a->batch, err)
		|| !read_symbol(a, "n_decoder_layers", 0, &a->is_two_sided, &layers, err))
		return false;
	a->is_two_sided = a->is_two_sided && a->question->basis.per == AL_BASIS_MODEL;
	if (a->has_seq && (a->seq < 1 || a->batch < 1))
		return al_fail(err, AL_EINPUT, "batch %lld and seq %lld, expected 1 or more",
			(long long)a->batch, (long long)a->seq);
	return true;
}

static void add_notes(struct answer *a)
{
	al_note_question(a->question, a->table);
	al_table_note(a->table, "dtype: %s, but for cached elements with a format of their own",
		a->dtype);
	if (!a->has_seq)
		al_table_note(a->table, "give --seq for the cache of whole sequences");
	else if (a->is_two_sided)
		al_table_note(a->table, "batch %lld, %lld tokens, %lld source tokens",
			(long long)a->batch, (long long)a->seq, (long long)a->source_seq);
	else
		al_table_note(a->table, "batch %lld, %lld tokens", (long long)a->batch,
			(long long)a->seq);
}

static bool answer(struct answer *a, struct al_session *session, struct al_error *err)
{
	struct al_question *q = a->question;

	a->dtype = ((const struct al_cache_options *)session->options)->dtype;
	if (!al_dtype_bytes(a->dtype, &a->dtype_bytes, err) || !read_tokens(a, err))
		return false;
	a->table = al_session_table(session, "cache",
		al_format(&session->arena, "KV cache of %s", q->title));
	a->shows_variant = q->variants.n > 1;
	add_columns(a);
	for (size_t i = 0; i < q->variants.n; i++)
		if (!add_variant(a, &q->variants.items[i], err))
			return false;
	add_notes(a);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_cache_options *o = session->options;
	struct al_question question;

	if (session->line.n_words > 1)
		return al_cached_by_kind(session, NULL, err);
	if (!al_ask_question(&question, session, &o->asked, session->line.words[0], true,
		    AL_BASIS_MODEL, err))
		return false;
	struct answer a = {.question = &question};
	bool ok = al_is_about_model(&question, o->is_whole)
		? al_cached_by_kind(session, &question, err)
		: answer(&a, session, err);
	al_question_finish(&question);
	return ok;
}

const struct al_command al_command_cache = {
	.words = "MODEL...|VARIANT",
	.examples = {"cache gpt-oss-120b --seq 131072",
		"cache gpt3-175b --seq 2048 --variants mha,mqa,mhe-mul"},
	.options = groups,
	.options_size = sizeof(struct al_cache_options),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
