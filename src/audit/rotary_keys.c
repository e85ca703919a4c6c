/* Keys that heads share under rotary positions.
 *
 * With a pair's columns as complex vectors q and k, the part of the form at offset t is
 * Re(q k^H e^(i theta t)). Over offsets a pair that becomes q k'^H costs ||q||^2 ||k - k'||^2 / 2
 * in the mean, and pairs add up: that is what is minimized here. It holds for pairs that turn at
 * least once over the offsets that matter; slower ones keep cross terms. */
#include "audit/convert.h"
#include "audit/rotary.h"

/* Two dimensions that positions rotate together in the heads of one group; columns as complex
 * numbers. */
struct pair {
	const struct al_stack *stack;
	const size_t *heads;
	size_t size;
	struct al_rotary_pair at;
};

static size_t column(const struct pair *p, size_t k, size_t dimension)
{
	return p->heads[k] * p->stack->width + dimension;
}

/* ||Q_p||_F: over all offsets a pair's energy is half of ||Q_p||^2 ||K_p||^2. */
static double weight_of(const struct pair *p, size_t k)
{
	const struct al_matrix grams = p->stack->weight_grams;

	return sqrt(grams.data[p->at.first + column(p, k, p->at.first) * grams.ld]
		+ grams.data[p->at.second + column(p, k, p->at.second) * grams.ld]);
}

/* X^H X of the weighed complex columns as a real matrix [[Re, -Im], [Im, Re]]. */
static void fill_gram(const struct pair *p, struct al_matrix g)
{
	const struct al_stack *s = p->stack;
	const size_t n = p->size;

	for (size_t b = 0; b < n; b++)
		for (size_t a = 0; a < n; a++) {
			const double w = weight_of(p, a) * weight_of(p, b);
			const struct al_complex product = al_pair_product(s->own_gram,
				p->heads[a] * s->width, p->heads[b] * s->width, p->at);
			const double re = w * product.re, im = w * product.im;
			g.data[a + b * g.ld] = g.data[n + a + (n + b) * g.ld] = re;
			g.data[n + a + b * g.ld] = im;
			g.data[a + (n + b) * g.ld] = -im;
		}
}

/* c = X v, [rows][2]: real and imaginary part. */
static void combine(const struct pair *p, const double *v, struct al_matrix c)
{
	const struct al_view own = p->stack->own;

	for (size_t k = 0; k < p->size; k++) {
		const double *re = own.data + column(p, k, p->at.first) * own.ld;
		const double *im = own.data + column(p, k, p->at.second) * own.ld;
		double w = weight_of(p, k), vr = w * v[k], vi = w * v[p->size + k];
		for (size_t i = 0; i < c.rows; i++) {
			c.data[i] += re[i] * vr - im[i] * vi;
			c.data[i + c.ld] += re[i] * vi + im[i] * vr;
		}
	}
}

/* k_g = c conj(v_g) / w_g */
static void spread(const struct pair *p, const double *v, struct al_matrix c, struct al_matrix out)
{
	for (size_t k = 0; k < p->size; k++) {
		double w = weight_of(p, k), zr = w > 0 ? v[k] / w : 0,
		       zi = w > 0 ? -v[p->size + k] / w : 0;
		double *re = out.data + column(p, k, p->at.first) * out.ld;
		double *im = out.data + column(p, k, p->at.second) * out.ld;
		for (size_t i = 0; i < c.rows; i++) {
			re[i] = c.data[i] * zr - c.data[i + c.ld] * zi;
			im[i] = c.data[i] * zi + c.data[i + c.ld] * zr;
		}
	}
}

static bool share_pair(const struct pair *p, struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram, vector, c;
	double value;

	if (!al_take(&scratch, &gram, 2 * p->size, 2 * p->size, err)
		|| !al_take(&scratch, &vector, 2 * p->size, 1, err)
		|| !al_take(&scratch, &c, out.rows, 2, err))
		return false;
	fill_gram(p, gram);
	if (!al_eigenvectors_top(gram, &value, vector, err))
		return false;
	combine(p, vector.data, c);
	spread(p, vector.data, c, out);
	return true;
}

/* K_u R_u^T of the group's dimensions from `first` on, and the leading basis of what they span. */
static bool find_rest(struct al_scratch *scratch, const struct al_stack *s, const size_t *heads,
	size_t size, size_t first, struct al_matrix *weighed, struct al_matrix *basis,
	struct al_error *err)
{
	const size_t n = s->width - first;

	if (!al_take(scratch, weighed, s->own.rows, size * s->width, err))
		return false;
	for (size_t k = 0; k < size; k++) {
		const size_t at = heads[k] * s->width + first;
		if (!al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_columns(s->own, at, n),
			    al_columns(al_view(s->weights), at, n), 0,
			    al_part(*weighed, 0, k * s->width, weighed->rows, s->width), err))
			return false;
	}
	return al_leading_basis(scratch, al_view(*weighed), n, basis, NULL, err);
}

/* The dimensions that positions don't rotate: out_u = P P^T K_u. */
static bool share_rest(const struct al_stack *s, const size_t *heads, size_t size, size_t first,
	struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = s->width - first;
	struct al_matrix weighed, basis, inside;

	if (n == 0)
		return true;
	if (!find_rest(&scratch, s, heads, size, first, &weighed, &basis, err)
		|| !al_take(&scratch, &inside, basis.cols, n, err))
		return false;
	for (size_t k = 0; k < size; k++) {
		const size_t at = heads[k] * s->width + first;
		if (!al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(basis), al_columns(s->own, at, n),
			    0, inside, err)
			|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(basis), al_view(inside), 0,
				al_part(out, 0, at, out.rows, n), err))
			return false;
	}
	return true;
}

