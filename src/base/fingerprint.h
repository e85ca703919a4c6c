/* Fingerprints as files say them: "fnv1a 0123456789abcdef". */
#ifndef ATTNLEDGER_BASE_FINGERPRINT_H
#define ATTNLEDGER_BASE_FINGERPRINT_H

#include <stdint.h>

#include "base/arena.h"

char *al_fingerprint_text(struct al_arena *arena, uint64_t fingerprint);

/* False where the text is none. */
bool al_fingerprint_read(const char *text, uint64_t *out) AL_MUST_CHECK;

#endif
