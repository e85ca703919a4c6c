/* Manifests: what a part of an audit is of, as a JSON file. Process I of N writes to a folder
 *
 *     shard-I-of-N.json           its manifest
 *     shard-I-of-N.PLACE.json     the rows of each of its modules (fragment/rows.h), by
 *                                 their places among the checkpoint's
 *     shard-I-of-N.NAME.npy       the matrices of --tables
 *
 * and parts belong together where their manifests say the same of everything but these. */
#ifndef ATTNLEDGER_FRAGMENT_MANIFEST_H
#define ATTNLEDGER_FRAGMENT_MANIFEST_H

#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

enum { AL_FRAGMENT_FORMAT = 1, AL_MOST_SHARDS = 9999 };

/* A file that shapes the answer beside the checkpoint: "config", and its fingerprint. */
struct al_fragment_input {
	const char *name;
	uint64_t fingerprint;
};

struct al_fragment_module {
	const char *name;
	int64_t place; /* among the checkpoint's modules */
	const char *left_out; /* why it wasn't measured; NULL: it was */
	uint64_t fingerprint; /* of the file of its rows */
};

/* A tensor's numbers that are NaN or infinite. */
struct al_fragment_count {
	const char *tensor;
	int64_t n;
};

struct al_manifest {
	const char
		*path; /* of the file, for messages: rows are beside it; "": files have no folder */
	const char *version; /* of the program */
	int64_t shard, n_shards; /* I and N */
	const char *checkpoint, *config; /* as typed; config NULL: the checkpoint's own, or none */
	uint64_t source, header; /* fingerprints of the checkpoint: of all of it, of its headers */
	const char *const *options; /* that shape the answer: "--seed=2" */
	size_t n_options;
	bool has_tables, has_figures, has_report; /* measured what they need */
	struct al_fragment_input *inputs;
	size_t n_inputs;
	const char *kernel, *kernel_note; /* of BLAS; NULL: nothing to say of why */
	struct al_fragment_module *modules;
	size_t n_modules;
	struct al_fragment_count *not_finite; /* of the tensors that this part counted */
	size_t n_not_finite;
};

/* "shard-1-of-4" */
const char *al_manifest_name(struct al_arena *arena, int64_t shard, int64_t n_shards);

/* Could it be the name of a manifest's file? */
bool al_manifest_is_name(const char *name);

void al_manifest_write(const struct al_manifest *manifest, struct al_text *out);

/* What is wrong is said with name:line:column. */
bool al_manifest_parse(struct al_manifest *manifest, struct al_arena *arena, const char *name,
	const char *text, size_t length, struct al_error *err) AL_MUST_CHECK;

/* The file's path beside the manifest: of a module's rows, of a matrix. */
const char *al_manifest_rows_path(const struct al_manifest *manifest,
	const struct al_fragment_module *module, struct al_arena *arena);
const char *al_manifest_matrix_path(const struct al_manifest *manifest, const char *matrix,
	struct al_arena *arena);

/* Fails, naming both files, where `other` isn't another part of the same audit: of another version,
 * number of parts, checkpoint, option or input. */
bool al_manifest_check_same(const struct al_manifest *manifest, const struct al_manifest *other,
	struct al_error *err) AL_MUST_CHECK;

#endif
