/* The one entry grammar: tensors, cache, activations and products. */
#include "catalog/read.h"

const char *const al_role_names[AL_N_ROLES] = {
	"query",
	"key",
	"value",
	"output",
	"mix",
	"norm",
	"gate",
	"router",
	"position",
	"other",
};
const char *const al_tensor_kind_names[AL_N_TENSOR_KINDS] = {
	"weight",
	"bias",
	"norm",
	"buffer",
	"scale",
};
static const char *const per_names[AL_N_PERS] = {
	"module",
	"layer",
	"group",
	"model",
	"source_token",
	"sequence",
	"token",
	"pair",
};
const char *const al_factor_names[AL_N_FACTORS] = {"", "query", "key", "value", "output", "mixing",
	"gate"};
static const char *const saved_names[AL_N_SAVED] = {"always", "eager", "flash", "grouped",
	"repeated"};
const char *const al_adapted_names[AL_N_ADAPTED] = {
	[AL_ADAPTED_QUERY] = "query",
	[AL_ADAPTED_KEY] = "key",
	[AL_ADAPTED_VALUE] = "value",
	[AL_ADAPTED_OUTPUT] = "output",
	[AL_ADAPTED_GATE] = "gate",
	[AL_ADAPTED_UP] = "up",
	[AL_ADAPTED_DOWN] = "down",
	[AL_ADAPTED_OTHER] = "other",
};
const char *const al_saved_of_names[AL_N_SAVED_OF] = {
	[AL_SAVED_OF_OTHER] = "other",
	[AL_SAVED_OF_MATRIX] = "matrix",
	[AL_SAVED_OF_NORM] = "norm",
	[AL_SAVED_OF_HEAD_NORM] = "head_norm",
	[AL_SAVED_OF_KEY] = "key",
	[AL_SAVED_OF_INNER] = "inner",
	[AL_SAVED_OF_DOWN] = "down",
	[AL_SAVED_OF_ATTENTION] = "attention",
	[AL_SAVED_OF_ROUTED] = "routed",
	[AL_SAVED_OF_OUTPUT] = "output",
	[AL_SAVED_OF_LAYER] = "layer",
	[AL_SAVED_OF_HEAD] = "head",
	[AL_SAVED_OF_LOGITS] = "logits",
};

bool al_shape_mentions(const struct al_shape *shape, const char *symbol)
{
	for (size_t i = 0; i < shape->n_dims; i++)
		if (al_formula_mentions(shape->dims[i], symbol))
			return true;
	return false;
}

size_t al_entry_formulas(const struct al_entry *entry,
	const struct al_formula *out[AL_ENTRY_FORMULAS])
{
	const struct al_formula *const plain[] = {entry->when, entry->count, entry->active,
		entry->tokens, entry->head_width, entry->expanded};
	const struct al_shape *const shapes[] = {&entry->shape, &entry->left, &entry->right};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (plain[i])
			out[n++] = plain[i];
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (size_t dim = 0; dim < shapes[i]->n_dims; dim++)
			out[n++] = shapes[i]->dims[dim];
	return n;
}

/* ---- the forms of an entry ---- */

#define AT(member) offsetof(struct al_entry, member)
#define NAME \
	{ \
		AL_KEY("name", TEXT, AT(name)), .is_required = true \
	}
#define ROLE \
	{ \
		AL_KEY("role", WORD, AT(role)), AL_WORDS(al_role_names), .fallback = AL_ROLE_OTHER \
	}
#define FORMULA(name, member) \
	{ \
		AL_KEY(name, BY, AT(member)), .read = al_read_formula \
	}

/* Over what it may be shared, or with what it grows. */
#define PER(first, last, absent) \
	{ \
		AL_KEY("per", WORD, AT(per)), .words = per_names + (first), \
					      .n_words = (last) - (first) + 1, .least = (first), \
					      .fallback = (absent) \
	}
#define SHARED \
	{ \
		AL_KEY("shared", WORD, AT(shared)), \
			.words = per_names, .n_words = AL_PER_MODEL + 1, .fallback = AL_PER_MODULE \
	}

