/* --explain: how each number comes about. */
#include "commands/explain.h"

#include "base/number.h"

struct al_table *al_explain_table(struct al_session *session)
{
	static const struct al_column columns[] = {
		{.key = "model", .title = "Model", .is_key = true},
		{.key = "variant", .title = "Variant", .is_key = true},
		{.key = "of", .title = "Of"},
		{.key = "name", .title = "Entry"},
		{.key = "formula", .title = "Formula"},
		{.key = "substituted", .title = "Substituted"},
		{.key = "result",
			.title = "Result",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "times",
			.title = "Times",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "source", .title = "Source"},
	};
	struct al_table *table = al_session_table(session, "explain",
		"How each number comes about");

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
	return table;
}

static void set_text(struct al_table *table, struct al_cell *cell, const char *text)
{
	if (text)
		al_cell_set_text(table, cell, text);
}

void al_explain(struct al_table *table, const struct al_explanation *e)
{
	struct al_cell *cell = al_table_add_row(table);

	set_text(table, cell++, e->model);
	set_text(table, cell++, e->variant);
	set_text(table, cell++, e->of);
	set_text(table, cell++, e->name);
	set_text(table, cell++, e->formula);
	set_text(table, cell++, e->substituted);
	al_cell_set_exact(table, cell++, e->result);
	al_cell_set_int(table, cell++, e->times);
	set_text(table, cell, e->source);
}

void al_explain_entry(struct al_table *table, const char *model, const char *variant,
	const struct al_ledger_entry *e, const char *of, bool each)
{
	int64_t times = each ? e->times * e->count : e->times;
	mpq_t once;

	mpq_init(once);
	mpq_set(once, e->elements);
	al_exact_divide(once, times ? times : 1);
	al_explain(table,
		&(struct al_explanation){.model = model,
			.variant = variant,
			.of = of,
			.name = e->name,
			.formula = e->formula,
			.substituted = e->substituted,
			.result = once,
			.times = times,
			.source = e->source});
	mpq_clear(once);
}

const char *al_explain_tokens(const struct al_cache_entry *line)
{
	if (line->kind == AL_CACHE_STATE)
		return "";
	if (line->kind == AL_CACHE_CROSS)
		return "source_seq";
	return line->entry->entry->tokens ? al_formula_source(line->entry->entry->tokens) : "seq";
}

const char *al_explain_bytes(struct al_arena *arena, const struct al_dtype *storage)
{
	return storage->block_elements == 1
		? al_format(arena, "%zu", storage->block_bytes)
		: al_format(arena, "%zu/%zu", storage->block_bytes, storage->block_elements);
}

void al_explain_cached(struct al_table *table, const char *model, const struct al_cache_entry *line,
	int64_t batch, bool has_tokens)
{
	const struct al_ledger_entry *e = line->entry;
	const char *formula = al_explain_tokens(line),
		   *each = al_explain_bytes(&table->arena, line->storage);
	const bool is_state = !*formula;
	const bool is_of_token = !has_tokens && !is_state;
	const char *numbers = e->formula, *values = e->substituted;

	if (line->rank && mpq_cmp(line->rank, e->elements) != 0) {
		numbers = al_format(&table->arena, "what one device keeps of %s", e->formula);
		values = al_exact_text(&table->arena,
			al_exact_scaled(&table->arena, line->rank, 1, e->times ? e->times : 1));
	}
	mpq_t bytes;

	mpq_init(bytes);
	al_dtype_exact_bytes(line->storage, line->rank ? line->rank : e->elements, bytes);
	if (!is_of_token)
		al_exact_multiply(bytes, line->held * batch);
	al_exact_divide(bytes, e->times ? e->times : 1);
	al_explain(table,
		&(struct al_explanation){.model = model,
			.variant = e->module->configured.name,
			.of = al_cache_kind_names[line->kind],
			.name = e->module->name
				? al_format(&table->arena, "%s: %s", e->module->name, e->name)
				: e->name,
			.formula = al_format(&table->arena, "%s%s%s%s * %s bytes", numbers,
				is_of_token ? "" : " * batch", is_of_token || is_state ? "" : " * ",
				is_of_token ? "" : formula, each),
			.substituted = is_of_token
				? al_format(&table->arena, "%s * %s", values, each)
				: al_format(&table->arena, "%s * %lld * %lld * %s", values,
					(long long)batch, (long long)line->held, each),
			.result = bytes,
			.times = e->times,
			.source = e->source});
	mpq_clear(bytes);
}
