/* Tensors in memory as a checkpoint: a folder of the thread's mount with model.safetensors, whose
 * header is made and whose data are the caller's. */
#pragma once

#include "base/mount.h"

/* Numbers that don't lie in order are packed once. */
bool al_arrays_mount(const struct al_arrays *arrays, struct al_error *err) AL_MUST_CHECK;

/* The tensors of a mounted file of safetensors, in the arena; their data are the file's. */
bool al_arrays_read(const char *path, struct al_arena *arena, const struct al_array **out,
	size_t *n, struct al_error *err) AL_MUST_CHECK;
