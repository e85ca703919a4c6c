/* What a compressed checkpoint says of its compression: one of the documents. */
#include "documents/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compress/verify.h"
#include "linalg/linalg.h"

/* A checkpoint and its compressed copy. */
static struct {
	struct al_catalog *catalog;
	struct al_checkpoint original, compressed;
	struct al_model_view view;
	struct al_metadata *record;
} pair;

bool parse_record(const char *text, size_t length, struct al_error *err)
{
	const struct al_verify_options options = {.n_tokens = 2, .seed = 1};
	char *copy = al_alloc(length + 1, 1);
	const char *before = pair.record->value;
	struct al_table table;

	memcpy(copy, text, length);
	copy[length] = '\0';
	pair.record->value = copy;
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	bool ok = al_verify(&pair.view, &pair.compressed, &options, &table, err);
	al_table_finish(&table);
	pair.record->value = before;
	free(copy);
	return ok;
}

void fill_record(struct al_text *out)
{
	al_text_add(out, pair.record->value);
}

static void compress_pair(const char *path)
{
	const struct al_view_options heads = {.n_heads = 3};
	const int64_t rank = 2;
	const struct al_compress_options options = {.method = AL_METHOD_TRUNCATE,
		.ranks = &rank,
		.n_ranks = 1};
	struct al_error err;
	struct al_table table;

	pair.catalog = al_catalog_create();
	must_read(al_checkpoint_open(&pair.original, "tests/data/small-bert.safetensors", &err),
		&err);
	must_read(al_model_view_open(&pair.view, pair.catalog, &pair.original, &heads, &err), &err);
	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	must_read(al_compress(&pair.view, &options, path, &table, NULL, &err), &err);
	al_table_finish(&table);
}

void record_begin(const struct test_folder *folder)
{
	struct al_error err = {.message = "no attnledger.modules"};
	char path[256];

	al_threads_set(1); /* a test that forks has no others */
	compress_pair(test_path(path, folder, "compressed.safetensors"));
	must_read(al_checkpoint_open(&pair.compressed, path, &err), &err);
	for (size_t i = 0; i < pair.compressed.n_metadata; i++)
		if (strcmp(pair.compressed.metadata[i].key, "attnledger.modules") == 0)
			pair.record = &pair.compressed.metadata[i];
	must_read(pair.record != NULL, &err);
}

void record_end(void)
{
	al_checkpoint_close(&pair.compressed);
	al_model_view_close(&pair.view);
	al_checkpoint_close(&pair.original);
	al_catalog_destroy(pair.catalog);
}
