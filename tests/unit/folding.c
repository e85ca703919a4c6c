/* A norm before attention, folded into what it feeds: its scale into the weights, what it adds into
 * the biases, so that x^ (W', b') is (scale x^ + shift) W + b. */
#include "module.h"

#include "audit/audit.h"
#include "support/folder.h"
#include "support/weights.h"

enum { D = 6, HEADS = 2 };

static const char config[] =
	"{\"model_type\": \"gpt2\", \"n_embd\": 6, \"n_head\": 2, \"n_layer\": "
	"1, \"n_positions\": 4, \"vocab_size\": 9}";

struct model {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

static double fused[D * 3 * D], fused_bias[3 * D], projection[D * D], scale[D], shift[D];

static void open_model(struct model *m)
{
	const struct weight weights[] = {{"h.0.ln_1.weight", "F64", {D}, 1, scale},
		{"h.0.ln_1.bias", "F64", {D}, 1, shift},
		{"h.0.attn.c_attn.weight", "F64", {D, 3 * D}, 2, fused},
		{"h.0.attn.c_attn.bias", "F64", {3 * D}, 1, fused_bias},
		{"h.0.attn.c_proj.weight", "F64", {D, D}, 2, projection}};
	const struct al_view_options options = {0};
	struct al_error err;
	char path[256];

	fill_normal(fused, D * 3 * D, 1);
	fill_normal(fused_bias, 3 * D, 2);
	fill_normal(projection, D * D, 3);
	fill_normal(scale, D, 4);
	fill_normal(shift, D, 5);
	test_folder_make(&m->folder);
	write_weights(test_path(path, &m->folder, "model.safetensors"), weights, 5);
	test_write(test_path(path, &m->folder, "config.json"), config, strlen(config));
	m->catalog = al_catalog_create();
	if (!al_checkpoint_open(&m->checkpoint, m->folder.path, &err)
		|| !al_model_view_open(&m->view, m->catalog, &m->checkpoint, &options, &err))
		fail_msg("%s", err.message);
}

static void close_model(struct model *m)
{
	al_model_view_close(&m->view);
	al_checkpoint_close(&m->checkpoint);
	al_catalog_destroy(m->catalog);
	test_folder_remove(&m->folder);
}

/* Column j of [W_Q W_K W_V], whose inputs are x. */
static double expected(const double *x, size_t j)
{
	double sum = fused_bias[j];

	for (size_t i = 0; i < D; i++)
		sum += (x[i] * scale[i] + shift[i]) * fused[i * 3 * D + j];
	return sum;
}

static double found(const struct al_audit_module *module, enum al_projection p, const double *x,
	size_t j)
{
	const struct al_matrix w = module->weights[p], b = module->biases[p];
	double sum = b.data ? b.data[j * b.ld] : 0;

	for (size_t i = 0; i < D; i++)
		sum += x[i] * w.data[i + j * w.ld];
	return sum;
}

static void load(const struct model *m, const struct al_attention *attention,
	struct al_audit_module *module)
{
	const struct al_audit_options options = {.folds_norms = true};
	struct al_audit audit;
	struct al_error err;

	al_audit_init(&audit, &m->view, &options);
	if (!al_audit_module_init(module, &audit, attention, &err))
		fail_msg("%s", err.message);
	al_audit_finish(&audit);
}

static void assert_folded(const struct model *m, const struct al_attention *attention)
{
	static const enum al_projection projections[] = {AL_QUERY, AL_VALUE};
	struct al_audit_module module;
	double x[D];

	load(m, attention, &module);
	fill_normal(x, D, 6);
	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < D; j++)
			assert_true(fabs(found(&module, projections[i], x, j)
					    - expected(x, (size_t)projections[i] * D + j))
				< 1e-12);
	assert_null(module.biases[AL_KEY].data); /* a constant of all keys: no softmax sees it */
	al_audit_module_finish(&module);
}

static void a_norm_is_what_it_feeds(void **state)
{
	struct model m;
	(void)state;

	open_model(&m);
	assert_folded(&m, &m.view.modules[0]);
	close_model(&m);
}

/* Without biases of its own the module has those that the norm makes. */
static void a_norm_makes_biases(void **state)
{
	struct al_attention attention;
	struct model m;
	(void)state;

	open_model(&m);
	attention = m.view.modules[0];
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		attention.biases[p].n_runs = 0;
	memset(fused_bias, 0, sizeof(fused_bias));
	struct al_attention kept = m.view.modules[0];
	m.view.modules[0] = attention;
	assert_folded(&m, &m.view.modules[0]);
	m.view.modules[0] = kept;
	close_model(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_norm_is_what_it_feeds),
		cmocka_unit_test(a_norm_makes_biases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
