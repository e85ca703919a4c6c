/* Linear algebra: against sums by hand, against what defines each factor, and the same bits for any
 * number of threads. */
#include "unit.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

#include "base/random.h"
#include "linalg/assignment.h"
#include "linalg/internal.h"
#include "linalg/linalg.h"

static struct al_matrix new_matrix(size_t rows, size_t cols)
{
	struct al_matrix m;

	assert_true(al_matrix_init(&m, rows, cols, NULL));
	return m;
}

static struct al_matrix_f new_matrix_f(size_t rows, size_t cols)
{
	struct al_matrix_f m;

	assert_true(al_matrix_init_f(&m, rows, cols, NULL));
	return m;
}

/* A Gaussian matrix that is a part of a larger one, so that ld > rows. */
static struct al_matrix gaussian(size_t rows, size_t cols, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);
	struct al_matrix m = new_matrix(rows + 3, cols);

	al_random_gaussian(random, m.data, m.rows * m.cols);
	al_random_destroy(random);
	m.rows = rows;
	return m;
}

static double at(struct al_view m, enum al_op op, size_t i, size_t j)
{
	return op == AL_TRANSPOSED ? m.data[j + i * m.ld] : m.data[i + j * m.ld];
}

/* op(A) op(B) by hand. */
static struct al_matrix multiply(enum al_op op_a, enum al_op op_b, struct al_matrix a,
	struct al_matrix b)
{
	const size_t rows = op_a == AL_PLAIN ? a.rows : a.cols,
		     inner = op_a == AL_PLAIN ? a.cols : a.rows;
	struct al_matrix c = new_matrix(rows, op_b == AL_PLAIN ? b.cols : b.rows);

	for (size_t j = 0; j < c.cols; j++)
		for (size_t k = 0; k < inner; k++)
			for (size_t i = 0; i < rows; i++)
				c.data[i + j * c.ld] += at(al_view(a), op_a, i, k)
					* at(al_view(b), op_b, k, j);
	return c;
}

static double distance(struct al_view a, struct al_view b)
{
	double largest = 0;

	assert_int_equal(a.rows, b.rows);
	assert_int_equal(a.cols, b.cols);
	for (size_t j = 0; j < a.cols; j++)
		for (size_t i = 0; i < a.rows; i++)
			largest = fmax(largest,
				fabs(at(a, AL_PLAIN, i, j) - at(b, AL_PLAIN, i, j)));
	return largest;
}

static void assert_close(struct al_view a, struct al_view b, double tolerance)
{
	const double d = distance(a, b);

	if (!(d <= tolerance))
		fail_msg("%zu x %zu: differs by %g, allowed %g", a.rows, a.cols, d, tolerance);
}

static void assert_orthonormal(struct al_matrix u, double tolerance)
{
	struct al_matrix g = multiply(AL_TRANSPOSED, AL_PLAIN, u, u);

	for (size_t i = 0; i < g.cols; i++)
		g.data[i + i * g.ld] -= 1;
	for (size_t i = 0; i < g.rows * g.cols; i++)
		assert_true(fabs(g.data[i]) <= tolerance);
	al_matrix_finish(&g);
}

/* ---- products ---- */

static const size_t shapes[][3] = {
	{1, 1, 1},
	{3, 5, 7},
	{127, 4, 9},
	{129, 33, 130},
	{64, 768, 300},
	{300, 2, 64},
	{5, 0, 4},
	{0, 3, 4},
	{1100, 3, 2},
	{2, 3, 1100},
};

static void check_products(const size_t n[3], enum al_op op_a, enum al_op op_b)
{
	struct al_matrix a = op_a == AL_PLAIN ? gaussian(n[0], n[1], 1) : gaussian(n[1], n[0], 1);
	struct al_matrix b = op_b == AL_PLAIN ? gaussian(n[1], n[2], 2) : gaussian(n[2], n[1], 2);
	struct al_matrix c = gaussian(n[0], n[2], 3), expected = multiply(op_a, op_b, a, b);

	for (size_t j = 0; j < n[2]; j++)
		for (size_t i = 0; i < n[0]; i++)
			expected.data[i + j * expected.ld] = 2 * expected.data[i + j * expected.ld]
				- c.data[i + j * c.ld];
	assert_true(al_gemm(op_a, op_b, 2, al_view(a), al_view(b), -1, c, NULL));
	assert_close(al_view(c), al_view(expected), 1e-11);
	al_matrix_finish(&expected);
	al_matrix_finish(&c);
	al_matrix_finish(&b);
	al_matrix_finish(&a);
}

static void multiplies_any_shape(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		check_products(shapes[i], AL_PLAIN, AL_PLAIN);
		check_products(shapes[i], AL_TRANSPOSED, AL_PLAIN);
		check_products(shapes[i], AL_PLAIN, AL_TRANSPOSED);
		check_products(shapes[i], AL_TRANSPOSED, AL_TRANSPOSED);
	}
}

static void check_gram(size_t rows, size_t cols, enum al_op op)
{
	const size_t n = op == AL_TRANSPOSED ? cols : rows;
	struct al_matrix a = gaussian(rows, cols, 4), g = gaussian(n, n, 5);
	struct al_matrix expected = multiply(op, op == AL_TRANSPOSED ? AL_PLAIN : AL_TRANSPOSED, a,
		a);
	struct al_matrix_f narrow = new_matrix_f(rows, cols), g_f = new_matrix_f(n, n);

	assert_true(al_gram(op, al_view(a), g, NULL));
	assert_close(al_view(g), al_view(expected), 1e-11);
	assert_true(al_narrow(al_view(a), narrow, NULL));
	assert_true(al_gram_f(op, al_view_f(narrow), g_f, NULL));
	for (size_t i = 0; i < n * n; i++)
		assert_true(fabs((double)g_f.data[i] - expected.data[i]) < 1e-3);
	al_matrix_finish_f(&g_f);
	al_matrix_finish_f(&narrow);
	al_matrix_finish(&expected);
	al_matrix_finish(&g);
	al_matrix_finish(&a);
}

