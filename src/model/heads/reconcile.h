/* Reconciling: what a checkpoint should contain by its family, against what it contains. */
#pragma once

#include "model/heads/views.h"

enum al_difference {
	AL_DIFFERENCE_NONE,
	AL_DIFFERENCE_MISSING,
	AL_DIFFERENCE_SHAPE,
	AL_DIFFERENCE_UNEXPECTED,
	AL_DIFFERENCE_TIED, /* stored though it is another tensor's numbers: no fault */
	AL_DIFFERENCE_BUFFER, /* stored, not trained: no fault */
	AL_DIFFERENCE_ABSENT, /* optional, tied or a buffer, and not stored: no fault */
	AL_N_DIFFERENCES,
};
extern const char *const al_difference_names[AL_N_DIFFERENCES];

struct al_reconciled {
	const char *name; /* as stored, or after the prefix of the attention tensors */
	const char *part; /* "attention"; NULL of an unexpected tensor */
	const int64_t *expected; /* [n_expected]; NULL: not expected */
	size_t n_expected;
	const struct al_tensor *found; /* or NULL */
	enum al_difference difference;
	/* 0 of buffers, scales, tied tensors and what isn't part of the model; all numbers of an
	 * unexpected tensor */
	int64_t n_expected_parameters, n_found_parameters;
};

/* The family's tensors in its order, then those that it doesn't know; `entries` in the view's
 * arena. */
bool al_reconcile(struct al_model_view *view, struct al_reconciled **entries, size_t *n,
	struct al_error *err) AL_MUST_CHECK;

/* Is it a fault: missing, another shape, unexpected? */
bool al_difference_is_fault(enum al_difference difference);
