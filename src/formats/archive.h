/* Zip archives: their members, and where each lies in the file. */
#pragma once

#include "base/spill.h"
#include "base/file.h"

struct al_member {
	const char *name; /* a stranger's */
	uint64_t bytes; /* unpacked */
	bool is_packed; /* deflated; else its bytes lie in the file from `offset` on */
	uint64_t offset;
	bool is_aside; /* it was unpacked, to `aside_at` */
	uint64_t aside_at;
};

/* An open archive contains its later operations as functions: a program that reads no
 * archives needs no library for them. */
struct al_archive {
	struct al_member *members; /* [n_members], as the directory lists them */
	size_t n_members;
	uint64_t directory, directory_bytes; /* where the list of members lies */

	/* The first `length` bytes of a member, which has so many. */
	bool (*read)(struct al_archive *archive, size_t member, void *out, size_t length,
		struct al_error *err);
	/* Finds where the bytes of a stored member lie: sets its `offset`. */
	bool (*place)(struct al_archive *archive, size_t member, struct al_error *err);
	/* Adds a member's bytes to a file aside. */
	bool (*unpack)(struct al_archive *archive, size_t member, struct al_spill *out,
		uint64_t *at, struct al_error *err);
	void (*close)(struct al_archive *archive);
};

/* Opens a shard as an archive, to be closed with the checkpoint; its list of members is the shard's
 * header. */
struct al_listing;
bool al_archive_open_shard(struct al_listing *listing, struct al_error *err) AL_MUST_CHECK;
