/* What a fit costs on tokens that it wasn't fitted on: each fold of the calibration's sequences
 * judges what the others give, corrected for the fold that they lack as in
 * model/calibration/worth.c. */
#include "compress/work.h"

#include "model/calibration/outputs.h"

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
