/* Families: reading a file: its modules, their stored tensors, all other tensors. */

#include "catalog/family_read.h"

const char *const al_part_names[AL_N_PARTS] = {
	"embedding",
	"attention",
	"feed_forward",
	"norm",
	"other",
	"head",
};
static const char *const role_names[AL_N_FEED_FORWARD_ROLES] = {"up", "gate", "down", "router"};
static const char *const stage_names[AL_N_STAGES] = {"first", "last"};
static const char *const order_names[] = {"out,in", "in,out"};
static const char *const stack_names[AL_N_STACKS] = {"encoder", "decoder"};
static const char *const pairs_names[] = {"halves", "interleaved"};

/* ---- loops and names ---- */

/* "n_layers", or ["n_experts", "n_active"] */
static bool read_loop_count(struct al_reader *reader, const struct al_item *node,
	struct al_loop *loop, struct al_error *err)
{
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return al_read_formula(reader, node, &loop->count, err);
	if (al_json_size(node) != 2)
		return al_json_fail(reader->doc, node, err,
			"found %zu items, expected two: the total and the active number",
			al_json_size(node));
	return al_read_formula(reader, al_json_at(node, 0), &loop->count, err)
		&& al_read_formula(reader, al_json_at(node, 1), &loop->active, err);
}

static bool read_loop(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_loop *loop = out;

	if (!al_read_symbol(reader, member, &loop->variable, err)
		|| !read_loop_count(reader, member, loop, err))
		return false;
	al_reader_know(reader, loop->variable);
	return true;
}

static bool has_variable(const struct al_loops *loops, const char *name, size_t length)
{
	for (size_t i = 0; i < loops->n; i++)
		if (strlen(loops->items[i].variable) == length
			&& memcmp(loops->items[i].variable, name, length) == 0)
			return true;
	return false;
}

static bool check_loop_variables(struct al_reader *reader, const struct al_item *node,
	const char *name, const struct al_loops *loops, struct al_error *err)
{
	for (const char *p = name; (p = strchr(p, '{')); p++) {
		size_t length = strcspn(p + 1, "}");
		if (!p[length + 1])
			return al_json_fail(reader->doc, node, err, "\"%s\" lacks a \"}\"", name);
		if (!has_variable(loops, p + 1, length))
			return al_json_fail(reader->doc, node, err,
				"\"%s\" has {%.*s}, but no \"for\" defines it", name, (int)length,
				p + 1);
	}
	return true;
}

/* ---- keys that several objects have ---- */

#define LOOPS_FIELD \
	{ \
		AL_KEY("for", MEMBERS, AT(loops.items)), \
			.n_offset = AT(loops.n), .read = read_loop, \
			.item_size = sizeof(struct al_loop), .most = AL_FAMILY_LOOPS, \
			.noun = "loops" \
	}
#define WORD_FIELD(key, member, names, absent) \
	{ \
		AL_KEY(key, WORD, AT(member)), AL_WORDS(names), .fallback = (absent) \
	}

/* ---- modules ---- */

bool al_read_set(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_module_set *set = out;

	return al_read_symbol(context, member, &set->symbol, err)
		&& al_read_formula_or_flag(context, member, &set->value, err);
}

/* ["W_Q", "n_heads*d_head"] */
static bool read_fused_part(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_fused *out = record;

	if (!al_json_expect(reader->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != 2)
		return al_json_fail(reader->doc, node, err,
			"found %zu items, expected a tensor's name and a width",
			al_json_size(node));
	return al_read_text(reader, al_json_at(node, 0), &out->tensor, err)
		&& al_read_formula(reader, al_json_at(node, 1), &out->width, err);
}

static bool check_fused(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_stored *stored = record;

	return stored->n_parts > 0
		|| al_json_fail(reader->doc, node, err, "\"of\" names no tensors");
}

#define AT(member) offsetof(struct al_stored, member)
static const struct al_field fused_fields[] = {
	{AL_KEY("repeat", BY, AT(repeat)), .is_required = true, .read = al_read_formula},
	{AL_KEY("of", LIST, AT(parts)), .n_offset = AT(n_parts), .read = read_fused_part,
		.item_size = sizeof(struct al_fused), .most = AL_FAMILY_ITEMS},
};
static const struct al_record fused_record = {
	.fields = AL_FIELDS(fused_fields),
	.check = check_fused,
};

static bool finish_stored(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	const struct al_stored *stored = record;

	if (!stored->is == !al_json_get(node, "fused"))
		return al_json_fail(reader->doc, node, err,
			"expected either \"is\" (one tensor) or \"fused\" (several)");
	if (stored->is_apart && (!stored->heads || stored->order != AL_ORDER_IN_OUT))
		return al_json_fail(reader->doc, al_json_get(node, "apart"), err,
			"\"apart\" also needs \"heads\" and the order \"in,out\"");
	if (stored->heads && !stored->is)
		return al_json_fail(reader->doc, al_json_get(node, "heads"), err,
			"\"heads\" also needs \"is\": it splits the heads of one tensor");
	return check_loop_variables(reader, node, stored->name, reader->loops, err)
		&& (!stored->scale
			|| check_loop_variables(reader, al_json_get(node, "scale"), stored->scale,
				reader->loops, err));
}

static const struct al_field stored_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	WORD_FIELD("order", order, order_names, AL_ORDER_OUT_IN),
	{AL_KEY("is", TEXT, AT(is))},
	{AL_KEY("fused", RECORD, 0), .record = &fused_record},
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("optional", BOOLEAN, AT(is_optional))},
	{AL_KEY("scale", TEXT, AT(scale))},
	{AL_KEY("depthwise", BOOLEAN, AT(is_depthwise))},
	{AL_KEY("heads", BY, AT(heads)), .read = al_read_formula},
	{AL_KEY("apart", BOOLEAN, AT(is_apart))},
};
#undef AT
static const struct al_record stored_record = {
	.fields = AL_FIELDS(stored_fields),
	.size = sizeof(struct al_stored),
	.check = finish_stored,
};

