/* A target that opens a file as a checkpoint. */
#pragma once

#include "formats/checkpoint.h"
#include "fuzz.h"
#include "support/folder.h"

/* Reads some numbers of a tensor, from a third of it on. */
static inline bool fuzz_read(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_error *err)
{
	enum { MOST_READ = 300 };
	const int64_t first = tensor->n_elements / 3, left = tensor->n_elements - first;
	const struct al_selection some = {.first = first,
		.run = left < MOST_READ ? left : MOST_READ,
		.n_runs = 1};
	double numbers[MOST_READ];

	return al_tensor_read_double(checkpoint, tensor, &some, numbers, MOST_READ, err);
}

/* Writes the input to a file of that name. One that is opened is visited, unless it begins as a
 * file of another format; one that isn't is refused with its path. */
static inline void fuzz_checkpoint(const uint8_t *data, size_t size, const char *name,
	const char *format, void (*visit)(const struct al_checkpoint *checkpoint))
{
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err = {0};
	char path[256];

	test_folder_make(&folder);
	test_write(test_path(path, &folder, name), data, size);
	if (al_checkpoint_open(&checkpoint, path, &err)) {
		if (strcmp(checkpoint.shards[0].format, format) == 0)
			visit(&checkpoint);
		al_checkpoint_close(&checkpoint);
	} else {
		FUZZ_CHECK((err.status == AL_EINPUT || err.status == AL_EFORMAT)
			&& strncmp(err.message, path, strlen(path)) == 0);
	}
	test_folder_remove(&folder);
}
