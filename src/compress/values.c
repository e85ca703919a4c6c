/* Methods on values: a rank of its own for each head, common values of a group, one narrow
 * projection for all heads. */
#include "audit/losses.h"
#include "compress/work.h"

#include "model/calibration/outputs.h"

/* ---- values of a group of key/value heads as one, and each head's way out of it ---- */

/* Heads [first, +n) get common values V K U of width `rank`, out of which comes U^T K^-1 W_O;
 * `map`, [n*width][rank], is K U. */
static bool join(struct al_work *w, struct al_pieces *out, size_t first, size_t n, size_t rank,
	size_t place, struct al_matrix *map, struct al_error *err)
{
	AL_OWNED struct al_matrix vectors = {0}, way = {0};
	struct al_output_roots r;
	AL_SCRATCH(scratch);
	bool ok = al_output_roots_take(&scratch, &r, w, first, n, err)
		&& al_work_lead_weighed(w, &r, first, rank, &vectors, err)
		&& al_matrix_init(map, n * w->width, rank, err)
		&& al_matrix_init(&way, n * w->width, rank, err)
		&& al_multiply_blocks(r.root, n, w->width, al_view(vectors), *map, err)
		&& al_multiply_blocks(r.inverse, n, w->width, al_view(vectors), way, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(w->weights[AL_VALUE]), first * w->width, n * w->width),
			al_view(*map), 0,
			al_part(out->of[AL_PIECE_VALUE], 0, place * rank, w->weights[AL_VALUE].rows,
				rank),
			err);
	for (size_t i = 0; ok && i < n * w->group; i++) {
		const size_t head = first * w->group + i;
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(w->weights[AL_OUTPUT]), head * w->width, w->width),
			al_view(al_part(way, i / w->group * w->width, 0, w->width, rank)), 0,
			al_part(out->of[AL_PIECE_OUTPUT], 0, head * rank,
				w->weights[AL_OUTPUT].rows, rank),
			err);
	}
	return ok;
}

static bool init_values(const struct al_work *w, struct al_pieces *out, size_t values, size_t rank,
	struct al_error *err)
{
	return al_matrix_init(&out->of[AL_PIECE_VALUE], w->weights[AL_VALUE].rows, values * rank,
		       err)
		&& al_matrix_init(&out->of[AL_PIECE_OUTPUT], w->weights[AL_OUTPUT].rows,
			(size_t)w->a->n_heads * rank, err)
		&& (!w->biases[AL_VALUE].data
			|| al_matrix_init(&out->of[AL_PIECE_VALUE_BIAS], 1, values * rank, err));
}

/* ---- ov ---- */

/* W_O anew for outputs o_i A_i, A_i the map of head i's values. */
static bool refit_ov(const struct al_work *w, struct al_view moment, struct al_pieces *out,
	const struct al_matrix *maps, struct al_error *err)
{
	const size_t n = (size_t)w->a->n_heads, rank = (size_t)w->layout->rank;
	AL_OWNED struct al_matrix cross = {0}, gram = {0};
	bool ok = al_matrix_init(&cross, n * rank, moment.cols, err)
		&& al_matrix_init(&gram, n * rank, n * rank, err);

	for (size_t i = 0; ok && i < n; i++)
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(maps[i / w->group]),
			(struct al_view){moment.data + i * w->width, w->width, moment.cols,
				moment.ld},
			0, al_part(cross, i * rank, 0, rank, moment.cols), err);
	for (size_t i = 0; ok && i < n; i++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(cross), i * w->width, w->width),
			al_view(maps[i / w->group]), 0, al_part(gram, 0, i * rank, n * rank, rank),
			err);
	return ok
		&& al_output_refit(al_view(gram), al_view(cross), al_view(w->weights[AL_OUTPUT]),
			out->of[AL_PIECE_OUTPUT], err);
}

