/* Formats of checkpoint files. Each has one C file with one const descriptor, and its name in
 * AL_FORMATS. A format only lists the tensors in the header; al_listing_check compares the list
 * with the file. */
#pragma once

#include "formats/checkpoint.h"

/* The tensors of one file, in its order. */
struct al_listing {
	struct al_checkpoint *checkpoint;
	struct al_shard *shard;
	size_t shard_index;
	size_t first; /* this file's first tensor in checkpoint->tensors */
	uint64_t data_offset; /* start of the data; tensors' offsets are relative to it */
};

struct al_format {
	const char *name; /* "safetensors" */
	const char *ending; /* ".safetensors" */
	const char *magic; /* first bytes of a file; NULL: tried when no magic matches, by the
			      ending, and the first of the list last */
	bool is_alone; /* never searched for in a folder, where other files may end like it */
	bool is_packed; /* the tensors cover the data without gaps or overlaps */
	bool may_share; /* tensors may overlap and be in any order */

	/* Reads the header and adds each tensor. Sets data_offset and the shard's header_bytes and
	 * header_text, and `format` if its name differs from the descriptor's. */
	bool (*list)(struct al_listing *listing, struct al_error *err);

	/* NULL, or opens the other files of a model given by one of its files. */
	bool (*open_others)(struct al_checkpoint *checkpoint, struct al_error *err);
	/* NULL, or sets header_config after all files are listed. */
	void (*describe)(struct al_checkpoint *checkpoint);
};

/* All formats. The light program (commands/command.h) has those that need no libraries and may
 * contain a model's sizes. */
#define AL_FORMATS(X) \
	X(safetensors, LIGHT) \
	X(gguf, LIGHT) \
	X(llama2c, LIGHT) \
	X(npy, FULL) \
	X(npz, FULL) \
	X(torch_legacy, FULL)

#define AL_DECLARE_FORMAT(name, program) extern const struct al_format al_format_##name;
AL_FORMATS(AL_DECLARE_FORMAT)

/* The program's formats, NULL-terminated: all of them (formats.c), unless the program defines its
 * own list. */
extern const struct al_format *const al_formats[];

/* Adds a tensor listed in the header. Its offset is relative to data_offset; its number of elements
 * and its shard are set here. Name, shape and layout are copied; of the layout only what is needed,
 * and the caller checks its extent. Entries that contradict themselves or the file are refused. */
bool al_listing_add(struct al_listing *listing, const struct al_tensor *claim,
	struct al_error *err) AL_MUST_CHECK;
void al_listing_add_metadata(struct al_listing *listing, const char *key, const char *value);

/* Checks that the tensors don't overlap, and sorts them by position. */
bool al_listing_check(struct al_listing *listing, const struct al_format *format,
	struct al_error *err) AL_MUST_CHECK;

/* Opens the files in that order, at least one, and lists their tensors; the paths outlive the
 * checkpoint. The last one's format; NULL on failure. */
const struct al_format *al_shards_open(struct al_checkpoint *checkpoint, const char *const *paths,
	size_t n, struct al_error *err) AL_MUST_CHECK;

/* Builds the index for al_checkpoint_find; refuses duplicate names. */
bool al_checkpoint_sort_names(struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;

/* index.c: opens the shards that checkpoint->index names. */
bool al_index_open(struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;
