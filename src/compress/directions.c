/* The directions that matter most: leading eigenvectors, with what W_O makes of them. */
#include "compress/work.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* Eigenvalues of W_O^T W_O below this share of the largest are rounding. */
static const double ROUNDING = 0x1p-40;

static double sum_of(const double *values, size_t first, size_t end)
{
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += fmax(values[i], 0);
	return sum;
}

/* The leading eigenvectors of a symmetric matrix, [rows][rank]; what the others hold is lost. */
bool al_work_lead(struct al_work *w, struct al_matrix g, size_t rank, struct al_matrix *out,
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

bool al_symmetric_roots(struct al_matrix gram, struct al_matrix root, struct al_matrix inverse,
	struct al_error *err)
{
	const size_t n = gram.rows;
	struct al_matrix scaled = {0};
	double *values = al_calloc(n + 1, sizeof(*values));
	bool ok = al_matrix_init(&scaled, n, n, err) && al_eigenvectors(gram, values, err);

	for (int sign = 1; ok && sign >= -1; sign -= 2) {
		for (size_t j = 0; j < n; j++) {
			const bool is_there = values[j] > ROUNDING * values[0];
			const double scale = is_there ? pow(values[j], sign * .25) : 0;
			for (size_t i = 0; i < n; i++)
				scaled.data[i + j * scaled.ld] = scale * gram.data[i + j * gram.ld];
		}
		ok = al_gram(AL_PLAIN, al_view(scaled), sign > 0 ? root : inverse, err);
	}
	al_matrix_finish(&scaled);
	free(values);
	return ok;
}

/* Of one key/value head, (sum W_O W_O^T)^1/2 over its query heads and its pseudo-inverse. */
static bool output_roots(const struct al_work *w, size_t kv, struct al_matrix *root,
	struct al_matrix *inverse, struct al_error *err)
{
	const size_t n = w->width;
	struct al_matrix gram = {0};
	bool ok = al_matrix_init(&gram, n, n, err) && al_matrix_init(root, n, n, err)
		&& al_matrix_init(inverse, n, n, err);

	for (size_t i = 0; ok && i < w->group; i++) {
		const struct al_view own = al_columns(al_view(w->weights[AL_OUTPUT]),
			(kv * w->group + i) * n, n);
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, own, own, i > 0, gram, err);
	}
	ok = ok && al_symmetric_roots(gram, *root, *inverse, err);
	al_matrix_finish(&gram);
	return ok;
}

void al_output_roots_finish(struct al_output_roots *r)
{
	for (size_t i = 0; i < r->n; i++) {
		al_matrix_finish(&r->root[i]);
		al_matrix_finish(&r->inverse[i]);
	}
	free(r->root);
	free(r->inverse);
	*r = (struct al_output_roots){0};
}

bool al_output_roots_init(struct al_output_roots *r, const struct al_work *w, size_t first,
	size_t n, struct al_error *err)
{
	*r = (struct al_output_roots){al_calloc(n, sizeof(*r->root)),
		al_calloc(n, sizeof(*r->inverse)), n};
	for (size_t i = 0; i < n; i++)
		if (!output_roots(w, first + i, &r->root[i], &r->inverse[i], err)) {
			al_output_roots_finish(r);
			return false;
		}
	return true;
}

/* out = blockdiag(blocks) x */
bool al_multiply_blocks(const struct al_matrix *blocks, size_t n, size_t width, struct al_view x,
	struct al_matrix out, struct al_error *err)
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
bool al_work_lead_weighed(struct al_work *w, const struct al_output_roots *r, size_t first,
	size_t rank, struct al_matrix *vectors, struct al_error *err)
{
	const size_t n = r->n * w->width, at = first * w->width;
	struct al_matrix half = {0}, turned = {0}, all = {0};
	bool ok = al_matrix_init(&half, n, n, err) && al_matrix_init(&turned, n, n, err)
		&& al_matrix_init(&all, n, n, err)
		&& al_multiply_blocks(r->root, r->n, w->width,
			al_view(al_part(w->gram, at, at, n, n)), half, err);

	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < n; i++)
			turned.data[j + i * turned.ld] = half.data[i + j * half.ld];
	ok = ok && al_multiply_blocks(r->root, r->n, w->width, al_view(turned), all, err);
	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < j; i++)
			all.data[i + j * all.ld] = all.data[j + i * all.ld];
	ok = ok && al_work_lead(w, all, rank, vectors, err);
	al_matrix_finish(&half);
	al_matrix_finish(&turned);
	al_matrix_finish(&all);
	return ok;
}