/* The biases of heads [first, +n) go the way of their values. */
static bool map_bias(const struct al_work *w, struct al_pieces *out, size_t first, size_t n,
	size_t place, struct al_matrix map, struct al_error *err)
{
	return !w->biases[AL_VALUE].data
		|| al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(w->biases[AL_VALUE]), first * w->width, n * w->width),
			al_view(map), 0,
			al_part(out->of[AL_PIECE_VALUE_BIAS], 0, place * map.cols, 1, map.cols),
			err);
}

/* `maps` [n_kv] are to be finished. */
static bool make_ov(struct al_work *w, struct al_pieces *out, struct al_matrix *maps,
	struct al_error *err)
{
	const size_t rank = (size_t)w->layout->rank;
	bool ok = al_work_gram(w, al_view(w->weights[AL_VALUE]), &w->gram, err)
		&& init_values(w, out, w->n_kv, rank, err);

	for (size_t kv = 0; ok && kv < w->n_kv; kv++)
		ok = join(w, out, kv, 1, rank, kv, &maps[kv], err)
			&& map_bias(w, out, kv, 1, kv, maps[kv], err);
	return ok;
}

static void finish_maps(struct al_matrix *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_matrix_finish(&maps[i]);
	free(maps);
}

/* A_i times the W_O that o_i A_i gets. */
static bool fit_ov(struct al_work *w, const void *context, struct al_view moment,
	struct al_matrix out, struct al_error *err)
{
	const size_t rank = (size_t)w->layout->rank;
	struct al_matrix *maps = al_calloc(w->n_kv, sizeof(*maps));
	AL_ENDS(al_pieces_finish) struct al_pieces pieces = {0};

	(void)context;
	al_matrix_finish(&w->gram);
	bool ok = make_ov(w, &pieces, maps, err) && refit_ov(w, moment, &pieces, maps, err);
	for (size_t i = 0; ok && i < (size_t)w->a->n_heads; i++)
		ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
			al_columns(al_view(pieces.of[AL_PIECE_OUTPUT]), i * rank, rank),
			al_view(maps[i / w->group]), 0,
			al_part(out, 0, i * w->width, out.rows, w->width), err);
	finish_maps(maps, w->n_kv);
	return ok;
}

static bool refit_crosswise(struct al_work *w, struct al_pieces *out, const struct al_matrix *maps,
	struct al_error *err)
{
	AL_OWNED struct al_matrix moment = {0};

	return al_statistics_sum(w->statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &moment, err)
		&& refit_ov(w, al_view(moment), out, maps, err)
		&& al_work_judge_outputs(w, fit_ov, NULL, err);
}

bool al_work_ov(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	struct al_matrix *maps = al_calloc(w->n_kv, sizeof(*maps));
	const bool ok = make_ov(w, out, maps, err)
		&& (!al_job_refits_by_data(w->options) || refit_crosswise(w, out, maps, err));

	finish_maps(maps, w->n_kv);
	return ok;
}

/* Groups of neighbors. */
static bool share(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const bool is_gqa = w->layout->method == AL_METHOD_GQA;
	const size_t left = is_gqa ? (size_t)w->layout->rank : 1, size = w->n_kv / left;
	bool ok = al_work_gram(w, al_view(w->weights[AL_VALUE]), &w->gram, err)
		&& init_values(w, out, left, w->width, err)
		&& (!is_gqa || !w->layout->of_keys || al_work_group_keys(w, out, err));

	for (size_t place = 0; ok && place < left; place++) {
		AL_OWNED struct al_matrix map = {0};
		ok = join(w, out, place * size, size, w->width, place, &map, err)
			&& map_bias(w, out, place * size, size, place, map, err);
	}
	return ok;
}

static double squared_error(const struct al_work *w, const struct al_pieces *pieces)
{
	return pieces->relative_error * pieces->relative_error
		+ (w->whole > 0 ? w->lost / w->whole : 0);
}