static void forms_grams(void **state)
{
	(void)state;
	check_gram(50, 7, AL_TRANSPOSED);
	check_gram(50, 7, AL_PLAIN);
	check_gram(20, 300, AL_TRANSPOSED);
	check_gram(129, 20, AL_PLAIN);
	check_gram(1, 1, AL_PLAIN);
	check_gram(0, 4, AL_TRANSPOSED);
	check_gram(4, 0, AL_TRANSPOSED);
}

static void multiplies_floats(void **state)
{
	struct al_matrix a = gaussian(140, 30, 6), b = gaussian(150, 30, 7);
	struct al_matrix expected = multiply(AL_PLAIN, AL_TRANSPOSED, a, b);
	struct al_matrix_f af = new_matrix_f(140, 30), bf = new_matrix_f(150, 30),
			   c = new_matrix_f(140, 150);

	(void)state;
	assert_true(al_narrow(al_view(a), af, NULL) && al_narrow(al_view(b), bf, NULL));
	assert_true(
		al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, al_view_f(af), al_view_f(bf), 0, c, NULL));
	for (size_t i = 0; i < 140 * 150; i++)
		assert_true(fabs((double)c.data[i] - expected.data[i]) < 1e-4);
	al_matrix_finish_f(&c);
	al_matrix_finish_f(&bf);
	al_matrix_finish_f(&af);
	al_matrix_finish(&expected);
	al_matrix_finish(&b);
	al_matrix_finish(&a);
}

/* ---- factors ---- */

/* Column j scaled by base^-j: any condition. */
static struct al_matrix graded(size_t rows, size_t cols, double base)
{
	struct al_matrix a = gaussian(rows, cols, 8);

	for (size_t j = 0; j < cols; j++)
		for (size_t i = 0; i < rows; i++)
			a.data[i + j * a.ld] *= pow(base, -(double)j);
	return a;
}

static void check_triangle(struct al_matrix a, enum al_route expected)
{
	const size_t n = a.rows < a.cols ? a.rows : a.cols;
	struct al_matrix r = new_matrix(n, a.cols), gram = multiply(AL_TRANSPOSED, AL_PLAIN, a, a);
	enum al_route route;

	assert_true(al_triangle(al_view(a), r, &route, NULL));
	assert_int_equal(route, expected);
	for (size_t j = 0; j < n; j++) {
		assert_true(r.data[j + j * r.ld] >= 0);
		for (size_t i = j + 1; i < n; i++)
			assert_true(r.data[i + j * r.ld] == 0);
	}
	struct al_matrix again = multiply(AL_TRANSPOSED, AL_PLAIN, r, r);
	assert_close(al_view(again), al_view(gram), 1e-13 * (double)a.rows * fmax(1, gram.data[0]));
	al_matrix_finish(&again);
	al_matrix_finish(&gram);
	al_matrix_finish(&r);
	al_matrix_finish(&a);
}

static void finds_triangles_by_the_route_that_holds(void **state)
{
	struct al_matrix twice = gaussian(30, 4, 9);

	(void)state;
	memcpy(twice.data + 3 * twice.ld, twice.data, 30 * sizeof(double));
	check_triangle(gaussian(90, 20, 9), AL_ROUTE_CHOLESKY);
	check_triangle(graded(90, 6, 10), AL_ROUTE_QR);
	check_triangle(twice, AL_ROUTE_QR);
	check_triangle(gaussian(5, 8, 9), AL_ROUTE_QR);
	check_triangle(new_matrix(8, 3), AL_ROUTE_QR);
}

/* More rows and columns than are solved in one call. */
static void solves_in_parts(void **state)
{
	struct al_matrix r = new_matrix(20, 20), wide = gaussian(20, 1100, 4),
			 tall = gaussian(1100, 20, 5);
	struct al_matrix x = new_matrix(20, 1100), y = new_matrix(1100, 20),
			 a = gaussian(60, 20, 6);

	(void)state;
	assert_true(al_qr(a, r, NULL));
	assert_true(al_copy(al_view(wide), x, NULL) && al_copy(al_view(tall), y, NULL));
	assert_true(al_solve(AL_LEFT, AL_PLAIN, al_view(r), x, NULL));
	assert_true(al_solve(AL_RIGHT, AL_PLAIN, al_view(r), y, NULL));
	struct al_matrix wide_again = multiply(AL_PLAIN, AL_PLAIN, r, x);
	struct al_matrix tall_again = multiply(AL_PLAIN, AL_PLAIN, y, r);
	assert_close(al_view(wide_again), al_view(wide), 1e-13);
	assert_close(al_view(tall_again), al_view(tall), 1e-13);
	struct al_matrix *all[] = {&r, &wide, &tall, &x, &y, &a, &wide_again, &tall_again};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		al_matrix_finish(all[i]);
}

static void decomposes(void **state)
{
	struct al_matrix a = gaussian(40, 12, 10), copy = gaussian(40, 12, 10),
			 r = new_matrix(12, 12);

	(void)state;
	assert_true(al_qr(a, r, NULL));
	assert_orthonormal(a, 1e-14);
	struct al_matrix again = multiply(AL_PLAIN, AL_PLAIN, a, r);
	assert_close(al_view(again), al_view(copy), 1e-13);

	assert_true(al_solve(AL_RIGHT, AL_PLAIN, al_view(r), copy, NULL));
	assert_close(al_view(copy), al_view(a), 1e-13);
	r.data[5 + 5 * r.ld] = 0;
	struct al_error err;
	assert_false(al_solve(AL_RIGHT, AL_PLAIN, al_view(r), copy, &err));
	assert_string_equal(err.message, "triangular system: element 5 of the diagonal is zero");
	al_matrix_finish(&again);
	al_matrix_finish(&r);
	al_matrix_finish(&copy);
	al_matrix_finish(&a);
}

