/* Tucker decompositions against the dense tensor, formed here at sizes where it can be. */
#include "tensors.h"

#include <math.h>

#include "linalg/tensor.h"
#include "linalg/tucker.h"

static const struct sizes small[] = {
	{4, 4, 5, 16, 16}, /* n_heads*d_head above d_model */
	{4, 4, 3, 20, 20}, /* below */
	{6, 2, 4, 17, 13}, /* grouped, and two widths */
	{4, 1, 5, 9, 12}, /* multi-query */
	{3, 3, 8, 5, 6}, /* heads wider than d_model */
	{1, 1, 4, 9, 9},
};

static struct al_tucker decompose(const struct al_heads *heads, struct al_tucker_options options)
{
	struct al_tucker tucker;
	struct al_error err = {0};

	if (!al_tucker(heads, &options, &tucker, &err))
		fail_msg("ranks %zu, %zu, %zu: %s", options.head_rank, options.query_rank,
			options.key_rank, err.message);
	return tucker;
}

/* ---- the dense HOSVD ---- */

struct dense {
	size_t n[3]; /* n_heads, d_query, d_key */
	double *t; /* [n0][n1][n2], the first running fastest */
};

/* The unfolding along a mode, one column for each combination of the other two. */
static struct al_matrix unfold(const struct dense *d, size_t mode)
{
	const size_t *n = d->n;
	struct al_matrix u = matrix(n[mode], n[0] * n[1] * n[2] / n[mode]);

	for (size_t k = 0; k < n[2]; k++) {
		for (size_t j = 0; j < n[1]; j++) {
			for (size_t i = 0; i < n[0]; i++) {
				const size_t row = (size_t[]){i, j, k}[mode];
				const size_t column = (size_t[]){j + n[1] * k, i + n[0] * k,
					i + n[0] * j}[mode];
				u.data[row + column * u.ld] = d->t[i + n[0] * (j + n[1] * k)];
			}
		}
	}
	return u;
}

/* Its leading left singular vectors. */
static struct al_matrix dense_basis(const struct dense *d, size_t mode, size_t rank)
{
	struct al_matrix u = unfold(d, mode), basis = matrix(d->n[mode], rank);
	const size_t n = u.rows < u.cols ? u.rows : u.cols;
	struct al_matrix left = matrix(u.rows, n), right = matrix(u.cols, n), values = matrix(n, 1);

	assert_true(al_svd(u, left, values.data, right, NULL));
	assert_true(al_copy(al_columns(al_view(left), 0, rank), basis, NULL));
	al_matrix_finish(&values);
	al_matrix_finish(&right);
	al_matrix_finish(&left);
	al_matrix_finish(&u);
	return basis;
}

/* The part of T that lies outside: ||T - U U^T T|| along each mode in turn, and T becomes that. */
static void project(struct dense *d, size_t mode, struct al_matrix basis)
{
	const size_t *n = d->n;
	struct al_matrix u = unfold(d, mode), inner = matrix(basis.cols, u.cols);

	assert_true(
		al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(basis), al_view(u), 0, inner, NULL));
	assert_true(al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(basis), al_view(inner), 0, u, NULL));
	for (size_t k = 0; k < n[2]; k++) {
		for (size_t j = 0; j < n[1]; j++) {
			for (size_t i = 0; i < n[0]; i++) {
				const size_t row = (size_t[]){i, j, k}[mode];
				const size_t column = (size_t[]){j + n[1] * k, i + n[0] * k,
					i + n[0] * j}[mode];
				d->t[i + n[0] * (j + n[1] * k)] = u.data[row + column * u.ld];
			}
		}
	}
	al_matrix_finish(&inner);
	al_matrix_finish(&u);
}

static double distance(struct al_matrix t, const double *other)
{
	double norm = 0, left = 0;

	for (size_t i = 0; i < t.rows * t.cols; i++) {
		norm += t.data[i] * t.data[i];
		left += (t.data[i] - other[i]) * (t.data[i] - other[i]);
	}
	return sqrt(left / norm);
}

