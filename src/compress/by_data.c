/* What methods make of a module in the measure of data. */
#include "compress/by_data.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "calibration/outputs.h"
#include "checkpoint/finite.h"

const char *const al_measure_names[AL_N_MEASURES] = {"auto", "weights", "gain", "diagonal",
	"inputs", "centred", "weighed", "outputs"};

/* Eigenvalues of W_O^T W_O below this share of the largest are rounding. */
static const double ROUNDING = 0x1p-40;

/* A module at work. */
struct work {
	const struct al_model_view *view;
	const struct al_layout *layout;
	const struct al_attention *a;
	enum al_measure measure;
	const struct al_module_statistics *statistics; /* NULL: none */
	struct al_matrix weights[AL_N_PROJECTIONS], value_bias;
	struct al_matrix gram; /* of the values (keys): W^T C W, or the outputs' moment */
	size_t width, n_kv, group; /* of a value; key/value heads; query heads to each */
	double lost, whole;
};

/* ---- measures ---- */

static enum al_measure choose(const struct work *w, const struct al_data *data)
{
	if (data->measure != AL_MEASURE_AUTO)
		return data->measure;
	if (!w->statistics)
		return AL_MEASURE_WEIGHTS;
	if (w->layout->method == AL_METHOD_OV)
		return w->n_kv == (size_t)w->a->n_heads ? AL_MEASURE_OUTPUTS : AL_MEASURE_INPUTS;
	if (w->layout->of_keys)
		return w->a->is_rotary ? AL_MEASURE_INPUTS : AL_MEASURE_CENTRED;
	return AL_MEASURE_WEIGHED;
}

/* Rows times numbers, in place. */
static void scale_rows(struct al_matrix m, const double *by)
{
	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < m.rows; i++)
			m.data[i + j * m.ld] *= by[i];
}

static bool read_gain(const struct work *w, double *out, size_t n, struct al_error *err)
{
	const struct al_tensor *norm = w->a->norm;

	if (!norm || norm->n_elements != (int64_t)n)
		return al_fail(err, AL_EINPUT, "no norm stands before it whose gain is known");
	if (!al_tensor_read_finite(w->view->checkpoint, norm, out, err))
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] += w->a->has_unit_offset;
	return true;
}

static void take_roots(const struct work *w, double *out, size_t n)
{
	const struct al_matrix sums = w->statistics->of[AL_STATISTIC_INPUTS];

	for (size_t i = 0; i < n; i++)
		out[i] = sqrt(sums.data[i + i * sums.ld] / al_statistics_tokens(w->statistics));
}

/* G = W^T W of rows scaled by the measure's diagonal root. */
static bool gram_by_rows(const struct work *w, struct al_view weights, struct al_matrix out,
	struct al_error *err)
{
	struct al_matrix scaled = {0};
	double *roots = al_calloc(weights.rows, sizeof(*roots));
	bool ok = al_matrix_init(&scaled, weights.rows, weights.cols, err)
		&& al_copy(weights, scaled, err);

	if (ok && w->measure == AL_MEASURE_GAIN)
		ok = read_gain(w, roots, weights.rows, err);
	if (ok && w->measure == AL_MEASURE_DIAGONAL)
		take_roots(w, roots, weights.rows);
	if (ok && w->measure != AL_MEASURE_WEIGHTS)
		scale_rows(scaled, roots);
	ok = ok && al_gram(AL_TRANSPOSED, al_view(scaled), out, err);
	al_matrix_finish(&scaled);
	free(roots);
	return ok;
}

/* C, or C less m^T m, of the means m. */
static bool make_moment(const struct work *w, size_t n, struct al_matrix *out, struct al_error *err)
{
	const struct al_matrix sums = w->statistics->of[AL_STATISTIC_INPUTS];
	const double tokens = al_statistics_tokens(w->statistics);
	const double *means = sums.data + n * sums.ld;

	if (sums.rows != n + 1)
		return al_fail(err, AL_EINPUT,
			"the calibration's inputs are %zu wide, expected %zu", sums.rows - 1, n);
	if (!al_matrix_init(out, n, n, err))
		return false;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++)
			out->data[i + j * out->ld] = sums.data[i + j * sums.ld] / tokens
				- (w->measure == AL_MEASURE_CENTRED
						? means[i] / tokens * means[j] / tokens
						: 0);
	return true;
}