static void estimates_conditions(void **state)
{
	struct al_matrix g = new_matrix(3, 3);
	double condition;
	bool is_definite;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		g.data[i + i * 3] = pow(10, 4 * (double)i);
	assert_true(al_cholesky(g, &is_definite, &condition, NULL));
	assert_true(fabs(condition - 1e8) < 1);
	assert_true(g.data[8] == 1e4);
	g.data[4] = -1;
	assert_true(al_cholesky(g, &is_definite, &condition, NULL));
	assert_true(isinf(condition));
	assert_false(is_definite);
	al_matrix_finish(&g);
}

/* ---- spectra ---- */

/* Singular values pow(base, -k) between orthonormal columns. */
static struct al_matrix with_spectrum(size_t rows, size_t cols, double base)
{
	const size_t n = rows < cols ? rows : cols;
	struct al_random *random = al_random_create(11, 0, 0, 0);
	struct al_matrix u = new_matrix(rows, n), v = new_matrix(cols, n);

	assert_true(al_haar(random, u, NULL) && al_haar(random, v, NULL));
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < rows; i++)
			u.data[i + k * u.ld] *= pow(base, -(double)k);
	struct al_matrix a = multiply(AL_PLAIN, AL_TRANSPOSED, u, v);
	al_random_destroy(random);
	al_matrix_finish(&v);
	al_matrix_finish(&u);
	return a;
}

static void check_values(size_t rows, size_t cols, double base)
{
	const size_t n = rows < cols ? rows : cols;
	struct al_matrix a = with_spectrum(rows, cols, base), values = new_matrix(n, 1);

	assert_true(al_singular_values(al_view(a), values.data, NULL));
	for (size_t k = 0; k < n; k++)
		assert_true(fabs(values.data[k] - pow(base, -(double)k)) < 1e-11);
	al_matrix_finish(&values);
	al_matrix_finish(&a);
}

/* Every basis is orthonormal and every product the matrix again, however ill-conditioned it was. */
static void check_qr(struct al_matrix a)
{
	struct al_matrix copy = new_matrix(a.rows, a.cols), r = new_matrix(a.cols, a.cols);

	assert_true(al_copy(al_view(a), copy, NULL));
	assert_true(al_qr(a, r, NULL));
	assert_orthonormal(a, 1e-14);
	struct al_matrix again = multiply(AL_PLAIN, AL_PLAIN, a, r);
	assert_close(al_view(again), al_view(copy), 1e-14);
	for (size_t i = 0; i < r.cols; i++)
		assert_true(r.data[i + i * r.ld] >= 0);
	assert_true(al_orthonormalize(copy, NULL));
	assert_orthonormal(copy, 1e-13);
	al_matrix_finish(&again);
	al_matrix_finish(&r);
	al_matrix_finish(&copy);
	al_matrix_finish(&a);
}

/* Householder's factor without an explicit U, signs and all, is the one that divisions find. */
static void check_factor(struct al_matrix a)
{
	struct al_matrix copy = new_matrix(a.rows, a.cols);
	struct al_matrix r = new_matrix(a.cols, a.cols),
			 by_reflections = new_matrix(a.cols, a.cols);

	assert_true(al_copy(al_view(a), copy, NULL));
	assert_true(al_qr(a, r, NULL) && al_qr_r(copy, by_reflections, NULL));
	assert_close(al_view(r), al_view(by_reflections), 1e-14);
	al_matrix_finish(&by_reflections);
	al_matrix_finish(&r);
	al_matrix_finish(&copy);
	al_matrix_finish(&a);
}

static void decomposes_ill_conditioned_matrices(void **state)
{
	(void)state;
	for (int digits = 0; digits <= 8; digits++)
		check_factor(with_spectrum(60, 21, pow(10, digits / 20.)));
	for (int digits = 0; digits <= 20; digits += 2)
		check_qr(with_spectrum(60, 21, pow(10, digits / 20.)));
	for (size_t first = 0; first < 20; first += 5) {
		struct al_matrix a = with_spectrum(60, 20, 1.1);
		memset(a.data + first * a.ld, 0, a.rows * sizeof(double));
		memcpy(a.data + (first + 3) * a.ld, a.data + (first + 1) * a.ld,
			a.rows * sizeof(double));
		check_qr(a);
	}
	check_qr(new_matrix(8, 3));
}

static void finds_singular_values_however_small(void **state)
{
	(void)state;
	check_values(60, 8, 1.5);
	check_values(8, 60, 1.5);
	check_values(60, 8, 20); /* a Gram of condition 1e18 */
	check_values(30, 30, 2);
	check_values(1, 1, 2);
}

static void scales_out_of_the_squares_range(void **state)
{
	const double scales[] = {1e-200, 1e200};

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		struct al_matrix a = gaussian(9, 4, 12), values = new_matrix(4, 1),
				 scaled = new_matrix(4, 1);
		assert_true(al_singular_values(al_view(a), values.data, NULL));
		for (size_t i = 0; i < 12 * 4; i++)
			a.data[i] *= scales[s];
		assert_true(al_singular_values(al_view(a), scaled.data, NULL));
		for (size_t k = 0; k < 4; k++)
			assert_true(fabs(scaled.data[k] / scales[s] - values.data[k]) < 1e-12);
		al_matrix_finish(&scaled);
		al_matrix_finish(&values);
		al_matrix_finish(&a);
	}
}

static void check_eigenvectors(size_t n, size_t wanted)
{
	struct al_matrix a = gaussian(n, n, 13), g = new_matrix(n, n), copy = new_matrix(n, n);
	struct al_matrix vectors = new_matrix(n, wanted), values = new_matrix(n, 1),
			 all = new_matrix(n, 1);

	assert_true(al_gram(AL_PLAIN, al_view(a), g, NULL) && al_copy(al_view(g), copy, NULL));
	assert_true(al_eigenvectors_top(copy, values.data, vectors, NULL));
	assert_orthonormal(vectors, 1e-11);
	struct al_matrix left = multiply(AL_PLAIN, AL_PLAIN, g, vectors);
	for (size_t j = 0; j < wanted; j++)
		for (size_t i = 0; i < n; i++)
			vectors.data[i + j * n] *= values.data[j];
	assert_close(al_view(left), al_view(vectors), 1e-11 * values.data[0]);
	assert_true(al_eigenvalues(g, all.data, NULL));
	for (size_t j = 0; j < wanted; j++)
		assert_true(fabs(all.data[j] - values.data[j]) < 1e-12 * all.data[0]);
	al_matrix_finish(&left);
	al_matrix_finish(&all);
	al_matrix_finish(&values);
	al_matrix_finish(&vectors);
	al_matrix_finish(&copy);
	al_matrix_finish(&g);
	al_matrix_finish(&a);
}

