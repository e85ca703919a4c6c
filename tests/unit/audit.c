/* Audits of checkpoints with known answers, from the file to the tables. */
#include "unit.h"

#include <math.h>

#include "audit/forms.h"
#include "audit/notes.h"
#include "audit/summary.h"
#include "linalg/cp.h"
#include "support/folder.h"
#include "support/weights.h"

enum { D = 24, HEADS = 6, WIDTH = 4, LAYERS = 2, MOST_TABLES = 16 };

/* W_Q, W_K, W_V: [out = head*WIDTH][in]; W_O: [out][in = head*WIDTH], as torch stores them. */
struct layer {
	double w[AL_N_PROJECTIONS][D * D], b[AL_N_PROJECTIONS][D];
};

static struct layer layers[LAYERS];

static void fill_layers(void)
{
	memset(layers, 0, sizeof(layers));
	for (size_t l = 0; l < LAYERS; l++)
		for (size_t p = 0; p < AL_N_PROJECTIONS; p++)
			fill_normal(layers[l].w[p], (size_t)D * D, 10 * l + p + 1);
}

/* Number `row` of column `column` of a head of W_Q to W_O^T. */
static double *at(size_t l, int p, size_t head, size_t row, size_t column)
{
	size_t along = head * WIDTH + column;

	return &layers[l].w[p][p == AL_OUTPUT ? row * D + along : along * D + row];
}

/* Head = head A, [WIDTH][WIDTH] row-major; A is that of `from`. */
static void set_product(size_t l, int p, size_t head, size_t from, const double *a)
{
	for (size_t row = 0; row < D; row++) {
		double old[WIDTH];
		for (size_t j = 0; j < WIDTH; j++)
			old[j] = *at(l, p, from, row, j);
		for (size_t j = 0; j < WIDTH; j++) {
			double sum = 0;
			for (size_t k = 0; k < WIDTH; k++)
				sum += old[k] * a[k * WIDTH + j];
			*at(l, p, head, row, j) = sum;
		}
	}
}

/* Unit lower triangular, and its inverse transposed. */
static const double mixing[] = {1, 0, 0, 0, 2, 1, 0, 0, 0, -1, 1, 0, 0, 0, 3, 1};
static const double inverse_transposed[] = {1, -2, -2, 6, 0, 1, 1, -3, 0, 0, 1, -3, 0, 0, 0, 1};

/* A quarter turn of all dimensions, its own inverse transposed. */
static const double turn[] = {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -1, 0, 0, 0};

/* ---- running an audit ---- */

struct answer {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_audit audit;
	struct al_table all[MOST_TABLES], *tables[MOST_TABLES], summary;
	struct al_error left_out;
};

static void write_checkpoint(const struct answer *a)
{
	static const char config[] =
		"{\"model_type\": \"bert\", \"hidden_size\": 24, \"num_attention_heads\": 6, "
		"\"num_hidden_layers\": 2, \"intermediate_size\": 8, \"vocab_size\": 5}";
	static const char *const places[] = {"self.query", "self.key", "self.value",
		"output.dense"};
	static char names[2 * LAYERS * AL_N_PROJECTIONS][96];
	struct weight weights[2 * LAYERS * AL_N_PROJECTIONS];
	char path[256];
	size_t n = 0;

	for (size_t l = 0; l < LAYERS; l++) {
		for (size_t p = 0; p < AL_N_PROJECTIONS; p++) {
			snprintf(names[n], sizeof(names[n]),
				"encoder.layer.%zu.attention.%s.weight", l, places[p]);
			weights[n] = (struct weight){names[n], "F64", {D, D}, 2, layers[l].w[p]};
			n++;
			snprintf(names[n], sizeof(names[n]), "encoder.layer.%zu.attention.%s.bias",
				l, places[p]);
			weights[n] = (struct weight){names[n], "F64", {D}, 1, layers[l].b[p]};
			n++;
		}
	}
	write_weights(test_path(path, &a->folder, "model.safetensors"), weights, n);
	test_write(test_path(path, &a->folder, "config.json"), config, sizeof(config) - 1);
}

static void measure(struct answer *a, const struct al_attention *attention)
{
	struct al_audit_module module;
	struct al_error err;

	if (!al_audit_module_init(&module, &a->audit, attention, &err)) {
		a->left_out = err;
		return;
	}
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (!al_measurements[i]->add_module(&a->audit, &module, a->tables[i], &err))
			fail_msg("%s", err.message);
	al_audit_module_finish(&module);
}

static struct answer *run_audit(int64_t n_nulls)
{
	static struct answer answer;
	struct answer *a = &answer;
	const struct al_audit_options options = {.n_nulls = n_nulls, .seed = 1};
	const struct al_view_options view = {0};
	struct al_error err;

