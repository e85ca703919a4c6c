/* variants in a sentence: how formulas grow, which are the same, what decoding keeps. */
#include "commands/variants.h"

#include <string.h>

#include "base/text.h"

/* The rows whose cell reads `text`. */
static size_t count_rows(const struct al_table *table, const char *key, const char *text)
{
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		n += strcmp(al_table_text(table, row, key), text) == 0;
	return n;
}

/* The rows from `row` on have not read so before. */
static bool is_first(const struct al_table *table, const char *key, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(al_table_text(table, i, key), al_table_text(table, row, key)) == 0)
			return false;
	return true;
}

/* "Parameters grow as O(d_model) in 40, as O(1) in 3" */
static const char *say_orders(struct al_arena *arena, const struct al_table *table)
{
	const char *text = "";

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *order = al_table_text(table, row, "order");
		if (is_first(table, "order", row))
			text = al_format(arena, "%s%s %s in %zu", text, *text ? "," : "",
				*order ? al_format(arena, "as %s", order) : "undecided",
				count_rows(table, "order", order));
	}
	return text;
}

static const char *say_growth(struct al_arena *arena, const struct al_table *table,
	const char *symbol)
{
	const char *order = al_table_text(table, 0, "order");

	if (table->n_rows == 1)
		return al_format(arena, "In %s the parameters of %s grow %s", symbol,
			al_table_text(table, 0, "variant"),
			*order ? al_format(arena, "as %s", order) : "in no decided order");
	return al_format(arena, "In %s parameters grow%s of %zu variants", symbol,
		say_orders(arena, table), table->n_rows);
}

/* Sums without cases, of which nothing is left. */
static const char *say_difference(struct al_arena *arena, const struct al_table *table,
	const char *against)
{
	const size_t n = count_rows(table, "difference", "0");

	if (table->n_rows == 1)
		return al_format(arena, "%s has %s as %s", al_table_text(table, 0, "variant"),
			n ? "as many parameters" : "not always as many parameters", against);
	return al_format(arena, "%zu of %zu variants have always as many parameters as %s", n,
		table->n_rows, against);
}

/* What is cached: not known, nothing, once for a sequence alone, or for each token. */
enum cached { UNKNOWN, NOTHING, ONCE, BY_TOKEN, N_CACHED };

static enum cached cached_by(const struct al_table *table, size_t row)
{
	const char *text = al_table_text(table, row, "cache");

	if (!*text)
		return UNKNOWN;
	if (strcmp(text, "none") == 0)
		return NOTHING;
	return strncmp(text, "once:", 5) == 0 ? ONCE : BY_TOKEN;
}

static const char *say_one(struct al_arena *arena, const struct al_table *table)
{
	static const char *const texts[N_CACHED] = {
		[UNKNOWN] = "what it caches isn't declared",
		[NOTHING] = "it caches nothing",
		[ONCE] = "it keeps a state that no token adds to",
	};
	const char *cache = texts[cached_by(table, 0)];

	return al_format(arena, "%s has %s parameters; %s", al_table_text(table, 0, "variant"),
		al_table_text(table, 0, "parameters"),
		cache ? cache
		      : al_format(arena, "each token caches %s elements",
			      al_table_text(table, 0, "cache")));
}

static const char *say_cached(struct al_arena *arena, const struct al_table *table)
{
	size_t n[N_CACHED] = {0};

	for (size_t row = 0; row < table->n_rows; row++)
		n[cached_by(table, row)]++;
	return al_format(arena,
		"Of %zu variants %zu cache something of each token, %zu keep a state that doesn't "
		"grow, %zu cache nothing%s",
		table->n_rows, n[BY_TOKEN], n[ONCE], n[NOTHING],
		n[UNKNOWN] ? al_format(arena, ", of %zu it isn't declared", n[UNKNOWN]) : "");
}

const char *al_variants_summarize(struct al_arena *arena, const struct al_table *table,
	const char *order, const char *against)
{
	if (order && against)
		return al_format(arena, "%s; %s.", say_growth(arena, table, order),
			say_difference(arena, table, against));
	if (order)
		return al_format(arena, "%s.", say_growth(arena, table, order));
	if (against)
		return al_format(arena, "%s.", say_difference(arena, table, against));
	return al_format(arena, "%s.",
		table->n_rows == 1 ? say_one(arena, table) : say_cached(arena, table));
}
