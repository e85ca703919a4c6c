/* Exact principal components across heads: what tests/pca/oracle.py finds, and what holds for any
 * input. */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

#include "formats/npy.h"
#include "deacon/gram.h"
#include "deacon/regression.h"
#include "deacon/within.h"
#include "support/folder.h"
#include "support/weights.h"

enum { HEADS = 3, D_HEAD = 4, WIDTH = HEADS * D_HEAD, TOKENS = 300, TARGETS = 5 };

static double made_head(int64_t t, int64_t k)
{
	const int64_t head = k / D_HEAD, dimension = k % D_HEAD,
		      noise = (t * 7919 + k * 104729 + t * t * (k + 3)) % 1009 - 504,
		      common = (t * 4001 + dimension * 911 + t * t * 17) % 2003 - 1001;

	return (double)(noise * (head + 1) + common * (1 - head % 3) + 500 * k);
}

static double made_target(int64_t t, int64_t k)
{
	return made_head(t, k % WIDTH) * 3 - made_head(t, (k * 5 + 1) % WIDTH)
		+ (double)((t * 613 + k * 37) % 401);
}

static void make(double *heads, double *targets, size_t n)
{
	for (size_t t = 0; t < n; t++) {
		for (size_t k = 0; k < WIDTH; k++)
			heads[t * WIDTH + k] = made_head((int64_t)t, (int64_t)k);
		for (size_t k = 0; targets && k < TARGETS; k++)
			targets[t * TARGETS + k] = made_target((int64_t)t, (int64_t)k);
	}
}

/* A file of heads, and perhaps one of targets, opened. */
struct outputs {
	struct test_folder folder;
	struct al_checkpoint files[2];
	struct al_rows rows[2];
};

static void open_one(struct outputs *o, int i, const char *name)
{
	char path[256];
	struct al_error err;

	test_path(path, &o->folder, name);
	if (!al_checkpoint_open(&o->files[i], path, &err)
		|| !al_rows_of(&o->rows[i], &o->files[i], &o->files[i].tensors[0], &err))
		fail_msg("%s", err.message);
}

static void open_outputs(struct outputs *o, const double *heads, size_t width,
	const double *targets, size_t n)
{
	char path[256];

	*o = (struct outputs){0};
	test_folder_make(&o->folder);
	write_npy(test_path(path, &o->folder, "heads.npy"), heads, width, n, true);
	open_one(o, 0, "heads.npy");
	if (targets) {
		write_npy(test_path(path, &o->folder, "targets.npy"), targets, TARGETS, n, true);
		open_one(o, 1, "targets.npy");
	}
}

/* In single precision. */
static void open_singles(struct outputs *o, const double *heads)
{
	const struct weight weight = {"heads", "F32", {TOKENS, WIDTH}, 2, heads};
	char path[256];

	*o = (struct outputs){0};
	test_folder_make(&o->folder);
	write_weights(test_path(path, &o->folder, "heads.safetensors"), &weight, 1);
	open_one(o, 0, "heads.safetensors");
}

static void close_outputs(struct outputs *o)
{
	for (int i = 0; i < 2; i++)
		if (o->rows[i].width)
			al_checkpoint_close(&o->files[i]);
	test_folder_remove(&o->folder);
}

static void find(struct al_principal *p, const struct outputs *o, enum al_pca_architecture a,
	size_t n_heads)
{
	const struct al_pca_options options = {.architecture = a,
		.n_heads = n_heads,
		.d_head = o->rows[0].width / n_heads};
	struct al_error err;

	if (!al_principal_find(p, o->rows, &options, &err))
		fail_msg("%s", err.message);
}

/* ---- numpy's values ---- */

