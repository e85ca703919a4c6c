/* memory in a sentence: the total, its largest part, and what it hangs on. */
#include "answer/memory.h"

#include "report/claim.h"

/* "21.71 GiB on one of 8 devices, 51.7 % of it optimizer"; NULL: it isn't known. The total is the
 * last row. */
static const char *say_total(struct al_arena *arena, const struct al_table *table,
	const char *where)
{
	struct al_table states = *table;
	const size_t total = --states.n_rows;
	double all, most = 0;
	const size_t largest = al_table_extreme(&states, "bytes", 1, &most);

	if (!(most > 0) || !al_table_number(table, total, "bytes", &all))
		return NULL;
	return al_format(arena, AL_CLAIM_LEAD "%s%s, %s of it %s",
		al_claim_cell(arena, table, total, "bytes"), where,
		al_claim_percent(arena, "share", most / all),
		al_claim_cell(arena, table, largest, "state"));
}

static const char *unknown(struct al_arena *arena, const char *subject)
{
	return al_format(arena,
		"What %s takes in all is not known: a variant doesn't declare all "
		"of it, as the notes say.",
		subject);
}

/* ---- training ---- */

/* Of a pipeline the stage that holds most is told. */
static const char *of_devices(struct al_arena *arena, int64_t n, bool has_stages)
{
	return n > 1 ? al_format(arena, " on %s of %s devices", has_stages ? "the fullest" : "one",
		       al_claim_count(arena, "devices", n))
		     : "";
}

static const char *tokens(struct al_arena *arena, int64_t batch, int64_t seq)
{
	return al_format(arena, " at batch %s and %s tokens", al_claim_count(arena, "batch", batch),
		al_claim_count(arena, "seq", seq));
}

/* "recipe megatron, flash attention, recompute none" */
static const char *training_assumed(struct al_arena *arena, const struct al_recipe *recipe,
	const struct al_training *training)
{
	if (recipe->activations_per_token)
		return al_format(arena, "recipe %s", al_claim_name(arena, "recipe", recipe->name));
	return al_format(arena, "recipe %s, %s attention%s%s",
		al_claim_name(arena, "recipe", recipe->name), recipe->is_flash ? "flash" : "eager",
		training ? ", recompute " : "",
		training ? al_recompute_names[training->recompute] : "");
}

const char *al_memory_summarize_training(struct al_arena *arena, const struct al_table *table,
	const struct al_request *q, const struct al_training *t, bool is_whole)
{
	const char *covered = al_claim_name(arena, "subject", al_request_covered(q, is_whole));
	const char *where = t ? of_devices(arena, t->tp * t->pp * t->dp * t->cp, t->pp > 1) : "";
	const char *total = say_total(arena, table, where);

	if (!total)
		return unknown(arena, al_format(arena, "training %s", covered));
	return al_format(arena, "Training %s%s takes %s; assumed: %s.", covered,
		t ? tokens(arena, t->batch, t->seq) : "", total,
		training_assumed(arena, q->recipe, t));
}

const char *al_memory_summarize_compared(struct al_arena *arena, const struct al_table *table,
	const struct al_recipe *recipe, const struct al_training *t, const char *base)
{
	struct al_compared *items = al_new_array(arena, struct al_compared, table->n_rows + 1);
	size_t n = 0, base_at = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		double value;
		if (!al_table_number(table, row, "total", &value))
			continue;
		if (base && strcmp(al_table_text(table, row, "variant"), base) == 0)
			base_at = n;
		items[n++] = (struct al_compared){al_claim_row(arena, table, row, ""),
			al_claim_cell(arena, table, row, "total"), value};
	}
	if (n == 0)
		return unknown(arena, "training");
	if (n == 1)
		return al_format(arena, "Training with %s%s takes %s; assumed: %s.", items[0].name,
			t ? tokens(arena, t->batch, t->seq) : "", items[0].text,
			training_assumed(arena, recipe, t));
	return al_format(arena, "Training memory%s %s; assumed: %s.",
		t ? tokens(arena, t->batch, t->seq) : "", al_claim_order(arena, items, n, base_at),
		training_assumed(arena, recipe, t));
}

/* ---- inference ---- */

/* "; H100 gives at most 208.3 new tokens per second, limited by memory bandwidth" */
static const char *say_bound(struct al_arena *arena, const struct al_table *bounds,
	const char *device)
{
	if (!bounds || bounds->n_rows == 0
		|| !*al_claim_cell(arena, bounds, 0, "tokens_per_second"))
		return "";
	return al_format(arena,
		" %s gives at most %s new tokens per second, limited by %s, if nothing is lost.",
		al_claim_name(arena, "device", device),
		al_claim_cell(arena, bounds, 0, "tokens_per_second"),
		al_claim_cell(arena, bounds, 0, "limited_by"));
}

const char *al_memory_summarize_inference(struct al_arena *arena, const struct al_table *table,
	const struct al_table *bounds, const struct al_request *q,
	const struct al_inference *inference, const struct al_device_options *o)
{
	const char *covered = al_claim_name(arena, "subject", al_request_covered(q, o->is_whole));
	const char *where = of_devices(arena, inference->tp * inference->pp * o->training.dp,
		inference->pp > 1);
	const char *total = say_total(arena, table, where);

	if (!total)
		return unknown(arena, al_format(arena, "running %s", covered));
	return al_format(arena, "Running %s%s%s takes %s; weights in %s, cache in %s%s.%s", covered,
		tokens(arena, inference->batch, inference->seq),
		o->training.dp > 1 ? " per device" : "", total,
		al_claim_name(arena, "weights", inference->weights->name),
		al_claim_name(arena, "cache", inference->cache->name), al_engine_holds(q),
		say_bound(arena, bounds, o->device));
}
