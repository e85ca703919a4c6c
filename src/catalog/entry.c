/* The one entry grammar: tensors, cache, activations and products. */
#include "catalog/read.h"

#include <string.h>

#include "base/text.h"

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
const char *const al_per_names[AL_N_PERS] = {
	"module",
	"layer",
	"group",
	"model",
	"source_token",
	"sequence",
	"token",
	"pair",
};
const char *const al_saved_names[AL_N_SAVED] = {"always", "eager", "flash"};

enum { MOST_KEYS = 16, MOST_ENTRIES = 1024 };

bool al_shape_mentions(const struct al_shape *shape, const char *symbol)
{
	for (size_t i = 0; i < shape->n_dims; i++)
		if (al_formula_mentions(shape->dims[i], symbol))
			return true;
	return false;
}

/* What tells the forms of an entry apart: the keys that it may have, and over what it may be
 * shared. */
static const struct form {
	const char *keys[MOST_KEYS]; /* up to NULL */
	enum al_per first_per, last_per, per;
	bool needs_role;
	bool is_product; /* left and right instead of a shape */
	bool is_of_family; /* its role is one of a feed-forward, which the family's reader knows */
} forms[AL_N_FORMS] = {
	[AL_FORM_TENSOR] =
		{
			.keys = {"name", "role", "shape", "kind", "count", "active", "per", "when",
				"fixed"},
			.first_per = AL_PER_MODULE,
			.last_per = AL_PER_MODEL,
			.per = AL_PER_MODULE,
			.needs_role = true,
		},
	[AL_FORM_CACHE] =
		{
			.keys = {"name", "role", "shape", "count", "per", "tokens", "dtype",
				"expanded", "shared", "when"},
			.first_per = AL_PER_SOURCE_TOKEN,
			.last_per = AL_PER_TOKEN,
			.per = AL_PER_TOKEN,
		},
	[AL_FORM_ACTIVATION] =
		{
			.keys = {"name", "role", "shape", "count", "per", "saved", "bytes",
				"shared", "when"},
			.first_per = AL_PER_SEQUENCE,
			.last_per = AL_PER_PAIR,
			.per = AL_PER_TOKEN,
		},
	[AL_FORM_PRODUCT] =
		{
			.keys = {"name", "role", "left", "right", "count", "shared", "when"},
			.first_per = AL_PER_MODULE,
			.last_per = AL_PER_MODULE,
			.per = AL_PER_MODULE,
			.is_product = true,
		},
	[AL_FORM_FAMILY_TENSOR] =
		{
			.keys = {"part", "role", "stack", "stage", "name", "shape", "kind", "count",
				"active", "when", "order", "for", "tied_to", "packed", "optional",
				"before"},
			.first_per = AL_PER_MODEL,
			.last_per = AL_PER_MODEL,
			.per = AL_PER_MODEL,
			.is_of_family = true,
		},
};

static size_t count_keys(const struct form *form)
{
	size_t n = 0;

	while (n < MOST_KEYS && form->keys[n])
		n++;
	return n;
}

static bool parse_shape(struct al_reader *reader, const struct cJSON *entry, const char *key,
	size_t most, struct al_shape *out, struct al_error *err)
{
	const struct cJSON *list;

	if (!al_json_get_node(reader->doc, entry, key, AL_JSON_ARRAY, true, &list, err))
		return false;
	size_t n = al_json_size(list);
	if (n < 1 || n > most)
		return al_json_fail(reader->doc, list, err,
			"\"%s\" has %zu dimensions, expected 1 to %zu", key, n, most);
	out->dims = al_new_array(reader->arena, const struct al_formula *, n);
	al_json_each (node, list)
		if (!al_read_formula(reader, node, &out->dims[out->n_dims++], err))
			return false;
	return true;
}

/* One side of a product: [m, k] or [k, n]. */
static bool parse_side(struct al_reader *reader, const struct cJSON *entry, const char *key,
	struct al_shape *out, struct al_error *err)
{
	return parse_shape(reader, entry, key, 2, out, err)
		&& (out->n_dims == 2
			|| al_json_fail(reader->doc, al_json_get(entry, key), err,
				"\"%s\" has 1 dimension, expected 2", key));
}

static bool parse_shapes(struct al_reader *reader, const struct form *form,
	const struct cJSON *node, struct al_entry *entry, struct al_error *err)
{
	if (!form->is_product)
		return parse_shape(reader, node, "shape", AL_SHAPE_DIMS, &entry->shape, err);
	return parse_side(reader, node, "left", &entry->left, err)
		&& parse_side(reader, node, "right", &entry->right, err);
}

