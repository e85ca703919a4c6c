/* Free additive convolutions by Newton's method on the subordination functions. */
#include "linalg/free_sum.h"

#include <complex.h>

#include "linalg/internal.h"

/* Steps in the logarithm of the height above t: where all is analytic in a half-plane the
 * trapezoidal rule is good to exp(-pi^2 / STEP). */
static const double STEP = .8;

/* The line begins so many times the spectrum's size above it, and ends at this part of t. */
static const double HIGHEST = 100, LOWEST = 1e-3;

/* Between t's the rest is interpolated: where less than this part of all squares can be missed. */
static const double TOLERANCE = 8e-3;

enum { MOST_LEVELS = 64, MOST_DEPTH = 40, MOST_STEPS = 30, MOST_HALVINGS = 9 };

/* ---- the equations ---- */

struct state {
	double complex z, g;
	double complex *w; /* [n_terms] */
};

struct solver {
	enum al_free_kind kind;
	size_t n_terms, n_values;
	double height;
	double *squares; /* [n_values][n_terms], scaled: the largest is 1 */
	double mean; /* of all squares over the height */
	double most; /* none of the whole's is above */
	double complex *g, *slope; /* of each term, [n_terms]; all of theirs in one block */
	double complex *step, *room; /* the same */
	struct state levels[MOST_LEVELS]; /* the last solution at each height above t */
	size_t n_levels;
};

/* C11's CMPLX, which not every pair of compiler and library has. */
static double complex number(double re, double im)
{
	const double parts[2] = {re, im};
	double complex z;

	memcpy(&z, parts, sizeof(z));
	return z;
}

static double complex inverse(double complex x)
{
	const double norm = creal(x) * creal(x) + cimag(x) * cimag(x);

	return number(creal(x) / norm, -cimag(x) / norm);
}

/* Sums of 1/(x - s) and 1/(x - s)^2. */
AL_WIDE static void sum_poles(const double *squares, size_t n, double re, double im, double sums[4])
{
	double a = 0, b = 0, c = 0, d = 0;

	AL_SIMD(reduction(+ : a, b, c, d))
	for (size_t k = 0; k < n; k++) {
		const double x = re - squares[k], r = 1 / (x * x + im * im);
		const double p = x * r, q = -im * r;
		a += p;
		b += q;
		c += p * p - q * q;
		d += 2 * p * q;
	}
	sums[0] = a;
	sums[1] = b;
	sums[2] = c;
	sums[3] = d;
}

/* G_i and its derivative at w: of squares, or of plus and minus the singular values. */
static void transform(const struct solver *x, size_t i, double complex w)
{
	const bool is_sum = x->kind == AL_FREE_SUM;
	const double complex at = is_sum ? w * w : w, one = inverse(w);
	const double zeros = x->height - (double)x->n_values;
	double sums[4];

	sum_poles(x->squares + i * x->n_values, x->n_values, creal(at), cimag(at), sums);
	const double complex first = number(sums[0], sums[1]), second = number(sums[2], sums[3]);
	x->g[i] = ((is_sum ? w * first : first) + zeros * one) / x->height;
	x->slope[i] = ((is_sum ? first - 2 * at * second : -second) - zeros * one * one)
		/ x->height;
}

/* The Newton step in all w_i and g at once; w's into x->step. */
static double complex find_step(const struct solver *x, const struct state *s)
{
	const double others = (double)x->n_terms - 1;
	double complex rest = -s->z, slope = 0;
	const double complex one = inverse(s->g);

	for (size_t i = 0; i < x->n_terms; i++) {
		transform(x, i, s->w[i]);
		x->slope[i] = inverse(x->slope[i]);
		x->step[i] = (s->g - x->g[i]) * x->slope[i];
		rest += s->w[i] + x->step[i];
		slope += x->slope[i];
	}
	const double complex change = -(rest - others * one) * inverse(slope + others * one * one);
	for (size_t i = 0; i < x->n_terms; i++)
		x->step[i] += x->slope[i] * change;
	return change;
}

/* Subordination functions stay in the upper half-plane and g in the lower. */
static bool stays(const struct solver *x, const struct state *s, double complex change, double part)
{
	if (!(cimag(s->g + part * change) < 0))
		return false;
	for (size_t i = 0; i < x->n_terms; i++)
		if (!(cimag(s->w[i] + part * x->step[i]) > 0))
			return false;
	return true;
}

static bool solve(const struct solver *x, struct state *s)
{
	for (int k = 0; k < MOST_STEPS; k++) {
		const double complex change = find_step(x, s);
		double part = 1;
		while (part > 1e-6 && !stays(x, s, change, part))
			part /= 2;
		if (!(part > 1e-6))
			return false;
		s->g += part * change;
		for (size_t i = 0; i < x->n_terms; i++)
			s->w[i] += part * x->step[i];
		if (part == 1 && cabs(change) < 1e-6 * cabs(s->g))
			return true;
	}
	return false;
}

/* ---- from one z to another ---- */

