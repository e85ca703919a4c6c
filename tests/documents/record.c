/* What a compressed checkpoint says of its compression: one of the documents. */
#include "documents/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compress/verify.h"
#include "linalg/linalg.h"

/* A checkpoint and its copies, one a method. */
static struct {
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
} original;

static struct copy {
	struct al_checkpoint checkpoint;
	struct al_metadata *record;
} copies[AL_N_METHODS];

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

bool parse_record(enum al_method method, const char *text, size_t length, struct al_error *err)
{
	const struct al_verify_options options = {.n_tokens = 2, .seed = 1};
	struct copy *copy = &copies[method];
	if (!has_copy(method))
		return true;
	const char *before = copy->record->value;
	char *record = al_alloc(length + 1, 1);
	bool holds;
	struct al_table table;

	memcpy(record, text, length);
	record[length] = '\0';
	copy->record->value = record;
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	bool ok = al_verify(&original.view, &copy->checkpoint, &options, &table, &holds, err);
	al_table_finish(&table);
	copy->record->value = before;
	free(record);
	return ok;
}

void fill_record(enum al_method method, struct al_text *out)
{
	al_text_add(out, copies[method].record->value);
}

/* ---- making ---- */

static const int64_t ranks[AL_N_METHODS] = {
	[AL_METHOD_COLLAB] = 6,
	[AL_METHOD_TUCKER] = 6,
	[AL_METHOD_TRUNCATE] = 2,
	[AL_METHOD_OV] = 2,
	[AL_METHOD_LATENT] = 6,
};

static void compress(enum al_method method, const char *path)
{
	const struct al_dropped dropped = {"layers.0", 1};
	const struct al_compress_options options = {.method = method,
		.ranks = method == AL_METHOD_DROP ? NULL : &ranks[method],
		.n_ranks = method != AL_METHOD_DROP,
		.dropped = &dropped,
		.n_dropped = method == AL_METHOD_DROP,
		.effort = {.n_sweeps = 10, .seed = 1}};
	struct al_table table;
	struct al_error err;

	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	must_read(al_compress(&original.view, &options, path, &table, NULL, &err), &err);
	al_table_finish(&table);
}

static void make_copy(enum al_method method, const struct test_folder *folder)
{
	struct copy *copy = &copies[method];
	struct al_error err = {.message = "no attnledger.modules"};
	char name[64], path[256];

	snprintf(name, sizeof(name), "%s.safetensors", al_method_names[method]);
	compress(method, test_path(path, folder, name));
	must_read(al_checkpoint_open(&copy->checkpoint, path, &err), &err);
	for (size_t i = 0; i < copy->checkpoint.n_metadata; i++)
		if (strcmp(copy->checkpoint.metadata[i].key, "attnledger.modules") == 0)
			copy->record = &copy->checkpoint.metadata[i];
	must_read(copy->record != NULL, &err);
}

void record_begin(const struct test_folder *folder)
{
	const struct al_view_options heads = {.n_heads = 3};
	struct al_error err;

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
