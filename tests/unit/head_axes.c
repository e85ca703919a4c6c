/* Kernels with an axis for the heads, as Flax's vision transformers have them: the heads are those
 * of the same model as torch stores it. */
#include "support/state_dict.h"
#include "unit.h"

#include "base/text.h"
#include "model/heads/views.h"

enum { MOST_MODULES = 16, MOST_NUMBERS = 4096 };

/* [rows][columns] -> [columns][rows] */
static void transpose(struct state_dict *dict, struct weight *weight)
{
	const int64_t rows = weight->shape[0], columns = weight->shape[1];
	double *turned = al_new_array(&dict->arena, double, (size_t)(rows * columns));

	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < columns; j++)
			turned[j * rows + i] = weight->values[i * columns + j];
	weight->values = turned;
	weight->shape[0] = columns;
	weight->shape[1] = rows;
}

/* ---- every factor of every module ---- */

struct numbers {
	double items[MOST_MODULES][AL_N_PROJECTIONS][2][MOST_NUMBERS];
	size_t n[MOST_MODULES][AL_N_PROJECTIONS][2], n_modules;
};

static void load_factor(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	double *out, size_t *n)
{
	struct al_matrix matrix;
	struct al_error err = {0};

	*n = 0;
	if (factor->n_runs == 0)
		return;
	if (!al_factor_load(checkpoint, factor, &matrix, &err))
		fail_msg("%s", err.message);
	assert_true(matrix.rows * matrix.cols <= MOST_NUMBERS);
	for (size_t j = 0; j < matrix.cols; j++)
		for (size_t i = 0; i < matrix.rows; i++)
			out[(*n)++] = matrix.data[i + j * matrix.ld];
	al_matrix_finish(&matrix);
}

static struct numbers *load(const char *folder, const struct al_view_options *options,
	const char *family)
{
	struct al_catalog *catalog = al_catalog_create();
	struct numbers *out = calloc(1, sizeof(*out));
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_error err = {0};

	assert_non_null(out);
	if (!al_checkpoint_open(&checkpoint, folder, &err)
		|| !al_model_view_open(&view, catalog, &checkpoint, options, &err))
		fail_msg("%s", err.message);
	if (family)
		assert_string_equal(view.family->name, family);
	out->n_modules = view.n_modules;
	assert_true(out->n_modules > 0 && out->n_modules <= MOST_MODULES);
	for (size_t m = 0; m < view.n_modules; m++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++) {
			const struct al_attention *a = &view.modules[m];
			load_factor(&checkpoint, &a->factors[p], out->items[m][p][0],
				&out->n[m][p][0]);
			load_factor(&checkpoint, &a->biases[p], out->items[m][p][1],
				&out->n[m][p][1]);
		}
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	al_catalog_destroy(catalog);
	return out;
}

static struct numbers *write_and_load(const struct state_dict *dict, bool with_config,
	const struct al_view_options *options, const char *family)
{
	struct test_folder folder;

	test_folder_make(&folder);
	state_dict_write(dict, &folder, with_config);
	struct numbers *numbers = load(folder.path, options, family);
	test_folder_remove(&folder);
	return numbers;
}

/* ---- heads in an axis of their own ---- */

enum { HEADS = 3, WIDTH = 4, LAYERS = 2 };

/* What torch calls a projection's weight and bias, turned and cut into heads. */
static void take_projection(struct state_dict *to, struct state_dict *from, int layer,
	const char *torch, const char *flax)
{
	const bool is_output = strcmp(flax, "out") == 0;

	for (int is_bias = 0; is_bias < 2; is_bias++) {
		struct weight *weight = &to->weights[to->n++];
		*weight = *state_dict_find(from,
			al_format(&to->arena, "vit.encoder.layer.%d.attention.%s.%s", layer, torch,
				is_bias ? "bias" : "weight"));
		weight->name = al_format(&to->arena,
			"Transformer/encoderblock_%d/MultiHeadDotProductAttention_1/%s/%s", layer,
			flax, is_bias ? "bias" : "kernel");
		if (is_bias && is_output)
			continue;
		if (!is_bias)
			transpose(to, weight);
		weight->shape[2] = weight->shape[1];
		weight->shape[is_bias || is_output ? 0 : 1] = HEADS;
		weight->shape[is_bias || is_output ? 1 : 2] = WIDTH;
		weight->n_dims++;
	}
}

static struct state_dict *cut_into_heads(struct state_dict *from)
{
	static const char *const projections[][2] = {{"attention.query", "query"},
		{"attention.key", "key"}, {"attention.value", "value"}, {"output.dense", "out"}};
	struct state_dict *to = calloc(1, sizeof(*to));

	assert_non_null(to);
	al_arena_init(&to->arena);
	for (int layer = 0; layer < LAYERS; layer++)
		for (size_t i = 0; i < sizeof(projections) / sizeof(*projections); i++)
			take_projection(to, from, layer, projections[i][0], projections[i][1]);
	return to;
}

static void heads_in_an_axis_of_their_own(void **state)
{
	const struct al_view_options heads = {.n_heads = HEADS}, none = {0};
	struct state_dict *dict = state_dict_read_numbered("vit"), *cut = cut_into_heads(dict);
	struct numbers *expected = write_and_load(dict, false, &heads, "vit");
	struct numbers *found = write_and_load(cut, false, &none, "flax-vit");

	(void)state;
	assert_memory_equal(expected, found, sizeof(*found));
	free(expected);
	free(found);
	state_dict_finish(cut);
	state_dict_finish(dict);
}

static void heads_that_do_not_divide_a_kernel_are_refused(void **state)
{
	struct state_dict *dict = state_dict_read_numbered("vit"), *cut = cut_into_heads(dict);
	const struct al_view_options options = {.n_heads = 5};
	struct al_catalog *catalog = al_catalog_create();
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_error err = {0};
	struct test_folder folder;

	(void)state;
	test_folder_make(&folder);
	state_dict_write(cut, &folder, false);
	assert_true(al_checkpoint_open(&checkpoint, folder.path, &err));
	assert_false(al_model_view_open(&view, catalog, &checkpoint, &options, &err));
	assert_string_equal(err.message,
		"--heads 5 does not divide the query projection's 12 rows");
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
	al_catalog_destroy(catalog);
	state_dict_finish(cut);
	state_dict_finish(dict);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_in_an_axis_of_their_own),
		cmocka_unit_test(heads_that_do_not_divide_a_kernel_are_refused),
	};

	return cmocka_run_group_tests_name("flax", tests, NULL, NULL);
}