	*a = (struct answer){.catalog = al_catalog_create()};
	test_folder_make(&a->folder);
	write_checkpoint(a);
	if (!al_checkpoint_open(&a->checkpoint, a->folder.path, &err)
		|| !al_model_view_open(&a->view, a->catalog, &a->checkpoint, &view, &err))
		fail_msg("%s", err.message);
	al_audit_init(&a->audit, &a->view, &options);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		a->tables[i] = &a->all[i];
		al_table_init(a->tables[i], al_measurements[i]->id, al_measurements[i]->title);
		al_measurement_add_columns(al_measurements[i], a->tables[i], &a->audit);
	}
	for (size_t i = 0; i < a->view.n_modules; i++)
		measure(a, &a->view.modules[i]);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (al_measurements[i]->finish)
			al_measurements[i]->finish(&a->audit, a->tables[i]);
	al_table_init(&a->summary, "summary", "");
	al_summary_fill(&a->summary, &a->audit, a->tables);
	return a;
}

static void close_audit(struct answer *a)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		al_table_finish(a->tables[i]);
	al_table_finish(&a->summary);
	al_audit_finish(&a->audit);
	al_model_view_close(&a->view);
	al_checkpoint_close(&a->checkpoint);
	al_catalog_destroy(a->catalog);
	test_folder_remove(&a->folder);
}

/* ---- reading it ---- */

static const struct al_table *table_of(const struct answer *a, const char *id)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (strcmp(al_measurements[i]->id, id) == 0)
			return a->tables[i];
	fail_msg("no table %s", id);
	return NULL;
}

static double number(const struct al_table *table, size_t row, const char *key)
{
	int column = al_table_find_column(table, key);
	double value = NAN;

	assert_true(row < table->n_rows && column >= 0);
	(void)al_cell_number(&table->rows[row][column], &value);
	return value;
}

static const char *text(const struct al_table *table, size_t row, const char *key)
{
	int column = al_table_find_column(table, key);

	assert_true(row < table->n_rows && column >= 0);
	return table->rows[row][column].text;
}

/* The row of a conversion; its OV error in *ov where it isn't NULL. */
static double conversion(const struct answer *a, const char *module, const char *variant,
	const char *setting, const char *gauge, double *ov)
{
	const struct al_table *table = table_of(a, "conversion");

	for (size_t row = 0; row < table->n_rows; row++) {
		if (strcmp(text(table, row, "module"), module) != 0
			|| strcmp(text(table, row, "variant"), variant) != 0
			|| strcmp(text(table, row, "setting"), setting) != 0
			|| strcmp(text(table, row, "gauge"), gauge) != 0)
			continue;
		if (ov)
			*ov = number(table, row, "ov_relative_error");
		return number(table, row, "qk_relative_error");
	}
	fail_msg("no conversion %s %s %s of %s", variant, setting, gauge, module);
	return NAN;
}

/* A number of the module's first row for a form of `pca`. */
static double of_form(const struct answer *a, size_t l, const char *form, const char *key)
{
	const struct al_table *pca = table_of(a, "pca");
	char module[16];

	snprintf(module, sizeof(module), "layers.%zu", l);
	for (size_t row = 0; row < pca->n_rows; row++)
		if (strcmp(text(pca, row, "module"), module) == 0
			&& strcmp(text(pca, row, "form"), form) == 0)
			return number(pca, row, key);
	fail_msg("no form %s of %s", form, module);
	return NAN;
}

static const char *found(const struct answer *a, const char *item)
{
	for (size_t row = 0; row < a->summary.n_rows; row++)
		if (strcmp(text(&a->summary, row, "item"), item) == 0)
			return text(&a->summary, row, "value");
	fail_msg("no line %s", item);
	return NULL;
}

/* ---- known answers ---- */

/* In the first layer head i has queries of rank 1 + i % 4. */
static void ranks_are_exact(void **state)
{
	(void)state;
	fill_layers();
	for (size_t i = 0; i < HEADS; i++) {
		double a[WIDTH * WIDTH] = {0};
		for (size_t j = 0; j < 1 + i % WIDTH; j++)
			a[j * WIDTH + j] = 1;
		set_product(0, AL_QUERY, i, i, a);
	}
	struct answer *a = run_audit(0);
	const struct al_table *heads = table_of(a, "heads");
	assert_int_equal(heads->n_rows, LAYERS * HEADS);
	for (size_t row = 0; row < heads->n_rows; row++) {
		size_t rank = row < HEADS ? 1 + row % WIDTH : WIDTH;
		assert_true(number(heads, row, "q_rank") == (double)rank);
		assert_true(number(heads, row, "qk_rank") == (double)rank);
		assert_true(number(heads, row, "k_rank") == WIDTH
			&& number(heads, row, "ov_rank") == WIDTH);
		assert_true(number(heads, row, "layer") == (double)(row / HEADS));
	}
	assert_true(conversion(a, "layers.0", "mha", "heads of rank 3", "optimal", NULL) > 0.01);
	close_audit(a);
}

