/* What an input may cost: memory and steps, of each a constant and a factor times its bytes.
 *
 * One budget belongs to one input (a checkpoint; a tokenizer with the text that it reads), and all
 * that is done for it takes from that: arenas with this budget take their blocks until they are
 * finished, loops that a stranger's bytes decide take steps. A step is the work of ten nanoseconds,
 * about. An arena never refuses: what fills one takes steps as well, and those check both. An
 * array that is about to grow doubles, so that twice the allowed memory may be held for a moment.
 *
 *	struct al_budget budget = {.n_input = file_bytes};
 *	struct al_arena arena = {.budget = &budget};
 *
 *	while (more)
 *		if (!al_budget_take(&budget, 1, err))
 *			return al_in(err, "%s", path);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define AL_BUDGET_BYTES (UINT64_C(30) << 20)
#define AL_BUDGET_STEPS (UINT64_C(64) << 20)
enum { AL_BUDGET_BYTES_A_BYTE = 32, AL_BUDGET_STEPS_A_BYTE = 256 };

struct al_budget {
	uint64_t n_input; /* bytes that the input has, may be added to */
	uint64_t bytes, steps; /* taken: bytes until they are given back */
};

/* A constant and a factor times the input: what is allowed. */
uint64_t al_budget_most(const struct al_budget *budget, uint64_t constant, uint64_t factor);

uint64_t al_budget_most_bytes(const struct al_budget *budget);

uint64_t al_budget_most_steps(const struct al_budget *budget);

/* Has no more been taken than is allowed, and were there room for `more` bytes? */
bool al_budget_holds(const struct al_budget *budget, uint64_t more);

/* Takes steps: AL_EINPUT where these, or the bytes taken so far, are more than is allowed. */
bool al_budget_take(struct al_budget *budget, uint64_t steps, struct al_error *err) AL_MUST_CHECK;

/* AL_EINPUT where `more` bytes were more than is allowed: before a large allocation. Takes none. */
bool al_budget_check(const struct al_budget *budget, uint64_t more,
	struct al_error *err) AL_MUST_CHECK;
