/* A module's tensors as a checkpoint stores them. */
#include "catalog/stored.h"

/* The standard base of rotary embeddings; Su et al. 2021, arXiv:2104.09864, section 3.2.2. */
enum { ROTARY_BASE = 10000 };

/* The module in whose symbols the formulas are read: what the family sets in it comes before the
 * model's settings, and they before the variant's own options. */
struct reading {
	struct al_arena *arena;
	const struct al_model_item *module;
	struct al_settings settings;
	struct al_iteration iteration;
	struct al_scope scope;
};

static void open_scope(struct reading *r, struct al_catalog *catalog,
	const struct al_settings *settings)
{
	const struct al_model_item *module = r->module;
	const struct al_variant *variant = module->variant;

	al_settings_init(&r->settings, catalog);
	for (size_t i = 0; i < variant->n_options; i++)
		al_settings_set(&r->settings, variant->options[i].name, variant->options[i].is_on,
			variant->name);
	al_settings_merge(&r->settings, settings);
	for (size_t i = 0; i < module->n_with; i++)
		al_settings_set(&r->settings, module->with[i].symbol, module->with[i].value,
			module->name);
	r->iteration = al_iteration_of(&module->module->loops, module->iteration, &r->settings);
	r->scope = al_iteration_scope(&r->iteration);
}

static bool holds(struct reading *r, const struct al_formula *when, bool *out, struct al_error *err)
{
	*out = true;
	return !when || al_formula_holds(when, &r->scope, out, err);
}

/* ---- the variant's tensors ---- */

/* The tensor of that name which exists here; NULL where none does. */
static bool find_entry(struct reading *r, const char *name, const struct al_entry **out,
	struct al_error *err)
{
	const struct al_entries *tensors = &r->module->variant->tensors;

	*out = NULL;
	for (size_t i = 0; i < tensors->n; i++) {
		bool is_there;
		if (strcmp(tensors->items[i].name, name) != 0)
			continue;
		if (!holds(r, tensors->items[i].when, &is_there, err))
			return false;
		if (is_there)
			*out = &tensors->items[i];
	}
	return true;
}

static bool read_dims(struct reading *r, const struct al_entry *entry, int64_t *dims,
	struct al_error *err)
{
	for (size_t i = 0; i < entry->shape.n_dims; i++)
		if (!al_formula_whole(entry->shape.dims[i], &r->scope, 1, &dims[i], err))
			return false;
	return true;
}

static bool read_head_width(struct reading *r, struct al_stored_part *part, struct al_error *err)
{
	const struct al_formula *width = part->entry ? part->entry->head_width : NULL;

	return !width || al_formula_whole(width, &r->scope, 1, &part->head_width, err);
}

/* [in, out], or [out] of a bias: the output axis is the last. */
static int64_t output_width(const struct al_entry *entry, const int64_t *dims)
{
	return dims[entry->shape.n_dims - 1];
}

/* ---- stored tensors ---- */

static void set_shape(struct al_stored_tensor *out, size_t n_dims, const int64_t *dims)
{
	bool is_turned = n_dims == 2 && out->stored->order == AL_ORDER_OUT_IN;

	out->n_dims = n_dims;
	for (size_t i = 0; i < n_dims; i++)
		out->dims[i] = dims[is_turned ? n_dims - 1 - i : i];
	if (out->stored->is_depthwise && n_dims == 2) {
		out->dims[2] = out->dims[1];
		out->dims[1] = 1;
		out->n_dims = 3;
	}
}

/* The output projection, [heads * width, out], has its heads along the first axis. */
static bool cut_heads(struct reading *r, struct al_stored_tensor *out, const struct al_entry *entry,
	struct al_error *err)
{
	const bool is_input = entry->factor == AL_FACTOR_OUTPUT && out->n_dims == 2;

	if (!out->stored->heads)
		return true;
	if (!al_formula_whole(out->stored->heads, &r->scope, 1, &out->heads, err))
		return false;
	if (out->stored->is_apart && (is_input || out->n_dims != 2))
		return al_fail(err, AL_EINPUT, "only factors of heads can be one matrix per head");
	out->heads_are_first = out->n_dims < 2
		|| (out->stored->order == AL_ORDER_OUT_IN) != is_input;
	const int64_t axis = out->dims[out->heads_are_first ? 0 : out->n_dims - 1];
	return axis % out->heads == 0
		|| al_fail(err, AL_EINPUT, "%lld heads do not divide its %lld columns",
			(long long)out->heads, (long long)axis);
}

