/* "forward": reading how a family's tensors make a model. */
#include "catalog/forward.h"

#include "catalog/cache.h"
#include "catalog/family_read.h"

static const char *const kind_names[] = {"decoder", "encoder"};
static const char *const norm_names[] = {"rms", "layer"};
static const char *const score_names[] = {"softmax", "sigmoid", "sparsemixer"};
static const char *const over_names[] = {"head", "all", "each"};

enum { MOST_NEEDS = 64 };

/* ---- a tensor ---- */

/* A text, or [weight, bias]. */
static bool read_pair(struct al_reader *reader, const struct al_item *node, const char **weight,
	const char **bias, struct al_error *err)
{
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return al_read_text(reader, node, weight, err);
	if (al_json_size(node) != 2)
		return al_json_fail(reader->doc, node, err,
			"found %zu names, expected those of a weight and a bias",
			al_json_size(node));
	return al_read_text(reader, al_json_at(node, 0), weight, err)
		&& al_read_text(reader, al_json_at(node, 1), bias, err);
}

static bool read_otherwise(void *reader, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_forward_names *names = out;

	return read_pair(reader, node, &names->otherwise, &names->otherwise_bias, err);
}

static const struct al_field names_fields[] = {
	{AL_KEY("weight", TEXT, offsetof(struct al_forward_names, weight)), .is_required = true},
	{AL_KEY("bias", TEXT, offsetof(struct al_forward_names, bias))},
	{AL_KEY("when", BY, offsetof(struct al_forward_names, when)), .read = al_read_formula},
	{AL_KEY("otherwise", BY, 0), .read = read_otherwise},
};
static const struct al_record names_record = {.fields = AL_FIELDS(names_fields)};

/* One of these, or an object. */
static bool read_names(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_forward_names *names = out;

	return al_json_kind(node) == AL_JSON_OBJECT
		? al_read_record(reader, &names_record, node, names, err)
		: read_pair(reader, node, &names->weight, &names->bias, err);
}

/* ---- numbers and words of a config ---- */

#define AT(member) offsetof(struct al_forward_word, member)
static const struct al_field word_fields[] = {
	{AL_TEXTS_FIELD("key", AT(keys), AT(n_keys)), .is_required = true},
	{AL_KEY("default", TEXT, AT(fallback)), .is_required = true},
};
#undef AT
static const struct al_record word_record = {.fields = AL_FIELDS(word_fields)};

/* ---- what is needed ---- */

static bool read_value(void *context, const struct al_item *node, void *value, struct al_error *err)
{
	struct al_reader *reader = context;
	const char **out = value;
	double number;
	bool is_true;

	switch (al_json_kind(node)) {
	case AL_JSON_NULL:
		*out = "null";
		return true;
	case AL_JSON_BOOLEAN:
		if (!al_json_boolean(reader->doc, node, &is_true, err))
			return false;
		*out = is_true ? "true" : "false";
		return true;
	case AL_JSON_NUMBER:
		if (!al_json_real(reader->doc, node, &number, err))
			return false;
		*out = al_format(reader->arena, "%.17g", number);
		return true;
	default:
		return al_read_text(reader, node, out, err);
	}
}

static bool read_need(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	static const struct al_field values = {
		AL_KEY("requires", LIST, offsetof(struct al_forward_need, values)),
		.n_offset = offsetof(struct al_forward_need, n_values),
		.or_one = true,
		.read = read_value,
		.item_size = sizeof(const char *),
	};
	struct al_reader *reader = context;
	const struct al_record_source source = al_reader_source(reader);
	struct al_forward_need *need = out;

	need->key = al_strdup(reader->arena, al_json_key(member));
	return al_record_read_items(&source, &values, member, need, err);
}

static bool read_loop(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_forward_loop *loop = out;

	return al_read_symbol(context, member, &loop->variable, err)
		&& al_read_formula(context, member, &loop->value, err);
}

/* ---- its objects ---- */