static void copy_state(const struct solver *x, const struct state *from, struct state *to)
{
	to->z = from->z;
	to->g = from->g;
	memcpy(to->w, from->w, x->n_terms * sizeof(*to->w));
}

/* w_i - z changes slowly. */
static void shift(const struct solver *x, const struct state *from, double complex z,
	double complex g, struct state *to)
{
	for (size_t i = 0; i < x->n_terms; i++) {
		const double complex w = from->w[i] + (z - from->z);
		to->w[i] = cimag(w) > 0 ? w : number(creal(w), cimag(z));
	}
	to->g = g;
	to->z = z;
}

/* Down to z, in smaller steps where one is too large. */
static bool descend(const struct solver *x, const struct state *from, double complex z,
	struct state *to, int halvings)
{
	struct state middle = {.w = al_calloc(x->n_terms, sizeof(*middle.w))};

	shift(x, from, z, from->g * from->z * inverse(z), to);
	bool ok = solve(x, to);
	if (!ok && halvings < MOST_HALVINGS)
		ok = descend(x, from, csqrt(from->z * z), &middle, halvings + 1)
			&& descend(x, &middle, z, to, halvings + 1);
	free(middle.w);
	return ok;
}

/* From the same height above another t, or else from the height before. */
static bool solve_level(struct solver *x, size_t level, double complex z, struct state *s)
{
	struct state *last = &x->levels[level];
	bool ok = false;

	if (level < x->n_levels) {
		shift(x, last, z, last->g, s);
		ok = solve(x, s);
	}
	if (!ok && level > 0)
		ok = descend(x, &x->levels[level - 1], z, s, 0);
	if (!ok && level == 0) {
		for (size_t i = 0; i < x->n_terms; i++)
			s->w[i] = z;
		s->g = inverse(z);
		s->z = z;
		ok = solve(x, s);
	}
	x->n_levels += level == x->n_levels;
	if (ok)
		copy_state(x, s, last);
	return ok;
}

/* ---- what is above t ---- */

/* How many squares are above t, and what they add up to, in parts of the height. */
struct node {
	double t, count, sum;
};

/* G of the squares. */
static bool evaluate(struct solver *x, size_t level, double t, double above, struct state *s,
	double complex *g)
{
	const double complex at = number(t, above);
	const double complex z = x->kind == AL_FREE_SUM ? csqrt(at) : at;

	if (!solve_level(x, level, z, s))
		return false;
	*g = x->kind == AL_FREE_SUM ? s->g * inverse(z) : s->g;
	return true;
}

/* Above the largest value there is none; rounding grows with t. */
static const double ONE_AT_LEAST = .3;

/* With s the height above t the integral of Re G ds is pi/2 (below - above), and that of 1 + s Im G
 * pi/2 times the mean of |square - t|. At both ends the integrands fall like s in u = log s. */
static bool look_above(struct solver *x, double t, struct node *out)
{
	const double highest = HIGHEST * x->most, ends = 1 / (exp(STEP) - 1);
	const size_t n = (size_t)ceil(log(highest / (LOWEST * t)) / STEP);
	struct state s = {.w = x->room};
	double count = 0, distance = 0;

	if (n < 2 || n > MOST_LEVELS)
		return false;
	for (size_t k = 0; k < n; k++) {
		const double above = highest * exp(-STEP * (double)k);
		const double weight = (k == 0 || k + 1 == n ? 1 + ends : 1) * STEP * above;
		double complex g;
		if (!evaluate(x, k, t, above, &s, &g))
			return false;
		count += weight * creal(g);
		distance += weight * (1 + above * cimag(g));
	}
	const double pi = acos(-1);
	*out = (struct node){.t = t, .count = .5 - count / pi};
	out->sum = distance / pi + (x->mean - t) / 2 + t * out->count;
	if (!isfinite(out->count) || !isfinite(out->sum))
		return false;
	if (out->count * x->height < ONE_AT_LEAST)
		out->count = out->sum = 0;
	return true;
}

/* ---- enough of them ---- */

struct nodes {
	struct node *items;
	size_t n, room;
};

static void add(struct nodes *nodes, struct node node)
{
	if (nodes->n == nodes->room) {
		nodes->room = 2 * nodes->room + 64;
		nodes->items = al_realloc(nodes->items, nodes->room, sizeof(*nodes->items));
	}
	nodes->items[nodes->n++] = node;
}

/* Between two t's lies at most (number) x (difference of t's) that isn't known. */
static bool refine(struct solver *x, struct nodes *nodes, struct node high, struct node low,
	int depth)
{
	const double unknown = (low.count - high.count) * (high.t - low.t);
	struct node middle;

	if (unknown <= TOLERANCE * x->mean || depth == MOST_DEPTH)
		return true;
	double t = (high.t + low.t) / 2;
	if (low.t <= high.t / 20)
		t = fmax(high.t / 5, 1e-4 * x->mean);
	if (!(t > low.t) || !(t < high.t))
		return true;
	if (!look_above(x, t, &middle) || !refine(x, nodes, high, middle, depth + 1))
		return false;
	add(nodes, middle);
	return refine(x, nodes, middle, low, depth + 1);
}

