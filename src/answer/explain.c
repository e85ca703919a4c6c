/* --explain: how each number comes about. */
#include "answer/explain.h"

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct al_explanation, model, "Model")},
	{AL_SHOW_KEY(struct al_explanation, variant, "Variant")},
	{AL_SHOW(struct al_explanation, of, "Of")},
	{AL_SHOW(struct al_explanation, name, "Entry")},
	{AL_SHOW(struct al_explanation, formula, "Formula")},
	{AL_SHOW(struct al_explanation, substituted, "Substituted")},
	{AL_SHOW_COUNT(struct al_explanation, result, "Result")},
	{AL_SHOW_COUNT(struct al_explanation, times, "Times")},
	{AL_SHOW(struct al_explanation, source, "Source")},
	AL_FIELDS_END,
};

struct al_table *al_explain_table(struct al_session *session)
{
	struct al_table *table = al_session_table(session, "explain", fields, 0,
		"How each number is computed");

	return table;
}

void al_explain_entry(struct al_table *table, const char *model, const char *variant,
	const struct al_ledger_entry *e, const char *of)
{
	const int64_t times = al_entry_times(e);

	al_table_add_record(table,
		&(struct al_explanation){model, variant, of, e->name, e->formula, e->substituted,
			al_exact_scaled(&table->arena, e->elements, 1, times ? times : 1), times,
			e->source});
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

/* An engine may expand latents, and then keep no rotary keys of their own. */
static const char *what_is_held(const struct al_cache_entry *line)
{
	return mpq_sgn(line->rank) == 0				 ? "none of"
		: mpq_cmp(line->rank, line->entry->elements) > 0 ? "what the engine keeps for"
								 : "one device's share of";
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
		numbers = al_format(&table->arena, "%s %s", what_is_held(line), e->formula);
		values = al_exact_text(&table->arena,
			al_exact_scaled(&table->arena, line->rank, 1, e->times ? e->times : 1));
	}
	mpq_ptr bytes = al_exact_new(&table->arena);

	al_dtype_exact_bytes(line->storage, line->rank ? line->rank : e->elements, bytes);
	if (!is_of_token)
		al_exact_multiply(bytes, line->held * batch);
	al_exact_divide(bytes, e->times ? e->times : 1);
	al_table_add_record(table,
		&(struct al_explanation){model, e->module->configured.name,
			al_cache_kind_names[al_cache_row_of(line)],
			e->module->name
				? al_format(&table->arena, "%s: %s", e->module->name, e->name)
				: e->name,
			al_format(&table->arena, "%s%s%s%s * %s bytes", numbers,
				is_of_token ? "" : " * batch", is_of_token || is_state ? "" : " * ",
				is_of_token ? "" : formula, each),
			is_of_token ? al_format(&table->arena, "%s * %s", values, each)
				    : al_format(&table->arena, "%s * %lld * %lld * %s", values,
					    (long long)batch, (long long)line->held, each),
			bytes, e->times, e->source});
}
