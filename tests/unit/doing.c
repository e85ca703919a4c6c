/* What heads do on a calibration's tokens: known answers of made-up sums. */
#include "unit.h"

#include <math.h>

#include "audit/likeness.h"
#include "audit/doing.h"
#include "base/base.h"

enum { HEADS = 3, WIDTH = 2, ALL = HEADS * WIDTH, TOKENS = 50 };
enum { PAIRS = HEADS * (HEADS + 1) / 2, SQUARE = ALL * (ALL + 1) / 2 };

static double inputs[3] = {0, 0, TOKENS}, moments[SQUARE], sums[ALL], norms[HEADS];
/* Upper triangle, column by column: heads 0 and 1 have variances 4 and 9 and covariance 3. */
static double logits[PAIRS] = {4, 3, 9, 0, -1, 1};
static double scores[AL_N_STATISTICS][HEADS];

/* Head 1 puts out what head 0 does, turned and three times as long, and both have means; head 2
 * does something else. */
static void fill(void)
{
	memset(moments, 0, sizeof(moments));
	memset(sums, 0, sizeof(sums));
	for (int t = 0; t < TOKENS; t++) {
		const double a = sin(1.3 * t) + .5, b = cos(2.9 * t * t), c = sin(.7 * t * t + 1);
		const double o[ALL] = {a, b, 3 * (.6 * a - .8 * b) + 7, 3 * (.8 * a + .6 * b), c,
			cos(5.1 * t * t)};
		size_t n = 0;
		for (int j = 0; j < ALL; j++) {
			sums[j] += o[j];
			for (int i = 0; i <= j; i++)
				moments[n++] += o[i] * o[j];
		}
	}
}

static struct al_matrix column(double *data, size_t n)
{
	return (struct al_matrix){data, n, 1, n};
}

static struct al_module_statistics make_module(void)
{
	struct al_module_statistics m = {.name = "layers.0", .n_inputs = 1, .tokens = &inputs[2]};

	fill();
	for (int kind = 0; kind < AL_N_STATISTICS; kind++)
		m.of[kind] = column(scores[kind], HEADS);
	m.of[AL_STATISTIC_INPUTS] = column(inputs, 3);
	m.of[AL_STATISTIC_HEADS] = column(moments, SQUARE);
	m.of[AL_STATISTIC_SUMS] = column(sums, ALL);
	m.of[AL_STATISTIC_NORMS] = column(norms, HEADS);
	m.of[AL_STATISTIC_LOGITS] = column(logits, PAIRS);
	return m;
}

static void heads_that_do_alike_are_found(void **state)
{
	const struct al_module_statistics m = make_module();
	struct al_alike_head alike[HEADS];
	(void)state;

	assert_true(al_heads_alike(&m, alike, NULL));
	assert_int_equal(alike[0].head, 1);
	assert_int_equal(alike[1].head, 0);
	assert_int_equal(alike[2].head, 0);
	for (int i = 0; i < 2; i++) {
		assert_true(fabs(alike[i].logits - .5) < 1e-12);
		assert_true(fabs(alike[i].outputs - 1) < 1e-12);
	}
	assert_true(alike[2].outputs < .3);
}

static void expect_doing(const struct al_calibration *c, const char *const *expected)
{
	struct al_table table;

	al_table_init(&table, "drop", "");
	al_table_add_column(&table, (struct al_column){.key = "module"});
	al_table_add_column(&table, (struct al_column){.key = "head"});
	al_table_add_column(&table, (struct al_column){.key = "doing"});
	for (size_t i = 0; i < c->n_modules * HEADS; i++) {
		struct al_cell *cells = al_table_add_row(&table);
		al_cell_set_text(&table, &cells[0], c->modules[i / HEADS].name);
		al_cell_set_int(&table, &cells[1], (int64_t)i % HEADS);
	}
	assert_true(al_doing_fill(c, &table, "doing", NULL));
	for (size_t i = 0; i < c->n_modules * HEADS; i++)
		assert_string_equal(al_table_text(&table, i, "doing"), expected[i]);
	al_table_finish(&table);
}

static void what_stands_out_is_named(void **state)
{
	struct al_module_statistics m = make_module();
	int64_t queries[AL_N_QUERIES] = {10, 20, 5};
	struct al_calibration c = {.n_folds = 1, .modules = &m, .n_modules = 1};
	static const char *const expected[HEADS] = {"previous token 0.40", "", "induction 0.40"};
	(void)state;

	for (int i = 0; i < AL_QUERIES_RANDOM_LATER; i++)
		c.n_queries[i] = &queries[i];
	scores[AL_STATISTIC_PREVIOUS][0] = .4 * 20;
	scores[AL_STATISTIC_PREVIOUS][1] = .09 * 20;
	scores[AL_STATISTIC_SELF][2] = .05 * TOKENS;
	scores[AL_STATISTIC_SUCCESSORS][2] = .4 * 5;
	scores[AL_STATISTIC_DUPLICATES][1] = .39 * 5;
	expect_doing(&c, expected);
}

/* 0.20 is more than twice 0.09, the mean of the two in the middle; 0.15 isn't. */
static void what_stands_out_is_twice_the_median(void **state)
{
	struct al_module_statistics modules[2] = {make_module(), make_module()};
	double here[HEADS] = {.30 * TOKENS, .20 * TOKENS, .15 * TOKENS},
	       there[HEADS] = {.03 * TOKENS, .02 * TOKENS, .01 * TOKENS};
	int64_t queries[AL_N_QUERIES] = {10, 20, 5};
	struct al_calibration c = {.n_folds = 1, .modules = modules, .n_modules = 2};
	static const char *const expected[2 * HEADS] = {"itself 0.30", "itself 0.20", "", "", "",
		""};
	(void)state;

	memset(scores, 0, sizeof(scores));
	for (int i = 0; i < AL_QUERIES_RANDOM_LATER; i++)
		c.n_queries[i] = &queries[i];
	modules[0].of[AL_STATISTIC_SELF] = column(here, HEADS);
	modules[1].of[AL_STATISTIC_SELF] = column(there, HEADS);
	modules[1].name = "layers.1";
	expect_doing(&c, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_that_do_alike_are_found),
		cmocka_unit_test(what_stands_out_is_named),
		cmocka_unit_test(what_stands_out_is_twice_the_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