#define AT(member) offsetof(struct al_rotary, member)
static const struct al_field rotary_fields[] = {
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("width", BY, AT(width)), .read = al_read_formula},
	WORD_FIELD("pairs", pairs, pairs_names, AL_PAIRS_HALVES),
	{AL_KEY("base", BY, AT(base)), .read = al_read_formula},
	{AL_TEXTS_FIELD("scaling", AT(scaling), AT(n_scaling))},
	{AL_KEY("scaled", BY, AT(scaled)), .read = al_read_formula},
};
#undef AT
static const struct al_record rotary_record = {.fields = AL_FIELDS(rotary_fields)};

/* true, false, or {"width": "rotary_dim", "pairs": "interleaved"} */
static bool read_rotary(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_module *module = out;

	if (al_json_kind(node) != AL_JSON_OBJECT)
		return al_json_boolean(reader->doc, node, &module->is_rotary, err);
	module->is_rotary = true;
	return al_read_record(reader, &rotary_record, node, &module->rotary, err);
}

#define AT(member) offsetof(struct al_family_module, member)
static const struct al_field module_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	WORD_FIELD("stack", stack, stack_names, AL_STACK_ONLY),
	WORD_FIELD("component", component, al_component_names, AL_COMPONENT_TEXT),
	LOOPS_FIELD,
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("variant", BY, AT(variant)), .is_required = true, .read = al_read_path},
	{AL_KEY("set", MEMBERS, AT(set)), .n_offset = AT(n_set), .read = al_read_set,
		.item_size = sizeof(struct al_module_set), .most = AL_FAMILY_ITEMS},
	{AL_KEY("rotary", BY, 0), .read = read_rotary},
	{AL_KEY("cross", BOOLEAN, AT(is_cross))},
	{AL_KEY("uses", BY, AT(uses)), .read = al_read_formula},
	{AL_KEY("score_divisor", BY, AT(score_divisor)), .read = al_read_formula},
	{AL_KEY("score_scale", BY, AT(score_scale)), .read = al_read_config_number},
	{AL_KEY("stored", LIST, AT(stored)), .n_offset = AT(n_stored), .record = &stored_record,
		.most = AL_FAMILY_ITEMS},
	{AL_KEY("before", TEXT, AT(before))},
};
#undef AT
static const struct al_record module_record = {.fields = AL_FIELDS(module_fields)};

/* A loop's variable is known within its item only. */
static bool read_module(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_module *module = out;
	size_t n_symbols = reader->n_symbols;

	reader->loops = &module->loops;
	bool ok = al_read_record(reader, &module_record, node, module, err)
		&& check_loop_variables(reader, node, module->name, &module->loops, err);
	reader->n_symbols = n_symbols;
	return ok;
}

/* ---- tensors ---- */

