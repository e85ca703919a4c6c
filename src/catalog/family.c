/* Families: parsing. */
#include "catalog/family.h"

#include <string.h>

#include "base/text.h"
#include "catalog/read.h"

const char *const al_part_names[AL_N_PARTS] = {
	"embedding",
	"attention",
	"feed_forward",
	"norm",
	"other",
	"head",
};
static const char *const order_names[] = {"out,in", "in,out"};
static const char *const type_names[AL_N_CONFIG_TYPES] = {
	"whole",
	"boolean",
	"word",
	"list",
	"indices",
	"size",
	"millionths",
};
static const char *const pairs_names[] = {"halves", "interleaved"};
static const char *const role_names[AL_N_FEED_FORWARD_ROLES] = {"up", "gate", "down", "router"};
static const char *const stage_names[AL_N_STAGES] = {"first", "last"};
static const char *const stack_names[AL_N_STACKS] = {"encoder", "decoder"};

enum { MOST_ITEMS = 1024 };

/* A member that is read together with another one. */
static bool read_with_other(void *context, const struct cJSON *node, void *out,
	struct al_error *err)
{
	(void)context;
	(void)node;
	(void)out;
	(void)err;
	return true;
}

/* A text, or a list of texts. */
static bool read_texts(struct al_reader *reader, const struct cJSON *node, const char ***out,
	size_t *n, struct al_error *err)
{
	const struct cJSON *first = al_json_kind(node) == AL_JSON_ARRAY ? al_json_first(node)
									: node;
	size_t room = al_json_kind(node) == AL_JSON_ARRAY ? al_json_size(node) : 1;

	if (room < 1 || room > MOST_ITEMS)
		return al_json_fail(reader->doc, node, err, "found %zu texts, expected 1 to %d",
			room, MOST_ITEMS);
	*out = al_new_array(reader->arena, const char *, room);
	for (*n = 0; *n < room; first = al_json_next(first))
		if (!al_read_text(reader, first, &(*out)[(*n)++], err))
			return false;
	return true;
}

/* A formula, or true or false as 1 or 0. */
static bool read_value(struct al_reader *reader, const struct cJSON *node,
	const struct al_formula **out, struct al_error *err)
{
	int64_t value;

	if (al_json_kind(node) != AL_JSON_BOOLEAN)
		return al_read_formula(reader, node, out, err);
	return al_read_value(reader, node, &value, err)
		&& al_formula_parse(reader->arena, value ? "1" : "0", AL_DIALECT_CATALOG, out, err);
}

/* ---- config ---- */

static bool read_keys(void *reader, const struct cJSON *node, void *out, struct al_error *err)
{
	struct al_config_key *key = out;

	return read_texts(reader, node, &key->keys, &key->n_keys, err);
}

static bool read_words(void *reader, const struct cJSON *node, void *out, struct al_error *err)
{
	struct al_config_key *key = out;

	return read_texts(reader, node, &key->words, &key->n_words, err);
}

/* A default's type may say of which type the key is; the key's type says what a default is. */
static bool read_default(struct al_reader *reader, const struct cJSON *object,
	struct al_config_key *key, struct al_error *err)
{
	const struct cJSON *fallback = al_json_get(object, "default");

	if (!fallback)
		return true;
	if (al_json_kind(fallback) == AL_JSON_BOOLEAN && !al_json_get(object, "type"))
		key->type = AL_CONFIG_BOOLEAN;
	return key->type == AL_CONFIG_WORD ? al_read_text(reader, fallback, &key->word, err)
					   : read_value(reader, fallback, &key->fallback, err);
}

/* A member that only some types of key have. */
static bool check_only(const struct al_reader *reader, const struct cJSON *member, bool is_fitting,
	const char *only, struct al_error *err)
{
	return !member || is_fitting || al_json_fail(reader->doc, member, err, "only %s", only);
}

