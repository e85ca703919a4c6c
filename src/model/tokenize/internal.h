/* Shared by the files of this folder: a text goes through steps (what is normalized, where it is
 * split), then a model makes tokens of each piece. */
#pragma once

#include "base/budget.h"
#include "base/hash.h"
#include "base/record.h"
#include "formats/checkpoint.h"
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

/* ---- vocabularies ---- */

struct al_vocab_slot {
	struct al_span text;
	int32_t token; /* -1: a free slot */
};

struct al_vocab {
	struct al_vocab_slot *slots; /* [n_slots], a power of two */
	size_t n_slots, longest; /* bytes */
	struct al_budget *budget; /* takes steps for each slot that is looked at */
};

/* Room for n entries. Beyond the arena's budget nothing is added or found any more: loops that
 * look entries up take steps as well. */
void al_vocab_init(struct al_vocab *vocab, struct al_arena *arena, size_t n);
/* Of two entries with one text the latter counts. */
void al_vocab_add(struct al_vocab *vocab, struct al_span text, int32_t token);
/* -1: none */
int32_t al_vocab_find(const struct al_vocab *vocab, struct al_span text);
/* The same, where al_hash of the text is known. */
int32_t al_vocab_find_hashed(const struct al_vocab *vocab, struct al_span text, uint64_t hash);
/* The longest entry of more than `least` bytes that a text begins with; -1: none. */
int32_t al_vocab_find_longest(const struct al_vocab *vocab, struct al_span text, size_t least,
	size_t *length);

/* ---- merges ---- */

/* The merge of two neighbors; the lowest rank comes first. */
struct al_bpe_merge {
	double rank;
	int32_t token;
};

typedef bool al_merge_find(const void *context, int32_t a, int32_t b, struct al_bpe_merge *out);

/* Joins neighbors, of those with the lowest rank the first, until none can be; *n becomes how many
 * tokens are left. */
bool al_merge_all(struct al_arena *memory, int32_t *tokens, size_t *n, al_merge_find *find,
	const void *context, struct al_error *err) AL_MUST_CHECK;

/* ---- regular expressions ---- */

struct al_pattern;

/* Part of a text, and whether the pattern matches it. */
struct al_match {
	size_t first, end;
	bool is_match;
};

/* What patterns are searched with: one object serves all searches of a tokenizer, in turn. */
struct al_matcher;

struct al_matcher *al_matcher_create(struct al_arena *arena);

/* Compiles a pattern as the reference implementation reads it; what is read in another way here is
 * refused. */
bool al_pattern_compile(struct al_arena *arena, const char *text, const struct al_pattern **out,
	struct al_error *err) AL_MUST_CHECK;
/* A pattern of our own. */
const struct al_pattern *al_pattern_of(struct al_arena *arena, const char *text);
/* The pattern that matches this text only. */
const struct al_pattern *al_pattern_literal(struct al_arena *arena, const char *text);

/* A search under way; the first four are given. */
struct al_scan {
	struct al_matcher *matcher;
	const struct al_pattern *pattern;
	struct al_span text;
	struct al_error *err;
	size_t at, covered; /* where it goes on, where the next part begins */
	struct al_match waits; /* a match behind the part that was returned last */
	bool failed;
};

/* The next part of the text, a match or what is between two: together they cover it. False at the
 * end, and where the search has failed. */
bool al_scan_next(struct al_scan *search, struct al_match *part);
/* Does it match somewhere? Errors count as no. */
bool al_pattern_is_in(const struct al_pattern *pattern, struct al_matcher *matcher,
	struct al_span text);

/* How a pattern's matches split a text. */
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

/* A text on its way through steps. Each makes all pieces anew; it makes all of their texts, or none
 * of them. */
struct al_stepping {
	struct al_matcher *matcher;
	struct al_budget *budget;
	struct al_arena texts, lists; /* what the pieces at hand consist of */
	struct al_arena texts_before, lists_before; /* ... those that the step at hand is given */
	bool has_texts; /* it makes texts */
	struct al_text_pieces pieces;
	struct al_error *err;
};

static inline struct al_scan al_scan_in(const struct al_stepping *to,
	const struct al_pattern *pattern, struct al_span text)
{
	return (struct al_scan){.matcher = to->matcher,
		.pattern = pattern,
		.text = text,
		.err = to->err};
}

/* Pieces without text are left out. */
void al_pieces_add(struct al_stepping *to, struct al_piece piece);
/* The piece with another text, which is finished. */
void al_pieces_take(struct al_stepping *to, const struct al_piece *piece, struct al_text *text);

struct al_step;

/* Adds what becomes of one piece, which has no token yet. */
typedef bool al_step_run(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to);