/* All heads are one, each in a basis of its own. */
static void copies_are_one_head(void **state)
{
	(void)state;
	fill_layers();
	for (size_t l = 0; l < LAYERS; l++)
		for (size_t i = 1; i < HEADS; i++)
			for (int p = 0; p < AL_N_PROJECTIONS; p++)
				set_product(l, p, i, i - 1, turn);
	struct answer *a = run_audit(2);
	const struct al_table *similarity = table_of(a, "similarity"), *pca = table_of(a, "pca");
	double ov;

	for (size_t row = 0; row < similarity->n_rows; row++) {
		assert_true(fabs(number(similarity, row, "qk_cosine") - 1) < 1e-12);
		assert_true(fabs(number(similarity, row, "query_kernel") - 1) < 1e-12);
		assert_true(number(similarity, row, "query_angle_max") < 1e-5);
	}
	assert_int_equal(pca->n_rows, LAYERS * 2 * HEADS);
	assert_true(conversion(a, "layers.1", "mqa", "mean", "raw", &ov) > 0.5 && ov > 0.5);
	assert_true(conversion(a, "layers.1", "mqa", "neighbors", "optimal", &ov) < 1e-13
		&& ov < 1e-13);
	assert_true(conversion(a, "layers.0", "mhe-add", "", "optimal", &ov) < 1e-7 && ov < 1e-13);
	assert_true(conversion(a, "layers.0", "mhe-mul", "", "found", NULL) < 1e-7);
	assert_true(conversion(a, "layers.0", "latent-kv", "kv_rank 12", "optimal", &ov) < 1e-13
		&& ov < 1e-13);
	assert_string_equal(found(a, "modules"), "2, each of 6 heads of width 4");
	assert_non_null(strstr(found(a, "under 1 % error"), "mha redundant heads to 1 %"));
	for (size_t row = 0; row < LAYERS; row++)
		assert_true(number(table_of(a, "layers"), row, "qk_n99") <= WIDTH
			&& number(table_of(a, "layers"), row, "redundancy") > 0.5);
	close_audit(a);
}

/* Queries and values of head i from rows of its own: the forms have nothing in common. */
static void part_heads(size_t l)
{
	for (size_t i = 0; i < HEADS; i++)
		for (int p = AL_QUERY; p <= AL_VALUE; p += AL_VALUE - AL_QUERY)
			for (size_t row = 0; row < D; row++)
				for (size_t j = 0; row / (D / HEADS) != i && j < WIDTH; j++)
					*at(l, p, i, row, j) = 0;
}

/* Whatever they share in the mean: six heads at right angles are six, also where one is a hundred
 * times the others; three of which each has a copy are three; a head that does nothing is none. */
static void different_heads_are_counted(void **state)
{
	(void)state;
	fill_layers();
	part_heads(0);
	part_heads(1);
	for (size_t row = 0; row < D; row++)
		for (size_t j = 0; j < WIDTH; j++)
			*at(0, AL_QUERY, 2, row, j) *= 100;
	for (size_t i = 0; i < HEADS / 2; i++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++)
			set_product(1, p, i + HEADS / 2, i, turn);
	struct answer *a = run_audit(0);
	assert_true(fabs(of_form(a, 0, "qk", "different_heads") - HEADS) < 1e-9);
	assert_true(fabs(of_form(a, 0, "ov", "different_heads") - HEADS) < 1e-9);
	assert_true(fabs(of_form(a, 1, "qk", "different_heads") - HEADS / 2.0) < 1e-9);
	assert_true(fabs(of_form(a, 1, "ov", "different_heads") - HEADS / 2.0) < 1e-9);
	assert_string_equal(found(a, "different heads"),
		"equivalent to 4.5 (3.0 to 6.0) of 6 heads by scores, 4.5 (3.0 to 6.0) by values");
	close_audit(a);
	memset(layers[0].w[AL_KEY], 0, sizeof(layers[0].w[AL_KEY]) / HEADS);
	a = run_audit(0);
	assert_true(fabs(of_form(a, 0, "qk", "different_heads") - (HEADS - 1)) < 1e-9);
	close_audit(a);
}

/* ---- biases ---- */

/* Head i's score form on [x, 1], [D + 1][D]. */
static void form_with_bias(size_t l, size_t head, double *out)
{
	memset(out, 0, (D + 1) * D * sizeof(*out));
	for (size_t row = 0; row <= D; row++)
		for (size_t column = 0; column < D; column++)
			for (size_t j = 0; j < WIDTH; j++)
				out[row * D + column] += *at(l, AL_KEY, head, column, j)
					* (row < D ? *at(l, AL_QUERY, head, row, j)
						   : layers[l].b[AL_QUERY][head * WIDTH + j]);
}