static const struct al_field tensor_fields[] = {
	NAME,
	{AL_KEY("role", WORD, AT(role)), AL_WORDS(al_role_names), .is_required = true},
	AL_SHAPE_FIELD("shape", AT(shape), AL_SHAPE_DIMS),
	{AL_KEY("kind", WORD, AT(kind)), AL_WORDS(al_tensor_kind_names)},
	FORMULA("count", count),
	FORMULA("active", active),
	PER(AL_PER_MODULE, AL_PER_MODEL, AL_PER_MODULE),
	FORMULA("when", when),
	{AL_KEY("fixed", BOOLEAN, AT(is_fixed))},
	{AL_KEY("factor", WORD, AT(factor)), .words = al_factor_names + AL_FACTOR_QUERY,
		.n_words = AL_N_FACTORS - AL_FACTOR_QUERY, .least = AL_FACTOR_QUERY,
		.fallback = AL_FACTOR_NONE},
	{AL_KEY("down", TEXT, AT(down))},
	{AL_KEY("gain", TEXT, AT(gain))},
	FORMULA("head_width", head_width),
	{AL_KEY("common", BOOLEAN, AT(is_common))},
	{AL_KEY("scores", BOOLEAN, AT(is_of_scores))},
};
static const struct al_field cache_fields[] = {
	NAME,
	ROLE,
	AL_SHAPE_FIELD("shape", AT(shape), AL_SHAPE_DIMS),
	FORMULA("count", count),
	PER(AL_PER_SOURCE_TOKEN, AL_PER_TOKEN, AL_PER_TOKEN),
	FORMULA("tokens", tokens),
	{AL_KEY("dtype", TEXT, AT(dtype))},
	{AL_KEY("in_fp8", TEXT, AT(in_fp8))},
	{AL_KEY("inputs", BOOLEAN, AT(is_inputs))},
	{AL_KEY("kind", TEXT, AT(latent))},
	FORMULA("expanded", expanded),
	SHARED,
	FORMULA("when", when),
};
static const struct al_field activation_fields[] = {
	NAME,
	ROLE,
	AL_SHAPE_FIELD("shape", AT(shape), AL_SHAPE_DIMS),
	FORMULA("count", count),
	PER(AL_PER_SEQUENCE, AL_PER_PAIR, AL_PER_TOKEN),
	{AL_KEY("saved", WORD, AT(saved)), AL_WORDS(saved_names)},
	{AL_KEY("as", WORD, AT(of)), AL_WORDS(al_saved_of_names)},
	{AL_KEY("bytes", WHOLE, AT(bytes)), .least = 1},
	SHARED,
	FORMULA("when", when),
};
static const struct al_field product_fields[] = {
	NAME,
	ROLE,
	AL_SHAPE_FIELD("left", AT(left), 2),
	AL_SHAPE_FIELD("right", AT(right), 2),
	FORMULA("count", count),
	SHARED,
	FORMULA("when", when),
};

static bool share_tensor(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_entry *tensor = record;

	(void)context;
	(void)node;
	(void)err;
	tensor->shared = tensor->per;
	return true;
}

/* [m, k] and [k, n] */
static bool check_sides(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_entry *product = record;
	const char *key = product->left.n_dims < 2 ? "left" : "right";

	return (product->left.n_dims == 2 && product->right.n_dims == 2)
		|| al_json_fail(reader->doc, al_json_get(node, key), err,
			"\"%s\" has 1 dimension, expected 2", key);
}

const struct al_record al_entry_records[AL_N_FORMS] = {
	[AL_FORM_TENSOR] = {.fields = AL_FIELDS(tensor_fields),
		.size = sizeof(struct al_entry),
		.check = share_tensor},
	[AL_FORM_CACHE] = {.fields = AL_FIELDS(cache_fields), .size = sizeof(struct al_entry)},
	[AL_FORM_ACTIVATION] = {.fields = AL_FIELDS(activation_fields),
		.size = sizeof(struct al_entry)},
	[AL_FORM_PRODUCT] = {.fields = AL_FIELDS(product_fields),
		.size = sizeof(struct al_entry),
		.check = check_sides},
};

/* Two entries may share a name only if their conditions exclude each other. */
static bool is_twin(const struct al_entry *a, const struct al_entry *b)
{
	return strcmp(a->name, b->name) == 0 && !(a->when && b->when);
}

bool al_entries_check(struct al_reader *reader, const struct al_item *list,
	const struct al_entries *entries, struct al_error *err)
{
	const struct al_item *node = al_json_first(list);

	for (size_t i = 0; i < entries->n; i++, node = al_json_next(node))
		for (size_t j = 0; j < i; j++)
			if (is_twin(&entries->items[i], &entries->items[j]))
				return al_json_fail(reader->doc, node, err,
					"\"%s\" appears twice in \"%s\", without conditions that "
					"distinguish them",
					entries->items[i].name, al_json_key(list));
	return true;
}
