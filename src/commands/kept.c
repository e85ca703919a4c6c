/* cache of whole models: what decoding keeps, by kind of layer. */
#include "commands/kept.h"

#include "base/number.h"
#include "commands/devices.h"
#include "ledger/infer.h"

struct answer {
	struct al_session *session;
	const struct al_cache_options *options;
	struct al_table *table;
	const struct al_dtype *storage;
	bool shows_model, shows_variant, is_noted;
};

/* One row, and what its question says of tokens. */
struct sum {
	int64_t layers, ends_at, batch, seq, source_seq;
	mpq_t elements, bytes_per_token, bytes, allocated;
};

static void sum_init(struct sum *sum, const struct sum *tokens)
{
	if (tokens)
		*sum = *tokens;
	else
		*sum = (struct sum){.batch = 1};
	sum->layers = sum->ends_at = 0;
	mpq_inits(sum->elements, sum->bytes_per_token, sum->bytes, sum->allocated, NULL);
}

static void sum_finish(struct sum *sum)
{
	mpq_clears(sum->elements, sum->bytes_per_token, sum->bytes, sum->allocated, NULL);
}

/* ---- sums ---- */

static void add_line(struct sum *sum, const struct al_cache_line *line)
{
	bool is_state = line->kind == AL_CACHE_STATE;
	int64_t all = is_state ? 1 : line->kind == AL_CACHE_CROSS ? sum->source_seq : sum->seq;
	mpq_t bytes;

	mpq_init(bytes);
	al_dtype_exact_bytes(line->storage, line->entry->elements, bytes);
	if (!is_state) {
		mpq_add(sum->elements, sum->elements, line->entry->elements);
		mpq_add(sum->bytes_per_token, sum->bytes_per_token, bytes);
	}
	al_exact_multiply(bytes, line->tokens);
	al_exact_multiply(bytes, sum->batch);
	mpq_add(sum->bytes, sum->bytes, bytes);
	al_dtype_exact_bytes(line->storage, line->expanded, bytes);
	al_exact_multiply(bytes, all);
	al_exact_multiply(bytes, sum->batch);
	mpq_add(sum->allocated, sum->allocated, bytes);
	mpq_clear(bytes);
	sum->layers += line->is_first ? line->entry->times : 0;
	sum->ends_at = line->limit > sum->ends_at ? line->limit : sum->ends_at;
}