/* The error of projecting T on three bases, the heads' without data where they are kept. */
static double projection_error(const struct al_heads *heads, struct al_matrix head,
	struct al_matrix query, struct al_matrix key)
{
	struct al_matrix t = dense_tensor(heads), copy = matrix(t.rows, t.cols);
	struct dense d = {{heads->n_heads, heads->query.rows, heads->key.rows}, copy.data};

	assert_true(al_copy(al_view(t), copy, NULL));
	if (head.data)
		project(&d, 0, head);
	project(&d, 1, query);
	project(&d, 2, key);
	const double error = distance(t, copy.data);
	al_matrix_finish(&copy);
	al_matrix_finish(&t);
	return error;
}

static double dense_hosvd(const struct al_heads *heads, size_t head_rank, size_t query_rank,
	size_t key_rank)
{
	struct al_matrix t = dense_tensor(heads), head = {0};
	const struct dense d = {{heads->n_heads, heads->query.rows, heads->key.rows}, t.data};
	struct al_matrix query = dense_basis(&d, 1, query_rank), key = dense_basis(&d, 2, key_rank);

	if (head_rank)
		head = dense_basis(&d, 0, head_rank);
	const double error = projection_error(heads, head, query, key);
	al_matrix_finish(&head);
	al_matrix_finish(&key);
	al_matrix_finish(&query);
	al_matrix_finish(&t);
	return error;
}

static void check_orthonormal(struct al_matrix u)
{
	struct al_matrix g = matrix(u.cols, u.cols);

	assert_true(al_gram(AL_TRANSPOSED, al_view(u), g, NULL));
	for (size_t j = 0; j < g.cols; j++)
		for (size_t i = 0; i < g.rows; i++)
			assert_true(fabs(g.data[i + j * g.ld] - (i == j)) < 1e-13);
	al_matrix_finish(&g);
}

static void check_against_dense(const struct al_heads *heads, struct al_tucker_options options)
{
	struct al_tucker t = decompose(heads, options);
	const double dense = dense_hosvd(heads, options.head_rank, options.query_rank,
		options.key_rank);

	if (!(fabs(t.relative_error - dense) < 1e-10))
		fail_msg("ranks %zu, %zu, %zu: error %.15g, dense %.15g", options.head_rank,
			options.query_rank, options.key_rank, t.relative_error, dense);
	assert_true(fabs(t.core_error - dense) < (dense > 1e-4 ? 1e-10 : 1e-6));
	assert_true(fabs(projection_error(heads, t.head, t.query, t.key) - dense) < 1e-10);
	check_orthonormal(t.query);
	check_orthonormal(t.key);
	al_tucker_finish(&t);
}

static void equals_dense_hosvd(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], i);
		const struct al_tucker_bounds bounds = al_tucker_bounds(&layer.heads);
		for (size_t part = 1; part <= 4; part++) {
			const size_t query = (bounds.query * part + 3) / 4,
				     key = (bounds.key * part + 3) / 4;
			const size_t head = (bounds.head * part + 3) / 4;
			check_against_dense(&layer.heads,
				(struct al_tucker_options){.query_rank = query, .key_rank = key});
			check_against_dense(&layer.heads,
				(struct al_tucker_options){.modes = AL_TUCKER_FULL,
					.head_rank = head,
					.query_rank = query,
					.key_rank = key});
		}
		finish_layer(&layer);
	}
}

static void reproduces_at_full_rank(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], 20 + i);
		const struct al_tucker_bounds b = al_tucker_bounds(&layer.heads);
		struct al_tucker t = decompose(&layer.heads,
			(struct al_tucker_options){.query_rank = b.query, .key_rank = b.key});
		assert_true(t.relative_error < 1e-12);
		al_tucker_finish(&t);
		t = decompose(&layer.heads,
			(struct al_tucker_options){.modes = AL_TUCKER_FULL,
				.head_rank = b.head,
				.query_rank = b.query,
				.key_rank = b.key});
		assert_true(t.relative_error < 1e-12);
		al_tucker_finish(&t);
		finish_layer(&layer);
	}
}

