/* The same model in all formats: each head's forms have the same size, within the roundoff of the
 * number format that it is stored in. */
#include "with_catalog.h"

#include <math.h>

#include "model/heads/views.h"

enum { LAYERS = 5, HEADS = 8, GROUP = 2 };

/* |W_Q W_K^T| and |W_V W_O| of every head. */
struct sizes {
	double of[LAYERS][HEADS][2];
};

static double form_size(struct al_matrix a, struct al_matrix b, size_t i, size_t j, size_t width)
{
	double sum = 0;

	for (size_t x = 0; x < width; x++)
		for (size_t y = 0; y < width; y++) {
			double left = 0, right = 0;
			for (size_t row = 0; row < a.rows; row++)
				left += a.data[row + (i * width + x) * a.ld]
					* a.data[row + (i * width + y) * a.ld];
			for (size_t row = 0; row < b.rows; row++)
				right += b.data[row + (j * width + x) * b.ld]
					* b.data[row + (j * width + y) * b.ld];
			sum += left * right;
		}
	return sqrt(sum);
}

static void measure_module(const struct al_model_view *view, size_t layer, struct sizes *out)
{
	const struct al_attention *a = &view->modules[layer];
	struct al_matrix w[AL_N_PROJECTIONS] = {{0}};
	struct al_error err;

	assert_int_equal(a->n_heads, HEADS);
	assert_int_equal(a->n_kv_heads, HEADS / GROUP);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		must(al_factor_load(view->checkpoint, &a->factors[p], &w[p], &err), &err);
	for (size_t i = 0; i < HEADS; i++) {
		const size_t width = (size_t)a->d_head;
		out->of[layer][i][0] = form_size(w[AL_QUERY], w[AL_KEY], i, i / GROUP, width);
		out->of[layer][i][1] = form_size(w[AL_OUTPUT], w[AL_VALUE], i, i / GROUP, width);
	}
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&w[p]);
}

static void measure(const char *name, struct sizes *out)
{
	const struct al_view_options options = {.n_heads = HEADS, .n_kv_heads = HEADS / GROUP};
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_error err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", fixtures(), name);
	must(al_checkpoint_open(&checkpoint, path, &err), &err);
	must(al_model_view_open(&view, catalog, &checkpoint, &options, &err), &err);
	assert_int_equal(view.n_modules, LAYERS);
	for (size_t layer = 0; layer < LAYERS; layer++)
		measure_module(&view, layer, out);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
}

static const struct {
	const char *name;
	double tolerance;
} files[] = {
	{"gguf/stories260K.f32.gguf", 1e-6},
	{"gguf/stories260K.f16.gguf", 1e-3},
	{"torch/stories260K.zip.pt", 0},
	{"torch/stories260K.legacy.pt", 0},
	{"torch/stories260K.parameters.pt", 0},
	{"torch/stories260K.ckpt.pt", 0},
	{"torch/stories260K.tied.pt", 0},
	{"torch/stories260K.f64.pt", 0},
	{"torch/stories260K.f16.pt", 1e-3},
	{"torch/stories260K.bf16.pt", 1e-2},
	{"npz/stories260K.npz", 0},
	{"npz/stories260K.compressed.npz", 0},
	{"npz/stories260K.fortran.npz", 0},
	{"npz/stories260K.f16.npz", 1e-3},
	{"safetensors/stories260K.bf16.ref.safetensors", 1e-2},
};

static void heads_are_the_same_in_all_formats(void **state)
{
	static struct sizes expected, found;

	(void)state;
	measure("safetensors/stories260K.ref.safetensors", &expected);
	for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
		measure(files[k].name, &found);
		for (size_t layer = 0; layer < LAYERS; layer++)
			for (size_t i = 0; i < 2 * HEADS; i++) {
				const double a = expected.of[layer][i / 2][i % 2],
					     b = found.of[layer][i / 2][i % 2];
				if (!(fabs(a - b) <= files[k].tolerance * a))
					fail_msg("%s: layer %zu head %zu: %.17g, expected %.17g",
						files[k].name, layer, i / 2, b, a);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_OF_FIXTURES(heads_are_the_same_in_all_formats),
	};

	return cmocka_run_group_tests(tests, create_catalog, destroy_catalog);
}
