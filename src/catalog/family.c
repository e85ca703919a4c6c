/* Families: parsing. */
#include "catalog/family.h"

#include <string.h>

#include "base/text.h"
#include "catalog/read.h"

enum { MOST_ITEMS = 1024 };

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

/* A list or object member and its size, which is bounded. */
static bool open_member(struct al_reader *reader, const struct cJSON *object, const char *key,
	enum al_json_kind kind, const struct cJSON **out, size_t *n, struct al_error *err)
{
	if (!al_json_get_node(reader->doc, object, key, kind, false, out, err))
		return false;
	*n = al_json_size(*out);
	return *n <= MOST_ITEMS
		|| al_json_fail(reader->doc, *out, err, "\"%s\" has %zu items, expected at most %d",
			key, *n, MOST_ITEMS);
}

/* A text, or a list of texts. */
static bool parse_texts(struct al_reader *reader, const struct cJSON *node, const char ***out,
	size_t *n, struct al_error *err)
{
	const struct cJSON *first = al_json_kind(node) == AL_JSON_ARRAY ? al_json_first(node)
									: node;
	size_t room = al_json_kind(node) == AL_JSON_ARRAY ? al_json_size(node) : 1;
	const char *text;

	if (room < 1 || room > MOST_ITEMS)
		return al_json_fail(reader->doc, node, err, "found %zu texts, expected 1 to %d",
			room, MOST_ITEMS);
	*out = al_new_array(reader->arena, const char *, room);
	for (*n = 0; *n < room; first = al_json_next(first)) {
		if (!al_json_text(reader->doc, first, &text, err))
			return false;
		(*out)[(*n)++] = al_strdup(reader->arena, text);
	}
	return true;
}

/* ---- config ---- */

/* What has no key is always worth its default. */
static bool parse_keys(struct al_reader *reader, const struct cJSON *node,
	struct al_config_key *key, struct al_error *err)
{
	const struct cJSON *keys = al_json_get(node, "key");

	if (keys)
		return parse_texts(reader, keys, &key->keys, &key->n_keys, err);
	return al_json_get(node, "default")
		|| al_json_fail(reader->doc, node, err, "found neither \"key\" nor \"default\"");
}

static bool parse_type(struct al_reader *reader, const struct cJSON *node,
	struct al_config_key *key, struct al_error *err)
{
	const struct cJSON *fallback = al_json_get(node, "default");
	bool is_boolean = fallback && al_json_kind(fallback) == AL_JSON_BOOLEAN;
	size_t type = is_boolean ? AL_CONFIG_BOOLEAN : AL_CONFIG_WHOLE;
	int64_t value;

	if (!al_read_word(reader, node, "type", false, type_names, AL_N_CONFIG_TYPES, &type, err))
		return false;
	key->type = (enum al_config_type)type;
	if (type == AL_CONFIG_WORD)
		return al_read_text(reader, node, "default", false, &key->word, err);
	if (!is_boolean)
		return al_read_formula_at(reader, node, "default", false, &key->fallback, err);
	return al_read_value(reader, fallback, &value, err)
		&& al_formula_parse(reader->arena, value ? "1" : "0", AL_DIALECT_CATALOG,
			&key->fallback, err);
}

static bool parse_length(struct al_reader *reader, const struct cJSON *node,
	struct al_config_key *key, struct al_error *err)
{
	const struct cJSON *length = al_json_get(node, "length");

	if (key->type != AL_CONFIG_LIST && key->type != AL_CONFIG_INDICES)
		return !length
			|| al_json_fail(reader->doc, length, err, "only a list has a \"length\"");
	if (length)
		return al_read_formula(reader, length, &key->length, err);
	return al_formula_parse(reader->arena, "n_layers", AL_DIALECT_CATALOG, &key->length, err);
}

static bool parse_first(struct al_reader *reader, const struct cJSON *node,
	struct al_config_key *key, struct al_error *err)
{
	const struct cJSON *first = al_json_get(node, "first");

	if (!first)
		return true;
	if (key->type != AL_CONFIG_INDICES)
		return al_json_fail(reader->doc, first, err, "only indices have a \"first\"");
	return al_json_whole_from(reader->doc, first, 0, &key->first, err);
}

