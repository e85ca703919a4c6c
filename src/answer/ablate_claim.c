/* evaluate --ablate in a sentence: which heads cost least and most, as far as the sample tells. */
#include "answer/ablate.h"

#include "report/claim.h"

/* Of ablations [first, first + n) the one that costs least, with `sign` -1 most. */
static size_t find_extreme(const struct al_ablating *a, size_t first, size_t n, int sign,
	bool *is_tied)
{
	AL_FREED const struct al_unit **samples = al_alloc(n, sizeof(*samples));

	for (size_t i = 0; i < n; i++)
		samples[i] = a->ablations.items[first + i].without;
	return first + al_estimate_extreme(samples, n, a->ablations.n_sequences, sign, is_tied);
}

static size_t count(const bool *is_tied, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += is_tied[i];
	return sum;
}

/* "head 5 of layer 3" */
static const char *name_of(const struct al_ablating *a, const struct al_table *table, size_t row)
{
	struct al_arena *arena = &a->session->arena;
	const char *layer = al_claim_cell(arena, table, row, "layer");
	const char *head = al_claim_cell(arena, table, row, "head");

	switch ((enum al_ablated)a->options->what) {
	case AL_ABLATE_LAYERS:
		return al_format(arena, "the attention of layer %s", layer);
	case AL_ABLATE_PAIRS:
		return al_format(arena, "heads %s and %s of layer %s", head,
			al_claim_cell(arena, table, row, "other"), layer);
	default:
		return al_format(arena, "%s %s of layer %s",
			a->options->what == AL_ABLATE_HEADS ? "head" : "the group of head", head,
			layer);
	}
}

static const char *cost_of(const struct al_ablating *a, const struct al_table *table, size_t row)
{
	return al_claim_with_error(&a->session->arena, table, row, a->kind->key,
		a->kind->error_key);
}

/* What was measured on: tokens that are predicted, or sequences. */
static const char *sample_of(const struct al_ablating *a)
{
	const char *noun = a->kind == &al_ablation_of_loss ? "token" : "sequence";
	double n = 0;

	for (size_t i = 0; i < a->ablations.n_sequences; i++)
		n += a->whole->sequences[i].n;
	return al_claim_counted(&a->session->arena, (uint64_t)n, noun);
}

/* "head 2 of layer 3, head 5 of layer 3 and 7 others", those that cost least first. */
static const char *say_tied(const struct al_ablating *a, const struct al_table *table,
	bool *is_tied, size_t n_tied)
{
	enum { MOST_NAMED = 4 };
	struct al_arena *arena = &a->session->arena;
	const size_t n_named = n_tied <= MOST_NAMED ? n_tied : 2;
	const char *text = "";

	for (size_t n = 1; n <= n_named; n++) {
		double best = INFINITY, cost;
		size_t at = 0;
		for (size_t i = 0; i < a->ablations.n; i++)
			if (is_tied[i] && al_table_number(table, i, a->kind->key, &cost)
				&& cost < best) {
				best = cost;
				at = i;
			}
		is_tied[at] = false;
		text = al_format(arena, "%s%s%s", text,
			n == 1		      ? ""
				: n == n_tied ? " and "
					      : ", ",
			name_of(a, table, at));
	}
	return n_named == n_tied ? text
				 : al_format(arena, "%s and %s", text,
					 al_claim_counted(arena, n_tied - n_named, "other"));
}

/* "Removing ... costs least (...)", or that it can't be told. */
static const char *say_least(const struct al_ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	AL_FREED bool *is_tied = al_alloc(a->ablations.n, sizeof(*is_tied));
	const size_t at = find_extreme(a, 0, a->ablations.n, 1, is_tied);
	const size_t n_tied = count(is_tied, a->ablations.n);

	if (n_tied == 1 || a->ablations.n_sequences < 2)
		return al_format(arena, "Removing %s %s least (%s%s)", name_of(a, table, at),
			a->kind->verb, cost_of(a, table, at), a->kind->unit);
	return al_text_of_capital(arena,
		al_format(arena,
			"%s can't be told apart on %s: one of them %s least (%s%s without the "
			"first)",
			say_tied(a, table, is_tied, n_tied), sample_of(a), a->kind->verb,
			cost_of(a, table, at), a->kind->unit));
}

static const char *say_most(const struct al_ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	AL_FREED bool *is_tied = al_alloc(a->ablations.n, sizeof(*is_tied));
	const size_t at = find_extreme(a, 0, a->ablations.n, -1, is_tied);
	const size_t n_others = count(is_tied, a->ablations.n) - 1;

	return al_format(arena, "removing %s %s most (%s)%s", name_of(a, table, at), a->kind->verb,
		cost_of(a, table, at),
		n_others == 0 || a->ablations.n_sequences < 2
			? ""
			: al_format(arena, ", but can't be told from %s",
				al_claim_counted(arena, n_others, "other")));
}

