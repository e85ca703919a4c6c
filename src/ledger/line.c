/* One line of a block - a tensor, something cached, something saved, a product - under its settings
 * and the basis. */
#include "ledger/block.h"

static const char *const nouns[] = {
	[AL_LIST_TENSORS] = "tensor",
	[AL_LIST_CACHE] = "cache",
	[AL_LIST_ACTIVATIONS] = "activation",
	[AL_LIST_PRODUCTS] = "product",
};

const struct al_entries *al_lines_of(const struct al_block *block, enum al_list list)
{
	const struct al_variant *variant = block->use->variant;

	switch (list) {
	case AL_LIST_TENSORS:
		return &variant->tensors;
	case AL_LIST_CACHE:
		return &variant->cache;
	case AL_LIST_ACTIVATIONS:
		return &variant->activations;
	case AL_LIST_PRODUCTS:
		break;
	}
	return &variant->products;
}

bool al_line_in(const struct al_lines *lines, const struct al_entry *entry, struct al_error *err)
{
	return al_in(err, "%s %s", nouns[lines->list], entry->name);
}

/* ---- what counts ---- */

static bool is_replaceable_output(const struct al_entry *entry)
{
	return entry->role == AL_ROLE_OUTPUT && !entry->is_fixed;
}

static bool is_tensor_wanted(const struct al_basis *basis, const struct al_lines *lines,
	const struct al_entry *entry)
{
	if (entry->kind >= AL_TENSOR_BUFFER && !lines->with_buffers)
		return false;
	if (basis->only_matrices && (entry->shape.n_dims < 2 || entry->kind != AL_TENSOR_WEIGHT))
		return false;
	if (basis->output_projection == AL_OUTPUT_NONE && is_replaceable_output(entry))
		return false;
	return basis->roles >> entry->role & 1;
}

bool al_line_is_wanted(const struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry)
{
	switch (lines->list) {
	case AL_LIST_TENSORS:
		return is_tensor_wanted(block->basis, lines, entry);
	case AL_LIST_ACTIVATIONS:
		return entry->saved == AL_SAVED_ALWAYS
			|| entry->saved == (lines->is_flash ? AL_SAVED_FLASH : AL_SAVED_EAGER);
	case AL_LIST_CACHE:
	case AL_LIST_PRODUCTS:
		break;
	}
	return true;
}

/* ---- shapes ---- */

static void copy_shape(const struct al_shape *shape, struct al_line_shape *out)
{
	for (size_t i = 0; i < shape->n_dims; i++)
		out->dims[i] = shape->dims[i];
	out->n_dims = shape->n_dims;
}

/* [m, k] x [k, n] */
static void join_product(const struct al_entry *entry, struct al_line_shape *out)
{
	out->dims[0] = entry->left.dims[0];
	out->dims[1] = entry->left.dims[1];
	out->dims[2] = entry->right.dims[1];
	out->n_dims = 3;
}

struct al_line_shape al_line_shape_of(const struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry)
{
	struct al_line_shape shape = {.count = entry->count, .active = entry->active};

	if (lines->list == AL_LIST_TENSORS && block->basis->output_projection == AL_OUTPUT_FULL
		&& entry->kind == AL_TENSOR_WEIGHT && is_replaceable_output(entry))
		return (struct al_line_shape){.dims = {block->d_model, block->d_model},
			.n_dims = 2};
	if (lines->list == AL_LIST_PRODUCTS)
		join_product(entry, &shape);
	else
		copy_shape(&entry->shape, &shape);
	return shape;
}

/* ---- evaluation ---- */

static bool check_inner(const struct al_entry *entry, const struct al_scope *scope, int64_t inner,
	struct al_error *err)
{
	int64_t right;

	if (!al_formula_whole(entry->right.dims[0], scope, 1, &right, err))
		return false;
	return right == inner
		|| al_fail(err, AL_EINPUT, "left ends in %s = %lld and right begins with %s = %lld",
			al_formula_source(entry->left.dims[1]), (long long)inner,
			al_formula_source(entry->right.dims[0]), (long long)right);
}

static bool evaluate_counts(const struct al_line_shape *shape, const struct al_scope *scope,
	struct al_ledger_entry *out, struct al_error *err)
{
	out->count = 1;
	if (shape->count && !al_formula_whole(shape->count, scope, 0, &out->count, err))
		return false;
	out->active = out->count;
	if (!shape->active)
		return true;
	if (!al_formula_whole(shape->active, scope, 0, &out->active, err))
		return false;
	return out->active <= out->count
		|| al_fail(err, AL_EINPUT, "%lld are active, expected at most the count, %lld",
			(long long)out->active, (long long)out->count);
}

static bool evaluate_shape(struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry, const struct al_scope *scope, struct al_ledger_entry *out,
	struct al_error *err)
{
	struct al_line_shape shape = al_line_shape_of(block, lines, entry);

	out->n_dims = shape.n_dims;
	for (size_t i = 0; i < shape.n_dims; i++)
		if (!al_formula_whole(shape.dims[i], scope, 1, &out->dims[i], err))
			return false;
	if (lines->list == AL_LIST_PRODUCTS && !check_inner(entry, scope, out->dims[1], err))
		return false;
	return evaluate_counts(&shape, scope, out, err);
}

bool al_line_evaluate(struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry, bool *counts, struct al_ledger_entry *out,
	struct al_error *err)
{
	struct al_scope scope = al_block_scope(block);
	bool is_cached_alone = lines->list == AL_LIST_CACHE && entry->shared == AL_PER_MODULE;

	*counts = al_line_is_wanted(block, lines, entry);
	if (*counts && entry->when && !al_formula_holds(entry->when, &scope, counts, err))
		return al_line_in(lines, entry, err);
	if (!*counts)
		return true;
	out->entry = entry;
	if (!evaluate_shape(block, lines, entry, &scope, out, err))
		return al_line_in(lines, entry, err);
	return is_cached_alone ? al_block_cached_times(block, &out->times, err)
			       : al_block_times(block, entry->shared, &out->times, err);
}

void al_line_elements(mpz_t out, const struct al_ledger_entry *line)
{
	mpz_set_si(out, line->count);
	for (size_t i = 0; i < line->n_dims; i++)
		mpz_mul_si(out, out, line->dims[i]);
}
