/* 64 bits, for tables of names and to tell files apart, not against forgers. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a, which is read a byte at a time. */
#define AL_HASH_EMPTY UINT64_C(0xcbf29ce484222325)

/* `hash` is that of what came before: AL_HASH_EMPTY at first. */
static inline uint64_t al_hash(uint64_t hash, const void *bytes, size_t length)
{
	for (const unsigned char *p = bytes, *end = p + length; p < end; p++)
		hash = (hash ^ *p) * UINT64_C(0x100000001b3);
	return hash;
}

enum { AL_HASH_LANES = 4 };

/* The same for much data, read at the speed of memory: words of 8 bytes go round by four hashes
 * that don't wait for each other, each (h ^ word) * prime, rotated; what is left over comes last.
 * The same on machines of one byte order. */
static inline uint64_t al_hash_block(uint64_t hash, const unsigned char *bytes, size_t length)
{
	uint64_t lanes[AL_HASH_LANES] = {hash, ~hash, hash + 1, ~hash + 1}, words[AL_HASH_LANES];
	size_t done = 0;

	for (; length - done >= sizeof(words); done += sizeof(words)) {
		memcpy(words, bytes + done, sizeof(words));
		for (size_t i = 0; i < AL_HASH_LANES; i++) {
			lanes[i] = (lanes[i] ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
			lanes[i] = lanes[i] << 29 | lanes[i] >> 35;
		}
	}
	return al_hash(al_hash(hash, lanes, sizeof(lanes)), bytes + done, length - done);
}
