/* Decompositions by the installed library: plain arrays in, plain arrays out. */
#include "unit.h"

#include <math.h>

#include "attnledger.h"

enum { N_HEADS = 4, N_KV = 2, D_HEAD = 3, D_QUERY = 8, D_KEY = 7, LD = 11, N = N_HEADS * D_HEAD };

/* Numbers without a pattern, in the rows of a larger array. */
struct weights {
	double query[LD * N], key[LD * N];
	float query_f[LD * N], key_f[LD * N];
};

static void fill(struct weights *w)
{
	uint32_t state = 1;

	for (size_t i = 0; i < LD * N; i++) {
		state = state * 1664525 + 1013904223;
		w->query[i] = (double)(state >> 8) / (1 << 23) - 1;
		state = state * 1664525 + 1013904223;
		w->key[i] = (double)(state >> 8) / (1 << 23) - 1;
		w->query_f[i] = (float)w->query[i];
		w->key_f[i] = (float)w->key[i];
	}
}

static struct al_projections in_double(const struct weights *w)
{
	return (struct al_projections){.n_heads = N_HEADS,
		.n_kv_heads = N_KV,
		.d_head = D_HEAD,
		.d_query = D_QUERY,
		.d_key = D_KEY,
		.query = w->query,
		.key = w->key,
		.query_ld = LD,
		.key_ld = LD};
}

static struct al_projections in_single(const struct weights *w)
{
	struct al_projections p = in_double(w);

	p.query = p.key = NULL;
	p.query_f = w->query_f;
	p.key_f = w->key_f;
	return p;
}

/* T[head][i][j]: query head 2 and 3 meet key head 1. */
static double tensor(const struct weights *w, size_t head, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < D_HEAD; k++)
		sum += w->query[i + (head * D_HEAD + k) * LD]
			* w->key[j + (head / 2 * D_HEAD + k) * LD];
	return sum;
}

static double cp_element(const struct al_cp_factors *f, size_t head, size_t i, size_t j)
{
	double sum = 0;

	for (size_t r = 0; r < f->rank; r++)
		sum += f->query[i + r * D_QUERY] * f->mixing[head + r * N_HEADS]
			* f->key[j + r * D_KEY];
	return sum;
}

static double tucker_element(const struct al_tucker_factors *f, size_t head, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < D_HEAD; k++) {
		double query = 0, key = 0;
		for (size_t p = 0; p < f->query_rank; p++)
			query += f->query[i + p * D_QUERY]
				* f->core_query[p + (head * D_HEAD + k) * f->query_rank];
		for (size_t q = 0; q < f->key_rank; q++)
			key += f->key[j + q * D_KEY]
				* f->core_key[q + (head / 2 * D_HEAD + k) * f->key_rank];
		sum += query * key;
	}
	return sum;
}

static double error_of(const struct weights *w, const struct al_cp_factors *cp,
	const struct al_tucker_factors *tucker)
{
	double norm = 0, left = 0;

	for (size_t n = 0; n < N_HEADS * D_QUERY * D_KEY; n++) {
		const size_t head = n / (D_QUERY * D_KEY), i = n / D_KEY % D_QUERY, j = n % D_KEY;
		const double t = tensor(w, head, i, j);
		const double other = cp ? cp_element(cp, head, i, j)
					: tucker_element(tucker, head, i, j);
		norm += t * t;
		left += (t - other) * (t - other);
	}
	return sqrt(left / norm);
}

static void shares_dimensions(void **state)
{
	struct weights w;
	struct al_cp_factors f;
	struct al_error err = {0};

	(void)state;
	fill(&w);
	for (size_t rank = 1; rank <= N; rank++) {
		const struct al_cp_options options = {.rank = rank, .n_sweeps = 5};
		const struct al_projections wide = in_double(&w), single = in_single(&w);
		assert_true(al_decompose_cp(&wide, &options, &f, &err));
		assert_true(fabs(error_of(&w, &f, NULL) - f.relative_error) < 1e-12);
		assert_true(rank < N || f.relative_error < 1e-12);
		assert_true(f.relative_error <= f.start_error);
		al_cp_factors_finish(&f);
		assert_true(al_decompose_cp(&single, &options, &f, &err));
		assert_true(fabs(error_of(&w, &f, NULL) - f.relative_error) < 1e-5);
		al_cp_factors_finish(&f);
	}
	al_cp_factors_finish(&f);
}

static void compresses_widths(void **state)
{
	struct weights w;
	struct al_tucker_factors f;
	struct al_error err = {0};

	(void)state;
	fill(&w);
	const struct al_projections wide = in_double(&w);
	for (size_t rank = 1; rank <= 6; rank++) {
		const struct al_tucker_options options = {.query_rank = rank + 2, .key_rank = rank};
		assert_true(al_decompose_tucker(&wide, &options, &f, &err));
		assert_true(fabs(error_of(&w, NULL, &f) - f.relative_error) < 1e-12);
		assert_true(rank < 6 || f.relative_error < 1e-12);
		assert_null(f.head);
		al_tucker_factors_finish(&f);
	}
	const struct al_tucker_options full = {.modes = AL_TUCKER_FULL, .tolerance = 0.5};
	assert_true(al_decompose_tucker(&wide, &full, &f, &err));
	assert_true(f.relative_error <= 0.5 && f.head && f.head_rank >= 1);
	al_tucker_factors_finish(&f);
	al_tucker_factors_finish(&f);
}

static void check_refused(struct al_projections p, const char *expected)
{
	const struct al_cp_options cp_options = {.rank = 2};
	const struct al_tucker_options tucker_options = {.query_rank = 2, .key_rank = 2};
	struct al_cp_factors cp;
	struct al_tucker_factors tucker;
	struct al_error err;

	assert_false(al_decompose_cp(&p, &cp_options, &cp, &err));
	assert_string_equal(err.message, expected);
	assert_int_equal(err.status, AL_EINPUT);
	assert_null(cp.query);
	assert_false(al_decompose_tucker(&p, &tucker_options, &tucker, &err));
	assert_string_equal(err.message, expected);
	assert_null(tucker.query);
	assert_false(al_decompose_tucker(&p, &tucker_options, &tucker, NULL));
}

static void refuses(void **state)
{
	struct weights w;

	(void)state;
	fill(&w);
	struct al_projections p = in_double(&w);
	p.key = NULL;
	check_refused(p, "expected query and key, both in double or both in single precision");
	p = in_double(&w);
	p.query_f = w.query_f;
	check_refused(p, "expected query and key, both in double or both in single precision");
	p = in_double(&w);
	p.query_ld = 7;
	check_refused(p, "query: leading dimension 7 is below the 8 rows");
	p = in_double(&w);
	p.n_kv_heads = 3;
	check_refused(p, "n_heads (4) is not a multiple of n_kv_heads (3)");
	p = in_double(&w);
	p.d_head = 0;
	check_refused(p, "query: 0 columns, expected 4 heads of width 1");
	p.d_head = SIZE_MAX;
	check_refused(p, "4 heads of width 18446744073709551615 don't fit into memory");
	p = in_single(&w);
	w.key_f[3] = NAN;
	check_refused(p, "key: elements that are not finite");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_dimensions),
		cmocka_unit_test(compresses_widths),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
