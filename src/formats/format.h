/* Formats of checkpoint files: one file each with one const descriptor, and its name in the list in
 * AL_FORMATS. A format only lists what the header contains; al_listing_check holds it against the
 * file. */
#pragma once

#include "formats/checkpoint.h"

/* The tensors of one file, as they come. */
struct al_listing {
	struct al_checkpoint *checkpoint;
	struct al_shard *shard;
	size_t shard_index;
	size_t first; /* of this file in checkpoint->tensors */
	uint64_t data_offset; /* where the data begin: offsets of tensors count from there */
};

struct al_format {
	const char *name; /* "safetensors" */
	const char *ending; /* ".safetensors" */
	const char *magic; /* how files begin; NULL: tried where no other format's magic fits, by
			      the ending, and last the first of the list */
	bool is_alone; /* a file is named itself: in a folder other files end like it */
	bool is_packed; /* the tensors fill the data without hole or overlap */
	bool may_share; /* tensors may lie on each other, and in any order */

	/* Reads the header and adds each tensor. Sets data_offset, and the shard's
	 * header_bytes and header_text; where the format's name isn't the file's, `format` too. */
	bool (*list)(struct al_listing *listing, struct al_error *err);

	/* NULL, or opens the others of which the only file is one. */
	bool (*open_others)(struct al_checkpoint *checkpoint, struct al_error *err);
	/* NULL, or sets header_config when all files are listed. */
	void (*describe)(struct al_checkpoint *checkpoint);
};

/* The one list of formats; those that the light program (commands/command.h) has need no libraries
 * and may give a model's sizes. */
#define AL_FORMATS(X) \
	X(safetensors, LIGHT) \
	X(gguf, LIGHT) \
	X(llama2c, LIGHT) \
	X(npy, FULL) \
	X(npz, FULL) \
	X(torch_legacy, FULL)

#define AL_DECLARE_FORMAT(name, program) extern const struct al_format al_format_##name;
AL_FORMATS(AL_DECLARE_FORMAT)

/* Those of the program, ended by NULL: all of them (formats.c), but for a program that brings a
 * list of its own. */
extern const struct al_format *const al_formats[];

/* Adds a header's entry of a tensor. Its offset counts from data_offset; its number of
 * elements and its shard are set here. Name, shape and layout are copied, of the layout only what
 * is needed: its maker checks what it reaches. What contradicts itself or the file is refused. */
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

/* Makes al_checkpoint_find work; a name that comes twice is refused. */
bool al_checkpoint_sort_names(struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;

/* index.c: opens the shards that checkpoint->index names. */
bool al_index_open(struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;
