/* A model without some heads, W_O of its module's other heads fitted anew to the calibration's
 * outputs o: W_O acts on what the others predict of the heads that are gone, o_gone = o_kept B with
 * B = E[o_kept^T o_kept]^+ E[o_kept^T o_gone]. */
#include "compress/judge.h"

#include "model/calibration/outputs.h"

static bool is_gone(const struct al_ablation *a, size_t number)
{
	const int64_t head = (int64_t)number / a->attention->d_value;

	return (head >= a->first && head < a->first + a->n)
		|| (a->other >= 0 && head >= a->other && head < a->other + a->n);
}

/* gram [n][n] and cross [n][gone]: zero where they read heads that are gone. */
static void split_moment(const struct al_ablation *a, struct al_view moment, struct al_matrix gram,
	struct al_matrix cross)
{
	size_t n_gone = 0;

	for (size_t j = 0; j < moment.cols; j++) {
		double *to = is_gone(a, j) ? cross.data + n_gone++ * cross.ld
					   : gram.data + j * gram.ld;
		for (size_t i = 0; i < moment.rows; i++)
			to[i] = is_gone(a, i) ? 0 : moment.data[i + j * moment.ld];
	}
}

/* Outputs of heads that are gone come in the order of `first`, then `other`. */
static void swap_heads(const struct al_ablation *a, struct al_matrix_f map)
{
	const size_t n = map.cols / 2;

	if (a->other < 0 || a->first < a->other)
		return;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < map.rows; i++) {
			float *left = &map.data[i + j * map.ld],
			      *right = &map.data[i + (j + n) * map.ld], kept = *left;
			*left = *right;
			*right = kept;
		}
}

static bool find_map(const struct al_calibration *calibration, const struct al_ablation *a,
	struct al_matrix_f *map, struct al_error *err)
{
	const size_t n = (size_t)(a->attention->n_heads * a->attention->d_value);
	const size_t gone = (size_t)(a->n * a->attention->d_value) * (a->other >= 0 ? 2 : 1);
	const struct al_module_statistics *statistics;
	AL_SCRATCH(scratch);
	AL_OWNED struct al_matrix moment = {0};
	struct al_matrix gram, cross;

	if (!al_calibration_find(calibration, a->attention->name, &statistics, err)
		|| !al_statistics_sum(statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &moment, err)
		|| !al_take(&scratch, &gram, n, n, err) || !al_take(&scratch, &cross, n, gone, err)
		|| !al_matrix_init_f(map, n, gone, err))
		return false;
	split_moment(a, al_view(moment), gram, cross);
	if (!al_solve_moment(al_view(gram), cross, err))
		return al_in(err, "%s", a->attention->name);
	for (size_t j = 0; j < gone; j++)
		for (size_t i = 0; i < n; i++)
			map->data[i + j * map->ld] = (float)cross.data[i + j * cross.ld];
	swap_heads(a, *map);
	return true;
}

bool al_judge_refitted(struct al_network *network, const struct al_calibration *calibration,
	const struct al_batch *all, const struct al_ablation_measure *measured,
	const struct al_watch *watch, struct al_ablations *ablations, struct al_error *err)
{
	AL_FREED struct al_matrix_f *maps = al_calloc(ablations->n + 1, sizeof(*maps));
	bool ok = true;

	for (size_t i = 0; ok && i < ablations->n; i++)
		ok = al_watch_show(watch, "output projections", i, ablations->n, err)
			&& find_map(calibration, &ablations->items[i], &maps[i], err);
	ok = ok
		&& al_evaluate_ablations(network, all, measured,
			&(struct al_replacing){AL_REPLACE_FITTED, maps}, watch, ablations, err);
	for (size_t i = 0; i < ablations->n; i++)
		al_matrix_finish_f(&maps[i]);
	return ok;
}
