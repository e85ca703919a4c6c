/* Heads that go: which ones, and W_O of the others fitted to do without them. */
#include "compress/work.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
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

bool al_work_drop(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const struct al_matrix moment = w->statistics->of[AL_STATISTIC_HEADS];
	const size_t kept = (size_t)al_layout_heads(w->layout, false) * w->width;
	const struct al_view output = al_view(w->weights[AL_OUTPUT]);
	struct al_matrix *new = &out->of[AL_PIECE_OUTPUT];
	AL_OWNED struct al_matrix gram = {0}, cross = {0};
	double left = 0;

	if (!al_matrix_init(&gram, kept, kept, err)
		|| !al_matrix_init(&cross, kept, moment.cols, err)
		|| !al_matrix_init(new, output.rows, kept, err))
		return false;
	take_kept(w, al_view(moment), gram);
	take_kept(w, al_view(moment), cross);
	if (!al_output_refit(al_view(gram), al_view(cross), output, *new, err)
		|| !al_output_power(al_view(moment), output, &w->whole, err)
		|| !al_output_power(al_view(gram), al_view(*new), &left, err))
		return false;
	w->lost = fmax(0, w->whole - left);
	return true;
}

static void mark_least(const struct al_head_worth *worth, size_t n_heads, size_t n,
	bool *is_dropped)
{
	for (; n-- > 0;) {
		size_t least = n_heads;
		for (size_t i = 0; i < n_heads; i++)
			if (!is_dropped[i]
				&& (least == n_heads
					|| worth[i].compensated < worth[least].compensated))
				least = i;
		is_dropped[least] = true;
	}
}

bool al_work_choose_dropped(struct al_work *w, size_t n, bool *is_dropped, struct al_error *err)
{
	const size_t n_heads = (size_t)w->a->n_heads;
	struct al_head_worth *worth = al_calloc(n_heads, sizeof(*worth));
	const bool ok = al_heads_judge(al_view(w->statistics->of[AL_STATISTIC_HEADS]),
		al_view(w->weights[AL_OUTPUT]), n_heads, worth, err);

	if (ok)
		mark_least(worth, n_heads, n, is_dropped);
	free(worth);
	return ok;
}