static bool gram_by_moment(const struct work *w, struct al_view weights, struct al_matrix out,
	struct al_error *err)
{
	struct al_matrix moment = {0}, product = {0};
	bool ok = make_moment(w, weights.rows, &moment, err)
		&& al_matrix_init(&product, weights.rows, weights.cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(moment), weights, 0, product, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, weights, al_view(product), 0, out, err);

	al_matrix_finish(&moment);
	al_matrix_finish(&product);
	return ok;
}

static bool find_gram(struct work *w, enum al_projection p, struct al_error *err)
{
	const struct al_view weights = al_view(w->weights[p]);

	if (!al_matrix_init(&w->gram, weights.cols, weights.cols, err))
		return false;
	if (w->measure == AL_MEASURE_OUTPUTS) {
		const struct al_matrix moment = w->statistics->of[AL_STATISTIC_HEADS];
		return moment.rows == weights.cols
			? al_copy(al_view(moment), w->gram, err)
			: al_fail(err, AL_EINPUT,
				"%zu outputs of heads were recorded for %zu values: take --measure "
				"inputs",
				moment.rows, weights.cols);
	}
	return w->measure >= AL_MEASURE_INPUTS ? gram_by_moment(w, weights, w->gram, err)
					       : gram_by_rows(w, weights, w->gram, err);
}

/* ---- eigenvectors ---- */

static double sum_of(const double *values, size_t first, size_t end)
{
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += fmax(values[i], 0);
	return sum;
}

/* The leading eigenvectors of a symmetric matrix, [rows][rank]; what the others hold is lost. */
static bool lead(struct work *w, struct al_matrix g, size_t rank, struct al_matrix *out,
	struct al_error *err)
{
	double *values = al_calloc(g.rows + 1, sizeof(*values));
	bool ok = al_matrix_init(out, g.rows, rank, err) && al_eigenvectors(g, values, err)
		&& al_copy(al_columns(al_view(g), 0, rank), *out, err);

	if (ok) {
		w->lost += sum_of(values, rank, g.rows);
		w->whole += sum_of(values, 0, g.rows);
	}
	free(values);
	return ok;
}

/* Of one key/value head, (sum W_O W_O^T)^1/2 over its query heads and that root's pseudo-inverse.
 *  */
static bool output_roots(const struct work *w, size_t kv, struct al_matrix *root,
	struct al_matrix *inverse, struct al_error *err)
{
	const size_t n = w->width;
	struct al_matrix vectors = {0}, scaled = {0};
	double *values = al_calloc(n + 1, sizeof(*values));
	bool ok = al_matrix_init(&vectors, n, n, err) && al_matrix_init(&scaled, n, n, err)
		&& al_matrix_init(root, n, n, err) && al_matrix_init(inverse, n, n, err);

	for (size_t i = 0; ok && i < w->group; i++) {
		const struct al_view own = al_columns(al_view(w->weights[AL_OUTPUT]),
			(kv * w->group + i) * n, n);
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, own, own, i > 0, vectors, err);
	}
	ok = ok && al_eigenvectors(vectors, values, err);
	for (int sign = 1; ok && sign >= -1; sign -= 2) {
		for (size_t j = 0; j < n; j++) {
			const bool is_there = values[j] > ROUNDING * values[0];
			const double scale = is_there ? pow(values[j], sign * .25) : 0;
			for (size_t i = 0; i < n; i++)
				scaled.data[i + j * scaled.ld] = scale
					* vectors.data[i + j * vectors.ld];
		}
		ok = al_gram(AL_PLAIN, al_view(scaled), sign > 0 ? *root : *inverse, err);
	}
	al_matrix_finish(&vectors);
	al_matrix_finish(&scaled);
	free(values);
	return ok;
}

/* K of several key/value heads from `first` on: blockdiag of the roots, or of their inverses. */
struct roots {
	struct al_matrix *root, *inverse; /* [n] */
	size_t n;
};

static void roots_finish(struct roots *r)
{
	for (size_t i = 0; i < r->n; i++) {
		al_matrix_finish(&r->root[i]);
		al_matrix_finish(&r->inverse[i]);
	}
	free(r->root);
	free(r->inverse);
}

static bool roots_init(struct roots *r, const struct work *w, size_t first, size_t n,
	struct al_error *err)
{
	*r = (struct roots){al_calloc(n, sizeof(*r->root)), al_calloc(n, sizeof(*r->inverse)), n};
	for (size_t i = 0; i < n; i++)
		if (!output_roots(w, first + i, &r->root[i], &r->inverse[i], err)) {
			roots_finish(r);
			return false;
		}
	return true;
}