static const struct expected {
	enum al_pca_architecture architecture;
	size_t n;
	double values[9], errors[9];
} numpy[] = {
	{AL_DIRECT, 3, {1.488134688105254, 0.9949777773786844, 0.51688753451606},
		{0.625195690334, 0.458694345959, 0.0542617216751}},
	{AL_AVERAGE, 3, {0.276818178407315, 0.2292351483112968, 0.1120510978210055},
		{0.944044828198, 0.925709777054, 0.90202671249}},
	{AL_NONLINEAR, 9,
		{5.066654564292643, 2.637176358086375, 0.9615652249334773, 0.2500224036746375,
			0.03517379715379239, 0.02360996678959339, 0.013884893349067,
			0.007787513057269452, 0.004125278663145368},
		{0.808794138329, 0.403290542991, 0.115980311645, 0.0951034965401, 0.0937184404183,
			0.0619390882773, 0.0568073207067, 0.0520208441757, 0.0516177211066}},
};

static void numpy_agrees(void **state)
{
	static double heads[TOKENS * WIDTH], targets[TOKENS * TARGETS];
	struct outputs o;

	(void)state;
	make(heads, targets, TOKENS);
	open_outputs(&o, heads, WIDTH, targets, TOKENS);
	for (size_t k = 0; k < sizeof(numpy) / sizeof(*numpy); k++) {
		struct al_principal p;
		struct al_target_moments moments;
		double errors[10];
		find(&p, &o, numpy[k].architecture, HEADS);
		assert_int_equal(p.layer.n_features, numpy[k].n);
		const struct al_view vectors = al_view(p.vectors);
		assert_true(al_target_moments_find(&moments, o.rows, &p, &vectors, NULL)
			&& al_regression_errors(&moments, p.layer.width, errors, NULL));
		for (size_t i = 0; i < numpy[k].n; i++) {
			assert_true(fabs(p.values[i] - numpy[k].values[i]) < 1e-12 * p.sum);
			assert_true(fabs(errors[i + 1] - numpy[k].errors[i]) < 1e-10);
		}
		al_target_moments_finish(&moments);
		al_principal_finish(&p);
	}
	close_outputs(&o);
}

/* ---- sums ---- */

static void sums_within_dimensions(void **state)
{
	enum { N = 150, MOST = 8 * 9 };
	static double rows[N * MOST], shift[MOST];

	(void)state;
	fill_normal(rows, N * MOST, 1);
	fill_normal(shift, MOST, 2);
	for (size_t h = 1; h <= 8; h++)
		for (size_t d = 1; d <= 9; d++) {
			const struct al_within w = {h, d, shift};
			const struct al_statistic statistic = al_within_statistic(&w);
			double *sums = calloc(statistic.n_sums, sizeof(*sums));
			assert_non_null(sums);
			assert_true(statistic.add(statistic.context, rows, N, sums, NULL));
			for (size_t i = 0; i < h; i++)
				for (size_t k = 0; k < h; k++)
					for (size_t j = 0; j < d; j++) {
						double product = 0;
						for (size_t t = 0; t < N; t++)
							product += (rows[t * h * d + i * d + j]
									   - shift[i * d + j])
								* (rows[t * h * d + k * d + j]
									- shift[k * d + j]);
						assert_true(fabs(product
								    - al_within_product(&w, sums, i,
									    k, j))
							< 1e-10);
					}
			free(sums);
		}
}

/* Panels are added up in their order, whoever summed them. */
static void threads_agree(void **state)
{
	enum { N = 20000 };
	double *heads = malloc(sizeof(double) * N * WIDTH), values[2][9];
	struct outputs o;

	(void)state;
	assert_non_null(heads);
	make(heads, NULL, N);
	open_outputs(&o, heads, WIDTH, NULL, N);
	for (int a = 0; a < AL_N_ARCHITECTURES; a++) {
		for (int threads = 1; threads <= 2; threads++) {
			struct al_principal p;
			al_threads_set(threads == 1 ? 1 : 3);
			find(&p, &o, (enum al_pca_architecture)a, HEADS);
			memcpy(values[threads - 1], p.values, p.layer.n_features * sizeof(double));
			al_principal_finish(&p);
		}
		assert_memory_equal(values[0], values[1], HEADS * sizeof(double));
	}
	al_threads_set(0);
	close_outputs(&o);
	free(heads);
}

