/* The gate for numbers: what is read as weights is counted for NaN and infinite numbers before
 * anything is computed with it. */
#pragma once

#include "base/table.h"
#include "formats/checkpoint.h"

/* Fails with AL_ENOTFINITE where n_not_finite of a tensor's n numbers are NaN or infinite. */
bool al_check_not_finite(int64_t n_not_finite, int64_t n, const char *tensor,
	struct al_error *err) AL_MUST_CHECK;

/* How many of n numbers are NaN or infinite. */
int64_t al_count_not_finite(const double *numbers, size_t n);

/* AL_ENOTFINITE, with the count and the tensor's name, where there are any. */
bool al_tensor_check_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_error *err) AL_MUST_CHECK;

/* Reads a whole tensor into out[n_elements]; AL_ENOTFINITE as above. */
bool al_tensor_read_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	double *out, struct al_error *err) AL_MUST_CHECK;

/* Of every tensor for which is_counted [n_tensors] is true (NULL: all), how many numbers are NaN or
 * infinite, into counts [n_tensors]; the others are left alone. */
bool al_checkpoint_count_not_finite(const struct al_checkpoint *checkpoint, const bool *is_counted,
	int64_t *counts, struct al_error *err) AL_MUST_CHECK;

/* Notes the tensors that hold so many: the first few by name, of the others how many they are. */
void al_checkpoint_note_counts(const struct al_checkpoint *checkpoint, const int64_t *counts,
	struct al_table *table);

/* Counts and notes. */
bool al_checkpoint_note_not_finite(const struct al_checkpoint *checkpoint, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;