/* out = blockdiag(blocks) x */
static bool multiply_blocks(const struct al_matrix *blocks, size_t n, size_t width,
	struct al_view x, struct al_matrix out, struct al_error *err)
{
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++) {
		const struct al_view rows = {x.data + i * width, width, x.cols, x.ld};
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(blocks[i]), rows, 0,
			al_part(out, i * width, 0, width, x.cols), err);
	}
	return ok;
}

/* K G K of a part of the Gram matrix, and its leading eigenvectors. */
static bool lead_weighed(struct work *w, const struct roots *r, size_t first, size_t rank,
	struct al_matrix *vectors, struct al_error *err)
{
	const size_t n = r->n * w->width, at = first * w->width;
	struct al_matrix half = {0}, turned = {0}, all = {0};
	bool ok = al_matrix_init(&half, n, n, err) && al_matrix_init(&turned, n, n, err)
		&& al_matrix_init(&all, n, n, err)
		&& multiply_blocks(r->root, r->n, w->width, al_view(al_part(w->gram, at, at, n, n)),
			half, err);

	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < n; i++)
			turned.data[j + i * turned.ld] = half.data[i + j * half.ld];
	ok = ok && multiply_blocks(r->root, r->n, w->width, al_view(turned), all, err);
	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < j; i++)
			all.data[i + j * all.ld] = all.data[j + i * all.ld];
	ok = ok && lead(w, all, rank, vectors, err);
	al_matrix_finish(&half);
	al_matrix_finish(&turned);
	al_matrix_finish(&all);
	return ok;
}

/* ---- values of a group of key/value heads as one, and each head's way out of it ---- */

/* Heads [first, +n) get common values V K U of width `rank`, out of which comes U^T K^-1 W_O;
 * `map`, [n*width][rank], is K U. */
static bool join(struct work *w, struct al_pieces *out, size_t first, size_t n, size_t rank,
	size_t place, struct al_matrix *map, struct al_error *err)
{
	struct al_matrix vectors = {0}, way = {0};
	struct roots r;
	bool ok = true;

	if (!roots_init(&r, w, first, n, err))
		return false;
	ok = lead_weighed(w, &r, first, rank, &vectors, err)
		&& al_matrix_init(map, n * w->width, rank, err)
		&& al_matrix_init(&way, n * w->width, rank, err)
		&& multiply_blocks(r.root, n, w->width, al_view(vectors), *map, err)
		&& multiply_blocks(r.inverse, n, w->width, al_view(vectors), way, err)
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
	roots_finish(&r);
	al_matrix_finish(&vectors);
	al_matrix_finish(&way);
	return ok;
}

static bool init_values(const struct work *w, struct al_pieces *out, size_t values, size_t rank,
	struct al_error *err)
{
	return al_matrix_init(&out->of[AL_PIECE_VALUE], w->weights[AL_VALUE].rows, values * rank,
		       err)
		&& al_matrix_init(&out->of[AL_PIECE_OUTPUT], w->weights[AL_OUTPUT].rows,
			(size_t)w->a->n_heads * rank, err)
		&& (!w->value_bias.data
			|| al_matrix_init(&out->of[AL_PIECE_VALUE_BIAS], 1, values * rank, err));
}

/* ---- ov ---- */

/* W_O anew for outputs o_i A_i, A_i the map of head i's values. */
static bool refit_ov(const struct work *w, struct al_pieces *out, const struct al_matrix *maps,
	struct al_error *err)
{
	const struct al_matrix moment = w->statistics->of[AL_STATISTIC_HEADS];
	const size_t n = (size_t)w->a->n_heads, rank = (size_t)w->layout->rank;
	struct al_matrix cross = {0}, gram = {0};
	bool ok = al_matrix_init(&cross, n * rank, moment.cols, err)
		&& al_matrix_init(&gram, n * rank, n * rank, err);

	for (size_t i = 0; ok && i < n; i++)
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(maps[i / w->group]),
			al_view(al_part(moment, i * w->width, 0, w->width, moment.cols)), 0,
			al_part(cross, i * rank, 0, rank, moment.cols), err);
	for (size_t i = 0; ok && i < n; i++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(cross), i * w->width, w->width),
			al_view(maps[i / w->group]), 0, al_part(gram, 0, i * rank, n * rank, rank),
			err);
	ok = ok
		&& al_output_refit(al_view(gram), al_view(cross), al_view(w->weights[AL_OUTPUT]),
			out->of[AL_PIECE_OUTPUT], err);
	al_matrix_finish(&cross);
	al_matrix_finish(&gram);
	return ok;
}

