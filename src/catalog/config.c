/* A config.json through a family: symbols and their defaults, and what contradicts itself. */
#include "catalog/config.h"

/* ---- keys by symbol ---- */

static const struct al_config_key *find_key(const struct al_config *config, const char *symbol)
{
	return AL_FIND(config->family->config, config->family->n_config, symbol);
}

/* The config's key that sets the symbol; NULL: none, or the request overrides it. */
static const struct al_item *find_given(const struct al_config *config,
	const struct al_config_key *key)
{
	return al_settings_is_asked(config->settings, key->symbol) ? NULL
								   : al_config_find(config, key);
}

/* "num_key_value_heads", as in the config, or as it would be; the symbol of what the request
 * gives. */
static const char *name_of(const struct al_config *config, const struct al_config_key *key)
{
	const struct al_item *node = find_given(config, key);

	if (node)
		return al_json_key(node);
	return key->n_keys == 0 || al_settings_is_asked(config->settings, key->symbol)
		? key->symbol
		: key->keys[0];
}

/* The values that a formula is of, by the names that the config has for them: "; hidden_size = 768;
 * num_attention_heads = 5". */
struct naming {
	const struct al_config *config;
	struct al_text *out;
	const struct al_item *place; /* the last of them that the config gives */
};

static void name_value(void *context, const char *symbol)
{
	struct naming *naming = context;
	const struct al_config_key *key = find_key(naming->config, symbol);
	const struct al_setting *setting;

	if (!key || al_config_is_list(key)
		|| !al_settings_get(naming->config->settings, symbol, &setting, NULL) || !setting
		|| setting->value.kind != AL_VALUE_INTEGER)
		return;
	struct al_arena *arena = &naming->config->settings->arena;
	const char *piece = al_format(arena, "; %s = %s", name_of(naming->config, key),
		al_config_value_text(key, &setting->value, arena));
	if (!strstr(naming->out->data, piece))
		al_text_add(naming->out, piece);
	if (find_given(naming->config, key))
		naming->place = find_given(naming->config, key);
}

/* ---- defaults ---- */

static bool default_list(const struct al_config *config, const struct al_config_key *key,
	const struct al_formula *fallback, const char *origin, struct al_error *err)
{
	struct al_settings *settings = config->settings;
	struct al_iteration iteration = {.settings = settings, .variables = {"layer"}, .n = 1};
	struct al_scope scope = al_iteration_scope(&iteration);
	int64_t length, value;

	if (!al_config_length(config, key, &length, err))
		return false;
	struct al_value *values = al_new_array(&settings->arena, struct al_value, (size_t)length);
	for (int64_t *layer = &iteration.values[0]; *layer < length; ++*layer) {
		if (!al_formula_whole(fallback, &scope, 0, &value, err))
			return false;
		al_value_init(&values[*layer]);
		al_value_set_int(&values[*layer], value);
	}
	al_settings_set_list(settings, key->symbol, values, (size_t)length, origin);
	al_settings_derived(settings, key->symbol, fallback);
	return true;
}

/* The value of a missing or null key; NULL: its word. */
static const struct al_formula *find_fallback(const struct al_config *config,
	const struct al_config_key *key)
{
	if (key->word)
		return NULL;
	return key->null && al_config_find(config, key) ? key->null : key->fallback;
}

/* Where the family derives a symbol as everybody does it stays derived, and follows what is set
 * later. */
static bool is_standard_default(const struct al_config *config, const struct al_config_key *key,
	const struct al_formula *fallback)
{
	const struct al_settings *settings = config->settings;

	const struct al_symbol *symbol = AL_FIND(settings->symbols, settings->n_symbols,
		key->symbol);

	return symbol && symbol->fallback
		&& strcmp(al_formula_source(symbol->fallback), al_formula_source(fallback)) == 0;
}

static bool set_default(const struct al_config *config, const struct al_config_key *key,
	struct al_error *err)
{
	struct al_settings *settings = config->settings;
	struct al_scope scope = al_settings_scope(settings);
	const struct al_formula *fallback = find_fallback(config, key);
	int64_t value;

