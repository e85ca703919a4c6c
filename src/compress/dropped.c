/* Heads that go: which ones, and W_O of the others fitted to do without them. */
#include "compress/work.h"

#include "model/calibration/outputs.h"

/* The rows of `from` that are kept heads', or of both rows and columns. */
static void take_kept(const struct al_work *w, struct al_view from, struct al_matrix to)
{
	const bool both = to.cols < from.cols;
	size_t col = 0;

	for (size_t j = 0; j < from.cols; j++) {
		size_t row = 0;
		if (both && w->layout->is_dropped[j / w->width])
			continue;
		for (size_t i = 0; i < from.rows; i++)
			if (!w->layout->is_dropped[i / w->width])
				to.data[row++ + col * to.ld] = from.data[i + j * from.ld];
		col++;
	}
}

static bool fit_kept(struct al_work *w, const void *context, struct al_view moment,
	struct al_matrix out, struct al_error *err)
{
	const size_t kept = (size_t)al_layout_heads(w->layout, false) * w->width;
	AL_SCRATCH(scratch);
	struct al_matrix gram, cross, fitted;
	size_t col = 0;

	(void)context;
	if (!al_take(&scratch, &gram, kept, kept, err)
		|| !al_take(&scratch, &cross, kept, moment.cols, err)
		|| !al_take(&scratch, &fitted, out.rows, kept, err))
		return false;
	take_kept(w, moment, gram);
	take_kept(w, moment, cross);
	if (!al_output_refit(al_view(gram), al_view(cross), al_view(w->weights[AL_OUTPUT]), fitted,
		    err))
		return false;
	for (size_t j = 0; j < out.cols; j++)
		if (!w->layout->is_dropped[j / w->width])
			memcpy(out.data + j * out.ld, fitted.data + col++ * fitted.ld,
				out.rows * sizeof(*out.data));
	return true;
}

static bool drop_by_data(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const struct al_matrix output = w->weights[AL_OUTPUT];
	AL_OWNED struct al_matrix moment = {0}, fitted = {0};

	return al_statistics_sum(w->statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &moment, err)
		&& al_matrix_init(&fitted, output.rows, output.cols, err)
		&& fit_kept(w, NULL, al_view(moment), fitted, err)
		&& al_effective_gather(w->layout, AL_OUTPUT, al_view(fitted),
			&out->of[AL_PIECE_OUTPUT], err)
		&& al_work_judge_outputs(w, fit_kept, NULL, err);
}

static struct al_heads head_of(const struct al_work *w, size_t head)
{
	const size_t d_head = w->heads.d_head;

	return (struct al_heads){.query = al_columns(w->heads.query, head * d_head, d_head),
		.key = al_columns(w->heads.key, al_kv_head(&w->heads, head) * d_head, d_head),
		.n_heads = 1,
		.n_kv_heads = 1,
		.d_head = d_head};
}

bool al_work_drop(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	double norm, sum = 0, one;

	if (!w->has_scores)
		return drop_by_data(w, out, err);
	if (!al_heads_norm(&w->heads, &norm, err))
		return false;
	for (size_t i = 0; i < w->heads.n_heads; i++) {
		const struct al_heads head = head_of(w, i);
		if (!w->layout->is_dropped[i])
			continue;
		if (!al_heads_norm(&head, &one, err))
			return false;
		sum += one;
	}
	out->relative_error = sqrt(sum / norm);
	return true;
}

/* ---- which heads ---- */

void al_mark_least(struct al_work *w, const double *costs)
{
	const size_t n_heads = (size_t)w->a->n_heads;
	size_t least = n_heads;

	for (size_t i = 0; i < n_heads; i++)
		if (!w->is_dropped[i] && (least == n_heads || costs[i] < costs[least]))
			least = i;
	w->is_dropped[least] = true;
}

bool al_work_choose_dropped(struct al_work *w, size_t n, struct al_error *err)
{
	const size_t n_heads = (size_t)w->a->n_heads;
	AL_FREED struct al_head_worth *worth = al_calloc(n_heads, sizeof(*worth));
	AL_FREED double *costs = al_calloc(n_heads, sizeof(*costs));
	const bool ok = al_heads_judge(w->statistics->of[AL_STATISTIC_HEADS],
		al_view(w->weights[AL_OUTPUT]),
		al_statistics_turns(w->options->data.calibration, w->statistics), n_heads, worth,
		err);

	for (size_t i = 0; ok && i < n_heads; i++)
		costs[i] = worth[i].cost.mean;
	for (; ok && n > 0; n--)
		al_mark_least(w, costs);
	return ok;
}
