/* The words of papers' tables: vocabulary.json. */
#pragma once

#include "base/base.h"

enum al_meaning {
	AL_MEANS_NOTHING,
	AL_MEANS_MODEL,
	AL_MEANS_ATTENTION, /* a variant: "MHA", "GQA" */
	AL_MEANS_METHOD, /* what was done to the model */
	AL_MEANS_CONTEXT,
	AL_MEANS_BATCH,
	AL_MEANS_FORMAT,
	AL_MEANS_SIZE, /* enum al_paper_size */
	AL_MEANS_TOTAL, /* enum al_paper_total */
	AL_MEANS_WEIGHTS, /* bytes of the parameters */
	AL_MEANS_CACHE, /* bytes of sequences */
	AL_MEANS_CACHE_OF_TOKEN, /* bytes; without a unit numbers, too */
	AL_MEANS_SUM, /* of other columns, as the next ones */
	AL_MEANS_MEAN,
	AL_MEANS_CHANGE,
	AL_MEANS_RATIO,
};

/* Heads of one meaning, in normal letters (al_paper_normal): whole ones, parts, beginnings. */
struct al_paper_heads {
	enum al_meaning meaning;
	int size; /* of AL_MEANS_SIZE and AL_MEANS_TOTAL: which one */
	const char *column; /* in a map; NULL: none */
	const char **names, **parts, **beginnings;
	size_t n_names, n_parts, n_beginnings;
};

/* Lists of words of sentences, by their keys. */
/* clang-format off */
#define AL_WORD_LISTS(LIST) \
	LIST(BITS, bits) LIST(DIVIDED, divided) LIST(MINUS, minus) \
	LIST(BEFORE_NUMBERS, before_numbers) LIST(OF, of) LIST(TIMES, times) \
	LIST(OPERATORS, operators) LIST(EQUALS, equals) LIST(LINKS, links) \
	LIST(UNITS, units) LIST(GAPS, gaps) LIST(FALLING, falling) LIST(RISING, rising) \
	LIST(ABOUT, about) LIST(OF_TIME, of_time) LIST(QUANTITIES, quantities) \
	LIST(OF_BYTES, of_bytes) \
	LIST(OF_CACHES, of_caches) LIST(CONDITIONS, conditions) \
	LIST(NOUN_ENDS, noun_ends) LIST(TOTAL_LINKS, total_links) \
	LIST(TOTALS, totals) LIST(OF_MODELS, of_models) \
	LIST(OF_SIZES, of_sizes) LIST(CACHES, caches) \
	LIST(KV, kv) LIST(STORED, stored) LIST(VERSUS, versus) LIST(MADE_OF, made_of) \
	LIST(FAMILIES, families) LIST(OF_LAYERS, of_layers) LIST(GROUPS, groups) \
	LIST(LETTERS_L, letters_l) LIST(LETTERS_D, letters_d) LIST(LETTERS_H, letters_h) \
	LIST(PARAMETERS, parameters) LIST(PARTS, parts) LIST(ACTIVE, active) \
	LIST(SUMMARIES, summaries) LIST(QUANTIZED, quantized) LIST(COUNTS, counts) \
	LIST(ABBREVIATIONS, abbreviations) LIST(LISTED, listed) LIST(BEFORE_PAIRS, before_pairs) \
	LIST(NOUNS, nouns) LIST(POINTS, points) LIST(SCORES, scores) LIST(PLACES, places) \
	LIST(COMPARING, comparing) LIST(ENDS_OF_CHANGES, ends_of_changes) \
	LIST(ALTOGETHER, altogether) LIST(AVERAGES, averages) LIST(RESTS, rests) \
	LIST(RANGES, ranges) LIST(FRACTIONS, fractions) LIST(COMPRESSING, compressing) \
	LIST(REFERRING, referring)
/* clang-format on */
#define AL_WORDS_NAME(name, key) AL_WORDS_##name,
enum al_paper_words { AL_WORD_LISTS(AL_WORDS_NAME) AL_N_WORDS };

/* A word of these lists, and which ones it is in. */
struct al_paper_listed {
	const char *word;
	bool is_in[AL_N_WORDS];
};

/* How two numbers appear in a sentence: "from # to #". */
struct al_paper_pair_form {
	struct al_paper_step {
		const char *word; /* NULL: a number */
		size_t most; /* words in front of it that are passed over */
	} steps[4];
	size_t n_steps;
	/* is_loose: the two may be of something else than a statement next to them */
	bool is_old_first, is_share, is_loose;
};

/* Of a number, right behind it: "GB" */
struct al_paper_unit {
	const char *name;
	double scale;
	const char *family; /* "bytes"; "%" and "x" are statements; numbers of two are no pair */
};

struct al_paper_vocabulary {
	/* The first that fits counts; columns: of maps; relations: of columns to others. */
	struct al_paper_heads *heads, *columns, *relations;
	size_t n_heads, n_columns, n_relations;
	const char **others; /* a head with one of these is of another quantity */
	size_t n_others;
	const char **vendors, **endings; /* before and behind a model's name, of the same sizes */
	size_t n_vendors, n_endings;
	const char **remarks; /* in brackets behind a model's name: the same model */
	size_t n_remarks;
	struct al_paper_pair_form *pairs;
	struct al_paper_unit *units;
	size_t n_pairs, n_units;
	struct al_paper_list {
		const char **items;
		size_t n;
	} words[AL_N_WORDS];
	struct al_paper_listed *listed; /* all words of these lists, sorted */
	size_t n_listed;
};

/* NULL: a word of none of the lists. */
const struct al_paper_listed *al_paper_listed_find(const struct al_paper_vocabulary *vocabulary,
	const char *word);

/* Those that a head in normal letters is one of; of no meaning: none. */
const struct al_paper_heads *al_paper_heads_find(const struct al_paper_heads *all, size_t n,
	const char *normal);

bool al_paper_vocabulary_read(struct al_paper_vocabulary *out, struct al_arena *arena,
	struct al_error *err) AL_MUST_CHECK;