	if (!fallback && !key->word && al_config_object(config, key->place))
		return false;
	if (!fallback && !key->word) {
		al_settings_set(settings, key->symbol, 0, config->family->name);
		return true; /* of what the model hasn't */
	}
	const char *origin = al_format(&settings->arena, "%s's default %s", config->family->name,
		fallback ? al_formula_source(fallback) : key->word);

	if (!fallback) {
		al_settings_set_word(settings, key->symbol, key->word, origin);
		return true;
	}
	if (al_config_is_list(key))
		return default_list(config, key, fallback, origin, err);
	if (is_standard_default(config, key, fallback))
		return true;
	if (!al_formula_whole(fallback, &scope, 0, &value, err))
		return false;
	al_settings_set(settings, key->symbol, value, origin);
	al_settings_derived(settings, key->symbol, fallback);
	return true;
}

/* ---- what is given ---- */

/* null stands for a derived value, so that only a derived default may take its place. */
static bool is_derived(const struct al_config_key *key)
{
	int64_t number;

	return key->fallback && !al_formula_is_integer(key->fallback, &number);
}

/* "auto", where the reference implementation derives a number, is as null. */
static bool is_automatic(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key)
{
	const char *word;

	return al_json_kind(node) == AL_JSON_TEXT && !al_config_is_list(key)
		&& key->type != AL_CONFIG_WORD && is_derived(key)
		&& al_json_text(config->doc, node, &word, NULL) && strcmp(word, "auto") == 0;
}

static bool is_left_out(const struct al_config *config, const struct al_config_key *key, bool *out,
	struct al_error *err)
{
	const struct al_item *node = al_config_find(config, key);
	bool is_null = node && al_json_kind(node) == AL_JSON_NULL;

	const struct al_item *object = al_config_object(config, key->place);
	if (object && !node && !key->fallback && !key->word && !config->settings->may_lack)
		return al_json_fail(config->doc, object, err, "key \"%s\" is missing, expected %s",
			key->keys[0], al_config_expectation(key));
	if (is_null && !is_derived(key) && !key->null)
		return al_json_fail(config->doc, node, err, "\"%s\" is null, expected %s",
			al_json_key(node), al_config_expectation(key));
	*out = !node || is_null || is_automatic(config, node, key);
	return true;
}

/* ---- what contradicts itself ---- */

/* A model has at least one of each. */
static const char *const sizes_of_all[] = {"d_model", "n_heads", "n_layers", "vocab"};
enum { N_SIZES = sizeof(sizes_of_all) / sizeof(*sizes_of_all) };

/* The first is a multiple of the second, or at most that; 0 experts are none. */
enum relation_kind { MULTIPLE, SHARED_WIDTH /* but where d_head is given */, AT_MOST };

static const struct relation {
	const char *symbols[2];
	enum relation_kind kind;
} relations[] = {
	{{"d_model", "n_heads"}, SHARED_WIDTH},
	{{"d_model", "n_decoder_heads"}, SHARED_WIDTH},
	{{"n_heads", "n_kv_heads"}, MULTIPLE},
	{{"n_active", "n_experts"}, AT_MOST},
};

/* A size that the family reads, by the config's name for it. */
struct operand {
	const struct al_item *given;
	const char *name;
	int64_t value;
};

/* False: the family doesn't have it, or as a list. */
static bool find_operand(const struct al_config *config, const char *symbol, struct operand *out)
{
	const struct al_config_key *key = find_key(config, symbol);
	const struct al_setting *setting;

	if (!key || al_config_is_list(key)
		|| !al_settings_get(config->settings, symbol, &setting, NULL) || !setting)
		return false;
	*out = (struct operand){find_given(config, key), name_of(config, key),
		setting->value.integer};
	return true;
}

static bool check_sizes(const struct al_config *config, struct al_error *err)
{
	struct operand size;

	for (int i = 0; i < N_SIZES; i++)
		if (find_operand(config, sizes_of_all[i], &size) && size.value == 0)
			return al_json_fail(config->doc, size.given ? size.given : config->object,
				err, "\"%s\" is 0, expected a whole number of at least 1",
				size.name);
	return true;
}