/* A mean a million times the deviation costs no digits. */
static void far_from_zero(void **state)
{
	static double heads[TOKENS * WIDTH];
	double values[HEADS];
	struct outputs o;
	struct al_principal p;

	(void)state;
	for (int far = 0; far < 2; far++) {
		make(heads, NULL, TOKENS);
		for (size_t i = 0; far && i < TOKENS * WIDTH; i++)
			heads[i] += 0x1p40;
		open_outputs(&o, heads, WIDTH, NULL, TOKENS);
		find(&p, &o, AL_DIRECT, HEADS);
		for (size_t i = 0; i < HEADS; i++) {
			assert_true(!far || fabs(p.values[i] - values[i]) < 1e-12);
			values[i] = p.values[i];
		}
		al_principal_finish(&p);
		close_outputs(&o);
	}
}

/* ---- bad input ---- */

static void not_finite(void **state)
{
	static double heads[TOKENS * WIDTH];
	struct outputs o;
	struct al_principal p, without;

	(void)state;
	make(heads, NULL, TOKENS);
	heads[0] = NAN;
	heads[(TOKENS - 1) * WIDTH + 3] = -INFINITY;
	open_outputs(&o, heads, WIDTH, NULL, TOKENS);
	find(&p, &o, AL_DIRECT, HEADS);
	assert_int_equal(p.n_left_out, 2);
	assert_int_equal(p.n_tokens, TOKENS - 2);
	close_outputs(&o);
	open_outputs(&o, heads + WIDTH, WIDTH, NULL, TOKENS - 2);
	find(&without, &o, AL_DIRECT, HEADS);
	assert_memory_equal(p.values, without.values, HEADS * sizeof(double));
	al_principal_finish(&p);
	al_principal_finish(&without);
	close_outputs(&o);
}

static void constants(void **state)
{
	static double heads[TOKENS * WIDTH];
	struct outputs o;
	struct al_principal p;
	struct al_error err;
	const struct al_pca_options options = {AL_DIRECT, HEADS, D_HEAD, 0};

	(void)state;
	make(heads, NULL, TOKENS);
	for (size_t t = 0; t < TOKENS; t++)
		heads[t * WIDTH + 5] = 0.1;
	open_outputs(&o, heads, WIDTH, NULL, TOKENS);
	find(&p, &o, AL_DIRECT, HEADS);
	assert_int_equal(p.n_constant, 1);
	assert_true(p.layer.scale[5] == 0 && fabs(p.sum - (HEADS - 1.0 / D_HEAD)) < 1e-12);
	al_principal_finish(&p);
	close_outputs(&o);
	for (size_t i = 0; i < TOKENS * WIDTH; i++)
		heads[i] = 0.1;
	open_outputs(&o, heads, WIDTH, NULL, TOKENS);
	assert_false(al_principal_find(&p, o.rows, &options, &err));
	assert_string_equal(err.message, "all 12 features are constant");
	close_outputs(&o);
	/* single precision's rounding, in double precision a number, isn't one in single */
	for (size_t i = 0; i < TOKENS * WIDTH; i++)
		heads[i] = 0.1 * (1 + (double)(i * i % 7 % 3) * (double)FLT_EPSILON);
	open_singles(&o, heads);
	assert_false(al_principal_find(&p, o.rows, &options, &err));
	assert_string_equal(err.message, "all 12 features are constant");
	close_outputs(&o);
	open_outputs(&o, heads, WIDTH, NULL, TOKENS);
	assert_true(al_principal_find(&p, o.rows, &options, &err));
	assert_int_equal(p.n_constant, 0);
	al_principal_finish(&p);
	close_outputs(&o);
	open_outputs(&o, heads, WIDTH, NULL, HEADS);
	assert_false(al_principal_find(&p, o.rows, &options, &err));
	assert_string_equal(err.message,
		"found only 3 tokens with finite numbers; need more than the 3 features");
	close_outputs(&o);
}