static bool make_ov(struct work *w, struct al_pieces *out, bool refits, struct al_error *err)
{
	const size_t rank = (size_t)w->layout->rank;
	struct al_matrix *maps = al_calloc(w->n_kv, sizeof(*maps));
	bool ok = find_gram(w, AL_VALUE, err) && init_values(w, out, w->n_kv, rank, err);

	for (size_t kv = 0; ok && kv < w->n_kv; kv++) {
		ok = join(w, out, kv, 1, rank, kv, &maps[kv], err);
		if (ok && w->value_bias.data)
			ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
				al_columns(al_view(w->value_bias), kv * w->width, w->width),
				al_view(maps[kv]), 0,
				al_part(out->of[AL_PIECE_VALUE_BIAS], 0, kv * rank, 1, rank), err);
	}
	ok = ok && (!refits || refit_ov(w, out, maps, err));
	for (size_t kv = 0; kv < w->n_kv; kv++)
		al_matrix_finish(&maps[kv]);
	free(maps);
	return ok;
}

/* ---- gqa ---- */

/* Procrustes (arXiv:2412.20677): R_j = U V^T of the SVD of V_j^T G V_i turns head j's values onto
 * the group's first, i; their mean takes the place of all, R_j^T W_O^(j) reads it. */
static bool turn(struct work *w, struct al_pieces *out, size_t first, size_t kv, size_t size,
	size_t place, struct al_error *err)
{
	const size_t n = w->width, columns = kv * n;
	struct al_matrix cross = {0}, left = {0}, right = {0}, turned = {0};
	double *values = al_calloc(n, sizeof(*values));
	bool ok = al_matrix_init(&cross, n, n, err) && al_matrix_init(&left, n, n, err)
		&& al_matrix_init(&right, n, n, err) && al_matrix_init(&turned, n, n, err)
		&& al_copy(al_view(al_part(w->gram, columns, first * n, n, n)), cross, err)
		&& al_svd(cross, left, values, right, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(left), al_view(right), 0, turned,
			err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1 / (double)size,
			al_columns(al_view(w->weights[AL_VALUE]), columns, n), al_view(turned), 1,
			al_part(out->of[AL_PIECE_VALUE], 0, place * n, w->weights[AL_VALUE].rows,
				n),
			err);

	for (size_t i = 0; ok && i < w->group; i++) {
		const size_t head = (kv * w->group + i) * n;
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(w->weights[AL_OUTPUT]), head, n), al_view(turned), 0,
			al_part(out->of[AL_PIECE_OUTPUT], 0, head, w->weights[AL_OUTPUT].rows, n),
			err);
	}
	al_matrix_finish(&cross);
	al_matrix_finish(&left);
	al_matrix_finish(&right);
	al_matrix_finish(&turned);
	free(values);
	return ok;
}

/* A new matrix's square in the measure, and of the error: V' O' - V O, both D x n times n x D. */
static bool add_error(struct work *w, const struct al_pieces *out, size_t kv, size_t place,
	struct al_error *err)
{
	const size_t n = w->width, rows = w->weights[AL_VALUE].rows;
	struct work both = *w;
	struct al_matrix pair = {0}, way = {0}, weights = {0};
	bool ok = al_matrix_init(&pair, rows, 2 * n, err)
		&& al_matrix_init(&way, w->weights[AL_OUTPUT].rows, 2 * n, err)
		&& al_matrix_init(&weights, 2 * n, 2 * n, err)
		&& al_copy(al_columns(al_view(w->weights[AL_VALUE]), kv * n, n),
			al_part(pair, 0, 0, rows, n), err)
		&& al_copy(al_columns(al_view(out->of[AL_PIECE_VALUE]), place * n, n),
			al_part(pair, 0, n, rows, n), err);

	both.weights[AL_VALUE] = pair;
	both.gram = (struct al_matrix){0};
	ok = ok && find_gram(&both, AL_VALUE, err);
	for (size_t i = 0; ok && i < w->group; i++) {
		const size_t head = (kv * w->group + i) * n;
		ok = al_copy(al_columns(al_view(w->weights[AL_OUTPUT]), head, n),
			     al_part(way, 0, 0, way.rows, n), err)
			&& al_copy(al_columns(al_view(out->of[AL_PIECE_OUTPUT]), head, n),
				al_part(way, 0, n, way.rows, n), err)
			&& al_gram(AL_TRANSPOSED, al_view(way), weights, err);
		for (size_t c = 0; ok && c < 2 * n; c++)
			for (size_t r = 0; r < 2 * n; r++) {
				const double term = both.gram.data[r + c * both.gram.ld]
					* weights.data[r + c * weights.ld];
				w->lost += (r < n) == (c < n) ? term : -term;
				w->whole += r < n && c < n ? term : 0;
			}
	}
	al_matrix_finish(&both.gram);
	al_matrix_finish(&pair);
	al_matrix_finish(&way);
	al_matrix_finish(&weights);
	return ok;
}

