/* Conversions to multiple-head embeddings: one projection for all heads, and a vector for each head
 * that is added to it or multiplied with it (Xue & Aletras 2023, arXiv:2310.07911, sections 3.2
 * and 3.3).
 *
 * Both are Q'_i = M diag(e_i), M = sum of Q_b diag(e_b): added embeddings, whose best shared
 * projection is the mean, with all e = n^-1/2. What they lose is in the heads' Gram matrix, unless
 * it is so little that it drowns there. */
#include "audit/convert.h"

#include <math.h>

/* ---- what heads become ---- */

/* Column j of all heads, [rows][n], at rank one. */
static bool set_multiples(struct al_view heads, size_t n, size_t width, size_t j,
	struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view columns = {heads.data + j * heads.ld, heads.rows, n, width * heads.ld};
	const struct al_matrix target = {out.data + j * out.ld, out.rows, n, width * out.ld};
	struct al_matrix gram, e, common;
	double value;

	return al_take(&scratch, &e, n, 1, err)
		&& al_take_gram(&scratch, AL_TRANSPOSED, columns, &gram, err)
		&& al_eigenvectors_top(gram, &value, e, err)
		&& al_take_product(&scratch, AL_PLAIN, columns, AL_PLAIN, al_view(e), &common, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(common), al_view(e), 0, target, err);
}

static bool convert(struct al_scratch *scratch, struct al_view heads, size_t n, size_t width,
	enum al_embedding kind, struct al_matrix *out, struct al_error *err)
{
	size_t *all = al_take_array(scratch, n, sizeof(*all), err);

	if (!all || !al_take(scratch, out, heads.rows, heads.cols, err))
		return false;
	for (size_t i = 0; i < n; i++)
		all[i] = i;
	if (kind == AL_EMBEDDING_ADD)
		al_mean_heads(heads, width, all, n, *out);
	for (size_t j = 0; kind == AL_EMBEDDING_MUL && j < width; j++)
		if (!set_multiples(heads, n, width, j, *out, err))
			return false;
	return true;
}

/* ---- the error of a form both sides of which change ---- */

/* One side of a head, A, and what it loses, D: the products that their error is made of. */
struct side {
	struct al_matrix whole, cross, lost; /* A^T A, A^T D, D^T D */
};

static bool side_take(struct al_scratch *scratch, struct side *s, size_t width,
	struct al_error *err)
{
	return al_take(scratch, &s->whole, width, width, err)
		&& al_take(scratch, &s->cross, width, width, err)
		&& al_take(scratch, &s->lost, width, width, err);
}

static bool side_of(struct al_scratch *scratch, struct side *s, struct al_view a, struct al_view d,
	struct al_error *err)
{
	return side_take(scratch, s, a.cols, err) && al_gram(AL_TRANSPOSED, a, s->whole, err)
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

	subtract_from(heads->query, q);
	subtract_from(heads->key, k);
	for (size_t i = 0; i < heads->n_heads; i++) {
		AL_SCRATCH(scratch);
		const size_t at = i * heads->d_head, n = heads->d_head;
		struct side queries, keys;
		if (!side_of(&scratch, &queries, al_columns(heads->query, at, n),
			    al_columns(al_view(q), at, n), err)
			|| !side_of(&scratch, &keys, al_columns(heads->key, at, n),
				al_columns(al_view(k), at, n), err))
			return false;
		sum += error_of(&queries, &keys);
	}
	*error = sqrt(fmax(sum, 0)) / norm;
	return true;
}

/* By what they become, good to rounding whatever is lost. */
static bool convert_itself(const struct al_heads *heads, const struct al_stack *keys,
	const struct al_stack *values, enum al_embedding kind, double errors[2],
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix q, k, v;

	return convert(&scratch, heads->query, heads->n_heads, heads->d_head, kind, &q, err)
		&& convert(&scratch, heads->key, heads->n_heads, heads->d_head, kind, &k, err)
		&& forms_error(heads, q, k, keys->norm, &errors[0], err)
		&& (!values
			|| (convert(&scratch, heads->value, heads->n_heads, heads->d_value, kind,
				    &v, err)
				&& al_stack_error(values, al_view(v), &errors[1], err)));
}

/* ---- the same from Gram matrices ---- */

/* A projection of n heads, and M. */
struct shared {
	struct al_view gram; /* Q^T Q */
	size_t n, width;
	struct al_matrix multiples; /* e: [n][width] */
	struct al_matrix cross; /* Q^T M: [n*width][width] */
	struct al_matrix own; /* M^T M */
};

/* The first eigenvector of column j's Gram matrix over all heads. */
static bool find_multiples(struct shared *x, size_t j, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram;
	double value;

	if (!al_take(&scratch, &gram, x->n, x->n, err))
		return false;
	for (size_t b = 0; b < x->n; b++)
		for (size_t a = 0; a < x->n; a++)
			gram.data[a + b * gram.ld] =
				x->gram.data[a * x->width + j + (b * x->width + j) * x->gram.ld];
	return al_eigenvectors_top(gram, &value, al_part(x->multiples, 0, j, x->n, 1), err);
}

