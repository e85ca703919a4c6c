/* Pairs of heads of different modules and of two checkpoints, against dense forms. */
#include "llama.h"

#include "audit/across.h"
#include "audit/pairs.h"
#include "audit/against.h"
#include "audit/matrices.h"
#include "audit/measurement.h"
#include "audit/subspaces.h"
#include "formats/npy.h"

/* Layers 0 and 1, 0 and 2, 1 and 2. */
static bool watch(void *context, const char *part, size_t done, size_t n)
{
	static const char *const parts[] = {"layers.0 and layers.1", "layers.0 and layers.2",
		"layers.1 and layers.2"};
	size_t *n_seen = context;

	assert_int_equal(done, (*n_seen)++);
	assert_int_equal(n, 3);
	assert_string_equal(part, parts[done]);
	return true;
}

static void measure(const struct llama *m, size_t n_pairs, struct al_table *table)
{
	size_t n_seen = 0;
	const struct al_attention *modules[LAYERS];
	const struct al_audit_options options = {.n_pairs = n_pairs};
	struct al_audit audit;
	struct al_error err;

	for (size_t i = 0; i < LAYERS; i++)
		modules[i] = &m->view.modules[i];
	al_audit_init(&audit, &m->view, &options);
	al_table_init(table, "across", "");
	al_pairs_add_columns(table, AL_BY_WEIGHTS, true);
	if (!al_across_measure(&audit, modules, LAYERS, &(struct al_watch){watch, &n_seen}, table,
		    &err))
		fail_msg("%s", err.message);
	assert_int_equal(n_seen, 3);
	al_audit_finish(&audit);
}

static double number(const struct al_table *table, size_t row, const char *key)
{
	int column = al_table_find_column(table, key);
	double value = NAN;

	assert_true(column >= 0);
	(void)al_cell_number(&table->rows[row][column], &value);
	return value;
}

static size_t layer_of(const struct al_table *table, size_t row, const char *key)
{
	const char *name = table->rows[row][al_table_find_column(table, key)].text;

	return (size_t)(name[strlen("layers.")] - '0');
}

/* Layer 2 is layer 0 again: each head's twin comes first. */
static void copies_come_first(void **state)
{
	struct llama m;
	struct al_table table;

	(void)state;
	open_llama(&m);
	measure(&m, HEADS, &table);
	assert_int_equal(table.n_rows, HEADS);
	for (size_t i = 0; i < HEADS; i++) {
		assert_true(layer_of(&table, i, "module_a") == 0
			&& layer_of(&table, i, "module_b") == 2);
		assert_true(number(&table, i, "head_a") == number(&table, i, "head_b"));
		assert_near(number(&table, i, "qk_cosine"), 1);
		assert_near(number(&table, i, "ov_cosine"), 1);
		assert_near(number(&table, i, "value_kernel"), 1);
		assert_true(number(&table, i, "query_angle_max") < 1e-5);
	}
	al_table_finish(&table);
	close_llama(&m);
}

static struct al_matrix product(struct al_matrix a, struct al_matrix b, bool transposes)
{
	struct al_matrix c = new_matrix(a.rows, transposes ? b.rows : b.cols);

	assert_true(al_gemm(AL_PLAIN, transposes ? AL_TRANSPOSED : AL_PLAIN, 1, al_view(a),
		al_view(b), 0, c, NULL));
	return c;
}

static double composition(struct al_matrix earlier, struct al_matrix later, bool transposes)
{
	struct al_matrix both = product(earlier, later, transposes);
	double score = sqrt(dot(both, both) / dot(earlier, earlier) / dot(later, later));

	al_matrix_finish(&both);
	return score;
}

