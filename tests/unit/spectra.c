/* Spectra from factors against the SVD of the dense forms, and what must hold for any weights. */
#include "module.h"

#include "audit/measures.h"
#include "audit/spectra.h"

static const struct shape shapes[] = {
	{40, 40, 40, 40, 4, 4, 10, 10}, /* as wide as the model */
	{48, 48, 48, 48, 4, 4, 6, 5}, /* narrower, values of their own width */
	{30, 30, 30, 30, 6, 2, 10, 10}, /* wider, grouped queries */
	{36, 28, 28, 36, 6, 1, 6, 6}, /* cross-attention, one key/value head */
	{9, 7, 7, 8, 2, 2, 12, 3}, /* heads wider than the model */
	{1, 1, 1, 1, 1, 1, 1, 1},
};

enum { N_SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* ---- weights that are not all alike ---- */

static void leave(struct module *m)
{
	(void)m;
}

/* Columns of all magnitudes: no Gram matrix of these can be trusted. */
static void make_ill_conditioned(struct module *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		for (size_t j = 0; j < m->of[p].cols; j++)
			for (size_t i = 0; i < m->of[p].rows; i++)
				m->of[p].data[i + j * m->of[p].ld] *= pow(8, -(double)(j * 7 % 12));
}

/* Every second column of a head is its first. */
static void make_rank_deficient(struct module *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_run run = al_heads_run(&m->heads, (enum al_projection)p);
		for (size_t j = 0; j < m->of[p].cols; j++)
			if (j % run.width % 2)
				memcpy(m->of[p].data + j * m->of[p].ld,
					m->of[p].data + (j - j % run.width) * m->of[p].ld,
					m->of[p].rows * sizeof(double));
	}
}

static void make_copies(struct module *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_run run = al_heads_run(&m->heads, (enum al_projection)p);
		for (size_t j = run.width; j < m->of[p].cols; j++)
			memcpy(m->of[p].data + j * m->of[p].ld,
				m->of[p].data + j % run.width * m->of[p].ld,
				m->of[p].rows * sizeof(double));
	}
}

static void make_zero(struct module *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		memset(m->of[p].data, 0, m->of[p].rows * m->of[p].cols * sizeof(double));
}

/* One head's queries are large and its keys small: in their product they count as others do. */
static void make_uneven(struct module *m)
{
	const size_t of_query = m->heads.d_head * m->of[AL_QUERY].ld;
	const size_t of_key = m->heads.d_head * m->of[AL_KEY].ld;

	for (size_t i = 0; i < of_query; i++)
		m->of[AL_QUERY].data[i] *= 0x1p17;
	for (size_t i = 0; i < of_key; i++)
		m->of[AL_KEY].data[i] *= 0x1p-17;
}

static void (*const changes[])(struct module *m) = {
	leave,
	make_uneven,
	make_ill_conditioned,
	make_rank_deficient,
	make_copies,
	make_zero,
};

/* ---- against dense matrices ---- */

/* `values` [n] and zeros beyond are A's, to 1e-10 of the largest. */
static void assert_values(const double *values, size_t n, struct al_view a)
{
	const size_t all = a.rows < a.cols ? a.rows : a.cols;
	struct al_matrix copy = new_matrix(a.rows, a.cols), u = new_matrix(a.rows, all);
	struct al_matrix v = new_matrix(a.cols, all), expected = new_matrix(all, 1);

	assert_true(al_copy(a, copy, NULL) && al_svd(copy, u, expected.data, v, NULL));
	assert_true(n <= all);
	for (size_t k = 0; k < all; k++) {
		const double found = k < n ? values[k] : 0;
		if (!(fabs(found - expected.data[k]) <= 1e-10 * expected.data[0]))
			fail_msg("value %zu of %zu: %.17g, expected %.17g (largest %g)", k, all,
				found, expected.data[k], expected.data[0]);
	}
	al_matrix_finish(&expected);
	al_matrix_finish(&v);
	al_matrix_finish(&u);
	al_matrix_finish(&copy);
}

