/* The heads' bilinear forms compared without forming them. */
#include "audit/forms.h"

#include <stdlib.h>

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

/* A^T B for a projection of two modules, which may be the same. */
static bool cross_gram(const struct al_heads *a, const struct al_heads *b, enum al_projection p,
	struct al_matrix *out, struct al_error *err)
{
	struct al_view left = al_heads_run(a, p).weights, right = al_heads_run(b, p).weights;

	if (left.rows != right.rows)
		return al_fail(err, AL_EINPUT, "projections of %zu and %zu rows can't be compared",
			left.rows, right.rows);
	if (!al_matrix_init(out, left.cols, right.cols, err))
		return false;
	if (a == b ? al_gram(AL_TRANSPOSED, left, *out, err)
		   : al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, left, right, 0, *out, err))
		return true;
	al_matrix_finish(out);
	return false;
}

static double block_dot(struct al_matrix g, size_t g_row, size_t g_col, struct al_matrix h,
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
	struct al_matrix left, struct al_matrix right, struct al_matrix out)
{
	size_t wa = al_heads_run(a, s.left).width, wb = al_heads_run(b, s.left).width;

	for (size_t j = 0; j < b->n_heads; j++)
		for (size_t i = 0; i < a->n_heads; i++)
			out.data[i + j * out.ld] = block_dot(left, al_own_head(a, s.left, i) * wa,
				al_own_head(b, s.left, j) * wb, right,
				al_own_head(a, s.right, i) * wa, al_own_head(b, s.right, j) * wb,
				wa, wb);
}

bool al_form_inner(const struct al_heads *a, const struct al_heads *b, enum al_form form,
	struct al_matrix *out, struct al_error *err)
{
	struct sides s = sides_of(form);
	struct al_matrix left = {0}, right = {0};
	bool ok = cross_gram(a, b, s.left, &left, err) && cross_gram(a, b, s.right, &right, err)
		&& al_matrix_init(out, a->n_heads, b->n_heads, err);

	if (ok)
		fill(a, b, s, left, right, *out);
	al_matrix_finish(&left);
	al_matrix_finish(&right);
	return ok;
}

double al_form_entries(const struct al_heads *heads, enum al_form form)
{
	struct sides s = sides_of(form);

	return (double)al_heads_run(heads, s.left).weights.rows
		* (double)al_heads_run(heads, s.right).weights.rows;
}

static double column_sum(struct al_view a, size_t column)
{
	double sum = 0;

	for (size_t i = 0; i < a.rows; i++)
		sum += a.data[i + column * a.ld];
	return sum;
}

bool al_form_means(const struct al_heads *heads, enum al_form form, double *means,
	struct al_error *err)
{
	struct sides s = sides_of(form);
	double entries = al_form_entries(heads, form);

	if (entries == 0)
		return al_fail(err, AL_EINPUT, "a form without entries");
	for (size_t i = 0; i < heads->n_heads; i++) {
		struct al_view left = al_head_of(heads, s.left, al_own_head(heads, s.left, i));
		struct al_view right = al_head_of(heads, s.right, al_own_head(heads, s.right, i));
		double sum = 0;
		for (size_t k = 0; k < left.cols; k++)
			sum += column_sum(left, k) * column_sum(right, k);
		means[i] = sum / entries;
	}
	return true;
}
