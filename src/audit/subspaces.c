/* Subspaces of heads: bases by SVD, angles from the singular values of U_a^T U_b, which of most
 * heads is known without their bases. */
#include "audit/subspaces.h"

#include "audit/measures.h"

/* ---- bases ---- */

/* How many singular values count. */
static size_t count_directions(const double *values, size_t n, size_t rows, double unit)
{
	const double least = values[0] * al_direction_tolerance(rows, unit);
	size_t rank = 0;

	while (rank < n && values[rank] > least)
		rank++;
	return rank;
}

/* A head whose directions all count: those of its QR factors. */
static bool add_whole_basis(struct al_bases *b, struct al_view head, size_t index, double unit,
	bool *is_whole, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_matrix u = al_part(b->u, 0, index * b->width, head.rows, head.cols);
	struct al_matrix r, values;

	if (!al_take(&scratch, &r, head.cols, head.cols, err)
		|| !al_take(&scratch, &values, head.cols, 1, err) || !al_copy(head, u, err)
		|| !al_qr(u, r, err) || !al_singular_values(al_view(r), values.data, err))
		return false;
	b->ranks[index] = count_directions(values.data, head.cols, head.rows, unit);
	*is_whole = b->ranks[index] == head.cols;
	return true;
}

/* The left singular vectors that count, in the head's columns. */
static bool add_singular_basis(struct al_bases *b, struct al_view head, size_t index, double unit,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = al_least(head.rows, head.cols);
	struct al_matrix copy, u, v, values;

	if (!al_take(&scratch, &u, head.rows, n, err) || !al_take(&scratch, &v, head.cols, n, err)
		|| !al_take(&scratch, &values, n, 1, err)
		|| !al_take_copy(&scratch, head, &copy, err)
		|| !al_svd(copy, u, values.data, v, err))
		return false;
	const size_t rank = count_directions(values.data, n, head.rows, unit);
	b->ranks[index] = rank;
	return al_copy(al_columns(al_view(u), 0, rank),
		al_part(b->u, 0, index * b->width, head.rows, rank), err);
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

bool al_bases_find(struct al_scratch *scratch, struct al_bases *b, const struct al_heads *heads,
	enum al_projection p, struct al_error *err)
{
	const struct al_run run = al_heads_run(heads, p);
	struct basis_work work = {heads, p, b};

	b->width = run.width;
	b->ranks = al_take_array(scratch, run.n_heads, sizeof(*b->ranks), err);
	return b->ranks && al_take(scratch, &b->u, run.weights.rows, run.n_heads * run.width, err)
		&& al_parallel(run.n_heads, find_basis, &work, err);
}

/* ---- without bases ---- */

/* The smallest direction relative to the largest. The products' rounding, 2^-52, may grow by its
 * inverse, squared. */
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
	AL_SCRATCH(scratch);
	double *values = al_take_array(&scratch, r.cols, sizeof(*values), err);

	if (!values || (r.rows == r.cols && !al_singular_values(r, values, err)))
		return false;
	work->is_even[head] = r.rows == r.cols && values[r.cols - 1] > least * values[0];
	return true;
}

const bool *al_even_heads_find(struct al_scratch *scratch, const struct al_triangles *triangles,
	const struct al_heads *heads, enum al_projection p, struct al_error *err)
{
	const size_t n = al_heads_run(heads, p).n_heads;
	struct even_work work = {triangles, heads, p, al_take_array(scratch, n, sizeof(bool), err)};

	return work.is_even && al_parallel(n, judge_evenness, &work, err) ? work.is_even : NULL;
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
	double c = al_least(1, al_most(0, cosine));

	return acos(c) * (180 / 3.14159265358979323846);
}

bool al_angles_find(struct al_view cosines, struct al_angles *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = al_least(cosines.rows, cosines.cols);
	double *values = al_take_array(&scratch, n, sizeof(*values), err);

	if (!values || !al_singular_values(cosines, values, err))
		return false;
	*out = (struct al_angles){0};
	for (size_t i = 0; i < n; i++)
		out->kernel += values[i] * values[i] / (double)n;
	out->smallest = n ? degrees(values[0]) : 0;
	out->largest = n ? degrees(values[n - 1]) : 0;
	return true;
}