#define AT(member) offsetof(struct al_forward, member)
#define NAMES(key, of) \
	{ \
		AL_KEY(key, BY, AT(tensors[AL_FORWARD_##of])), .read = read_names \
	}

static const struct al_field norm_fields[] = {
	{AL_KEY("kind", WORD, AT(norm)), AL_WORDS(norm_names), .is_required = true},
	{AL_KEY("epsilon", BY, AT(epsilon)), .read = al_read_config_number, .is_required = true},
	{AL_KEY("unit_offset", BOOLEAN, AT(has_unit_offset))},
};

static const struct al_field embedding_fields[] = {
	{AL_KEY("tokens", BY, AT(tensors[AL_FORWARD_TOKENS])), .read = read_names,
		.is_required = true},
	NAMES("project_tokens", TOKENS_PROJECT),
	NAMES("positions", POSITIONS),
	{AL_KEY("first", BY, AT(first_position)), .read = al_read_config_number},
	NAMES("types", TYPES),
	NAMES("norm", EMBEDDING_NORM),
	NAMES("project", EMBEDDING_PROJECT),
	{AL_KEY("scale", BY, AT(embedding_scale)), .read = al_read_config_number},
	{AL_KEY("scale_squared", BY, AT(scale_squared)), .read = al_read_formula},
};

static const struct al_field relative_fields[] = {
	{AL_KEY("bias", BY, AT(tensors[AL_FORWARD_RELATIVE])), .read = read_names,
		.is_required = true},
	{AL_KEY("distance", BY, AT(relative_distance)), .read = al_read_config_number,
		.is_required = true},
};
static const struct al_record relative_record = {.fields = AL_FIELDS(relative_fields)};

static const struct al_field latent_fields[] = {
	NAMES("query_down", LATENT_QUERY_DOWN),
	NAMES("query_norm", LATENT_QUERY_NORM),
	{AL_KEY("query", BY, AT(tensors[AL_FORWARD_LATENT_QUERY])), .read = read_names,
		.is_required = true},
	{AL_KEY("down", BY, AT(tensors[AL_FORWARD_LATENT_DOWN])), .read = read_names,
		.is_required = true},
	NAMES("norm", LATENT_NORM),
	{AL_KEY("up", BY, AT(tensors[AL_FORWARD_LATENT_UP])), .read = read_names,
		.is_required = true},
	{AL_KEY("epsilon", BY, AT(latent_epsilon)), .read = al_read_config_number,
		.is_required = true},
	{AL_KEY("base", BY, AT(latent_base)), .read = al_read_formula, .is_required = true},
	{AL_TEXTS_FIELD("scaling", AT(latent_scaling), AT(n_latent_scaling))},
	{AL_KEY("interleaved", BY, AT(latent_interleaved)), .read = al_read_formula_or_flag,
		.is_required = true},
};
static const struct al_record latent_record = {.fields = AL_FIELDS(latent_fields)};

static const struct al_field attention_fields[] = {
	NAMES("before", ATTENTION_BEFORE),
	NAMES("behind", ATTENTION_BEHIND),
	NAMES("sum", ATTENTION_SUM),
	{AL_KEY("cap", BY, AT(score_cap)), .read = al_read_config_number},
	{AL_KEY("window", BY, AT(window)), .read = al_read_formula},
	{AL_KEY("chunk", BY, AT(chunk)), .read = al_read_formula},
	{AL_KEY("floor", BY, AT(query_floor)), .read = al_read_config_number},
	{AL_KEY("growth", BY, AT(query_growth)), .read = al_read_config_number},
	{AL_KEY("grows", BY, AT(query_grows)), .read = al_read_formula},
	NAMES("query_norm", QUERY_NORM),
	NAMES("key_norm", KEY_NORM),
	{AL_KEY("rotated", BOOLEAN, AT(norms_rotated))},
	{AL_KEY("over", WORD, AT(qk_norm)), AL_WORDS(over_names), .fallback = AL_NORM_OVER_HEAD},
	{AL_KEY("alibi", BY, AT(alibi)), .read = al_read_config_number},
	{AL_KEY("relative", RECORD, 0), .record = &relative_record},
	{AL_KEY("latent", RECORD, 0), .record = &latent_record},
	NAMES("sinks", SINKS),
};

/* The tensors of a block that begin at `of`. */
#define BLOCK(of) \
	NAMES("gate", of + (int)AL_BLOCK_GATE), NAMES("up", of + (int)AL_BLOCK_UP), \
		NAMES("gate_up", of + (int)AL_BLOCK_GATE_UP), \
		NAMES("down", of + (int)AL_BLOCK_DOWN)

static const struct al_field feed_forward_fields[] = {
	NAMES("before", FEED_BEFORE),
	NAMES("behind", FEED_BEHIND),
	NAMES("sum", FEED_SUM),
	BLOCK(FEED),
	{AL_KEY("activation", RECORD, AT(activation)), .record = &word_record,
		.or_text = AT(activation.fallback), .is_required = true},
	{AL_KEY("alternating", BOOLEAN, AT(is_alternating))},
	NAMES("learned", LEARNED),
};

static const struct al_field shared_fields[] = {BLOCK(SHARED), NAMES("weight", SHARED_WEIGHT)};
static const struct al_record shared_record = {.fields = AL_FIELDS(shared_fields)};

static const struct al_field experts_fields[] = {
	{AL_KEY("router", BY, AT(tensors[AL_FORWARD_ROUTER])), .read = read_names,
		.is_required = true},
	{AL_KEY("count", BY, AT(n_experts)), .read = al_read_formula, .is_required = true},
	{AL_KEY("active", BY, AT(n_active)), .read = al_read_formula, .is_required = true},
	{AL_KEY("normalized", BY, AT(normalized)), .read = al_read_formula_or_flag},
	{AL_KEY("scores", WORD, AT(router_scores)), AL_WORDS(score_names),
		.fallback = AL_ROUTER_SOFTMAX},
	NAMES("correction", CORRECTION),
	{AL_KEY("groups", BY, AT(n_groups)), .read = al_read_formula},
	{AL_KEY("of_groups", BY, AT(n_chosen_groups)), .read = al_read_formula},
	{AL_KEY("by_best", BOOLEAN, AT(groups_by_best))},
	{AL_KEY("of_input", BOOLEAN, AT(shares_input))},
	{AL_KEY("multiply", BY, AT(expert_factor)), .read = al_read_config_number},
	{AL_KEY("jitter", BY, AT(jitter)), .read = al_read_config_number},
	BLOCK(EXPERT),
	{AL_KEY("shared", RECORD, 0), .record = &shared_record},
};

static const struct al_field last_fields[] = {
	NAMES("norm", LAST_NORM),
	NAMES("project", LAST_PROJECT),
	NAMES("head", HEAD),
	{AL_KEY("divide", BY, AT(logit_divisor)), .read = al_read_config_number},
	{AL_KEY("multiply", BY, AT(logit_factor)), .read = al_read_config_number},
	{AL_KEY("cap", BY, AT(logit_cap)), .read = al_read_config_number},
};

static const struct al_field masked_fields[] = {
	{AL_KEY("dense", BY, AT(tensors[AL_FORWARD_MASKED_DENSE])), .read = read_names,
		.is_required = true},
	{AL_KEY("activation", RECORD, AT(masked_activation)), .record = &word_record,
		.or_text = AT(masked_activation.fallback)},
	{AL_KEY("norm", BY, AT(tensors[AL_FORWARD_MASKED_NORM])), .read = read_names,
		.is_required = true},
	{AL_KEY("head", BY, AT(tensors[AL_FORWARD_HEAD])), .read = read_names, .is_required = true},
	{AL_KEY("token", TEXT, AT(mask)), .is_required = true},
};

static const struct al_record norm_record = {.fields = AL_FIELDS(norm_fields)};
static const struct al_record embedding_record = {.fields = AL_FIELDS(embedding_fields)};
static const struct al_record attention_record = {.fields = AL_FIELDS(attention_fields)};
static const struct al_record feed_forward_record = {.fields = AL_FIELDS(feed_forward_fields)};
static const struct al_record experts_record = {.fields = AL_FIELDS(experts_fields)};
static const struct al_record last_record = {.fields = AL_FIELDS(last_fields)};
static const struct al_record masked_record = {.fields = AL_FIELDS(masked_fields)};

/* A family whose layers all have experts gives only norms and activation in "feed_forward". */
static bool check_blocks(const struct al_reader *reader, const struct al_item *node,
	const struct al_forward *forward, struct al_error *err)
{
	const struct al_item *feed_forward = al_json_get(node, "feed_forward"),
			     *experts = al_json_get(node, "experts");
	const struct {
		const struct al_item *node;
		int first;
	} blocks[] = {
		{al_json_get(feed_forward, "down") ? feed_forward : NULL, AL_FORWARD_FEED},
		{al_json_get(experts, "shared"), AL_FORWARD_SHARED},
		{experts, AL_FORWARD_EXPERT},
	};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		const struct al_forward_names *block = &forward->tensors[blocks[i].first];
		if (blocks[i].node
			&& (!block[AL_BLOCK_DOWN].weight
				|| !block[AL_BLOCK_UP].weight == !block[AL_BLOCK_GATE_UP].weight))
			return al_json_fail(reader->doc, blocks[i].node, err,
				"expected \"down\", and either \"up\" or \"gate_up\" (both in "
				"one)");
	}
	return true;
}

/* Both kinds end in hidden states; a decoder's become logits, an encoder's where it has a head for
 * masked tokens. */
static bool check_kind(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_forward *forward = record;
	const bool has_head = forward->tensors[AL_FORWARD_HEAD].weight && !forward->mask;
	const struct al_forward_names *block = &forward->tensors[AL_FORWARD_FEED];

	if (!check_blocks(reader, node, forward, err))
		return false;
	if (!forward->n_experts && !block[AL_BLOCK_DOWN].weight)
		return al_json_fail(reader->doc, node, err,
			"expected \"down\" in \"feed_forward\", or \"experts\"");
	if (forward->when && !forward->only)
		return al_json_fail(reader->doc, node, err, "\"when\" also needs \"only\"");
	return has_head == (forward->kind == AL_FORWARD_DECODER)
		|| al_json_fail(reader->doc, node, err, "%s",
			has_head ? "an encoder has a \"head\" in \"masked\" alone"
				 : "a decoder needs a \"head\"");
}

static const struct al_field forward_fields[] = {
	{AL_KEY("kind", WORD, AT(kind)), AL_WORDS(kind_names), .is_required = true},
	{AL_KEY("layers", BY, AT(layers)), .read = al_read_formula},
	{AL_KEY("loops", MEMBERS, AT(loops)), .n_offset = AT(n_loops), .read = read_loop,
		.item_size = sizeof(struct al_forward_loop), .most = AL_FAMILY_LOOPS},
	{AL_KEY("any_length", BOOLEAN, AT(has_any_length))},
	{AL_KEY("norm", RECORD, 0), .record = &norm_record, .is_required = true},
	{AL_KEY("embedding", RECORD, 0), .record = &embedding_record, .is_required = true},
	{AL_KEY("parallel", BY, AT(parallel)), .read = al_read_formula},
	{AL_KEY("residual", BY, AT(residual_scale)), .read = al_read_config_number},
	{AL_KEY("residual_over", BY, AT(residual_over)), .read = al_read_formula},
	{AL_KEY("attention", RECORD, 0), .record = &attention_record, .is_required = true},
	{AL_KEY("feed_forward", RECORD, 0), .record = &feed_forward_record, .is_required = true},
	{AL_KEY("experts", RECORD, 0), .record = &experts_record},
	{AL_KEY("last", RECORD, 0), .record = &last_record},
	{AL_KEY("masked", RECORD, 0), .record = &masked_record},
	{AL_KEY("requires", MEMBERS, AT(needs)), .n_offset = AT(n_needs), .read = read_need,
		.item_size = sizeof(struct al_forward_need), .most = MOST_NEEDS},
	{AL_TEXTS_FIELD("present", AT(present), AT(n_present))},
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("only", TEXT, AT(only))},
};
#undef AT
static const struct al_record forward_record = {
	.fields = AL_FIELDS(forward_fields),
	.check = check_kind,
};

/* ---- its names ---- */

static bool is_stored(const struct al_family *family, const char *name)
{
	if (AL_FIND(family->tensors, family->n_tensors, name))
		return true;
	for (size_t i = 0; i < family->n_modules; i++)
		if (AL_FIND(family->modules[i].stored, family->modules[i].n_stored, name))
			return true;
	return false;
}

/* Is it never part of the model? */
static bool is_apart(const struct al_family *family, const struct al_family_module *module)
{
	int64_t from;

	for (size_t i = 0; i < family->n_extras; i++)
		for (size_t j = 0; j < module->loops.n; j++)
			if (strcmp(module->loops.items[j].variable, family->extras[i].variable) == 0
				&& al_formula_is_integer(family->extras[i].from, &from)
				&& from == 0)
				return true;
	return false;
}

static bool check_names(const struct al_reader *reader, const struct al_item *node,
	const struct al_family *family, const struct al_forward *forward, struct al_error *err)
{
	for (int i = 0; i < AL_N_FORWARD_TENSORS; i++) {
		const struct al_forward_names *of = &forward->tensors[i];
		const char *const names[] = {of->weight, of->bias, of->otherwise,
			of->otherwise_bias};
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++)
			if (names[j] && *names[j] && !is_stored(family, names[j]))
				return al_json_fail(reader->doc, node, err,
					"\"%s\" is none of the family's tensors", names[j]);
	}
	for (size_t i = 1; !forward->when && i < family->n_modules; i++)
		if (strcmp(family->modules[i].name, family->modules[0].name) != 0
			&& !is_apart(family, &family->modules[i]))
			return al_json_fail(reader->doc, node, err,
				"the family has modules \"%s\" and \"%s\": name one, or make them "
				"exclusive with \"when\"",
				family->modules[0].name, family->modules[i].name);
	return true;
}

