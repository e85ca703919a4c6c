/* Components: a family that is part of another one, read under names of its own, and made part of
 * it. */

#include "catalog/family_read.h"

const char *const al_component_names[AL_N_COMPONENTS] = {
	"text",
	"vision",
	"audio",
	"projector",
	"mtp",
};

/* ---- names ---- */

/* A prefix of names, and the names that have it. */
struct naming {
	struct al_arena *arena;
	const char *prefix;
};

static void rename_one(const struct naming *naming, const char **name)
{
	if (*name)
		*name = al_format(naming->arena, "%s%s", naming->prefix, *name);
}

static void rename_module(const struct naming *naming, const struct naming *modules,
	struct al_family_module *module)
{
	rename_one(modules, &module->name);
	rename_one(modules, &module->before);
	for (size_t i = 0; i < module->n_stored; i++) {
		rename_one(naming, &module->stored[i].name);
		rename_one(naming, &module->stored[i].scale);
	}
}

/* A head may be outside of the text's model, with what is tied to it; so may what predicts
 * further tokens. */
struct namings {
	struct naming own, heads, mtp, modules;
};

static bool is_mtp(const struct al_family *family, const struct al_loops *loops)
{
	for (size_t i = 0; i < family->n_extras; i++)
		for (size_t j = 0; j < loops->n; j++)
			if (strcmp(family->extras[i].variable, loops->items[j].variable) == 0
				&& strcmp(al_formula_source(family->extras[i].from), "0") == 0)
				return true;
	return false;
}

static const struct naming *naming_of(const struct namings *namings, const struct al_family *family,
	const struct al_family_tensor *tensor)
{
	if (is_mtp(family, &tensor->loops))
		return &namings->mtp;
	return tensor->part == AL_PART_HEAD ? &namings->heads : &namings->own;
}

static void rename_tied(const struct namings *namings, const struct al_family *family,
	const char **name)
{
	const struct al_family_tensor *tied = AL_FIND(family->tensors, family->n_tensors, *name);

	rename_one(tied ? naming_of(namings, family, tied) : &namings->own, name);
}

static void rename_all(const struct al_family_component *component, struct al_arena *arena)
{
	struct al_family *family = component->of;
	const char *name = component->has ? al_component_names[component->component] : "";
	const struct namings namings = {
		.own = {arena, component->names},
		.heads = {arena, component->head_names},
		.mtp = {arena, component->mtp_names},
		.modules = {arena, component->has ? al_format(arena, "%s.", name) : ""},
	};

	for (size_t i = 0; i < family->n_modules; i++) {
		struct al_family_module *module = &family->modules[i];
		rename_module(is_mtp(family, &module->loops) ? &namings.mtp : &namings.own,
			&namings.modules, module);
	}
	for (size_t i = 0; i < family->n_tensors; i++) {
		struct al_family_tensor *tensor = &family->tensors[i];
		rename_one(&namings.modules, &tensor->before);
		if (tensor->tied_to)
			rename_tied(&namings, family, &tensor->tied_to);
	}
	for (size_t i = 0; i < family->n_tensors; i++)
		rename_one(naming_of(&namings, family, &family->tensors[i]),
			&family->tensors[i].entry.name);
}

/* ---- what is there only with the component ---- */

static bool guard(const struct al_family_component *component, struct al_arena *arena,
	const struct al_formula **when, struct al_error *err)
{
	const char *text = component->has;

	if (!text)
		return true;
	if (*when)
		text = al_format(arena, "%s and (%s)", text, al_formula_source(*when));
	return al_formula_parse(arena, text, AL_DIALECT_CATALOG, when, err);
}

/* ---- what a variant's symbols are worth in a tower ---- */

struct binding {
	struct al_reader *reader; /* of the component */
	const struct al_variant *variant;
	struct al_family *family;
	struct al_family_module *module;
	struct al_error *err;
	bool is_ok;
};

static const struct al_module_set *find_set(const struct al_family_module *module,
	const char *symbol)
{
	return AL_FIND(module->set, module->n_set, symbol);
}

static void bind_to(struct binding *b, const char *symbol, const char *formula)
{
	struct al_family_module *module = b->module;
	struct al_module_set *sets = al_new_array(b->reader->arena, struct al_module_set,
		module->n_set + 1);

	if (!al_formula_parse(b->reader->arena, formula, AL_DIALECT_CATALOG,
		    &sets[module->n_set].value, b->err)) {
		b->is_ok = false;
		return;
	}
	sets[module->n_set].symbol = symbol;
	for (size_t i = 0; i < module->n_set; i++)
		sets[i] = module->set[i];
	module->set = sets;
	module->n_set++;
}

static bool is_of_request(const char *symbol)
{
	static const char *const names[] = {"seq", "batch", "source_seq"};

	return al_find_name(symbol, names, sizeof(names) / sizeof(*names)) >= 0;
}