/* What a new token adds is its own: source tokens and states are there before it. */
static void add_sum(struct sum *total, const struct sum *sum, enum al_cache_kind kind)
{
	total->layers += sum->layers;
	mpq_add(total->bytes, total->bytes, sum->bytes);
	mpq_add(total->allocated, total->allocated, sum->allocated);
	if (kind == AL_CACHE_CROSS || kind == AL_CACHE_STATE)
		return;
	mpq_add(total->elements, total->elements, sum->elements);
	mpq_add(total->bytes_per_token, total->bytes_per_token, sum->bytes_per_token);
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
		{.key = "allocated",
			.title = "Plain engine",
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
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(a->table, columns[i]);
}

static void add_row(struct answer *a, const struct al_question *q,
	const struct al_configured_variant *configured, const char *kind, const char *title,
	const struct sum *sum)
{
	struct al_cell *cell = al_table_add_row(a->table);

	if (a->shows_model)
		al_cell_set_titled(a->table, cell++, q->name, q->title);
	if (a->shows_variant)
		al_cell_set_text(a->table, cell++, configured->name);
	al_cell_set_titled(a->table, cell++, kind, title);
	al_cell_set_int(a->table, cell++, sum->layers);
	al_cell_set_exact(a->table, cell++, sum->elements);
	al_cell_set_exact(a->table, cell++, sum->bytes_per_token);
	if (sum->ends_at)
		al_cell_set_int(a->table, cell, sum->ends_at);
	cell++;
	if (sum->seq) {
		al_cell_set_exact(a->table, cell++, sum->bytes);
		al_cell_set_exact(a->table, cell, sum->allocated);
	}
}

static void add_kinds(struct answer *a, const struct al_question *q,
	const struct al_configured_variant *configured, const struct al_cache_lines *cache,
	const struct sum *tokens)
{
	struct sum total;

	sum_init(&total, tokens);
	for (int kind = 0; kind < AL_N_CACHE_KINDS; kind++) {
		struct sum sum;
		bool is_there = false;
		sum_init(&sum, tokens);
		for (size_t i = 0; i < cache->n; i++)
			if (cache->lines[i].kind == (enum al_cache_kind)kind) {
				add_line(&sum, &cache->lines[i]);
				is_there = true;
			}
		if (is_there)
			add_row(a, q, configured, al_cache_kind_names[kind],
				al_cache_kind_titles[kind], &sum);
		add_sum(&total, &sum, (enum al_cache_kind)kind);
		sum_finish(&sum);
	}
	add_row(a, q, configured, "total", NULL, &total);
	sum_finish(&total);
}

/* ---- questions ---- */

static bool read_symbol(struct al_question *q, const char *symbol, int64_t fallback, int64_t *out,
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

static bool add_variant(struct answer *a, struct al_question *q, size_t i, const struct sum *tokens,
	struct al_error *err)
{
	struct al_cache_lines cache;
	struct al_ledger ledger;

	if (!al_open_model(q, q->is_own ? NULL : &q->variants.items[i], 1, AL_TENSORS_BY_KIND,
		    &ledger, err))
		return false;
	bool ok = al_ledger_cache(&ledger, a->storage, tokens->seq, tokens->source_seq, &cache,
		err);
	if (ok)
		add_kinds(a, q, &q->variants.items[i], &cache, tokens);
	al_ledger_close(&ledger);
	return ok;
}

static void add_notes(struct answer *a, const struct al_question *q, const struct sum *tokens)
{
	al_note_question(q, a->table);
	al_table_note(a->table, "dtype: %s, but for cached elements with a format of their own",
		a->storage->name);
	if (tokens->seq)
		al_table_note(a->table,
			"batch %lld, %lld tokens; a plain engine keeps all tokens in "
			"sliding-window layers and stores MLA latents as full keys and values",
			(long long)tokens->batch, (long long)tokens->seq);
	else
		al_table_note(a->table, "give --seq for the cache of whole sequences");
}

static bool add_model(struct answer *a, struct al_question *q, struct al_error *err)
{
	struct sum tokens = {.layers = 0};

	if (!read_symbol(q, "seq", 0, &tokens.seq, err)
		|| !read_symbol(q, "batch", 1, &tokens.batch, err)
		|| !read_symbol(q, "source_seq", tokens.seq, &tokens.source_seq, err))
		return false;
	for (size_t i = 0; i < q->variants.n; i++)
		if (!add_variant(a, q, i, &tokens, err))
			return false;
	if (!a->is_noted)
		add_notes(a, q, &tokens);
	a->is_noted = true;
	return true;
}

static bool add_word(struct answer *a, const char *word, struct al_error *err)
{
	struct al_question q;

	if (!al_ask_question(&q, a->session, &a->options->asked, word, false, AL_BASIS_MODEL, err))
		return false;
	bool ok = al_is_about_model(&q, a->options->is_whole)
		|| al_fail(err, AL_EINPUT, "%s: comparing several models needs %s", word,
			q.is_own ? "models whose parts are all known"
				 : "--whole (attention alone cannot be compared)");
	ok = ok && add_model(a, &q, err);
	al_question_finish(&q);
	return ok;
}

bool al_cached_by_kind(struct al_session *session, struct al_question *q, struct al_error *err)
{
	const struct al_cache_options *o = session->options;
	const struct al_command_line *line = &session->line;
	struct answer a = {.session = session,
		.options = o,
		.shows_model = line->n_words > 1,
		.shows_variant = al_names_variants(&o->asked)};

	if (!al_dtype_find(o->dtype, &a.storage, err))
		return false;
	a.table = al_session_table(session, "cache",
		q ? al_format(&session->arena, "KV cache of %s", q->title) : "KV cache");
	add_columns(&a);
	if (q)
		return add_model(&a, q, err);
	for (size_t i = 0; i < line->n_words; i++)
		if (!add_word(&a, line->words[i], err))
			return false;
	return true;
}