size_t al_stored_shape(const struct al_stored_tensor *tensor, int64_t shape[AL_SHAPE_DIMS + 1])
{
	const size_t cut = tensor->heads_are_first ? 0 : tensor->n_dims - 1;
	size_t n = 0;

	if (tensor->stored && tensor->stored->is_apart) {
		shape[n++] = tensor->heads;
		shape[n++] = tensor->dims[0];
		shape[n++] = tensor->dims[1] / tensor->heads;
		return n;
	}
	for (size_t i = 0; i < tensor->n_dims; i++) {
		const bool is_cut = tensor->heads > 0 && i == cut;
		if (is_cut)
			shape[n++] = tensor->heads;
		shape[n++] = is_cut ? tensor->dims[i] / tensor->heads : tensor->dims[i];
	}
	return n;
}

static bool read_one(struct reading *r, struct al_stored_tensor *out, bool *is_there,
	struct al_error *err)
{
	int64_t dims[AL_SHAPE_DIMS];
	const struct al_entry *entry;

	if (!find_entry(r, out->stored->is, &entry, err))
		return false;
	*is_there = entry != NULL;
	if (!entry)
		return true;
	if (!read_dims(r, entry, dims, err))
		return false;
	out->repeat = 1;
	out->n_parts = 1;
	out->parts = al_new(r->arena, struct al_stored_part);
	*out->parts = (struct al_stored_part){entry, output_width(entry, dims), 0};
	set_shape(out, entry->shape.n_dims, dims);
	return cut_heads(r, out, entry, err) && read_head_width(r, out->parts, err);
}

/* How wide all runs of one tensor are together. */
static int64_t sum_runs(const struct al_stored_tensor *tensor, const struct al_entry *entry)
{
	int64_t sum = 0;

	for (size_t i = 0; i < tensor->n_parts; i++)
		if (tensor->parts[i].entry == entry)
			sum += tensor->repeat * tensor->parts[i].width;
	return sum;
}

/* The parts make up the variant's tensors and have one input; `dims` becomes the fused shape. */
static bool join_parts(struct reading *r, const struct al_stored_tensor *tensor, int64_t *dims,
	struct al_error *err)
{
	size_t n_dims = tensor->parts[0].entry->shape.n_dims;
	int64_t total = 0;

	for (size_t i = 0; i < tensor->n_parts; i++) {
		const struct al_entry *entry = tensor->parts[i].entry;
		int64_t own[AL_SHAPE_DIMS];
		if (!read_dims(r, entry, own, err))
			return false;
		if (sum_runs(tensor, entry) != output_width(entry, own))
			return al_fail(err, AL_EINPUT,
				"the blocks of %s are %lld wide, expected %lld", entry->name,
				(long long)sum_runs(tensor, entry),
				(long long)output_width(entry, own));
		if (i == 0)
			memcpy(dims, own, sizeof(own));
		if (entry->shape.n_dims != n_dims || (n_dims > 1 && own[0] != dims[0]))
			return al_fail(err, AL_EINPUT, "%s and %s have different inputs",
				tensor->parts[0].entry->name, entry->name);
		total += tensor->repeat * tensor->parts[i].width;
	}
	dims[n_dims - 1] = total;
	return true;
}

static bool read_parts(struct reading *r, struct al_stored_tensor *out, size_t *n_there,
	struct al_error *err)
{
	const struct al_stored *stored = out->stored;

	*n_there = 0;
	out->n_parts = stored->n_parts;
	out->parts = al_new_array(r->arena, struct al_stored_part, stored->n_parts);
	for (size_t i = 0; i < stored->n_parts; i++) {
		struct al_stored_part *part = &out->parts[i];
		if (!find_entry(r, stored->parts[i].tensor, &part->entry, err)
			|| !al_formula_whole(stored->parts[i].width, &r->scope, 1, &part->width,
				err)
			|| !read_head_width(r, part, err))
			return false;
		*n_there += part->entry != NULL;
	}
	return true;
}