/* Squares up to 1e308 are numbers; the numbers of a target need some variance. */
static void refuses_numbers_by_their_size(void **state)
{
	static const struct {
		double heads, targets; /* what the made-up numbers are multiplied with */
		const char *message; /* NULL: none */
	} cases[] = {
		{1e140, 1, NULL},
		{1e160, 1, "the numbers are too large: their squares overflow"},
		{1, 1e140, NULL},
		{1, 1e160, "the target is too large: its squares overflow"},
		{1, 1e-140, NULL},
		{1, 0, "the target is constant"},
	};
	static double heads[TOKENS * WIDTH], targets[TOKENS * TARGETS];

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++)
		for (int a = AL_DIRECT; a <= AL_AVERAGE; a++) {
			const struct al_pca_options options = {(enum al_pca_architecture)a, HEADS,
				D_HEAD, 0};
			struct outputs o;
			struct al_principal p;
			struct al_target_moments moments;
			struct al_error err;
			make(heads, targets, TOKENS);
			for (size_t i = 0; i < TOKENS * WIDTH; i++)
				heads[i] *= cases[c].heads;
			for (size_t i = 0; i < TOKENS * TARGETS; i++)
				targets[i] *= cases[c].targets;
			open_outputs(&o, heads, WIDTH, targets, TOKENS);
			const bool is_found = al_principal_find(&p, o.rows, &options, &err);
			const bool ok = is_found
				&& al_target_moments_find(&moments, o.rows, &p, NULL, &err);
			if (ok)
				al_target_moments_finish(&moments);
			else
				assert_string_equal(err.message,
					cases[c].message ? cases[c].message : "taken");
			assert_true(ok == !cases[c].message);
			if (is_found)
				al_principal_finish(&p);
			close_outputs(&o);
		}
}

/* Of m = n_features nothing is dropped; a target that heads give exactly has no error then. */
static void all_components_change_nothing(void **state)
{
	static double heads[TOKENS * WIDTH], targets[TOKENS * TARGETS];
	struct outputs o;
	struct al_principal p;
	struct al_target_moments moments;
	double errors[HEADS + 1];

	(void)state;
	make(heads, NULL, TOKENS);
	for (size_t t = 0; t < TOKENS; t++)
		for (size_t k = 0; k < TARGETS; k++)
			targets[t * TARGETS + k] = heads[t * WIDTH + 2 * k]
				- 3 * heads[t * WIDTH + k] + 7;
	open_outputs(&o, heads, WIDTH, targets, TOKENS);
	find(&p, &o, AL_DIRECT, HEADS);
	const struct al_view vectors = al_view(p.vectors);
	assert_true(al_target_moments_find(&moments, o.rows, &p, &vectors, NULL)
		&& al_regression_errors(&moments, p.layer.width, errors, NULL));
	assert_true(errors[0] == 1 && errors[1] > 0.1 && errors[HEADS] < 1e-6);
	assert_true(al_principal_error(&p, HEADS) == 0);
	al_target_moments_finish(&moments);
	al_principal_finish(&p);
	close_outputs(&o);
}

static void names(void **state)
{
	struct al_pca_layer layer;
	struct al_arena arena;
	AL_SCRATCH(scratch);
	static const char *const expected[] = {"head 0", "head 1", "head 2", "head 3",
		"head 0 squared", "head 1 squared", "head 2 squared", "head 3 squared",
		"head 0 * head 1", "head 0 * head 2", "head 0 * head 3", "head 1 * head 2",
		"head 1 * head 3", "head 2 * head 3"};

	(void)state;
	al_arena_init(&arena);
	assert_true(al_pca_layer_init(&layer, AL_NONLINEAR, 4, 2, &scratch, NULL));
	for (size_t k = 0; k < 14; k++)
		assert_string_equal(al_pca_feature_name(&layer, k, &arena), expected[k]);
	al_arena_finish(&arena);
}

/* ---- what must hold ---- */

/* Of four heads two are copies: no variance is left for two components, and none is negative. */
static void copies_leave_nothing(void **state)
{
	enum { COPIES = 4 };
	static double heads[TOKENS * COPIES * D_HEAD];
	struct outputs o;
	struct al_principal p;
	double sum = 0;

	(void)state;
	for (size_t t = 0; t < TOKENS; t++)
		for (size_t k = 0; k < COPIES * D_HEAD; k++)
			heads[t * COPIES * D_HEAD + k] = made_head((int64_t)t,
				(int64_t)(k % (2 * D_HEAD)));
	open_outputs(&o, heads, COPIES * D_HEAD, NULL, TOKENS);
	for (int a = AL_DIRECT; a <= AL_AVERAGE; a++, sum = 0) {
		find(&p, &o, (enum al_pca_architecture)a, COPIES);
		for (size_t i = 0; i < COPIES; i++) {
			assert_true(p.values[i] >= 0);
			assert_true(i < 2 || p.values[i] < 1e-12);
			sum += p.covariance.data[i + i * p.covariance.ld];
		}
		assert_true(fabs(p.sum - sum) < 1e-12);
		al_principal_finish(&p);
	}
	close_outputs(&o);
}

