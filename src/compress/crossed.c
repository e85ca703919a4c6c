/* What a fit costs on tokens that it wasn't fitted on: each fold of the calibration's sequences
 * judges what the others give, corrected for the fold that they lack as in
 * model/calibration/worth.c. */
#include "compress/work.h"

#include "model/calibration/outputs.h"

/* ---- outputs ---- */

struct judging {
	struct al_work *w;
	al_work_fit *fit;
	const void *context;
};

/* The squares of the output's change by what these folds give, on tokens of two moments. */
static bool find_lost(const struct judging *j, al_folds folds, struct al_view judge, double *fitted,
	double *judged, struct al_error *err)
{
	struct al_work *w = j->w;
	const struct al_matrix output = w->weights[AL_OUTPUT];
	AL_OWNED struct al_matrix moment = {0}, change = {0};

	w->folds = folds;
	const bool ok = al_statistics_sum(w->statistics, AL_STATISTIC_HEADS, folds, &moment, err)
		&& al_matrix_init(&change, output.rows, output.cols, err)
		&& j->fit(w, j->context, al_view(moment), change, err);
	w->folds = AL_ALL_FOLDS;
	for (size_t k = 0; ok && k < change.cols; k++)
		for (size_t i = 0; i < change.rows; i++)
			change.data[i + k * change.ld] -= output.data[i + k * output.ld];
	return ok && al_output_power(al_view(moment), al_view(change), fitted, err)
		&& al_output_power(judge, al_view(change), judged, err);
}

bool al_work_judge_outputs(struct al_work *w, al_work_fit *fit, const void *context,
	struct al_error *err)
{
	const struct judging j = {w, fit, context};
	const struct al_matrix folds = w->statistics->of[AL_STATISTIC_HEADS];
	AL_OWNED struct al_matrix all = {0};
	double lost, in_sample, whole;

	if (!al_packed_sum(folds, AL_ALL_FOLDS, &all, err)
		|| !al_output_power(al_view(all), al_view(w->weights[AL_OUTPUT]), &whole, err)
		|| !find_lost(&j, AL_ALL_FOLDS, al_view(all), &in_sample, &lost, err))
		return false;
	for (size_t fold = 0; folds.cols > 1 && fold < folds.cols; fold++) {
		AL_OWNED struct al_matrix judge = {0};
		double fitted, judged;
		if (!al_packed_sum(folds, al_fold(fold), &judge, err)
			|| !find_lost(&j, ~al_fold(fold), al_view(judge), &fitted, &judged, err))
			return false;
		lost += judged - (fitted + judged) / (double)folds.cols;
	}
	w->lost = fmax(0, lost);
	w->whole = whole;
	return true;
}

/* ---- directions ---- */

/* The sum over the folds' tokens of what directions are taken of. */
static bool form(struct al_work *w, struct al_view weights, const struct al_output_roots *r,
	al_folds folds, struct al_matrix *out, struct al_error *err)
{
	const bool is_mean = w->measure != AL_MEASURE_OUTPUTS;
	const double share = al_statistics_tokens_of(w->statistics, folds)
		/ al_statistics_tokens(w->statistics);

	al_matrix_finish(&w->gram);
	w->folds = folds;
	const bool ok = al_work_gram(w, weights, &w->gram, err)
		&& (r->n > 0 ? al_work_weigh(w, r, 0, out, err)
			     : al_duplicate(al_view(w->gram), out, err));
	w->folds = AL_ALL_FOLDS;
	al_matrix_finish(&w->gram);
	for (size_t i = 0; ok && is_mean && i < out->rows * out->cols; i++)
		out->data[i] *= share;
	return ok;
}

static bool add_directions(struct al_work *w, struct al_view weights,
	const struct al_output_roots *r, size_t fold, struct al_error *err)
{
	const size_t n = weights.cols, n_folds = w->statistics->of[AL_STATISTIC_INPUTS].cols;
	AL_OWNED struct al_matrix fit = {0}, judge = {0}, turned = {0};
	AL_FREED double *values = al_alloc(n, sizeof(*values));

	if (!form(w, weights, r, ~al_fold(fold), &fit, err)
		|| !form(w, weights, r, al_fold(fold), &judge, err)
		|| !al_eigenvectors(fit, values, err)
		|| !al_product(AL_PLAIN, al_view(judge), AL_PLAIN, al_view(fit), &turned, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const double judged = al_inner(al_columns(al_view(fit), i, 1),
			al_columns(al_view(turned), i, 1));
		w->crossed[i] += judged - (fmax(0, values[i]) + judged) / (double)n_folds;
	}
	return true;
}

bool al_work_judge_directions(struct al_work *w, struct al_view weights,
	const struct al_output_roots *r, struct al_error *err)
{
	const size_t n_folds = w->statistics ? w->statistics->of[AL_STATISTIC_INPUTS].cols : 0;

	if (w->crossed || n_folds < 2 || w->measure < AL_MEASURE_DIAGONAL)
		return true;
	w->crossed = al_calloc(weights.cols, sizeof(*w->crossed));
	for (size_t fold = 0; fold < n_folds; fold++)
		if (!add_directions(w, weights, r, fold, err))
			return false;
	return true;
}
