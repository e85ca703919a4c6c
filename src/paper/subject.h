/* Subjects: the models that a paper names, and their sizes. */
#pragma once

#include "catalog/catalog.h"
#include "paper/vocabulary.h"

/* Numbers that one more token adds to the cache of a sequence, up to `limit` tokens (0: always);
 * `bytes` of each number where the model fixes its format, else 0. */
struct al_paper_cached {
	double elements, limit, bytes;
};

enum al_paper_size {
	AL_DIM_LAYERS,
	AL_DIM_WIDTH, /* d_model */
	AL_DIM_HEADS,
	AL_DIM_KV_HEADS,
	AL_DIM_HEAD_DIM,
	AL_DIM_GROUP, /* query heads of a key head */
	AL_DIM_CACHED_LAYERS, /* with attention, in models of layers without it */
	AL_DIM_SOME, /* "d": one of two widths, and no size of a model */
	AL_DIM_FFN, /* this and the next ones: no part of attention, counted in several ways */
	AL_DIM_VOCAB,
	AL_DIM_EXPERTS,
	AL_DIM_ACTIVE_EXPERTS,
	AL_N_SIZES,
};

enum al_paper_total {
	AL_TOTAL_PARAMETERS,
	AL_TOTAL_ACTIVE, /* parameters that work on one token */
	AL_TOTAL_WITHOUT_EMBEDDING,
	AL_TOTAL_NON_EMBEDDING, /* nor the head */
	AL_N_TOTALS,
	AL_TOTAL_OF_ROW = AL_N_TOTALS, /* one of these, by the sizes of a row */
};

/* What is not known is 0. */
struct al_paper_subject {
	const char *title, *from; /* "Llama 3 8B"; "built in", "configs/ours.json" */
	double sizes[AL_N_SIZES];
	double totals[AL_N_TOTALS];
	struct al_paper_cached *cached;
	size_t n_cached;
	double state_bytes; /* that a sequence takes, however long it is */
	bool is_of_row; /* made of a row's sizes */
	double gates; /* parameters of a third matrix in feed-forward layers, not in the totals */
	bool has_plain_cache; /* keys and values of each key head in each layer */
};

/* All that are known, read once for a paper. */
struct al_paper_subjects {
	struct al_arena *arena;
	struct al_catalog *catalog;
	struct al_paper_vocabulary vocabulary;
	struct al_paper_model *models;
	size_t n, room;
	bool begins[128 * 128]; /* a name begins with these two letters or digits */
};

/* The built-in models, those of models.json, and each NAME.json of `folder`, which may be NULL;
 * `is_required`: it must be a folder. */
bool al_paper_subjects_init(struct al_paper_subjects *subjects, struct al_arena *arena,
	struct al_catalog *catalog, const char *folder, bool is_required,
	struct al_error *err) AL_MUST_CHECK;

/* The word by which the catalog knows the model that a label names; NULL: it names none. */
const char *al_paper_model_word(struct al_paper_subjects *subjects, const char *label);

/* The model itself; NULL: the label names none, or it can't be counted. */
const struct al_paper_subject *al_paper_subject_find(struct al_paper_subjects *subjects,
	const char *label);

/* Fails where a file of a model that the paper names can't be counted. */
bool al_paper_subjects_check(const struct al_paper_subjects *subjects,
	struct al_error *err) AL_MUST_CHECK;

/* Tokens of a sequence that a part of the cache keeps; all of them if windows aren't counted. */
double al_paper_kept(const struct al_paper_cached *cached, double tokens, bool is_whole);

/* Bytes of the cache of `batch` sequences of `tokens` tokens, of numbers of `bytes` bytes. */
double al_paper_cache_bytes(const struct al_paper_subject *subject, double tokens, double batch,
	double bytes, bool is_whole, bool has_states);
