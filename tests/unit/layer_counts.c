/* Components of all heads together, counted the quick way, against the singular values. */
#include "module.h"

#include "audit/measures.h"
#include "audit/spectra.h"

static const struct shape shapes[] = {
	{96, 96, 96, 96, 6, 6, 16, 16},
	{60, 60, 60, 60, 4, 4, 6, 5}, /* narrower */
	{30, 30, 30, 30, 6, 2, 10, 10}, /* wider, grouped queries */
	{36, 28, 28, 36, 6, 1, 6, 6}, /* cross-attention, one key/value head */
	{1, 1, 1, 1, 1, 1, 1, 1},
};

static void leave(struct al_matrix weights)
{
	(void)weights;
}

/* Beyond single precision's range, squared. */
static void make_tiny(struct al_matrix weights)
{
	for (size_t i = 0; i < weights.rows * weights.cols; i++)
		weights.data[i] *= 1e-30;
}

/* Ten equal values in a row: nine of them are 90 %, and no margin is left. */
static void make_equal(struct al_matrix weights)
{
	for (size_t j = 0; j < weights.cols; j++)
		for (size_t i = 0; i < weights.rows; i++)
			weights.data[i + j * weights.ld] = i == j && j < 10;
}

static void make_zero(struct al_matrix weights)
{
	memset(weights.data, 0, weights.rows * weights.cols * sizeof(double));
}

static void (*const changes[])(
	struct al_matrix weights) = {leave, make_tiny, make_equal, make_zero};

/* To so much of all squares are sums in single precision good: a tenth of the margin. */
static void assert_sums(struct al_matrix found, struct al_matrix expected)
{
	double *sums = test_calloc(2 * expected.rows + 1, sizeof(*sums));

	al_captured(found.data, found.rows, NULL, sums);
	al_captured(expected.data, expected.rows, NULL, sums + expected.rows);
	for (size_t k = 0; k < expected.rows; k++)
		assert_true(fabs(sums[k] - sums[expected.rows + k]) < 2e-7);
	test_free(sums);
}

static void assert_counts(const struct al_heads *heads)
{
	struct al_triangles t;
	struct al_spectra quick = {0}, exact = {0};

	assert_true(al_triangles_take(&t, heads, NULL));
	assert_true(al_layer_spectra(&quick, heads, &t, 0, AL_ALL_SPECTRA, NULL));
	assert_true(al_layer_spectra(&exact, heads, &t, AL_ALL_SPECTRA, 0, NULL));
	for (int kind = 0; kind < AL_N_SPECTRA; kind++) {
		const struct al_matrix found = quick.values[kind], expected = exact.values[kind];
		assert_int_equal(found.rows, expected.rows);
		assert_sums(found, expected);
		for (int i = 0; i < AL_N_SHARES; i++)
			assert_int_equal(al_components(found.data, found.rows, al_shares[i]),
				al_components(expected.data, expected.rows, al_shares[i]));
	}
	al_spectra_finish(&exact);
	al_spectra_finish(&quick);
	al_triangles_finish(&t);
}

/* From the projections, and from Gram matrices of theirs that are held. */
static void assert_counts_both_ways(struct module *m)
{
	struct al_matrix grams[AL_VALUE];

	assert_counts(&m->heads);
	for (int p = 0; p < AL_VALUE; p++) {
		grams[p] = new_matrix(m->of[p].cols, m->of[p].cols);
		assert_true(al_gram(AL_TRANSPOSED, al_view(m->of[p]), grams[p], NULL));
		m->heads.gram[p] = al_view(grams[p]);
	}
	assert_counts(&m->heads);
	for (int p = 0; p < AL_VALUE; p++)
		al_matrix_finish(&grams[p]);
}

static void are_those_of_the_values(void **state)
{
	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
		for (size_t c = 0; c < sizeof(changes) / sizeof(*changes); c++)
			for (size_t seed = 0; seed < 5; seed++) {
				struct module m = new_module(&shapes[s], seed);
				for (int p = 0; p < AL_N_PROJECTIONS; p++)
					changes[c](m.of[p]);
				assert_counts_both_ways(&m);
				finish_module(&m);
			}
}

static void have_no_margin_at_a_share(void **state)
{
	const double values[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

	(void)state;
	assert_false(al_components_stay(values, 10, .9, 1e-6));
	assert_true(al_components_stay(values, 10, .95, 1e-6));
	assert_true(al_components_stay(values, 0, .9, 1e-6));
}

static void come_in_fractions(void **state)
{
	const double equal[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, uneven[] = {3, 1}, none[] = {0, 0};

	(void)state;
	assert_true(al_components_between(equal, 10, .9) == 9);
	assert_true(al_components_between(equal, 10, .9 + 1e-6) == 9);
	assert_true(al_components_between(equal, 10, .95) == 9.5);
	assert_true(al_components_between(uneven, 2, .9) == 1);
	assert_true(al_components_between(uneven, 2, .95) == 1.5);
	assert_true(al_components_between(uneven, 2, .45) == .5);
	assert_true(al_components_between(none, 2, .9) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_those_of_the_values),
		cmocka_unit_test(have_no_margin_at_a_share),
		cmocka_unit_test(come_in_fractions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
