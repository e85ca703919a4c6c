/* Flax: a family's tensors as Flax names and lays them.
 *
 * What transformers calls encoder.layer.0.output.dense.weight, [out, in], its Flax model calls
 * encoder/layer/0/output/dense/kernel, [in, out]; an embedding's weight is "embedding", a norm's
 * "scale" (of an RMS norm still "weight"), and a convolution's [out, in, height, width] is [height,
 * width, in, out] (transformers, modeling_flax_pytorch_utils.py). Files have "/" or "." between the
 * names. A family whose file already has names with "/" is one of Flax's own. */
#include "catalog/flax.h"

#include <string.h>

#include "base/text.h"

struct spelling {
	struct al_arena *arena;
	char separator;
	bool is_own; /* the family's names are Flax's already */
};

static bool is_weight(const char *name)
{
	return al_ends_with(name, ".weight");
}

/* The name with its separators, and `ending` in place of ".weight"; NULL: none. */
static const char *spell(const struct spelling *s, const char *name, const char *ending)
{
	const bool is_ended = ending && is_weight(name);
	const size_t length = strlen(name) - (is_ended ? strlen("weight") : 0);
	char *spelled = al_format(s->arena, "%.*s%s", (int)length, name, is_ended ? ending : "");

	for (char *p = spelled; *p; p++)
		if (*p == '.' || *p == '/')
			*p = s->separator;
	return spelled;
}

static enum al_order turned(enum al_order order)
{
	return order == AL_ORDER_OUT_IN ? AL_ORDER_IN_OUT : AL_ORDER_OUT_IN;
}

/* ---- attention modules ---- */

static const struct al_entry *find_entry(const struct al_variant *variant, const char *name)
{
	for (size_t i = 0; i < variant->tensors.n; i++)
		if (strcmp(variant->tensors.items[i].name, name) == 0)
			return &variant->tensors.items[i];
	return NULL;
}

static void spell_stored(const struct spelling *s, const struct al_variant *variant,
	struct al_stored *stored)
{
	const struct al_entry *entry = find_entry(variant,
		stored->is ? stored->is : stored->parts[0].tensor);
	const bool is_matrix = entry && entry->kind == AL_TENSOR_WEIGHT && entry->shape.n_dims == 2;

	if (!s->is_own && is_matrix && is_weight(stored->name))
		stored->order = turned(stored->order);
	stored->name = spell(s, stored->name, s->is_own ? NULL : is_matrix ? "kernel" : "scale");
}

static bool spell_module(const struct spelling *s, struct al_catalog *catalog,
	struct al_family_module *module, struct al_error *err)
{
	const struct al_stored *stored = module->stored;
	const struct al_variant *variant;

	if (!al_catalog_variant(catalog, module->variant, &variant, err))
		return false;
	module->stored = al_new_array(s->arena, struct al_stored, module->n_stored);
	for (size_t i = 0; i < module->n_stored; i++) {
		module->stored[i] = stored[i];
		spell_stored(s, variant, &module->stored[i]);
	}
	return true;
}

/* ---- other tensors ---- */

static bool is_embedding(const struct al_family_tensor *tensor)
{
	return tensor->role == AL_FEED_NONE
		&& (tensor->part == AL_PART_EMBEDDING || tensor->part == AL_PART_ATTENTION);
}

static const char *ending_of(const struct al_family_tensor *tensor)
{
	const struct al_entry *entry = &tensor->entry;

	if (entry->kind == AL_TENSOR_NORM || entry->shape.n_dims < 2)
		return "scale";
	return entry->shape.n_dims == 2 && is_embedding(tensor) ? "embedding" : "kernel";
}

/* [out, in, ...] -> [..., in, out] */
static void turn(const struct spelling *s, struct al_family_tensor *tensor)
{
	struct al_shape *shape = &tensor->entry.shape;
	const size_t n = shape->n_dims;
	const struct al_formula **dims = al_new_array(s->arena, const struct al_formula *, n);

	for (size_t i = 0; i + 2 < n; i++)
		dims[i] = shape->dims[i + 2];
	dims[n - 2] = shape->dims[1];
	dims[n - 1] = shape->dims[0];
	shape->dims = dims;
	tensor->order = turned(tensor->order);
}

