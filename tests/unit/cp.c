/* The collaborative decomposition: exact where it can be, never worse than truncating heads, never
 * worse after a sweep than before. */
#include "tensors.h"

#include <math.h>
#include <string.h>

#include "linalg/cp.h"
#include "linalg/sweep.h"

static const struct sizes small[] = {
	{4, 4, 5, 16, 16}, /* n_heads*d_head above d_model */
	{4, 4, 3, 20, 20}, /* below */
	{6, 2, 4, 17, 13}, /* grouped, and two widths */
	{4, 1, 5, 9, 12}, /* multi-query */
	{3, 3, 8, 5, 6}, /* heads wider than d_model */
	{1, 1, 4, 9, 9},
};

static struct al_cp decompose(const struct al_heads *heads, struct al_cp_options options)
{
	struct al_cp cp;
	struct al_error err = {0};

	if (!al_cp(heads, &options, &cp, &err))
		fail_msg("rank %zu: %s", options.rank, err.message);
	return cp;
}

/* ||T - T'||/||T|| from every element of both. */
static double dense_error(const struct al_heads *heads, const struct al_cp *cp)
{
	struct al_matrix t = dense_tensor(heads);
	double norm = 0, left = 0;

	for (size_t k = 0; k < cp->key.rows; k++) {
		for (size_t row = 0; row < t.rows; row++) {
			const size_t i = row % heads->n_heads, j = row / heads->n_heads;
			double sum = 0;
			for (size_t r = 0; r < cp->query.cols; r++)
				sum += cp->query.data[j + r * cp->query.ld]
					* cp->key.data[k + r * cp->key.ld]
					* cp->mixing.data[i + r * cp->mixing.ld];
			norm += t.data[row + k * t.ld] * t.data[row + k * t.ld];
			left += (t.data[row + k * t.ld] - sum) * (t.data[row + k * t.ld] - sum);
		}
	}
	al_matrix_finish(&t);
	return sqrt(left / norm);
}

static void reproduces_at_full_rank(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], i);
		struct al_cp cp = decompose(&layer.heads,
			(struct al_cp_options){.rank = al_cp_bound(&layer.heads), .n_sweeps = 5});
		assert_true(cp.relative_error < 1e-12);
		assert_true(dense_error(&layer.heads, &cp) < 1e-12);
		assert_false(cp.is_estimate);
		al_cp_finish(&cp);
		finish_layer(&layer);
	}
}

static void measures_the_residual(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], 20 + i);
		struct al_cp cp = decompose(&layer.heads,
			(struct al_cp_options){.rank = 3,
				.n_sweeps = 5,
				.start = AL_CP_RANDOM,
				.seed = i});
		const double dense = dense_error(&layer.heads, &cp);
		assert_true(fabs(cp.relative_error - dense) < 1e-13);
		al_cp_finish(&cp);
		finish_layer(&layer);
	}
}

/* The control: what singular values alone say of the greedy start. */
static void starts_at_truncated_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], 40 + i);
		const size_t bound = al_cp_bound(&layer.heads);
		double errors[64];
		assert_true(bound < 64);
		assert_true(al_cp_greedy_errors(&layer.heads, errors, NULL));
		assert_true(errors[0] == 1 && errors[bound] == 0);
		for (size_t rank = 1; rank <= bound; rank++) {
			struct al_cp cp = decompose(&layer.heads,
				(struct al_cp_options){.rank = rank, .start = AL_CP_GREEDY});
			assert_true(fabs(cp.relative_error - errors[rank]) < 1e-12);
			assert_true(errors[rank] < errors[rank - 1]);
			al_cp_finish(&cp);
		}
		finish_layer(&layer);
	}
}

/* The last column of every head is its first: no triangle of these can be divided by. */
static void repeat_columns(struct al_matrix m, size_t d_head)
{
	for (size_t first = 0; first < m.cols; first += d_head)
		memcpy(m.data + (first + d_head - 1) * m.ld, m.data + first * m.ld,
			m.rows * sizeof(double));
}

static void starts_with_dependent_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
		struct layer layer = gaussian_layer(small[i], 60 + i);
		repeat_columns(layer.query, layer.heads.d_head);
		if (i % 2)
			repeat_columns(layer.key, layer.heads.d_head);
		struct al_cp cp = decompose(&layer.heads,
			(struct al_cp_options){.rank = al_cp_bound(&layer.heads),
				.start = AL_CP_GREEDY});
		assert_true(cp.relative_error < 1e-12);
		al_cp_finish(&cp);
		finish_layer(&layer);
	}
}

