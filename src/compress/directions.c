/* The directions that matter most: leading eigenvectors, with what W_O makes of them. */
#include "compress/work.h"

/* Eigenvalues below this share of the largest are rounding. */
static const double ROUNDING = 0x1p-40;

static double sum_of(const double *values, size_t first, size_t end)
{
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += fmax(values[i], 0);
	return sum;
}

static bool decompose(struct al_work *w, struct al_matrix g, struct al_error *err)
{
	al_matrix_finish(&w->directions);
	free(w->energies);
	w->energies = al_calloc(g.rows + 1, sizeof(*w->energies));
	if (!al_eigenvectors(g, w->energies, err))
		return false;
	return al_duplicate(al_view(g), &w->directions, err);
}

/* For kv-latent the matrix is the same at every rank: `g` is needed once. */
bool al_work_lead(struct al_work *w, struct al_matrix g, size_t rank, struct al_matrix *out,
	struct al_error *err)
{
	const bool is_known = w->directions.data && w->layout->method == AL_METHOD_LATENT;

	if (!is_known && !decompose(w, g, err))
		return false;
	const size_t n = w->directions.rows;
	if (!al_matrix_init(out, n, rank, err)
		|| !al_copy(al_columns(al_view(w->directions), 0, rank), *out, err))
		return false;
	double lost = sum_of(w->energies, rank, n);
	for (size_t i = rank; w->crossed && i < n; i++)
		lost += w->crossed[i];
	w->lost += fmax(0, lost);
	w->whole += sum_of(w->energies, 0, n);
	return true;
}

/* The fourth root, of which columns times themselves make the root; or its inverse. */
static double scale_of(double value, double largest, double least_share, int sign)
{
	if (least_share == 0)
		return value > ROUNDING * largest ? pow(value, sign * .25) : 0;
	value = fmax(value, least_share * largest);
	return value > 0 ? pow(value, sign * .25) : 1;
}

bool al_symmetric_roots(struct al_matrix gram, double least_share, struct al_matrix root,
	struct al_matrix inverse, struct al_error *err)
{
	const size_t n = gram.rows;
	AL_OWNED struct al_matrix scaled = {0};
	AL_FREED double *values = al_calloc(n + 1, sizeof(*values));
	bool ok = al_matrix_init(&scaled, n, n, err) && al_eigenvectors(gram, values, err);

	for (int sign = 1; ok && sign >= -1; sign -= 2) {
		for (size_t j = 0; j < n; j++) {
			const double scale = scale_of(values[j], values[0], least_share, sign);
			for (size_t i = 0; i < n; i++)
				scaled.data[i + j * scaled.ld] = scale * gram.data[i + j * gram.ld];
		}
		ok = al_gram(AL_PLAIN, al_view(scaled), sign > 0 ? root : inverse, err);
	}
	return ok;
}

/* For one key/value head: (sum W_O W_O^T)^1/2 over its query heads, and its pseudo-inverse. */
static bool output_roots(const struct al_work *w, size_t kv, struct al_matrix gram,
	struct al_matrix root, struct al_matrix inverse, struct al_error *err)
{
	const size_t n = w->width;

	for (size_t i = 0; i < w->group; i++) {
		const struct al_view own = al_columns(al_view(w->weights[AL_OUTPUT]),
			(kv * w->group + i) * n, n);
		if (!al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, own, own, i > 0, gram, err))
			return false;
	}
	return al_symmetric_roots(gram, 0, root, inverse, err);
}

bool al_roots_take(struct al_scratch *scratch, struct al_output_roots *r, size_t n, size_t width,
	struct al_error *err)
{
	*r = (struct al_output_roots){al_take_array(scratch, n, sizeof(*r->root), err),
		al_take_array(scratch, n, sizeof(*r->inverse), err), n};
	if (!r->root || !r->inverse)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!al_take(scratch, &r->root[i], width, width, err)
			|| !al_take(scratch, &r->inverse[i], width, width, err))
			return false;
	return true;
}

bool al_output_roots_take(struct al_scratch *scratch, struct al_output_roots *r,
	const struct al_work *w, size_t first, size_t n, struct al_error *err)
{
	AL_OWNED struct al_matrix gram = {0};

	if (!al_matrix_init(&gram, w->width, w->width, err)
		|| !al_roots_take(scratch, r, n, w->width, err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!output_roots(w, first + i, gram, r->root[i], r->inverse[i], err))
			return false;
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

bool al_work_weigh(const struct al_work *w, const struct al_output_roots *r, size_t first,
	struct al_matrix *out, struct al_error *err)
{
	const size_t n = r->n * w->width, at = first * w->width;
	AL_OWNED struct al_matrix half = {0}, turned = {0};
	bool ok = al_matrix_init(&half, n, n, err) && al_matrix_init(&turned, n, n, err)
		&& al_matrix_init(out, n, n, err)
		&& al_multiply_blocks(r->root, r->n, w->width,
			al_view(al_part(w->gram, at, at, n, n)), half, err);

	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < n; i++)
			turned.data[j + i * turned.ld] = half.data[i + j * half.ld];
	ok = ok && al_multiply_blocks(r->root, r->n, w->width, al_view(turned), *out, err);
	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < j; i++)
			out->data[i + j * out->ld] = out->data[j + i * out->ld];
	return ok;
}

bool al_work_lead_weighed(struct al_work *w, const struct al_output_roots *r, size_t first,
	size_t rank, struct al_matrix *vectors, struct al_error *err)
{
	AL_OWNED struct al_matrix all = {0};

	return al_work_weigh(w, r, first, &all, err) && al_work_lead(w, all, rank, vectors, err);
}
