/* Nulls: published counts, what a draw keeps, and what it tells apart. */
#include "module.h"

#include "audit/measures.h"
#include "audit/nulls.h"
#include "audit/spectra.h"

static const struct shape bert = {768, 768, 768, 768, 12, 12, 64, 64};
static const struct shape small = {96, 96, 96, 96, 6, 6, 16, 16};
static const struct shape grouped = {96, 80, 80, 96, 6, 2, 16, 12};
static const struct shape wide = {24, 24, 24, 24, 3, 3, 40, 40}; /* heads wider than the model */

static size_t n90(const struct al_spectra *spectra, enum al_spectrum kind)
{
	const struct al_matrix values = spectra->values[kind];

	return al_components(values.data, values.rows, 0.9);
}

static void assert_near(size_t found, size_t expected, size_t within)
{
	assert_between(found, expected - within, expected + within);
}

/* Of BERT's concatenated W_Q and W_K, and of its full-width products. */
static void check_gaussian_layer(const struct al_spectra *layer)
{
	assert_near(n90(layer, AL_SPECTRUM_Q), 391, 2);
	assert_near(n90(layer, AL_SPECTRUM_K), 391, 2);
	assert_near(n90(layer, AL_SPECTRUM_QK), 287, 2);
	assert_near(n90(layer, AL_SPECTRUM_OV), 287, 2);
}

/* Components for 90 % at d_model 768, d_head 64: 54 of a head's W_Q, 52 of its product, 391 of the
 * concatenated W_Q, 287 of the full-width product. */
static void gaussian_weights_give_the_known_counts(void **state)
{
	struct module m = new_module(&bert, 1);
	struct al_spectra heads = {0}, layer = {0};

	(void)state;
	assert_true(al_null_gaussian(&heads, &layer, &m.heads, true, false, 0, NULL));
	assert_near(n90(&heads, AL_SPECTRUM_Q), 54, 2);
	assert_near(n90(&heads, AL_SPECTRUM_K), 54, 2);
	assert_near(n90(&heads, AL_SPECTRUM_QK), 52, 2);
	assert_near(n90(&heads, AL_SPECTRUM_OV), 52, 2);
	check_gaussian_layer(&layer);
	al_spectra_finish(&layer);
	al_spectra_finish(&heads);
	finish_module(&m);
}

/* In float as in double, to its precision. */
static void check_float(const struct shape *shape)
{
	struct module m = new_module(shape, 2);
	struct al_matrix_f narrow[AL_N_PROJECTIONS];
	struct al_heads single = m.heads;
	struct al_triangles t;
	struct al_spectra layer = {0}, layer_f = {0};

	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_true(al_layer_spectra(&layer, &m.heads, &t, AL_ALL_SPECTRA, 0, NULL));
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		assert_true(al_matrix_init_f(&narrow[p], m.of[p].rows, m.of[p].cols, NULL));
		assert_true(al_narrow(al_view(m.of[p]), narrow[p], NULL));
	}
	single.query = single.key = single.value = single.output = (struct al_view){0};
	single.query_f = al_view_f(narrow[AL_QUERY]);
	single.key_f = al_view_f(narrow[AL_KEY]);
	single.value_f = al_view_f(narrow[AL_VALUE]);
	single.output_f = al_view_f(narrow[AL_OUTPUT]);
	assert_true(al_layer_spectra(&layer_f, &single, &t, AL_ALL_SPECTRA, 0, NULL));
	for (int k = 0; k < AL_N_SPECTRA; k++) {
		assert_int_equal(layer.values[k].rows, layer_f.values[k].rows);
		assert_int_equal(n90(&layer, (enum al_spectrum)k),
			n90(&layer_f, (enum al_spectrum)k));
		for (size_t i = 0; i < layer.values[k].rows; i++)
			assert_true(fabs(layer.values[k].data[i] - layer_f.values[k].data[i])
				< 1e-3 * layer.values[k].data[0]);
	}
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish_f(&narrow[p]);
	al_spectra_finish(&layer_f);
	al_spectra_finish(&layer);
	al_triangles_finish(&t);
	finish_module(&m);
}