static bool parse_words(struct al_reader *reader, const struct form *form, const struct cJSON *node,
	struct al_entry *entry, struct al_error *err)
{
	size_t role = AL_ROLE_OTHER, kind = AL_TENSOR_WEIGHT, saved = AL_SAVED_ALWAYS;
	size_t per = (size_t)(form->per - form->first_per), shared = AL_PER_MODULE;

	if ((!form->is_of_family
		    && !al_read_word(reader, node, "role", form->needs_role, al_role_names,
			    AL_N_ROLES, &role, err))
		|| !al_read_word(reader, node, "kind", false, al_tensor_kind_names,
			AL_N_TENSOR_KINDS, &kind, err)
		|| !al_read_word(reader, node, "saved", false, al_saved_names, AL_N_SAVED, &saved,
			err)
		|| !al_read_word(reader, node, "per", false, al_per_names + form->first_per,
			(size_t)(form->last_per - form->first_per + 1), &per, err)
		|| !al_read_word(reader, node, "shared", false, al_per_names, AL_PER_MODEL + 1,
			&shared, err))
		return false;
	entry->role = (enum al_role)role;
	entry->kind = (enum al_tensor_kind)kind;
	entry->saved = (enum al_saved)saved;
	entry->per = (enum al_per)((size_t)form->first_per + per);
	entry->shared = entry->per <= AL_PER_MODEL && !form->is_product ? entry->per
									: (enum al_per)shared;
	return true;
}

static bool parse_bytes(struct al_reader *reader, const struct cJSON *node, struct al_entry *entry,
	struct al_error *err)
{
	const struct cJSON *bytes = al_json_get(node, "bytes");

	return !bytes || al_json_whole_from(reader->doc, bytes, 1, &entry->bytes, err);
}

/* A key that the form doesn't have was refused at first, so that each may be asked for here. */
bool al_entry_parse(struct al_reader *reader, const struct cJSON *node,
	enum al_entry_form form_index, struct al_entry *out, struct al_error *err)
{
	const struct form *form = &forms[form_index];

	*out = (struct al_entry){0};
	return al_json_only(reader->doc, node, form->keys, count_keys(form), err)
		&& al_read_text(reader, node, "name", true, &out->name, err)
		&& parse_words(reader, form, node, out, err)
		&& parse_shapes(reader, form, node, out, err) && parse_bytes(reader, node, out, err)
		&& al_json_get_boolean(reader->doc, node, "fixed", false, &out->is_fixed, err)
		&& al_read_formula_at(reader, node, "count", false, &out->count, err)
		&& al_read_formula_at(reader, node, "active", false, &out->active, err)
		&& al_read_formula_at(reader, node, "when", false, &out->when, err)
		&& al_read_formula_at(reader, node, "tokens", false, &out->tokens, err)
		&& al_read_text(reader, node, "dtype", false, &out->dtype, err)
		&& al_read_formula_at(reader, node, "expanded", false, &out->expanded, err);
}

/* Two entries may share a name only where conditions tell them apart. */
static const struct al_entry *find_twin(const struct al_entries *entries,
	const struct al_entry *entry)
{
	for (size_t i = 0; i < entries->n; i++) {
		const struct al_entry *other = &entries->items[i];
		if (strcmp(other->name, entry->name) == 0 && !(other->when && entry->when))
			return other;
	}
	return NULL;
}

bool al_entries_parse(struct al_reader *reader, const struct cJSON *object, const char *key,
	enum al_entry_form form, bool required, struct al_entries *out, struct al_error *err)
{
	const struct cJSON *list;

	if (!al_json_get_node(reader->doc, object, key, AL_JSON_ARRAY, required, &list, err))
		return false;
	size_t n = al_json_size(list);
	if (n > MOST_ENTRIES)
		return al_json_fail(reader->doc, list, err,
			"\"%s\" has %zu entries, expected at most %d", key, n, MOST_ENTRIES);
	out->items = al_new_array(reader->arena, struct al_entry, n);
	al_json_each (node, list) {
		struct al_entry *entry = &out->items[out->n];
		if (!al_entry_parse(reader, node, form, entry, err))
			return false;
		if (find_twin(out, entry))
			return al_json_fail(reader->doc, node, err,
				"\"%s\" stands in \"%s\" twice, without conditions that tell them "
				"apart",
				entry->name, key);
		out->n++;
	}
	return true;
}