/* Groups of other heads, if they lose less. The weights are in order again afterwards. */
static bool regroup(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const struct al_work neighbors = *w;
	const double before = squared_error(w, out);
	size_t *order = al_new_array(w->arena, size_t, w->n_kv);
	size_t *places = al_new_array(w->arena, size_t, w->n_kv);
	AL_ENDS(al_pieces_finish) struct al_pieces other = {.has_settled = true};

	if (!al_losses_group(w->a,
		    &(struct al_heads){.query = al_view(w->weights[AL_QUERY]),
			    .key = al_view(w->weights[AL_KEY]),
			    .value = al_view(w->weights[AL_VALUE]),
			    .output = al_view(w->weights[AL_OUTPUT]),
			    .n_heads = (size_t)w->a->n_heads,
			    .n_kv_heads = w->n_kv,
			    .d_head = (size_t)w->a->d_head,
			    .d_value = w->width},
		    w->n_kv / (size_t)w->layout->rank, order, err))
		return false;
	for (size_t i = 0; i < w->n_kv; i++)
		places[order[i]] = i;
	w->lost = w->whole = 0;
	al_matrix_finish(&w->gram);
	if (!al_work_reorder(w, order, err) || !share(w, &other, err)
		|| !al_work_reorder(w, places, err))
		return false;
	if (squared_error(w, &other) < before) {
		struct al_pieces worse = *out;
		*out = other;
		other = worse;
		w->places = places;
	} else {
		w->lost = neighbors.lost;
		w->whole = neighbors.whole;
	}
	return true;
}

bool al_work_gqa(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const size_t left = (size_t)w->layout->rank;

	return share(w, out, err)
		&& (!w->regroups || left == 1 || left == w->n_kv || regroup(w, out, err));
}

/* ---- kv-latent ---- */

/* The leading directions: a matrix for the first rank that is tried, for others what it had. */
static bool lead_latent(struct al_work *w, struct al_view weights, const struct al_output_roots *r,
	struct al_matrix *vectors, struct al_error *err)
{
	const size_t rank = (size_t)w->layout->rank;

	if (w->directions.data)
		return al_work_lead(w, w->gram, rank, vectors, err);
	return al_work_gram(w, weights, &w->gram, err)
		&& (r->n > 0 ? al_work_lead_weighed(w, r, 0, rank, vectors, err)
			     : al_work_lead(w, w->gram, rank, vectors, err));
}

/* Down W K Z and up Z^T K^-1; K is 1 but where outputs weigh. */
bool al_work_latent(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const enum al_projection p = w->layout->of_keys ? AL_KEY : AL_VALUE;
	const struct al_view weights = al_view(w->weights[p]);
	const size_t rank = (size_t)w->layout->rank;
	const bool is_weighed = w->measure == AL_MEASURE_WEIGHED && p == AL_VALUE;
	struct al_matrix *down = &out->of[AL_PIECE_QUERY_DOWN + (int)p], *up = &out->of[p];
	AL_OWNED struct al_matrix vectors = {0}, left = {0}, right = {0};
	struct al_output_roots r = {0};
	AL_SCRATCH(scratch);
	bool ok = (!is_weighed || al_output_roots_take(&scratch, &r, w, 0, w->n_kv, err))
		&& al_work_judge_directions(w, weights, &r, err)
		&& lead_latent(w, weights, &r, &vectors, err)
		&& al_duplicate(al_view(vectors), &left, err)
		&& al_duplicate(al_view(vectors), &right, err)
		&& (!is_weighed
			|| (al_multiply_blocks(r.root, r.n, w->width, al_view(vectors), left, err)
				&& al_multiply_blocks(r.inverse, r.n, w->width, al_view(vectors),
					right, err)))
		&& al_product(AL_PLAIN, weights, AL_PLAIN, al_view(left), down, err)
		&& al_matrix_init(up, rank, weights.cols, err);
	for (size_t j = 0; ok && j < up->cols; j++)
		for (size_t i = 0; i < rank; i++)
			up->data[i + j * up->ld] = right.data[j + i * right.ld];
	return ok;
}
