/* A small BERT to compress, as a file in a folder of its own, opened. */
#pragma once

#include "unit.h"

#include "compress/compress.h"
#include "support/folder.h"
#include "support/weights.h"

/* A small BERT whose layer is exactly collaborative: R shared dimensions, each head uses d_head of
 * them (so that it has full rank), every one is used by two heads. */
enum { D = 48, HEADS = 6, D_HEAD = 8, SHARED = 24, VOCAB = 20, WIDE = HEADS * D_HEAD };

struct model {
	double shared_query[SHARED][D], shared_key[SHARED][D];
	double query[WIDE][D], key[WIDE][D];
};

/* Dimension j of head i: heads 0 to 2 share out the dimensions, 3 to 5 do it another way. */
static inline size_t shared_dimension(size_t head, size_t j)
{
	const size_t at = head % 3 * D_HEAD + j;

	return head < 3 ? at : at * 5 % SHARED;
}

static inline void plant(struct model *m)
{
	double weights[WIDE];

	fill_normal(&m->shared_query[0][0], sizeof(m->shared_query) / sizeof(double), 1);
	fill_normal(&m->shared_key[0][0], sizeof(m->shared_key) / sizeof(double), 2);
	fill_normal(weights, WIDE, 3);
	for (size_t i = 0; i < WIDE; i++)
		for (size_t x = 0; x < D; x++) {
			const size_t r = shared_dimension(i / D_HEAD, i % D_HEAD);
			m->query[i][x] = weights[i] * m->shared_query[r][x] / 4;
			m->key[i][x] = m->shared_key[r][x] / 4;
		}
	/* a rotation of neighbors within each head hides the shared dimensions, not the scores */
	for (size_t i = 0; i < WIDE; i += 2)
		for (size_t x = 0; x < D; x++) {
			const double q = m->query[i][x], k = m->key[i][x];
			m->query[i][x] = 0.6 * q - 0.8 * m->query[i + 1][x];
			m->query[i + 1][x] = 0.8 * q + 0.6 * m->query[i + 1][x];
			m->key[i][x] = 0.6 * k - 0.8 * m->key[i + 1][x];
			m->key[i + 1][x] = 0.8 * k + 0.6 * m->key[i + 1][x];
		}
}

#define LAYER "bert.encoder.layer.0."

static inline void write_bert(const char *path, const char *dtype, const double *query,
	const double *key)
{
	const struct weight weights[] = {
		{"bert.embeddings.word_embeddings.weight", dtype, {VOCAB, D}, 2, NULL},
		{LAYER "attention.self.key.bias", dtype, {WIDE}, 1, NULL},
		{LAYER "attention.self.key.weight", dtype, {WIDE, D}, 2, key},
		{LAYER "attention.self.query.bias", dtype, {WIDE}, 1, NULL},
		{LAYER "attention.self.query.weight", dtype, {WIDE, D}, 2, query},
		{LAYER "attention.self.value.weight", dtype, {WIDE, D}, 2, NULL},
		{LAYER "attention.self.value.bias", dtype, {WIDE}, 1, NULL},
		{LAYER "attention.output.dense.weight", dtype, {D, WIDE}, 2, NULL},
		{LAYER "attention.output.dense.bias", dtype, {D}, 1, NULL},
		{LAYER "intermediate.dense.weight", dtype, {2 * D, D}, 2, NULL},
		{"bert.pooler.dense.weight", "BF16", {D, D}, 2, NULL},
	};

	write_weights(path, weights, sizeof(weights) / sizeof(*weights));
}

/* ---- opened ---- */

struct opened {
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

static struct al_error err;

#define MUST(call) \
	do { \
		if (!(call)) \
			fail_msg("%s", err.message); \
	} while (0)

static inline void open_model(struct opened *o, const char *path, int64_t n_heads,
	int64_t n_kv_heads)
{
	const struct al_view_options options = {.n_heads = n_heads, .n_kv_heads = n_kv_heads};

	o->catalog = al_catalog_create();
	MUST(al_checkpoint_open(&o->checkpoint, path, &err));
	MUST(al_model_view_open(&o->view, o->catalog, &o->checkpoint, &options, &err));
}

static inline void close_model(struct opened *o)
{
	al_model_view_close(&o->view);
	al_checkpoint_close(&o->checkpoint);
	al_catalog_destroy(o->catalog);
}

static inline double number(const struct al_table *table, size_t row, const char *key)
{
	double out;
	const int column = al_table_find_column(table, key);

	assert_true(column >= 0 && row < table->n_rows);
	assert_true(al_cell_number(&table->rows[row][column], &out));
	return out;
}

struct fixture {
	struct test_folder folder;
	char original[256], compressed[256];
	struct model model;
	struct opened opened;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	test_folder_make(&f->folder);
	test_path(f->original, &f->folder, "original.safetensors");
	test_path(f->compressed, &f->folder, "compressed.safetensors");
	plant(&f->model);
	write_bert(f->original, "F32", &f->model.query[0][0], &f->model.key[0][0]);
	open_model(&f->opened, f->original, HEADS, 0);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	close_model(&f->opened);
	test_folder_remove(&f->folder);
	free(f);
	return 0;
}

#define WITH_BERT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
