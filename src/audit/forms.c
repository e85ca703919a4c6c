/* The heads' bilinear forms compared without forming them. */
#include "audit/forms.h"

#include "audit/rotary.h"

const char *const al_form_names[AL_N_FORMS] = {"qk", "ov"};

/* A form is L_i R_i^T: the projections on its two sides. */
struct sides {
	enum al_projection left, right;
};

static struct sides sides_of(enum al_form form)
{
	return form == AL_FORM_QK ? (struct sides){AL_QUERY, AL_KEY}
				  : (struct sides){AL_VALUE, AL_OUTPUT};
}

/* Adds a^T b of two biases, if both are there. */
static void add_biases(struct al_view a, struct al_view b, struct al_matrix out)
{
	for (size_t j = 0; a.data && b.data && j < out.cols; j++)
		for (size_t i = 0; i < out.rows; i++)
			out.data[i + j * out.ld] += a.data[i * a.ld] * b.data[j * b.ld];
}

/* A^T B for a projection on [x, 1]; both have as many rows. */
static bool cross_gram(struct al_scratch *scratch, const struct al_heads *a,
	const struct al_heads *b, enum al_projection p, struct al_view *out, struct al_error *err)
{
	struct al_matrix all;
	const struct al_view left = al_projection_of(a, p), right = al_projection_of(b, p);

	*out = a == b ? a->gram[p] : (struct al_view){0};
	if (out->data && !a->bias[p].data)
		return true;
	if (!al_take(scratch, &all, left.cols, right.cols, err)
		|| !(out->data ? al_copy(*out, all, err)
				: a == b
				? al_gram(AL_TRANSPOSED, left, all, err)
				: al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, left, right, 0, all, err)))
		return false;
	add_biases(a->bias[p], b->bias[p], all);
	*out = al_view(all);
	return true;
}

static double block_dot(struct al_view g, size_t g_row, size_t g_col, struct al_view h,
	size_t h_row, size_t h_col, size_t rows, size_t cols)
{
	double sum = 0;

	for (size_t j = 0; j < cols; j++)
		for (size_t i = 0; i < rows; i++)
			sum += g.data[g_row + i + (g_col + j) * g.ld]
				* h.data[h_row + i + (h_col + j) * h.ld];
	return sum;
}

/* <L_i R_i^T, L_j R_j^T> = sum of (L_i^T L_j) o (R_i^T R_j), block by block. */
static void fill(const struct al_heads *a, const struct al_heads *b, struct sides s,
	struct al_view left, struct al_view right, struct al_matrix out)
{
	size_t wa = al_heads_run(a, s.left).width, wb = al_heads_run(b, s.left).width;

	for (size_t j = 0; j < b->n_heads; j++)
		for (size_t i = 0; i < a->n_heads; i++)
			out.data[i + j * out.ld] = block_dot(left, al_own_head(a, s.left, i) * wa,
				al_own_head(b, s.left, j) * wb, right,
				al_own_head(a, s.right, i) * wa, al_own_head(b, s.right, j) * wb,
				wa, wb);
}

bool al_form_inner_rotary(struct al_scratch *scratch, const struct al_heads *a,
	const struct al_heads *b, enum al_form form, const struct al_attention *rotary,
	struct al_matrix *out, struct al_matrix *all, struct al_error *err)
{
	AL_SCRATCH(grams);
	const struct sides s = sides_of(form);
	struct al_view left, right;

	if (!cross_gram(&grams, a, b, s.left, &left, err)
		|| !cross_gram(&grams, a, b, s.right, &right, err)
		|| !al_take(scratch, out, a->n_heads, b->n_heads, err)
		|| (rotary && !al_take(scratch, all, a->n_heads, b->n_heads, err)))
		return false;
	fill(a, b, s, left, right, *out);
	if (rotary)
		al_rotary_inner(a, rotary, left, right, *all);
	return true;
}

bool al_form_inner(struct al_scratch *scratch, const struct al_heads *a, const struct al_heads *b,
	enum al_form form, struct al_matrix *out, struct al_error *err)
{
	return al_form_inner_rotary(scratch, a, b, form, NULL, out, NULL, err);
}

/* ---- biases ---- */

/* The bias of a head's projection, [1][width]; no data: none. */
static struct al_view bias_of(const struct al_heads *heads, enum al_projection p, size_t head)
{
	const size_t width = al_heads_run(heads, p).width;

	return heads->bias[p].data
		? al_columns(heads->bias[p], al_own_head(heads, p, head) * width, width)
		: (struct al_view){0};
}

/* ||R a^T||^2, R the triangle of a head's projection. */
static bool square_product(const struct al_triangles *t, enum al_projection p, size_t head,
	struct al_view a, double *sum, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view r = al_triangle_of(t, p, head);
	struct al_matrix product;

	if (!a.data)
		return true;
	if (!al_take_product(&scratch, AL_PLAIN, r, AL_TRANSPOSED, a, &product, err))
		return false;
	*sum += al_inner(al_view(product), al_view(product));
	return true;
}

bool al_form_bias(const struct al_triangles *triangles, const struct al_heads *heads,
	enum al_form form, size_t head, double *squared, struct al_error *err)
{
	struct sides s = sides_of(form);
	struct al_view a = bias_of(heads, s.left, head), b = bias_of(heads, s.right, head);
	double both = 0;

	for (size_t i = 0; a.data && b.data && i < a.cols; i++)
		both += a.data[i * a.ld] * b.data[i * b.ld];
	*squared = both * both;
	return square_product(triangles, s.right, al_own_head(heads, s.right, head), a, squared,
		       err)
		&& square_product(triangles, s.left, al_own_head(heads, s.left, head), b, squared,
			err);
}

/* ---- means ---- */

static double n_rows(const struct al_heads *heads, enum al_projection p)
{
	return (double)al_heads_run(heads, p).weights.rows + (heads->bias[p].data != NULL);
}

double al_form_entries(const struct al_heads *heads, enum al_form form)
{
	struct sides s = sides_of(form);

	return n_rows(heads, s.left) * n_rows(heads, s.right);
}

static double column_sum(const struct al_heads *heads, enum al_projection p, size_t head,
	size_t column)
{
	struct al_view a = al_head_of(heads, p, al_own_head(heads, p, head));
	struct al_view bias = bias_of(heads, p, head);
	double sum = bias.data ? bias.data[column * bias.ld] : 0;

	for (size_t i = 0; i < a.rows; i++)
		sum += a.data[i + column * a.ld];
	return sum;
}

bool al_form_means(const struct al_heads *heads, enum al_form form, double *means,
	struct al_error *err)
{
	struct sides s = sides_of(form);
	double entries = al_form_entries(heads, form);
	size_t width = al_heads_run(heads, s.left).width;

	if (entries == 0)
		return al_fail(err, AL_EINPUT, "a form without entries");
	for (size_t i = 0; i < heads->n_heads; i++) {
		double sum = 0;
		for (size_t k = 0; k < width; k++)
			sum += column_sum(heads, s.left, i, k) * column_sum(heads, s.right, i, k);
		means[i] = sum / entries;
	}
	return true;
}

bool al_has_form(const struct al_heads *heads, enum al_form form)
{
	return form == AL_FORM_QK || al_has_values(heads);
}

double al_cosine(double inner, double squared_a, double squared_b)
{
	return squared_a > 0 && squared_b > 0 ? inner / sqrt(squared_a) / sqrt(squared_b) : NAN;
}