static bool parse_words(struct al_reader *reader, const struct cJSON *node,
	struct al_config_key *key, struct al_error *err)
{
	const struct cJSON *words = al_json_get(node, "words");

	if (!words)
		return true;
	if (key->type != AL_CONFIG_LIST)
		return al_json_fail(reader->doc, words, err, "only a list has \"words\"");
	return parse_texts(reader, words, &key->words, &key->n_words, err);
}

/* A default may use the symbols before it: no chain of defaults comes back to itself. */
static bool parse_config(struct al_reader *reader, struct al_family *family, struct al_error *err)
{
	static const char *const keys[] = {
		"key",
		"default",
		"null",
		"type",
		"length",
		"first",
		"words",
	};
	const struct cJSON *config;
	size_t n;

	if (!open_member(reader, reader->doc->root, "config", AL_JSON_OBJECT, &config, &n, err))
		return false;
	family->config = al_new_array(reader->arena, struct al_config_key, n);
	al_json_each (member, config) {
		struct al_config_key *key = &family->config[family->n_config];
		if (!al_read_symbol(reader, member, &key->symbol, err)
			|| !al_json_only(reader->doc, member, keys, sizeof(keys) / sizeof(*keys),
				err))
			return false;
		if (!parse_keys(reader, member, key, err) || !parse_type(reader, member, key, err)
			|| !al_read_formula_at(reader, member, "null", false, &key->null, err)
			|| !parse_length(reader, member, key, err)
			|| !parse_first(reader, member, key, err)
			|| !parse_words(reader, member, key, err))
			return false;
		al_reader_know(reader, key->symbol);
		family->n_config++;
	}
	return true;
}

/* ---- loops and names ---- */

