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

/* <A^T B, C^T D> */
static bool add_product(double scale, struct al_view a, struct al_view b, struct al_view c,
	struct al_view d, double *sum, struct al_error *err)
{
	struct al_matrix left = {0}, right = {0};
	bool ok = al_matrix_init(&left, a.cols, b.cols, err)
		&& al_matrix_init(&right, c.cols, d.cols, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, a, b, 0, left, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, c, d, 0, right, err);

	for (size_t j = 0; ok && j < left.cols; j++)
		for (size_t i = 0; i < left.rows; i++)
			*sum += scale * left.data[i + j * left.ld] * right.data[i + j * right.ld];
	al_matrix_finish(&right);
	al_matrix_finish(&left);
	return ok;
}

/* Q K^T - Q' K'^T = (Q - Q') K^T + Q' (K - K')^T, squared: every term vanishes with the
 * differences. */
static bool add_error(struct al_view q, struct al_matrix dq, struct al_view k, struct al_matrix dk,
	double *sum, struct al_error *err)
{
	struct al_matrix other;

	if (!al_matrix_init(&other, q.rows, q.cols, err))
		return false;
	for (size_t j = 0; j < q.cols; j++)
		for (size_t i = 0; i < q.rows; i++)
			other.data[i + j * other.ld] = q.data[i + j * q.ld]
				- dq.data[i + j * dq.ld];
	bool ok = add_product(1, al_view(dq), al_view(dq), k, k, sum, err)
		&& add_product(2, al_view(dq), al_view(other), k, al_view(dk), sum, err)
		&& add_product(1, al_view(other), al_view(other), al_view(dk), al_view(dk), sum,
			err);
	al_matrix_finish(&other);
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
		ok = add_error(al_columns(heads->query, at, n), al_part(q, 0, at, q.rows, n),
			al_columns(heads->key, at, n), al_part(k, 0, at, k.rows, n), &sum, err);
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
