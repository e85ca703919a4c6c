/* Values of a group turned onto those of its first head, and their mean (arXiv:2412.20677). */
#include "compress/work.h"

/* Procrustes (arXiv:2412.20677): R_j = U V^T of the SVD of V_j^T G V_i turns head j's values onto
 * the group's first, i; their mean takes the place of all, R_j^T W_O^(j) reads it. */
static bool turn(struct al_work *w, struct al_pieces *out, size_t first, size_t kv, size_t size,
	size_t place, struct al_error *err)
{
	const size_t n = w->width, columns = kv * n, rows = w->weights[AL_VALUE].rows;
	const double share = 1 / (double)size;
	AL_OWNED struct al_matrix turned = {0};

	if (!al_find_turn(al_view(al_part(w->gram, columns, first * n, n, n)), &turned, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, share,
			al_columns(al_view(w->weights[AL_VALUE]), columns, n), al_view(turned), 1,
			al_part(out->of[AL_PIECE_VALUE], 0, place * n, rows, n), err)
		|| (w->biases[AL_VALUE].data
			&& !al_gemm(AL_PLAIN, AL_PLAIN, share,
				al_columns(al_view(w->biases[AL_VALUE]), columns, n),
				al_view(turned), 1,
				al_part(out->of[AL_PIECE_VALUE_BIAS], 0, place * n, 1, n), err)))
		return false;
	for (size_t i = 0; i < w->group; i++) {
		const size_t head = (kv * w->group + i) * n;
		if (!al_gemm(AL_PLAIN, AL_PLAIN, 1,
			    al_columns(al_view(w->weights[AL_OUTPUT]), head, n), al_view(turned), 0,
			    al_part(out->of[AL_PIECE_OUTPUT], 0, head, w->weights[AL_OUTPUT].rows,
				    n),
			    err))
			return false;
	}
	return true;
}

/* A new matrix's square in the measure, and of the error: V' O' - V O, both D x n times n x D. */
static bool add_error(struct al_work *w, const struct al_pieces *out, size_t kv, size_t place,
	struct al_error *err)
{
	const size_t n = w->width, rows = w->weights[AL_VALUE].rows;
	AL_OWNED struct al_matrix pair = {0}, way = {0}, weights = {0}, gram = {0};
	bool ok = al_matrix_init(&pair, rows, 2 * n, err)
		&& al_matrix_init(&way, w->weights[AL_OUTPUT].rows, 2 * n, err)
		&& al_matrix_init(&weights, 2 * n, 2 * n, err)
		&& al_copy(al_columns(al_view(w->weights[AL_VALUE]), kv * n, n),
			al_part(pair, 0, 0, rows, n), err)
		&& al_copy(al_columns(al_view(out->of[AL_PIECE_VALUE]), place * n, n),
			al_part(pair, 0, n, rows, n), err)
		&& al_work_gram(w, al_view(pair), &gram, err);

	for (size_t i = 0; ok && i < w->group; i++) {
		const size_t head = (kv * w->group + i) * n;
		ok = al_copy(al_columns(al_view(w->weights[AL_OUTPUT]), head, n),
			     al_part(way, 0, 0, way.rows, n), err)
			&& al_copy(al_columns(al_view(out->of[AL_PIECE_OUTPUT]), head, n),
				al_part(way, 0, n, way.rows, n), err)
			&& al_gram(AL_TRANSPOSED, al_view(way), weights, err);
		for (size_t c = 0; ok && c < 2 * n; c++)
			for (size_t r = 0; r < 2 * n; r++) {
				const double term = gram.data[r + c * gram.ld]
					* weights.data[r + c * weights.ld];
				w->lost += (r < n) == (c < n) ? term : -term;
				w->whole += r < n && c < n ? term : 0;
			}
	}
	return ok;
}

bool al_work_align(struct al_work *w, struct al_pieces *out, size_t left, size_t size,
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