static void finds_eigenvectors(void **state)
{
	(void)state;
	check_eigenvectors(20, 20);
	check_eigenvectors(20, 3);
	check_eigenvectors(1, 1);
	check_eigenvectors(1040, 3); /* one by one */
}

/* By the first of the largest numbers; those that differ in their last bits are equal. */
static void the_first_of_equal_numbers_gives_the_sign(void **state)
{
	(void)state;
	assert_false(al_points_down((const double[]){1, -1, 0.5}, 3));
	assert_true(al_points_down((const double[]){-1, 1, 0.5}, 3));
	assert_false(al_points_down((const double[]){1, -1 - 0x1p-40}, 2));
	assert_true(al_points_down((const double[]){1, -1 - 0x1p-20}, 2));
	assert_false(al_points_down((const double[]){0, 0}, 2));
	assert_false(al_points_down(NULL, 0));
}

static void decomposes_into_signed_vectors(void **state)
{
	struct al_matrix a = with_spectrum(9, 14, 1.7), copy = with_spectrum(9, 14, 1.7);
	struct al_matrix u = new_matrix(9, 9), v = new_matrix(14, 9), values = new_matrix(9, 1);

	(void)state;
	assert_true(al_svd(copy, u, values.data, v, NULL));
	assert_orthonormal(u, 1e-14);
	assert_orthonormal(v, 1e-14);
	for (size_t k = 0; k < 9; k++) {
		double low = 0, high = 0;
		for (size_t i = 0; i < 9; i++) {
			low = fmin(low, u.data[i + k * 9]);
			high = fmax(high, u.data[i + k * 9]);
			u.data[i + k * 9] *= values.data[k];
		}
		assert_true(high >= -low);
	}
	struct al_matrix again = multiply(AL_PLAIN, AL_TRANSPOSED, u, v);
	assert_close(al_view(again), al_view(a), 1e-14);
	al_matrix_finish(&again);
	al_matrix_finish(&values);
	al_matrix_finish(&v);
	al_matrix_finish(&u);
	al_matrix_finish(&copy);
	al_matrix_finish(&a);
}

/* ---- threads ---- */

struct answers {
	struct al_matrix product, gram, basis, values;
	struct al_matrix_f product_f;
};

static struct answers answer(int n_threads)
{
	struct al_matrix a = gaussian(700, 500, 14), b = gaussian(600, 500, 15);
	struct al_matrix_f af = new_matrix_f(700, 500), bf = new_matrix_f(600, 500);
	struct answers x = {new_matrix(700, 600), new_matrix(500, 500), gaussian(700, 500, 16),
		new_matrix(500, 1), new_matrix_f(700, 600)};

	al_threads_set(n_threads);
	assert_true(al_narrow(al_view(a), af, NULL) && al_narrow(al_view(b), bf, NULL));
	assert_true(
		al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(a), al_view(b), 0, x.product, NULL));
	assert_true(al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, al_view_f(af), al_view_f(bf), 0,
		x.product_f, NULL));
	assert_true(al_gram(AL_TRANSPOSED, al_view(a), x.gram, NULL));
	assert_true(al_orthonormalize(x.basis, NULL));
	assert_true(al_singular_values(al_view(a), x.values.data, NULL));
	al_threads_set(0);
	al_matrix_finish_f(&bf);
	al_matrix_finish_f(&af);
	al_matrix_finish(&b);
	al_matrix_finish(&a);
	return x;
}

static void assert_same(struct al_matrix a, struct al_matrix b)
{
	assert_memory_equal(a.data, b.data, a.rows * a.cols * sizeof(double));
}

static void forget(struct answers *x)
{
	al_matrix_finish(&x->product);
	al_matrix_finish(&x->gram);
	al_matrix_finish(&x->basis);
	al_matrix_finish(&x->values);
	al_matrix_finish_f(&x->product_f);
}

/* Two share the blocks evenly, five don't. */
static void gives_the_same_bits_for_any_threads(void **state)
{
	struct answers one = answer(1);

	(void)state;
	for (int n = 2; n <= 5; n += 3) {
		struct answers more = answer(n);
		assert_same(one.product, more.product);
		assert_same(one.gram, more.gram);
		assert_same(one.basis, more.basis);
		assert_same(one.values, more.values);
		assert_memory_equal(one.product_f.data, more.product_f.data,
			700 * 600 * sizeof(float));
		forget(&more);
	}
	forget(&one);
}

static bool fail_from_five(void *context, size_t index, struct al_error *err)
{
	int *runs = context;

	runs[index]++;
	return index < 5 || al_fail(err, AL_EINPUT, "index %zu", index);
}

static void reports_the_first_failure(void **state)
{
	(void)state;
	for (int n_threads = 1; n_threads <= 4; n_threads++) {
		int runs[40] = {0};
		struct al_error err;
		al_threads_set(n_threads);
		assert_false(al_parallel(40, fail_from_five, runs, &err));
		assert_string_equal(err.message, "index 5");
		for (size_t i = 0; i <= 5; i++)
			assert_int_equal(runs[i], 1);
		assert_true(al_parallel(5, fail_from_five, runs, &err));
	}
	al_threads_set(0);
}

/* Two indices within a job: the second goes on until the first, which asks for help of its own, is
 * done. */
struct pair {
	_Atomic bool is_done;
};

