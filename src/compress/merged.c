/* Heads that go and leave their work to one head each: the one whose output, mapped, comes nearest
 * to theirs.
 *
 * Head h is put out by its twin t as o_t T, T = M_tt^+ M_th of the outputs' second moment M, which
 * W_O of t takes in: W_O^(t) + T W_O^(h). Nothing else is fitted, so that few tokens suffice; twins
 * that are one head up to a map cost nothing. By weights alone heads attend alike where their W_Q
 * W_K^T are alike: M is [W_V; b_V]^T [W_V; b_V] then, and the difference of the scores' forms is
 * lost too. */
#include "compress/work.h"

#include "model/calibration/outputs.h"

struct merging {
	struct al_work *w;
	struct al_matrix moment; /* M of all heads' outputs */
	struct al_matrix scores; /* by weights: <A_i, A_j> of the forms A_i of scores */
	double *left; /* [n_heads][n_heads]: the square of the error with another head in a head's
			 place */
	size_t n;
};

/* ---- the weights' own moment ---- */

/* W^T W of weights with columns for every query head, perhaps with their bias as one row more. */
static bool make_gram(const struct al_work *w, enum al_projection p, bool has_bias,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_matrix weights = w->weights[p], bias = w->biases[p];
	const size_t width = (size_t)w->a->factors[p].width, n = (size_t)w->a->n_heads;
	const size_t group = n * width / weights.cols;
	AL_OWNED struct al_matrix all = {0};

	if (!al_matrix_init(&all, weights.rows + (has_bias ? bias.rows : 0), n * width, err)
		|| !al_matrix_init(out, all.cols, all.cols, err))
		return false;
	for (size_t j = 0; j < all.cols; j++) {
		const size_t from = j / width / group * width + j % width;
		for (size_t i = 0; i < all.rows; i++)
			all.data[i + j * all.ld] = i < weights.rows
				? weights.data[i + from * weights.ld]
				: bias.data[from * bias.ld];
	}
	return al_gram(AL_TRANSPOSED, al_view(all), *out, err);
}

/* <A_i, A_j> is the sum over the blocks' products of the Grams. A key's bias adds the same to all
 * scores of a query. */
static bool find_scores(struct merging *m, struct al_error *err)
{
	const size_t width = (size_t)m->w->a->d_head;
	AL_OWNED struct al_matrix query = {0}, key = {0};
	bool ok = make_gram(m->w, AL_QUERY, true, &query, err)
		&& make_gram(m->w, AL_KEY, false, &key, err)
		&& al_matrix_init(&m->scores, m->n, m->n, err);

	for (size_t i = 0; ok && i < m->n; i++)
		for (size_t j = 0; j < m->n; j++)
			m->scores.data[i + j * m->scores.ld] =
				al_inner(al_view(al_part(query, i * width, j * width, width,
						 width)),
					al_view(al_part(key, i * width, j * width, width, width)));
	return ok;
}

/* |A_h - A_t|^2 over the squares of all forms. */
static double score_error(const struct merging *m, size_t head, size_t twin)
{
	const struct al_matrix s = m->scores;
	double whole = 0;

	for (size_t i = 0; s.data && i < m->n; i++)
		whole += s.data[i + i * s.ld];
	if (whole <= 0)
		return 0;
	const double difference = s.data[head + head * s.ld] + s.data[twin + twin * s.ld]
		- 2 * s.data[head + twin * s.ld];
	return (head == twin ? s.data[head + head * s.ld] : fmax(0, difference)) / whole;
}

/* ---- all pairs ---- */

static bool take_moment(struct merging *m, struct al_error *err)
{
	const struct al_module_statistics *statistics = m->w->statistics;

	if (!statistics && m->w->a->is_rotary)
		return al_fail(err, AL_EINPUT,
			"its queries and keys are rotary, so weights alone don't show which heads "
			"attend alike: merge needs --calibration DIR");
	if (!statistics)
		return make_gram(m->w, AL_VALUE, true, &m->moment, err) && find_scores(m, err);
	return al_statistics_sum(statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &m->moment, err);
}

static bool merging_init(struct merging *m, struct al_work *w, struct al_error *err)
{
	AL_OWNED struct al_matrix own = {0};
	*m = (struct merging){.w = w, .n = (size_t)w->a->n_heads};
	m->left = al_calloc(m->n * m->n, sizeof(*m->left));
	if (!take_moment(m, err) || (!w->statistics && !al_packed_of(al_view(m->moment), &own, err))
		|| !al_heads_replace(w->statistics ? w->statistics->of[AL_STATISTIC_HEADS] : own,
			al_view(w->weights[AL_OUTPUT]), m->n, m->left, err))
		return false;
	for (size_t i = 0; i < m->n * m->n; i++)
		m->left[i] += score_error(m, i / m->n, i % m->n);
	return true;
}