/* What the family's formulas may use, as when its file was read. */
static void know_symbols(struct al_reader *reader, const struct al_family *family)
{
	for (size_t i = 0; i < family->n_config; i++)
		al_reader_know(reader, family->config[i].symbol);
	for (size_t i = 0; i < family->n_architectures; i++)
		for (size_t j = 0; j < family->architectures[i].n_set; j++)
			al_reader_know(reader, family->architectures[i].set[j].symbol);
	al_reader_know(reader, "layer");
}

bool al_forward_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard, const struct al_family *family,
	const struct al_forward **out, struct al_error *err)
{
	const struct al_item *node = al_json_get(doc->root, "forward");
	struct al_forward *forward = al_new(arena, struct al_forward);
	struct al_reader reader;

	*out = node ? forward : NULL;
	al_reader_init(&reader, arena, doc, standard);
	know_symbols(&reader, family);
	return !node
		|| (al_read_record(&reader, &forward_record, node, forward, err)
			&& check_names(&reader, node, family, forward, err));
}

/* Names of the text's tensors, as they are in a model of which it is a component. */
static void rename_text(struct al_forward *forward, const struct al_family *text,
	const struct al_family_component *as, struct al_arena *arena)
{
	for (int i = 0; i < AL_N_FORWARD_TENSORS; i++) {
		struct al_forward_names *of = &forward->tensors[i];
		const char **names[] = {&of->weight, &of->bias, &of->otherwise,
			&of->otherwise_bias};
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			const char *name = *names[j];
			const struct al_family_tensor *tensor = name
				? AL_FIND(text->tensors, text->n_tensors, name)
				: NULL;
			if (name && *name)
				*names[j] = al_format(arena, "%s%s",
					tensor && tensor->part == AL_PART_HEAD ? as->head_names
									       : as->names,
					name);
		}
	}
}

/* A model of text and more runs as its text does. */
static bool forward_of_text(struct al_catalog *catalog, const struct al_family_component *as,
	const struct al_forward **out, struct al_error *err)
{
	const struct al_family *text;

	if (!al_catalog_family(catalog, as->family, &text, err)
		|| !al_catalog_forward(catalog, text, out, err))
		return false;
	struct al_forward *own = al_new(&catalog->arena, struct al_forward);
	*own = **out;
	rename_text(own, text, as, &catalog->arena);
	*out = own;
	return true;
}

bool al_catalog_forward(struct al_catalog *catalog, const struct al_family *family,
	const struct al_forward **out, struct al_error *err)
{
	AL_JSON(doc);

	*out = NULL;
	for (size_t i = 0; family->runs && i < family->n_components; i++)
		if (family->components[i].component == AL_COMPONENT_TEXT)
			return forward_of_text(catalog, &family->components[i], out, err);
	return !family->runs
		|| (al_catalog_family_document(catalog, family->file, &doc, err)
			&& al_forward_read(&catalog->arena, &doc, &catalog->symbols, family, out,
				err));
}