static void check_sweeps(const struct al_heads *heads, size_t rank, enum al_cp_start start,
	double allowed)
{
	double before = INFINITY;

	for (size_t n = 0; n <= 12; n++) {
		struct al_cp cp = decompose(heads,
			(struct al_cp_options){.rank = rank,
				.n_sweeps = n,
				.start = start,
				.seed = 3});
		const double error = cp.relative_error * cp.relative_error;
		if (!(error <= before * (1 + allowed)))
			fail_msg("rank %zu, start %d, sweep %zu: %.9g after %.9g", rank, start, n,
				error, before);
		assert_true(cp.relative_error <= cp.start_error);
		before = error;
		al_cp_finish(&cp);
	}
}

/* `relative_error` is the best so far, so the sweeps themselves are watched too. */
struct watched {
	double before, allowed, first;
	size_t n;
};

static bool watch(void *context, size_t n_sweeps, double error)
{
	struct watched *w = context;

	assert_int_equal(n_sweeps, ++w->n);
	if (w->n == 1)
		w->first = error;
	if (!(error * error <= w->before * w->before + w->allowed))
		fail_msg("sweep %zu: %.9g after %.9g", n_sweeps, error, w->before);
	w->before = error;
	return true;
}

static void watch_sweeps(const struct al_heads *heads, size_t rank, enum al_cp_start start,
	double allowed)
{
	struct watched w = {.before = INFINITY, .allowed = allowed};
	struct al_cp cp = decompose(heads,
		(struct al_cp_options){.rank = rank,
			.n_sweeps = 40,
			.start = start,
			.seed = 3,
			.watch = watch,
			.context = &w});

	assert_int_equal(w.n, 40);
	al_cp_finish(&cp);
}

static void never_increases_the_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct layer layer = gaussian_layer(small[i], 60 + i);
		for (size_t rank = 2; rank < al_cp_bound(&layer.heads); rank += 5) {
			check_sweeps(&layer.heads, rank, AL_CP_GREEDY, 1e-12);
			check_sweeps(&layer.heads, rank, AL_CP_RANDOM, 1e-12);
			check_sweeps(&layer.single, rank, AL_CP_GREEDY, 1e-6);
			check_sweeps(&layer.single, rank, AL_CP_RANDOM, 1e-6);
			watch_sweeps(&layer.heads, rank, AL_CP_RANDOM, 1e-12);
			watch_sweeps(&layer.single, rank, AL_CP_RANDOM, 1e-6);
		}
		finish_layer(&layer);
	}
}

/* A factor with a repeated column makes normal matrices singular. */
static void survives_dependent_terms(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){4, 4, 3, 10, 10}, 80);

	(void)state;
	for (size_t j = 0; j < layer.query.cols; j++)
		for (size_t i = 0; i < layer.query.rows; i++)
			layer.query.data[i + j * layer.query.ld] = i == 0 ? (double)j
									  : 1e-9 * (double)(i + j);
	renew_single(&layer);
	for (size_t rank = 1; rank <= 12; rank++) {
		struct al_cp cp = decompose(&layer.heads,
			(struct al_cp_options){.rank = rank,
				.n_sweeps = 20,
				.start = AL_CP_RANDOM});
		assert_true(cp.relative_error <= cp.start_error);
		al_cp_finish(&cp);
		cp = decompose(&layer.single, (struct al_cp_options){.rank = rank, .n_sweeps = 20});
		assert_true(cp.relative_error <= cp.start_error);
		al_cp_finish(&cp);
	}
	finish_layer(&layer);
}

/* More terms than are needed find them as well. */
static void finds_fewer_dimensions_than_it_may(void **state)
{
	struct layer layer = collaborative_layer(48, 6, 8, 91);

	(void)state;
	for (size_t rank = 24; rank <= 40; rank += 4) {
		struct al_cp cp = decompose(&layer.heads,
			(struct al_cp_options){.rank = rank, .n_sweeps = 5});
		assert_true(cp.relative_error < 1e-11);
		al_cp_finish(&cp);
		cp = decompose(&layer.single, (struct al_cp_options){.rank = rank, .n_sweeps = 5});
		assert_true(cp.relative_error < 1e-4);
		al_cp_finish(&cp);
	}
	finish_layer(&layer);
}

