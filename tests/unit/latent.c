/* Conversions of multi-head latent attention: fewer latent dimensions lose what a dense
 * decomposition of the stacked forms leaves. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "audit/losses.h"
#include "audit/measurement.h"
#include "support/state_dict.h"

extern const struct al_measurement al_measurement_conversion;

enum { HEADS = 6, RANK = 8, MODEL = 12 }; /* of tests/data/state-dicts/deepseek_v2-lite.txt */

struct audited {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_audit audit;
	struct al_audit_module module;
};

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

static void open_audit(struct audited *x)
{
	const struct al_audit_options options = {.seed = 1};
	struct state_dict *dict = state_dict_read("deepseek_v2-lite");
	struct al_error err = {0};

	*x = (struct audited){.catalog = al_catalog_create()};
	test_folder_make(&x->folder);
	state_dict_write(dict, &x->folder, true);
	state_dict_finish(dict);
	must(al_checkpoint_open(&x->checkpoint, x->folder.path, &err), &err);
	must(al_model_view_open(&x->view, x->catalog, &x->checkpoint, &(struct al_view_options){0},
		     &err),
		&err);
	al_audit_init(&x->audit, &x->view, &options);
	must(al_audit_module_init(&x->module, &x->audit, &x->view.modules[0], &err), &err);
}

static void close_audit(struct audited *x)
{
	al_audit_module_finish(&x->module);
	al_audit_finish(&x->audit);
	al_model_view_close(&x->view);
	al_checkpoint_close(&x->checkpoint);
	al_catalog_destroy(x->catalog);
	test_folder_remove(&x->folder);
}

/* All heads' forms A_i B_i^T on top of each other, [HEADS*MODEL][MODEL], of norm 1. */
static void stack_forms(struct al_view a, struct al_view b, struct al_matrix out)
{
	const size_t width = a.cols / HEADS;

	for (size_t i = 0; i < HEADS; i++)
		assert_true(al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_columns(a, i * width, width),
			al_columns(b, i * width, width), 0,
			al_part(out, i * MODEL, 0, MODEL, MODEL), NULL));
	const double norm = sqrt(al_squared_norm(al_view(out)));
	for (size_t j = 0; j < out.cols; j++)
		for (size_t i = 0; i < out.rows; i++)
			out.data[i + j * out.ld] /= norm;
}

/* ||X - X V V^T|| for the first `rank` columns of V. */
static double left_by(struct al_matrix x, struct al_matrix v, size_t rank)
{
	double sum = 0;

	for (size_t i = 0; i < x.rows; i++)
		for (size_t r = rank; r < v.cols; r++) {
			double along = 0;
			for (size_t j = 0; j < x.cols; j++)
				along += x.data[i + j * x.ld] * v.data[j + r * v.ld];
			sum += along * along;
		}
	return sqrt(sum);
}

static void fewer_latent_dimensions_lose_the_rest(void **state)
{
	struct al_matrix both = {0}, u = {0}, v = {0}, copy = {0};
	double values[MODEL];
	struct al_losses losses;
	struct al_error err = {0};
	struct audited x;

	(void)state;
	open_audit(&x);
	const struct al_heads *heads = &x.module.heads;
	assert_true(al_matrix_init(&both, 2 * HEADS * MODEL, MODEL, NULL)
		&& al_matrix_init(&copy, both.rows, both.cols, NULL)
		&& al_matrix_init(&u, both.rows, MODEL, NULL)
		&& al_matrix_init(&v, MODEL, MODEL, NULL));
	const struct al_matrix qk = al_part(both, 0, 0, HEADS * MODEL, MODEL);
	const struct al_matrix ov = al_part(both, HEADS * MODEL, 0, HEADS * MODEL, MODEL);
	stack_forms(heads->query, heads->key, qk);
	stack_forms(heads->output, heads->value, ov);
	assert_true(al_copy(al_view(both), copy, NULL) && al_svd(copy, u, values, v, NULL));
	assert_true(values[RANK] < 1e-12 && values[RANK - 1] > 1e-3);

	must(al_losses_find(&losses, &x.audit, &x.module, &err), &err);
	assert_int_equal(losses.n_ranks, 3);
	for (size_t i = 0; i < losses.n_ranks; i++) {
		assert_int_equal(losses.ranks[i], (size_t)RANK >> (i + 1));
		assert_true(fabs(losses.latent[i].of[AL_LOSS_QK] - left_by(qk, v, losses.ranks[i]))
			< 1e-11);
		assert_true(fabs(losses.latent[i].of[AL_LOSS_OV] - left_by(ov, v, losses.ranks[i]))
			< 1e-11);
	}
	assert_int_equal(losses.n_groupings, 0);
	assert_false(al_losses_has_shared_kv(&losses) || al_losses_has_embeddings(&losses));
	al_losses_finish(&losses);
	al_matrix_finish(&v);
	al_matrix_finish(&u);
	al_matrix_finish(&copy);
	al_matrix_finish(&both);
	close_audit(&x);
}

/* The rows of the table name the variant that the module is, with what is smaller in it. */
static void rows_are_of_latent_attention(void **state)
{
	struct al_error err = {0};
	struct al_table table;
	struct audited x;
	size_t n = 0;

	(void)state;
	open_audit(&x);
	al_table_init(&table, "conversion", "");
	al_measurement_add_columns(&al_measurement_conversion, &table, &x.audit);
	must(al_measurement_conversion.add_module(&x.audit, &x.module, &table, &err), &err);
	const int variant = al_table_find_column(&table, "variant");
	const int setting = al_table_find_column(&table, "setting");
	const int saving = al_table_find_column(&table, "saving");
	const int cache = al_table_find_column(&table, "cache_saving");
	for (size_t row = 0; row < table.n_rows; row++) {
		double saved, cached;
		assert_string_equal(table.rows[row][variant].text, "mla");
		assert_true(al_cell_number(&table.rows[row][saving], &saved));
		/* No head of these is redundant: without those that are, nothing is saved. */
		assert_true(strncmp(table.rows[row][setting].text, "redundant", 9) ? saved > 0
										   : saved == 0);
		/* One of three ranks of 8 latent numbers beside 2 rotary ones. */
		if (al_cell_number(&table.rows[row][cache], &cached) && cached > 0)
			assert_true(fabs(cached - 10 * (8 - (double)(RANK >> ++n))) < 1e-10);
	}
	assert_int_equal(n, 3);
	assert_true(table.n_rows > 6);
	al_table_finish(&table);
	close_audit(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fewer_latent_dimensions_lose_the_rest),
		cmocka_unit_test(rows_are_of_latent_attention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
