/* Options: one table row each, from which parsing and help are derived. */
#ifndef ATTNLEDGER_COMMANDS_ARGUMENTS_H
#define ATTNLEDGER_COMMANDS_ARGUMENTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

enum option {
	OPT_HELP,
	OPT_FORMAT,
	OPT_OUTPUT,
	OPT_UNITS,
	OPT_COLOR,
	OPT_QUIET,
	OPT_THREADS,
	OPT_SET,
	OPT_BATCH,
	OPT_SEQ,
	OPT_VARIANT,
	OPT_VARIANTS,
	OPT_BASIS,
	OPT_RECIPE,
	OPT_DTYPE,
	OPT_EXPLAIN,
	OPT_TENSORS,
	OPT_BASELINE,
	OPT_SUBSTITUTE,
	OPT_ORDER,
	OPT_AGAINST,
	OPT_OVER,
	OPT_TIE,
	OPT_MEASURE,
	OPT_FIGURE,
	OPT_LOG,
	OPT_SOURCE,
	OPT_HEADS,
	OPT_LAYOUT,
	OPT_MODULES,
	OPT_NULL,
	OPT_TOP,
	OPT_SEED,
	OPT_CENTER,
	OPT_FOLD_NORMS,
	OPT_ONLY,
	OPT_TABLES,
	OPT_FIGURES,
	OPT_FIGURES_ONLY,
	OPT_WHOLE,
	OPT_PART,
	OPT_ZERO,
	OPT_TP,
	OPT_PP,
	OPT_INTERLEAVE,
	OPT_DP,
	OPT_CP,
	OPT_EP,
	OPT_SP,
	OPT_RECOMPUTE,
	OPT_ATTENTION,
	OPT_INFERENCE,
	OPT_CACHE_DTYPE,
	OPT_MEMORY,
	OPT_SOLVE,
	OPT_MATCH,
	OPT_ACTIVE,
	OPT_COUNTS,
	OPT_VALUES,
	OPT_METHOD,
	OPT_RANK,
	OPT_TARGET_ERROR,
	OPT_TARGET_PARAMETERS,
	OPT_DROP,
	OPT_FOR,
	OPT_ACROSS,
	OPT_OFFSET,
	OPT_COVARIANCE,
	N_OPTIONS,
};

/* A set of options: one bit each, more than 64 of them. */
__extension__ typedef unsigned __int128 option_set;

_Static_assert(N_OPTIONS <= 128, "a set of options has 128 bits");

#define OPTION(name) ((option_set)1 << (name))

/* What every command takes. */
#define OPTIONS_OUTPUT \
	(OPTION(OPT_HELP) | OPTION(OPT_FORMAT) | OPTION(OPT_OUTPUT) | OPTION(OPT_UNITS) \
		| OPTION(OPT_COLOR) | OPTION(OPT_QUIET) | OPTION(OPT_THREADS))

/* What a question about a model takes. */
#define OPTIONS_QUESTION \
	(OPTION(OPT_SET) | OPTION(OPT_BATCH) | OPTION(OPT_SEQ) | OPTION(OPT_VARIANT) \
		| OPTION(OPT_VARIANTS) | OPTION(OPT_BASIS))

/* How a whole model is laid over devices. */
#define OPTIONS_DEVICES \
	(OPTION(OPT_WHOLE) | OPTION(OPT_PART) | OPTION(OPT_ZERO) | OPTION(OPT_TP) | OPTION(OPT_PP) \
		| OPTION(OPT_INTERLEAVE) | OPTION(OPT_DP) | OPTION(OPT_CP) | OPTION(OPT_EP) \
		| OPTION(OPT_SP) | OPTION(OPT_RECOMPUTE) | OPTION(OPT_ATTENTION) \
		| OPTION(OPT_INFERENCE) | OPTION(OPT_CACHE_DTYPE) | OPTION(OPT_DTYPE))

/* The values of an option, in the order in which they were given; a flag's are NULL. */
struct option_values {
	const char **items;
	size_t n, room;
};

struct arguments {
	struct option_values options[N_OPTIONS];
	const char **words; /* not options */
	size_t n_words;
};

/* Reads argv[0..argc) for a command that takes the options of `allowed`. An unknown option names
 * the nearest; an option that comes twice and may not is refused. */
bool arguments_parse(struct al_arena *arena, int argc, char **argv, option_set allowed,
	struct arguments *out, struct al_error *err) AL_MUST_CHECK;

bool is_given(const struct arguments *arguments, enum option option);

/* The value of an option that comes at most once; `fallback` where it doesn't. */
const char *option_value(const struct arguments *arguments, enum option option,
	const char *fallback);

/* The value of such an option as a whole number of at least `least`. */
bool option_count(const struct arguments *arguments, enum option option, int64_t fallback,
	int64_t least, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* "--seq" */
const char *option_name(enum option option);

/* Adds the help lines of the options in `allowed`. */
void arguments_help(option_set allowed, struct al_text *out);

#endif
