/* What the command `fit` is made of: what fits into a memory, and models of equal size. */
#pragma once

#include "answer/memory.h"
#include "ledger/solve.h"

struct al_fit_options {
	struct al_output_options output;
	struct al_asked asked;
	struct al_device_options devices;
	const char *memory, *solve, *match;
};

/* One search: a model with one of its variants, over one symbol. */
struct al_fit {
	struct al_session *session;
	const struct al_fit_options *options;
	struct al_request *request;
	const struct al_configured_variant *configured; /* NULL: the model's own attention */
	const char *symbol;
	int64_t most_passed; /* how many values in a row may be passed over */
	bool is_inference;
	struct al_training training;
	struct al_inference inference;
	struct al_ledger *ledger;
	mpq_ptr states[AL_N_STATES]; /* as the last evaluation found them */
	mpq_ptr rest; /* of the memory, beyond the engine's share */
};

/* "80GiB", "80G", "1.5 TB", "85899345920": whole bytes. */
bool al_parse_size(struct al_arena *arena, const char *text, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;

/* "H200x8": what one of them holds. */
bool al_parse_device(struct al_arena *arena, const char *text, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;

/* The command that asks the same with nothing left to a default. */
void al_fit_note(const struct al_fit *f, struct al_table *table, mpq_srcptr memory);

/* Gives the columns of bytes as many decimals as tell unequal ones apart in each row. */
void al_fit_choose_digits(const struct al_style *style, struct al_table *table);

/* In a sentence; NULL: nothing is known. */
const char *al_fit_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_fit *f);

/* --match parameters=VARIANT */
bool al_fit_parameters(struct al_fit *f, const char *match, struct al_error *err) AL_MUST_CHECK;
