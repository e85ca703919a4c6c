/* Caches whose size a sentence states: "At 128K tokens, Llama 3.1 8B needs 16 GiB of KV cache". */
#pragma once

#include "paper/sizes.h"

/* Judges a sentence that names one model, one context and one size in bytes, which is said of the
 * cache in words that are known; others are passed over. A wrong number is reported only if a cause
 * explains it; one of a token, or of the topic, counts only where it holds. */
void al_paper_read_stated(const struct al_sentence *sentence, const struct al_deriving *deriving,
	struct al_paper_subjects *subjects, const struct al_paper_topic *topic);