static double sum_of_products(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Heads that all are one but for their queries' biases attend differently. The keys' biases are the
 * same for all keys of a query. */
static void biases_tell_heads_apart(void **state)
{
	static double one[(D + 1) * D], other[(D + 1) * D];

	(void)state;
	fill_layers();
	for (size_t i = 1; i < HEADS; i++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++)
			set_product(0, p, i, i - 1, turn);
	fill_normal(layers[0].b[AL_QUERY], D, 77);
	for (size_t k = 0; k < D; k++) {
		layers[0].b[AL_QUERY][k] *= 30;
		layers[0].b[AL_KEY][k] = (double)k;
	}
	struct answer *a = run_audit(0);
	const struct al_table *similarity = table_of(a, "similarity"),
			      *heads = table_of(a, "heads");
	for (size_t row = 0; row < similarity->n_rows; row++) {
		if (strcmp(text(similarity, row, "module_a"), "layers.0") != 0)
			continue;
		form_with_bias(0, (size_t)number(similarity, row, "head_a"), one);
		form_with_bias(0, (size_t)number(similarity, row, "head_b"), other);
		double cosine = sum_of_products(one, other, (D + 1) * D)
			/ sqrt(sum_of_products(one, one, (D + 1) * D)
				* sum_of_products(other, other, (D + 1) * D));
		assert_true(fabs(number(similarity, row, "qk_cosine") - cosine) < 1e-9);
		assert_true(fabs(number(similarity, row, "ov_cosine") - 1) < 1e-9);
	}
	assert_true(of_form(a, 0, "qk", "different_heads") > 3);
	assert_true(of_form(a, 0, "ov", "different_heads") < 1.001);
	for (size_t i = 0; i < HEADS; i++) {
		form_with_bias(0, i, one);
		assert_true(fabs(number(heads, i, "qk_bias_share")
				    - sum_of_products(one + D * D, one + D * D, D)
					    / sum_of_products(one, one, (D + 1) * D))
			< 1e-12);
		assert_true(number(heads, HEADS + i, "qk_bias_share") == 0);
	}
	close_audit(a);
}

/* ---- heads that a module can do without ---- */

/* ||V_j O_j^T||^2 of a head of a layer, of rows [from, D] of V alone, the last its bias. */
static double squared_values(size_t l, size_t head, size_t from)
{
	double sum = 0;

	for (size_t row = from; row <= D; row++)
		for (size_t column = 0; column < D; column++) {
			double entry = 0;
			for (size_t j = 0; j < WIDTH; j++)
				entry += (row < D ? *at(l, AL_VALUE, head, row, j)
						  : layers[l].b[AL_VALUE][head * WIDTH + j])
					* *at(l, AL_OUTPUT, head, column, j);
			sum += entry * entry;
		}
	return sum;
}

/* In the first layer head 5 is head 2 in another basis, but for W_O, which may be any; in the
 * second head 3 writes a hundredth of what others do. */
static void redundant_heads_are_found(void **state)
{
	double all = 0, ov;

	(void)state;
	fill_layers();
	set_product(0, AL_QUERY, 5, 2, mixing);
	set_product(0, AL_KEY, 5, 2, inverse_transposed);
	set_product(0, AL_VALUE, 5, 2, mixing);
	for (size_t row = 0; row < D; row++)
		for (size_t j = 0; j < WIDTH; j++)
			*at(1, AL_OUTPUT, 3, row, j) /= 100;
	struct answer *a = run_audit(0);
	const struct al_table *redundant = table_of(a, "redundant");
	assert_int_equal(redundant->n_rows, 2);
	assert_string_equal(text(redundant, 0, "reason"), "twin");
	assert_true(number(redundant, 0, "head") == 5 && number(redundant, 0, "twin") == 2);
	assert_true(fabs(number(redundant, 0, "qk_cosine") - 1) < 1e-12);
	assert_true(number(redundant, 0, "cumulative_error") < 1e-12);
	assert_true(number(redundant, 0, "ov_relative_error") < 1e-12);
	assert_string_equal(text(redundant, 1, "reason"), "silent");
	assert_string_equal(text(redundant, 1, "module"), "layers.1");
	for (size_t i = 0; i < HEADS; i++)
		all += squared_values(1, i, 0);
	const double share = squared_values(1, 3, 0) / all;
	assert_true(number(redundant, 1, "head") == 3 && isnan(number(redundant, 1, "twin")));
	assert_true(fabs(number(redundant, 1, "output_share") - share) < 1e-12);
	assert_true(fabs(number(redundant, 1, "ov_relative_error") - sqrt(share)) < 1e-12);
	assert_true(
		conversion(a, "layers.0", "mha", "redundant heads to 1 %", "optimal", &ov) < 1e-12
		&& ov < 1e-12);
	assert_non_null(
		strstr(found(a, "under 1 % error"), "mha redundant heads to 1 %: error 0.00"));
	assert_string_equal(found(a, "removable heads"),
		"2 at 1 % error of their module, 2 at 10 %: layers.0 head 5 copies head 2 "
		"...");
	close_audit(a);
}

/* Heads that score alike up to other biases have no twins; of values what the twin doesn't span is
 * lost. Rows [D/2, D) of values are the copy's own, and so is its bias. */
static void twins_lose_what_differs(void **state)
{
	double all = 0;

	(void)state;
	fill_layers();
	for (size_t l = 0; l < LAYERS; l++)
		for (int p = AL_QUERY; p <= AL_VALUE; p++)
			set_product(l, p, 4, 1, turn);
	for (size_t row = D / 2; row < D; row++)
		for (size_t j = 0; j < WIDTH; j++) {
			*at(0, AL_VALUE, 4, row, j) = 0.02 * (double)((row * 5 + j * 3) % 7);
			*at(0, AL_VALUE, 1, row, j) = 0;
		}
	for (size_t row = 0; row < D; row++) /* the lighter of the two is merged */
		for (size_t j = 0; j < WIDTH; j++)
			*at(0, AL_OUTPUT, 1, row, j) *= 3;
	for (size_t j = 0; j < WIDTH; j++)
		layers[1].b[AL_QUERY][4 * WIDTH + j] = 20;
	for (size_t k = 0; k < D; k++)
		layers[0].b[AL_VALUE][k] = k / WIDTH == 1 ? 0 : 0.01 * (double)(k + 1);
	struct answer *a = run_audit(0);
	const struct al_table *redundant = table_of(a, "redundant");
	assert_int_equal(redundant->n_rows, 1);
	for (size_t i = 0; i < HEADS; i++)
		all += squared_values(0, i, 0);
	assert_true(number(redundant, 0, "head") == 4 && number(redundant, 0, "twin") == 1);
	assert_true(fabs(number(redundant, 0, "ov_relative_error")
			    - sqrt(squared_values(0, 4, D / 2) / all))
		< 1e-9);
	assert_true(number(redundant, 0, "cumulative_error") > 1e-4);
	close_audit(a);
}

/* Head 5 becomes head 2 with noise, in parts of the deviation of its numbers. */
static void copy_with_noise(size_t l, double noise)
{
	double *normal = calloc((size_t)D * WIDTH, sizeof(*normal));

	for (int p = AL_QUERY; p <= AL_OUTPUT; p++) {
		double squares = 0;
		fill_normal(normal, (size_t)D * WIDTH, 1000 + 10 * l + (size_t)p);
		for (size_t i = 0; i < (size_t)D * WIDTH; i++)
			squares += *at(l, p, 2, i / WIDTH, i % WIDTH)
				* *at(l, p, 2, i / WIDTH, i % WIDTH);
		for (size_t i = 0; i < (size_t)D * WIDTH; i++)
			*at(l, p, 5, i / WIDTH, i % WIDTH) = *at(l, p, 2, i / WIDTH, i % WIDTH)
				+ noise * sqrt(squares / (D * WIDTH)) * normal[i];
	}
	free(normal);
}

/* 50 % noise leaves cosines near 0.8 and costs more than a tenth; 150 % leave 0.3, no likeness. */
static void noisy_twins_are_found(void **state)
{
	(void)state;
	fill_layers();
	copy_with_noise(0, .5);
	copy_with_noise(1, 1.5);
	struct answer *a = run_audit(0);
	const struct al_table *redundant = table_of(a, "redundant");
	assert_int_equal(redundant->n_rows, 1);
	assert_string_equal(text(redundant, 0, "module"), "layers.0");
	assert_string_equal(text(redundant, 0, "reason"), "twin");
	assert_true(number(redundant, 0, "head") + number(redundant, 0, "twin") == 5 + 2);
	assert_true(number(redundant, 0, "qk_cosine") > .707
		&& number(redundant, 0, "ov_cosine") > .707);
	assert_true(number(redundant, 0, "cumulative_error") > .1);
	assert_non_null(strstr(found(a, "removable heads"), "0 at 10 %, 1 more near copies: "));
	close_audit(a);
	copy_with_noise(1, 1e-5);
	a = run_audit(0);
	assert_non_null(strstr(found(a, "removable heads"), "1 at 10 %, 1 more near copies: "));
	close_audit(a);
}

/* The heads of the first layer in the order of the permutation. */
static void permute(const size_t *order)
{
	static struct layer old[LAYERS];

	memcpy(old, layers, sizeof(old));
	for (size_t i = 0; i < HEADS; i++) {
		for (int p = 0; p < AL_N_PROJECTIONS; p++) {
			struct layer now = layers[0];
			layers[0] = old[0];
			double copy[D][WIDTH];
			for (size_t row = 0; row < D; row++)
				for (size_t j = 0; j < WIDTH; j++)
					copy[row][j] = *at(0, p, order[i], row, j);
			layers[0] = now;
			for (size_t row = 0; row < D; row++)
				for (size_t j = 0; j < WIDTH; j++)
					*at(0, p, i, row, j) = copy[row][j];
		}
	}
}

static const char *const whole_numbers[] = {"q_n50", "k_n90", "qk_n90", "qu_n90", "ku_n99",
	"ov_n95"};

static void permuted_heads_permute_the_answer(void **state)
{
	static const size_t order[HEADS] = {3, 0, 5, 1, 4, 2};
	double norms[HEADS], counts[6], mqa, ov_mqa, ov;

	(void)state;
	fill_layers();
	struct answer *a = run_audit(0);
	for (size_t i = 0; i < HEADS; i++)
		norms[i] = number(table_of(a, "heads"), i, "qk_norm");
	for (size_t k = 0; k < 6; k++)
		counts[k] = number(table_of(a, "layers"), 0, whole_numbers[k]);
	mqa = conversion(a, "layers.0", "mqa", "neighbors", "optimal", &ov_mqa);
	close_audit(a);
	permute(order);
	a = run_audit(0);
	for (size_t i = 0; i < HEADS; i++)
		assert_true(
			fabs(number(table_of(a, "heads"), i, "qk_norm") - norms[order[i]]) < 1e-9);
	for (size_t k = 0; k < 6; k++)
		assert_true(number(table_of(a, "layers"), 0, whole_numbers[k]) == counts[k]);
	assert_true(
		fabs(conversion(a, "layers.0", "mqa", "neighbors", "optimal", &ov) - mqa) < 1e-10);
	assert_true(fabs(ov - ov_mqa) < 1e-10);
	close_audit(a);
}

/* W_Q A beside W_K A^-T, W_V A beside W_O^T A^-T: only rows that say raw change. */
static void another_basis_changes_what_is_raw(void **state)
{
	struct {
		double qk, ov;
		char gauge[16];
	} rows[256];
	size_t n_rows;

	(void)state;
	fill_layers();
	struct answer *a = run_audit(0);
	const struct al_table *table = table_of(a, "conversion");
	n_rows = table->n_rows;
	assert_between(n_rows, 20, 256);
	for (size_t row = 0; row < n_rows; row++) {
		rows[row].qk = number(table, row, "qk_relative_error");
		rows[row].ov = number(table, row, "ov_relative_error");
		snprintf(rows[row].gauge, sizeof(rows[row].gauge), "%s", text(table, row, "gauge"));
	}
	close_audit(a);
	for (size_t l = 0; l < LAYERS; l++)
		for (size_t i = 0; i < HEADS; i += 2)
			for (int p = 0; p < AL_N_PROJECTIONS; p++)
				set_product(l, p, i, i,
					p == AL_QUERY || p == AL_VALUE ? mixing
								       : inverse_transposed);
	a = run_audit(0);
	table = table_of(a, "conversion");
	assert_int_equal(table->n_rows, n_rows);
	for (size_t row = 0; row < n_rows; row++) {
		double qk = number(table, row, "qk_relative_error");
		double change = isnan(qk) ? 0 : fabs(qk - rows[row].qk);
		bool is_iterated = strcmp(text(table, row, "variant"), "mhe-mul") == 0;
		if (strcmp(rows[row].gauge, "raw") == 0)
			assert_true(change > 1e-3);
		else
			assert_true(change < (is_iterated ? 0.05 : 1e-7)
				&& fabs(number(table, row, "ov_relative_error") - rows[row].ov)
					< 1e-7);
	}
	close_audit(a);
}

static void conversions_save_what_the_ledger_says(void **state)
{
	(void)state;
	fill_layers();
	struct answer *a = run_audit(0);
	const struct al_table *table = table_of(a, "conversion");
	size_t n_found = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *variant = text(table, row, "variant");
		double n = strcmp(variant, "mqa") == 0 ? 1 : strcmp(variant, "gqa-3") == 0 ? 3 : 0;
		if (n == 0)
			continue;
		double whole = 4 * D * D + 4 * D, kv = 2 * (D + 1) * WIDTH * (HEADS - n);
		assert_true(number(table, row, "parameters") == whole - kv);
		assert_true(fabs(number(table, row, "saving") - 100 * kv / whole) < 1e-10);
		assert_true(
			fabs(number(table, row, "cache_saving") - 100 * (1 - n / HEADS)) < 1e-10);
		n_found++;
	}
	assert_int_equal(n_found, LAYERS * (2 + 3));
	close_audit(a);
}