static void assert_column(const struct al_spectra *spectra, enum al_spectrum kind, size_t head,
	struct al_view a)
{
	const struct al_matrix values = spectra->values[kind];

	assert_true(head < values.cols);
	assert_values(values.data + head * values.ld, values.rows, a);
}

static void check_heads(const struct al_heads *heads, const struct al_spectra *spectra)
{
	for (size_t i = 0; i < heads->n_heads; i++) {
		struct al_matrix qk = dense_form(heads, i, false), ov = dense_form(heads, i, true);
		assert_column(spectra, AL_SPECTRUM_Q, i, al_head_of(heads, AL_QUERY, i));
		assert_column(spectra, AL_SPECTRUM_QK, i, al_view(qk));
		assert_column(spectra, AL_SPECTRUM_OV, i, al_view(ov));
		al_matrix_finish(&ov);
		al_matrix_finish(&qk);
	}
	for (size_t g = 0; g < heads->n_kv_heads; g++)
		assert_column(spectra, AL_SPECTRUM_K, g, al_head_of(heads, AL_KEY, g));
	assert_false(al_has_spectrum(spectra, AL_SPECTRUM_QU));
}

/* The heads' sum; the forms side by side; the forms' transposes side by side. */
static void check_layer(const struct al_heads *heads, const struct al_spectra *layer)
{
	struct al_matrix qk = new_matrix(heads->query.rows, heads->key.rows),
			 ov = new_matrix(heads->value.rows, heads->output.rows);
	struct al_matrix qu = new_matrix(heads->query.rows, heads->n_heads * heads->key.rows);
	struct al_matrix ku = new_matrix(heads->key.rows, heads->n_heads * heads->query.rows);

	for (size_t i = 0; i < heads->n_heads; i++) {
		struct al_matrix w = dense_form(heads, i, false), x = dense_form(heads, i, true);
		for (size_t c = 0; c < w.cols; c++) {
			for (size_t r = 0; r < w.rows; r++) {
				const double element = w.data[r + c * w.ld];
				qk.data[r + c * qk.ld] += element;
				qu.data[r + (i * w.cols + c) * qu.ld] = element;
				ku.data[c + (i * w.rows + r) * ku.ld] = element;
			}
		}
		for (size_t e = 0; e < x.rows * x.cols; e++)
			ov.data[e] += x.data[e];
		al_matrix_finish(&x);
		al_matrix_finish(&w);
	}
	assert_column(layer, AL_SPECTRUM_Q, 0, heads->query);
	assert_column(layer, AL_SPECTRUM_K, 0, heads->key);
	assert_column(layer, AL_SPECTRUM_QK, 0, al_view(qk));
	assert_column(layer, AL_SPECTRUM_QU, 0, al_view(qu));
	assert_column(layer, AL_SPECTRUM_KU, 0, al_view(ku));
	assert_column(layer, AL_SPECTRUM_OV, 0, al_view(ov));
	al_matrix_finish(&ku);
	al_matrix_finish(&qu);
	al_matrix_finish(&ov);
	al_matrix_finish(&qk);
}

static void take(const struct al_heads *heads, struct al_spectra *spectra, struct al_spectra *layer)
{
	struct al_triangles t;

	assert_true(al_triangles_take(&t, heads, NULL));
	assert_true(al_head_spectra(spectra, &t, NULL));
	assert_true(al_layer_spectra(layer, heads, &t, AL_ALL_SPECTRA, 0, NULL));
	al_triangles_finish(&t);
}

static void equal_those_of_dense_matrices(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_SHAPES; s++) {
		for (size_t c = 0; c < sizeof(changes) / sizeof(*changes); c++) {
			struct module m = new_module(&shapes[s], s);
			struct al_spectra heads = {0}, layer = {0};
			changes[c](&m);
			take(&m.heads, &heads, &layer);
			check_heads(&m.heads, &heads);
			check_layer(&m.heads, &layer);
			al_spectra_finish(&layer);
			al_spectra_finish(&heads);
			finish_module(&m);
		}
	}
}