static void check_row(const struct llama *m, const struct al_table *table, size_t row)
{
	const struct al_audit_options options = {0};
	struct al_audit_module a = load_layer(m, layer_of(table, row, "module_a"), options);
	struct al_audit_module b = load_layer(m, layer_of(table, row, "module_b"), options);
	size_t i = (size_t)number(table, row, "head_a"), j = (size_t)number(table, row, "head_b");
	struct al_matrix qk_a = dense_form(&a.heads, i, false),
			 ov_a = dense_form(&a.heads, i, true);
	struct al_matrix qk_b = dense_form(&b.heads, j, false),
			 ov_b = dense_form(&b.heads, j, true);

	assert_near(number(table, row, "qk_cosine"),
		dot(qk_a, qk_b) / sqrt(dot(qk_a, qk_a) * dot(qk_b, qk_b)));
	assert_near(number(table, row, "ov_cosine"),
		dot(ov_a, ov_b) / sqrt(dot(ov_a, ov_a) * dot(ov_b, ov_b)));
	assert_near(number(table, row, "query_composition"), composition(ov_a, qk_b, false));
	assert_near(number(table, row, "key_composition"), composition(ov_a, qk_b, true));
	assert_near(number(table, row, "value_composition"), composition(ov_a, ov_b, false));
	al_matrix_finish(&qk_a);
	al_matrix_finish(&ov_a);
	al_matrix_finish(&qk_b);
	al_matrix_finish(&ov_b);
	al_audit_module_finish(&a);
	al_audit_module_finish(&b);
}

static void rows_equal_dense_forms(void **state)
{
	struct llama m;
	struct al_table table;

	(void)state;
	open_llama(&m);
	measure(&m, 0, &table);
	assert_int_equal(table.n_rows, LAYERS * (LAYERS - 1) / 2 * HEADS * HEADS);
	for (size_t i = 0; i < table.n_rows; i++)
		check_row(&m, &table, i);
	al_table_finish(&table);
	close_llama(&m);
}

static void assert_same_rows(const struct al_table *a, const struct al_table *b, size_t n)
{
	assert_true(a->n_rows >= n && b->n_rows >= n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < a->n_columns; j++) {
			double x = 0, y = 0;
			(void)al_cell_number(&a->rows[i][j], &x);
			(void)al_cell_number(&b->rows[i][j], &y);
			assert_memory_equal(&x, &y, sizeof(x));
			assert_true(a->rows[i][j].kind == b->rows[i][j].kind);
		}
}

/* Keeping few gives the first of all; the number of threads changes no bit. */
static void few_are_the_first_of_all(void **state)
{
	struct llama m;
	struct al_table all, few;

	(void)state;
	open_llama(&m);
	measure(&m, 0, &all);
	for (int threads = 1; threads <= 3; threads++) {
		al_threads_set(threads);
		measure(&m, 7, &few);
		assert_int_equal(few.n_rows, 7);
		assert_same_rows(&all, &few, 7);
		al_table_finish(&few);
	}
	al_threads_set(0);
	al_table_finish(&all);
	close_llama(&m);
}

/* ---- angles ---- */

static void scale_column(struct al_matrix m, size_t j, double by)
{
	for (size_t i = 0; i < m.rows; i++)
		m.data[i + j * m.ld] *= by;
}