/* What has no key is always worth its default. */
static bool finish_key(void *context, const struct cJSON *object, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_key *key = record;

	if (key->n_keys == 0 && !al_json_get(object, "default"))
		return al_json_fail(reader->doc, object, err,
			"found neither \"key\" nor \"default\"");
	if (!read_default(reader, object, key, err))
		return false;
	bool is_list = key->type == AL_CONFIG_LIST, is_indices = key->type == AL_CONFIG_INDICES;
	if (!check_only(reader, al_json_get(object, "length"), is_list || is_indices,
		    "a list has a \"length\"", err)
		|| !check_only(reader, al_json_get(object, "first"), is_indices,
			"indices have a \"first\"", err)
		|| !check_only(reader, al_json_get(object, "words"), is_list,
			"a list has \"words\"", err))
		return false;
	return key->length || !(is_list || is_indices)
		|| al_formula_parse(reader->arena, "n_layers", AL_DIALECT_CATALOG, &key->length,
			err);
}

#define AT(member) offsetof(struct al_config_key, member)
static const struct al_field config_fields[] = {
	{AL_KEY("key", BY, 0), .read = read_keys},
	{AL_KEY("default", BY, 0), .read = read_with_other},
	{AL_KEY("null", BY, AT(null)), .read = al_read_formula},
	{AL_KEY("type", WORD, AT(type)), AL_WORDS(type_names), .fallback = AL_CONFIG_WHOLE},
	{AL_KEY("length", BY, AT(length)), .read = al_read_formula},
	{AL_KEY("first", WHOLE, AT(first))},
	{AL_KEY("words", BY, 0), .read = read_words},
};
#undef AT
static const struct al_record config_record = {
	.fields = AL_FIELDS(config_fields),
	.check = finish_key,
};

/* A default may use the symbols before it: no chain of defaults comes back to itself. */
static bool read_config_key(void *context, const struct cJSON *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_key *key = out;

	if (!al_read_symbol(reader, member, &key->symbol, err)
		|| !al_read_record(reader, &config_record, member, key, err))
		return false;
	al_reader_know(reader, key->symbol);
	return true;
}

/* ---- loops and names ---- */

/* "n_layers", or ["n_experts", "n_active"] */
static bool read_loop_count(struct al_reader *reader, const struct cJSON *node,
	struct al_loop *loop, struct al_error *err)
{
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return al_read_formula(reader, node, &loop->count, err);
	if (al_json_size(node) != 2)
		return al_json_fail(reader->doc, node, err,
			"found %zu items, expected how many there are and how many of them are "
			"active",
			al_json_size(node));
	return al_read_formula(reader, al_json_at(node, 0), &loop->count, err)
		&& al_read_formula(reader, al_json_at(node, 1), &loop->active, err);
}

static bool read_loop(struct al_reader *reader, const struct cJSON *member, struct al_loop *loop,
	struct al_error *err)
{
	if (!al_read_symbol(reader, member, &loop->variable, err)
		|| !read_loop_count(reader, member, loop, err))
		return false;
	al_reader_know(reader, loop->variable);
	return true;
}