#define AT(member) offsetof(struct al_family_tensor, member)
static const struct al_field tensor_fields[] = {
	LOOPS_FIELD,
	{AL_KEY("part", WORD, AT(part)), AL_WORDS(al_part_names), .is_required = true},
	WORD_FIELD("role", role, role_names, AL_FEED_NONE),
	WORD_FIELD("component", component, al_component_names, AL_COMPONENT_TEXT),
	WORD_FIELD("stack", stack, stack_names, AL_STACK_ONLY),
	WORD_FIELD("stage", stage, stage_names, AL_STAGE_NOT_SAID),
	{AL_KEY("name", TEXT, AT(entry.name)), .is_required = true},
	AL_SHAPE_FIELD("shape", AT(entry.shape), AL_SHAPE_DIMS),
	{AL_KEY("kind", WORD, AT(entry.kind)), AL_WORDS(al_tensor_kind_names)},
	{AL_KEY("count", BY, AT(entry.count)), .read = al_read_formula},
	{AL_KEY("active", BY, AT(entry.active)), .read = al_read_formula},
	{AL_KEY("when", BY, AT(entry.when)), .read = al_read_formula},
	WORD_FIELD("order", order, order_names, AL_ORDER_OUT_IN),
	{AL_KEY("tied_to", TEXT, AT(tied_to))},
	{AL_TEXTS_FIELD("each", AT(each), AT(n_each))},
	{AL_KEY("packed", WHOLE, AT(packed)), .least = 1, .fallback = 1},
	{AL_KEY("optional", BOOLEAN, AT(is_optional))},
	{AL_KEY("old", BOOLEAN, AT(is_old))},
	{AL_KEY("before", TEXT, AT(before))},
	{AL_KEY("scores", BOOLEAN, AT(entry.is_of_scores))},
};
#undef AT
static const struct al_record tensor_record = {.fields = AL_FIELDS(tensor_fields)};

static bool check_each(const struct al_reader *reader, const struct al_item *node,
	const struct al_family_tensor *tensor, struct al_error *err)
{
	const struct al_item *each = al_json_get(node, "each");

	if (each && !tensor->entry.count)
		return al_json_fail(reader->doc, each, err,
			"only a tensor with a \"count\" has it");
	for (size_t i = 0; i < tensor->n_each; i++)
		if (!strstr(tensor->each[i], "{expert}"))
			return al_json_fail(reader->doc, each, err,
				"found \"%s\", expected a name with {expert}", tensor->each[i]);
	return true;
}

/* The variables of "for" are known within the tensor only. */
static bool read_tensor(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_tensor *tensor = out;
	size_t n_symbols = reader->n_symbols;

	tensor->entry.role = AL_ROLE_OTHER;
	tensor->entry.per = tensor->entry.shared = AL_PER_MODEL;
	bool ok = al_read_record(reader, &tensor_record, node, tensor, err)
		&& check_each(reader, node, tensor, err)
		&& check_loop_variables(reader, node, tensor->entry.name, &tensor->loops, err);
	reader->n_symbols = n_symbols;
	return ok;
}

/* ---- what is not part of the model ---- */

static bool read_extra(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_extra *extra = out;
	const struct al_item *loop = al_json_first(member);

	if (!al_json_expect(reader->doc, member, AL_JSON_OBJECT, err))
		return false;
	if (al_json_size(member) != 1)
		return al_json_fail(reader->doc, member, err,
			"found %zu loops, expected a loop and its first iteration",
			al_json_size(member));
	extra->name = al_strdup(reader->arena, al_json_key(member));
	return al_read_symbol(reader, loop, &extra->variable, err)
		&& al_read_formula(reader, loop, &extra->from, err);
}

/* ---- llama.cpp's names ---- */

static const char *key_of(void *reader, const struct al_item *member)
{
	return al_strdup(((struct al_reader *)reader)->arena, member->key);
}

static bool read_pair(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_exchange_pair *pair = out;

	pair->name = key_of(reader, member);
	return al_read_text(reader, member, &pair->of, err);
}

static bool read_size(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_exchange_size *size = out;

	size->name = key_of(reader, member);
	return al_read_formula_or_flag(reader, member, &size->value, err);
}

static bool read_number(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_exchange_number *number = out;

	number->name = key_of(reader, member);
	return al_read_config_number(reader, member, &number->value, err);
}

#define AT(member) offsetof(struct al_exchange, member)
static const struct al_field exchange_fields[] = {
	{AL_KEY("architecture", TEXT, AT(architecture)), .is_required = true},
	{AL_KEY("sizes", MEMBERS, AT(sizes)), .n_offset = AT(n_sizes), .read = read_size,
		.item_size = sizeof(struct al_exchange_size), .most = AL_FAMILY_ITEMS},
	{AL_KEY("numbers", MEMBERS, AT(numbers)), .n_offset = AT(n_numbers), .read = read_number,
		.item_size = sizeof(struct al_exchange_number), .most = AL_FAMILY_ITEMS},
	{AL_KEY("tensors", MEMBERS, AT(tensors)), .n_offset = AT(n_tensors), .read = read_pair,
		.item_size = sizeof(struct al_exchange_pair), .most = AL_FAMILY_ITEMS},
	{AL_KEY("scaling", LIST, AT(scaling)), .n_offset = AT(n_scaling)},
};
#undef AT
static const struct al_record exchange_record = {.fields = AL_FIELDS(exchange_fields)};

