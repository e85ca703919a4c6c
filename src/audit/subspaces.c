/* Subspaces of heads: bases by SVD, angles from the singular values of U_a^T U_b, which of most
 * heads is known without their bases. */
#include "audit/subspaces.h"

#include <math.h>
#include <stdlib.h>

#include "audit/measures.h"
#include "base/memory.h"

/* ---- bases ---- */

void al_bases_finish(struct al_bases *b)
{
	al_matrix_finish(&b->u);
	free(b->ranks);
	*b = (struct al_bases){0};
}

/* How many singular values count. */
static size_t count_directions(const double *values, size_t n, size_t rows, double unit)
{
	double least = n ? values[0] * al_direction_tolerance(rows, unit) : 0;
	size_t rank = 0;

	while (rank < n && values[rank] > least)
		rank++;
	return rank;
}

/* A head whose directions all count: those of its QR factors. */
static bool add_whole_basis(struct al_bases *b, struct al_view head, size_t index, double unit,
	bool *is_whole, struct al_error *err)
{
	AL_OWNED struct al_matrix r = {0}, values = {0};
	struct al_matrix u = al_part(b->u, 0, index * b->width, head.rows, head.cols);

	if (!al_matrix_init(&r, head.cols, head.cols, err))
		return false;
	bool ok = al_matrix_init(&values, head.cols, 1, err) && al_copy(head, u, err)
		&& al_qr(u, r, err) && al_singular_values(al_view(r), values.data, err);
	b->ranks[index] = ok ? count_directions(values.data, head.cols, head.rows, unit) : 0;
	*is_whole = ok && b->ranks[index] == head.cols;
	return ok;
}

/* The left singular vectors that count, in the head's columns. */
static bool add_singular_basis(struct al_bases *b, struct al_view head, size_t index, double unit,
	struct al_error *err)
{
	AL_OWNED struct al_matrix copy = {0}, u = {0}, v = {0}, values = {0};
	size_t n = head.rows < head.cols ? head.rows : head.cols;
	bool ok = al_matrix_init(&copy, head.rows, head.cols, err)
		&& al_matrix_init(&u, head.rows, n, err) && al_matrix_init(&v, head.cols, n, err)
		&& al_matrix_init(&values, n, 1, err) && al_copy(head, copy, err)
		&& al_svd(copy, u, values.data, v, err);

	if (ok) {
		size_t rank = count_directions(values.data, n, head.rows, unit);
		ok = al_copy(al_columns(al_view(u), 0, rank),
			al_part(b->u, 0, index * b->width, head.rows, rank), err);
		b->ranks[index] = rank;
	}
	return ok;
}

static bool add_basis(struct al_bases *b, struct al_view head, size_t index, double unit,
	struct al_error *err)
{
	bool is_whole = false;

	if (head.rows >= head.cols && !add_whole_basis(b, head, index, unit, &is_whole, err))
		return false;
	return is_whole || add_singular_basis(b, head, index, unit, err);
}

struct basis_work {
	const struct al_heads *heads;
	enum al_projection projection;
	struct al_bases *bases;
};

static bool find_basis(void *context, size_t index, struct al_error *err)
{
	const struct basis_work *work = context;

	return add_basis(work->bases, al_head_of(work->heads, work->projection, index), index,
		work->heads->unit, err);
}

bool al_bases_init(struct al_bases *b, const struct al_heads *heads, enum al_projection p,
	struct al_error *err)
{
	struct al_run run = al_heads_run(heads, p);
	struct basis_work work = {heads, p, b};

	*b = (struct al_bases){.width = run.width,
		.n_heads = run.n_heads,
		.ranks = al_calloc(run.n_heads, sizeof(size_t))};
	bool ok = al_matrix_init(&b->u, run.weights.rows, run.n_heads * run.width, err)
		&& al_parallel(run.n_heads, find_basis, &work, err);
	if (!ok)
		al_bases_finish(b);
	return ok;
}

/* ---- without bases ---- */

/* The least direction beside the largest. The products' rounding, 2^-52, may grow by its inverse,
 * squared. */
static const double EVEN = 1e-3;

struct even_work {
	const struct al_triangles *triangles;
	const struct al_heads *heads;
	enum al_projection projection;
	bool *is_even;
};

static bool judge_evenness(void *context, size_t head, struct al_error *err)
{
	const struct even_work *work = context;
	const struct al_view r = al_triangle_of(work->triangles, work->projection, head);
	const size_t rows = al_heads_run(work->heads, work->projection).weights.rows;
	const double least = fmax(EVEN, al_direction_tolerance(rows, work->heads->unit));
	double *values = al_calloc(r.cols, sizeof(*values));
	const bool ok = r.rows < r.cols || al_singular_values(r, values, err);

	work->is_even[head] = ok && r.rows == r.cols && r.cols > 0
		&& values[r.cols - 1] > least * values[0];
	free(values);
	return ok;
}

bool al_even_heads_find(const struct al_triangles *triangles, const struct al_heads *heads,
	enum al_projection p, bool **is_even, struct al_error *err)
{
	const size_t n = al_heads_run(heads, p).n_heads;
	struct even_work work = {triangles, heads, p, al_calloc(n, sizeof(bool))};

	*is_even = work.is_even;
	if (al_parallel(n, judge_evenness, &work, err))
		return true;
	free(work.is_even);
	*is_even = NULL;
	return false;
}

bool al_even_cosines(struct al_view a, struct al_view a_triangle, struct al_view b,
	struct al_view b_triangle, struct al_matrix out, struct al_error *err)
{
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, a, b, 0, out, err)
		&& al_solve(AL_LEFT, AL_TRANSPOSED, a_triangle, out, err)
		&& al_solve(AL_RIGHT, AL_PLAIN, b_triangle, out, err);
}

/* ---- angles ---- */

static double degrees(double cosine)
{
	double c = cosine > 1 ? 1 : cosine < 0 ? 0 : cosine;

	return acos(c) * (180 / 3.14159265358979323846);
}

bool al_angles_find(struct al_view cosines, struct al_angles *out, struct al_error *err)
{
	size_t n = cosines.rows < cosines.cols ? cosines.rows : cosines.cols;
	double *values = al_calloc(n, sizeof(*values));
	bool ok = al_singular_values(cosines, values, err);
	*out = (struct al_angles){0};
	for (size_t i = 0; ok && i < n; i++)
		out->kernel += values[i] * values[i] / (double)n;
	out->smallest = n ? degrees(values[0]) : 0;
	out->largest = n ? degrees(values[n - 1]) : 0;
	free(values);
	return ok;
}
