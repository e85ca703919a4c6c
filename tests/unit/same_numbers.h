/* Checkpoints of other writers against each other, and files that are refused. */
#pragma once

#include "unit.h"

#include "formats/checkpoint.h"

/* Opens a file of the folder of fixtures. */
static inline void open_fixture(struct al_checkpoint *checkpoint, const char *name)
{
	struct al_error err;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fixtures(), name);
	if (!al_checkpoint_open(checkpoint, path, &err))
		fail_msg("%s", err.message);
}

static inline double *read_numbers(const struct al_checkpoint *checkpoint,
	const struct al_tensor *tensor)
{
	const struct al_selection all = al_select_all(tensor);
	double *numbers = test_calloc((size_t)tensor->n_elements + 1, sizeof(*numbers));
	struct al_error err;

	if (!al_tensor_read_double(checkpoint, tensor, &all, numbers, (size_t)tensor->n_elements,
		    &err))
		fail_msg("%s", err.message);
	return numbers;
}

/* Every tensor of b is one of a, with the same numbers. */
static inline void expect_same_numbers(const struct al_checkpoint *a, const struct al_checkpoint *b,
	double tolerance)
{
	for (size_t i = 0; i < b->n_tensors; i++) {
		const struct al_tensor *t = &b->tensors[i], *s = al_checkpoint_find(a, t->name);
		assert_non_null(s);
		assert_true(s->n_dims == t->n_dims && s->n_elements == t->n_elements);
		double *x = read_numbers(a, s), *y = read_numbers(b, t);
		for (int64_t k = 0; k < s->n_elements; k++)
			assert_true(x[k] - y[k] <= tolerance && y[k] - x[k] <= tolerance);
		test_free(x);
		test_free(y);
	}
}

/* The file is refused in words that hold this part. */
static inline void expect_refusal(const char *path, const char *part)
{
	struct al_checkpoint checkpoint;
	struct al_error err;

	assert_false(al_checkpoint_open(&checkpoint, path, &err));
	assert_int_equal(err.status, AL_EINPUT);
	if (!strstr(err.message, part))
		fail_msg("%s: expected \"%s\"", err.message, part);
}
