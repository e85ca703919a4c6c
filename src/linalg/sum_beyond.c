/* What the largest eigenvalues of a small matrix leave, in single precision.
 *
 * For matrices of a few heads LAPACK spends most of its time between its calls. Here the matrix is
 * made tridiagonal in one pass a column, which subtracts the last reflection and multiplies by the
 * next (Golub & Van Loan 2013, algorithm 8.3.1), and only the eigenvalues that are asked for are
 * found, by Sturm sequences and bisection, as many side by side as fit into registers. */
#include <float.h>
#include <math.h>

#include "linalg/internal.h"

#define INLINE static inline __attribute__((always_inline))

/* Columns, eigenvalues, and halvings: to single precision's end. */
enum { AT_ONCE = 4, LANES = 32, STEPS = 26 };

/* A - v w^T - w v^T is what A stands for; next is the reflection to come, and products are A's with
 * it. */
struct pending {
	float *v, *w, *next, *products;
};

/* Brings a column up to date. */
INLINE void renew_column(float *restrict a, const struct pending *p, size_t j, size_t first,
	size_t n)
{
	const float *restrict v = p->v, *restrict w = p->w;
	const float vj = v[j], wj = w[j];

	AL_SIMD()
	for (size_t i = first; i < n; i++)
		a[i] -= v[i] * wj + w[i] * vj;
}

/* The same for rows [first, n) of AT_ONCE columns, and what they are times next. */
INLINE void renew_columns(float *restrict a, size_t ld, const struct pending *p, size_t j,
	size_t first, size_t n)
{
	const float *restrict v = p->v, *restrict w = p->w, *restrict next = p->next;
	float s0 = 0, s1 = 0, s2 = 0, s3 = 0;

	AL_SIMD(reduction(+ : s0, s1, s2, s3))
	for (size_t i = first; i < n; i++) {
		const float x0 = a[i] - (v[i] * w[j] + w[i] * v[j]);
		const float x1 = a[i + ld] - (v[i] * w[j + 1] + w[i] * v[j + 1]);
		const float x2 = a[i + 2 * ld] - (v[i] * w[j + 2] + w[i] * v[j + 2]);
		const float x3 = a[i + 3 * ld] - (v[i] * w[j + 3] + w[i] * v[j + 3]);
		a[i] = x0;
		a[i + ld] = x1;
		a[i + 2 * ld] = x2;
		a[i + 3 * ld] = x3;
		s0 += x0 * next[i];
		s1 += x1 * next[i];
		s2 += x2 * next[i];
		s3 += x3 * next[i];
	}
	p->products[j] = s0;
	p->products[j + 1] = s1;
	p->products[j + 2] = s2;
	p->products[j + 3] = s3;
}

