/* Training memory of a whole model on one device: states by recipe, ZeRO stage and parallel
 * degrees, activations by kernel and recomputation. */
#pragma once

#include "ledger/saved.h"
#include "ledger/states.h"

/* Which share of a model is asked about. */
struct al_share {
	unsigned parts; /* bit per enum al_part */
	bool only_layers; /* nothing before or after the layers */
};

enum { AL_ALL_PARTS = (1u << AL_N_PARTS) - 1 };

/* How a model is trained. Degrees are at least 1. */
struct al_training {
	const struct al_recipe *recipe;
	struct al_share share;
	int64_t batch, seq; /* a micro-batch of so many sequences */
	int64_t tp, pp, dp, cp, ep;
	int64_t etp; /* tensor-parallel devices of an expert; 0: tp */
	int64_t interleave; /* blocks of layers on a pipeline stage; above 1 only with pp > 1 */
	bool is_sequence_parallel; /* what tensor parallelism leaves whole is cut along the sequence
				    */
	int64_t zero; /* 1: optimizer, 2: and gradients, 3: and weights, over dp*cp devices */
	enum al_recompute recompute;
	int64_t recompute_every; /* full recomputation: of layers number N, 2N ... */
	bool has_adapter_dropout;
	bool is_flash;
	enum al_loss_memory loss;
	bool is_compiled; /* by torch.compile */
	int64_t rank; /* of adapters; 0: the recipe's */
};

/* Bytes on one device of a pipeline stage, by state and part. */
struct al_stage_memory {
	mpq_t bytes[AL_N_TRAINING_STATES][AL_N_PARTS];
	mpq_t reserved; /* what a framework reserves in addition; 0: not known */
	const char *moment; /* of the step when so much is held; NULL: not known */
};

#define AL_STAGE_MEMORY(name) \
	AL_ENDS(al_stage_memory_finish) struct al_stage_memory name; \
	al_stage_memory_init(&(name))
void al_stage_memory_init(struct al_stage_memory *stage);
void al_stage_memory_finish(void *stage);
void al_stage_memory_sum(const struct al_stage_memory *stage, enum al_memory_state state,
	mpq_t out);
void al_stage_memory_total(const struct al_stage_memory *stage, mpq_t out);

/* What a device of one pipeline stage, counted from 0, holds. The layers are cut into
 * pp*interleave blocks as equal as can be, dealt to the stages in turn; the embedding is on the
 * first, the head on the last. With pp > 1 the ledger must know its layers (AL_TENSORS_BY_LAYER),
 * and pipeline stage i keeps the activations of pp - i micro-batches (one forward and one backward
 * in turn), interleaved those of pp*interleave + pp - 1 - 2*i of its blocks, as they lie when the
 * first backward begins. A tied head on another stage than its embedding is a copy there.
 *
 *= arXiv:2205.05198, section 4.2.3: the first stage keeps as much as one device would of all
 *= layers, and interleaved of n_layers*(1 + (pp - 1)/(pp*interleave)) */
bool al_ledger_train(struct al_ledger *ledger, const struct al_training *training, int64_t index,
	struct al_stage_memory *stage, struct al_error *err) AL_MUST_CHECK;

/* The same of the first of the largest stages. */
bool al_ledger_train_largest(struct al_ledger *ledger, const struct al_training *training,
	int64_t *index, struct al_stage_memory *stage, struct al_error *err) AL_MUST_CHECK;

struct al_working_row;

/* The working set of one stage, term by term: rows [recipe->n_working], good until the ledger's
 * next training. */
bool al_ledger_train_working(struct al_ledger *ledger, const struct al_training *training,
	int64_t stage, const struct al_working_row **rows, struct al_error *err) AL_MUST_CHECK;

struct al_saving al_training_saving(const struct al_training *training);

/* Tensor-parallel devices of an expert. */
int64_t al_training_etp(const struct al_training *training);

/* A tensor-parallel device's share of a tensor; `is_expert`: of an expert's tensor, which is split
 * over etp devices instead of tp. */
void al_training_respread(const struct al_training *training, bool is_expert, mpq_t numbers);

/* Degrees that don't fit each other or the request. */
bool al_training_check(const struct al_training *training, struct al_error *err) AL_MUST_CHECK;