static bool holds(enum relation_kind kind, int64_t a, int64_t b)
{
	return kind == AT_MOST ? b == 0 || a <= b : b != 0 && a % b == 0;
}

static bool check_relations(const struct al_config *config, struct al_error *err)
{
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++) {
		const struct relation *r = &relations[i];
		struct operand of[2];
		if ((r->kind == SHARED_WIDTH && al_settings_gives(config->settings, "d_head"))
			|| !find_operand(config, r->symbols[0], &of[0])
			|| !find_operand(config, r->symbols[1], &of[1])
			|| holds(r->kind, of[0].value, of[1].value))
			continue;
		const struct al_item *given = of[r->kind != AT_MOST].given;
		return al_json_fail(config->doc, given ? given : config->object, err,
			r->kind == AT_MOST ? "%s is %lld, expected at most %s = %lld"
					   : "%s (%lld) is not a multiple of %s (%lld)",
			of[0].name, (long long)of[0].value, of[1].name, (long long)of[1].value);
	}
	return true;
}

/* ---- architectures ---- */

static const struct al_architecture *find_architecture(const struct al_family *family,
	const char *name)
{
	return AL_FIND(family->architectures, family->n_architectures, name);
}

/* The first name that a config has; NULL: none. Only texts count. */
static const char *architecture_of(const struct al_json *doc, const struct al_item *config)
{
	const struct al_item *node = al_json_get(config, "architectures");
	const char *name;

	if (node && al_json_kind(node) == AL_JSON_ARRAY)
		node = al_json_first(node);
	return node && al_json_text(doc, node, &name, NULL) ? name : NULL;
}

const char *al_family_unknown_architecture(const struct al_family *family,
	const struct al_json *doc, const struct al_item *config)
{
	const char *name = architecture_of(doc, config);

	return name && family->n_architectures > 0 && !find_architecture(family, name) ? name
										       : NULL;
}

static bool set_symbol(const struct al_config *config, const struct al_module_set *set,
	const char *origin, struct al_error *err)
{
	struct al_scope scope = al_settings_scope(config->settings);
	int64_t value;

	if (al_settings_is_asked(config->settings, set->symbol))
		return true;
	if (!al_formula_whole(set->value, &scope, 0, &value, err))
		return al_in(err, "%s", origin);
	al_settings_set(config->settings, set->symbol, value, origin);
	al_settings_derived(config->settings, set->symbol, set->value);
	return true;
}

/* Symbols set by none of these are 0. */
static void set_zeros(const struct al_config *config, const struct al_architecture *architecture,
	const char *origin)
{
	for (size_t i = 0; i < architecture->n_set; i++)
		if (!al_settings_is_asked(config->settings, architecture->set[i].symbol))
			al_settings_set(config->settings, architecture->set[i].symbol, 0, origin);
}

static bool set_architecture(const struct al_config *config, struct al_error *err)
{
	const struct al_family *family = config->family;
	const char *name = architecture_of(config->doc, config->object);
	const struct al_architecture *found = name ? find_architecture(family, name) : NULL;

	if (family->n_architectures == 0)
		return true;
	if (!found)
		found = &family->architectures[0];
	for (size_t i = 0; i < family->n_architectures; i++)
		set_zeros(config, &family->architectures[i], found->name);
	for (size_t i = 0; i < found->n_set; i++)
		if (!set_symbol(config, &found->set[i], found->name, err))
			return false;
	return true;
}

/* ---- a config ---- */

/* A formula that has no value: why, and of which keys it is. */
static bool fail_default(const struct al_config *config, const struct al_config_key *key,
	struct al_error *err)
{
	if (!err || !check_sizes(config, err))
		return false;
	AL_TEXT(values);
	struct naming naming = {.config = config, .out = &values, .place = config->object};
	if (find_fallback(config, key))
		al_formula_each_symbol(find_fallback(config, key), name_value, &naming);
	return al_json_fail(config->doc, naming.place, err,
		key->n_keys > 0 ? "\"%s\" is left out: %s%s" : "%s: %s%s",
		key->n_keys > 0 ? key->keys[0] : key->symbol, err->message, values.data);
}