static bool do_nothing(void *context, size_t index, struct al_error *err)
{
	(void)context;
	(void)index;
	(void)err;
	return true;
}

static bool work_or_wait(void *context, size_t index, struct al_error *err)
{
	struct pair *pair = context;
	const time_t deadline = time(NULL) + 20;

	if (index == 0) {
		pair->is_done = al_parallel(4, do_nothing, NULL, err);
		return pair->is_done;
	}
	while (!pair->is_done && time(NULL) < deadline) {
	}
	return pair->is_done || al_fail(err, AL_EINPUT, "the first waits for the second");
}

static bool leave_one_at_work(void *context, size_t index, struct al_error *err)
{
	struct pair pair = {false};

	(void)context;
	return index != 0 || al_parallel(2, work_or_wait, &pair, err);
}

static void waits_for_no_other_help(void **state)
{
	(void)state;
	for (int n_threads = 1; n_threads <= 4; n_threads++) {
		al_threads_set(n_threads);
		for (int i = 0; i < 20; i++)
			assert_true(al_parallel(4, leave_one_at_work, NULL, NULL));
	}
	al_threads_set(0);
}

/* ---- refusals ---- */

static void refuses_wrong_shapes(void **state)
{
	AL_SCRATCH(scratch);
	struct al_matrix a = new_matrix(3, 4), b = new_matrix(5, 2), c = new_matrix(3, 2);
	struct al_matrix thin = {c.data, 3, 2, 2}, nothing = {NULL, 3, 2, 3};
	struct al_matrix wide = {c.data, 3, (size_t)INT32_MAX + 1, 3};
	struct al_matrix large = {c.data, 32001, 32001, 32001};
	struct al_error err;

	(void)state;
	assert_false(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(a), al_view(b), 0, c, &err));
	assert_string_equal(err.message, "product of 3 x 4 and 5 x 2");
	assert_int_equal(err.status, AL_EINPUT);
	assert_false(al_gram(AL_PLAIN, al_view(a), c, &err));
	assert_string_equal(err.message, "G is 3 x 2, expected 3 x 3");
	assert_false(al_qr_r(thin, c, &err));
	assert_string_equal(err.message, "A: leading dimension 2 is below the 3 rows");
	assert_false(al_qr_r(nothing, c, &err));
	assert_string_equal(err.message, "A: 3 x 2 without data");
	assert_false(al_qr_r(wide, c, &err));
	assert_string_equal(err.message,
		"A: 3 x 2147483648 with leading dimension 3: at most 2147483647");
	/* 2^31 - 1 columns, the next one 2^29 - 1 numbers behind: the last that fit */
	wide.cols = INT32_MAX;
	wide.ld = (size_t)1 << 29;
	assert_true(al_check("A", al_view(wide), &err));
	assert_true(al_check("A", (struct al_view){a.data, INT32_MAX, 1, INT32_MAX}, &err));
	wide.ld += 1;
	assert_false(al_check("A", al_view(wide), &err));
	assert_string_equal(err.message, "A: 536870913 x 2147483647 doesn't fit into memory");
	assert_false(al_eigenvalues(a, c.data, &err));
	assert_string_equal(err.message, "G is 3 x 4, expected 4 x 4");
	assert_false(al_eigenvectors(large, c.data, &err));
	assert_string_equal(err.message, "eigenvectors of 32001 x 32001: at most 32000");
	large.cols = 32000;
	assert_false(al_eigenvectors(large, c.data, &err));
	assert_string_equal(err.message, "G is 32001 x 32000, expected 32000 x 32000");
	assert_false(al_eigenvectors_top(al_part(a, 0, 0, 3, 3), c.data, b, &err));
	assert_string_equal(err.message,
		"vectors are 5 x 2, expected 3 rows and at most 3 columns");
	assert_false(al_eigenvectors_top(al_part(a, 0, 0, 3, 3), c.data, a, &err));
	assert_string_equal(err.message,
		"vectors are 3 x 4, expected 3 rows and at most 3 columns");
	assert_false(al_haar(NULL, a, &err));
	assert_string_equal(err.message, "U: 4 orthonormal columns of 3 rows");
	assert_false(al_matrix_init(&nothing, SIZE_MAX / 4, 5, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_null(al_take_array(&scratch, SIZE_MAX / 8 + 2, 8, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	al_matrix_finish(&nothing);
	al_matrix_finish(&c);
	al_matrix_finish(&b);
	al_matrix_finish(&a);
}

static void says_what_lapack_returns(void **state)
{
	static const struct {
		lapack_int info;
		const char *message;
	} cases[] = {
		{1, "dgesv: did not converge (1)"},
		{7, "dgesv: did not converge (7)"},
		{-1, "dgesv: argument 1 is not a number or not valid"},
		{-4, "dgesv: argument 4 is not a number or not valid"},
		{LAPACK_WORK_MEMORY_ERROR, "dgesv: no memory"},
		{LAPACK_TRANSPOSE_MEMORY_ERROR, "dgesv: no memory"},
	};
	struct al_error err;

	(void)state;
	assert_true(al_check_info("dgesv", 0, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_false(al_check_info("dgesv", cases[i].info, &err));
		assert_int_equal(err.status, AL_ESYSTEM);
		assert_string_equal(err.message, cases[i].message);
	}
}

/* One argument at a time that doesn't fit the others. */
static void refuses_each_argument(void **state)
{
	struct al_matrix a = gaussian(3, 2, 1), wide = gaussian(2, 3, 2),
			 square = gaussian(3, 3, 3);
	struct al_matrix small = gaussian(2, 2, 4), out = new_matrix(3, 3);
	struct al_matrix_f a_f = new_matrix_f(3, 2), square_f = new_matrix_f(3, 3);
	const struct al_view thin = {a.data, 3, 2, 2};
	const struct al_matrix thin_out = {out.data, 3, 3, 2};
	const struct al_matrix_f thin_f = {a_f.data, 3, 2, 2};
	enum al_route route;
	double values[3];
	bool is_definite;

	(void)state;
	/* copies */
	assert_false(al_copy(al_view(a), small, NULL));
	assert_false(al_copy(thin, out, NULL));
	assert_false(al_copy(al_view(square), thin_out, NULL));
	assert_false(al_narrow(al_view(square), a_f, NULL));
	assert_false(al_narrow(thin, a_f, NULL));
	assert_false(al_narrow(al_view(a), thin_f, NULL));
	assert_false(al_widen(al_view_f(a_f), square, NULL));
	assert_false(al_widen(al_view_f(thin_f), a, NULL));
	assert_false(al_widen(al_view_f(square_f), thin_out, NULL));
	/* products */
	assert_false(al_gemm(AL_PLAIN, AL_PLAIN, 1, thin, al_view(wide), 0, out, NULL));
	assert_false(al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(a), thin, 0, out, NULL));
	assert_false(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(a), al_view(wide), 0, thin_out, NULL));
	assert_false(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(a), al_view(wide), 0, small, NULL));
	assert_false(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(a), al_view(wide), 0, a, NULL));
	assert_false(al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(a), al_view(wide), 0, out, NULL));
	assert_false(al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, al_view_f(thin_f), al_view_f(a_f), 0,
		square_f, NULL));
	assert_false(al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, al_view_f(a_f), al_view_f(thin_f), 0,
		square_f, NULL));
	assert_false(al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, al_view_f(a_f), al_view_f(a_f), 0, a_f,
		NULL));
	assert_false(al_gram(AL_TRANSPOSED, thin, small, NULL));
	assert_false(al_gram(AL_TRANSPOSED, al_view(a), out, NULL));
	assert_false(al_gram_f(AL_TRANSPOSED, al_view_f(thin_f), square_f, NULL));
	assert_false(al_gram_f(AL_TRANSPOSED, al_view_f(a_f), square_f, NULL));
	/* factors */
	assert_false(al_cholesky(a, &is_definite, values, NULL));
	assert_false(al_cholesky(thin_out, &is_definite, NULL, NULL));
	assert_false(al_qr(a, out, NULL));
	assert_false(al_qr(a, thin_out, NULL));
	assert_false(al_qr_r(a, out, NULL));
	assert_false(al_triangle(thin, small, &route, NULL));
	assert_false(al_triangle(al_view(a), thin_out, &route, NULL));
	assert_false(al_triangle(al_view(a), out, &route, NULL));
	assert_false(al_solve(AL_LEFT, AL_PLAIN, al_view(a), out, NULL));
	assert_false(al_solve(AL_LEFT, AL_PLAIN, al_view(small), out, NULL));
	assert_false(al_solve(AL_RIGHT, AL_PLAIN, al_view(small), out, NULL));
	assert_false(al_solve_f(AL_LEFT, AL_PLAIN, al_view_f(square_f), thin_f, NULL));
	/* spectra */
	assert_false(al_eigenvalues(thin_out, values, NULL));
	assert_false(al_eigenvectors(a, values, NULL));
	assert_false(al_eigenvectors_top(a, values, small, NULL));
	assert_false(al_eigenvectors_top(square, values, small, NULL));
	assert_false(al_eigenvectors_top(small, values, wide, NULL));
	assert_false(al_eigenvectors_top(square, values, thin_out, NULL));
	assert_false(al_singular_values(thin, values, NULL));
	assert_false(al_svd((struct al_matrix){a.data, 3, 2, 2}, a, values, small, NULL));
	assert_false(al_svd(a, thin_out, values, small, NULL));
	assert_false(al_svd(a, out, values, small, NULL));
	assert_false(al_svd(a, wide, values, small, NULL));
	assert_false(al_svd(a, al_part(out, 0, 0, 3, 2), values, out, NULL));
	/* random matrices */
	assert_false(al_haar(NULL, thin_out, NULL));
	al_matrix_finish_f(&square_f);
	al_matrix_finish_f(&a_f);
	al_matrix_finish(&out);
	al_matrix_finish(&small);
	al_matrix_finish(&square);
	al_matrix_finish(&wide);
	al_matrix_finish(&a);
}

