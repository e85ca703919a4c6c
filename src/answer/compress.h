/* Declarations shared by `compress` and `verify`. */
#pragma once

#include "answer/input.h"
#include "answer/checkpoint.h"
#include "compress/compress.h"

enum { AL_VERIFY_TOKENS = 64 };

/* compress's options as they are typed. */
struct al_compress_words {
	struct al_output_options output;
	struct al_layout_options layout;
	const char *file, *method, *ranks, *target_error, *drops, *for_whom, *calibration, *budget,
		*dtype, *imatrix;
	int64_t sweeps, restarts, seed; /* sweeps, restarts 0: not given */
	int measure, side, refit, quality; /* quality -1: not given */
	bool force;
	struct al_input_options input;
	bool leaves_heads; /* set by al_compress_read: `ranks` is what --heads gave */
};

extern const struct al_option_group al_compress_groups[];

/* Reads them, and settles those that follow from others; what the session's arena holds serves
 * `out`. */
bool al_compress_read(struct al_session *session, struct al_compress_words *words,
	struct al_compress_options *out, struct al_error *err) AL_MUST_CHECK;

/* Adds the table of both files' probabilities and outputs. `shown` is the name of the compressed
 * file in the answer. */
bool al_verify_add_table(struct al_session *session, struct al_model_view *view, const char *path,
	const char *shown, const struct al_verify_options *options, bool *holds,
	struct al_error *err) AL_MUST_CHECK;

/* In a sentence, off the session's tables. */
const char *al_compress_summarize(struct al_session *session, enum al_method method,
	bool is_recoded);
/* took_original: the models ran with the original's tensors in place of those that are copies. */
const char *al_verify_summarize(struct al_session *session, const struct al_verify_options *options,
	bool holds, bool took_original);
