/* How an answer of fit reads: in a sentence the largest that fits, what is to spare, and what the
 * next one lacks; and how many decimals its numbers have. */
#include "answer/fit.h"

#include "report/claim.h"

/* "a context of 38,751 tokens", "a batch of 54", "n_layers = 12" */
static const char *size(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key)
{
	const char *symbol = al_table_text(table, row, "symbol");
	const char *value = al_claim_cell(arena, table, row, key);

	if (strcmp(symbol, "seq") == 0)
		return al_format(arena, "a context of %s tokens", value);
	if (strcmp(symbol, "batch") == 0)
		return al_format(arena, "a batch of %s", value);
	return al_format(arena, "%s = %s", al_claim_cell(arena, table, row, "symbol"), value);
}

static const char *difference(struct al_arena *arena, const char *name, mpq_srcptr more,
	mpq_srcptr less)
{
	mpq_ptr between = al_exact_new(arena);

	mpq_sub(between, more, less);
	return al_claim_bytes(arena, name, between);
}

/* "; a context of 38,752 tokens needs 1.51 MiB more than that, most of the growth is cache" */
static const char *say_next(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *because)
{
	mpq_srcptr next = al_cell_exact(table, row, "next_bytes"),
		   memory = al_cell_exact(table, row, "memory");

	if (!next || !memory)
		return "";
	return al_format(arena, "%s needs %s more than there is, %s %s",
		size(arena, table, row, "next"), difference(arena, "missing", next, memory),
		because, al_claim_cell(arena, table, row, "binds"));
}

static const char *say_largest(struct al_arena *arena, const struct al_table *table, size_t row)
{
	mpq_srcptr bytes = al_cell_exact(table, row, "bytes"),
		   memory = al_cell_exact(table, row, "memory");
	const char *all = al_claim_cell(arena, table, row, "memory");
	const char *next = say_next(arena, table, row, "and what grows most is");

	if (!memory)
		return NULL;
	if (bytes)
		return al_format(arena, "%s is the largest that fits into %s, with %s to spare%s%s",
			al_text_of_capital(arena, size(arena, table, row, "value")), all,
			difference(arena, "spare", memory, bytes), *next ? "; " : "", next);
	if (!*next)
		return al_format(arena, "What fits into %s is not known", all);
	return al_format(arena, "Nothing fits into %s: even %s", all,
		say_next(arena, table, row, "most of all for"));
}

/* Rows that aren't known, or of which nothing fits. */
static const char *say_left_out(struct al_arena *arena, const struct al_table *table)
{
	const char *names = "";

	for (size_t row = 0; row < table->n_rows; row++)
		if (!al_cell_exact(table, row, "value"))
			names = al_join(arena, names, al_claim_cell(arena, table, row, "variant"));
	return *names ? al_format(arena, "; nothing is known to fit with %s", names) : "";
}

static const char *say_each(struct al_arena *arena, const struct al_table *table)
{
	const char *text = "";

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *said = say_largest(arena, table, row);
		text = al_format(arena, "%s%s%s: %s", text, *text ? ". " : "",
			al_claim_cell(arena, table, row, "variant"), said ? said : "not known");
	}
	return text;
}

static const char *say_several(struct al_arena *arena, const struct al_table *table)
{
	const char *symbol = al_table_text(table, 0, "symbol");
	const char *compared = al_claim_compared(arena, table, "symbol", symbol, "value");

	if (!compared)
		return say_each(arena, table);
	return al_format(arena, "Largest %s that fits into %s %s%s",
		strcmp(symbol, "seq") == 0 ? "context" : symbol,
		al_claim_cell(arena, table, 0, "memory"), compared, say_left_out(arena, table));
}

/* What isn't solved for: "batch 8, ", "1024 tokens, ". */
static const char *tokens(struct al_arena *arena, const struct al_fit *f)
{
	const struct al_training *t = &f->training;
	const char *batch = strcmp(f->symbol, "batch") == 0
		? ""
		: al_format(arena, "batch %s, ", al_claim_count(arena, "batch", t->batch));

	return strcmp(f->symbol, "seq") == 0
		? batch
		: al_format(arena, "%s%s tokens, ", batch, al_claim_count(arena, "seq", t->seq));
}

/* "weights in bf16, cache in bf16, as vLLM holds it" */
static const char *assumed(struct al_arena *arena, const struct al_fit *f)
{
	const struct al_training *t = &f->training;

	if (f->is_inference)
		return al_format(arena, "weights in %s, cache in %s%s",
			al_claim_name(arena, "weights", f->inference.weights->name),
			al_claim_name(arena, "cache", f->inference.cache->name),
			al_engine_holds(f->request));
	return al_format(arena, "recipe %s%s%s", al_claim_name(arena, "recipe", t->recipe->name),
		t->recipe->activations_per_token ? "" : ", recompute ",
		t->recipe->activations_per_token ? "" : al_recompute_names[t->recompute]);
}

const char *al_fit_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_fit *f)
{
	const char *said = NULL;

	if (table->n_rows > 1)
		said = say_several(arena, table);
	if (!said && table->n_rows > 0)
		said = say_largest(arena, table, 0);
	return said
		? al_format(arena, "%s; assumed: %s%s.", said, tokens(arena, f), assumed(arena, f))
		: NULL;
}

/* ---- decimals that tell what fits, what the next larger one needs, and the memory apart ---- */

enum { LEAST_DIGITS = 2, MOST_DIGITS = 9 };

static const char *const keys[] = {"bytes", "next_bytes", "memory"};

enum { N_KEYS = sizeof(keys) / sizeof(*keys) };

/* Unequal numbers that read the same? */
static bool reads_alike(const struct al_style *style, struct al_table *table, size_t row, int a,
	int b)
{
	const struct al_cell *x = &table->rows[row][a], *y = &table->rows[row][b];

	return x->kind == AL_CELL_EXACT && y->kind == AL_CELL_EXACT
		&& !mpq_equal(x->exact, y->exact)
		&& strcmp(al_cell_display(&table->arena, style, &table->columns[a], x),
			   al_cell_display(&table->arena, style, &table->columns[b], y))
		== 0;
}

static bool tells_apart(const struct al_style *style, struct al_table *table, const int at[N_KEYS])
{
	for (size_t row = 0; row < table->n_rows; row++)
		for (int i = 0; i < N_KEYS; i++)
			if (reads_alike(style, table, row, at[i], at[(i + 1) % N_KEYS]))
				return false;
	return true;
}

void al_fit_choose_digits(const struct al_style *style, struct al_table *table)
{
	const struct al_style readable = {
		.units = style->units == AL_UNITS_DEFAULT ? AL_UNITS_READABLE : style->units};
	int at[N_KEYS];

	for (int i = 0; i < N_KEYS; i++)
		at[i] = al_table_find_column(table, keys[i]);
	for (int digits = LEAST_DIGITS; digits <= MOST_DIGITS && !tells_apart(&readable, table, at);
		digits++)
		for (int i = 0; i < N_KEYS; i++)
			table->columns[at[i]].digits = digits + 1;
}