/* ---- interpolation ---- */

/* The sum of the first `count`: a cubic with the slopes t at both ends. */
static double between(struct node a, struct node b, double count)
{
	const double h = b.count - a.count, u = (count - a.count) / h, v = 1 - u;
	const double sum = (1 + 2 * u) * v * v * a.sum + u * v * v * h * a.t
		+ u * u * (1 + 2 * v) * b.sum - u * u * v * h * b.t;

	return fmin(fmax(sum, a.sum), b.sum);
}

/* Neither falls; rounding is taken off. */
static void make_rise(struct nodes *nodes)
{
	for (size_t i = 1; i < nodes->n; i++) {
		struct node *a = &nodes->items[i - 1], *b = &nodes->items[i];
		b->count = fmax(a->count, b->count);
		b->sum = fmax(a->sum, b->sum);
	}
}

/* Fewer than this count as none. */
static const double NONE = 1e-9;

static void read_values(const struct solver *x, const struct nodes *nodes, double scale,
	double *out, size_t n)
{
	double before = 0;
	size_t at = 0;

	for (size_t k = 0; k < n; k++) {
		const double count = (double)(k + 1) / x->height;
		while (at + 2 < nodes->n && nodes->items[at + 1].count < count)
			at++;
		const struct node a = nodes->items[at], b = nodes->items[at + 1];
		const double sum = b.count - a.count > NONE ? between(a, b, fmin(count, b.count))
							    : b.sum;
		out[k] = scale * sqrt(fmax(sum - before, 0) * x->height);
		before = fmax(sum, before);
	}
	al_sort_falling(out, n);
}

/* ---- all of it ---- */

/* ||X_1 + .. + X_H|| <= max ||X_i|| + 2 sqrt(sum of the means of X_i^2) for free X_i of mean 0
 * (Voiculescu 1986, doi 10.1016/0022-1236(86)90062-5); squares less their mean are such, and so are
 * plus and minus the singular values. The largest square is 1. */
static double most_square(const struct solver *x)
{
	double fourths = 0;

	for (size_t k = 0; k < x->n_terms * x->n_values; k++)
		fourths += x->squares[k] * x->squares[k] / x->height;
	return x->kind == AL_FREE_SUM ? pow(1 + 2 * sqrt(x->mean), 2)
				      : 1 + x->mean + 2 * sqrt(fourths);
}

/* Returns the largest singular value; of none other than 0 the solver has no squares. */
static double solver_init(struct solver *x, enum al_free_kind kind, struct al_view terms,
	size_t height)
{
	const size_t n = terms.cols;
	double complex *room = al_calloc((4 + MOST_LEVELS) * n, sizeof(*room));
	double largest = 0;

	*x = (struct solver){.kind = kind,
		.n_terms = n,
		.n_values = terms.rows,
		.height = (double)height,
		.squares = al_calloc(terms.rows * n, sizeof(*x->squares)),
		.g = room,
		.slope = room + n,
		.step = room + 2 * n,
		.room = room + 3 * n};
	for (size_t level = 0; level < MOST_LEVELS; level++)
		x->levels[level].w = room + (4 + level) * n;
	for (size_t j = 0; j < terms.cols; j++)
		for (size_t i = 0; i < terms.rows; i++)
			largest = fmax(largest, terms.data[i + j * terms.ld]);
	for (size_t j = 0; largest > 0 && j < terms.cols; j++)
		for (size_t i = 0; i < terms.rows; i++) {
			const double value = terms.data[i + j * terms.ld] / largest;
			x->squares[i + j * terms.rows] = value * value;
			x->mean += value * value / x->height;
		}
	x->most = most_square(x);
	return largest;
}

static bool find(struct solver *x, double scale, double *out, size_t n)
{
	const struct node high = {.t = x->most};
	const struct node low = {.count = (double)n / x->height, .sum = x->mean};
	struct nodes nodes = {0};

	add(&nodes, high);
	const bool ok = refine(x, &nodes, high, low, 0);
	add(&nodes, low);
	if (ok) {
		make_rise(&nodes);
		read_values(x, &nodes, scale, out, n);
	}
	free(nodes.items);
	return ok;
}

bool al_free_sum(enum al_free_kind kind, struct al_view terms, size_t height, double *out, size_t n,
	bool *is_found, struct al_error *err)
{
	struct solver x;

	*is_found = true;
	if (!al_check("spectra", terms, err) || !al_check_finite("spectra", terms, err))
		return false;
	if (terms.rows > height || n > height)
		return al_fail(err, AL_EINPUT, "%zu of %zu singular values of a height of %zu", n,
			terms.rows, height);
	const double largest = solver_init(&x, kind, terms, height);
	if (largest > 0)
		*is_found = find(&x, largest, out, n);
	else
		memset(out, 0, n * sizeof(*out));
	free(x.squares);
	free(x.g);
	return true;
}