/* A layer that lies in small spaces exactly: nothing above rounding is left. */
static void finds_exact_spaces(void **state)
{
	struct layer layer = collaborative_layer(64, 4, 8, 40);

	(void)state;
	struct al_tucker t = decompose(&layer.heads,
		(struct al_tucker_options){.query_rank = 16, .key_rank = 16});
	assert_true(t.relative_error < 1e-12);
	al_tucker_finish(&t);
	t = decompose(&layer.heads, (struct al_tucker_options){.tolerance = 1e-10});
	assert_int_equal(t.query.cols, 16);
	assert_int_equal(t.key.cols, 16);
	al_tucker_finish(&t);
	finish_layer(&layer);
}

static void keeps_within_a_tolerance(void **state)
{
	static const double tolerances[] = {0.9, 0.5, 0.2, 0.05, 1e-3, 1e-9};

	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], 60 + i);
		for (size_t k = 0; k < 12; k++) {
			const double tolerance = tolerances[k / 2];
			struct al_tucker t = decompose(&layer.heads,
				(struct al_tucker_options){.modes = k % 2 ? AL_TUCKER_FULL
									  : AL_TUCKER_PARTIAL,
					.tolerance = tolerance});
			assert_true(t.relative_error <= tolerance);
			al_tucker_finish(&t);
		}
		finish_layer(&layer);
	}
}

static void sweeps_never_lose(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], 80 + i);
		for (size_t k = 0; k < 2; k++) {
			struct al_tucker_options options = {.query_rank = 3,
				.key_rank = 3,
				.modes = k ? AL_TUCKER_FULL : AL_TUCKER_PARTIAL,
				.head_rank = k ? (small[i].n_heads + 1) / 2 : 0};
			double before = INFINITY, first = 0, last = 0;
			for (options.n_sweeps = 0; options.n_sweeps < 8; options.n_sweeps++) {
				struct al_tucker t = decompose(&layer.heads, options);
				assert_true(t.relative_error <= before + 1e-12);
				assert_true(fabs(t.relative_error - t.core_error) < 1e-10);
				assert_true(
					fabs(projection_error(&layer.heads, t.head, t.query, t.key)
						- t.relative_error)
					< 1e-10);
				before = last = t.relative_error;
				first = options.n_sweeps ? first : last;
				al_tucker_finish(&t);
			}
			assert_true(small[i].n_heads == 1 || last < first);
		}
		finish_layer(&layer);
	}
}

/* Cordonnier et al.'s BERT layer, an eighth as wide: 2p(D + D_k), breaks even at half of the width;
 * a dense core does not. */
static void counts_parameters(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){12, 12, 8, 96, 96}, 100);
	struct al_tucker t = decompose(&layer.heads,
		(struct al_tucker_options){.query_rank = 32, .key_rank = 32});

	(void)state;
	assert_int_equal(al_tucker_parameters_factored(&t), 786432 / 64);
	assert_int_equal(al_tucker_parameters_dense(&t), 1179648 / 64);
	al_tucker_finish(&t);
	t = decompose(&layer.heads, (struct al_tucker_options){.query_rank = 48, .key_rank = 48});
	assert_int_equal(al_tucker_parameters_factored(&t), 2 * 96 * 96);
	al_tucker_finish(&t);
	finish_layer(&layer);
}

static void check_random(const struct layer *layer, size_t query_rank, size_t key_rank)
{
	struct al_tucker_options options = {.query_rank = query_rank, .key_rank = key_rank};
	struct al_tucker exact = decompose(&layer->heads, options);

	options.finder = AL_TUCKER_RANDOM;
	struct al_tucker random = decompose(&layer->single, options);
	assert_true(random.finder_change <= AL_TUCKER_SETTLED);
	assert_true(random.relative_error < exact.relative_error * 1.01);
	assert_true(fabs(random.core_error - random.relative_error) < 1e-3 * random.relative_error);
	check_orthonormal(random.query);
	check_orthonormal(random.key);
	al_tucker_finish(&random);
	al_tucker_finish(&exact);
}

