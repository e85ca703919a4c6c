/* Translations: a model of the hub's files seen as one of llama.cpp's, and the other way round.
 *
 * A family's "gguf" (catalog/family.h) gives both names of a tensor and the metadata. How a tensor
 * differs follows from the two families' own facts: the order of a matrix, which dimensions of a
 * head turn together, whether norms multiply by 1 + scale. Numbers are made when they are read
 * (formats/layout.h); what has no counterpart is refused by its name. */
#pragma once

#include "base/spill.h"
#include "model/heads/views.h"

struct al_translation {
	struct al_checkpoint checkpoint; /* the same model under the other names */
	struct al_spill header; /* of a GGUF file's metadata */
	const char *note; /* what the other program does otherwise; NULL: nothing */
};

/* The view's model as a GGUF file would have it, with the tokenizer.json at that path, if any, in
 * the arena of the translation. The view must outlive it. Refused: families whose names aren't
 * known, tensors, rules of rotary positions and tokenizers that llama.cpp hasn't got. */
bool al_translate_to_gguf(struct al_translation *out, struct al_model_view *view,
	const char *tokenizer, struct al_error *err) AL_MUST_CHECK;

/* A GGUF file's model as a folder of the hub has it: header_config is its config.json. */
bool al_translate_to_hub(struct al_translation *out, struct al_model_view *view,
	struct al_error *err) AL_MUST_CHECK;

/* Fails where the other view's attention isn't the same: in its sizes, its scores' scale, its
 * rotary positions, or what the settings of both families call alike. */
bool al_translation_check(struct al_model_view *view, struct al_model_view *other,
	struct al_error *err) AL_MUST_CHECK;

void al_translation_close(void *translation);

/* ---- shared by the files of this folder ---- */

struct al_translating {
	struct al_translation *out;
	struct al_model_view *view; /* of the original */
	const struct al_family *hub, *gguf;
	bool to_gguf;
};

bool al_translation_begin(struct al_translating *t, struct al_error *err) AL_MUST_CHECK;

/* Adds the tensors under their new names. */
bool al_translate_tensors(struct al_translating *t, struct al_error *err) AL_MUST_CHECK;

/* Adds numbers that the original hasn't got as a tensor: a vector. */
void al_translation_add_vector(struct al_translating *t, const char *name, const double *numbers,
	int64_t n);

/* tokenizer.c: adds tokenizer.ggml.* of a tokenizer.json. */
struct al_gguf_entry;
struct al_gguf_entries {
	struct al_arena *arena;
	struct al_gguf_entry *items;
	size_t n, room;
};
void al_gguf_entries_add(struct al_gguf_entries *entries, struct al_gguf_entry entry);
bool al_translate_tokenizer(struct al_gguf_entries *entries, struct al_model_view *view,
	const char *path, struct al_error *err) AL_MUST_CHECK;