static void floats_give_the_same_components(void **state)
{
	(void)state;
	check_float(&small);
	check_float(&grouped);
	check_float(&wide);
}

/* ---- independent heads ---- */

static struct al_spectra draw(const struct module *m, uint64_t seed, uint64_t module,
	uint64_t number)
{
	struct al_triangles t;
	struct al_spectra layer = {0};

	assert_true(al_triangles_take(&t, &m->heads, NULL));
	assert_true(al_null_independent(&layer, NULL, &t, seed, module, number, NULL));
	al_triangles_finish(&t);
	return layer;
}

static double squares(struct al_view a)
{
	double sum = 0;

	for (size_t j = 0; j < a.cols; j++)
		for (size_t i = 0; i < a.rows; i++)
			sum += a.data[i + j * a.ld] * a.data[i + j * a.ld];
	return sum;
}

static double sum_of_squares(const struct al_spectra *spectra, enum al_spectrum kind)
{
	return squares(al_view(spectra->values[kind]));
}

/* The norms of W_Q and W_K, and with one head alone its whole spectrum. */
static void a_draw_keeps_norms(void **state)
{
	struct module m = new_module(&grouped, 3);
	struct al_spectra layer = {0};

	(void)state;
	for (size_t e = 0; e < 96 * 16; e++)
		head_of(&m, AL_QUERY, 1).data[e] *= 1e25; /* no float overflows */
	layer = draw(&m, 1, 2, 3);
	assert_true(
		fabs(sum_of_squares(&layer, AL_SPECTRUM_Q) / squares(m.heads.query) - 1) < 1e-5);
	assert_true(fabs(sum_of_squares(&layer, AL_SPECTRUM_K) / squares(m.heads.key) - 1) < 1e-5);
	al_spectra_finish(&layer);
	finish_module(&m);
}

static void one_head_keeps_its_spectrum(void **state)
{
	const struct shape one = {50, 50, 50, 50, 1, 1, 12, 12};
	struct module m = new_module(&one, 4);
	struct al_triangles t;
	struct al_spectra heads = {0}, layer = draw(&m, 1, 2, 3);

	(void)state;
	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_true(al_head_spectra(&heads, &t, NULL));
	for (size_t i = 0; i < 12; i++) {
		const struct al_matrix q = heads.values[AL_SPECTRUM_Q],
				       k = heads.values[AL_SPECTRUM_K];
		const struct al_matrix qk = heads.values[AL_SPECTRUM_QK];
		assert_true(
			fabs(layer.values[AL_SPECTRUM_Q].data[i] - q.data[i]) < 1e-5 * q.data[0]);
		assert_true(
			fabs(layer.values[AL_SPECTRUM_K].data[i] - k.data[i]) < 1e-5 * k.data[0]);
		assert_true(fabs(layer.values[AL_SPECTRUM_QK].data[i] - qk.data[i])
			< 1e-5 * qk.data[0]);
	}
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
	al_spectra_finish(&layer);
	finish_module(&m);
}

static double redundancy_of(struct module *m, enum al_spectrum kind)
{
	enum { DRAWS = 3 };
	struct al_triangles t;
	struct al_spectra layer = {0}, draws[DRAWS] = {0};

	assert_true(al_triangles_take(&t, &m->heads, NULL));
	assert_true(al_layer_spectra(&layer, &m->heads, &t, AL_ALL_SPECTRA, 0, NULL));
	for (size_t i = 0; i < DRAWS; i++)
		assert_true(al_null_independent(&draws[i], NULL, &t, 7, 0, i, NULL));
	const struct al_null_range null = al_null_components(draws, DRAWS, kind, 0.9);
	assert_true(null.low <= null.mean && null.mean <= null.high);
	const double r = 1 - (double)n90(&layer, kind) / null.mean;
	for (size_t i = 0; i < DRAWS; i++)
		al_spectra_finish(&draws[i]);
	al_spectra_finish(&layer);
	al_triangles_finish(&t);
	return r;
}