/* "n_heads" where another symbol is its default: a formula, which a family has to define. */
static const char *find_default(const struct binding *b, const char *symbol)
{
	const struct al_symbols *standard = b->reader->composition->standard;
	int index = al_find_name(symbol, standard->names, standard->n);
	const struct al_formula *fallback = index < 0 ? NULL : standard->items[index].fallback;

	return fallback && al_symbol_is_name(al_formula_source(fallback))
		? al_formula_source(fallback)
		: NULL;
}

/* The text's value would be taken otherwise: what the family doesn't define is refused. */
static void bind_symbol(void *context, const char *symbol)
{
	struct binding *b = context;
	const char *own = al_format(b->reader->arena, "%s%s", b->reader->prefix, symbol);
	const char *of = find_default(b, symbol);

	if (!b->is_ok || find_set(b->module, symbol) || is_of_request(symbol)
		|| al_variant_has_option(b->variant, symbol))
		return;
	if (al_find_name(own, b->reader->symbols, b->reader->n_symbols) >= 0)
		bind_to(b, symbol, own);
	else if (of) {
		bind_symbol(b, of);
		const struct al_module_set *set = find_set(b->module, of);
		if (set)
			bind_to(b, symbol, al_formula_source(set->value));
	} else
		b->is_ok = al_fail(b->err, AL_EINPUT,
			"module %s: variant %s needs %s, which family %s doesn't set",
			b->module->name, b->variant->name, symbol, b->family->name);
}

static void bind_entries(struct binding *b, const struct al_entries *entries)
{
	const struct al_formula *formulas[AL_ENTRY_FORMULAS];

	for (size_t i = 0; i < entries->n; i++) {
		const size_t n = al_entry_formulas(&entries->items[i], formulas);
		for (size_t j = 0; j < n; j++)
			al_formula_each_symbol(formulas[j], bind_symbol, b);
	}
}

/* The text may have a symbol by an option's name. */
static void bind_options(struct binding *b)
{
	for (size_t i = 0; i < b->variant->n_options; i++) {
		const struct al_option *option = &b->variant->options[i];
		if (b->is_ok && !find_set(b->module, option->name)
			&& strcmp(option->name, "dropout") != 0)
			bind_to(b, option->name, option->is_on ? "1" : "0");
	}
}

static bool bind_module(struct al_reader *reader, struct al_family *family,
	struct al_family_module *module, struct al_error *err)
{
	struct binding b = {.reader = reader, .family = family, .module = module, .err = err};

	if (!al_catalog_variant(reader->composition->catalog, module->variant, &b.variant, err))
		return false;
	b.is_ok = true;
	bind_options(&b);
	bind_entries(&b, &b.variant->tensors);
	bind_entries(&b, &b.variant->cache);
	bind_entries(&b, &b.variant->activations);
	bind_entries(&b, &b.variant->products);
	return b.is_ok;
}

bool al_component_adapt(struct al_reader *reader, struct al_family *family, struct al_error *err)
{
	const struct al_family_component *as = reader->as;

	for (size_t i = 0; i < family->n_modules; i++) {
		struct al_family_module *module = &family->modules[i];
		module->component = as->component;
		if (!guard(as, reader->arena, &module->when, err)
			|| (*reader->prefix && !bind_module(reader, family, module, err)))
			return false;
	}
	for (size_t i = 0; i < family->n_tensors; i++) {
		struct al_family_tensor *tensor = &family->tensors[i];
		if (tensor->component != AL_COMPONENT_PROJECTOR)
			tensor->component = as->component;
		if (!guard(as, reader->arena, &tensor->entry.when, err))
			return false;
	}
	return true;
}

/* ---- in the outer family's file ---- */

/* ["version", "2.6=qwen2", ...] */
static bool check_by(void *context, const struct al_item *node, void *record, struct al_error *err)
{
	const struct al_reader *reader = context;
	const struct al_family_component *component = record;
	size_t n = 0;

	while (n < component->n_by && !strchr(component->by[n], '=') == (n == 0))
		n++;
	return (n != 1 && n == component->n_by)
		|| al_json_fail(reader->doc, al_json_get(node, "by"), err,
			"expected a key, and \"value=family\" for each value of it");
}

#define AT(member) offsetof(struct al_family_component, member)
static const struct al_field component_fields[] = {
	{AL_TEXTS_FIELD("config", AT(place.objects), AT(place.n_objects)), .is_required = true},
	{AL_TEXTS_FIELD("around", AT(place.around), AT(place.n_around))},
	{AL_KEY("family", BY, AT(family)), .is_required = true, .read = al_read_path},
	{AL_KEY("by_model_type", BOOLEAN, AT(by_model_type))},
	{AL_TEXTS_FIELD("by", AT(by), AT(n_by))},
	{AL_KEY("names", TEXT, AT(names))},
	{AL_KEY("head_names", TEXT, AT(head_names))},
	{AL_KEY("mtp_names", TEXT, AT(mtp_names))},
	{AL_KEY("defaults", MEMBERS, AT(defaults)), .n_offset = AT(n_defaults), .read = al_read_set,
		.item_size = sizeof(struct al_module_set), .most = AL_FAMILY_ITEMS},
};
#undef AT
static const struct al_record component_record = {
	.fields = AL_FIELDS(component_fields),
	.check = check_by,
};

