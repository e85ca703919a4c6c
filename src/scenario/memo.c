/* Memos: what a table's rows are worth, kept for the cells, claims and corners that ask again. */
#include "scenario/memo.h"

/* The conditions, and the ledger of a variant that has one. */
static bool memo_fill(struct al_scenario *s, const struct table *table, struct memo *memo,
	struct al_error *err)
{
	const struct row *row = &memo->row;

	memo->has_conditions = conditions_init(&memo->conditions, s->catalog, row->kase,
		&table->changes, err);
	if (!memo->has_conditions)
		return false;
	if (!row->variant || !row->variant->use.variant)
		return true;
	memo->has_block = al_block_init(&memo->block, &row->variant->use,
		&memo->conditions.settings, &memo->conditions.basis, err);
	return memo->has_block;
}

static void memo_finish(struct memo *memo)
{
	if (memo->has_block)
		al_block_finish(&memo->block);
	if (memo->has_conditions)
		conditions_finish(&memo->conditions);
	al_polynomial_destroy(memo->formula);
	al_polynomial_destroy(memo->difference);
}

/* The row's memo, moved to the front: what is asked once is asked again soon. NULL where none
 * is. */
static struct memo *recall(struct table *table, struct row row)
{
	for (struct memo **at = &table->memos; *at; at = &(*at)->next) {
		struct memo *memo = *at;
		if (memo->row.kase != row.kase || memo->row.variant != row.variant)
			continue;
		*at = memo->next;
		memo->next = table->memos;
		return table->memos = memo;
	}
	return NULL;
}

bool find_memo(struct al_scenario *s, const struct table *table, struct row row, struct memo **out,
	struct al_error *err)
{
	/* A memo is a cache: the table that is read stays the same for whoever looks at it. */
	struct table *owner = &s->tables[table - s->tables];

	*out = recall(owner, row);
	if (*out)
		return true;
	if (s->n_blocks == MOST_BLOCKS)
		return al_fail(err, AL_EINPUT,
			"the file asks for the ledgers of more than %d (case, variant) pairs",
			MOST_BLOCKS);
	s->n_blocks++;
	struct memo *memo = al_new(&s->arena, struct memo);
	memo->row = row;
	if (!memo_fill(s, table, memo, err)) {
		memo_finish(memo);
		return false;
	}
	memo->next = owner->memos;
	owner->memos = *out = memo;
	return true;
}

void memos_finish(struct table *table)
{
	for (struct memo *m = table->memos; m; m = m->next)
		memo_finish(m);
	table->memos = NULL;
}
