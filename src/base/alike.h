/* Names as people type them: case and the separators "-", "_" and " " don't count, but for one
 * between two digits. */
#pragma once

#include "base/base.h"

/* "RTX 4090" is rtx-4090; "A1 00" isn't a100. */
bool al_is_alike(const char *a, const char *b);

/* Is the word how the name begins, but for its size? "llama3" for llama-3-8b, "bert" for
 * bert-large; not "llama-3" for llama-3.1-405b nor "glm-4.5" for glm-4.5-air: a number names one
 * model. */
bool al_begins_alike(const char *word, const char *name);