/* A head of which one direction is much smaller than the others isn't even. */
static void even_heads_need_no_bases(void **state)
{
	struct al_matrix w = new_matrix(D, 3 * WIDTH), found = new_matrix(WIDTH, WIDTH);
	struct al_heads heads = {.query = al_view(w),
		.key = al_view(w),
		.n_heads = 3,
		.n_kv_heads = 3,
		.d_head = WIDTH};
	struct al_matrix expected = new_matrix(WIDTH, WIDTH);
	struct al_triangles triangles;
	struct al_angles by_bases, by_triangles;
	AL_SCRATCH(scratch);
	struct al_bases bases;
	const bool *is_even;

	(void)state;
	fill_normal(w.data, w.rows * w.cols, 5);
	scale_column(w, 2 * WIDTH, 1e-4);
	assert_true(al_triangles_take(&triangles, &heads, NULL));
	is_even = al_even_heads_find(&scratch, &triangles, &heads, AL_QUERY, NULL);
	assert_true(is_even && al_bases_find(&scratch, &bases, &heads, AL_QUERY, NULL));
	assert_true(is_even[0] && is_even[1] && !is_even[2] && bases.ranks[2] == WIDTH);
	assert_true(al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_bases_head(&bases, 0),
		al_bases_head(&bases, 1), 0, expected, NULL));
	assert_true(al_even_cosines(al_head_of(&heads, AL_QUERY, 0),
		al_triangle_of(&triangles, AL_QUERY, 0), al_head_of(&heads, AL_QUERY, 1),
		al_triangle_of(&triangles, AL_QUERY, 1), found, NULL));
	assert_true(al_angles_find(al_view(expected), &by_bases, NULL)
		&& al_angles_find(al_view(found), &by_triangles, NULL));
	assert_near(by_triangles.kernel, by_bases.kernel);
	assert_near(by_triangles.smallest, by_bases.smallest);
	assert_near(by_triangles.largest, by_bases.largest);
	al_triangles_finish(&triangles);
	al_matrix_finish(&expected);
	al_matrix_finish(&found);
	al_matrix_finish(&w);
}

/* ---- two checkpoints ---- */

static void heads_beside_their_counterparts(void **state)
{
	const struct al_audit_options options = {0};
	struct llama m;
	struct al_table table;

	(void)state;
	open_llama(&m);
	struct al_audit_module a = load_layer(&m, 0, options), b = load_layer(&m, 1, options);
	al_table_init(&table, "against", "");
	al_against_add_columns(&table);
	assert_true(al_against_check(a.attention, b.attention, NULL));
	assert_true(al_against_add_module(&a, &a, &table, NULL)
		&& al_against_add_module(&a, &b, &table, NULL));
	for (size_t i = 0; i < HEADS; i++) {
		const size_t match = (size_t)number(&table, HEADS + i, "match");
		struct al_matrix x = dense_form(&a.heads, i, true),
				 y = dense_form(&b.heads, match, true);
		assert_near(number(&table, i, "match"), (double)i);
		assert_near(number(&table, i, "qk_cosine"), 1);
		assert_true(number(&table, i, "qk_difference") == 0);
		assert_near(number(&table, HEADS + i, "ov_cosine"),
			dot(x, y) / sqrt(dot(x, x) * dot(y, y)));
		assert_near(number(&table, HEADS + i, "ov_norm_against"), sqrt(dot(y, y)));
		for (size_t e = 0; e < D * D; e++)
			y.data[e] -= x.data[e];
		assert_near(number(&table, HEADS + i, "ov_difference"),
			sqrt(dot(y, y) / dot(x, x)));
		al_matrix_finish(&x);
		al_matrix_finish(&y);
	}
	al_table_finish(&table);
	al_audit_module_finish(&a);
	al_audit_module_finish(&b);
	close_llama(&m);
}

static void other_shapes_are_refused(void **state)
{
	struct al_attention a = {.name = "layers.0", .n_heads = 4, .n_kv_heads = 2}, b = a, c = a;
	struct al_error err;

	(void)state;
	b.n_kv_heads = 4;
	assert_false(al_against_check(&a, &b, &err));
	assert_string_equal(err.message, "layers.0: 4:2 heads against 4:4");
	c.factors[AL_KEY].rows = 5;
	assert_false(al_against_check(&a, &c, &err));
	assert_string_equal(err.message, "layers.0: key heads of 0 x 0 against 5 x 0");
}

/* ---- figures ---- */

static const struct al_measurement *measurement(const char *id)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (strcmp(al_measurements[i]->id, id) == 0)
			return al_measurements[i];
	fail_msg("no measurement %s", id);
	return NULL;
}