static bool read_fused(struct reading *r, struct al_stored_tensor *out, bool *is_there,
	struct al_error *err)
{
	int64_t dims[AL_SHAPE_DIMS];
	size_t n_there;

	if (!al_formula_whole(out->stored->repeat, &r->scope, 1, &out->repeat, err)
		|| !read_parts(r, out, &n_there, err))
		return false;
	*is_there = n_there > 0;
	if (n_there == 0)
		return true;
	if (n_there < out->n_parts)
		return al_fail(err, AL_EINPUT,
			"fused tensor: %zu of its %zu parts exist, expected all or none", n_there,
			out->n_parts);
	if (!join_parts(r, out, dims, err))
		return false;
	set_shape(out, out->parts[0].entry->shape.n_dims, dims);
	return true;
}

static bool read_tensor(struct reading *r, const struct al_stored *stored,
	struct al_stored_tensor *out, bool *is_there, struct al_error *err)
{
	*out = (struct al_stored_tensor){.stored = stored};
	if (!holds(r, stored->when, is_there, err))
		return false;
	if (!*is_there)
		return true;
	out->name = al_iteration_name(&r->iteration, r->arena, stored->name);
	if (stored->scale)
		out->scale = al_iteration_name(&r->iteration, r->arena, stored->scale);
	return (stored->is ? read_one(r, out, is_there, err) : read_fused(r, out, is_there, err))
		|| al_in(err, "%s", out->name);
}

static bool read_tensors(struct reading *r, struct al_stored_module *out, struct al_error *err)
{
	const struct al_family_module *module = r->module->module;
	bool is_there;

	out->tensors = al_new_array(r->arena, struct al_stored_tensor, module->n_stored);
	for (size_t i = 0; i < module->n_stored; i++) {
		if (!read_tensor(r, &module->stored[i], &out->tensors[out->n_tensors], &is_there,
			    err))
			return false;
		out->n_tensors += is_there;
	}
	return true;
}

/* ---- rotary embeddings ---- */

static bool read_symbol(struct reading *r, const char *symbol, int64_t *out, struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&r->settings, symbol, &setting, err))
		return false;
	if (!setting)
		return al_fail(err, AL_EUNSET, "%s is not set", symbol);
	*out = setting->value.integer;
	return true;
}

static bool read_rotary(struct reading *r, struct al_stored_module *out, struct al_error *err)
{
	const struct al_family_module *module = r->module->module;
	const struct al_rotary *rotary = &module->rotary;
	int64_t d_head = 0;

	out->is_rotary = module->is_rotary;
	if (out->is_rotary && !holds(r, rotary->when, &out->is_rotary, err))
		return false;
	if (!out->is_rotary)
		return true;
	if (!read_symbol(r, "d_head", &d_head, err))
		return false;
	out->rotary_pairs = rotary->pairs;
	out->rotary_width = d_head;
	out->rotary_base = ROTARY_BASE;
	if (!holds(r, rotary->scaled, &out->is_scaled, err))
		return false;
	if ((rotary->width
		    && !al_formula_whole(rotary->width, &r->scope, 0, &out->rotary_width, err))
		|| (rotary->base
			&& !al_formula_whole(rotary->base, &r->scope, 1, &out->rotary_base, err)))
		return false;
	return out->rotary_width <= d_head
		|| al_fail(err, AL_EINPUT,
			"%lld dimensions of a head are rotated, but d_head is %lld",
			(long long)out->rotary_width, (long long)d_head);
}

static bool read_divisor(struct reading *r, struct al_stored_module *out, struct al_error *err)
{
	const struct al_formula *divisor = r->module->module->score_divisor;

	return !divisor || al_formula_whole(divisor, &r->scope, 1, &out->score_divisor, err)
		|| al_in(err, "\"score_divisor\"");
}

bool al_stored_module_read(struct al_stored_module *out, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_model_item *module,
	const struct al_settings *settings, struct al_error *err)
{
	struct reading r = {.arena = arena, .module = module};

	*out = (struct al_stored_module){0};
	open_scope(&r, catalog, settings);
	bool ok = (read_tensors(&r, out, err) && read_rotary(&r, out, err)
			  && read_divisor(&r, out, err))
		|| al_in(err, "%s", module->name);
	al_settings_finish(&r.settings);
	return ok;
}
