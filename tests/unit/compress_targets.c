/* Targets choose ranks: the smallest within an error, the largest within a budget. */
#include "small_bert.h"

#include <math.h>

struct found {
	int64_t rank;
	double relative_error, parameters;
};

static struct found compress(struct fixture *f, struct al_compress_options options)
{
	struct al_table table;

	options.effort = (struct al_effort){.n_sweeps = 60, .seed = 1};
	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	MUST(al_compress(&f->opened.view, &options, f->compressed, &table, NULL, &err));
	assert_int_equal(table.n_rows, 1);
	const struct found found = {(int64_t)number(&table, 0, "rank"),
		number(&table, 0, "relative_error"), number(&table, 0, "parameters")};
	al_table_finish(&table);
	return found;
}

static struct found within_error(struct fixture *f, enum al_method method, double error)
{
	return compress(f, (struct al_compress_options){.method = method, .target_error = error});
}

static struct found at_rank(struct fixture *f, enum al_method method, int64_t rank)
{
	return compress(f,
		(struct al_compress_options){.method = method, .ranks = &rank, .n_ranks = 1});
}

static struct found within_parameters(struct fixture *f, enum al_method method, double parameters)
{
	return compress(f,
		(struct al_compress_options){.method = method,
			.budget = 1 - parameters / (2 * WIDE * (D + 1))});
}

/* The method's error at the rank found is within the target, at the rank below it isn't; a stricter
 * target takes more. */
static void smallest_rank_within_an_error(void **state)
{
	static const double targets[] = {0.7, 0.3};
	struct fixture *f = *state;

	for (int i = AL_METHOD_COLLAB; i <= AL_METHOD_QK; i++)
		for (size_t t = 0; t < sizeof(targets) / sizeof(*targets); t++) {
			const enum al_method method = (enum al_method)i;
			const struct found found = within_error(f, method, targets[t]);
			assert_true(found.relative_error <= targets[t]);
			assert_true(found.relative_error
				== at_rank(f, method, found.rank).relative_error);
			assert_true(found.rank > 1);
			assert_true(at_rank(f, method, found.rank - 1).relative_error > targets[t]);
			assert_true(within_error(f, method, targets[t] / 2).rank > found.rank);
		}
}

/* "At most": an error that a rank has exactly is within reach of it, one just below isn't. */
static void target_error_itself_is_allowed(void **state)
{
	struct fixture *f = *state;

	for (int i = AL_METHOD_COLLAB; i <= AL_METHOD_QK; i++) {
		const enum al_method method = (enum al_method)i;
		const struct found at = at_rank(f, method, 5);
		assert_int_equal(within_error(f, method, at.relative_error).rank, 5);
		assert_int_equal(within_error(f, method, nextafter(at.relative_error, 0)).rank, 6);
	}
}

/* The ends: one rank is enough, or nothing short of all is. */
static void lax_and_strict_targets(void **state)
{
	struct fixture *f = *state;

	for (int i = AL_METHOD_COLLAB; i <= AL_METHOD_QK; i++) {
		const enum al_method method = (enum al_method)i;
		assert_int_equal(within_error(f, method, 0.9999).rank, 1);
	}
	assert_int_equal(within_error(f, AL_METHOD_QK, 1e-9).rank, D_HEAD);
	/* both ends of Tucker's basis hold SHARED dimensions, and all of them */
	assert_int_equal(within_error(f, AL_METHOD_TUCKER, 1e-4).rank, SHARED);
}

static void largest_rank_within_parameters(void **state)
{
	static const int64_t ranks[] = {1, 7};
	struct fixture *f = *state;

	for (int i = AL_METHOD_COLLAB; i <= AL_METHOD_QK; i++)
		for (size_t r = 0; r < sizeof(ranks) / sizeof(*ranks); r++) {
			const enum al_method method = (enum al_method)i;
			const struct found at = at_rank(f, method, ranks[r]);
			const struct found next = at_rank(f, method, ranks[r] + 1);
			assert_int_equal(within_parameters(f, method, at.parameters).rank,
				ranks[r]);
			assert_int_equal(within_parameters(f, method, next.parameters - 1).rank,
				ranks[r]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BERT(smallest_rank_within_an_error),
		WITH_BERT(target_error_itself_is_allowed),
		WITH_BERT(lax_and_strict_targets),
		WITH_BERT(largest_rank_within_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