static void works_without_values(void **state)
{
	struct module m = new_module(&shapes[0], 1);
	struct al_spectra heads = {0}, layer = {0};

	(void)state;
	m.heads.value = m.heads.output = (struct al_view){0};
	take(&m.heads, &heads, &layer);
	assert_true(al_has_spectrum(&heads, AL_SPECTRUM_QK));
	assert_false(al_has_spectrum(&heads, AL_SPECTRUM_OV));
	assert_false(al_has_spectrum(&layer, AL_SPECTRUM_OV));
	al_spectra_finish(&layer);
	al_spectra_finish(&heads);
	finish_module(&m);
}

/* ---- what must hold ---- */

static void says_which_route_it_took(void **state)
{
	struct module m = new_module(&shapes[1], 2);
	struct al_triangles t;
	struct al_matrix q1 = head_of(&m, AL_QUERY, 1);

	(void)state;
	memcpy(q1.data, q1.data + q1.ld, q1.rows * sizeof(double));
	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_int_equal(t.of[AL_QUERY].routes[0], AL_ROUTE_CHOLESKY);
	assert_int_equal(t.of[AL_QUERY].routes[1], AL_ROUTE_QR);
	assert_int_equal(t.of[AL_KEY].routes[1], AL_ROUTE_CHOLESKY);
	al_triangles_finish(&t);
	finish_module(&m);
}

/* Factors of width r between wider ones, rounded to float: rank r exactly. */
static void counts_exact_ranks(void **state)
{
	const struct shape shape = {128, 128, 128, 128, 4, 4, 32, 32};

	(void)state;
	for (size_t r = 1; r <= 32; r += 5) {
		struct module m = new_module(&shape, r);
		struct al_spectra heads = {0}, layer = {0};
		m.heads.unit = 0x1p-24;
		for (size_t i = 0; i < 4; i++) {
			struct al_matrix left = new_matrix(128, r), right = new_matrix(32, r);
			struct al_matrix q = head_of(&m, AL_QUERY, i);
			fill(left, 2 * i + 100);
			fill(right, 2 * i + 101);
			struct al_matrix product = multiply(al_view(left), al_view(right));
			for (size_t e = 0; e < 128 * 32; e++)
				q.data[e] = (double)(float)product.data[e];
			al_matrix_finish(&product);
			al_matrix_finish(&right);
			al_matrix_finish(&left);
		}
		take(&m.heads, &heads, &layer);
		for (size_t i = 0; i < 4; i++) {
			const double *qk = heads.values[AL_SPECTRUM_QK].data + 32 * i;
			assert_int_equal(al_measure(qk, 32, 128, m.heads.unit).rank, r);
			assert_int_equal(al_measure(heads.values[AL_SPECTRUM_Q].data + 32 * i, 32,
						 128, m.heads.unit)
						 .rank,
				r);
			assert_int_equal(al_measure(heads.values[AL_SPECTRUM_K].data + 32 * i, 32,
						 128, m.heads.unit)
						 .rank,
				32);
		}
		al_spectra_finish(&layer);
		al_spectra_finish(&heads);
		finish_module(&m);
	}
}

static void centered_heads_lose_one_dimension(void **state)
{
	const struct shape shape = {100, 100, 100, 100, 2, 2, 16, 16};
	const enum al_spectrum kinds[] = {AL_SPECTRUM_Q, AL_SPECTRUM_K, AL_SPECTRUM_QK,
		AL_SPECTRUM_OV};
	struct module m = new_module(&shape, 3);
	struct al_triangles t;
	struct al_spectra heads = {0};

	(void)state;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		for (size_t i = 0; i < 2; i++)
			al_center(head_of(&m, (enum al_projection)p, i));
	assert_true(al_triangles_take(&t, &m.heads, NULL));
	assert_true(al_head_spectra(&heads, &t, NULL));
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < 4; k++) {
			const double *values = heads.values[kinds[k]].data + 16 * i;
			assert_int_equal(al_measure(values, 16, 100, 0x1p-53).rank, 15);
			assert_true(values[14] > 0.01 * values[0]);
		}
		struct al_matrix dense = dense_form(&m.heads, i, false);
		assert_column(&heads, AL_SPECTRUM_QK, i, al_view(dense));
		al_matrix_finish(&dense);
	}
	al_spectra_finish(&heads);
	al_triangles_finish(&t);
	finish_module(&m);
}

