/* What the files of the command `memory` share. */
#pragma once

#include "answer/devices.h"
#include "ledger/infer.h"

struct al_memory_options {
	struct al_output_options output;
	struct al_asked asked;
	struct al_device_options devices;
	bool explains;
	const char *baseline;
};

/* States of training, then their total, then the number of parameters. */
enum {
	AL_TRAINING_TOTAL = AL_N_TRAINING_STATES,
	AL_TRAINING_PARAMETERS,
	AL_N_TRAINING_FIGURES,
};

/* What training a model, or the attention in it, takes with one of a request's variants. */
struct al_training_figures {
	mpq_srcptr values[AL_N_TRAINING_FIGURES]; /* NULL: not known */
	struct al_undeclared undeclared; /* why activations are not known; variant NULL: they are */
	struct al_stage_memory *stage; /* of a model: the largest pipeline stage */
	int64_t stage_index;
};

/* --explain of attention alone: formula, substitution and result of each number. */
bool al_explain_attention(struct al_session *session, struct al_request *request,
	struct al_error *err) AL_MUST_CHECK;

/* --explain of a model: its parts, the recipe's rules, every tensor that is saved. */
bool al_explain_training(struct al_session *session, struct al_request *request,
	const struct al_training *training, const struct al_training_figures *figures,
	struct al_error *err) AL_MUST_CHECK;

/* "H200x8": inference is tensor parallel over all where no degree is given; else the degrees make
 * up the number. */
bool al_lay_out_device(struct al_request *request, const struct al_device_options *options,
	struct al_training *training, struct al_error *err) AL_MUST_CHECK;

/* The options of inference. */
bool al_inference_init(struct al_inference *inference, const struct al_device_options *options,
	struct al_request *request, struct al_error *err) AL_MUST_CHECK;

/* --explain of inference: its rules, and the entries that its numbers are sums of, which its watch
 * hears. */
void al_explain_inference(struct al_session *session, struct al_inference *inference);

/* What the data sheet of --device bounds: a table of its own, NULL for a size; and in a note of the
 * table of memory, whether it fits. */
bool al_add_bounds(struct al_session *session, struct al_request *request,
	const struct al_inference *inference, const struct al_inference_row *total,
	mpq_srcptr weights, struct al_table *memory, const struct al_table **out,
	struct al_error *err) AL_MUST_CHECK;

/* In a sentence: training of one request by state (`training` NULL: attention alone), of several
 * beside the variant `base` (NULL: the first), and inference (`bounds` NULL: no device). */
const char *al_memory_summarize_training(struct al_arena *arena, const struct al_table *table,
	const struct al_request *request, const struct al_training *training, bool is_whole);
const char *al_memory_summarize_compared(struct al_arena *arena, const struct al_table *table,
	const struct al_recipe *recipe, const struct al_training *training, const char *base);
const char *al_memory_summarize_inference(struct al_arena *arena, const struct al_table *table,
	const struct al_table *bounds, const struct al_request *request,
	const struct al_inference *inference, const struct al_device_options *options);

/* Inference of one model. */
bool al_infer_answer(struct al_session *session, struct al_request *request,
	struct al_error *err) AL_MUST_CHECK;
