/* Reading a module's pieces back from the compressed file. */

#include "compress/layout.h"

/* Where a slice lies in the new tensor, and how long that one's head axis is. */
static int64_t place(const struct al_module_layout *layout, const struct al_slice *slice,
	int64_t *length)
{
	int64_t at = slice->first;

	*length = slice->source ? al_head_axis_of(slice->source, slice->is_slow).length
				: slice->width;
	for (size_t i = 0; slice->source && i < layout->n_slices; i++) {
		const struct al_slice *other = &layout->slices[i];
		if (other->source != slice->source)
			continue;
		*length += other->width - other->length;
		if (other->first < slice->first)
			at += other->width - other->length;
	}
	return at;
}

static bool find_stored(const struct al_module_layout *layout, const struct al_slice *slice,
	const struct al_checkpoint *compressed, const struct al_tensor **out, int64_t *at,
	struct al_error *err)
{
	const char *name = slice->source ? slice->source->name : slice->name;
	const struct al_tensor *found = al_checkpoint_find(compressed, name);
	int64_t length;

	*at = place(layout, slice, &length);
	*out = found;
	if (!found)
		return al_fail(err, AL_EINPUT, "%s: tensor %s is missing", compressed->path, name);
	struct al_head_axis axis = al_head_axis_of(found, slice->is_slow);
	if (found->n_dims > 2 || axis.length != length || axis.outer * axis.inner != slice->rows)
		return al_fail(err, AL_EINPUT,
			"%s: tensor %s has %" PRId64 " x %" PRId64 " numbers, expected %" PRId64
			" x %" PRId64,
			compressed->path, name, axis.length, axis.outer * axis.inner, length,
			slice->rows);
	if (!found->dtype->to_double)
		return al_fail(err, AL_EINPUT,
			"%s: tensor %s has dtype %s, which can't be converted", compressed->path,
			name, al_dtype_title(found->dtype));
	return true;
}

static bool read_slice(const struct al_module_layout *layout, const struct al_slice *slice,
	const struct al_checkpoint *compressed, struct al_matrix out, struct al_error *err)
{
	const struct al_tensor *tensor;
	int64_t at;

	if (!find_stored(layout, slice, compressed, &tensor, &at, err))
		return false;
	struct al_factor_run run = {.tensor = tensor,
		.first = at,
		.width = slice->width,
		.is_slow = slice->is_slow};
	struct al_factor factor = {.runs = &run,
		.n_runs = 1,
		.rows = slice->rows,
		.heads = 1,
		.width = slice->width,
		.stride = slice->width,
		.dtype = tensor->dtype};
	struct al_matrix part = al_part(out, 0, (size_t)slice->column, out.rows,
		(size_t)slice->width);
	return al_factor_read(compressed, &factor, 0, 1, part, err)
		&& (al_factor_check_finite(&factor, al_matrix_count_not_finite(al_view(part)), err)
			|| al_in(err, "%s", compressed->path));
}

bool al_layout_read(const struct al_module_layout *layout, const struct al_checkpoint *compressed,
	enum al_module_piece piece, struct al_matrix *out, struct al_error *err)
{
	const int64_t columns = al_layout_columns(layout, piece);

	*out = (struct al_matrix){0};
	for (size_t i = 0; i < layout->n_slices; i++) {
		const struct al_slice *slice = &layout->slices[i];
		if (slice->piece != piece || slice->width == 0)
			continue;
		if ((!out->data && !al_matrix_init(out, (size_t)slice->rows, (size_t)columns, err))
			|| !read_slice(layout, slice, compressed, *out, err)) {
			al_matrix_finish(out);
			return false;
		}
	}
	return true;
}
