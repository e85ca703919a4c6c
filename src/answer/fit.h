/* What the command `fit` is made of: what fits into a device, which devices hold a model, and
 * models of equal size. */
#pragma once

#include "answer/memory.h"
#include "catalog/gpu.h"
#include "ledger/solve.h"

struct al_fit_options {
	struct al_output_options output;
	struct al_asked asked;
	struct al_device_options devices;
	const char *solve, *match, *log;
};

/* A model with one of its variants on one device: how much fits, as one symbol grows. */
struct al_fit {
	struct al_session *session;
	const struct al_fit_options *options;
	struct al_request *request;
	const struct al_configured_variant *configured; /* NULL: the model's own attention */
	const char *symbol; /* "": nothing grows */
	int64_t most_passed; /* how many values in a row may be passed over */
	struct al_gpu gpu;
	bool is_inference;
	int64_t context; /* tokens that the model was made for; 0: no limit, or it isn't known */
	struct al_training training;
	struct al_inference inference;
	struct al_ledger *ledger;
	mpq_ptr states[AL_N_STATES]; /* as the last evaluation found them */
	bool is_reserved; /* not only what is allocated: the working set contains the rest */
	mpq_srcptr pool; /* of states, as a part of the cache */
	mpq_srcptr share, budget, rest; /* of the device's memory: what the engine takes, that in
					   bytes, and what is left */
};

/* Opens the ledger of the request, the variant and the device options. */
bool al_fit_begin(struct al_fit *f, const struct al_device_options *options,
	struct al_error *err) AL_MUST_CHECK;

/* Shares out a device's memory. */
bool al_fit_take_device(struct al_fit *f, const struct al_gpu *gpu,
	struct al_error *err) AL_MUST_CHECK;

/* Memory of one device, in whole bytes. */
bool al_fit_hold(struct al_fit *f, mpq_t out, struct al_error *err) AL_MUST_CHECK;

/* Does the variant declare what that is the sum of? */
bool al_fit_is_known(const struct al_fit *f, struct al_undeclared *out);

void al_fit_note(struct al_fit *f, struct al_table *table);

/* The command that asks the same with nothing left to a default. */
void al_fit_note_asked(const struct al_fit *f, struct al_table *table);

/* Gives columns of bytes enough decimals to distinguish unequal values in each row. */
void al_fit_choose_digits(const struct al_style *style, struct al_table *table);

/* In a sentence; NULL: nothing is known. */
const char *al_fit_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_fit *f);

/* "vLLM, one H100, 90 % of its memory, batch size 1": what an answer depends on. */
const char *al_fit_conditions(struct al_arena *arena, const struct al_fit *f);

/* "--tp 4 or --dtype q4_k_m": what may make it fit. */
const char *al_fit_advice(struct al_arena *arena, const struct al_fit *f, mpq_srcptr needed,
	mpq_srcptr memory);

/* Which of the devices hold the model, and how many of each it takes. */
bool al_fit_devices(struct al_fit *f, const struct al_gpus *gpus,
	struct al_error *err) AL_MUST_CHECK;

/* --log FILE */
bool al_fit_log(struct al_session *session, const struct al_fit_options *options,
	struct al_error *err) AL_MUST_CHECK;

/* --match parameters=VARIANT */
bool al_fit_parameters(struct al_fit *f, const char *match, struct al_error *err) AL_MUST_CHECK;