/* In how many layers the least missed head is known. */
static const char *say_layers(const struct al_ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	int64_t n = 0, n_layers = 0;
	bool has_others = false;

	for (size_t first = 0, end; first < a->ablations.n; first = end, n_layers++) {
		end = al_ablating_layer_end(a, first);
		has_others |= end - first > 1;
	}
	for (size_t row = 0; row < table->n_rows; row++)
		n += strcmp(al_table_text(table, row, "place"), "least") == 0;
	if (a->ablations.n_sequences < 2)
		return " One sequence gives no standard errors.";
	if (!has_others || n_layers < 2)
		return "";
	return al_format(arena, " One of a layer's %s clearly %s least in %s of %s layers.",
		a->options->what == AL_ABLATE_GROUPS ? "groups" : "heads", a->kind->verb,
		al_claim_count(arena, "separable", n), al_claim_count(arena, "layers", n_layers));
}

static const char *say_parts(const struct al_ablating *a, const struct al_table *table)
{
	if (a->ablations.n < 2)
		return al_format(&a->session->arena, "Removing %s %s by %s%s.",
			name_of(a, table, 0), a->kind->alone, cost_of(a, table, 0), a->kind->unit);
	return al_format(&a->session->arena, "%s; %s.%s", say_least(a, table), say_most(a, table),
		say_layers(a, table));
}

/* Are both missed more than each alone, among as many pairs as there are? */
static const char *say_pairs(const struct al_ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	size_t n = 0;
	double most;
	const size_t row = al_table_extreme(table, "beyond", 1, &most);

	for (size_t i = 0; i < a->ablations.n; i++)
		if (al_ablating_shows(a, i)) {
			const struct al_estimate beyond = al_ablating_beyond(a, i);
			n += beyond.mean > 0 && al_estimate_is_apart(beyond, table->n_rows);
		}
	if (table->n_rows == 0)
		return "Each layer has only one head: there are no pairs.";
	return al_format(arena,
		"%s of %s of nearest heads %s more together than both alone, as far as %s tell; %s "
		"most: by %s%s.",
		n ? al_claim_count(arena, "pairs_beyond", (int64_t)n) : "None",
		al_claim_counted(arena, table->n_rows, "pair"),
		n == 1 ? a->kind->verb : a->kind->verbs, sample_of(a), name_of(a, table, row),
		al_claim_with_error(arena, table, row, "beyond", "beyond_error"), a->kind->unit);
}

/* " On 34 masked tokens the loss changes by -0.0102 +- 0.0100 (head 0 of layer 1) to ..." */
static const char *say_masked(const struct al_ablating *a, const struct al_table *table)
{
	struct al_arena *arena = &a->session->arena;
	const char *texts[2];
	double n = 0, extreme;

	if (!a->masked || table->n_rows == 0)
		return "";
	for (int i = 0; i < 2; i++) {
		const size_t row = al_table_extreme(table, "masked_loss_increase", i ? 1 : -1,
			&extreme);
		texts[i] = al_format(arena, "%s (%s)",
			al_claim_with_error(arena, table, row, "masked_loss_increase",
				"masked_loss_increase_error"),
			name_of(a, table, row));
	}
	for (size_t i = 0; i < a->masked->all->n_sequences; i++)
		n += a->masked->sequences[i].n;
	return al_format(arena, " On %s the loss changes by %s to %s nats per token.",
		al_claim_counted(arena, (uint64_t)n, "masked token"), texts[0], texts[1]);
}

/* That W_O was refitted to some of the same tokens. */
static const char *say_seen(const struct al_ablating *a)
{
	struct al_arena *arena = &a->session->arena;
	const size_t n = a->options->refits
		? al_calibration_count_seen(a->calibration, &a->model->running->all)
		: 0;

	return n == 0 ? ""
		      : al_format(arena,
			      " W_O was refitted to %s of these %s: on others, heads cost more.",
			      al_claim_count(arena, "seen", (int64_t)n),
			      al_claim_counted(arena, a->ablations.n_sequences, "sequence"));
}

const char *al_ablating_claim(const struct al_ablating *a, const struct al_table *table)
{
	return al_format(&a->session->arena, "%s%s%s",
		a->options->what == AL_ABLATE_PAIRS ? say_pairs(a, table) : say_parts(a, table),
		say_masked(a, table), say_seen(a));
}