/* Heads in the order 2 0 3 1: the answers in that order; all heads together as they were. */
static void permuted_heads_permute_the_answer(void **state)
{
	static const size_t order[] = {2, 0, 3, 1};
	const struct shape shape = {64, 64, 64, 64, 4, 4, 8, 8};
	struct module m = new_module(&shape, 4), p = new_module(&shape, 5);
	struct al_spectra heads = {0}, layer = {0}, heads_p = {0}, layer_p = {0};

	(void)state;
	for (int k = 0; k < AL_N_PROJECTIONS; k++)
		for (size_t i = 0; i < 4; i++)
			assert_true(al_copy(al_view(head_of(&m, (enum al_projection)k, order[i])),
				head_of(&p, (enum al_projection)k, i), NULL));
	take(&m.heads, &heads, &layer);
	take(&p.heads, &heads_p, &layer_p);
	for (size_t i = 0; i < 4; i++)
		assert_memory_equal(heads_p.values[AL_SPECTRUM_QK].data + 8 * i,
			heads.values[AL_SPECTRUM_QK].data + 8 * order[i], 8 * sizeof(double));
	for (int k = 0; k < AL_N_SPECTRA; k++)
		for (size_t i = 0; i < layer.values[k].rows; i++)
			assert_true(fabs(layer.values[k].data[i] - layer_p.values[k].data[i])
				< 1e-12 * layer.values[k].data[0]);
	al_spectra_finish(&layer_p);
	al_spectra_finish(&heads_p);
	al_spectra_finish(&layer);
	al_spectra_finish(&heads);
	finish_module(&p);
	finish_module(&m);
}

/* Q A and K A^-T (A a Gaussian matrix's triangle) leave Q K^T, and so qk, qu and ku. */
static void another_basis_changes_no_product(void **state)
{
	const struct shape shape = {64, 64, 64, 64, 4, 4, 8, 8};
	struct module m = new_module(&shape, 6);
	struct al_spectra heads = {0}, layer = {0}, heads_b = {0}, layer_b = {0};
	struct al_matrix a = new_matrix(8, 8), r = new_matrix(8, 8);

	(void)state;
	take(&m.heads, &heads, &layer);
	for (size_t i = 0; i < 4; i++) {
		fill(a, 60 + i);
		assert_true(al_qr_r(a, r, NULL));
		for (size_t j = 0; j < 8; j++)
			r.data[9 * j] += 1;
		struct al_matrix q = head_of(&m, AL_QUERY, i), copy = new_matrix(64, 8);
		assert_true(al_copy(al_view(q), copy, NULL)
			&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(copy), al_view(r), 0, q, NULL)
			&& al_solve(AL_RIGHT, AL_TRANSPOSED, al_view(r), head_of(&m, AL_KEY, i),
				NULL));
		al_matrix_finish(&copy);
	}
	take(&m.heads, &heads_b, &layer_b);
	for (size_t k = 0; k < 32; k++)
		assert_true(fabs(heads.values[AL_SPECTRUM_QK].data[k]
				    - heads_b.values[AL_SPECTRUM_QK].data[k])
			< 1e-11 * heads.values[AL_SPECTRUM_QK].data[0]);
	assert_true(
		fabs(heads.values[AL_SPECTRUM_Q].data[0] - heads_b.values[AL_SPECTRUM_Q].data[0])
		> 0.1);
	for (int kind = AL_SPECTRUM_QK; kind <= AL_SPECTRUM_KU; kind++)
		for (size_t k = 0; k < layer.values[kind].rows; k++)
			assert_true(fabs(layer.values[kind].data[k] - layer_b.values[kind].data[k])
				< 1e-11 * layer.values[kind].data[0]);
	al_matrix_finish(&r);
	al_matrix_finish(&a);
	al_spectra_finish(&layer_b);
	al_spectra_finish(&heads_b);
	al_spectra_finish(&layer);
	al_spectra_finish(&heads);
	finish_module(&m);
}

