/* Reconciling: the family's expected tensors against the stored ones, name by name. */
#include "model/heads/reconcile.h"

#include "model/heads/internal.h"

const char *const al_difference_names[AL_N_DIFFERENCES] = {
	[AL_DIFFERENCE_NONE] = "none",
	[AL_DIFFERENCE_MISSING] = "missing",
	[AL_DIFFERENCE_SHAPE] = "wrong shape",
	[AL_DIFFERENCE_UNEXPECTED] = "unexpected",
	[AL_DIFFERENCE_TIED] = "tied but stored",
	[AL_DIFFERENCE_BUFFER] = "buffer",
	[AL_DIFFERENCE_ABSENT] = "absent (optional)",
};

bool al_difference_is_fault(enum al_difference difference)
{
	return difference == AL_DIFFERENCE_MISSING || difference == AL_DIFFERENCE_SHAPE
		|| difference == AL_DIFFERENCE_UNEXPECTED;
}

struct reconciling {
	struct al_model_view *view;
	struct al_reconciled *entries;
	size_t n, room;
	bool *is_known; /* [n_tensors] of the checkpoint */
	bool has_extras; /* what is stored in addition to the model, or some of it */
};

/* The findings about an expected tensor. */
struct expectation {
	const char *name, *part;
	const int64_t *dims;
	size_t n_dims;
	int64_t packed; /* numbers in a stored element */
	bool is_parameter, is_buffer, is_tied, is_optional;
};

/* A vector may be stored with dimensions of 1 around it, [1, 1, n, 1], one of one number as a
 * scalar. */
static bool is_vector(const struct al_tensor *found, int64_t length)
{
	bool is_there = length == 1;

	for (size_t i = 0; i < found->n_dims; i++)
		is_there |= found->shape[i] == length;
	return is_there && found->n_elements == length;
}

static bool has_shape(const struct al_tensor *found, const struct expectation *e)
{
	return e->n_dims == 1 ? is_vector(found, e->dims[0])
			      : al_tensor_is_shaped(found, e->dims, e->n_dims);
}

static enum al_difference judge(const struct al_tensor *found, const struct expectation *e)
{
	if (!found)
		return e->is_buffer || e->is_tied || e->is_optional ? AL_DIFFERENCE_ABSENT
								    : AL_DIFFERENCE_MISSING;
	if (!has_shape(found, e))
		return AL_DIFFERENCE_SHAPE;
	if (e->is_tied)
		return AL_DIFFERENCE_TIED;
	return e->is_buffer ? AL_DIFFERENCE_BUFFER : AL_DIFFERENCE_NONE;
}

static struct al_reconciled *add_entry(struct reconciling *r)
{
	r->entries = al_grow(&r->view->arena, r->entries, r->n, &r->room, sizeof(*r->entries));
	r->entries[r->n] = (struct al_reconciled){0};
	return &r->entries[r->n++];
}

static bool count_numbers(const int64_t *dims, size_t n_dims, int64_t packed, int64_t *out,
	struct al_error *err)
{
	return al_multiply_dims(packed, dims, n_dims, out)
		|| al_fail(err, AL_EINPUT, "more than 2^63 numbers are expected");
}

static bool count_parameters(struct al_reconciled *entry, const struct expectation *e,
	struct al_error *err)
{
	const struct al_tensor *found = entry->found;

	if (!e->is_parameter)
		return true;
	return count_numbers(e->dims, e->n_dims, e->packed, &entry->n_expected_parameters, err)
		&& (!found
			|| count_numbers(found->shape, found->n_dims, e->packed,
				&entry->n_found_parameters, err));
}

static bool expect(struct reconciling *r, const struct expectation *e, struct al_error *err)
{
	struct al_arena *arena = &r->view->arena;
	struct al_reconciled *entry = add_entry(r);
	int64_t *dims = al_new_array(arena, int64_t, e->n_dims + 1);

	memcpy(dims, e->dims, e->n_dims * sizeof(*dims));
	entry->part = e->part;
	entry->expected = dims;
	entry->n_expected = e->n_dims;
	entry->found = al_model_view_find(r->view, e->name);
	entry->name = entry->found ? entry->found->name
				   : al_format(arena, "%s%s", r->view->prefix, e->name);
	entry->difference = judge(entry->found, e);
	if (entry->found)
		r->is_known[entry->found - r->view->checkpoint->tensors] = true;
	return count_parameters(entry, e, err) || al_in(err, "%s", entry->name);
}

/* "a.experts.gate_up_proj" as "a.experts.0.gate_proj.weight" */
static const char *name_apart(struct reconciling *r, const struct expectation *e, const char *each,
	int64_t index)
{
	const char *dot = strrchr(e->name, '.');
	const char *last = al_name_fill_loop(&r->view->arena, each, "expert", index, 0);

	return al_format(&r->view->arena, "%.*s%s", dot ? (int)(dot + 1 - e->name) : 0, e->name,
		last);
}