static void modules_that_are_not_finite_are_left_out(void **state)
{
	(void)state;
	fill_layers();
	layers[1].w[AL_VALUE][7] = NAN;
	layers[1].w[AL_VALUE][70] = INFINITY;
	struct answer *a = run_audit(1);
	assert_string_equal(a->left_out.message,
		"2 of 576 numbers of encoder.layer.1.attention.self.value.weight are NaN or "
		"infinite");
	assert_int_equal(table_of(a, "layers")->n_rows, 1);
	assert_string_equal(found(a, "modules"), "1, each of 6 heads of width 4");
	close_audit(a);
}

static void zeros_have_no_conversions(void **state)
{
	(void)state;
	fill_layers();
	memset(layers[0].w[AL_KEY], 0, sizeof(layers[0].w[AL_KEY]));
	struct answer *a = run_audit(1);
	assert_int_equal(table_of(a, "layers")->n_rows, 2);
	assert_string_equal(text(table_of(a, "conversion"), 0, "module"), "layers.1");
	close_audit(a);
}

/* ---- the mixing matrix ---- */

static void assert_near(double found, double expected)
{
	assert_true(fabs(found - expected) < 1e-6);
}

static double length_of_dimension(const struct al_table *table, size_t first)
{
	double sum = 0;

	for (size_t i = 0; i < HEADS; i++)
		sum += number(table, first + i, "weight") * number(table, first + i, "weight");
	return sqrt(sum);
}

