/* The evaluator: a cache of the evaluated measures of each table row. Cells, claims and corners
 * ask for the same row again. */
#include "scenario/memo.h"

/* Limits of a file, described in FORMAT.md. */
enum {
	MOST_BLOCKS = 5000, /* (case, variant) pairs of all tables whose ledger is cached */
	MOST_LOOK_UPS = 1 << 23, /* cells looked up */
};

/* The request, and the ledger of a variant that has one. */
static bool memo_fill(const struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_memo *memo, struct al_error *err)
{
	const struct al_scenario_row *row = &memo->row;
	const struct al_configured_variant *variant = row->variant;

	if (!al_case_ask(&memo->request, row->case_, &table->changes, table->id, err))
		return false;
	if (!variant || !variant->variant)
		return true;
	if (!al_configured_variant_tie(evaluator->arena, &variant, &memo->request.settings, err))
		return false;
	const struct al_ledger_ask ask = al_request_ask(&memo->request, variant, false);
	memo->has_ledger = al_ledger_open(&memo->ledger, &ask, err);
	return memo->has_ledger;
}

static void memo_finish(void *object)
{
	struct al_memo *memo = object;

	if (memo->has_ledger)
		al_ledger_close(&memo->ledger);
	al_request_finish(&memo->request);
	al_polynomial_destroy(memo->formula);
	al_polynomial_destroy(memo->cached);
	al_polynomial_destroy(memo->difference);
}

/* The row's memo, moved to the front: what is asked once is asked again soon. NULL where none
 * is. */
static struct al_memo *recall(struct al_memo **memos, struct al_scenario_row row)
{
	for (struct al_memo **at = memos; *at; at = &(*at)->next) {
		struct al_memo *memo = *at;
		if (memo->row.case_ != row.case_ || memo->row.variant != row.variant)
			continue;
		*at = memo->next;
		memo->next = *memos;
		return *memos = memo;
	}
	return NULL;
}

bool al_memo_find(struct al_evaluator *evaluator, const struct al_scenario_table *table,
	struct al_scenario_row row, struct al_memo **out, struct al_error *err)
{
	const struct al_scenario *s = evaluator->scenario;
	struct al_memo **memos = &evaluator->memos[table - s->tables];

	*out = recall(memos, row);
	if (*out)
		return true;
	if (evaluator->n_blocks == MOST_BLOCKS)
		return al_fail(err, AL_EINPUT,
			"the file asks for the ledgers of more than %d (case, variant) pairs",
			MOST_BLOCKS);
	evaluator->n_blocks++;
	struct al_memo *memo = al_new(evaluator->arena, struct al_memo);
	memo->row = row;
	al_arena_defer(evaluator->arena, memo_finish, memo);
	if (!memo_fill(evaluator, table, memo, err))
		return false;
	memo->next = *memos;
	*memos = *out = memo;
	return true;
}

bool al_evaluator_spend(struct al_evaluator *evaluator, size_t look_ups, struct al_error *err)
{
	evaluator->n_look_ups += look_ups;
	return evaluator->n_look_ups <= MOST_LOOK_UPS
		|| al_fail(err, AL_EINPUT, "more than %d cells are looked up", MOST_LOOK_UPS);
}

struct al_evaluator *al_evaluator_create(const struct al_scenario *scenario, struct al_arena *arena)
{
	struct al_evaluator *evaluator = al_new(arena, struct al_evaluator);

	evaluator->arena = arena;
	evaluator->scenario = scenario;
	evaluator->memos = al_new_array(arena, struct al_memo *, scenario->n_tables + 1);
	return evaluator;
}