static void finds_ranges_at_random(void **state)
{
	struct layer noisy = noisy_layer(320, 64, 110);
	struct layer grouped = gaussian_layer((struct sizes){8, 2, 16, 150, 200}, 111);

	(void)state;
	check_random(&noisy, 48, 64);
	check_random(&grouped, 90, 20);
	check_random(&grouped, 1, 32);
	finish_layer(&grouped);
	finish_layer(&noisy);
}

static void few_directions_of_wide_modes_are_found_at_random(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){2, 2, 8, 2052, 20}, 112);
	struct al_tucker_options options = {.query_rank = 4, .key_rank = 4};

	(void)state;
	struct al_tucker random = decompose(&layer.heads, options);
	options.n_sweeps = 1;
	struct al_tucker exact = decompose(&layer.heads, options);
	assert_true(random.finder_change > 0 && exact.finder_change == 0);
	al_tucker_finish(&exact);
	al_tucker_finish(&random);
	finish_layer(&layer);
}

/* Stepwise sweeps after the random finder end where exact ones do, within 1 %, and never lose. */
static void check_sweeps(const struct layer *layer, size_t query_rank, size_t key_rank)
{
	struct al_tucker_options exact = {.query_rank = query_rank, .key_rank = key_rank};
	struct al_tucker_options stepwise = exact, none;

	al_tucker_refine(&layer->heads, &exact);
	assert_true(exact.n_sweeps > 0 && exact.finder == AL_TUCKER_AUTO);
	stepwise.finder = AL_TUCKER_RANDOM;
	none = stepwise;
	al_tucker_refine(&layer->heads, &stepwise);
	struct al_tucker a = decompose(&layer->heads, exact);
	struct al_tucker b = decompose(&layer->single, stepwise);
	struct al_tucker c = decompose(&layer->single, none);
	assert_true(b.n_sweeps > 0 && c.n_sweeps == 0);
	assert_true(b.relative_error < a.relative_error * 1.01);
	assert_true(b.relative_error <= c.relative_error * (1 + 1e-9));
	check_orthonormal(b.query);
	check_orthonormal(b.key);
	al_tucker_finish(&a);
	al_tucker_finish(&b);
	al_tucker_finish(&c);
}

static void sweeps_in_steps(void **state)
{
	struct layer noisy = noisy_layer(320, 64, 110);
	struct layer grouped = gaussian_layer((struct sizes){8, 2, 16, 150, 200}, 111);

	(void)state;
	check_sweeps(&noisy, 48, 64);
	check_sweeps(&grouped, 60, 20);
	finish_layer(&grouped);
	finish_layer(&noisy);
}

static void gives_the_same_bits_for_any_threads(void **state)
{
	struct layer layer = noisy_layer(300, 40, 120);
	const struct al_tucker_options options[] = {
		{.query_rank = 32, .key_rank = 30, .n_sweeps = 1},
		{.modes = AL_TUCKER_FULL,
			.head_rank = 5,
			.query_rank = 32,
			.key_rank = 30,
			.n_sweeps = 1},
		{.finder = AL_TUCKER_RANDOM, .query_rank = 32, .key_rank = 30},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		al_threads_set(1);
		struct al_tucker one = decompose(&layer.heads, options[i]);
		al_threads_set(3);
		struct al_tucker three = decompose(&layer.heads, options[i]);
		al_threads_set(1);
		assert_true(one.relative_error == three.relative_error);
		assert_memory_equal(one.query.data, three.query.data, 300 * 32 * sizeof(double));
		assert_memory_equal(one.core_key.data, three.core_key.data,
			30 * 768 * sizeof(double));
		al_tucker_finish(&three);
		al_tucker_finish(&one);
	}
	finish_layer(&layer);
}

struct refusal {
	struct al_tucker_options options;
	const char *expected;
};