static bool align(struct work *w, struct al_pieces *out, size_t left, size_t size,
	struct al_error *err)
{
	bool ok = true;

	for (size_t kv = 0; ok && kv < left * size; kv++)
		ok = turn(w, out, kv / size * size, kv, size, kv / size, err);
	for (size_t kv = 0; ok && kv < left * size; kv++)
		ok = add_error(w, out, kv, kv / size, err);
	w->lost = fmax(0, w->lost);
	return ok;
}

static bool make_gqa(struct work *w, struct al_pieces *out, bool is_aligned, struct al_error *err)
{
	const size_t left = (size_t)w->layout->rank, size = w->n_kv / left;
	bool ok = find_gram(w, AL_VALUE, err) && init_values(w, out, left, w->width, err);

	if (ok && is_aligned)
		return align(w, out, left, size, err);
	for (size_t place = 0; ok && place < left; place++) {
		struct al_matrix map = {0};
		ok = join(w, out, place * size, size, w->width, place, &map, err);
		al_matrix_finish(&map);
	}
	return ok;
}

/* ---- kv-latent ---- */

/* Down W K Z and up Z^T K^-1; K is 1 but where outputs weigh. */
static bool make_latent(struct work *w, struct al_pieces *out, struct al_error *err)
{
	const enum al_projection p = w->layout->of_keys ? AL_KEY : AL_VALUE;
	const struct al_view weights = al_view(w->weights[p]);
	const size_t rank = (size_t)w->layout->rank;
	const bool is_weighed = w->measure == AL_MEASURE_WEIGHED && p == AL_VALUE;
	struct al_matrix *down = &out->of[AL_PIECE_QUERY_DOWN + (int)p], *up = &out->of[p];
	struct al_matrix vectors = {0}, left = {0}, right = {0};
	struct roots r = {0};
	bool ok = find_gram(w, p, err) && (!is_weighed || roots_init(&r, w, 0, w->n_kv, err));

	ok = ok
		&& (is_weighed ? lead_weighed(w, &r, 0, rank, &vectors, err)
			       : lead(w, w->gram, rank, &vectors, err))
		&& al_matrix_init(&left, vectors.rows, rank, err)
		&& al_matrix_init(&right, vectors.rows, rank, err)
		&& (is_weighed ? multiply_blocks(r.root, r.n, w->width, al_view(vectors), left, err)
					&& multiply_blocks(r.inverse, r.n, w->width,
						al_view(vectors), right, err)
			       : al_copy(al_view(vectors), left, err)
					&& al_copy(al_view(vectors), right, err))
		&& al_matrix_init(down, weights.rows, rank, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, weights, al_view(left), 0, *down, err)
		&& al_matrix_init(up, rank, weights.cols, err);
	for (size_t j = 0; ok && j < up->cols; j++)
		for (size_t i = 0; i < rank; i++)
			up->data[i + j * up->ld] = right.data[j + i * right.ld];
	roots_finish(&r);
	al_matrix_finish(&vectors);
	al_matrix_finish(&left);
	al_matrix_finish(&right);
	return ok;
}

/* ---- drop ---- */

/* The rows of `from` that are kept heads', or of both rows and columns. */
static void take_kept(const struct work *w, struct al_view from, struct al_matrix to)
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

