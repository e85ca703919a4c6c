/* Families: reading attention modules, their stored tensors and the loops that repeat them. */
#include "catalog/family_read.h"

#include <string.h>

const char *const al_order_names[] = {"out,in", "in,out"};
const char *const al_stack_names[AL_N_STACKS] = {"encoder", "decoder"};
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
			"found %zu items, expected how many there are and how many of them are "
			"active",
			al_json_size(node));
	return al_read_formula(reader, al_json_at(node, 0), &loop->count, err)
		&& al_read_formula(reader, al_json_at(node, 1), &loop->active, err);
}

bool al_read_loop(void *reader, const struct al_item *member, void *out, struct al_error *err)
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

bool al_check_loop_variables(struct al_reader *reader, const struct al_item *node, const char *name,
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
			"\"apart\" needs \"heads\" and the order \"in,out\" beside it");
	if (stored->heads && !stored->is)
		return al_json_fail(reader->doc, al_json_get(node, "heads"), err,
			"\"heads\" needs \"is\" beside it: one tensor's heads are cut apart");
	return al_check_loop_variables(reader, node, stored->name, reader->loops, err)
		&& (!stored->scale
			|| al_check_loop_variables(reader, al_json_get(node, "scale"),
				stored->scale, reader->loops, err));
}

static const struct al_field stored_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	AL_ORDER_FIELD(AT(order)),
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
	{AL_KEY("pairs", WORD, AT(pairs)), AL_WORDS(pairs_names), .fallback = AL_PAIRS_HALVES},
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
	AL_STACK_FIELD(AT(stack)),
	AL_COMPONENT_FIELD(AT(component)),
	AL_LOOPS_FIELD(AT(loops)),
	{AL_KEY("when", BY, AT(when)), .read = al_read_formula},
	{AL_KEY("variant", TEXT, AT(variant)), .is_required = true},
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
bool al_read_family_module(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_module *module = out;
	size_t n_symbols = reader->n_symbols;

	reader->loops = &module->loops;
	bool ok = al_read_record(reader, &module_record, node, module, err)
		&& al_check_loop_variables(reader, node, module->name, &module->loops, err);
	reader->n_symbols = n_symbols;
	return ok;
}
