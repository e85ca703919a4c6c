/* A checkpoint of three rotary layers with grouped keys, whose last layer is a copy of the
 * first. */
#pragma once

#include "module.h"

#include "audit/audit.h"
#include "support/folder.h"
#include "support/weights.h"

enum { D = 16, HEADS = 4, KV_HEADS = 2, WIDTH = 4, LAYERS = 3, THETA = 100 };

struct llama {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

static inline void write_llama(const struct test_folder *folder)
{
	static const char config[] =
		"{\"model_type\": \"llama\", \"hidden_size\": 16, "
		"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"num_hidden_layers\": 3, "
		"\"intermediate_size\": 8, \"vocab_size\": 9, \"rope_theta\": 100}";
	static const char letters[] = "qkvo";
	static char names[LAYERS * 4][64];
	static double values[LAYERS][4][D * D];
	struct weight weights[LAYERS * 4];
	char path[256];

	for (size_t i = 0; i < LAYERS; i++)
		for (size_t p = 0; p < 4; p++) {
			int64_t rows = p == 1 || p == 2 ? KV_HEADS * WIDTH : D;
			snprintf(names[4 * i + p], sizeof(names[0]),
				"model.layers.%zu.self_attn.%c_proj.weight", i, letters[p]);
			fill_normal(values[i][p], (size_t)D * D, 10 * (i % 2) + p);
			weights[4 * i + p] = (struct weight){names[4 * i + p], "F64", {rows, D}, 2,
				values[i][p]};
		}
	write_weights(test_path(path, folder, "model.safetensors"), weights, LAYERS * 4);
	test_write(test_path(path, folder, "config.json"), config, sizeof(config) - 1);
}

static inline void open_llama(struct llama *m)
{
	struct al_view_options options = {0};
	struct al_error err;

	test_folder_make(&m->folder);
	write_llama(&m->folder);
	m->catalog = al_catalog_create();
	if (!al_checkpoint_open(&m->checkpoint, m->folder.path, &err)
		|| !al_model_view_open(&m->view, m->catalog, &m->checkpoint, &options, &err))
		fail_msg("%s", err.message);
	assert_int_equal(m->view.n_modules, LAYERS);
}

static inline void close_llama(struct llama *m)
{
	al_model_view_close(&m->view);
	al_checkpoint_close(&m->checkpoint);
	al_catalog_destroy(m->catalog);
	test_folder_remove(&m->folder);
}

static inline struct al_audit_module load_layer(const struct llama *m, size_t layer,
	struct al_audit_options options)
{
	struct al_audit_module module;
	struct al_audit audit;
	struct al_error err;

	al_audit_init(&audit, &m->view, &options);
	if (!al_audit_module_init(&module, &audit, &m->view.modules[layer], &err))
		fail_msg("%s", err.message);
	al_audit_finish(&audit);
	return module;
}

static inline void assert_near(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-11 * fmax(1, fabs(expected))))
		fail_msg("found %.15g, expected %.15g", found, expected);
}

static inline double dot(struct al_matrix a, struct al_matrix b)
{
	double sum = 0;

	for (size_t i = 0; i < a.rows * a.cols; i++)
		sum += a.data[i] * b.data[i];
	return sum;
}
