/* Devices by name: gpus.json has a line for each, with the data sheet that its numbers are from.
 *
 * "memory" is what is sold, in bytes of 2^30 a GB, as makers of memory count; "reported" what the
 * driver says (nvidia-smi) and "usable" what a program finds, where these were measured.
 * "bandwidth" is bytes per second, "bf16" and "fp8" FLOPs a second of dense matrices. */
#pragma once

#include "base/base.h"

struct al_gpu {
	const char *name, *also, *source; /* also: another name of it, or NULL */
	int64_t memory, reported, usable; /* bytes; the last two: memory if not measured */
	bool is_nominal; /* a named one whose usable memory wasn't measured */
	int64_t bandwidth, bf16, fp8; /* fp8 0: it has none; of a size all are 0 */
};

struct al_gpus {
	struct al_gpu *items; /* an arena's */
	size_t n;
};

bool al_gpus_load(struct al_arena *arena, struct al_gpus *out, struct al_error *err) AL_MUST_CHECK;

/* Is there one of that name (base/alike.h)? */
bool al_gpu_is_name(struct al_arena *arena, const char *name);

/* "80GiB", "80G", "1.5 TB": whole bytes, more than 0. */
bool al_memory_parse(struct al_arena *arena, const char *text, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* "H200x8", "80GB": a name or a size, and how many of them, 0 where no number is given. An unknown
 * name names the nearest. */
bool al_gpu_parse(struct al_arena *arena, const char *text, struct al_gpu *out, int64_t *n,
	struct al_error *err) AL_MUST_CHECK;