static void finds_shared_dimensions(void **state)
{
	struct layer layer = collaborative_layer(192, 12, 16, 90);
	const struct al_cp_options options = {.rank = 96, .n_sweeps = 3, .start = AL_CP_ALGEBRAIC};

	(void)state;
	struct al_cp cp = decompose(&layer.heads, options);
	assert_true(cp.relative_error < 1e-9);
	al_cp_finish(&cp);
	cp = decompose(&layer.single, options);
	assert_true(cp.relative_error < 1e-5);
	al_cp_finish(&cp);
	finish_layer(&layer);
}

/* Where sweeps alone stall, AL_CP_AUTO takes the start that doesn't. */
static void takes_the_better_start(void **state)
{
	struct layer layer = collaborative_layer(48, 6, 8, 91),
		     noise = gaussian_layer(small[0], 92);
	struct al_cp_options options = {.rank = 24, .n_sweeps = 30};

	(void)state;
	struct al_cp cp = decompose(&layer.heads, options);
	assert_int_equal(cp.start, AL_CP_ALGEBRAIC);
	assert_true(cp.relative_error < 1e-9);
	al_cp_finish(&cp);
	options.start = AL_CP_GREEDY;
	cp = decompose(&layer.heads, options);
	assert_true(cp.relative_error > 0.05);
	al_cp_finish(&cp);
	options = (struct al_cp_options){.rank = 17, .n_sweeps = 3};
	cp = decompose(&noise.heads, options);
	assert_int_equal(cp.start, AL_CP_GREEDY);
	al_cp_finish(&cp);
	finish_layer(&noise);
	finish_layer(&layer);
}

/* Other minima than the first, never a worse one, the same ones each time. */
static void starts_again(void **state)
{
	struct layer noise = gaussian_layer(small[2], 95);
	struct al_cp_options options = {.rank = 6, .n_sweeps = 200, .stop = 1e-6};
	double errors[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		options.n_restarts = i > 0 ? 6 : 0;
		struct al_cp cp = decompose(&noise.heads, options);
		errors[i] = cp.relative_error;
		al_cp_finish(&cp);
	}
	assert_true(errors[1] < errors[0]);
	assert_true(errors[1] == errors[2]);
	finish_layer(&noise);
}

static void improves_on_truncated_heads(void **state)
{
	struct layer layer = noisy_layer(160, 56, 93);

	(void)state;
	struct al_cp cp = decompose(&layer.single,
		(struct al_cp_options){.rank = 56, .n_sweeps = 40, .start = AL_CP_GREEDY});
	assert_int_equal(cp.n_sweeps, 40);
	assert_true(cp.relative_error <= 0.95 * cp.start_error);
	al_cp_finish(&cp);
	finish_layer(&layer);
}

static void gives_the_same_bits_for_any_threads(void **state)
{
	struct layer layer = noisy_layer(300, 40, 94);
	const struct al_cp_options options = {.rank = 140, .n_sweeps = 3, .start = AL_CP_GREEDY};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct al_heads *heads = i ? &layer.single : &layer.heads;
		al_threads_set(1);
		struct al_cp one = decompose(heads, options);
		al_threads_set(3);
		struct al_cp three = decompose(heads, options);
		al_threads_set(1);
		assert_true(one.relative_error == three.relative_error);
		assert_memory_equal(one.query.data, three.query.data, 300 * 140 * sizeof(double));
		assert_memory_equal(one.key.data, three.key.data, 300 * 140 * sizeof(double));
		assert_memory_equal(one.mixing.data, three.mixing.data, 12 * 140 * sizeof(double));
		al_cp_finish(&three);
		al_cp_finish(&one);
	}
	finish_layer(&layer);
}