/* ---- errors over all offsets ---- */

static size_t rotated_width(const struct al_stack *s, const struct al_attention *a)
{
	return al_least((size_t)a->rotary_width, s->width) / 2 * 2;
}

static struct pair pair_of(const struct al_stack *s, const struct al_attention *a,
	const size_t *heads, size_t size, size_t index)
{
	return (struct pair){s, heads, size, al_rotary_pair(a, rotated_width(s, a), index)};
}

/* What the leading eigenvector of a pair leaves: half of the trace's rest; each eigenvalue occurs
 * twice in the real matrix. */
static bool pair_cost(const struct pair *p, double *squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram, values;

	if (!al_take(&scratch, &gram, 2 * p->size, 2 * p->size, err)
		|| !al_take(&scratch, &values, 2 * p->size, 1, err))
		return false;
	fill_gram(p, gram);
	if (!al_eigenvalues(gram, values.data, err))
		return false;
	for (size_t i = 2; i < values.rows; i++)
		*squared += fmax(values.data[i], 0) / 4;
	return true;
}

static bool rest_cost(const struct al_stack *s, const size_t *heads, size_t size, size_t first,
	double *squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix weighed, basis;
	double rest = 0;

	if (first < s->width
		&& (!find_rest(&scratch, s, heads, size, first, &weighed, &basis, err)
			|| !al_outside(al_view(basis), al_view(weighed), &rest, err)))
		return false;
	*squared += rest;
	return true;
}

bool al_rotary_share_group(const struct al_stack *s, const struct al_attention *a,
	const size_t *heads, size_t size, double *squared, struct al_error *err)
{
	const size_t width = rotated_width(s, a);

	*squared = 0;
	for (size_t p = 0; p < width / 2; p++) {
		const struct pair pair = pair_of(s, a, heads, size, p);
		if (!pair_cost(&pair, squared, err))
			return false;
	}
	return rest_cost(s, heads, size, width, squared, err);
}

/* ||k - k'||^2 of one dimension of a head; `other` without data is 0. */
static double column_distance(const struct al_stack *s, struct al_view other, size_t column)
{
	double sum = 0;

	for (size_t i = 0; i < s->own.rows; i++) {
		const double d = s->own.data[i + column * s->own.ld]
			- (other.data ? other.data[i + column * other.ld] : 0);
		sum += d * d;
	}
	return sum;
}

/* ||(K_u - K'_u) R_u^T||^2 of the dimensions that aren't rotated. */
static bool distance(const struct al_stack *s, const struct al_attention *a, struct al_view other,
	double *squared, struct al_error *err)
{
	const size_t width = rotated_width(s, a), n_rest = s->width - width;

	*squared = 0;
	for (size_t head = 0; head < s->n; head++) {
		const size_t at = head * s->width + width;
		double rest = 0;
		for (size_t p = 0; p < width / 2; p++) {
			const struct pair pair = pair_of(s, a, &head, 1, p);
			const double w = weight_of(&pair, 0);
			*squared += w * w / 2
				* (column_distance(s, other, column(&pair, 0, pair.at.first))
					+ column_distance(s, other,
						column(&pair, 0, pair.at.second)));
		}
		if (n_rest
			&& !al_stack_distance(s, al_columns(other, at, n_rest), at, n_rest, &rest,
				err))
			return false;
		*squared += rest;
	}
	return true;
}

bool al_rotary_norm(const struct al_stack *s, const struct al_attention *a, double *norm,
	struct al_error *err)
{
	const struct al_view zero = {0};

	if (!distance(s, a, zero, norm, err))
		return false;
	*norm = sqrt(*norm);
	return true;
}

bool al_rotary_error(const struct al_stack *s, const struct al_attention *a, struct al_view other,
	double *relative_error, struct al_error *err)
{
	double squared, norm;

	if (!distance(s, a, other, &squared, err) || !al_rotary_norm(s, a, &norm, err))
		return false;
	*relative_error = norm > 0 ? sqrt(squared) / norm : 0;
	return true;
}

/* ---- groups ---- */

static bool share_rotated(const struct al_stack *s, const struct al_attention *a,
	const size_t *heads, size_t size, struct al_matrix out, struct al_error *err)
{
	const size_t width = rotated_width(s, a);

	for (size_t p = 0; p < width / 2; p++) {
		const struct pair pair = pair_of(s, a, heads, size, p);
		if (!share_pair(&pair, out, err))
			return false;
	}
	return share_rest(s, heads, size, width, out, err);
}

bool al_convert_rotary(const struct al_stack *s, const struct al_attention *attention,
	const size_t *order, size_t size, double *error, double *mean_error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix shared;

	if (!al_take(&scratch, &shared, s->own.rows, s->own.cols, err))
		return false;
	for (size_t first = 0; first < s->n; first += size)
		if (!share_rotated(s, attention, order + first, size, shared, err))
			return false;
	return al_stack_error(s, al_view(shared), error, err)
		&& al_rotary_error(s, attention, al_view(shared), mean_error, err);
}