struct al_step {
	al_step_run *run;
	const char *regex; /* of our own: made into `pattern` as the step is added; NULL: none */
	const struct al_pattern *pattern;
	const char *text; /* what is put in */
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
/* All steps of a text, which begins in one piece; `made` is to be finished on failure too. */
bool al_steps_run(const struct al_text_steps *steps, struct al_span text,
	struct al_stepping *made) AL_MUST_CHECK;
void al_stepping_finish(struct al_stepping *made);

/* Settings that several parts of the file have. */
al_step_run al_step_replace; /* matches by `text` */
al_step_run al_step_split;
al_step_run al_step_prefix; /* `text` before pieces that don't begin with it */
al_step_run al_step_bytes; /* bytes as the characters of byte-level vocabularies */

/* BERT's normalizer with all its settings on; its splits, and GPT-2's. */
void al_bert_normalizer_add(struct al_text_steps *steps, struct al_arena *arena);
enum { AL_N_BERT_SPLITS = 2 };
extern const struct al_step al_bert_splits[AL_N_BERT_SPLITS], al_gpt2_split;
/* Looked for once in each run of blanks. */
#define AL_BLANK_AT_END "(?<!\\p{White_Space})\\p{White_Space}+\\z"
extern const struct al_step al_nfc, al_strip[2]; /* White space at the beginning, and at the end */

/* SentencePiece's table of replacements; false where it is none. */
bool al_charsmap_add(struct al_text_steps *steps, struct al_arena *arena,
	const unsigned char *bytes, size_t n) AL_MUST_CHECK;

/* ---- tokenizer.json ---- */

struct al_tokenizer_reader {
	struct al_record_source source;
	struct al_arena *arena; /* the tokenizer's */
	const struct al_json *doc;
	struct al_pipeline *pipeline;
	struct al_text_steps *steps; /* where steps go */
};

/* A kind of object, by its "type", that a part of the file may contain. */
struct al_text_part {
	const struct al_item *node;
	struct al_step step;
	bool cleans_text, spaces_chinese, lowercases; /* BertNormalizer */
	int strips_accents; /* ...; -1: as `lowercases` */
	bool left, right; /* Strip */
	bool adds_blank, splits; /* ByteLevel, Metaspace */
	const char *charsmap; /* Precompiled: in base64 */
	const char *replacement; /* Metaspace */
	unsigned scheme;
	bool each; /* Digits */
	int32_t before, after; /* BertProcessing */
	const struct al_item *single, *special; /* TemplateProcessing: an array, an object */
};

/* A type: the keys that it may have besides, and the steps that it is, or what adds them. The keys
 * are read into the first of its steps. One without a name for its list is a "Sequence". */
struct al_part_type {
	const char *type;
	const struct al_field *fields;
	size_t n_fields;
	struct al_step steps[2];
	bool (*add)(struct al_tokenizer_reader *r, const struct al_text_part *part,
		struct al_error *err);
};

struct al_part_kind {
	const char *what, *list; /* in messages; the key of a Sequence's items */
	const struct al_part_type *types;
	size_t n;
};
extern const struct al_part_kind al_normalizers, al_pre_tokenizers, al_post_processors;

/* Reads a part, or a Sequence of them; null, and NULL, is none. */
bool al_part_read(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_part_kind *kind, struct al_error *err) AL_MUST_CHECK;

/* "unknown normalizer", with the nearest of the names. */
bool al_type_fail(const struct al_tokenizer_reader *r, const struct al_item *node, const char *what,
	const char *const *names, size_t n, struct al_error *err);

/* Reads an object with a "type" that is known already. */
bool al_typed_read(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_field *fields, size_t n, void *out, struct al_error *err) AL_MUST_CHECK;

/* Rows of records; `context` is the reader. */
bool al_read_nothing(void *context, const struct al_item *node, void *out, struct al_error *err);
#define AL_IGNORED(name) \
	{ \
		AL_KEY(name, BY, 0), .read = al_read_nothing \
	}
/* {"String": TEXT} or {"Regex": TEXT}, into a const struct al_pattern *. */
bool al_read_pattern(void *context, const struct al_item *node, void *out, struct al_error *err);
/* [TEXT, ...] of two items; in messages the second is "and its WHAT". */
bool al_read_with_text(const struct al_tokenizer_reader *r, const struct al_item *node,
	const char *what, const char **text, const struct al_item **second,
	struct al_error *err) AL_MUST_CHECK;
/* An int32_t. */
bool al_read_token(void *context, const struct al_item *node, void *out, struct al_error *err);
bool al_precompiled_add(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err);

/* ---- models ---- */

struct al_token_model;

/* Adds the tokens of a piece. */
typedef bool al_token_encode(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err);

struct al_token_model {
	struct al_vocab vocab;
	al_token_encode *encode;
	const char *unknown_text;
	int32_t unknown; /* -1: none */
	const char *prefix, *suffix; /* of what continues a word, of what ends it; NULL: none */
	bool fuses_unknown, has_byte_fallback, ignores_merges;
	int32_t first_byte; /* the token of byte 0; 0: bytes have names */
	int64_t longest_word; /* WordPiece: characters */
	double *scores; /* with scores: [n] */
	struct al_span *texts; /* ... */
	size_t n;
	double unknown_score;
	struct al_pair_merge *merges; /* BPE: [n_merges], the earlier come first */
	size_t n_merges;
	struct al_vocab pairs; /* ... which of them two tokens are, by their bytes */
};

al_token_encode al_encode_bpe, al_encode_unigram, al_encode_word_piece;
al_token_encode al_encode_scored; /* SentencePiece's pairs: neighbors whose joint text is a piece
				     are joined, that of the highest score first */

bool al_token_model_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;

/* The tokens of a text's bytes ("<0x0A>"), out [text.n]; false where one has none. */
bool al_byte_tokens(const struct al_token_model *model, struct al_span text, int32_t *out);

/* unigram.c: room for n pieces; when all are there, their index. */
void al_scored_init(struct al_token_model *model, struct al_arena *arena, size_t n);
void al_scored_index(struct al_token_model *model, struct al_arena *arena);

/* bpe.c: room for n merges; the next one, "a b" or two texts. */
void al_merges_init(struct al_token_model *model, struct al_arena *arena, size_t n);
bool al_merge_split(const char *text, struct al_span pair[2], struct al_error *err) AL_MUST_CHECK;
bool al_merge_add(struct al_token_model *model, const struct al_span pair[2],
	struct al_error *err) AL_MUST_CHECK;

/* ---- added tokens ---- */

struct al_added {
	const char *content;
	struct al_span text; /* the same, normalized where that is set */
	int32_t token;
	bool is_word, takes_left, takes_right, is_normalized;
};

bool al_added_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err) AL_MUST_CHECK;