static void gives_one_form(void **state)
{
	struct layer layer = gaussian_layer(small[2], 95);
	struct al_cp cp = decompose(&layer.heads,
		(struct al_cp_options){.rank = 5, .n_sweeps = 10});
	double before = INFINITY;

	(void)state;
	for (size_t r = 0; r < 5; r++) {
		double query = 0, key = 0, mixing = 0, largest = 0;
		for (size_t i = 0; i < 17; i++)
			query += cp.query.data[i + r * 17] * cp.query.data[i + r * 17];
		for (size_t i = 0; i < 13; i++)
			key += cp.key.data[i + r * 13] * cp.key.data[i + r * 13];
		for (size_t i = 0; i < 6; i++) {
			const double m = cp.mixing.data[i + r * 6];
			mixing += m * m;
			largest = fabs(m) > fabs(largest) ? m : largest;
		}
		assert_true(fabs(mixing - 1) < 1e-14 && largest > 0);
		assert_true(fabs(query / key - 1) < 1e-13);
		assert_true(query <= before);
		before = query;
	}
	al_cp_finish(&cp);
	finish_layer(&layer);
}

static bool approximate_by_nothing(const void *context, size_t head, struct al_view x,
	struct al_matrix out, struct al_error *err)
{
	(void)context;
	(void)head;
	(void)x;
	(void)err;
	memset(out.data, 0, out.ld * out.cols * sizeof(double));
	return true;
}

/* The estimate lies within three standard errors of the residual. */
static void estimates_large_residuals(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){6, 2, 8, 70, 200}, 96);
	struct al_matrix left = matrix(70, 1), right = matrix(200, 1);
	bool is_estimate;
	double error, norm;

	(void)state;
	assert_true(al_heads_check(&layer.heads, &norm, NULL));
	const struct al_approximation nothing = {al_view(left), al_view(right),
		approximate_by_nothing, NULL};
	assert_true(al_residual(&layer.heads, norm, &nothing, 1e12, &error, &is_estimate, NULL));
	assert_false(is_estimate);
	assert_true(fabs(error - 1) < 1e-14);
	assert_true(al_residual(&layer.heads, norm, &nothing, 0, &error, &is_estimate, NULL));
	assert_true(is_estimate);
	assert_true(fabs(error - 1) < 0.1 && error != 1);
	al_matrix_finish(&right);
	al_matrix_finish(&left);
	finish_layer(&layer);
}

struct scaled {
	struct al_heads heads;
	double by;
};

/* T'_i = by T_i, with the heads' factors for left and right. */
static bool scale_head(const void *context, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	const struct scaled *s = context;
	const size_t d = s->heads.d_head, from = al_kv_head(&s->heads, head) * d, to = head * d;

	(void)err;
	memset(out.data, 0, out.ld * out.cols * sizeof(double));
	for (size_t j = 0; j < x.cols; j++)
		for (size_t i = 0; i < d; i++)
			out.data[to + i + j * out.ld] = s->by * x.data[from + i + j * x.ld];
	return true;
}

/* The same vectors estimate a residual that is smaller by so much, in either precision. */
static void check_estimates(const struct al_heads *heads)
{
	static const double parts[] = {1, 0.1, 2e-3, 1e-6, 1e-9};
	AL_SCRATCH(scratch);
	struct al_heads wide;
	double error, norm, first = 0;
	bool is_estimate;

	assert_true(al_heads_widen(&scratch, heads, &wide, NULL));
	assert_true(al_heads_check(heads, &norm, NULL));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct scaled scaled = {wide, 1 - parts[i]};
		const struct al_approximation a = {wide.query, wide.key, scale_head, &scaled};
		assert_true(al_residual(heads, norm, &a, 0, &error, &is_estimate, NULL));
		assert_true(is_estimate);
		first = i ? first : error;
		assert_true(fabs(error - parts[i] * first) < 1e-4 * parts[i] * first);
		assert_true(fabs(error - parts[i]) < 0.1 * parts[i]);
	}
}

static void estimates_in_the_heads_precision(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){18, 6, 8, 70, 200}, 97);

	(void)state;
	check_estimates(&layer.heads);
	check_estimates(&layer.single);
	finish_layer(&layer);
}

