/* DeepSeek-V2 as llama.cpp has written it since April 2025: attn_kv_b is attn_k_b, turned
 * round head by head, and attn_v_b. The heads are the same. */
#include "support/state_dict.h"
#include "unit.h"

#include "model/heads/views.h"

enum { HEADS = 6, NOPE = 4, VALUE = 5, RANK = 8, MOST_NUMBERS = 4096 };
#define LITE "counted/gguf-deepseek2-lite"

/* [HEADS][NOPE + VALUE][RANK] -> [HEADS][RANK][NOPE] and [HEADS][VALUE][RANK] */
static void cut(const double *joint, double *keys, double *values)
{
	for (size_t h = 0; h < HEADS; h++)
		for (size_t r = 0; r < RANK; r++) {
			const double *head = joint + h * (NOPE + VALUE) * RANK;
			for (size_t i = 0; i < NOPE; i++)
				keys[(h * RANK + r) * NOPE + i] = head[i * RANK + r];
			for (size_t i = 0; i < VALUE; i++)
				values[(h * VALUE + i) * RANK + r] = head[(NOPE + i) * RANK + r];
		}
}

/* The weights of the other layout with the same numbers. */
static struct state_dict *take_apart(struct state_dict *from)
{
	struct state_dict *to = state_dict_read("counted/gguf-deepseek2-apart");

	for (size_t i = 0; i < to->n; i++) {
		struct weight *weight = &to->weights[i],
			      *same = state_dict_find(from, weight->name);
		if (same)
			weight->values = same->values;
		else if (strstr(weight->name, "attn_k_b")) {
			char *name = al_format(&to->arena, "%.5s.attn_kv_b.weight", weight->name);
			double *keys = al_new_array(&to->arena, double, HEADS *RANK *NOPE);
			double *values = al_new_array(&to->arena, double, HEADS *VALUE *RANK);
			cut(state_dict_find(from, name)->values, keys, values);
			weight->values = keys;
			to->weights[i + 1].values = values;
		}
	}
	return to;
}

static size_t load(const struct state_dict *dict, double *out)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_error err = {0};
	struct test_folder folder;
	size_t n = 0;

	test_folder_make(&folder);
	state_dict_write(dict, &folder, true);
	if (!al_checkpoint_open(&checkpoint, folder.path, &err)
		|| !al_model_view_open(&view, catalog, &checkpoint, &(struct al_view_options){0},
			&err))
		fail_msg("%s", err.message);
	for (size_t m = 0; m < view.n_modules; m++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++) {
			struct al_matrix matrix;
			if (!al_factor_load(&checkpoint, &view.modules[m].factors[p], &matrix,
				    &err))
				fail_msg("%s", err.message);
			assert_true(n + matrix.rows * matrix.cols <= MOST_NUMBERS);
			for (size_t j = 0; j < matrix.cols; j++)
				for (size_t i = 0; i < matrix.rows; i++)
					out[n++] = matrix.data[i + j * matrix.ld];
			al_matrix_finish(&matrix);
		}
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
	al_catalog_destroy(catalog);
	return n;
}

static void heads_are_those_of_the_joint_tensor(void **state)
{
	static double expected[MOST_NUMBERS], found[MOST_NUMBERS];
	struct state_dict *joint = state_dict_read_numbered(LITE), *apart = take_apart(joint);
	const size_t n = load(joint, expected);

	(void)state;
	assert_int_equal(load(apart, found), n);
	assert_memory_equal(found, expected, n * sizeof(*found));
	state_dict_finish(apart);
	state_dict_finish(joint);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_those_of_the_joint_tensor),
	};

	return cmocka_run_group_tests_name("head_matrices", tests, NULL, NULL);
}