static void refuses_ranks(void **state)
{
	static const struct refusal cases[] = {
		{{.query_rank = 0, .key_rank = 3}, "query rank (0): expected 1 to 17"},
		{{.query_rank = 18, .key_rank = 3}, "query rank (18): expected 1 to 17"},
		{{.query_rank = 3, .key_rank = 0}, "key rank (0): expected 1 to 8"},
		{{.query_rank = 3, .key_rank = 9}, "key rank (9): expected 1 to 8"},
		{{.modes = AL_TUCKER_FULL, .query_rank = 3, .key_rank = 3},
			"head rank (0): expected 1 to 6"},
		{{.modes = AL_TUCKER_FULL, .head_rank = 7, .query_rank = 3, .key_rank = 3},
			"head rank (7): expected 1 to 6"},
		{{.head_rank = 1, .query_rank = 3, .key_rank = 3},
			"head rank (1) of a decomposition that keeps the heads"},
		{{.query_rank = 3, .tolerance = 0.1}, "pass either ranks or a tolerance"},
		{{.tolerance = 1}, "tolerance (1): expected between 0 and 1"},
		{{.tolerance = -0.1}, "tolerance (-0.1): expected between 0 and 1"},
		{{.tolerance = NAN}, "tolerance (nan): expected between 0 and 1"},
		{{.tolerance = 0.1, .finder = AL_TUCKER_RANDOM},
			"the random finder takes ranks, not a tolerance"},
		{{.modes = AL_TUCKER_FULL,
			 .finder = AL_TUCKER_RANDOM,
			 .head_rank = 1,
			 .query_rank = 1,
			 .key_rank = 1},
			"the random finder is for query and key"},
		{{.query_rank = 13, .key_rank = 2, .n_sweeps = 1},
			"query rank (13) exceeds the product of the other ranks (12)"},
	};
	struct layer layer = gaussian_layer((struct sizes){6, 2, 4, 17, 13}, 130);
	struct al_tucker tucker;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_false(al_tucker(&layer.heads, &cases[i].options, &tucker, &err));
		assert_string_equal(err.message, cases[i].expected);
		assert_int_equal(err.status, AL_EINPUT);
		assert_null(tucker.query.data);
	}
	finish_layer(&layer);
}

static void refuses_heads(void **state)
{
	const struct al_tucker_options options = {.query_rank = 2, .key_rank = 2};
	struct layer layer = gaussian_layer((struct sizes){6, 2, 4, 17, 13}, 140);
	struct al_heads heads = layer.heads;
	struct al_tucker tucker;
	struct al_error err;

	(void)state;
	heads.n_kv_heads = 4;
	assert_false(al_tucker(&heads, &options, &tucker, &err));
	assert_string_equal(err.message, "n_heads (6) is not a multiple of n_kv_heads (4)");
	heads.n_kv_heads = 1;
	assert_false(al_tucker(&heads, &options, &tucker, &err));
	assert_string_equal(err.message, "key: 8 columns, expected 1 heads of width 4");
	heads.n_heads = 5;
	assert_false(al_tucker(&heads, &options, &tucker, &err));
	assert_string_equal(err.message, "query: 24 columns, expected 5 heads of width 4");
	heads.n_heads = 0;
	assert_false(al_tucker(&heads, &options, &tucker, &err));
	assert_string_equal(err.message, "0 heads with 1 key heads, expected at least one");
	layer.key.data[5] = NAN;
	assert_false(al_tucker(&layer.heads, &options, &tucker, &err));
	assert_string_equal(err.message, "key: elements that are not finite");
	assert_int_equal(err.status, AL_EINPUT);
	memset(layer.key.data, 0, layer.key.rows * layer.key.cols * sizeof(double));
	assert_false(al_tucker(&layer.heads, &options, &tucker, &err));
	assert_string_equal(err.message, "every head is zero");
	finish_layer(&layer);
}

