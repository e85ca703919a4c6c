/* Declarations shared by the files of the command `memory`. */
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

/* All states, then their total, then the number of parameters. */
enum {
	AL_MEMORY_TOTAL = AL_N_STATES,
	AL_MEMORY_PARAMETERS,
	AL_N_MEMORY_FIGURES,
};

/* What a model, or the attention in it, takes with one of a request's variants. */
struct al_memory_figures {
	mpq_srcptr values[AL_N_MEMORY_FIGURES]; /* NULL: not known, or no such state */
	struct al_undeclared undeclared; /* why something is not known; variant NULL: all is */
	struct al_stage_memory *stage; /* of a model in training: the largest pipeline stage */
	int64_t stage_index;
	bool has_states; /* recurrent ones, which are in that of the cache */
};

/* --explain of attention alone: formula, substitution and result of each number. */
bool al_explain_attention(struct al_session *session, struct al_request *request,
	struct al_error *err) AL_MUST_CHECK;

/* --explain of a model: its parts, the recipe's rules, every tensor that is saved. */
bool al_explain_training(struct al_session *session, struct al_request *request,
	const struct al_training *training, const struct al_memory_figures *figures,
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

/* Speed limits from the data sheet of --device, as a separate table (NULL for a size); a note under
 * the memory table gives whether the model fits. */
bool al_add_bounds(struct al_session *session, struct al_request *request,
	const struct al_inference *inference, const struct al_inference_row *total,
	mpq_srcptr weights, struct al_table *memory, const struct al_table **out,
	struct al_error *err) AL_MUST_CHECK;

/* In a sentence: one request by state, several compared with the variant `base` (NULL: the first).
 * `training` and `inference` are of a whole model, NULL: attention alone, or the other is asked
 * for; `bounds` NULL: no device. */
struct al_memory_told {
	const struct al_memory_options *options;
	const struct al_request *request; /* of several the last */
	const struct al_training *training;
	const struct al_inference *inference;
	const struct al_table *table, *bounds;
	bool has_contexts, has_formats; /* several models, each at a context, in formats of its own
					 */
};
const char *al_memory_summarize(struct al_arena *arena, const struct al_memory_told *told);
const char *al_memory_summarize_compared(struct al_arena *arena, const struct al_memory_told *told,
	const char *base);

/* Inference of one model with one variant, by state. */
bool al_infer_answer(struct al_session *session, struct al_request *request,
	struct al_inference *inference, struct al_error *err) AL_MUST_CHECK;

/* The same with figures: of the whole model if its parts are known, otherwise of its attention. */
bool al_infer_measure(struct al_request *request, const struct al_configured_variant *configured,
	struct al_inference *inference, struct al_memory_figures *out,
	struct al_error *err) AL_MUST_CHECK;
bool al_infer_measure_attention(struct al_request *request,
	const struct al_configured_variant *configured, const struct al_device_options *options,
	struct al_memory_figures *out, struct al_error *err) AL_MUST_CHECK;
void al_infer_note(struct al_request *request, const struct al_inference *inference,
	const struct al_memory_options *options, struct al_table *table);
