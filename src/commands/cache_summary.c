/* cache in a sentence: what a token adds, and what the sequences take that were asked about. */
#include "commands/cache.h"

#include <string.h>

#include "base/number.h"
#include "commands/summary.h"
#include "ledger/infer.h"

static bool is_total(const struct al_table *table, size_t row)
{
	return strcmp(al_table_text(table, row, "kind"), "total") == 0;
}

static size_t count_totals(const struct al_table *table)
{
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		n += is_total(table, row);
	return n;
}

/* "131,072 tokens at batch 1" */
static const char *sequences(struct al_arena *arena, const struct al_cache_facts *f)
{
	const char *tokens = al_exact_grouped(arena, al_format(arena, "%lld", (long long)f->seq));

	return f->batch == 1
		? al_format(arena, "%s tokens", tokens)
		: al_format(arena, "%lld sequences of %s tokens", (long long)f->batch, tokens);
}

/* "; windows of 128 tokens in 18 of 36 modules"; "" where no window is in the table. */
static const char *windows(struct al_arena *arena, const struct al_table *table)
{
	const size_t last = table->n_rows - 1;

	for (size_t row = 0; row < last; row++)
		if (*al_text_of_cell(arena, table, row, "ends_at"))
			return al_format(arena, "; windows of %s tokens in %s of %s modules",
				al_text_of_cell(arena, table, row, "ends_at"),
				al_text_of_cell(arena, table, row, "layers"),
				al_text_of_cell(arena, table, last, "layers"));
	return "";
}

static bool has_kind(const struct al_table *table, enum al_cache_kind kind)
{
	for (size_t row = 0; row < table->n_rows; row++)
		if (strcmp(al_table_text(table, row, "kind"), al_cache_kind_names[kind]) == 0)
			return true;
	return false;
}

/* What is in the sequences' bytes and not in a token's. */
static const char *besides(const struct al_table *table)
{
	const bool has_cross = has_kind(table, AL_CACHE_CROSS);
	const bool has_state = has_kind(table, AL_CACHE_STATE);

	return has_cross && has_state ? " with source tokens and states"
		: has_cross	      ? " with their source tokens"
		: has_state	      ? " with recurrent states"
				      : "";
}

/* The total is the last row. */
static const char *say_one(struct al_arena *arena, const struct al_table *table,
	const struct al_cache_facts *f)
{
	const size_t total = table->n_rows - 1;
	mpq_srcptr per_token = al_cell_exact(table, total, "bytes_per_token");
	const char *all = f->seq ? al_text_of_cell(arena, table, total, "bytes") : "";

	if (!per_token)
		return al_format(arena, "What %s caches is not known: it isn't declared.",
			f->covered);
	const char *token = mpq_sgn(per_token)
		? al_format(arena, "Each token of %s takes %s of cache", f->covered,
			al_text_of_bytes(arena, per_token))
		: al_format(arena, "A new token of %s adds nothing to the cache", f->covered);
	return al_format(arena, "%s%s%s; numbers in %s%s%s.", token,
		*all ? al_format(arena, ", %s%s %s", sequences(arena, f), besides(table), all) : "",
		windows(arena, table), f->dtype,
		*f->engine ? al_format(arena, ", as %s holds it", f->engine) : "",
		f->seq ? "" : "; --seq N gives the cache of whole sequences");
}

const char *al_cache_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_cache_facts *f)
{
	const char *compared = NULL;

	if (count_totals(table) > 1)
		compared = al_text_of_compared(arena, table, "kind", "total",
			f->seq ? "bytes" : "bytes_per_token");
	else if (table->n_rows)
		return say_one(arena, table, f);
	if (!compared)
		return NULL;
	return al_format(arena, "Cache of %s %s; numbers in %s.",
		f->seq ? sequences(arena, f) : "a token", compared, f->dtype);
}
