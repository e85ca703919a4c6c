/* cache: what decoding keeps, per token and for whole sequences. */
#include "commands/question.h"

#include <string.h>

#include "base/exact.h"

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

static const struct dtype {
	const char *name;
	int bits;
} dtypes[] = {{"fp32", 32}, {"f32", 32}, {"bf16", 16}, {"fp16", 16}, {"f16", 16}, {"fp8", 8}, {"int8", 8},
	{"int4", 4}};
enum { N_DTYPES = sizeof(dtypes) / sizeof(*dtypes) };

static bool find_dtype(const char *name, const struct dtype **out, struct al_error *err)
{
	const char *names[N_DTYPES];

	for (int i = 0; i < N_DTYPES; i++)
		names[i] = dtypes[i].name;
	int found = al_find_name(name, names, N_DTYPES);
	*out = &dtypes[found < 0 ? 0 : found];
	return found >= 0 || al_fail_unknown(err, "dtype", name, names, N_DTYPES);
}

struct answer {
	struct question *question;
	const struct dtype *dtype;
	struct al_table *table;
	bool shows_variant, has_seq;
	int64_t seq, batch;
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

static int entry_bits(const struct answer *a, const struct al_entry *entry)
{
	const struct dtype *dtype = a->dtype;

	if (entry->dtype && !find_dtype(entry->dtype, &dtype, NULL))
		dtype = a->dtype;
	return dtype->bits;
}

/* Elements and bytes of one entry over all modules. */
static bool add_entry(struct answer *a, struct al_block *block, const struct al_ledger_entry *entry,
	struct sum *sum, struct al_error *err)
{
	bool grows = entry->entry->per != AL_PER_SEQUENCE;
	struct al_scope scope = al_settings_scope(&block->settings);
	int64_t tokens = grows ? a->seq : 1;
	mpq_t q, factor;