/* Nothing is a matrix too: no columns have no factors and no values. */
static void takes_empty_matrices(void **state)
{
	struct al_matrix none = new_matrix(3, 0), empty = new_matrix(0, 0),
			 square = gaussian(3, 3, 1);
	double condition;
	bool is_definite;

	(void)state;
	assert_true(al_cholesky(empty, &is_definite, &condition, NULL));
	assert_true(al_qr(none, empty, NULL));
	assert_true(al_eigenvalues(empty, NULL, NULL));
	assert_true(al_eigenvectors(empty, NULL, NULL));
	assert_true(al_eigenvectors_top(square, NULL, none, NULL));
	assert_true(al_singular_values(al_view(none), NULL, NULL));
	assert_true(al_svd(none, none, NULL, empty, NULL));
	assert_true(al_inner(al_view(none), al_view(none)) == 0);
	assert_true(al_is_finite(al_view(none)));
	al_matrix_finish(&square);
	al_matrix_finish(&empty);
	al_matrix_finish(&none);
}

static void check_refused(double bad)
{
	struct al_matrix a = gaussian(6, 6, 16), b = gaussian(6, 6, 17), c = new_matrix(6, 6);
	struct al_matrix d = new_matrix(6, 6);
	enum al_route route;
	double values[6];
	struct al_error err;

	a.data[2 + 3 * a.ld] = bad;
	assert_false(al_is_finite(al_view(a)));
	assert_false(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(a), al_view(b), 0, c, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_string_equal(err.message, "product: 6 x 6 with elements that are not finite");
	assert_false(al_gram(AL_TRANSPOSED, al_view(a), c, NULL));
	assert_false(al_triangle(al_view(a), c, &route, NULL));
	assert_false(al_singular_values(al_view(a), values, NULL));
	assert_false(al_svd(a, c, values, d, NULL));
	assert_false(al_qr(a, c, NULL));
	assert_false(al_eigenvalues(a, values, NULL));
	assert_false(al_eigenvectors(a, values, NULL));
	al_matrix_finish(&d);
	al_matrix_finish(&c);
	al_matrix_finish(&b);
	al_matrix_finish(&a);
}

static void refuses_what_is_not_finite(void **state)
{
	struct al_matrix big = new_matrix(1, 1);
	struct al_matrix_f small = new_matrix_f(1, 1);

	(void)state;
	check_refused(NAN);
	check_refused(-NAN);
	check_refused(INFINITY);
	check_refused(-INFINITY);
	big.data[0] = 1e39;
	assert_false(al_narrow(al_view(big), small, NULL));
	assert_false(al_is_finite_f(al_view_f(small)));
	al_matrix_finish_f(&small);
	al_matrix_finish(&big);
}

/* ---- random ---- */

static void draws_streams_by_name(void **state)
{
	double first[64], again[64];
	float narrow[64];

	(void)state;
	for (uint64_t name = 0; name < 16; name++) {
		struct al_random *a = al_random_create(name & 1, name >> 1 & 1, name >> 2 & 1,
			name >> 3);
		struct al_random *b = al_random_create(name & 1, name >> 1 & 1, name >> 2 & 1,
			name >> 3);
		struct al_random *c = al_random_create(name & 1, name >> 1 & 1, name >> 2 & 1,
			name >> 3);
		const double before = first[0];
		al_random_gaussian(a, first, 64);
		al_random_gaussian(b, again, 64);
		al_random_gaussian_f(c, narrow, 64);
		assert_memory_equal(first, again, sizeof(first));
		assert_true(narrow[63] == (float)first[63]);
		assert_true(name == 0 || first[0] != before);
		al_random_destroy(c);
		al_random_destroy(b);
		al_random_destroy(a);
	}
	al_random_destroy(NULL);
}

static void draws_normal_numbers_and_permutations(void **state)
{
	enum { N = 100000 };
	struct al_random *random = al_random_create(1, 2, 3, 4);
	struct al_matrix x = new_matrix(N, 1);
	double sums[4] = {0};

	(void)state;
	al_random_gaussian(random, x.data, N);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 4; k++)
			sums[k] += pow(x.data[i], (double)k + 1) / N;
	assert_true(fabs(sums[0]) < 0.015 && fabs(sums[1] - 1) < 0.02);
	assert_true(fabs(sums[2]) < 0.05 && fabs(sums[3] - 3) < 0.15);
	al_random_destroy(random);
	al_matrix_finish(&x);
}

