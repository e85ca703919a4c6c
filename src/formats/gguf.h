/* A GGUF file's metadata: between its header, its metadata and its config.json. */
#pragma once

#include "base/cursor.h"
#include "formats/format.h"

/* A key's value: as JSON, and where it is a text that itself. Of a list also where its
 * items lie. */
struct al_gguf_pair {
	const char *key, *value, *text;
	uint64_t begin, end; /* where key, type and value lie */
	uint64_t items_at, n_items; /* items_at 0: no list */
	int items_type;
};

struct al_gguf {
	struct al_listing *listing;
	struct al_cursor cursor;
	struct al_arena *arena; /* the checkpoint's */
	uint64_t alignment;
};

/* Takes a text; one with a NUL in it, which would cut it, is refused. */
bool al_gguf_take_text(struct al_gguf *gguf, const char *what, const char **out,
	struct al_error *err) AL_MUST_CHECK;

/* Takes the metadata, so many keys, each once: the shard's pairs. */
bool al_gguf_take_pairs(struct al_gguf *gguf, uint64_t n, struct al_error *err) AL_MUST_CHECK;

/* The pair of that key, or NULL. */
const struct al_gguf_pair *al_gguf_find_pair(const struct al_shard *shard, const char *key);

/* At what multiples the file's tensors begin; of no file (NULL) and without a key 32. */
uint64_t al_gguf_alignment(const struct al_shard *shard);

/* GGUF's number of that format of tensors; -1: it has none. */
int al_gguf_type(const struct al_dtype *dtype);

/* A list: of one kind of items, the other is NULL. */
struct al_gguf_items {
	const char **texts;
	double *numbers;
	size_t n;
};

/* The items of a list of the checkpoint's first file, in the arena; a key that isn't there has
 * none. A list of other values is refused, as is a number that isn't finite. */
bool al_gguf_read_items(const struct al_checkpoint *checkpoint, const char *key, bool are_texts,
	struct al_arena *arena, struct al_gguf_items *out, struct al_error *err) AL_MUST_CHECK;

/* gguf_split.c: where the only file declares itself one of several, opens them all. */
bool al_gguf_open_parts(struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;

/* gguf_config.c: makes the checkpoint's header_config, where the metadata of its first file name an
 * architecture. */
void al_gguf_set_config(struct al_checkpoint *checkpoint);