static void tells_copies_from_strangers(void **state)
{
	struct module m = new_module(&small, 5);

	(void)state;
	for (int k = 0; k < AL_N_SPECTRA; k++)
		assert_true(fabs(redundancy_of(&m, (enum al_spectrum)k)) < 0.06);
	for (size_t head = 1; head < 6; head++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++)
			assert_true(al_copy(al_view(head_of(&m, (enum al_projection)p, 0)),
				head_of(&m, (enum al_projection)p, head), NULL));
	for (int k = 0; k < AL_N_SPECTRA; k++)
		assert_true(redundancy_of(&m, (enum al_spectrum)k) > 0.6);
	finish_module(&m);
}

/* ---- redundancy ---- */

/* By the unfoldings. */
static double redundancy(struct module *m)
{
	struct al_triangles t;
	struct al_spectra layer = {0}, draw = {0};
	struct al_thinned thinned;

	assert_true(al_triangles_take(&t, &m->heads, NULL));
	assert_true(al_layer_spectra(&layer, &m->heads, &t, AL_ALL_SPECTRA, 0, NULL));
	assert_true(al_null_independent(&draw, &thinned, &t, 3, 0, 0, NULL));
	assert_true(thinned.share[thinned.n - 1] == 1);
	const double r = al_redundancy(&layer, &draw, &thinned);
	al_spectra_finish(&draw);
	al_spectra_finish(&layer);
	al_triangles_finish(&t);
	return r;
}

static void assert_redundancy(struct module *m, double expected)
{
	const double r = redundancy(m);

	if (!(fabs(r - expected) < 0.04))
		fail_msg("redundancy %.3f, expected %.3f", r, expected);
}

/* Head `to` becomes `scale` times head `from`. */
static void copy_head(struct module *m, size_t from, size_t to, double scale)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_matrix target = head_of(m, (enum al_projection)p, to);
		assert_true(
			al_copy(al_view(head_of(m, (enum al_projection)p, from)), target, NULL));
		for (size_t j = 0; p == AL_QUERY && j < target.cols; j++)
			for (size_t i = 0; i < target.rows; i++)
				target.data[i + j * target.ld] *= scale;
	}
}

/* About the share of heads that are copies (two that are one weigh double), whether the heads'
 * spaces fill the model's width (8 heads of 12 in 96) or not (in 480), and whatever the copies'
 * sign, which makes the heads' sum vanish. */
static void redundancy_is_the_share_of_copies(void **state)
{
	(void)state;
	for (size_t d = 96; d <= 480; d += 384) {
		const struct shape shape = {d, d, d, d, 8, 8, 12, 12};
		struct module m = new_module(&shape, 11);
		assert_redundancy(&m, 0);
		for (size_t i = 0; i < 2; i++)
			copy_head(&m, i, 4 + i, -1);
		assert_redundancy(&m, .25);
		for (size_t i = 2; i < 4; i++)
			copy_head(&m, i, 4 + i, i == 2 ? 1 : -1);
		assert_redundancy(&m, .5);
		for (size_t i = 0; i < 8; i++)
			copy_head(&m, i % 2, i, i < 2 ? 1 : -1);
		assert_redundancy(&m, .75);
		for (size_t i = 1; i < 8; i++)
			copy_head(&m, 0, i, 1);
		assert_redundancy(&m, .875);
		finish_module(&m);
	}
}

/* Heads of other lengths, half of them copies; and grouped queries, of which half of the groups
 * are. */
static void redundancy_of_uneven_heads(void **state)
{
	const struct shape plain = {96, 96, 96, 96, 8, 8, 12, 12},
			   shared = {96, 96, 96, 96, 8, 4, 12, 12};
	struct module m = new_module(&plain, 12);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		copy_head(&m, i, i, (double)(i + 1));
	for (size_t i = 0; i < 4; i++)
		copy_head(&m, i, 4 + i, 1);
	assert_redundancy(&m, .5);
	finish_module(&m);
	m = new_module(&shared, 13);
	assert_redundancy(&m, 0);
	for (size_t i = 0; i < 4; i++) {
		const enum al_projection p = i < 2 ? AL_KEY : AL_QUERY;
		for (size_t k = 0; k < (i < 2 ? 1 : 2); k++)
			assert_true(al_copy(al_view(head_of(&m, p, i < 2 ? i : 2 * (i - 2) + k)),
				head_of(&m, p, i < 2 ? i + 2 : 4 + 2 * (i - 2) + k), NULL));
	}
	assert_redundancy(&m, .5);
	finish_module(&m);
}

