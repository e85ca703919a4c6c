/* The gate for numbers. */
#include "formats/finite.h"

enum { NUMBERS_AT_ONCE = 32 * 1024, MOST_NAMES = 3 };

bool al_check_not_finite(int64_t n_not_finite, int64_t n, const char *tensor, struct al_error *err)
{
	return n_not_finite == 0
		|| al_fail(err, AL_ENOTFINITE,
			"%" PRId64 " of %" PRId64 " numbers of %s are NaN or infinite",
			n_not_finite, n, tensor);
}

int64_t al_count_not_finite(const double *numbers, size_t n)
{
	int64_t n_not_finite = 0;

	for (size_t i = 0; i < n; i++)
		n_not_finite += isfinite(numbers[i]) ? 0 : 1;
	return n_not_finite;
}

/* How many of a tensor's numbers are NaN or infinite, read in blocks; 0 where its number format has
 * no conversion. */
static bool tensor_count_not_finite(const struct al_checkpoint *checkpoint,
	const struct al_tensor *tensor, int64_t *n, struct al_error *err)
{
	AL_FREED double *numbers = al_alloc(NUMBERS_AT_ONCE, sizeof(*numbers));

	*n = 0;
	for (int64_t first = 0; tensor->dtype->to_double && first < tensor->n_elements;
		first += NUMBERS_AT_ONCE) {
		const int64_t left = tensor->n_elements - first;
		const struct al_selection block = {.first = first,
			.n_runs = 1,
			.run = left < NUMBERS_AT_ONCE ? left : NUMBERS_AT_ONCE};
		if (!al_tensor_read_double(checkpoint, tensor, &block, numbers, NUMBERS_AT_ONCE,
			    err))
			return false;
		*n += al_count_not_finite(numbers, (size_t)block.run);
	}
	return true;
}

bool al_tensor_check_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_error *err)
{
	int64_t n;

	return tensor_count_not_finite(checkpoint, tensor, &n, err)
		&& al_check_not_finite(n, tensor->n_elements, tensor->name, err);
}

bool al_tensor_read_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	double *out, struct al_error *err)
{
	const struct al_selection all = al_select_all(tensor);
	const size_t n = (size_t)tensor->n_elements;

	return al_tensor_read_double(checkpoint, tensor, &all, out, n, err)
		&& al_check_not_finite(al_count_not_finite(out, n), tensor->n_elements,
			tensor->name, err);
}

bool al_checkpoint_count_not_finite(const struct al_checkpoint *checkpoint, const bool *is_counted,
	int64_t *counts, struct al_error *err)
{
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if ((!is_counted || is_counted[i])
			&& !tensor_count_not_finite(checkpoint, &checkpoint->tensors[i], &counts[i],
				err))
			return false;
	return true;
}

void al_checkpoint_note_counts(const struct al_checkpoint *checkpoint, const int64_t *counts,
	struct al_table *table)
{
	size_t n_tensors = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (counts[i] > 0 && n_tensors++ < MOST_NAMES)
			al_table_note(table,
				"%s: %" PRId64 " of %" PRId64 " numbers of %s are NaN or infinite",
				checkpoint->path, counts[i], checkpoint->tensors[i].n_elements,
				checkpoint->tensors[i].name);
	if (n_tensors > MOST_NAMES)
		al_table_note(table, "%s: NaN or infinite numbers in %zu tensors more",
			checkpoint->path, n_tensors - MOST_NAMES);
}

bool al_checkpoint_note_not_finite(const struct al_checkpoint *checkpoint, struct al_table *table,
	struct al_error *err)
{
	AL_FREED int64_t *counts = al_calloc(checkpoint->n_tensors + 1, sizeof(*counts));

	if (!al_checkpoint_count_not_finite(checkpoint, NULL, counts, err))
		return false;
	al_checkpoint_note_counts(checkpoint, counts, table);
	return true;
}