static bool read_loops(void *context, const struct cJSON *object, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_loops *loops = out;
	size_t n = al_json_size(object);

	if (!al_json_expect(reader->doc, object, AL_JSON_OBJECT, err))
		return false;
	if (n > AL_FAMILY_LOOPS)
		return al_json_fail(reader->doc, object, err,
			"found %zu loops, expected at most %d", n, AL_FAMILY_LOOPS);
	loops->items = al_new_array(reader->arena, struct al_loop, n);
	al_json_each (member, object)
		if (!read_loop(reader, member, &loops->items[loops->n++], err))
			return false;
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

/* Every {variable} of a name must be a loop's. */
static bool check_name(struct al_reader *reader, const struct cJSON *node, const char *name,
	const struct al_loops *loops, struct al_error *err)
{
	for (const char *p = name; (p = strchr(p, '{')); p++) {
		size_t length = strcspn(p + 1, "}");
		if (!p[length + 1])
			return al_json_fail(reader->doc, node, err, "\"%s\" lacks a \"}\"", name);
		if (!has_variable(loops, p + 1, length))
			return al_json_fail(reader->doc, node, err,
				"\"%s\" has {%.*s}, which no \"for\" counts", name, (int)length,
				p + 1);
	}
	return true;
}

#define ORDER(at) \
	{ \
		AL_KEY("order", WORD, at), AL_WORDS(order_names), .fallback = AL_ORDER_OUT_IN \
	}
#define STACK(at) \
	{ \
		AL_KEY("stack", WORD, at), AL_WORDS(stack_names), .fallback = AL_STACK_ONLY \
	}

/* ---- modules ---- */

static bool read_set(void *context, const struct cJSON *member, void *out, struct al_error *err)
{
	struct al_module_set *set = out;

	return al_read_symbol(context, member, &set->symbol, err)
		&& read_value(context, member, &set->value, err);
}

/* ["W_Q", "n_heads*d_head"] */
static bool read_fused_part(void *context, const struct cJSON *node, void *record,
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

static bool check_fused(void *context, const struct cJSON *node, void *record, struct al_error *err)
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
		.item_size = sizeof(struct al_fused), .most = MOST_ITEMS},
};
static const struct al_record fused_record = {
	.fields = AL_FIELDS(fused_fields),
	.check = check_fused,
};

static bool read_fused(void *reader, const struct cJSON *node, void *stored, struct al_error *err)
{
	return al_read_record(reader, &fused_record, node, stored, err);
}

static bool finish_stored(void *context, const struct cJSON *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	const struct al_stored *stored = record;

	if (!stored->is == !al_json_get(node, "fused"))
		return al_json_fail(reader->doc, node, err,
			"expected either \"is\" (one tensor) or \"fused\" (several)");
	return check_name(reader, node, stored->name, reader->loops, err)
		&& (!stored->scale
			|| check_name(reader, al_json_get(node, "scale"), stored->scale,
				reader->loops, err));
}

static const struct al_field stored_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	ORDER(AT(order)),
	{AL_KEY("is", TEXT, AT(is))},
	{AL_KEY("fused", BY, 0), .read = read_fused},
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("optional", BOOLEAN, AT(is_optional))},
	{AL_KEY("scale", TEXT, AT(scale))},
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
	{AL_KEY("pairs", WORD, AT(pairs)), AL_WORDS(pairs_names), .fallback = AL_PAIRS_HALVES},
	{AL_KEY("base", BY, AT(base)), .read = al_read_formula},
};
#undef AT
static const struct al_record rotary_record = {.fields = AL_FIELDS(rotary_fields)};

/* true, false, or {"width": "rotary_dim", "pairs": "interleaved"} */
static bool read_rotary(void *context, const struct cJSON *node, void *out, struct al_error *err)
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
	STACK(AT(stack)),
	{AL_KEY("for", BY, AT(loops)), .read = read_loops},
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("variant", TEXT, AT(variant)), .is_required = true},
	{AL_KEY("set", MEMBERS, AT(set)), .n_offset = AT(n_set), .read = read_set,
		.item_size = sizeof(struct al_module_set), .most = MOST_ITEMS},
	{AL_KEY("rotary", BY, 0), .read = read_rotary},
	{AL_KEY("cross", BOOLEAN, AT(is_cross))},
	{AL_KEY("uses", BY, AT(uses)), .read = al_read_formula},
	{AL_KEY("score_divisor", BY, AT(score_divisor)), .read = al_read_formula},
	{AL_KEY("stored", LIST, AT(stored)), .n_offset = AT(n_stored), .record = &stored_record,
		.most = MOST_ITEMS},
	{AL_KEY("before", TEXT, AT(before))},
};
#undef AT
static const struct al_record module_record = {.fields = AL_FIELDS(module_fields)};