/* A stacked tensor of which each matrix, or each of its parts, is stored by itself: no more of them
 * than the checkpoint has tensors. */
static bool is_apart(struct reconciling *r, const struct al_family_tensor *tensor,
	const struct expectation *e)
{
	return tensor->n_each > 0 && e->n_dims > 1
		&& e->dims[0] <= (int64_t)r->view->checkpoint->n_tensors
		&& !al_model_view_find(r->view, e->name)
		&& al_model_view_find(r->view, name_apart(r, e, tensor->each[0], 0));
}

static bool expect_apart(struct reconciling *r, const struct al_family_tensor *tensor,
	const struct expectation *stacked, struct al_error *err)
{
	int64_t dims[AL_STORED_DIMS];
	struct expectation e = *stacked;

	memcpy(dims, stacked->dims + 1, (stacked->n_dims - 1) * sizeof(*dims));
	dims[0] /= (int64_t)tensor->n_each;
	e.dims = dims;
	e.n_dims--;
	for (int64_t i = 0; i < stacked->dims[0]; i++)
		for (size_t j = 0; j < tensor->n_each; j++) {
			e.name = name_apart(r, stacked, tensor->each[j], i);
			if (!expect(r, &e, err))
				return false;
		}
	return true;
}

static bool expect_tensors(struct reconciling *r, struct al_error *err)
{
	const struct al_tensor_list *tensor_list = &r->view->tensor_list;

	for (size_t i = 0; i < tensor_list->n_tensors; i++) {
		const struct al_model_item *tensor = &tensor_list->tensors[i];
		const struct al_family_tensor *family = tensor->tensor;
		int64_t dims[AL_STORED_DIMS];
		size_t n_dims = al_model_tensor_shape(tensor, dims);
		const struct expectation e = {
			.name = tensor->name,
			.part = tensor->extra ? tensor->extra : al_part_names[family->part],
			.dims = dims,
			.n_dims = n_dims,
			.packed = family->packed,
			.is_parameter = al_model_tensor_is_parameter(tensor),
			.is_buffer = family->entry.kind == AL_TENSOR_BUFFER,
			.is_tied = family->tied_to != NULL,
			.is_optional = family->is_optional || (tensor->extra && !r->has_extras),
		};
		if (!(is_apart(r, family, &e) ? expect_apart(r, family, &e, err)
					      : expect(r, &e, err)))
			return false;
	}
	return true;
}

static bool expect_module(struct reconciling *r, const struct al_model_item *module,
	struct al_error *err)
{
	struct al_stored_module stored;

	if (!al_stored_module_read(&stored, &r->view->arena, r->view->catalog, module,
		    &r->view->settings, err))
		return false;
	for (size_t i = 0; i < stored.n_tensors; i++) {
		const struct al_stored_tensor *tensor = &stored.tensors[i];
		int64_t shape[AL_SHAPE_DIMS + 1];
		const size_t n_dims = al_stored_shape(tensor, shape);
		bool is_buffer = tensor->n_parts
			&& tensor->parts[0].entry->kind == AL_TENSOR_BUFFER;
		const struct expectation e = {
			.name = tensor->name,
			.part = module->extra ? module->extra : "attention",
			.dims = shape,
			.n_dims = n_dims,
			.packed = 1,
			.is_parameter = !is_buffer && !module->extra,
			.is_buffer = is_buffer,
			.is_optional = tensor->stored->is_optional
				|| (module->extra && !r->has_extras),
		};
		if (!expect(r, &e, err))
			return false;
	}
	return true;
}

/* A checkpoint may lack all that is stored in addition to the model. */
static bool has_extras(const struct al_model_view *view)
{
	const struct al_tensor_list *list = &view->tensor_list;

	for (size_t i = 0; i < list->n_tensors; i++)
		if (list->tensors[i].extra && !list->tensors[i].tensor->tied_to
			&& al_model_view_find(view, list->tensors[i].name))
			return true;
	return false;
}

bool al_reconcile(struct al_model_view *view, struct al_reconciled **entries, size_t *n,
	struct al_error *err)
{
	struct al_checkpoint *checkpoint = view->checkpoint;
	struct reconciling r = {.view = view,
		.is_known = al_new_array(&view->arena, bool, checkpoint->n_tensors + 1),
		.has_extras = has_extras(view)};

	if (!expect_tensors(&r, err))
		return false;
	for (size_t i = 0; i < view->tensor_list.n_modules; i++)
		if (!expect_module(&r, &view->tensor_list.modules[i], err))
			return false;
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		if (r.is_known[i])
			continue;
		struct al_reconciled *entry = add_entry(&r);
		entry->name = checkpoint->tensors[i].name;
		entry->found = &checkpoint->tensors[i];
		entry->difference = AL_DIFFERENCE_UNEXPECTED;
		entry->n_found_parameters = entry->found->n_elements;
	}
	*entries = r.entries;
	*n = r.n;
	return true;
}
