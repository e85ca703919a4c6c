/* Schemes of quantization: reading their files. */
#include "catalog/scheme.h"

#include "catalog/family_read.h"
#include "catalog/read.h"

const char *const al_scheme_facts[AL_N_FACTS] = {
	[AL_FACT_ROWS] = "rows",
	[AL_FACT_COLS] = "cols",
	[AL_FACT_LINEAR] = "is_linear",
	[AL_FACT_MATRIX] = "is_matrix",
	[AL_FACT_EMBEDDING] = "is_embedding",
	[AL_FACT_TABLE] = "is_table",
	[AL_FACT_HEAD] = "is_head",
	[AL_FACT_OUTPUT] = "is_output",
	[AL_FACT_ROUTER] = "is_router",
	[AL_FACT_EXPERT] = "is_expert",
	[AL_FACT_QUERY] = "is_query",
	[AL_FACT_KEY] = "is_key",
	[AL_FACT_VALUE] = "is_value",
	[AL_FACT_PROJECTION] = "is_projection",
	[AL_FACT_FUSED_QKV] = "is_fused_qkv",
	[AL_FACT_FUSED_KV] = "is_fused_kv",
	[AL_FACT_UP] = "is_up",
	[AL_FACT_GATE] = "is_gate",
	[AL_FACT_DOWN] = "is_down",
	[AL_FACT_IN_LAYERS] = "is_in_layers",
	[AL_FACT_TEXT] = "is_text",
	[AL_FACT_LAYER] = "layer",
	[AL_FACT_LAYERS] = "n_layers",
	[AL_FACT_VALUE_LAYER] = "value_layer",
	[AL_FACT_VALUE_LAYERS] = "n_value_layers",
	[AL_FACT_EXPERTS] = "n_experts",
	[AL_FACT_GQA] = "n_gqa",
};

enum { MOST_ITEMS = 64 };

/* ---- additional tensors of a converted one ---- */

static bool check_beside(void *context, const struct al_item *object, void *record,
	struct al_error *err)
{
	struct al_scheme_tensor *tensor = record;

	(void)context;
	(void)object;
	(void)err;
	tensor->entry.kind = AL_TENSOR_SCALE;
	return true;
}

#define AT(member) offsetof(struct al_scheme_tensor, member)
static const struct al_field beside_fields[] = {
	{AL_KEY("name", TEXT, AT(entry.name)), .is_required = true},
	AL_SHAPE_FIELD("shape", AT(entry.shape), AL_SHAPE_DIMS),
	{AL_KEY("when", BY, AT(entry.when)), .read = al_read_formula},
	{AL_KEY("dtype", BY, AT(entry.dtype)), .read = al_read_dtype},
	{AL_KEY("bits", BY, AT(bits)), .read = al_read_formula},
};
#undef AT
static const struct al_record beside_record = {
	.fields = AL_FIELDS(beside_fields),
	.size = sizeof(struct al_scheme_tensor),
	.check = check_beside,
};

/* ---- rules ---- */

#define AT(member) offsetof(struct al_scheme_rule, member)
static const struct al_field rule_fields[] = {
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("dtype", BY, AT(dtype)), .read = al_read_dtype},
	{AL_KEY("dtype_of", BY, AT(dtype_of)), .read = al_read_formula},
	{AL_KEY("bits", BY, AT(bits)), .read = al_read_formula},
	{AL_KEY("beside", LIST, AT(beside)), .n_offset = AT(n_beside), .record = &beside_record,
		.most = MOST_ITEMS, .noun = "tensors"},
};
#undef AT
static const struct al_record rule_record = {
	.fields = AL_FIELDS(rule_fields),
	.size = sizeof(struct al_scheme_rule),
};

/* ---- what the files declare of the cache ---- */

#define AT(member) offsetof(struct al_scheme_cache, member)
static const struct al_field cache_fields[] = {
	{AL_KEY("when", BY, AT(when)), .is_required = true, .read = al_read_formula},
	{AL_KEY("dtype", BY, AT(dtype)), .is_required = true, .read = al_read_dtype},
};
#undef AT
static const struct al_record cache_record = {
	.fields = AL_FIELDS(cache_fields),
	.size = sizeof(struct al_scheme_cache),
};

/* ---- schemes ---- */

#define AT(member) offsetof(struct al_scheme_groups, member)
static const struct al_field groups_fields[] = {
	{AL_KEY("key", TEXT, AT(key)), .is_required = true},
	{AL_KEY("targets", TEXT, AT(targets))},
	{AL_KEY("signed", BOOLEAN, AT(is_signed))},
};
#undef AT
static const struct al_record groups_record = {
	.fields = AL_FIELDS(groups_fields),
	.size = sizeof(struct al_scheme_groups),
};

#define AT(member) offsetof(struct al_scheme, member)
#define CONFIG(name, of) \
	{ \
		AL_KEY(name, MEMBERS, AT(of.config)), \
			.n_offset = AT(of.n_config), .read = al_read_config_key, \
			.item_size = sizeof(struct al_config_key), .most = MOST_ITEMS, \
			.noun = "keys" \
	}
static const struct al_field scheme_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title)), .is_required = true},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
	{AL_TEXTS_FIELD("methods", AT(methods.items), AT(methods.n))},
	CONFIG("model", model),
	CONFIG("config", config),
	CONFIG("group", group),
	{AL_KEY("known", BY, AT(known)), .read = al_read_formula},
	{AL_KEY("knows", TEXT, AT(knows))},
	{AL_TEXTS_FIELD("keeps", AT(keeps.items), AT(keeps.n))},
	{AL_TEXTS_FIELD("kept", AT(kept.items), AT(kept.n))},
	{AL_KEY("groups", LIST, AT(groups)), .n_offset = AT(n_groups), .record = &groups_record,
		.most = MOST_ITEMS, .noun = "groups"},
	{AL_KEY("base", BY, AT(base)), .read = al_read_dtype},
	{AL_KEY("cache", LIST, AT(cache)), .n_offset = AT(n_cache), .record = &cache_record,
		.most = MOST_ITEMS, .noun = "formats"},
	{AL_KEY("rules", LIST, AT(rules)), .n_offset = AT(n_rules), .record = &rule_record,
		.most = MOST_ITEMS, .noun = "rules", .is_required = true},
};
#undef CONFIG
#undef AT
static bool asks_for_layer(const struct al_scheme *scheme)
{
	for (size_t i = 0; i < scheme->n_rules; i++)
		if (al_formula_mentions(scheme->rules[i].when, "layer")
			|| al_formula_mentions(scheme->rules[i].when, "value_layer"))
			return true;
	return false;
}

static bool finish_scheme(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_scheme *scheme = record;

	(void)context;
	(void)node;
	(void)err;
	scheme->model.name = scheme->config.name = scheme->group.name = scheme->name;
	scheme->is_by_layer = asks_for_layer(scheme);
	return true;
}

static const struct al_record scheme_record = {
	.fields = AL_FIELDS(scheme_fields),
	.size = sizeof(struct al_scheme),
	.check = finish_scheme,
};

const struct al_file_kind al_scheme_file = {
	.record = &scheme_record,
	.has_standard = true,
	.symbols = al_scheme_facts,
	.n_symbols = AL_N_FACTS,
};