INLINE float dot(const float *restrict x, const float *restrict y, size_t first, size_t n)
{
	float sum = 0;

	AL_SIMD(reduction(+ : sum))
	for (size_t i = first; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* The reflection I - tau v v^T that leaves of x[first..n) its first element alone, which is
 * returned; v's first element is 1. */
INLINE float reflect(const float *x, size_t first, size_t n, float *v, float *tau)
{
	const float rest = dot(x, x, first + 1, n), head = x[first];

	*tau = 0;
	v[first] = 1;
	for (size_t i = first + 1; i < n; i++)
		v[i] = 0;
	if (!(rest > 0))
		return head;
	const float length = sqrtf(head * head + rest), to = head > 0 ? -length : length;
	*tau = (to - head) / to;
	for (size_t i = first + 1; i < n; i++)
		v[i] = x[i] / (head - to);
	return to;
}

/* From row and column `first` on. */
INLINE void multiply(float *a, size_t ld, const struct pending *p, size_t first, size_t n)
{
	size_t j = first;

	for (; j + AT_ONCE <= n; j += AT_ONCE)
		renew_columns(a + j * ld, ld, p, j, first, n);
	for (; j < n; j++) {
		renew_column(a + j * ld, p, j, first, n);
		p->products[j] = dot(a + j * ld, p->next, first, n);
	}
}

/* H A H = A - v w^T - w v^T with w = tau (A v - tau/2 (v^T A v) v). */
INLINE void take_up(struct pending *p, float tau, size_t first, size_t n)
{
	const float half = tau / 2 * dot(p->products, p->next, first, n);
	float *old_v = p->v, *old_w = p->w;

	for (size_t i = first; i < n; i++)
		p->products[i] = tau * (p->products[i] - half * p->next[i]);
	p->v = p->next;
	p->w = p->products;
	p->next = old_v;
	p->products = old_w;
}

/* diagonal[n] and squares[n - 1] of the elements beside it; room[4 n] begins with zeros. */
AL_WIDE static void reduce(float *a, size_t ld, size_t n, float *diagonal, float *squares,
	float *room)
{
	struct pending p = {room, room + n, room + 2 * n, room + 3 * n};

	for (size_t k = 0; k < n; k++) {
		float *column = a + k * ld, tau;
		renew_column(column, &p, k, k, n);
		diagonal[k] = column[k];
		if (k + 1 == n)
			return;
		const float beside = reflect(column, k + 1, n, p.next, &tau);
		squares[k] = beside * beside;
		multiply(a, ld, &p, k + 1, n);
		take_up(&p, tau, k + 1, n);
	}
}

/* ---- bisection ---- */

/* How many eigenvalues are below each of the points: as many as the pivots of T - x I that are
 * negative. A pivot of 0 counts as a tiny negative one. */
INLINE void count_below(const float *diagonal, const float *squares, size_t n, float tiny,
	const float *restrict points, int *restrict counts)
{
	float pivots[LANES];

	for (size_t l = 0; l < LANES; l++) {
		counts[l] = 0;
		pivots[l] = 1;
	}
	for (size_t i = 0; i < n; i++) {
		const float d = diagonal[i], e = i ? squares[i - 1] : 0;
		AL_SIMD()
		for (size_t l = 0; l < LANES; l++) {
			float pivot = d - points[l] - e / pivots[l];
			pivot = fabsf(pivot) < tiny ? -tiny : pivot;
			counts[l] += pivot < 0;
			pivots[l] = pivot;
		}
	}
}

/* The sum of the eigenvalues number first to first + LANES - 1 from above, at most `wanted`;
 * none is below 0 or above `most`. */
AL_WIDE static double sum_some(const float *diagonal, const float *squares, size_t n, size_t first,
	size_t wanted, float most)
{
	float low[LANES], high[LANES], points[LANES];
	int counts[LANES];
	double sum = 0;

	for (size_t l = 0; l < LANES; l++) {
		low[l] = 0;
		high[l] = most;
	}
	for (int step = 0; step < STEPS; step++) {
		for (size_t l = 0; l < LANES; l++)
			points[l] = (low[l] + high[l]) / 2;
		count_below(diagonal, squares, n, most * FLT_EPSILON * FLT_EPSILON, points, counts);
		for (size_t l = 0; l < LANES; l++) {
			const bool is_above = counts[l] + (int)(first + l) < (int)n;
			low[l] = is_above ? points[l] : low[l];
			high[l] = is_above ? high[l] : points[l];
		}
	}
	for (size_t l = 0; l < LANES && first + l < wanted; l++)
		sum += (double)(low[l] + high[l]) / 2;
	return sum;
}

/* Gershgorin's bound. */
static float bound(const float *diagonal, const float *squares, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n; i++) {
		const float left = i ? sqrtf(squares[i - 1]) : 0;
		const float right = i + 1 < n ? sqrtf(squares[i]) : 0;
		most = fmaxf(most, diagonal[i] + left + right);
	}
	return most * (1 + 4 * FLT_EPSILON);
}

bool al_sum_beyond_f(struct al_matrix_f g, size_t n_largest, double *sum, struct al_error *err)
{
	const size_t n = g.cols;
	struct al_matrix_f room = {0};

	*sum = 0;
	if (!al_check_f("G", al_view_f(g), err) || !al_check_shape("G", g.rows, g.cols, n, n, err)
		|| !al_check_finite_f("eigenvalues", al_view_f(g), err))
		return false;
	if (n_largest >= n)
		return true;
	if (!al_matrix_init_f(&room, n, 6, err))
		return false;
	float *diagonal = room.data, *squares = room.data + n;
	reduce(g.data, g.ld, n, diagonal, squares, room.data + 2 * n);
	const float most = bound(diagonal, squares, n);
	for (size_t i = 0; i < n; i++)
		*sum += (double)diagonal[i];
	for (size_t first = 0; first < n_largest && most > 0; first += LANES)
		*sum -= sum_some(diagonal, squares, n, first, n_largest, most);
	*sum = fmax(*sum, 0);
	al_matrix_finish_f(&room);
	return true;
}
