/* Caches and weights whose size a sentence states: "At 128K tokens, Llama 3.1 8B needs 16 GiB of KV
 * cache", "the 70B model's BF16 weights (140 GB)". */
#pragma once

#include "paper/deriving.h"
#include "paper/mentions.h"

/* Judges the bytes at a place, which are of `subject`, or NULL. What holds counts; a wrong number
 * is reported only if a cause explains it, and if it is the only one in bytes of a sentence that
 * names one model and one context, and is about the cache in words that are known. */
void al_paper_read_stated(const struct al_sentence *sentence, const struct al_deriving *deriving,
	size_t at, const struct al_paper_subject *subject, const struct al_mention *models,
	size_t n_models);