static bool make_drop(struct work *w, struct al_pieces *out, struct al_error *err)
{
	const struct al_matrix moment = w->statistics->of[AL_STATISTIC_HEADS];
	const size_t kept = (size_t)al_layout_heads(w->layout, false) * w->width;
	const struct al_view output = al_view(w->weights[AL_OUTPUT]);
	struct al_matrix gram = {0}, cross = {0}, *new = &out->of[AL_PIECE_OUTPUT];
	double left = 0;
	bool ok = al_matrix_init(&gram, kept, kept, err)
		&& al_matrix_init(&cross, kept, moment.cols, err)
		&& al_matrix_init(new, output.rows, kept, err);

	if (ok) {
		take_kept(w, al_view(moment), gram);
		take_kept(w, al_view(moment), cross);
		ok = al_output_refit(al_view(gram), al_view(cross), output, *new, err)
			&& al_output_power(al_view(moment), output, &w->whole, err)
			&& al_output_power(al_view(gram), al_view(*new), &left, err);
	}
	w->lost = fmax(0, w->whole - left);
	al_matrix_finish(&gram);
	al_matrix_finish(&cross);
	return ok;
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

bool al_choose_dropped(const struct al_model_view *view, const struct al_calibration *calibration,
	const struct al_attention *a, size_t n, bool *is_dropped, struct al_error *err)
{
	const size_t n_heads = (size_t)a->n_heads;
	const struct al_module_statistics *statistics;
	struct al_matrix output = {0};

	if (n >= n_heads || a->n_kv_heads != a->n_heads)
		return al_fail(err, AL_EINPUT,
			"%s: of its %zu heads with %lld keys %zu can't be chosen: name them with "
			"--drop LAYER:HEAD",
			a->name, n_heads, (long long)a->n_kv_heads, n);
	struct al_head_worth *worth = al_calloc(n_heads, sizeof(*worth));
	bool ok = al_calibration_find(calibration, a->name, &statistics, err)
		&& al_factor_load(view->checkpoint, &a->factors[AL_OUTPUT], &output, err)
		&& al_heads_judge(al_view(statistics->of[AL_STATISTIC_HEADS]), al_view(output),
			n_heads, worth, err);
	if (ok)
		mark_least(worth, n_heads, n, is_dropped);
	al_matrix_finish(&output);
	free(worth);
	return ok;
}

/* ---- all ---- */

bool al_data_refits(const struct al_data *data, enum al_method method)
{
	return data->calibration && data->refit == AL_REFIT_AUTO
		&& (method == AL_METHOD_OV || method == AL_METHOD_DROP);
}

static bool check_measure(const struct work *w, struct al_error *err)
{
	const bool wants_data = w->measure >= AL_MEASURE_DIAGONAL;

	if (wants_data && !w->statistics)
		return al_fail(err, AL_EINPUT, "--measure %s needs --calibration DIR",
			al_measure_names[w->measure]);
	return true;
}

static bool load(struct work *w, const struct al_data *data, struct al_error *err)
{
	for (int p = AL_KEY; p < AL_N_PROJECTIONS; p++)
		if (!al_factor_load(w->view->checkpoint, &w->a->factors[p], &w->weights[p], err))
			return false;
	if (w->a->biases[AL_VALUE].n_runs > 0
		&& !al_factor_load(w->view->checkpoint, &w->a->biases[AL_VALUE], &w->value_bias,
			err))
		return false;
	if (data->calibration
		&& !al_calibration_find(data->calibration, w->a->name, &w->statistics, err))
		return false;
	if (w->statistics
		&& w->statistics->of[AL_STATISTIC_HEADS].rows != w->weights[AL_OUTPUT].cols)
		return al_fail(err, AL_EINPUT,
			"the calibration has %zu outputs of heads, the module %zu",
			w->statistics->of[AL_STATISTIC_HEADS].rows, w->weights[AL_OUTPUT].cols);
	w->measure = choose(w, data);
	return check_measure(w, err);
}

static bool make(struct work *w, const struct al_data *data, struct al_pieces *out,
	struct al_error *err)
{
	switch (w->layout->method) {
	case AL_METHOD_OV:
		return make_ov(w, out, al_data_refits(data, AL_METHOD_OV), err);
	case AL_METHOD_LATENT:
		return make_latent(w, out, err);
	case AL_METHOD_GQA:
		return make_gqa(w, out, data->is_aligned, err);
	default:
		return make_drop(w, out, err);
	}
}

bool al_pieces_by_data(struct al_pieces *out, const struct al_model_view *view,
	const struct al_layout *layout, const struct al_data *data, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	struct work w = {.view = view,
		.layout = layout,
		.a = a,
		.width = (size_t)a->d_value,
		.n_kv = (size_t)a->n_kv_heads,
		.group = (size_t)(a->n_heads / a->n_kv_heads)};

	*out = (struct al_pieces){.has_settled = true};
	bool ok = load(&w, data, err) && make(&w, data, out, err);
	if (ok && w.whole > 0)
		out->relative_error = sqrt(w.lost / w.whole);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&w.weights[p]);
	al_matrix_finish(&w.value_bias);
	al_matrix_finish(&w.gram);
	if (!ok)
		al_pieces_finish(out);
	return ok;
}