/* Two key/value heads at a time, or all at once. */
static void parts_make_the_whole(void **state)
{
	const struct shape shape = {50, 40, 40, 50, 12, 4, 8, 6};
	struct module m = new_module(&shape, 7);
	struct al_triangles whole, parts;

	(void)state;
	assert_true(al_triangles_take(&whole, &m.heads, NULL));
	assert_true(al_triangles_init(&parts, &m.heads, true, NULL));
	for (size_t first = 0; first < 4; first += 2) {
		struct al_heads part = m.heads;
		part.n_heads = 6;
		part.n_kv_heads = 2;
		part.query = al_columns(part.query, first * 3 * 8, 6 * 8);
		part.key = al_columns(part.key, first * 8, 2 * 8);
		part.value = al_columns(part.value, first * 6, 2 * 6);
		part.output = al_columns(part.output, first * 3 * 6, 6 * 6);
		assert_true(al_triangles_add(&parts, &part, first, NULL));
	}
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		assert_memory_equal(parts.of[p].r.data, whole.of[p].r.data,
			whole.of[p].r.rows * whole.of[p].r.cols * sizeof(double));
	al_triangles_finish(&parts);
	al_triangles_finish(&whole);
	finish_module(&m);
}

static void gives_the_same_bits_for_any_threads(void **state)
{
	const struct shape shape = {300, 300, 300, 300, 6, 3, 50, 50};
	struct module m = new_module(&shape, 8);
	struct al_spectra heads = {0}, layer = {0}, heads_n = {0}, layer_n = {0};

	(void)state;
	al_threads_set(1);
	take(&m.heads, &heads, &layer);
	for (int n = 2; n <= 3; n++) {
		al_threads_set(n);
		take(&m.heads, &heads_n, &layer_n);
		for (int k = 0; k < AL_N_SPECTRA; k++) {
			assert_memory_equal(layer.values[k].data, layer_n.values[k].data,
				layer.values[k].rows * sizeof(double));
			if (al_has_spectrum(&heads, (enum al_spectrum)k))
				assert_memory_equal(heads.values[k].data, heads_n.values[k].data,
					heads.values[k].rows * heads.values[k].cols
						* sizeof(double));
		}
		al_spectra_finish(&layer_n);
		al_spectra_finish(&heads_n);
	}
	al_threads_set(0);
	al_spectra_finish(&layer);
	al_spectra_finish(&heads);
	finish_module(&m);
}

/* ---- measures ---- */

