/* The tokenizer in a GGUF file's metadata, tokenizer.ggml.*: told as a tokenizer.json, whose reader
 * takes it. */
#ifndef ATTNLEDGER_TOKENIZE_GGUF_H
#define ATTNLEDGER_TOKENIZE_GGUF_H

#include "formats/checkpoint.h"
#include "model/tokenize/internal.h"

enum { AL_GGUF_MOST_PRE_NAMES = 6 };

struct al_gguf_pre {
	const char *names[AL_GGUF_MOST_PRE_NAMES]; /* NULL behind the last one */
	const char *parts; /* of a "pre_tokenizer", with commas between them */
	const char *normalizer; /* NULL: none */
	bool adds_bos; /* where the file doesn't say */
	bool ignores_merges;
};

/* One that isn't known is refused by its name. */
bool al_gguf_pre_find(const char *name, const struct al_gguf_pre **out,
	struct al_error *err) AL_MUST_CHECK;

/* Does the checkpoint's first file name a tokenizer? */
bool al_gguf_has_tokenizer(const struct al_checkpoint *checkpoint);

/* The file's tokenizer. On failure nothing is left to finish. */
bool al_gguf_tokenizer_open(struct al_tokenizer *tokenizer, const struct al_checkpoint *checkpoint,
	struct al_error *err) AL_MUST_CHECK;

#endif
