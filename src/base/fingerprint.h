/* Fingerprints as files contain them and people read them: "0123456789abcdef". */
#pragma once

#include <stdint.h>

#include "base/arena.h"

char *al_fingerprint_text(struct al_arena *arena, uint64_t fingerprint);

/* False where the text is none. */
bool al_fingerprint_read(const char *text, uint64_t *out) AL_MUST_CHECK;
