/* The order in which heads may go, by what the stream behind attention notices. */
#include "model/calibration/outputs.h"

/* Folds whose tokens judge what is fitted on others'. */
static size_t count_judging(const struct al_head_squares *s)
{
	size_t n = 0;

	for (size_t fold = 0; fold < s->n_folds; fold++)
		n += s->dropped[fold].n > 0;
	return n > 1 ? n : 0;
}

/* Over all folds but one; SIZE_MAX: over all. */
static struct al_unit sum_units(const struct al_unit *units, size_t n_folds, size_t but)
{
	struct al_unit sum = {0};

	for (size_t fold = 0; fold < n_folds; fold++)
		if (fold != but) {
			sum.sum += units[fold].sum;
			sum.n += units[fold].n;
		}
	return sum;
}

static double mean_turn(const struct al_head_squares *s, size_t head, size_t but)
{
	struct al_unit sum = {0};

	for (size_t fold = 0; fold < s->n_folds; fold++)
		if (fold != but) {
			sum.sum += s->turns.sums.data[head + fold * s->turns.sums.ld];
			sum.n += (double)s->turns.n[fold];
		}
	return sum.sum / sum.n;
}

static double root_of_ratio(double a, double b)
{
	return b > 0 ? sqrt(fmax(0, a) / b) : 0;
}

/* What a refit leaves counts where other tokens judge it. */
static double cost_of(const struct al_head_squares *s, size_t head, size_t but)
{
	const bool is_judged = count_judging(s) > 0;
	const struct al_unit dropped = sum_units(s->dropped + head * s->n_folds, s->n_folds, but);
	const struct al_unit left = is_judged
		? sum_units(s->refitted + head * s->n_folds, s->n_folds, but)
		: dropped;

	return s->turns.n ? mean_turn(s, head, but) * root_of_ratio(left.sum, dropped.sum)
			  : root_of_ratio(left.sum, dropped.n);
}

/* Units whose mean is the cost, and whose standard error is the jackknife's of it. */
static void find_units(const struct al_head_squares *s, size_t head, struct al_unit *units)
{
	const double n = (double)count_judging(s), whole = cost_of(s, head, SIZE_MAX);
	double sum = 0;

	for (size_t fold = 0; fold < s->n_folds; fold++) {
		units[fold] = (struct al_unit){0};
		if (n > 0 && s->dropped[fold].n > 0)
			units[fold] = (struct al_unit){cost_of(s, head, fold), 1};
		sum += units[fold].sum;
	}
	for (size_t fold = 0; fold < s->n_folds; fold++)
		if (units[fold].n > 0)
			units[fold].sum = whole - (n - 1) * (units[fold].sum - sum / n);
}

bool al_heads_order(const struct al_head_squares *s, struct al_head_worth *worth,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_unit *units = al_take_array(&scratch, s->n_heads * s->n_folds, sizeof(*units),
		err);
	const struct al_unit **samples = al_take_array(&scratch, s->n_heads, sizeof(*samples), err);
	bool *is_tied = al_take_array(&scratch, s->n_heads, sizeof(*is_tied), err);

	if (!units || !samples || !is_tied)
		return false;
	for (size_t i = 0; i < s->n_heads; i++) {
		find_units(s, i, units + i * s->n_folds);
		samples[i] = units + i * s->n_folds;
		worth[i].turn = s->turns.n ? mean_turn(s, i, SIZE_MAX) : (double)NAN;
		worth[i].cost = al_estimate_mean(samples[i], s->n_folds);
		worth[i].cost.mean = cost_of(s, i, SIZE_MAX);
		if (sum_units(s->dropped, s->n_folds, SIZE_MAX).n <= 0)
			worth[i].cost = (struct al_estimate){0};
	}
	const size_t least = al_estimate_extreme(samples, s->n_heads, s->n_folds, 1, is_tied);
	for (size_t i = 0; i < s->n_heads; i++) {
		worth[i].is_least = i == least;
		worth[i].is_tied = is_tied[i];
	}
	return true;
}