/* What queries share by design is no redundancy: keys of grouped queries are as in the null. */
static void sharing_by_design_is_no_redundancy(void **state)
{
	struct module m = new_module(&grouped, 6);

	(void)state;
	for (int k = 0; k < AL_N_SPECTRA; k++)
		assert_true(fabs(redundancy_of(&m, (enum al_spectrum)k)) < 0.1);
	finish_module(&m);
}

static void zero_weights_have_no_redundancy(void **state)
{
	struct module m = new_module(&small, 7);

	(void)state;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		memset(m.of[p].data, 0, m.of[p].rows * m.of[p].cols * sizeof(double));
	assert_true(redundancy(&m) == 0);
	finish_module(&m);
}

/* ---- streams ---- */

static bool same(const struct al_spectra *a, const struct al_spectra *b)
{
	for (int k = 0; k < AL_N_SPECTRA; k++)
		if (memcmp(a->values[k].data, b->values[k].data, a->values[k].rows * sizeof(double))
			!= 0)
			return false;
	return true;
}

static void a_draw_depends_on_its_name_alone(void **state)
{
	struct module m = new_module(&grouped, 8);
	struct al_spectra first = draw(&m, 1, 2, 3);

	(void)state;
	for (int n_threads = 1; n_threads <= 3; n_threads++) {
		al_threads_set(n_threads);
		struct al_spectra again = draw(&m, 1, 2, 3);
		assert_true(same(&first, &again));
		al_spectra_finish(&again);
	}
	al_threads_set(0);
	for (size_t i = 0; i < 3; i++) {
		struct al_spectra other = draw(&m, 1 + (i == 0), 2 + (i == 1), 3 + (i == 2));
		assert_false(same(&first, &other));
		al_spectra_finish(&other);
	}
	al_spectra_finish(&first);
	finish_module(&m);
}

static void refuses_what_does_not_fit(void **state)
{
	struct module m = new_module(&small, 9);
	struct al_spectra heads = {0}, layer = {0};
	struct al_error err;

	(void)state;
	m.heads.n_kv_heads = 4;
	assert_false(al_null_gaussian(&heads, &layer, &m.heads, true, false, 0, &err));
	assert_string_equal(err.message, "n_heads (6) is not a multiple of n_kv_heads (4)");
	al_spectra_finish(&heads);
	al_spectra_finish(&layer);
	finish_module(&m);
}

/* ---- computed ---- */

enum { N_DRAWS = 60 };

static const enum al_spectrum all_kinds[] = {AL_SPECTRUM_Q, AL_SPECTRUM_K, AL_SPECTRUM_QK,
	AL_SPECTRUM_QU, AL_SPECTRUM_KU, AL_SPECTRUM_OV};

