/* Families: reading a file, its tensors and what it names. */
#include "catalog/family_read.h"

#include <string.h>

#include "base/text.h"

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

/* ---- tensors ---- */

#define AT(member) offsetof(struct al_family_tensor, member)
static const struct al_field tensor_fields[] = {
	AL_LOOPS_FIELD(AT(loops)),
	{AL_KEY("part", WORD, AT(part)), AL_WORDS(al_part_names), .is_required = true},
	{AL_KEY("role", WORD, AT(role)), AL_WORDS(role_names), .fallback = AL_FEED_NONE},
	AL_COMPONENT_FIELD(AT(component)),
	AL_STACK_FIELD(AT(stack)),
	{AL_KEY("stage", WORD, AT(stage)), AL_WORDS(stage_names), .fallback = AL_STAGE_NOT_SAID},
	{AL_KEY("name", TEXT, AT(entry.name)), .is_required = true},
	AL_SHAPE_FIELD("shape", AT(entry.shape), AL_SHAPE_DIMS),
	{AL_KEY("kind", WORD, AT(entry.kind)), AL_WORDS(al_tensor_kind_names)},
	{AL_KEY("count", BY, AT(entry.count)), .read = al_read_formula},
	{AL_KEY("active", BY, AT(entry.active)), .read = al_read_formula},
	{AL_KEY("when", BY, AT(entry.when)), .read = al_read_formula},
	AL_ORDER_FIELD(AT(order)),
	{AL_KEY("tied_to", TEXT, AT(tied_to))},
	{AL_KEY("packed", WHOLE, AT(packed)), .least = 1, .fallback = 1},
	{AL_KEY("optional", BOOLEAN, AT(is_optional))},
	{AL_KEY("old", BOOLEAN, AT(is_old))},
	{AL_KEY("before", TEXT, AT(before))},
	{AL_KEY("scores", BOOLEAN, AT(entry.is_of_scores))},
};
#undef AT
static const struct al_record tensor_record = {.fields = AL_FIELDS(tensor_fields)};

/* The variables of "for" are known within the tensor only. */
static bool read_tensor(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_tensor *tensor = out;
	size_t n_symbols = reader->n_symbols;

	tensor->entry.role = AL_ROLE_OTHER;
	tensor->entry.per = tensor->entry.shared = AL_PER_MODEL;
	bool ok = al_read_record(reader, &tensor_record, node, tensor, err)
		&& al_check_loop_variables(reader, node, tensor->entry.name, &tensor->loops, err);
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
			"found %zu loops, expected one and from which iteration on",
			al_json_size(member));
	extra->name = al_strdup(reader->arena, al_json_key(member));
	return al_read_symbol(reader, loop, &extra->variable, err)
		&& al_read_formula(reader, loop, &extra->from, err);
}

/* ---- references within the file ---- */

/* The member `key` names one of the items, modules or tensors of the same file. */
static bool check_reference(const struct al_reader *reader, const struct al_item *node,
	const char *key, const char *what, const void *items, size_t n, size_t size,
	struct al_error *err)
{
	const struct al_item *member = al_json_get(node, key);
	const char *name;

	if (!member)
		return true;
	if (!al_json_text(reader->doc, member, &name, err))
		return false;
	if (al_find_item(items, n, size, name))
		return true;
	if (n == 0)
		return al_json_fail(reader->doc, member, err,
			"unknown %s \"%s\": the family has none", what, name);
	al_fail_unknown_item(err, what, name, items, n, size);
	return al_json_in(reader->doc, member, err);
}

static bool check_before(const struct al_reader *reader, const struct al_item *node,
	const struct al_family *family, struct al_error *err)
{
	return check_reference(reader, node, "before", "module", family->modules, family->n_modules,
		sizeof(*family->modules), err);
}

static bool check_references(const struct al_reader *reader, const struct al_family *family,
	struct al_error *err)
{
	al_json_each (node, al_json_get(reader->doc->root, "modules"))
		if (!check_before(reader, node, family, err))
			return false;
	al_json_each (node, al_json_get(reader->doc->root, "tensors"))
		if (!check_before(reader, node, family, err)
			|| !check_reference(reader, node, "tied_to", "tensor", family->tensors,
				family->n_tensors, sizeof(*family->tensors), err))
			return false;
	return true;
}

/* ---- families ---- */

static bool finish_family(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family *family = record;

	if (!family->title)
		family->title = family->name;
	if (family->n_old_endings % 2 != 0)
		return al_json_fail(reader->doc, al_json_get(node, "old_endings"), err,
			"%zu endings, expected pairs of what names end in now and once",
			family->n_old_endings);
	return check_references(reader, family, err)
		&& al_family_check_facts(family, reader->doc, err);
}

#define AT(member) offsetof(struct al_family, member)
static const struct al_field family_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_TEXTS_FIELD("model_types", AT(model_types), AT(n_model_types)), .is_required = true},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("components", MEMBERS, AT(components)), .n_offset = AT(n_components),
		.read = al_read_component, .item_size = sizeof(struct al_family_component),
		.most = AL_N_COMPONENTS},
	{AL_KEY("config", MEMBERS, AT(config)), .n_offset = AT(n_config),
		.read = al_read_config_key, .item_size = sizeof(struct al_config_key),
		.most = AL_FAMILY_ITEMS},
	{AL_KEY("architectures", MEMBERS, AT(architectures)), .n_offset = AT(n_architectures),
		.read = al_read_architecture, .item_size = sizeof(struct al_architecture),
		.most = AL_FAMILY_ITEMS},
	{AL_TEXTS_FIELD("prefixes", AT(prefixes), AT(n_prefixes))},
	{AL_TEXTS_FIELD("old_endings", AT(old_endings), AT(n_old_endings))},
	{AL_KEY("modules", LIST, AT(modules)), .n_offset = AT(n_modules),
		.read = al_read_family_module, .item_size = sizeof(struct al_family_module),
		.most = AL_FAMILY_ITEMS},
	{AL_KEY("tensors", LIST, AT(tensors)), .n_offset = AT(n_tensors), .read = read_tensor,
		.item_size = sizeof(struct al_family_tensor), .most = AL_FAMILY_ITEMS},
	{AL_KEY("apart", MEMBERS, AT(extras)), .n_offset = AT(n_extras), .read = read_extra,
		.item_size = sizeof(struct al_extra), .most = AL_FAMILY_EXTRAS, .noun = "names"},
	{AL_KEY("dropout", BOOLEAN, AT(has_dropout))},
	{AL_KEY("forward", BY, 0), .read = al_forward_read},
	{AL_KEY("bare_norms", WHOLE, AT(n_bare_norms))},
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
	al_family_compose(family, arena);
	*out = family;
	return true;
}