/* Independent heads of half the width share nothing: each has WIDTH/2 dimensions of its own. */
static void independent_heads_mix_like_concatenation(void **state)
{
	static const double half[WIDTH * WIDTH] = {[0] = 1, [WIDTH + 1] = 1};
	enum { DIMENSIONS = HEADS * WIDTH / 2 };

	(void)state;
	fill_layers();
	for (size_t i = 0; i < HEADS; i++)
		set_product(0, AL_QUERY, i, i, half);
	struct answer *a = run_audit(0);
	const struct al_table *table = table_of(a, "mixing");
	assert_int_equal(table->n_rows, LAYERS * DIMENSIONS * HEADS);
	for (size_t row = 0; row < DIMENSIONS * HEADS; row++) {
		size_t dimension = row / HEADS, head = row % HEADS;
		assert_true(number(table, row, "head") == (double)head);
		assert_true(number(table, row, "dimension") == (double)dimension);
		assert_near(number(table, row, "weight"), dimension / (WIDTH / 2) == head);
	}
	for (size_t row = 0; row < table->n_rows; row += HEADS)
		assert_near(length_of_dimension(table, row), 1);
	close_audit(a);
}

/* Neighbors beside what two heads have in common: CP gets there slowly. */
static void share_dimensions(size_t l)
{
	for (size_t i = 2; i < HEADS; i++)
		for (size_t row = 0; row < D; row++)
			for (size_t j = 0; j < WIDTH; j++) {
				double *q = at(l, AL_QUERY, i, row, j),
				       *k = at(l, AL_KEY, i, row, j);
				*q = .3 * *q + *at(l, AL_QUERY, i % 2, row, (i + j) % WIDTH);
				*k = .3 * *k + *at(l, AL_KEY, i % 2, row, j);
			}
}

