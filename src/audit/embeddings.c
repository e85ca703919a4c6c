/* Conversions to multiple-head embeddings: one projection for all heads, and a vector for each head
 * that is added to it or multiplied with it (Xue & Aletras 2023, arXiv:2310.07911, sections 3.2
 * and 3.3). */
#include "audit/convert.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* ---- what heads become ---- */

static void set_mean(struct al_view heads, size_t n, size_t width, struct al_matrix out)
{
	size_t *all = al_calloc(n, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = i;
	al_mean_heads(heads, width, all, n, out);
	free(all);
}

/* Column j of all heads, [rows][n], at rank one. */
static bool set_multiples(struct al_view heads, size_t n, size_t width, size_t j,
	struct al_matrix out, struct al_error *err)
{
	struct al_view columns = {heads.data + j * heads.ld, heads.rows, n, width * heads.ld};
	struct al_matrix target = {out.data + j * out.ld, out.rows, n, width * out.ld};
	struct al_matrix gram = {0}, e = {0}, common = {0};
	double value;
	bool ok = al_matrix_init(&gram, n, n, err) && al_matrix_init(&e, n, 1, err)
		&& al_matrix_init(&common, heads.rows, 1, err)
		&& al_gram(AL_TRANSPOSED, columns, gram, err)
		&& al_eigenvectors_top(gram, &value, e, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, columns, al_view(e), 0, common, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(common), al_view(e), 0, target, err);

	al_matrix_finish(&common);
	al_matrix_finish(&e);
	al_matrix_finish(&gram);
	return ok;
}

static bool convert(struct al_view heads, size_t n, size_t width, enum al_embedding kind,
	struct al_matrix *out, struct al_error *err)
{
	bool ok = al_matrix_init(out, heads.rows, heads.cols, err);

	if (ok && kind == AL_EMBEDDING_ADD)
		set_mean(heads, n, width, *out);
	for (size_t j = 0; ok && kind == AL_EMBEDDING_MUL && j < width; j++)
		ok = set_multiples(heads, n, width, j, *out, err);
	return ok;
}

/* ---- the error of a form both sides of which change ---- */

/* One side of a head, A, and what it loses, D: the products that their error is made of. */
struct side {
	struct al_matrix whole, cross, lost; /* A^T A, A^T D, D^T D */
};

static void side_finish(struct side *s)
{
	al_matrix_finish(&s->lost);
	al_matrix_finish(&s->cross);
	al_matrix_finish(&s->whole);
}

static bool side_init(struct side *s, struct al_view a, struct al_view d, struct al_error *err)
{
	*s = (struct side){{0}, {0}, {0}};
	return al_matrix_init(&s->whole, a.cols, a.cols, err)
		&& al_matrix_init(&s->cross, a.cols, a.cols, err)
		&& al_matrix_init(&s->lost, a.cols, a.cols, err)
		&& al_gram(AL_TRANSPOSED, a, s->whole, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, a, d, 0, s->cross, err)
		&& al_gram(AL_TRANSPOSED, d, s->lost, err);
}

/* Q K^T - Q' K'^T = D K^T + Q' E^T for what is lost, D = Q - Q' and E = K - K', squared: every term
 * vanishes with D and E. */
static double error_of(const struct side *q, const struct side *k)
{
	double sum = 0;

	for (size_t j = 0; j < q->whole.cols; j++)
		for (size_t i = 0; i < q->whole.rows; i++) {
			const size_t at = i + j * q->whole.ld, across = j + i * q->whole.ld;
			const double lost = q->lost.data[at], cross = q->cross.data[across] - lost;
			const double left = q->whole.data[at] - q->cross.data[at] - cross;
			sum += lost * k->whole.data[at] + 2 * cross * k->cross.data[at]
				+ left * k->lost.data[at];
		}
	return sum;
}

static bool add_error(struct al_view q, struct al_view dq, struct al_view k, struct al_view dk,
	double *sum, struct al_error *err)
{
	struct side queries, keys = {{0}, {0}, {0}};
	bool ok = side_init(&queries, q, dq, err) && side_init(&keys, k, dk, err);

	if (ok)
		*sum += error_of(&queries, &keys);
	side_finish(&keys);
	side_finish(&queries);
	return ok;
}

/* m = a - m */
static void subtract_from(struct al_view a, struct al_matrix m)
{
	for (size_t j = 0; j < a.cols; j++)
		for (size_t i = 0; i < a.rows; i++)
			m.data[i + j * m.ld] = a.data[i + j * a.ld] - m.data[i + j * m.ld];
}

static bool forms_error(const struct al_heads *heads, struct al_matrix q, struct al_matrix k,
	double norm, double *error, struct al_error *err)
{
	double sum = 0;
	bool ok = true;

	subtract_from(heads->query, q);
	subtract_from(heads->key, k);
	for (size_t i = 0; ok && i < heads->n_heads; i++) {
		size_t at = i * heads->d_head, n = heads->d_head;
		ok = add_error(al_columns(heads->query, at, n), al_columns(al_view(q), at, n),
			al_columns(heads->key, at, n), al_columns(al_view(k), at, n), &sum, err);
	}
	*error = sqrt(fmax(sum, 0)) / norm;
	return ok;
}

bool al_convert_embedding(const struct al_heads *heads, const struct al_stack *keys,
	const struct al_stack *values, enum al_embedding kind, double errors[2],
	struct al_error *err)
{
	struct al_matrix q = {0}, k = {0}, v = {0};
	bool ok = convert(heads->query, heads->n_heads, heads->d_head, kind, &q, err)
		&& convert(heads->key, heads->n_heads, heads->d_head, kind, &k, err)
		&& forms_error(heads, q, k, keys->norm, &errors[0], err);

	if (ok && values)
		ok = convert(heads->value, heads->n_heads, heads->d_value, kind, &v, err)
			&& al_stack_error(values, al_view(v), &errors[1], err);
	al_matrix_finish(&v);
	al_matrix_finish(&k);
	al_matrix_finish(&q);
	return ok;
}
