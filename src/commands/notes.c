/* Notes: what every answer of a question says of its conventions. */
#include "commands/question.h"

#include <string.h>

#include "base/names.h"

/* What the model's own block is changed to, but for what the basis says already. */
static void note_own_block(const struct al_question *q, struct al_table *table)
{
	const struct al_variant_use *use = &q->uses.items[0];

	for (size_t i = 0; i < use->n_with; i++) {
		const struct al_binding *with = &use->with[i];
		if (q->basis.has_biases && strcmp(with->symbol, "biases") == 0)
			continue;
		const char *value = al_variant_has_option(use->variant, with->symbol)
			? with->value ? "true" : "false"
			: al_format(&table->arena, "%lld", (long long)with->value);
		al_table_note(table, "%s's own block: %s, %s=%s", q->name, use->variant->name,
			with->symbol, value);
	}
}

/* The defaults that a block's tensors took: "d_head = 64 (default d_model/n_heads)". */
static void note_block_defaults(const struct al_block *block, struct al_names *told,
	struct al_table *table)
{
	for (size_t i = 0; i < block->settings.n; i++) {
		const struct al_setting *setting = &block->settings.items[i];
		if (!setting->is_default || setting->value.kind != AL_VALUE_INTEGER)
			continue;
		const char *note = al_format(&table->arena, "%s = %lld (%s)", setting->symbol,
			(long long)setting->value.integer, setting->origin);
		if (al_names_hold(told, note))
			continue;
		al_names_add(told, note);
		al_table_note(table, "%s", note);
	}
}

/* Where a variant alone is asked for; a model's sizes are its own. */
static void note_defaults(const struct al_question *q, struct al_table *table)
{
	struct al_names told;

	al_names_init(&told);
	for (size_t i = 0; i < q->uses.n; i++) {
		struct al_block block;
		struct al_ledger ledger;
		if (!al_block_init(&block, &q->uses.items[i], &q->settings, &q->basis, NULL))
			continue;
		if (al_ledger_tensors(&ledger, &block, true, false, NULL))
			al_ledger_finish(&ledger);
		note_block_defaults(&block, &told, table);
		al_block_finish(&block);
	}
	al_names_finish(&told);
}

void question_note(const struct al_question *q, struct al_table *table)
{
	al_table_note(table, "basis: %s", al_basis_text(&q->basis, &table->arena));
	if (!q->model)
		note_defaults(q, table);
	if (q->is_own)
		note_own_block(q, table);
	for (size_t i = 0; i < q->n_left_out; i++)
		al_table_note(table, "left out: %s", q->left_out[i]);
}
