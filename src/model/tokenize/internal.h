/* What the files of this folder share: a text goes through steps (what is normalised, where it is
 * split), then a model makes tokens of each piece. */
#ifndef ATTNLEDGER_TOKENIZE_INTERNAL_H
#define ATTNLEDGER_TOKENIZE_INTERNAL_H

#include <string.h>

#include "base/hash.h"
#include "base/record.h"
#include "model/tokenize/tokenizer.h"

/* Bytes that aren't ended by NUL. */
struct al_span {
	const char *data;
	size_t n;
};

static inline struct al_span al_span_of(const char *text)
{
	return (struct al_span){text, strlen(text)};
}

/* Bytes [first, end) of a span. */
static inline struct al_span al_span_part(struct al_span span, size_t first, size_t end)
{
	return (struct al_span){span.data + first, end - first};
}

/* ---- kinds of files ---- */

struct al_tokenizer_kind {
	/* Adds the tokens of valid UTF-8, without ending the sequence. `memory` dies afterwards. */
	bool (*encode)(const void *data, struct al_arena *memory, struct al_span text,
		struct al_tokens *tokens, struct al_error *err);
};

/* ---- vocabularies ---- */

struct al_vocab_slot {
	struct al_span text;
	int32_t token; /* -1: a free slot */
};

struct al_vocab {
	struct al_vocab_slot *slots; /* [n_slots], a power of two */
	size_t n_slots, longest; /* bytes */
};

/* Room for n entries. */
void al_vocab_init(struct al_vocab *vocab, struct al_arena *arena, size_t n);
/* Of two entries with one text the latter counts. */
void al_vocab_add(struct al_vocab *vocab, struct al_span text, int32_t token);
/* -1: none */
int32_t al_vocab_find(const struct al_vocab *vocab, struct al_span text);
/* The same, where al_hash of the text is known. */
int32_t al_vocab_find_hashed(const struct al_vocab *vocab, struct al_span text, uint64_t hash);
/* May all pieces be looked up at every byte of so long a text? */
bool al_vocab_check_lookups(const struct al_vocab *vocab, size_t n_bytes,
	struct al_error *err) AL_MUST_CHECK;
/* The token that stands for a byte ("<0x0A>"), or -1. */
int32_t al_vocab_find_byte(const struct al_vocab *vocab, unsigned char byte);

/* ---- merges ---- */

/* What two neighbours become; the lowest rank comes first. */
struct al_bpe_merge {
	double rank;
	int32_t token;
};

typedef bool al_merge_find(const void *context, int32_t a, int32_t b, struct al_bpe_merge *out);

/* Joins neighbours, of those with the lowest rank the first, until none can be; returns how many
 * tokens are left. */
size_t al_merge_all(struct al_arena *memory, int32_t *tokens, size_t n, al_merge_find *find,
	const void *context);

/* Pieces with scores: two neighbours whose joint text is a piece are joined, that of the highest
 * score first. */
struct al_scored_pieces {
	const struct al_vocab *vocab;
	const struct al_span *texts; /* [token] */
	const double *scores; /* [token] */
};

/* The same as al_merge_all. */
size_t al_merge_scored(struct al_arena *memory, int32_t *tokens, size_t n,
	const struct al_scored_pieces *pieces);

/* ---- regular expressions ---- */

struct al_pattern;

/* Part of a text, and whether the pattern matches it. */
struct al_match {
	size_t first, end;
	bool is_match;
};

struct al_matches {
	struct al_match *items; /* they cover the text */
	size_t n;
};

/* Compiles a pattern as the reference implementation reads it; what is read in another way here is
 * refused. */
bool al_pattern_compile(struct al_arena *arena, const char *text, const struct al_pattern **out,
	struct al_error *err) AL_MUST_CHECK;
/* A pattern of our own. */
const struct al_pattern *al_pattern_of(struct al_arena *arena, const char *text);
/* The pattern that matches this text only. */
const struct al_pattern *al_pattern_literal(struct al_arena *arena, const char *text);
bool al_pattern_find(const struct al_pattern *pattern, struct al_arena *memory, struct al_span text,
	struct al_matches *out, struct al_error *err) AL_MUST_CHECK;
/* Does it match somewhere? Errors count as no. */
bool al_pattern_is_in(const struct al_pattern *pattern, struct al_arena *memory,
	struct al_span text);

/* What a pattern's matches become as pieces of a text. */
enum al_behavior {
	AL_SPLIT_REMOVED,
	AL_SPLIT_ISOLATED,
	AL_SPLIT_WITH_PREVIOUS,
	AL_SPLIT_WITH_NEXT,
	AL_SPLIT_CONTIGUOUS,
	AL_N_BEHAVIORS,
};
extern const char *const al_behavior_names[AL_N_BEHAVIORS];

/* ---- steps ---- */

struct al_piece {
	struct al_span text;
	int32_t token; /* -1: none yet */
	bool is_first; /* it begins where the text does */
};

struct al_text_pieces {
	struct al_piece *items;
	size_t n, room;
};