/* A loop's variable is known within its item only. */
static bool read_module(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_module *module = out;
	size_t n_symbols = reader->n_symbols;

	reader->loops = &module->loops;
	bool ok = al_read_record(reader, &module_record, node, module, err)
		&& check_name(reader, node, module->name, &module->loops, err);
	reader->n_symbols = n_symbols;
	return ok;
}

/* ---- tensors ---- */

#define AT(member) offsetof(struct al_family_tensor, member)
static const struct al_field tensor_fields[] = {
	{AL_KEY("part", WORD, AT(part)), AL_WORDS(al_part_names), .is_required = true},
	{AL_KEY("role", WORD, AT(role)), AL_WORDS(role_names), .fallback = AL_FEED_NONE},
	STACK(AT(stack)),
	{AL_KEY("stage", WORD, AT(stage)), AL_WORDS(stage_names), .fallback = AL_STAGE_NOT_SAID},
	{AL_KEY("name", TEXT, AT(entry.name)), .is_required = true},
	{AL_KEY("shape", BY, AT(entry.shape)), .is_required = true, .read = al_read_shape},
	{AL_KEY("kind", WORD, AT(entry.kind)), AL_WORDS(al_tensor_kind_names)},
	{AL_KEY("count", BY, AT(entry.count)), .read = al_read_formula},
	{AL_KEY("active", BY, AT(entry.active)), .read = al_read_formula},
	{AL_KEY("when", BY, AT(entry.when)), .read = al_read_formula},
	ORDER(AT(order)),
	{AL_KEY("for", BY, AT(loops)), .read = read_with_other},
	{AL_KEY("tied_to", TEXT, AT(tied_to))},
	{AL_KEY("packed", WHOLE, AT(packed)), .least = 1, .fallback = 1},
	{AL_KEY("optional", BOOLEAN, AT(is_optional))},
	{AL_KEY("before", TEXT, AT(before))},
};
#undef AT
static const struct al_record tensor_record = {.fields = AL_FIELDS(tensor_fields)};

/* The shape and conditions, which stand anywhere, may use the variables of "for". */
static bool read_tensor(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_tensor *tensor = out;
	const struct cJSON *loops = al_json_get(node, "for");
	size_t n_symbols = reader->n_symbols;

	tensor->entry.role = AL_ROLE_OTHER;
	tensor->entry.per = tensor->entry.shared = AL_PER_MODEL;
	bool ok = (!loops || read_loops(reader, loops, &tensor->loops, err))
		&& al_read_record(reader, &tensor_record, node, tensor, err)
		&& check_name(reader, node, tensor->entry.name, &tensor->loops, err);
	reader->n_symbols = n_symbols;
	return ok;
}

/* ---- what is not part of the model ---- */

static bool read_extra(struct al_reader *reader, const struct cJSON *member, struct al_extra *extra,
	struct al_error *err)
{
	const struct cJSON *loop = al_json_first(member);

	if (!al_json_expect(reader->doc, member, AL_JSON_OBJECT, err))
		return false;
	if (al_json_size(member) != 1)
		return al_json_fail(reader->doc, member, err,
			"found %zu loops, expected one and from which iteration on",
			al_json_size(member));
	extra->name = al_strdup(reader->arena, al_json_key(member));
	return al_read_symbol(reader, loop, &extra->variable, err)
		&& al_read_formula(reader, loop, &extra->from, err);
}

static bool read_extras(void *context, const struct cJSON *object, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = out;
	size_t n = al_json_size(object);

	if (!al_json_expect(reader->doc, object, AL_JSON_OBJECT, err))
		return false;
	if (n > AL_FAMILY_EXTRAS)
		return al_json_fail(reader->doc, object, err,
			"found %zu names, expected at most %d", n, AL_FAMILY_EXTRAS);
	family->extras = al_new_array(reader->arena, struct al_extra, n);
	al_json_each (member, object)
		if (!read_extra(reader, member, &family->extras[family->n_extras++], err))
			return false;
	return true;
}