static void measures(void **state)
{
	const double equal[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, zeros[4] = {0},
		     one[] = {1e300, 1e-300};
	const double falling[] = {8, 4, 2, 1e-20};
	struct al_measures m = al_measure(equal, 10, 20, 0x1p-24);

	(void)state;
	assert_int_equal(m.rank, 10);
	assert_int_equal(m.n50, 5);
	assert_int_equal(m.n90, 9);
	assert_int_equal(m.n95, 10);
	assert_true(fabs(m.stable_rank - 10) < 1e-12 && fabs(m.effective_rank - 10) < 1e-12);
	assert_true(fabs(m.norm - 3 * sqrt(10)) < 1e-12);
	assert_true(m.tolerance == 3 * 0x1p-22);
	assert_true(al_measure(equal, 10, (size_t)1 << 40, 0).tolerance == 3 * 0x1p-12);
	assert_true(al_rank_is_told(0x1p-3)); /* what has a roundoff of an eighth */
	assert_false(al_rank_is_told(0x1p-2));
	assert_true(al_direction_tolerance(10, 0x1p-3) == 0.5);
	assert_true(al_direction_tolerance(10, 0x1p-2) == 10 * 0x1p-52);

	m = al_measure(zeros, 4, 4, 0x1p-24);
	assert_int_equal(m.rank + m.n50 + m.n99, 0);
	assert_true(m.norm == 0 && m.effective_rank == 0 && m.stable_rank == 0 && m.tolerance == 0);
	assert_int_equal(al_measure(NULL, 0, 0, 0).rank, 0);

	m = al_measure(one, 2, 2, 0x1p-53);
	assert_int_equal(m.rank, 1);
	assert_true(m.effective_rank == 1 && m.norm == 1e300);

	m = al_measure(falling, 4, 4, 0x1p-53);
	assert_int_equal(m.rank, 3);
	assert_int_equal(m.n50, 1);
	assert_int_equal(m.n90, 2);
	assert_int_equal(m.n99, 3);
	assert_true(fabs(m.stable_rank - 84. / 64) < 1e-15);
}

static void captures(void **state)
{
	const double values[] = {2, 1, 1};
	double share[3], cumulative[3];

	(void)state;
	al_captured(values, 3, share, cumulative);
	assert_true(fabs(share[0] - 4. / 6) < 1e-15 && fabs(cumulative[1] - 5. / 6) < 1e-15);
	assert_true(cumulative[2] <= 1 && cumulative[2] > 1 - 1e-15);
	al_captured((double[]){0, 0}, 2, share, NULL);
	assert_true(share[0] == 0 && share[1] == 0);
}

/* ---- refusals ---- */

static void assert_refused(struct al_heads heads, const char *message)
{
	struct al_triangles t;
	struct al_spectra layer = {0};
	struct al_error err;

	assert_false(al_triangles_take(&t, &heads, &err));
	assert_string_equal(err.message, message);
	assert_int_equal(err.status, AL_EINPUT);
	assert_false(al_layer_spectra(&layer, &heads, &t, AL_ALL_SPECTRA, 0, NULL));
	al_spectra_finish(&layer);
	al_triangles_finish(&t);
}

static void refuses_what_does_not_fit(void **state)
{
	const struct shape shape = {20, 20, 20, 20, 4, 2, 5, 5};
	struct module m = new_module(&shape, 9);
	struct al_heads heads = m.heads;

	(void)state;
	heads.n_kv_heads = 3;
	assert_refused(heads, "n_heads (4) is not a multiple of n_kv_heads (3)");
	heads.n_kv_heads = 0;
	assert_refused(heads, "4 heads with 0 key heads, expected at least one");
	heads = m.heads;
	heads.d_head = 4;
	assert_refused(heads, "query: 20 columns, expected 4 heads of width 4");
	heads.d_head = 0;
	assert_refused(heads, "query: 20 columns, expected 4 heads of width 1");
	heads = m.heads;
	heads.key.cols = 15;
	assert_refused(heads, "key: 15 columns, expected 2 heads of width 5");
	heads = m.heads;
	heads.output = (struct al_view){0};
	assert_refused(heads, "W_V and W_O need each other");
	heads = m.heads;
	heads.query.rows = 0;
	assert_refused(heads, "query: no rows");
	heads = m.heads;
	heads.key.ld = 19;
	assert_refused(heads, "key head 0: A: leading dimension 19 is below the 20 rows");
	finish_module(&m);
}

static void names_the_head_that_is_not_finite(void **state)
{
	const struct shape shape = {20, 20, 20, 20, 4, 2, 5, 5};
	struct module m = new_module(&shape, 10);
	struct al_triangles t;
	struct al_error err;

	(void)state;
	head_of(&m, AL_OUTPUT, 3).data[7] = NAN;
	head_of(&m, AL_KEY, 1).data[7] = INFINITY;
	assert_false(al_triangles_take(&t, &m.heads, &err));
	assert_string_equal(err.message,
		"key head 1: copy: 20 x 5 with elements that are not finite");
	assert_int_equal(err.status, AL_ESYSTEM);
	al_triangles_finish(&t);
	finish_module(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_those_of_dense_matrices),
		cmocka_unit_test(works_without_values),
		cmocka_unit_test(says_which_route_it_took),
		cmocka_unit_test(counts_exact_ranks),
		cmocka_unit_test(centered_heads_lose_one_dimension),
		cmocka_unit_test(permuted_heads_permute_the_answer),
		cmocka_unit_test(another_basis_changes_no_product),
		cmocka_unit_test(parts_make_the_whole),
		cmocka_unit_test(gives_the_same_bits_for_any_threads),
		cmocka_unit_test(measures),
		cmocka_unit_test(captures),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(names_the_head_that_is_not_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