/* "n_layers", or ["n_experts", "n_active"] */
static bool parse_loop_count(struct al_reader *reader, const struct cJSON *node,
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

static bool parse_loops(struct al_reader *reader, const struct cJSON *node, struct al_loops *loops,
	struct al_error *err)
{
	const struct cJSON *object;
	size_t n;

	if (!open_member(reader, node, "for", AL_JSON_OBJECT, &object, &n, err))
		return false;
	if (n > AL_FAMILY_LOOPS)
		return al_json_fail(reader->doc, object, err,
			"found %zu loops, expected at most %d", n, AL_FAMILY_LOOPS);
	loops->items = al_new_array(reader->arena, struct al_loop, n);
	al_json_each (member, object) {
		struct al_loop *loop = &loops->items[loops->n];
		if (!al_read_symbol(reader, member, &loop->variable, err)
			|| !parse_loop_count(reader, member, loop, err))
			return false;
		al_reader_know(reader, loop->variable);
		loops->n++;
	}
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

static bool parse_order(struct al_reader *reader, const struct cJSON *node, enum al_order *out,
	struct al_error *err)
{
	size_t order = AL_ORDER_OUT_IN;

	if (!al_read_word(reader, node, "order", false, order_names, 2, &order, err))
		return false;
	*out = (enum al_order)order;
	return true;
}

static bool parse_stack(struct al_reader *reader, const struct cJSON *node,
	enum al_layer_stack *out, struct al_error *err)
{
	size_t stack = AL_STACK_ONLY;

	if (!al_read_word(reader, node, "stack", false, stack_names, AL_N_STACKS, &stack, err))
		return false;
	*out = (enum al_layer_stack)stack;
	return true;
}

/* ---- modules ---- */

static bool parse_set(struct al_reader *reader, const struct cJSON *node,
	struct al_family_module *module, struct al_error *err)
{
	const struct cJSON *object;
	size_t n;

	if (!open_member(reader, node, "set", AL_JSON_OBJECT, &object, &n, err))
		return false;
	module->set = al_new_array(reader->arena, struct al_module_set, n);
	al_json_each (member, object) {
		struct al_module_set *set = &module->set[module->n_set++];
		int64_t value;
		if (!al_read_symbol(reader, member, &set->symbol, err))
			return false;
		if (al_json_kind(member) != AL_JSON_BOOLEAN) {
			if (!al_read_formula(reader, member, &set->value, err))
				return false;
		} else if (!al_read_value(reader, member, &value, err)
			|| !al_formula_parse(reader->arena, value ? "1" : "0", AL_DIALECT_CATALOG,
				&set->value, err))
			return false;
	}
	return true;
}

/* ["W_Q", "n_heads*d_head"] */
static bool parse_fused_part(struct al_reader *reader, const struct cJSON *node,
	struct al_fused *out, struct al_error *err)
{
	const char *tensor;

	if (!al_json_expect(reader->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != 2)
		return al_json_fail(reader->doc, node, err,
			"found %zu items, expected a tensor's name and a width",
			al_json_size(node));
	if (!al_json_text(reader->doc, al_json_at(node, 0), &tensor, err))
		return false;
	out->tensor = al_strdup(reader->arena, tensor);
	return al_read_formula(reader, al_json_at(node, 1), &out->width, err);
}

static bool parse_fused(struct al_reader *reader, const struct cJSON *node, struct al_stored *out,
	struct al_error *err)
{
	static const char *const keys[] = {"repeat", "of"};
	const struct cJSON *list;
	size_t n;

	if (!al_json_only(reader->doc, node, keys, 2, err)
		|| !al_read_formula_at(reader, node, "repeat", true, &out->repeat, err)
		|| !open_member(reader, node, "of", AL_JSON_ARRAY, &list, &n, err))
		return false;
	if (n == 0)
		return al_json_fail(reader->doc, node, err, "\"of\" names no tensors");
	out->parts = al_new_array(reader->arena, struct al_fused, n);
	al_json_each (part, list)
		if (!parse_fused_part(reader, part, &out->parts[out->n_parts++], err))
			return false;
	return true;
}

static bool parse_stored(struct al_reader *reader, const struct cJSON *node,
	const struct al_loops *loops, struct al_stored *out, struct al_error *err)
{
	static const char *const keys[] = {"name", "order", "is", "fused", "when", "optional"};
	const struct cJSON *fused = al_json_get(node, "fused");

	if (!al_json_only(reader->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(reader, node, "name", true, &out->name, err)
		|| !check_name(reader, node, out->name, loops, err)
		|| !parse_order(reader, node, &out->order, err)
		|| !al_read_text(reader, node, "is", false, &out->is, err)
		|| !al_read_formula_at(reader, node, "when", false, &out->when, err)
		|| !al_json_get_boolean(reader->doc, node, "optional", false, &out->is_optional,
			err))
		return false;
	if (!out->is == !fused)
		return al_json_fail(reader->doc, node, err,
			"expected either \"is\" (one tensor) or \"fused\" (several)");
	return !fused || parse_fused(reader, fused, out, err);
}

static bool parse_stored_list(struct al_reader *reader, const struct cJSON *node,
	struct al_family_module *module, struct al_error *err)
{
	const struct cJSON *list;
	size_t n;

	if (!open_member(reader, node, "stored", AL_JSON_ARRAY, &list, &n, err))
		return false;
	module->stored = al_new_array(reader->arena, struct al_stored, n);
	al_json_each (item, list)
		if (!parse_stored(reader, item, &module->loops, &module->stored[module->n_stored++],
			    err))
			return false;
	return true;
}

/* true, false, or {"width": "rotary_dim", "pairs": "interleaved"} */
static bool parse_rotary(struct al_reader *reader, const struct cJSON *node,
	struct al_family_module *module, struct al_error *err)
{
	static const char *const keys[] = {"when", "width", "pairs", "base"};
	const struct cJSON *rotary = al_json_get(node, "rotary");
	struct al_rotary *out = &module->rotary;
	size_t pairs = AL_PAIRS_HALVES;

	if (!rotary || al_json_kind(rotary) != AL_JSON_OBJECT)
		return al_json_get_boolean(reader->doc, node, "rotary", false, &module->is_rotary,
			err);
	module->is_rotary = true;
	if (!al_json_only(reader->doc, rotary, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_formula_at(reader, rotary, "when", false, &out->when, err)
		|| !al_read_formula_at(reader, rotary, "width", false, &out->width, err)
		|| !al_read_formula_at(reader, rotary, "base", false, &out->base, err)
		|| !al_read_word(reader, rotary, "pairs", false, pairs_names, 2, &pairs, err))
		return false;
	out->pairs = (enum al_pairs)pairs;
	return true;
}

static bool parse_module(struct al_reader *reader, const struct cJSON *node,
	struct al_family_module *module, struct al_error *err)
{
	static const char *const keys[] = {
		"name",
		"stack",
		"for",
		"when",
		"variant",
		"set",
		"rotary",
		"cross",
		"uses",
		"stored",
		"before",
	};

	return al_json_only(reader->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		&& al_read_text(reader, node, "name", true, &module->name, err)
		&& parse_stack(reader, node, &module->stack, err)
		&& parse_loops(reader, node, &module->loops, err)
		&& check_name(reader, node, module->name, &module->loops, err)
		&& al_read_formula_at(reader, node, "when", false, &module->when, err)
		&& al_read_text(reader, node, "variant", true, &module->variant, err)
		&& parse_set(reader, node, module, err) && parse_rotary(reader, node, module, err)
		&& al_json_get_boolean(reader->doc, node, "cross", false, &module->is_cross, err)
		&& al_read_formula_at(reader, node, "uses", false, &module->uses, err)
		&& parse_stored_list(reader, node, module, err)
		&& al_read_text(reader, node, "before", false, &module->before, err);
}

/* A loop's variable is known within its item only. */
static bool parse_modules(struct al_reader *reader, struct al_family *family, struct al_error *err)
{
	size_t n, n_symbols = reader->n_symbols;
	const struct cJSON *list;

	if (!open_member(reader, reader->doc->root, "modules", AL_JSON_ARRAY, &list, &n, err))
		return false;
	family->modules = al_new_array(reader->arena, struct al_family_module, n);
	al_json_each (node, list) {
		if (!parse_module(reader, node, &family->modules[family->n_modules++], err))
			return false;
		reader->n_symbols = n_symbols;
	}
	return true;
}

/* ---- tensors ---- */

static bool parse_role(struct al_reader *reader, const struct cJSON *node,
	enum al_feed_forward_role *out, struct al_error *err)
{
	size_t role = AL_FEED_NONE;

	if (!al_read_word(reader, node, "role", false, role_names, AL_N_FEED_FORWARD_ROLES, &role,
		    err))
		return false;
	*out = (enum al_feed_forward_role)role;
	return true;
}

static bool parse_stage(struct al_reader *reader, const struct cJSON *node,
	enum al_pipeline_stage *out, struct al_error *err)
{
	size_t stage = AL_STAGE_NOT_SAID;

	if (!al_read_word(reader, node, "stage", false, stage_names, AL_N_STAGES, &stage, err))
		return false;
	*out = (enum al_pipeline_stage)stage;
	return true;
}

static bool parse_packed(struct al_reader *reader, const struct cJSON *node, int64_t *out,
	struct al_error *err)
{
	const struct cJSON *packed = al_json_get(node, "packed");

	*out = 1;
	return !packed || al_json_whole_from(reader->doc, packed, 1, out, err);
}

static bool parse_tensor(struct al_reader *reader, const struct cJSON *node,
	struct al_family_tensor *tensor, struct al_error *err)
{
	size_t part = 0;

	if (!al_json_expect(reader->doc, node, AL_JSON_OBJECT, err)
		|| !parse_loops(reader, node, &tensor->loops, err)
		|| !al_entry_parse(reader, node, AL_FORM_FAMILY_TENSOR, &tensor->entry, err)
		|| !check_name(reader, node, tensor->entry.name, &tensor->loops, err)
		|| !al_read_word(reader, node, "part", true, al_part_names, AL_N_PARTS, &part, err)
		|| !parse_role(reader, node, &tensor->role, err)
		|| !parse_stage(reader, node, &tensor->stage, err)
		|| !parse_stack(reader, node, &tensor->stack, err)
		|| !parse_order(reader, node, &tensor->order, err)
		|| !al_read_text(reader, node, "tied_to", false, &tensor->tied_to, err)
		|| !parse_packed(reader, node, &tensor->packed, err)
		|| !al_json_get_boolean(reader->doc, node, "optional", false, &tensor->is_optional,
			err)
		|| !al_read_text(reader, node, "before", false, &tensor->before, err))
		return false;
	tensor->part = (enum al_part)part;
	return true;
}

static bool parse_tensors(struct al_reader *reader, struct al_family *family, struct al_error *err)
{
	size_t n, n_symbols = reader->n_symbols;
	const struct cJSON *list;

	if (!open_member(reader, reader->doc->root, "tensors", AL_JSON_ARRAY, &list, &n, err))
		return false;
	family->tensors = al_new_array(reader->arena, struct al_family_tensor, n);
	al_json_each (node, list) {
		if (!parse_tensor(reader, node, &family->tensors[family->n_tensors++], err))
			return false;
		reader->n_symbols = n_symbols;
	}
	return true;
}

/* ---- what is counted apart ---- */

static bool parse_apart(struct al_reader *reader, struct al_family *family, struct al_error *err)
{
	const struct cJSON *object;
	size_t n;

	if (!open_member(reader, reader->doc->root, "apart", AL_JSON_OBJECT, &object, &n, err))
		return false;
	if (n > AL_FAMILY_APARTS)
		return al_json_fail(reader->doc, object, err,
			"found %zu names, expected at most %d", n, AL_FAMILY_APARTS);
	family->apart = al_new_array(reader->arena, struct al_apart, n);
	al_json_each (member, object) {
		struct al_apart *apart = &family->apart[family->n_apart++];
		const struct cJSON *loop = al_json_first(member);
		if (!al_json_expect(reader->doc, member, AL_JSON_OBJECT, err))
			return false;
		if (al_json_size(member) != 1)
			return al_json_fail(reader->doc, member, err,
				"found %zu loops, expected one and from which turn on",
				al_json_size(member));
		apart->name = al_strdup(reader->arena, al_json_key(member));
		if (!al_read_symbol(reader, loop, &apart->variable, err)
			|| !al_read_formula(reader, loop, &apart->from, err))
			return false;
	}
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

static bool parse_head(struct al_reader *reader, struct al_family *family, struct al_error *err)
{
	static const char *const keys[] = {
		"name",
		"title",
		"model_types",
		"source",
		"config",
		"prefixes",
		"modules",
		"tensors",
		"apart",
		"dropout",
		"bare_norms",
	};
	const struct cJSON *root = reader->doc->root, *types, *prefixes;

	if (!al_json_only(reader->doc, root, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(reader, root, "name", true, &family->name, err))
		return false;
	family->title = family->name;
	if (!al_read_text(reader, root, "title", false, &family->title, err)
		|| !al_read_text(reader, root, "source", false, &family->source, err)
		|| !al_json_get_boolean(reader->doc, root, "dropout", false, &family->has_dropout,
			err)
		|| !al_json_get_whole(reader->doc, root, "bare_norms", false, &family->n_bare_norms,
			err)
		|| !al_json_get_node(reader->doc, root, "model_types", AL_JSON_ARRAY, true, &types,
			err)
		|| !parse_texts(reader, types, &family->model_types, &family->n_model_types, err)
		|| !al_json_get_node(reader->doc, root, "prefixes", AL_JSON_ARRAY, false, &prefixes,
			err))
		return false;
	return !prefixes
		|| parse_texts(reader, prefixes, &family->prefixes, &family->n_prefixes, err);
}

bool al_family_read(struct al_arena *arena, const struct al_json *doc,
	const struct al_symbols *standard, struct al_family **out, struct al_error *err)
{
	struct al_family *family = al_new(arena, struct al_family);
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, standard);
	if (!parse_head(&reader, family, err) || !parse_config(&reader, family, err)
		|| !parse_modules(&reader, family, err) || !parse_tensors(&reader, family, err)
		|| !parse_apart(&reader, family, err) || !check_references(&reader, family, err)
		|| !al_family_check_facts(family, doc, err))
		return false;
	*out = family;
	return true;
}