/* The rotation's trace is as often above zero as below; without the fix of signs it leans. */
static void draws_haar_matrices(void **state)
{
	enum { DRAWS = 2000 };
	double trace = 0, square = 0;
	struct al_matrix u = new_matrix(3, 3), tall = new_matrix(200, 16);
	struct al_random *random = al_random_create(5, 0, 0, 0);

	(void)state;
	assert_true(al_haar(random, tall, NULL));
	assert_orthonormal(tall, 1e-13);
	for (size_t i = 0; i < DRAWS; i++) {
		assert_true(al_haar(random, u, NULL));
		assert_orthonormal(u, 1e-13);
		const double t = u.data[0] + u.data[4] + u.data[8];
		trace += t / DRAWS;
		square += t * t / DRAWS;
	}
	assert_true(fabs(trace) < 0.1);
	assert_true(fabs(square - 1) < 0.15);
	al_random_destroy(random);
	al_matrix_finish(&tall);
	al_matrix_finish(&u);
}

/* Against all eigenvalues in double, of Gram matrices of full and of lower rank. */
static void check_sum_beyond(size_t n, size_t rank, size_t n_largest)
{
	struct al_matrix a = gaussian(rank, n, n + rank), g = new_matrix(n, n);
	struct al_matrix values = new_matrix(n, 1);
	struct al_matrix_f narrow = new_matrix_f(n, n);
	struct al_matrix copy = new_matrix(n, n);
	double expected = 0, trace = 0, found;

	assert_true(al_gram(AL_TRANSPOSED, al_view(a), g, NULL));
	assert_true(al_narrow(al_view(g), narrow, NULL));
	assert_true(al_copy(al_view(g), copy, NULL));
	assert_true(al_eigenvalues(g, values.data, NULL));
	for (size_t i = 0; i < n; i++) {
		trace += values.data[i];
		expected += i < n_largest ? 0 : values.data[i];
	}
	assert_true(al_sum_beyond_f(narrow, n_largest, &found, NULL));
	if (!(fabs(found - expected) <= 1e-6 * trace))
		fail_msg("%zu of rank %zu beyond %zu: %g, expected %g", n, rank, n_largest, found,
			expected);
	assert_true(al_sum_beyond(copy, n_largest, &found, NULL));
	if (!(fabs(found - expected) <= 1e-14 * trace))
		fail_msg("%zu of rank %zu beyond %zu in double: %g, expected %g", n, rank,
			n_largest, found, expected);
	al_matrix_finish_f(&narrow);
	al_matrix_finish(&copy);
	al_matrix_finish(&values);
	al_matrix_finish(&g);
	al_matrix_finish(&a);
}

static void sums_what_the_largest_eigenvalues_leave(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 6, 33, 64, 97, 192};
	struct al_matrix_f zero = new_matrix_f(5, 5);
	double found;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t part = 1; part <= 4; part++) {
			const size_t n = sizes[i], n_largest = n * part / 4;
			check_sum_beyond(n, n, n_largest);
			check_sum_beyond(n, 2 * n, n_largest);
			check_sum_beyond(n, n / 2 + 1, n_largest);
		}
	assert_true(al_sum_beyond_f(zero, 2, &found, NULL));
	assert_true(found == 0);
	for (size_t i = 0; i < 5; i++)
		zero.data[i + i * zero.ld] = 0x1p-120F;
	assert_true(al_sum_beyond_f(zero, 2, &found, NULL));
	assert_true(fabs(found - 3 * 0x1p-120) <= 1e-6 * 0x1p-120);
	zero.data[7] = NAN;
	assert_false(al_sum_beyond_f(zero, 2, &found, NULL));
	al_matrix_finish_f(&zero);
}