/* What is called refined, a thousand sweeps don't lessen by more than 1 %. */
static void refined_is_the_end(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct layer layer = gaussian_layer((struct sizes){8, 4, 6, 40, 30}, 700 + seed);
		struct al_tucker_options options = {.query_rank = 9, .key_rank = 7};
		struct al_tucker_options longest = {.query_rank = 9,
			.key_rank = 7,
			.n_sweeps = 1000};
		struct al_tucker refined, last;
		struct al_error err = {0};
		al_tucker_refine(&layer.heads, &options);
		assert_true(options.n_sweeps > 0);
		assert_true(al_tucker(&layer.heads, &options, &refined, &err));
		assert_true(al_tucker(&layer.heads, &longest, &last, &err));
		assert_true(refined.relative_error < 1.01 * last.relative_error);
		al_tucker_finish(&refined);
		al_tucker_finish(&last);
		finish_layer(&layer);
	}
}

/* One head: its queries can't take more dimensions than its keys have. */
static void refines_what_can_be(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){1, 1, 6, 20, 4}, 3);
	struct al_tucker_options options = {.query_rank = 6, .key_rank = 4};
	struct al_tucker tucker;
	struct al_error err = {0};

	(void)state;
	al_tucker_refine(&layer.heads, &options);
	assert_true(al_tucker(&layer.heads, &options, &tucker, &err));
	assert_int_equal(tucker.n_sweeps, 0);
	al_tucker_finish(&tucker);
	finish_layer(&layer);
}

/* The rest is the allowance at most; one is left, and squares below 0 count as 0. */
static void keeps_the_smallest_rank(void **state)
{
	static const double values[] = {8, 4, 2, 1, -1e-20};

	(void)state;
	assert_int_equal(al_smallest_rank(values, 5, 0), 4);
	assert_int_equal(al_smallest_rank(values, 5, 0.99), 4);
	assert_int_equal(al_smallest_rank(values, 5, 1), 3);
	assert_int_equal(al_smallest_rank(values, 5, 7), 1);
	assert_int_equal(al_smallest_rank(values, 5, 100), 1);
	assert_int_equal(al_smallest_rank(values, 3, 1.9), 3);
}

/* Sweeps of modes beyond 1,024 are steps, of whichever side. */
static void refines_wide_modes_by_steps(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		const size_t wide[2] = {i == 1 ? 1025 : 1024, i == 2 ? 1025 : 1024};
		const struct al_heads heads = {.query = {NULL, wide[0], 8, wide[0]},
			.key = {NULL, wide[1], 8, wide[1]},
			.n_heads = 2,
			.n_kv_heads = 2,
			.d_head = 4};
		struct al_tucker_options options = {.query_rank = i == 3 ? 5 : 4,
			.key_rank = i == 3 ? 2 : 4};
		al_tucker_refine(&heads, &options);
		assert_int_equal(options.finder,
			i == 1 || i == 2 ? AL_TUCKER_RANDOM : AL_TUCKER_AUTO);
		assert_int_equal(options.n_sweeps, i == 3 ? 0 : 100);
		assert_true(i == 3 || options.stop == (i ? 1e-3 : 1e-4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refined_is_the_end),
		cmocka_unit_test(refines_what_can_be),
		cmocka_unit_test(keeps_the_smallest_rank),
		cmocka_unit_test(refines_wide_modes_by_steps),
		cmocka_unit_test(equals_dense_hosvd),
		cmocka_unit_test(reproduces_at_full_rank),
		cmocka_unit_test(finds_exact_spaces),
		cmocka_unit_test(keeps_within_a_tolerance),
		cmocka_unit_test(sweeps_never_lose),
		cmocka_unit_test(counts_parameters),
		cmocka_unit_test(finds_ranges_at_random),
		cmocka_unit_test(few_directions_of_wide_modes_are_found_at_random),
		cmocka_unit_test(sweeps_in_steps),
		cmocka_unit_test(gives_the_same_bits_for_any_threads),
		cmocka_unit_test(refuses_ranks),
		cmocka_unit_test(refuses_heads),
	};

	/* Small matrices on a busy machine: threads would wait for each other. */
	al_threads_set(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