/* Sums and products of all numbers say what the rows themselves do. */
static void moments_say_what_rows_say(void **state)
{
	static double heads[TOKENS * WIDTH], sums[WIDTH], products[WIDTH * WIDTH];
	const struct al_head_moments moments = {.n_tokens = TOKENS,
		.sums = sums,
		.products = {products, WIDTH, WIDTH, WIDTH}};
	struct outputs o;
	struct al_principal rows, p;
	struct al_error err;

	(void)state;
	make(heads, NULL, TOKENS);
	for (size_t t = 0; t < TOKENS; t++)
		for (size_t k = 0; k < WIDTH; k++) {
			sums[k] += heads[t * WIDTH + k];
			for (size_t i = 0; i < WIDTH; i++)
				products[i + k * WIDTH] += heads[t * WIDTH + i]
					* heads[t * WIDTH + k];
		}
	open_outputs(&o, heads, WIDTH, NULL, TOKENS);
	for (int a = AL_DIRECT; a <= AL_AVERAGE; a++) {
		const struct al_pca_options options = {.architecture = (enum al_pca_architecture)a,
			.n_heads = HEADS,
			.d_head = D_HEAD,
			.epsilon = 1e-5};
		if (!al_principal_find(&rows, o.rows, &options, &err)
			|| !al_principal_of_moments(&p, &moments, &options, &err))
			fail_msg("%s", err.message);
		assert_int_equal(p.n_tokens, rows.n_tokens);
		for (size_t i = 0; i < HEADS * HEADS; i++)
			assert_true(fabs(p.covariance.data[i] - rows.covariance.data[i]) < 1e-9);
		for (size_t i = 0; i < HEADS; i++)
			assert_true(fabs(p.values[i] - rows.values[i]) < 1e-9);
		al_principal_finish(&rows);
		al_principal_finish(&p);
	}
	close_outputs(&o);
	assert_false(al_principal_of_moments(&p, &moments,
		&(struct al_pca_options){AL_NONLINEAR, HEADS, D_HEAD, 0}, &err));
	assert_string_equal(err.message,
		"second moments don't contain the squares and products that the nonlinear "
		"architecture needs");
}

/* As many tokens as features say nothing; one more does. */
static void tokens_must_exceed_features(void **state)
{
	static double heads[(HEADS + 1) * WIDTH];
	const struct al_pca_options options = {.n_heads = HEADS, .d_head = D_HEAD};
	struct al_principal p;
	struct outputs o;
	struct al_error err;

	(void)state;
	make(heads, NULL, HEADS + 1);
	open_outputs(&o, heads, WIDTH, NULL, HEADS);
	assert_false(al_principal_find(&p, o.rows, &options, &err));
	assert_string_equal(err.message,
		"found only 3 tokens with finite numbers; need more than the 3 features");
	close_outputs(&o);
	open_outputs(&o, heads, WIDTH, NULL, HEADS + 1);
	find(&p, &o, AL_DIRECT, HEADS);
	al_principal_finish(&p);
	close_outputs(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numpy_agrees),
		cmocka_unit_test(sums_within_dimensions),
		cmocka_unit_test(threads_agree),
		cmocka_unit_test(far_from_zero),
		cmocka_unit_test(not_finite),
		cmocka_unit_test(constants),
		cmocka_unit_test(refuses_numbers_by_their_size),
		cmocka_unit_test(all_components_change_nothing),
		cmocka_unit_test(names),
		cmocka_unit_test(copies_leave_nothing),
		cmocka_unit_test(moments_say_what_rows_say),
		cmocka_unit_test(tokens_must_exceed_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