/* Within one component of the mean of many draws, also of fewer heads. */
static void check_computed(const struct shape *shape)
{
	static const double shares[] = {.5, .9, .95, .99};
	const struct al_null_name name = {1, 2};
	struct module m = new_module(shape, 5);
	struct al_triangles t;
	struct al_spectra heads = {0}, computed = {0}, draws[N_DRAWS] = {0};
	struct al_thinned few, drawn_few = {0};
	bool is_found;

	for (size_t j = 0; j < m.of[AL_QUERY].cols; j++) /* heads of different spectra */
		for (size_t i = 0; i < m.of[AL_QUERY].rows; i++)
			m.of[AL_QUERY].data[i + j * m.of[AL_QUERY].ld] *=
				pow(.9, (double)(j % shape->d_head)) * (1 + (double)(j % 3));
	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_true(al_head_spectra(&heads, &t, NULL));
	assert_true(al_null_compute(&computed, &few, &t, &heads, &name, &is_found, NULL));
	assert_true(is_found);
	for (uint64_t i = 0; i < N_DRAWS; i++) {
		struct al_thinned thinned;
		assert_true(al_null_independent(&draws[i], &thinned, &t, 1, 2, i, NULL));
		drawn_few.n = thinned.n;
		for (int u = 0; u < AL_N_UNFOLDINGS; u++)
			for (size_t k = 0; k < thinned.n; k++)
				drawn_few.n90[u][k] += thinned.n90[u][k] / N_DRAWS;
	}
	for (size_t k = 0; k < sizeof(all_kinds) / sizeof(*all_kinds); k++)
		for (int s = 0; s < 4; s++) {
			const struct al_matrix values = computed.values[all_kinds[k]];
			const double found = (double)al_components(values.data, values.rows,
				shares[s]);
			const double mean =
				al_null_components(draws, N_DRAWS, all_kinds[k], shares[s]).mean;
			assert_int_equal(values.rows, draws[0].values[all_kinds[k]].rows);
			if (!(fabs(found - mean) <= 1))
				fail_msg("%s, %g: %g, draws %g", al_spectrum_names[all_kinds[k]],
					shares[s], found, mean);
		}
	assert_int_equal(few.n, drawn_few.n);
	for (int u = 0; u < AL_N_UNFOLDINGS; u++)
		for (size_t k = 0; k < few.n; k++)
			assert_true(fabs(few.n90[u][k] - drawn_few.n90[u][k]) <= 1);
	for (size_t i = 0; i < N_DRAWS; i++)
		al_spectra_finish(&draws[i]);
	al_spectra_finish(&computed);
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
	finish_module(&m);
}

static void computes_what_draws_show_in_the_mean(void **state)
{
	static const struct shape sharing = {96, 96, 96, 96, 6, 2, 16, 12};
	static const struct shape one_key = {96, 96, 96, 96, 6, 1, 16, 16};
	static const struct shape half = {96, 96, 96, 96, 3, 3, 16, 16};

	(void)state;
	check_computed(&small);
	check_computed(&sharing);
	check_computed(&one_key);
	check_computed(&half);
	check_computed(&wide);
}

/* Gaussian weights from Gaussian heads. */
static void computes_gaussian_weights(void **state)
{
	struct module m = new_module(&bert, 1);
	struct al_spectra heads = {0}, layer = {0};

	(void)state;
	assert_true(al_null_gaussian(&heads, &layer, &m.heads, true, true, 0, NULL));
	check_gaussian_layer(&layer);
	al_spectra_finish(&layer);
	al_spectra_finish(&heads);
	finish_module(&m);
}

/* Queries and keys of different widths: sums of their products are not square. */
static void says_what_it_cannot_compute(void **state)
{
	const struct al_null_name name = {1, 2};
	struct module m = new_module(&grouped, 5);
	struct al_triangles t;
	struct al_spectra heads = {0}, computed = {0};
	bool is_found;

	(void)state;
	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_true(al_head_spectra(&heads, &t, NULL));
	assert_true(al_null_compute(&computed, NULL, &t, &heads, &name, &is_found, NULL));
	assert_false(is_found);
	assert_false(al_has_spectrum(&computed, AL_SPECTRUM_Q));
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
	finish_module(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaussian_weights_give_the_known_counts),
		cmocka_unit_test(computes_what_draws_show_in_the_mean),
		cmocka_unit_test(computes_gaussian_weights),
		cmocka_unit_test(says_what_it_cannot_compute),
		cmocka_unit_test(floats_give_the_same_components),
		cmocka_unit_test(a_draw_keeps_norms),
		cmocka_unit_test(one_head_keeps_its_spectrum),
		cmocka_unit_test(tells_copies_from_strangers),
		cmocka_unit_test(redundancy_is_the_share_of_copies),
		cmocka_unit_test(redundancy_of_uneven_heads),
		cmocka_unit_test(sharing_by_design_is_no_redundancy),
		cmocka_unit_test(zero_weights_have_no_redundancy),
		cmocka_unit_test(a_draw_depends_on_its_name_alone),
		cmocka_unit_test(refuses_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
