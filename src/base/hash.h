/* FNV-1a, 64 bits: for tables of names and for telling headers apart, not against forgers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AL_HASH_EMPTY UINT64_C(0xcbf29ce484222325)

/* `hash` is that of what came before: AL_HASH_EMPTY at first. */
static inline uint64_t al_hash(uint64_t hash, const void *bytes, size_t length)
{
	for (const unsigned char *p = bytes, *end = p + length; p < end; p++)
		hash = (hash ^ *p) * UINT64_C(0x100000001b3);
	return hash;
}