/* ---- all of it ---- */

struct al_ids {
	int32_t *items;
	size_t n, room;
};

void al_ids_add(struct al_ids *ids, struct al_arena *arena, int32_t token);

struct al_pipeline {
	struct al_budget *budget; /* the tokenizer's */
	struct al_matcher *matcher;
	struct al_token_model model;
	struct al_text_steps normalizer, pre_tokenizer, all;
	struct al_added *added;
	size_t n_added;
	struct al_ids before, after; /* tokens around a sequence */
};

/* An empty one, in an arena that the tokenizer owns from now on, for a file of `n_input` bytes. */
struct al_pipeline *al_pipeline_init(struct al_tokenizer *tokenizer, uint64_t n_input);

/* A text that no step has seen. */
struct al_stepping al_pipeline_begin(const struct al_pipeline *pipeline, struct al_error *err);

/* When it is all there: the steps that a text goes through. */
bool al_pipeline_finish(struct al_pipeline *pipeline, struct al_arena *arena,
	struct al_error *err) AL_MUST_CHECK;

/* The step that finds added tokens of one kind, where there are any. */
void al_added_step(const struct al_pipeline *pipeline, struct al_arena *arena, bool is_normalized,
	struct al_text_steps *steps);

/* ---- GGUF ---- */

enum { AL_PRE_NAMES = 6, AL_PRE_SPLITS = 3 };

/* Where a text is split before byte-pair encoding. */
struct al_pre {
	const char *names[AL_PRE_NAMES]; /* NULL behind the last one */
	const char *splits[AL_PRE_SPLITS]; /* regular expressions; none: GPT-2's */
	bool splits_digits, is_nfc;
	bool adds_bos; /* where the file doesn't name one */
	bool ignores_merges;
};

/* llama.cpp's name of what splits texts so; NULL: it has none that is known. */
const char *al_pre_name(const struct al_pre *pre);
/* One that isn't known is refused by its name. */
bool al_pre_find(const char *name, const struct al_pre **out, struct al_error *err) AL_MUST_CHECK;

/* Does the checkpoint's first file name a tokenizer? */
bool al_gguf_has_tokenizer(const struct al_checkpoint *checkpoint);

/* The file's tokenizer. On failure nothing is left to finish. */
bool al_gguf_tokenizer_open(struct al_tokenizer *tokenizer, const struct al_checkpoint *checkpoint,
	struct al_error *err) AL_MUST_CHECK;