/* Eigenvalues from k = 0 on, largest first. */
typedef double spectrum_fn(size_t k);

static double clustered(size_t k)
{
	return k < 20 ? 2 : 1 - 1e-12 * (double)k;
}

static double of_rank_one(size_t k)
{
	return k == 0 ? 5 : 0;
}

static double decaying(size_t k)
{
	return pow(10, -0.1 * (double)k);
}

/* (I - 2 v v^T) diag(spectrum) (I - 2 v v^T), v of equal elements. */
static void reflect(struct al_matrix g, spectrum_fn *spectrum, double scale)
{
	const double size = (double)g.cols;
	double mean = 0;

	for (size_t k = 0; k < g.cols; k++)
		mean += scale * spectrum(k) / size;
	for (size_t j = 0; j < g.cols; j++)
		for (size_t i = 0; i < g.rows; i++)
			g.data[i + j * g.ld] = (i == j ? scale * spectrum(i) : 0)
				- 2 / size * scale * (spectrum(i) + spectrum(j)) + 4 / size * mean;
}

static void check_known_sum(spectrum_fn *spectrum, size_t n, size_t n_largest, int exponent)
{
	const double scale = ldexp(1, exponent), scale_f = ldexp(1, exponent * 60 / 400);
	struct al_matrix g = new_matrix(n, n);
	struct al_matrix_f narrow = new_matrix_f(n, n);
	double trace = 0, rest = 0, found;

	for (size_t k = 0; k < n; k++) {
		trace += spectrum(k);
		rest += k < n_largest ? 0 : spectrum(k);
	}
	reflect(g, spectrum, scale_f);
	assert_true(al_narrow(al_view(g), narrow, NULL));
	assert_true(al_sum_beyond_f(narrow, n_largest, &found, NULL));
	if (!(fabs(found / scale_f - rest) <= 1e-6 * trace))
		fail_msg("%zu beyond %zu, times 2^%d: %g, expected %g", n, n_largest, exponent,
			found / scale_f, rest);
	reflect(g, spectrum, scale);
	assert_true(al_sum_beyond(g, n_largest, &found, NULL));
	if (!(fabs(found / scale - rest) <= 1e-14 * trace))
		fail_msg("%zu beyond %zu, times 2^%d, in double: %g, expected %g", n, n_largest,
			exponent, found / scale, rest);
	al_matrix_finish_f(&narrow);
	al_matrix_finish(&g);
}

static void sums_what_known_eigenvalues_leave(void **state)
{
	static spectrum_fn *const spectra[] = {clustered, of_rank_one, decaying};
	static const size_t sizes[] = {1, 2, 5, 33, 70, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(spectra) / sizeof(*spectra); i++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
			for (size_t part = 0; part <= 4; part++)
				for (int exponent = -400; exponent <= 400; exponent += 400)
					check_known_sum(spectra[i], sizes[s], sizes[s] * part / 4,
						exponent);
}

/* The largest sum over all permutations of columns from `row` on. */
static double best_assignment(const double *gain, size_t n, size_t row, unsigned used)
{
	double best = row == n ? 0 : -INFINITY;

	for (size_t j = 0; row < n && j < n; j++)
		if (!(used >> j & 1))
			best = fmax(best,
				gain[row + j * n]
					+ best_assignment(gain, n, row + 1, used | 1U << j));
	return best;
}

static void assigns_as_trying_all_does(void **state)
{
	struct al_random *random = al_random_create(7, 0, 0, 0);
	double gain[49];
	size_t to[7];
	(void)state;

	for (size_t n = 0; n <= 7; n++)
		for (int pass = 0; pass < 20; pass++) {
			double sum = 0;
			unsigned used = 0;
			al_random_gaussian(random, gain, n * n);
			for (size_t i = 0; pass % 2 && i < n * n; i++)
				gain[i] = round(2 * gain[i]); /* ties */
			al_assign((struct al_view){gain, n, n, n}, to);
			for (size_t i = 0; i < n; i++) {
				sum += gain[i + to[i] * n];
				used |= 1U << to[i];
			}
			assert_int_equal(used, (1U << n) - 1);
			assert_true(fabs(sum - best_assignment(gain, n, 0, 0)) < 1e-12);
		}
	al_random_destroy(random);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assigns_as_trying_all_does),
		cmocka_unit_test(multiplies_any_shape),
		cmocka_unit_test(multiplies_floats),
		cmocka_unit_test(forms_grams),
		cmocka_unit_test(finds_triangles_by_the_route_that_holds),
		cmocka_unit_test(decomposes),
		cmocka_unit_test(solves_in_parts),
		cmocka_unit_test(decomposes_ill_conditioned_matrices),
		cmocka_unit_test(estimates_conditions),
		cmocka_unit_test(finds_singular_values_however_small),
		cmocka_unit_test(scales_out_of_the_squares_range),
		cmocka_unit_test(finds_eigenvectors),
		cmocka_unit_test(decomposes_into_signed_vectors),
		cmocka_unit_test(the_first_of_equal_numbers_gives_the_sign),
		cmocka_unit_test(gives_the_same_bits_for_any_threads),
		cmocka_unit_test(reports_the_first_failure),
		cmocka_unit_test(waits_for_no_other_help),
		cmocka_unit_test(refuses_wrong_shapes),
		cmocka_unit_test(says_what_lapack_returns),
		cmocka_unit_test(refuses_each_argument),
		cmocka_unit_test(sums_what_the_largest_eigenvalues_leave),
		cmocka_unit_test(sums_what_known_eigenvalues_leave),
		cmocka_unit_test(takes_empty_matrices),
		cmocka_unit_test(refuses_what_is_not_finite),
		cmocka_unit_test(draws_streams_by_name),
		cmocka_unit_test(draws_normal_numbers_and_permutations),
		cmocka_unit_test(draws_haar_matrices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