/* The squared error of so many plain sweeps, each factor in turn, from truncated heads. */
static double sweep_plainly(const struct al_heads *heads, size_t rank, size_t n_sweeps)
{
	struct al_cp start = decompose(heads,
		(struct al_cp_options){.rank = rank, .start = AL_CP_GREEDY});
	const struct al_cp_terms terms = {start.query, start.key, start.mixing};
	struct al_sweep *sweep = al_sweep_create(heads, rank, NULL);
	struct al_swept swept = {0, 0};
	double norm;

	assert_true(al_heads_norm(heads, &norm, NULL) && al_sweep_load(sweep, &terms, NULL));
	for (size_t i = 0; i < n_sweeps; i++)
		assert_true(al_sweep_step(sweep, &swept, NULL));
	al_sweep_destroy(sweep);
	al_cp_finish(&start);
	return 1 - swept.explained / norm;
}

/* Where plain sweeps creep: a hundred with momentum do what five hundred without do, or more. */
static void momentum_saves_sweeps(void **state)
{
	static const struct sizes sizes[] = {{12, 12, 8, 48, 48}, {8, 4, 6, 40, 30}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct layer layer = gaussian_layer(sizes[i], 300 + i);
		for (int single = 0; single < 2; single++) {
			const struct al_heads *heads = single ? &layer.single : &layer.heads;
			struct al_cp cp = decompose(heads,
				(struct al_cp_options){.rank = 20,
					.n_sweeps = 100,
					.start = AL_CP_GREEDY,
					.stop = 1e-7});
			const double plain = sweep_plainly(heads, 20, 500);
			const double found = cp.relative_error * cp.relative_error;
			if (!(found <= 1.01 * plain))
				fail_msg("%.9g, plain sweeps %.9g", found, plain);
			al_cp_finish(&cp);
		}
		finish_layer(&layer);
	}
}

/* What runs of a few sweeps came to when they were recorded: each start, both precisions, momentum
 * that is taken back, and restarts. Gaussian heads have no other reference. */
static void arrives_where_it_did(void **state)
{
	static const struct {
		struct sizes sizes;
		struct al_cp_options options;
		bool is_single;
		size_t n_sweeps;
		double start_error, error;
	} runs[] = {
		{{4, 4, 5, 16, 16}, {.rank = 8, .n_sweeps = 12, .start = AL_CP_RANDOM, .seed = 3},
			false, 12, 1.5783006481, 0.4921979424},
		{{6, 2, 4, 17, 13}, {.rank = 9, .n_sweeps = 12, .start = AL_CP_GREEDY}, false, 12,
			0.5718701162, 0.4971845726},
		{{4, 4, 5, 16, 16},
			{.rank = 12, .n_sweeps = 14, .start = AL_CP_ALGEBRAIC, .seed = 2}, false,
			14, 1.0869436746, 0.2883485729},
		{{12, 12, 8, 48, 48}, {.rank = 20, .n_sweeps = 60, .start = AL_CP_GREEDY}, false,
			60, 0.7656943749, 0.7610743822},
		{{12, 12, 8, 48, 48}, {.rank = 20, .n_sweeps = 25, .start = AL_CP_GREEDY}, true, 25,
			0.768994, 0.7636526},
		{{6, 2, 4, 17, 13}, {.rank = 6, .n_sweeps = 30, .stop = 1e-3, .n_restarts = 3},
			false, 20, 0.6037931239, 0.5511727691},
		{{4, 1, 5, 9, 12}, {.rank = 5, .n_sweeps = 30, .stop = 1e-3, .seed = 9}, false, 30,
			0.6152363622, 0.5028481952},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct layer layer = gaussian_layer(runs[i].sizes, 500 + i);
		struct al_cp cp = decompose(runs[i].is_single ? &layer.single : &layer.heads,
			runs[i].options);
		const double tolerance = runs[i].is_single ? 1e-7 : 1e-9;
		if (cp.n_sweeps != runs[i].n_sweeps
			|| !(fabs(cp.start_error - runs[i].start_error) <= tolerance)
			|| !(fabs(cp.relative_error - runs[i].error) <= tolerance))
			fail_msg("run %zu: %zu sweeps from %.10f to %.10f", i, cp.n_sweeps,
				cp.start_error, cp.relative_error);
		al_cp_finish(&cp);
		finish_layer(&layer);
	}
}