static bool set_key(const struct al_config *config, const struct al_config_key *key, bool defaults,
	struct al_error *err)
{
	bool left_out = false;

	if (!is_left_out(config, key, &left_out, err))
		return false;
	if ((left_out || key->type == AL_CONFIG_TIMES) != defaults)
		return true;
	if (!left_out)
		return al_config_read(config, al_config_find(config, key), key, err);
	return set_default(config, key, err) || config->settings->may_lack
		|| fail_default(config, key, err);
}

/* Order: given values, then defaults, which are formulas of them, and multiples of either, then
 * lists, whose lengths are. */
static bool set_keys(const struct al_config *config, struct al_error *err)
{
	for (int pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < config->family->n_config; i++) {
			const struct al_config_key *key = &config->family->config[i];
			if (al_config_is_list(key) == (pass >= 2)
				&& !al_settings_is_asked(config->settings, key->symbol)
				&& !set_key(config, key, pass % 2 == 1, err))
				return false;
		}
	return true;
}

/* A value that isn't an object has no keys; unless it is null, it counts as present. */
static bool expect_objects(const struct al_config *config, const struct al_config_place *place,
	struct al_error *err)
{
	for (size_t i = 0; i < place->n_objects; i++) {
		const struct al_item *node = *place->objects[i]
			? al_config_find_nested(config->object, place->objects[i])
			: NULL;
		if (node && al_json_kind(node) != AL_JSON_NULL
			&& !al_json_expect(config->doc, node, AL_JSON_OBJECT, err))
			return false;
	}
	return true;
}

/* Finds the components in a model's config. There is always a text model. */
static bool set_components(const struct al_config *config, struct al_error *err)
{
	const struct al_family *family = config->family;

	for (size_t i = 0; i < family->n_components; i++) {
		const struct al_family_component *component = &family->components[i];
		const bool is_there = al_config_object(config, &component->place) != NULL;
		if (!expect_objects(config, &component->place, err))
			return false;
		if (component->has)
			al_settings_set(config->settings, component->has, is_there, config->origin);
		else if (!is_there && !config->settings->may_lack)
			return al_json_fail(config->doc, config->object, err,
				"key \"%s\" is missing, expected an object",
				component->place.objects[0]);
	}
	return true;
}

bool al_family_settings(const struct al_family *family, const struct al_json *doc,
	const struct al_item *object, const char *origin, struct al_settings *settings,
	struct al_error *err)
{
	const struct al_config config = {family, doc, object, origin, settings};

	if (!al_settings_is_asked(settings, "dropout"))
		al_settings_set(settings, "dropout", family->has_dropout, family->name);
	return al_json_expect(doc, object, AL_JSON_OBJECT, err) && set_components(&config, err)
		&& set_keys(&config, err) && set_architecture(&config, err)
		&& check_sizes(&config, err) && check_relations(&config, err);
}

size_t al_family_left_out(const struct al_family *family, const struct al_json *doc,
	const struct al_item *object, const struct al_settings *settings, struct al_arena *arena,
	const char *const **sizes)
{
	const struct al_config config = {family, doc, object, family->name, NULL};
	const char **found = al_new_array(arena, const char *, N_SIZES);
	size_t n = 0;
	int64_t value;

	for (int i = 0; i < N_SIZES; i++) {
		const struct al_config_key *key = AL_FIND(family->config, family->n_config,
			sizes_of_all[i]);
		if (key && key->n_keys > 0 && key->fallback
			&& al_formula_is_integer(key->fallback, &value)
			&& !al_settings_is_asked(settings, key->symbol)
			&& !al_config_find(&config, key))
			found[n++] = al_format(arena, "%s = %lld", key->keys[0], (long long)value);
	}
	*sizes = found;
	return n;
}