static void find_products(struct shared *x)
{
	for (size_t j = 0; j < x->width; j++) {
		double *cross = x->cross.data + j * x->cross.ld;
		for (size_t b = 0; b < x->n; b++) {
			const double *gram = x->gram.data + (b * x->width + j) * x->gram.ld;
			const double e = x->multiples.data[b + j * x->multiples.ld];
			for (size_t i = 0; i < x->cross.rows; i++)
				cross[i] += e * gram[i];
		}
		for (size_t i = 0; i < x->width; i++)
			for (size_t a = 0; a < x->n; a++)
				x->own.data[i + j * x->own.ld] +=
					x->multiples.data[a + i * x->multiples.ld]
					* cross[a * x->width + i];
	}
}

static bool share(struct al_scratch *scratch, struct shared *x, struct al_view gram, size_t n,
	enum al_embedding kind, struct al_error *err)
{
	const size_t width = gram.cols / n;

	*x = (struct shared){.gram = gram, .n = n, .width = width};
	if (!al_take(scratch, &x->multiples, n, width, err)
		|| !al_take(scratch, &x->cross, gram.rows, width, err)
		|| !al_take(scratch, &x->own, width, width, err))
		return false;
	for (size_t i = 0; kind == AL_EMBEDDING_ADD && i < n * width; i++)
		x->multiples.data[i] = 1 / sqrt((double)n);
	for (size_t j = 0; kind == AL_EMBEDDING_MUL && j < width; j++)
		if (!find_multiples(x, j, err))
			return false;
	find_products(x);
	return true;
}

/* Of head g: D = Q_g - M diag(e_g). */
static void side_of_shared(const struct shared *x, size_t g, struct side *side)
{
	const double *e = x->multiples.data + g;

	for (size_t j = 0; j < x->width; j++)
		for (size_t i = 0; i < x->width; i++) {
			const size_t row = g * x->width + i, column = g * x->width + j;
			const size_t at = i + j * side->whole.ld;
			const double ei = e[i * x->multiples.ld], ej = e[j * x->multiples.ld];
			const double kept = x->cross.data[row + j * x->cross.ld] * ej;
			const double mirrored = x->cross.data[column + i * x->cross.ld] * ei;
			side->whole.data[at] = x->gram.data[row + column * x->gram.ld];
			side->cross.data[at] = side->whole.data[at] - kept;
			side->lost.data[at] = side->cross.data[at] - mirrored
				+ ei * x->own.data[i + j * x->own.ld] * ej;
		}
}

/* The squared error and, to compare it with, the size of what is taken from each other for it. */
struct difference {
	double squared, taken;
};

static bool forms_by_gram(struct al_view query_gram, const struct al_stack *keys,
	enum al_embedding kind, struct difference *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct shared query, key;
	struct side q, k;

	if (!share(&scratch, &query, query_gram, keys->n, kind, err)
		|| !share(&scratch, &key, keys->own_gram, keys->n, kind, err)
		|| !side_take(&scratch, &q, keys->width, err)
		|| !side_take(&scratch, &k, keys->width, err))
		return false;
	for (size_t g = 0; g < keys->n; g++) {
		side_of_shared(&query, g, &q);
		side_of_shared(&key, g, &k);
		out->squared += error_of(&q, &k);
		out->taken += al_trace(al_view(q.whole)) * al_trace(al_view(k.whole));
	}
	return true;
}

static bool values_by_gram(const struct al_stack *values, enum al_embedding kind,
	struct difference *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct shared value;
	struct side v;

	if (!share(&scratch, &value, values->own_gram, values->n, kind, err)
		|| !side_take(&scratch, &v, values->width, err))
		return false;
	for (size_t g = 0; g < values->n; g++) {
		const struct al_view weight = al_columns(al_view(values->weight_grams),
			g * values->width, values->width);
		side_of_shared(&value, g, &v);
		out->squared += al_inner(al_view(v.lost), weight);
		for (size_t i = 0; i < values->width; i++)
			out->taken += al_trace(al_view(v.whole)) * weight.data[i + i * weight.ld];
	}
	return true;
}

static bool take_error(struct difference d, const struct al_stack *stack, double *error)
{
	*error = sqrt(fmax(d.squared, 0)) / stack->norm;
	return d.squared > AL_GRAM_SHOWS * d.taken;
}

bool al_convert_embedding(const struct al_heads *heads, struct al_view query_gram,
	const struct al_stack *keys, const struct al_stack *values, enum al_embedding kind,
	double errors[2], struct al_error *err)
{
	struct difference of_forms = {0, 0}, of_values = {0, 0};

	if (!query_gram.data || !keys->own_gram.data)
		return convert_itself(heads, keys, values, kind, errors, err);
	if (!forms_by_gram(query_gram, keys, kind, &of_forms, err)
		|| (values && !values_by_gram(values, kind, &of_values, err)))
		return false;
	return (take_error(of_forms, keys, &errors[0])
		       && (!values || take_error(of_values, values, &errors[1])))
		|| convert_itself(heads, keys, values, kind, errors, err);
}