	if (grows && entry->entry->tokens && a->has_seq
		&& !al_formula_whole(entry->entry->tokens, &scope, 0, &tokens, err))
		return false;
	mpq_inits(q, factor, NULL);
	mpq_set_si(factor, entry->times, 1);
	mpq_mul(q, entry->elements, factor);
	mpq_set_si(factor, entry_bits(a, entry->entry), 8);
	mpq_canonicalize(factor);
	if (grows)
		mpq_add(sum->elements, sum->elements, q);
	mpq_mul(q, q, factor);
	if (grows)
		mpq_add(sum->bytes_per_token, sum->bytes_per_token, q);
	mpq_set_si(factor, tokens, 1);
	mpq_mul(q, q, factor);
	mpq_set_si(factor, a->batch, 1);
	mpq_mul(q, q, factor);
	mpq_add(sum->bytes, sum->bytes, q);
	mpq_clears(q, factor, NULL);
	return true;
}

static bool add_kind(struct answer *a, const struct al_variant_use *use, struct al_block *block,
	const struct al_ledger *ledger, const struct kind *kind, struct sum *total, struct al_error *err)
{
	struct sum sum;
	size_t n = 0;
	bool ok = true;

	sum_init(&sum);
	for (size_t i = 0; ok && i < ledger->n; i++)
		if (ledger->entries[i].entry->per == kind->per) {
			ok = add_entry(a, block, &ledger->entries[i], &sum, err);
			n++;
		}
	if (ok && n > 0)
		add_row(a, use->name, kind->name, ledger->modules, &sum);
	mpq_add(total->elements, total->elements, sum.elements);
	mpq_add(total->bytes_per_token, total->bytes_per_token, sum.bytes_per_token);
	mpq_add(total->bytes, total->bytes, sum.bytes);
	sum_finish(&sum);
	return ok;
}

static bool add_variant(struct answer *a, const struct al_variant_use *use, struct al_error *err)
{
	struct question *q = a->question;
	struct al_block block;
	struct al_ledger ledger;
	struct sum total;

	if (!al_block_init(&block, use, &q->settings, &q->basis, err))
		return false;
	bool ok = al_ledger_cache(&ledger, &block, false, err);
	if (ok) {
		sum_init(&total);
		for (int i = 0; ok && i < N_KINDS; i++)
			ok = add_kind(a, use, &block, &ledger, &kinds[i], &total, err);
		if (ok)
			add_row(a, use->name, "total", ledger.modules, &total);
		sum_finish(&total);
		al_ledger_finish(&ledger);
	}
	al_block_finish(&block);
	return ok;
}

static void add_columns(struct answer *a)
{
	struct al_table *t = a->table;

	if (a->shows_variant)
		al_table_add_column(t, (struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_column(t, (struct al_column){.key = "kind", .title = "Grows with", .is_key = true});
	al_table_add_column(t, (struct al_column){.key = "layers", .title = "Modules",
		.quantity = AL_QUANTITY_COUNT, .digits = AL_DIGITS_ALL});
	al_table_add_column(t, (struct al_column){.key = "elements_per_token", .title = "Elements a token",
		.quantity = AL_QUANTITY_COUNT, .digits = AL_DIGITS_ALL});
	al_table_add_column(t, (struct al_column){.key = "bytes_per_token", .title = "Cache a token",
		.unit = "B", .quantity = AL_QUANTITY_BYTES, .digits = AL_DIGITS_ALL});
	al_table_add_column(t, (struct al_column){.key = "bytes", .title = "Cache", .unit = "B",
		.quantity = AL_QUANTITY_BYTES, .digits = AL_DIGITS_ALL});
}

/* The whole cache is known where the number of tokens is. */
static bool read_tokens(struct answer *a, struct al_error *err)
{
	const struct al_setting *seq, *batch;

	if (!al_settings_get(&a->question->settings, "seq", &seq, err)
		|| !al_settings_get(&a->question->settings, "batch", &batch, err))
		return false;
	a->has_seq = seq != NULL;
	a->seq = seq ? seq->value.integer : 0;
	a->batch = batch ? batch->value.integer : 1;
	return true;
}

static bool answer(struct answer *a, struct session *session, struct al_error *err)
{
	struct question *q = a->question;

	if (!find_dtype(option_value(&session->arguments, OPT_DTYPE, "bf16"), &a->dtype, err)
		|| !read_tokens(a, err))
		return false;
	a->table = session_table(session, "cache", al_format(&session->arena, "KV cache of %s", q->title));
	a->shows_variant = q->n_uses > 1;
	add_columns(a);
	for (size_t i = 0; i < q->n_uses; i++)
		if (!add_variant(a, &q->uses[i], err))
			return false;
	question_note(q, a->table);
	al_table_note(a->table, "dtype: %s, unless an entry has its own", a->dtype->name);
	if (a->has_seq)
		al_table_note(a->table, "bytes: batch %lld, %lld tokens each", (long long)a->batch,
			(long long)a->seq);
	else
		al_table_note(a->table, "bytes: give --seq");
	return true;
}

static bool run(struct session *session, struct al_error *err)
{
	struct question question;

	if (!question_init(&question, session, session->arguments.words[0], true, AL_BASIS_MODEL, err))
		return false;
	if (!question.model)
		question.basis.per = AL_BASIS_MODULE;
	struct answer a = {.question = &question};
	bool ok = answer(&a, session, err);
	question_finish(&question);
	return ok;
}

const struct command command_cache = {
	.name = "cache",
	.words = "MODEL|VARIANT",
	.summary = "what decoding keeps, per token and for whole sequences",
	.examples = {"cache gpt3-175b --seq 2048", "cache gpt2 --variants mha,mqa,mhe-mul --dtype fp8"},
	.options = OPTIONS_OUTPUT | OPTIONS_QUESTION | OPTION(OPT_DTYPE),
	.least_words = 1,
	.most_words = 1,
	.run = run,
};