/* "Converged" is what more sweeps hardly change. */
static void says_whether_it_converged(void **state)
{
	struct layer layer = gaussian_layer((struct sizes){12, 12, 8, 48, 48}, 300);
	struct al_cp_options options = {.rank = 20, .n_sweeps = 5, .stop = 1e-5};

	(void)state;
	struct al_cp few = decompose(&layer.heads, options);
	assert_false(few.is_converged);
	assert_int_equal(few.n_sweeps, 5);
	options.n_sweeps = 2000;
	struct al_cp many = decompose(&layer.heads, options);
	assert_true(many.is_converged && many.n_sweeps < 2000);
	assert_true(many.relative_error < few.relative_error);
	options.stop = 0;
	struct al_cp all = decompose(&layer.heads, options);
	assert_true(!all.is_converged && many.relative_error < 1.01 * all.relative_error);
	al_cp_finish(&few);
	al_cp_finish(&many);
	al_cp_finish(&all);
	finish_layer(&layer);
}

static bool stop_at_two(void *context, size_t n_sweeps, double error)
{
	size_t *n_calls = context;

	(void)error;
	++*n_calls;
	return n_sweeps < 2;
}

static void stops_when_told(void **state)
{
	struct layer layer = gaussian_layer(small[0], 97);
	size_t n_calls = 0;
	struct al_cp_options options = {.rank = 7,
		.n_sweeps = 1000,
		.watch = stop_at_two,
		.context = &n_calls};

	(void)state;
	struct al_cp cp = decompose(&layer.heads, options);
	assert_int_equal(cp.n_sweeps, 2);
	assert_int_equal(n_calls, 2);
	al_cp_finish(&cp);
	options.watch = NULL;
	options.start = AL_CP_GREEDY;
	options.stop = 1e-4;
	cp = decompose(&layer.heads, options);
	assert_true(cp.n_sweeps > 2 && cp.n_sweeps < 1000);
	al_cp_finish(&cp);
	finish_layer(&layer);
}

static void check_refused(const struct al_heads *heads, struct al_cp_options options,
	const char *expected)
{
	struct al_cp cp;
	struct al_error err;

	assert_false(al_cp(heads, &options, &cp, &err));
	assert_string_equal(err.message, expected);
	assert_int_equal(err.status, AL_EINPUT);
	assert_null(cp.query.data);
	assert_false(al_cp(heads, &options, &cp, NULL));
}

static void refuses(void **state)
{
	struct layer layer = gaussian_layer(small[2], 98);

	(void)state;
	check_refused(&layer.heads, (struct al_cp_options){.rank = 0},
		"rank (0): expected 1 to 24");
	check_refused(&layer.heads, (struct al_cp_options){.rank = 25},
		"rank (25): expected 1 to 24");
	check_refused(&layer.heads, (struct al_cp_options){.rank = 4, .stop = NAN},
		"stop (nan): expected 0 or more");
	check_refused(&layer.heads, (struct al_cp_options){.rank = 9, .start = AL_CP_ALGEBRAIC},
		"no algebraic start: the rank exceeds the heads' multilinear rank");
	layer.query.data[3] = INFINITY;
	check_refused(&layer.heads, (struct al_cp_options){.rank = 4},
		"query: elements that are not finite");
	layer.query_f.data[3] = NAN;
	check_refused(&layer.single, (struct al_cp_options){.rank = 4},
		"query: elements that are not finite");
	finish_layer(&layer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reproduces_at_full_rank),
		cmocka_unit_test(measures_the_residual),
		cmocka_unit_test(starts_at_truncated_heads),
		cmocka_unit_test(starts_with_dependent_columns),
		cmocka_unit_test(never_increases_the_error),
		cmocka_unit_test(survives_dependent_terms),
		cmocka_unit_test(gives_the_same_bits_for_any_threads),
		cmocka_unit_test(gives_one_form),
		cmocka_unit_test(estimates_large_residuals),
		cmocka_unit_test(estimates_in_the_heads_precision),
		cmocka_unit_test(momentum_saves_sweeps),
		cmocka_unit_test(arrives_where_it_did),
		cmocka_unit_test(says_whether_it_converged),
		cmocka_unit_test(stops_when_told),
		cmocka_unit_test(refuses),
		cmocka_unit_test(takes_the_better_start),
		cmocka_unit_test(starts_again),
		cmocka_unit_test(finds_fewer_dimensions_than_it_may),
		cmocka_unit_test(finds_shared_dimensions),
		cmocka_unit_test(improves_on_truncated_heads),
	};

	/* Small matrices on a busy machine: threads would wait for each other. */
	al_threads_set(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