/* ---- references within the file ---- */

/* The member `key` names a module, or a tensor, of the same file. */
static bool check_reference(const struct al_reader *reader, const struct cJSON *node,
	const char *key, const char *what, const char *const *names, size_t n, struct al_error *err)
{
	const struct cJSON *member = al_json_get(node, key);
	const char *name;

	if (!member)
		return true;
	if (!al_json_text(reader->doc, member, &name, err))
		return false;
	if (al_find_name(name, names, n) >= 0)
		return true;
	if (n == 0)
		return al_json_fail(reader->doc, member, err,
			"unknown %s \"%s\": the family has none", what, name);
	al_fail_unknown(err, what, name, names, n);
	return al_json_in(reader->doc, member, err);
}

static bool check_references(const struct al_reader *reader, const struct al_family *family,
	struct al_error *err)
{
	const char **modules = al_new_array(reader->arena, const char *, family->n_modules);
	const char **tensors = al_new_array(reader->arena, const char *, family->n_tensors);

	for (size_t i = 0; i < family->n_modules; i++)
		modules[i] = family->modules[i].name;
	for (size_t i = 0; i < family->n_tensors; i++)
		tensors[i] = family->tensors[i].entry.name;
	al_json_each (node, al_json_get(reader->doc->root, "modules"))
		if (!check_reference(reader, node, "before", "module", modules, family->n_modules,
			    err))
			return false;
	al_json_each (node, al_json_get(reader->doc->root, "tensors"))
		if (!check_reference(reader, node, "before", "module", modules, family->n_modules,
			    err)
			|| !check_reference(reader, node, "tied_to", "tensor", tensors,
				family->n_tensors, err))
			return false;
	return true;
}

/* ---- families ---- */

static bool read_model_types(void *context, const struct cJSON *node, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = out;

	return al_json_expect(reader->doc, node, AL_JSON_ARRAY, err)
		&& read_texts(reader, node, &family->model_types, &family->n_model_types, err);
}

static bool read_prefixes(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = out;

	return al_json_expect(reader->doc, node, AL_JSON_ARRAY, err)
		&& read_texts(reader, node, &family->prefixes, &family->n_prefixes, err);
}

static bool finish_family(void *context, const struct cJSON *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = record;

	(void)node;
	if (!family->title)
		family->title = family->name;
	return check_references(reader, family, err)
		&& al_family_check_facts(family, reader->doc, err);
}

#define AT(member) offsetof(struct al_family, member)
static const struct al_field family_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("model_types", BY, 0), .is_required = true, .read = read_model_types},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("config", MEMBERS, AT(config)), .n_offset = AT(n_config), .read = read_config_key,
		.item_size = sizeof(struct al_config_key), .most = MOST_ITEMS},
	{AL_KEY("prefixes", BY, 0), .read = read_prefixes},
	{AL_KEY("modules", LIST, AT(modules)), .n_offset = AT(n_modules), .read = read_module,
		.item_size = sizeof(struct al_family_module), .most = MOST_ITEMS},
	{AL_KEY("tensors", LIST, AT(tensors)), .n_offset = AT(n_tensors), .read = read_tensor,
		.item_size = sizeof(struct al_family_tensor), .most = MOST_ITEMS},
	{AL_KEY("apart", BY, 0), .read = read_extras},
	{AL_KEY("dropout", BOOLEAN, AT(has_dropout))},
	{AL_KEY("bare_norms", WHOLE, AT(n_bare_norms))},
};
#undef AT
static const struct al_record family_record = {
	.fields = AL_FIELDS(family_fields),
	.check = finish_family,
};

bool al_family_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard, struct al_family **out, struct al_error *err)
{
	struct al_family *family = al_new(arena, struct al_family);
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, standard);
	if (!al_read_record(&reader, &family_record, doc->root, family, err))
		return false;
	*out = family;
	return true;
}