/* What sweeps reach that nothing but their number stops. */
static double swept(struct answer *a, size_t module, size_t rank)
{
	const struct al_cp_options options = {.rank = rank,
		.start = AL_CP_GREEDY,
		.n_sweeps = 2000};
	struct al_audit_module m;
	struct al_error err;
	struct al_cp cp;

	if (!al_audit_module_init(&m, &a->audit, &a->view.modules[module], &err))
		fail_msg("%s", err.message);
	const struct al_heads scores = {.query = m.heads.query,
		.key = m.heads.key,
		.n_heads = HEADS,
		.n_kv_heads = HEADS,
		.d_head = WIDTH};
	if (!al_cp(&scores, &options, &cp, &err))
		fail_msg("%s", err.message);
	const double error = cp.relative_error;
	al_cp_finish(&cp);
	al_audit_module_finish(&m);
	return error;
}

/* A printed error of CP is one that 2,000 sweeps don't lower by more than 1 %. */
static void more_sweeps_do_not_beat_the_table(void **state)
{
	size_t n_measured = 0, n_left_out = 0;

	(void)state;
	fill_layers();
	share_dimensions(0);
	struct answer *a = run_audit(0);
	const struct al_table *table = table_of(a, "tucker");
	for (size_t row = 0; row < table->n_rows; row++) {
		const double error = number(table, row, "relative_error");
		const size_t rank = (size_t)number(table, row, "rank");
		if (strcmp(text(table, row, "method"), "collab") != 0)
			continue;
		if (isnan(error)) {
			n_left_out++;
			continue;
		}
		const double least = swept(a, (size_t)number(table, row, "layer"), rank);
		if (!(least >= .99 * error || error < 1e-12))
			fail_msg("layer %g, rank %zu: %g, but 2,000 sweeps reach %g",
				number(table, row, "layer"), rank, error, least);
		n_measured++;
	}
	assert_int_equal(n_measured + n_left_out, 2 * 6);
	assert_true(n_measured >= 10);
	close_audit(a);
}

static bool is_noted(struct answer *a, const struct al_attention *second, const char *begin)
{
	const struct al_attention *const measured[] = {&a->view.modules[0], second};
	struct al_table table;
	bool is_there = false;

	al_table_init(&table, "heads", "");
	al_audit_note(&a->audit, measured, 2, "any", &table);
	for (size_t i = 0; i < table.n_notes; i++)
		is_there = is_there || strncmp(table.notes[i], begin, strlen(begin)) == 0;
	al_table_finish(&table);
	return is_there;
}

/* Of weights of so few bits; a second module's keys are in another format, all else in F64. */
static void coarse_weights_and_gates_are_noted(void **state)
{
	static const char none[] = "no ranks for weights", little[] = "ranks mean little",
			  gate[] = "what heads put out is multiplied by the sigmoid of a gate";
	static const struct {
		const char *format;
		bool none, little;
	} cases[] = {{"f64", false, false}, {"bf16", false, false}, {"q8_0", false, false},
		{"q6_k", false, false}, {"q5_k", false, true}, {"q4_0", false, true},
		{"q3_k", false, true}, {"q2_k", true, false}};

	(void)state;
	fill_layers();
	struct answer *a = run_audit(0);
	struct al_attention keys = a->view.modules[1];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		keys.factors[AL_KEY].dtype = al_dtype_named(cases[i].format);
		assert_int_equal(is_noted(a, &keys, none), cases[i].none);
		assert_int_equal(is_noted(a, &keys, little), cases[i].little);
	}
	measure(a, &keys); /* the last of them */
	const struct al_table *heads = table_of(a, "heads");
	assert_true(number(heads, 0, "qk_rank") > 0);
	assert_true(isnan(number(heads, heads->n_rows - 1, "qk_rank")));
	assert_false(is_noted(a, &keys, gate));
	keys.gate = keys.factors[AL_QUERY];
	assert_true(is_noted(a, &keys, gate));
	close_audit(a);
}

/* ---- what figures show ---- */

static struct al_table *points_of(const struct answer *a, const char *id, size_t drawing)
{
	static struct al_table points;

	al_table_init(&points, "points", "");
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		if (strcmp(al_measurements[i]->id, id) != 0)
			continue;
		const struct al_drawing *d = &al_measurements[i]->drawings[drawing];
		if (d->points)
			al_table_add_fields(&points, d->points, 0);
		d->take_points(&points, a->tables[i]);
	}
	return &points;
}

