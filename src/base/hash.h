/* 64 bits, for tables of names and to tell files apart, not against forgers (text.c). */
#pragma once

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, which is read a byte at a time. */
#define AL_HASH_EMPTY UINT64_C(0xcbf29ce484222325)

/* `hash` is that of what came before: AL_HASH_EMPTY at first. */
#define AL_HASH_BYTE(hash, byte) (((hash) ^ (unsigned char)(byte)) * UINT64_C(0x100000001b3))

uint64_t al_hash(uint64_t hash, const void *bytes, size_t length);

/* The same for much data, read at the speed of memory: words of 8 bytes go round by four hashes
 * that don't wait for each other, each (h ^ word) * prime, rotated; what is left over comes last.
 * The same on machines of one byte order. */
uint64_t al_hash_block(uint64_t hash, const unsigned char *bytes, size_t length);

/* A hash as files contain it and people read it: "0123456789abcdef". */
char *al_fingerprint_text(struct al_arena *arena, uint64_t fingerprint);

/* False where the text is none. */
bool al_fingerprint_read(const char *text, uint64_t *out) AL_MUST_CHECK;