static bool check_defaults(const struct al_reader *reader, const struct al_item *member,
	const struct al_family_component *component, struct al_error *err)
{
	const struct al_item *defaults = al_json_get(member, "defaults");

	for (size_t i = 0; i < component->n_defaults; i++) {
		const char *symbol = component->defaults[i].symbol;
		if (!AL_FIND(component->of->config, component->of->n_config,
			    al_format(reader->arena, "%s%s", component->prefix, symbol)))
			return al_json_fail(reader->doc, al_json_get(defaults, symbol), err,
				"family %s has no symbol \"%s\"", component->of->name, symbol);
	}
	return true;
}

/* Reads the family that the component is, and knows its symbols from here on. */
static bool read_family(struct al_reader *reader, const struct al_item *member,
	struct al_family_component *component, struct al_error *err)
{
	const struct al_composition *whole = reader->composition;
	const char *chosen = whole->families ? whole->families[component->component] : NULL;
	const char *name = chosen ? chosen : component->family;
	AL_JSON(doc);

	component->family = al_strdup(reader->arena, name);
	if (!al_catalog_family_document(whole->catalog, name, &doc, err)
		|| !al_family_read(reader->arena, &doc, whole, component, &component->of, err)
		|| (al_catalog_is_path(name)
			&& !al_family_check(component->of, &doc, whole->catalog, err)))
		return al_json_in(reader->doc, al_json_get(member, "family"), err);
	if (!check_defaults(reader, member, component, err))
		return false;
	for (size_t i = 0; i < component->of->n_config; i++)
		al_reader_know(reader, component->of->config[i].symbol);
	for (size_t i = 0; i < component->of->n_architectures; i++)
		for (size_t j = 0; j < component->of->architectures[i].n_set; j++)
			al_reader_know(reader, component->of->architectures[i].set[j].symbol);
	rename_all(component, reader->arena);
	return true;
}

bool al_read_component(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_family_component *component = out;
	int index = al_find_name(al_json_key(member), al_component_names, AL_COMPONENT_PROJECTOR);

	if (index < 0) {
		al_fail_unknown(err, "component", al_json_key(member), al_component_names,
			AL_COMPONENT_PROJECTOR);
		return al_json_in(reader->doc, member, err);
	}
	if (reader->as)
		return al_json_fail(reader->doc, member, err,
			"a family with components can't be a component itself");
	component->component = (enum al_component)index;
	component->prefix = component->names = "";
	if (!al_read_record(reader, &component_record, member, component, err))
		return false;
	if (!component->head_names)
		component->head_names = component->names;
	if (!component->mtp_names)
		component->mtp_names = component->names;
	if (component->component != AL_COMPONENT_TEXT) {
		component->prefix = al_format(reader->arena, "%s_", al_component_names[index]);
		component->has = al_format(reader->arena, "has_%s", al_component_names[index]);
		al_reader_know(reader, component->has);
	}
	return read_family(reader, member, component, err);
}

/* ---- one family of all ---- */

/* `a` and then `b`, of one size each. */
static void *join(struct al_arena *arena, const void *a, size_t n_a, const void *b, size_t n_b,
	size_t size)
{
	char *items = al_arena_alloc(arena, n_a + n_b, size);

	if (n_a > 0)
		memcpy(items, a, n_a * size);
	if (n_b > 0)
		memcpy(items + n_a * size, b, n_b * size);
	return items;
}

/* Puts the items of `of` before or after the family's. */
#define JOIN(family, of, arena, member, count, is_first) \
	((family)->member = (is_first) \
			? join(arena, (of)->member, (of)->count, (family)->member, \
				(family)->count, sizeof(*(family)->member)) \
			: join(arena, (family)->member, (family)->count, (of)->member, \
				(of)->count, sizeof(*(family)->member)), \
		(family)->count += (of)->count)

static void take_in(struct al_family *family, const struct al_family *of, struct al_arena *arena)
{
	JOIN(family, of, arena, config, n_config, true);
	JOIN(family, of, arena, modules, n_modules, true);
	JOIN(family, of, arena, tensors, n_tensors, true);
	JOIN(family, of, arena, extras, n_extras, false);
	JOIN(family, of, arena, architectures, n_architectures, false);
}

void al_family_compose(struct al_family *family, struct al_arena *arena)
{
	for (int c = AL_COMPONENT_PROJECTOR - 1; c >= 0; c--)
		for (size_t i = 0; i < family->n_components; i++) {
			struct al_family_component *component = &family->components[i];
			if ((int)component->component != c)
				continue;
			if (c == AL_COMPONENT_TEXT) {
				family->has_dropout = component->of->has_dropout;
				family->n_bare_norms = component->of->n_bare_norms;
				family->runs = component->of->runs;
				family->is_encoder = component->of->is_encoder;
			}
			take_in(family, component->of, arena);
		}
}
