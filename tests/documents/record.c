/* What a compressed checkpoint says of its compression: one of the documents. */
#include "documents/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compress/compress.h"
#include "linalg/linalg.h"

/* A checkpoint and its copies, one a method. */
static struct {
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
} original;

static struct copy {
	struct al_checkpoint checkpoint;
	struct al_metadata *record, *shapes;
} copies[AL_N_METHODS];

/* The config.json of a copy that says its shapes itself. */
static char config[256];

void must_read(bool ok, const struct al_error *err)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", err->message);
	abort();
}

/* ---- reading ---- */

/* Values that have biases, as here, can't be shared by groups. */
static bool has_copy(enum al_method method)
{
	return method != AL_METHOD_GQA;
}

/* The caller puts `before` back and frees what stands there. */
static const char *replace(struct al_metadata *metadata, const char *text, size_t length)
{
	const char *before = metadata->value;
	char *copy = al_alloc(length + 1, 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	metadata->value = copy;
	return before;
}

static void put_back(struct al_metadata *metadata, const char *before)
{
	free((char *)(uintptr_t)metadata->value);
	metadata->value = before;
}

bool parse_record(enum al_method method, const char *text, size_t length, struct al_error *err)
{
	const struct al_verify_options options = {.n_tokens = 2, .seed = 1};
	struct copy *copy = &copies[method];
	bool holds;
	struct al_table table;

	if (!has_copy(method))
		return true;
	const char *before = replace(copy->record, text, length);
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	bool ok = al_verify(&original.view, &copy->checkpoint, &options, &table, &holds, err);
	al_table_finish(&table);
	put_back(copy->record, before);
	return ok;
}

void fill_record(enum al_method method, struct al_text *out)
{
	al_text_add(out, copies[method].record->value);
}

static bool load_factors(const struct al_model_view *view, struct al_error *err)
{
	for (size_t i = 0; i < view->n_modules; i++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++) {
			struct al_matrix factor;
			if (!al_factor_load(view->checkpoint, &view->modules[i].factors[p], &factor,
				    err))
				return false;
			al_matrix_finish(&factor);
		}
	return true;
}

bool parse_shapes(const char *text, size_t length, struct al_error *err)
{
	struct copy *copy = &copies[AL_METHOD_DROP];
	const char *before = replace(copy->shapes, text, length);
	struct al_model_view view;
	const struct al_view_options options = {.config = config};
	bool ok = al_model_view_open(&view, original.catalog, &copy->checkpoint, &options, err);

	if (ok) {
		ok = load_factors(&view, err);
		al_model_view_close(&view);
	}
	put_back(copy->shapes, before);
	return ok;
}

void fill_shapes(struct al_text *out)
{
	al_text_add(out, copies[AL_METHOD_DROP].shapes->value);
}

/* ---- making ---- */

/* Methods without a rank put a head out, or take none. */
static const int64_t ranks[AL_N_METHODS] = {
	[AL_METHOD_COLLAB] = 6,
	[AL_METHOD_TUCKER] = 6,
	[AL_METHOD_QK] = 2,
	[AL_METHOD_OV] = 2,
	[AL_METHOD_LATENT] = 6,
};

static void compress(enum al_method method, const char *path)
{
	const struct al_dropped dropped = {"layers.0", 1};
	const bool has_rank = ranks[method] > 0;
	const struct al_compress_options options = {.method = method,
		.ranks = has_rank ? &ranks[method] : NULL,
		.n_ranks = has_rank,
		.dropped = &dropped,
		.n_dropped = al_method_drops(method),
		.effort = {.n_sweeps = 10, .seed = 1}};
	struct al_table table;
	struct al_error err;

	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	must_read(al_compress(&original.view, &options, path, &table, NULL, &err), &err);
	al_table_finish(&table);
}

static struct al_metadata *find_metadata(const struct al_checkpoint *checkpoint, const char *key)
{
	struct al_metadata *metadata = checkpoint->metadata;
	struct al_error err = {0};
	size_t i = 0;

	while (i < checkpoint->n_metadata && strcmp(metadata[i].key, key) != 0)
		i++;
	must_read(i < checkpoint->n_metadata || al_fail(&err, AL_EINPUT, "no %s", key), &err);
	return &metadata[i];
}

static void make_copy(enum al_method method, const struct test_folder *folder)
{
	struct copy *copy = &copies[method];
	struct al_error err;
	char name[64], path[256];

	snprintf(name, sizeof(name), "%s.safetensors", al_method_names[method]);
	compress(method, test_path(path, folder, name));
	must_read(al_checkpoint_open(&copy->checkpoint, path, &err), &err);
	copy->record = find_metadata(&copy->checkpoint, "attnledger.modules");
	copy->shapes = find_metadata(&copy->checkpoint, "attnledger.shapes");
}

static const char CONFIG[] = "{\"model_type\": \"bert\", \"hidden_size\": 12, "
			     "\"num_attention_heads\": 3, \"num_hidden_layers\": 2}";

void record_begin(const struct test_folder *folder)
{
	const struct al_view_options heads = {.n_heads = 3};
	struct al_error err;

	test_write(test_path(config, folder, "bert.json"), CONFIG, strlen(CONFIG));
	al_threads_set(1); /* a test that forks has no others */
	original.catalog = al_catalog_create();
	must_read(al_checkpoint_open(&original.checkpoint, "tests/data/small-bert.safetensors",
			  &err),
		&err);
	must_read(al_model_view_open(&original.view, original.catalog, &original.checkpoint, &heads,
			  &err),
		&err);
	for (int method = 0; method < AL_N_METHODS; method++)
		if (has_copy((enum al_method)method))
			make_copy((enum al_method)method, folder);
}

void record_end(void)
{
	for (int method = 0; method < AL_N_METHODS; method++)
		if (has_copy((enum al_method)method))
			al_checkpoint_close(&copies[method].checkpoint);
	al_model_view_close(&original.view);
	al_checkpoint_close(&original.checkpoint);
	al_catalog_destroy(original.catalog);
}

static struct test_folder own_folder;

static void end(void)
{
	record_end();
	test_folder_remove(&own_folder);
}

void record_begin_once(void)
{
	if (own_folder.path[0])
		return;
	test_folder_make(&own_folder);
	record_begin(&own_folder);
	atexit(end);
}