static void spell_tensor(const struct spelling *s, const struct al_family *family,
	struct al_family_tensor *tensor)
{
	const char *ending = s->is_own ? NULL : ending_of(tensor), *tied_to = tensor->tied_to;

	if (ending && strcmp(ending, "kernel") == 0 && is_weight(tensor->entry.name))
		turn(s, tensor);
	tensor->entry.name = spell(s, tensor->entry.name, ending);
	for (size_t i = 0; tied_to && i < family->n_tensors; i++)
		if (strcmp(family->tensors[i].entry.name, tied_to) == 0)
			tensor->tied_to = spell(s, tied_to,
				s->is_own ? NULL : ending_of(&family->tensors[i]));
}

/* ---- the forward pass ---- */

/* The new name of one of the family's tensors. */
static const char *renamed(const struct al_family *from, const struct al_family *to,
	const char *name)
{
	for (size_t i = 0; name && i < from->n_tensors; i++)
		if (strcmp(from->tensors[i].entry.name, name) == 0)
			return to->tensors[i].entry.name;
	for (size_t i = 0; name && i < from->n_modules; i++)
		for (size_t j = 0; j < from->modules[i].n_stored; j++)
			if (strcmp(from->modules[i].stored[j].name, name) == 0)
				return to->modules[i].stored[j].name;
	return name;
}

static void spell_forward(const struct spelling *s, const struct al_family *from,
	struct al_family *to)
{
	struct al_forward *forward = al_new(s->arena, struct al_forward);

	if (!from->forward)
		return;
	*forward = *from->forward;
	for (int i = 0; i < AL_N_FORWARD_TENSORS; i++) {
		struct al_forward_names *names = &forward->tensors[i];
		names->weight = renamed(from, to, names->weight);
		names->bias = renamed(from, to, names->bias);
		names->otherwise = renamed(from, to, names->otherwise);
	}
	to->forward = forward;
}

/* ---- families ---- */

static void spell_prefixes(const struct spelling *s, const struct al_family *from,
	struct al_family *to)
{
	to->prefixes = al_new_array(s->arena, const char *, from->n_prefixes);
	for (size_t i = 0; i < from->n_prefixes; i++)
		to->prefixes[i] = spell(s, from->prefixes[i], NULL);
}

/* Norms whose scale is called weight as in torch. */
static void add_endings(const struct spelling *s, struct al_family *to)
{
	to->n_old_endings = s->is_own ? 0 : 2;
	to->old_endings = al_new_array(s->arena, const char *, 2);
	to->old_endings[0] = spell(s, "/scale", NULL);
	to->old_endings[1] = spell(s, "/weight", NULL);
}

static bool is_own(const struct al_family *family)
{
	for (size_t i = 0; i < family->n_modules; i++)
		for (size_t j = 0; j < family->modules[i].n_stored; j++)
			if (strchr(family->modules[i].stored[j].name, '/'))
				return true;
	return false;
}

char al_flax_separator(const char *name)
{
	static const char ending[] = "kernel";
	const size_t length = strlen(name), n = sizeof(ending) - 1;

	if (length <= n || strcmp(name + length - n, ending) != 0)
		return '\0';
	const char before = name[length - n - 1];
	return before == '/' || before == '.' ? before : '\0';
}

bool al_family_in_flax(const struct al_family *family, struct al_catalog *catalog,
	struct al_arena *arena, char separator, const struct al_family **out, struct al_error *err)
{
	const struct spelling s = {arena, separator, is_own(family)};
	struct al_family *to = al_new(arena, struct al_family);

	*to = *family;
	to->is_flax = true;
	to->modules = al_new_array(arena, struct al_family_module, family->n_modules);
	to->tensors = al_new_array(arena, struct al_family_tensor, family->n_tensors);
	for (size_t i = 0; i < family->n_modules; i++) {
		to->modules[i] = family->modules[i];
		if (!spell_module(&s, catalog, &to->modules[i], err))
			return false;
	}
	for (size_t i = 0; i < family->n_tensors; i++) {
		to->tensors[i] = family->tensors[i];
		spell_tensor(&s, family, &to->tensors[i]);
	}
	spell_prefixes(&s, family, to);
	add_endings(&s, to);
	spell_forward(&s, family, to);
	*out = to;
	return true;
}
