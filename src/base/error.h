/* Errors: what went wrong, reported once, where the fact is known.
 *
 * A function that can fail returns bool, takes `struct al_error *err` last and ends in
 * `return al_fail(err, AL_EINPUT, "...")`; its callers add where (`al_in(err, "layers[3]")`).
 * A message is one line, lower case: what was found and what was expected. */
#pragma once

#include <stdbool.h>

#include "attnledger.h"

#define AL_MUST_CHECK __attribute__((warn_unused_result))
/* Of a variable: calls the function with a pointer to it where its block ends. */
#define AL_ENDS(finish) __attribute__((cleanup(finish)))
#define AL_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Sets the error and returns false. Control characters in the message (a name from a file) come out
 * as \xNN, a message that is too long ends in "...". `err` may be NULL: then only false is
 * returned. */
bool al_fail(struct al_error *err, enum al_status status, const char *format, ...) AL_PRINTF(3, 4);

/* Puts "context: " before the message and returns false. */
bool al_in(struct al_error *err, const char *format, ...) AL_PRINTF(2, 3);