static bool read_exchange(void *reader, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *r = reader;
	struct al_exchange *exchange = al_new(r->arena, struct al_exchange);

	*(const struct al_exchange **)out = exchange;
	return al_read_record(r, &exchange_record, node, exchange, err);
}

/* ---- families ---- */

/* Whether the family runs, and how it sees: the rest is read where a model is run. */
static bool read_forward(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = out;
	const char *kind = "";

	family->runs = true;
	if (!al_json_get_text(reader->doc, node, "kind", false, &kind, err))
		return false;
	family->is_encoder = strcmp(kind, "encoder") == 0;
	return true;
}

static bool finish_family(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = record;

	if (!family->title)
		family->title = family->name;
	if (!family->source)
		family->source = al_strdup(reader->arena, reader->doc->name);
	if (family->n_spellings % 2 != 0)
		return al_json_fail(reader->doc, al_json_get(node, "spellings"), err,
			"found an odd number of texts, %zu, expected pairs: a text in names, and "
			"another spelling",
			family->n_spellings);
	return true;
}

#define AT(member) offsetof(struct al_family, member)
static const struct al_field family_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_TEXTS_FIELD("model_types", AT(model_types.items), AT(model_types.n)),
		.is_required = true},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("components", MEMBERS, AT(components)), .n_offset = AT(n_components),
		.read = al_read_component, .item_size = sizeof(struct al_family_component),
		.most = AL_N_COMPONENTS},
	{AL_KEY("config", MEMBERS, AT(config)), .n_offset = AT(n_config),
		.read = al_read_config_key, .item_size = sizeof(struct al_config_key),
		.most = AL_FAMILY_ITEMS},
	{AL_KEY("class", TEXT, AT(class_name))},
	{AL_KEY("architectures", MEMBERS, AT(architectures)), .n_offset = AT(n_architectures),
		.read = al_read_architecture, .item_size = sizeof(struct al_architecture),
		.most = AL_FAMILY_ITEMS},
	{AL_TEXTS_FIELD("prefixes", AT(prefixes), AT(n_prefixes))},
	{AL_TEXTS_FIELD("spellings", AT(spellings), AT(n_spellings))},
	{AL_KEY("modules", LIST, AT(modules)), .n_offset = AT(n_modules), .read = read_module,
		.item_size = sizeof(struct al_family_module), .most = AL_FAMILY_ITEMS},
	{AL_KEY("tensors", LIST, AT(tensors)), .n_offset = AT(n_tensors), .read = read_tensor,
		.item_size = sizeof(struct al_family_tensor), .most = AL_FAMILY_ITEMS},
	{AL_KEY("apart", MEMBERS, AT(extras)), .n_offset = AT(n_extras), .read = read_extra,
		.item_size = sizeof(struct al_extra), .most = AL_FAMILY_EXTRAS, .noun = "names"},
	{AL_KEY("dropout", BOOLEAN, AT(has_dropout))},
	{AL_KEY("forward", BY, 0), .read = read_forward},
	{AL_KEY("bare_norms", WHOLE, AT(n_bare_norms))},
	{AL_KEY("gguf", BY, AT(gguf)), .read = read_exchange},
	{AL_KEY("hub", MEMBERS, AT(hub)), .n_offset = AT(n_hub), .read = read_pair,
		.item_size = sizeof(struct al_exchange_pair), .most = AL_FAMILY_ITEMS},
};
#undef AT
static const struct al_record family_record = {
	.fields = AL_FIELDS(family_fields),
	.check = finish_family,
};

bool al_family_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_composition *composition, const struct al_family_component *as,
	struct al_family **out, struct al_error *err)
{
	const bool is_prefixed = as && *as->prefix;
	struct al_family *family = al_new(arena, struct al_family);
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, is_prefixed ? NULL : composition->standard);
	reader.composition = composition;
	reader.as = as;
	if (is_prefixed) {
		reader.prefix = as->prefix;
		al_reader_know(&reader, "layer");
	}
	if (!al_read_record(&reader, &family_record, doc->root, family, err)
		|| (as && !al_component_adapt(&reader, family, err)))
		return false;
	if (family->n_components > 0)
		al_family_compose(family, arena);
	*out = family;
	return true;
}

bool al_family_packs(const struct al_family *family)
{
	for (size_t i = 0; i < family->n_tensors; i++)
		if (family->tensors[i].packed > 1)
			return true;
	return false;
}