/* A point for each row of the table whose `key` reads `value`, in order; how far it looked. */
static size_t check_points(const struct al_table *points, const char *method,
	const struct al_table *table, const char *key, const char *value, const char *error)
{
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *found = text(table, row, key);
		if (!found || strcmp(found, value) != 0)
			continue;
		while (strcmp(text(points, n, "method"), method) != 0)
			n++;
		const double x = number(points, n, "error"), y = number(table, row, error);
		assert_string_equal(text(points, n, "module"), text(table, row, "module"));
		assert_true(number(points, n, "parameters") == number(table, row, "parameters"));
		assert_true(x == y || (isnan(x) && isnan(y)));
		n++;
	}
	return n;
}

static void curves_by_width_are_of_three_methods(void **state)
{
	(void)state;
	fill_layers();
	struct answer *a = run_audit(0);
	const struct al_table *tucker = table_of(a, "tucker");
	struct al_table *points = points_of(a, "tucker", 0);
	assert_int_equal(points->n_rows, 3 * tucker->n_rows / 4);
	assert_true(check_points(points, "CP", tucker, "method", "collab", "relative_error") > 0);
	check_points(points, "truncated heads", tucker, "method", "collab", "control_error");
	check_points(points, "Tucker", tucker, "core", "factored", "relative_error");
	al_table_finish(points);
	close_audit(a);
}

/* Each curve begins at its first component and ends with all of the variance; as many as heads,
 * modules and draws have. */
static void check_curves(const struct al_table *points, const char *series, size_t n_strands)
{
	double strand = 0, captured = 1;
	size_t n = 0;

	for (size_t row = 0; row < points->n_rows; row++) {
		if (strcmp(text(points, row, "series"), series) != 0)
			continue;
		const bool is_next = number(points, row, "strand") != strand;
		assert_true(is_next == (number(points, row, "component") == 1));
		assert_true(is_next ? fabs(captured - 1) < 1e-9
				    : number(points, row, "captured") >= captured);
		n += is_next;
		strand = number(points, row, "strand");
		captured = number(points, row, "captured");
	}
	assert_int_equal(n, n_strands);
}

static void curves_of_variance_are_of_heads_modules_and_draws(void **state)
{
	enum { DRAWS = 2 };

	(void)state;
	fill_layers();
	struct answer *a = run_audit(DRAWS);
	struct al_table *points = points_of(a, "curves", 0);
	check_curves(points, "$W_Q$", LAYERS * (HEADS + 1));
	check_curves(points, "$W_K$", LAYERS * (HEADS + 1));
	check_curves(points, "$W_Q W_K^T$", LAYERS * (HEADS + 1));
	check_curves(points, "$W_Q W_K^T$ of independent heads", LAYERS * DRAWS);
	al_table_finish(points);
	points = points_of(a, "curves", 1);
	check_curves(points, "all heads together", LAYERS);
	check_curves(points, "unrelated heads with the same spectra", LAYERS);
	al_table_finish(points);
	close_audit(a);
}

/* W_Q W_K^T = [1; 2] [3, 5] has entries 3, 5, 6, 10; a bias of 4 adds the row 12, 20. */
static void means_of_forms_are_those_of_their_entries(void **state)
{
	static double query[] = {1, 2}, key[] = {3, 5}, bias[] = {4};
	struct al_heads heads = {.query = {query, 2, 1, 2},
		.key = {key, 2, 1, 2},
		.n_heads = 1,
		.n_kv_heads = 1,
		.d_head = 1};
	struct al_error err;
	double mean;

	(void)state;
	assert_true(al_form_means(&heads, AL_FORM_QK, &mean, &err));
	assert_true(mean == 24. / 4);
	heads.bias[AL_QUERY] = (struct al_view){bias, 1, 1, 1};
	assert_true(al_form_means(&heads, AL_FORM_QK, &mean, &err));
	assert_true(fabs(mean - 56. / 6) < 1e-14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coarse_weights_and_gates_are_noted),
		cmocka_unit_test(curves_by_width_are_of_three_methods),
		cmocka_unit_test(curves_of_variance_are_of_heads_modules_and_draws),
		cmocka_unit_test(means_of_forms_are_those_of_their_entries),
		cmocka_unit_test(ranks_are_exact),
		cmocka_unit_test(copies_are_one_head),
		cmocka_unit_test(different_heads_are_counted),
		cmocka_unit_test(biases_tell_heads_apart),
		cmocka_unit_test(redundant_heads_are_found),
		cmocka_unit_test(twins_lose_what_differs),
		cmocka_unit_test(noisy_twins_are_found),
		cmocka_unit_test(permuted_heads_permute_the_answer),
		cmocka_unit_test(another_basis_changes_what_is_raw),
		cmocka_unit_test(conversions_save_what_the_ledger_says),
		cmocka_unit_test(modules_that_are_not_finite_are_left_out),
		cmocka_unit_test(zeros_have_no_conversions),
		cmocka_unit_test(independent_heads_mix_like_concatenation),
		cmocka_unit_test(more_sweeps_do_not_beat_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