/* Two heads, four dimensions: beside what was measured the first two belong to the first head. */
static void mixing_stands_beside_concatenation(void **state)
{
	static const char *const keys[] = {"dimension", "head", "weight"};
	struct al_table rows, points;
	double number[3];

	(void)state;
	al_table_init(&rows, "mixing", "");
	for (size_t i = 0; i < 3; i++)
		al_table_add_column(&rows, (struct al_column){.key = keys[i]});
	for (int i = 0; i < 8; i++) {
		struct al_cell *cell = al_table_add_row(&rows);
		al_cell_set_int(&rows, &cell[0], i / 2);
		al_cell_set_int(&rows, &cell[1], i % 2);
		al_cell_set_real(&cell[2], 0.5);
	}
	al_table_init(&points, "points", "");
	al_table_add_fields(&points, measurement("mixing")->drawings[0].points, 0);
	measurement("mixing")->drawings[0].take_points(&points, &rows);
	assert_int_equal(points.n_rows, 16);
	for (size_t row = 8; row < 16; row++) {
		for (size_t k = 0; k < 3; k++)
			assert_true(al_table_number(&points, row, keys[k], &number[k]));
		assert_string_equal(al_table_text(&points, row, "panel"), "concatenated heads");
		assert_true(number[2] == (number[0] < 2 ? number[1] == 0 : number[1] == 1));
	}
	al_table_finish(&rows);
	al_table_finish(&points);
}

/* ---- files ---- */

static bool put_into_folder(void *folder, const char *name, const struct al_text *content,
	struct al_error *err)
{
	char path[256];

	(void)err;
	test_write(test_path(path, folder, name), content->data, content->length);
	return true;
}

static void matrices_come_back(void **state)
{
	const struct al_audit_options options = {0};
	struct llama m;
	struct al_audit audit;
	const struct al_spectra *heads;
	struct al_npy cosines, values;
	char path[256];

	(void)state;
	open_llama(&m);
	al_audit_init(&audit, &m.view, &options);
	struct al_audit_module a = load_layer(&m, 1, options);
	assert_true(al_matrices_hand_over(&audit, &a, put_into_folder, &m.folder, NULL));
	assert_true(
		al_npy_read(&cosines, test_path(path, &m.folder, "layers.1.qk.cosine.npy"), NULL));
	assert_true(
		al_npy_read(&values, test_path(path, &m.folder, "layers.1.heads.ov.npy"), NULL));
	assert_true(cosines.rows == HEADS && cosines.cols == HEADS);
	struct al_matrix x = dense_form(&a.heads, 1, false), y = dense_form(&a.heads, 3, false);
	assert_near(cosines.data[1 + 3 * HEADS], dot(x, y) / sqrt(dot(x, x) * dot(y, y)));
	assert_true(cosines.data[2 + 2 * HEADS] == 1);
	assert_true(al_audit_head_spectra(&a, &heads, NULL));
	assert_true(values.rows == HEADS && values.cols == WIDTH);
	for (size_t i = 0; i < HEADS; i++)
		for (size_t k = 0; k < WIDTH; k++)
			assert_true(values.data[i + k * HEADS]
				== heads->values[AL_SPECTRUM_OV]
					   .data[k + i * heads->values[AL_SPECTRUM_OV].ld]);
	al_matrix_finish(&x);
	al_matrix_finish(&y);
	al_npy_finish(&cosines);
	al_npy_finish(&values);
	al_audit_module_finish(&a);
	al_audit_finish(&audit);
	close_llama(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_come_first),
		cmocka_unit_test(rows_equal_dense_forms),
		cmocka_unit_test(few_are_the_first_of_all),
		cmocka_unit_test(even_heads_need_no_bases),
		cmocka_unit_test(heads_beside_their_counterparts),
		cmocka_unit_test(other_shapes_are_refused),
		cmocka_unit_test(mixing_stands_beside_concatenation),
		cmocka_unit_test(matrices_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