/* Added in the step's memory; pieces without text are left out. */
void al_pieces_add(struct al_text_pieces *pieces, struct al_arena *memory, struct al_piece piece);

struct al_step;

/* Adds what becomes of one piece, which has no token yet. */
typedef bool al_step_run(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err);

struct al_step {
	al_step_run *run;
	const struct al_pattern *pattern;
	struct al_span text; /* what is put in */
	enum al_behavior behavior;
	bool is_inverted, only_first;
	int form; /* a GNormalizeMode */
	const void *data;
};

struct al_text_steps {
	struct al_step *items;
	size_t n, room;
};

void al_steps_add(struct al_text_steps *steps, struct al_arena *arena, struct al_step step);
bool al_steps_run(const struct al_text_steps *steps, struct al_arena *memory,
	struct al_text_pieces *pieces, struct al_error *err) AL_MUST_CHECK;

/* What several parts of the file say. */
al_step_run al_step_replace; /* matches by `text` */
al_step_run al_step_split;
al_step_run al_step_prefix; /* `text` before pieces that don't begin with it */
al_step_run al_step_bytes; /* bytes as the characters of byte-level vocabularies */

/* ---- tokenizer.json ---- */

struct al_json_tokenizer;

struct al_tokenizer_reader {
	struct al_record_source source;
	struct al_arena *arena; /* the tokenizer's */
	const struct al_json *doc;
	struct al_json_tokenizer *tokenizer;
	struct al_text_steps *steps; /* where steps go */
	bool is_of_gguf;
};

/* What gguf.c wrote of a file's metadata: as tokenizer.json is, and a model of type ScoredBPE. */
bool al_tokenizer_parse_of_gguf(struct al_tokenizer *tokenizer, const char *text, size_t n,
	struct al_error *err) AL_MUST_CHECK;

/* One "type" of an object, and what reads it. */
struct al_step_type {
	const char *type;
	bool (*read)(struct al_tokenizer_reader *r, const struct al_item *node,
		struct al_error *err);
};

/* Reads an object by its "type"; null is none. `what` names it in errors. */
bool al_part_read(struct al_tokenizer_reader *r, const struct al_item *node, const char *what,
	const struct al_step_type *parts, size_t n, struct al_error *err) AL_MUST_CHECK;
/* The same of all items under `key`. */
bool al_part_read_all(struct al_tokenizer_reader *r, const struct al_item *object, const char *key,
	const char *what, const struct al_step_type *parts, size_t n,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses any key but "type". */
bool al_read_type_alone(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;

/* Rows of records; `context` is the reader. */
bool al_read_nothing(void *context, const struct al_item *node, void *out, struct al_error *err);
bool al_read_text_or_null(void *context, const struct al_item *node, void *out,
	struct al_error *err);
/* {"String": TEXT} or {"Regex": TEXT}, into a const struct al_pattern *. */
bool al_read_pattern(void *context, const struct al_item *node, void *out, struct al_error *err);
bool al_read_token(const struct al_json *doc, const struct al_item *node, int32_t *out,
	struct al_error *err) AL_MUST_CHECK;

bool al_normalizer_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
bool al_pre_tokenizer_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
bool al_post_processor_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;

/* SentencePiece's table of replacements. */
bool al_precompiled_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;

/* ---- models ---- */

struct al_token_model {
	struct al_vocab vocab;
	/* Adds the tokens of a piece. */
	bool (*encode)(const struct al_token_model *model, struct al_arena *memory,
		struct al_span text, struct al_tokens *tokens, struct al_error *err);
	const char *unknown_text;
	int32_t unknown; /* -1: none */
	const char *prefix, *suffix; /* of what continues a word, of what ends it; NULL: none */
	bool fuses_unknown, has_byte_fallback, ignores_merges;
	int64_t longest_word; /* WordPiece: characters */
	double *scores; /* Unigram, ScoredBPE: [token] */
	struct al_span *texts; /* ... */
	double unknown_score;
	struct al_pair_merge *merges; /* BPE: [n_merge_slots] */
	size_t n_merge_slots;
};

bool al_token_model_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
/* "vocab" of all models but Unigram, by a row of a record. */
bool al_read_vocab(void *context, const struct al_item *node, void *out, struct al_error *err);
bool al_model_find_unknown(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
bool al_bpe_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
bool al_unigram_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
bool al_scored_bpe_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;
/* ---- added tokens ---- */

struct al_added {
	struct al_span text; /* normalised where that is said */
	int32_t token;
	bool is_word, takes_left, takes_right, is_normalized;
};

bool al_added_read(void *context, const struct al_item *node, void *out, struct al_error *err);
/* The step that finds those of one kind, where there are any. */
void al_added_step(struct al_tokenizer_reader *r, bool is_normalized, struct al_text_steps *steps);

struct al_json_tokenizer {
	struct al_token_model model;
	struct al_text_steps normalizer, all;
	struct al_text_steps pre_tokenizer;
	struct al_added *added;
	size_t n_added;
	int32_t *before, *after; /* tokens around a sequence */
	size_t n_before, n_after, after_room;
};

#endif
