/* What every fuzz target includes: the function that it defines, called once for each input. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What a target does with an input; 0. */
int fuzz_input(const uint8_t *data, size_t size);

/* Does it, and fails where the target holds more memory than an input of so many bytes may need
 * (cost.c): what libFuzzer and the replay of a corpus call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes that a target may hold for an empty input: 64 MiB unless it defines this. */
long long fuzz_held_bytes(void);

/* Optional: called once, before the first input and its time limit. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Holds also where assert is compiled out. */
#define FUZZ_CHECK(condition) \
	do { \
		if (!(condition)) \
			abort(); \
	} while (0)