static void merging_finish(struct merging *m)
{
	al_matrix_finish(&m->moment);
	al_matrix_finish(&m->scores);
	free(m->left);
}

/* Of the heads that stay. */
static size_t find_twin(const struct merging *m, size_t head, const bool *is_dropped)
{
	size_t best = m->n;

	for (size_t i = 0; i < m->n; i++)
		if (!is_dropped[i]
			&& (best == m->n || m->left[head * m->n + i] < m->left[head * m->n + best]))
			best = i;
	return best;
}

/* ---- the merged module ---- */

static struct al_view block(struct al_view m, size_t row, size_t col, size_t width)
{
	return (struct al_view){m.data + row * width + col * width * m.ld, width, width, m.ld};
}

/* W_O^(t) + T W_O^(h); W_O is [d_model][heads] here. */
static bool take_in(const struct merging *m, struct al_view moment, size_t head, size_t twin,
	struct al_matrix output, struct al_error *err)
{
	const size_t width = m->w->width;
	AL_OWNED struct al_matrix map = {0};

	return al_duplicate(block(moment, twin, head, width), &map, err)
		&& al_solve_moment(block(moment, twin, twin, width), map, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
			al_columns(al_view(m->w->weights[AL_OUTPUT]), head * width, width),
			al_view(map), 1, al_part(output, 0, twin * width, output.rows, width), err);
}

/* The error of the outputs together, W_O less what takes its place. */
static bool add_error(struct al_work *w, const struct merging *m, struct al_matrix merged,
	struct al_error *err)
{
	AL_OWNED struct al_matrix change = {0};
	bool ok = al_duplicate(al_view(w->weights[AL_OUTPUT]), &change, err);

	for (size_t j = 0; ok && j < change.cols; j++)
		for (size_t i = 0; i < change.rows; i++)
			change.data[i + j * change.ld] -= merged.data[i + j * merged.ld];
	ok = ok
		&& al_output_power(al_view(m->moment), al_view(w->weights[AL_OUTPUT]), &w->whole,
			err)
		&& al_output_power(al_view(m->moment), al_view(change), &w->lost, err);
	w->lost = fmax(0, w->lost);
	return ok;
}

static bool fit_merged(struct al_work *w, const void *context, struct al_view moment,
	struct al_matrix out, struct al_error *err)
{
	const struct merging *m = context;
	const bool *is_dropped = w->layout->is_dropped;
	bool ok = al_copy(al_view(w->weights[AL_OUTPUT]), out, err);

	for (size_t head = 0; ok && head < m->n; head++)
		if (is_dropped[head])
			ok = take_in(m, moment, head, find_twin(m, head, is_dropped), out, err);
	for (size_t j = 0; ok && j < out.cols; j++)
		if (is_dropped[j / w->width])
			memset(out.data + j * out.ld, 0, out.rows * sizeof(double));
	return ok;
}

static bool merge(struct al_work *w, const struct merging *m, struct al_pieces *out,
	struct al_error *err)
{
	const struct al_matrix output = w->weights[AL_OUTPUT];
	AL_OWNED struct al_matrix merged = {0};

	if (!al_matrix_init(&merged, output.rows, output.cols, err)
		|| !fit_merged(w, m, al_view(m->moment), merged, err)
		|| !(w->statistics ? al_work_judge_outputs(w, fit_merged, m, err)
				   : add_error(w, m, merged, err)))
		return false;
	for (size_t head = 0; head < m->n; head++)
		if (w->layout->is_dropped[head])
			w->lost += w->whole
				* score_error(m, head, find_twin(m, head, w->layout->is_dropped));
	return al_effective_gather(w->layout, AL_OUTPUT, al_view(merged), &out->of[AL_PIECE_OUTPUT],
		err);
}

bool al_work_merge(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	AL_ENDS(merging_finish) struct merging m = {0};

	return merging_init(&m, w, err) && merge(w, &m, out, err);
}

/* ---- which heads ---- */

/* What is lost where these heads and one more go. */
static double cost_of(const struct merging *m, bool *is_dropped, size_t head)
{
	double sum = 0;

	is_dropped[head] = true;
	for (size_t i = 0; i < m->n; i++)
		if (is_dropped[i])
			sum += m->left[i * m->n + find_twin(m, i, is_dropped)];
	is_dropped[head] = false;
	return sum;
}

bool al_work_choose_merged(struct al_work *w, size_t n, struct al_error *err)
{
	AL_ENDS(merging_finish) struct merging m = {0};
	AL_FREED double *costs = al_calloc((size_t)w->a->n_heads, sizeof(*costs));

	if (!merging_init(&m, w, err))
		return false;
	for (; n > 0; n--) {
		for (size_t i = 0; i < m.n; i++)
			if (!w->is_dropped[i])
				costs[i] = cost_of(&m, w->is_dropped, i);
		al_mark_least(w, costs);
	}
	return true;
}
