/* Settings: given values, and the standard defaults that follow from them. */
#include "catalog/settings.h"

#include "base/hash.h"
#include "catalog/family.h"

void al_settings_init(struct al_settings *settings, struct al_catalog *catalog)
{
	*settings = (struct al_settings){0};
	al_arena_init(&settings->arena);
	settings->symbols = al_catalog_symbols(catalog, &settings->n_symbols);
}

void al_settings_finish(void *object)
{
	struct al_settings *settings = object;

	al_arena_finish(&settings->arena);
	*settings = (struct al_settings){0};
}

static uint64_t hash_of(const char *symbol)
{
	return al_hash(AL_HASH_EMPTY, symbol, strlen(symbol));
}

/* Formulas ask for the same symbols over and over, so hashes are compared before texts. */
static struct al_setting *find(const struct al_settings *settings, const char *symbol)
{
	const uint64_t hash = hash_of(symbol);

	for (size_t i = 0; i < settings->n; i++)
		if (settings->items[i].hash == hash
			&& strcmp(settings->items[i].symbol, symbol) == 0)
			return &settings->items[i];
	return NULL;
}

bool al_settings_gives(const struct al_settings *settings, const char *symbol)
{
	const struct al_setting *item = find(settings, symbol);

	return item && !item->is_default;
}

/* ---- set ---- */

/* Defaults are derived again when they are asked for. */
static void settings_forget_defaults(struct al_settings *settings)
{
	size_t kept = 0;

	while (kept < settings->n && !settings->items[kept].is_default)
		kept++;
	for (size_t i = kept; i < settings->n; i++)
		if (!settings->items[i].is_default)
			settings->items[kept++] = settings->items[i];
	settings->n = kept;
}

/* A new item; the texts are kept, not copied. */
static struct al_setting *add(struct al_settings *settings, const char *symbol, const char *origin)
{
	struct al_setting *item = AL_APPEND(&settings->arena, settings->items, settings->n,
		settings->room);
	*item = (struct al_setting){.symbol = symbol, .hash = hash_of(symbol), .origin = origin};
	al_value_init(&item->value);
	return item;
}

/* The item of a symbol, old or new, with its value back at zero. A sweep sets the same symbols
 * over and over: their texts are copied once. */
static struct al_setting *replace(struct al_settings *settings, const char *symbol,
	const char *origin)
{
	struct al_arena *arena = &settings->arena;

	settings_forget_defaults(settings);
	struct al_setting *item = find(settings, symbol);
	if (!item)
		return add(settings, al_strdup(arena, symbol), al_strdup(arena, origin));
	if (strcmp(item->origin, origin) != 0)
		item->origin = al_strdup(arena, origin);
	item->list = NULL;
	item->n_list = 0;
	item->formula = NULL;
	al_value_init(&item->value);
	return item;
}

void al_settings_derived(struct al_settings *settings, const char *symbol,
	const struct al_formula *formula)
{
	find(settings, symbol)->formula = formula;
}

void al_settings_set(struct al_settings *settings, const char *symbol, int64_t value,
	const char *origin)
{
	al_value_set_int(&replace(settings, symbol, origin)->value, value);
}

void al_settings_ask(struct al_settings *settings, const char *symbol, int64_t value,
	const char *origin)
{
	struct al_setting *item = replace(settings, symbol, origin);

	al_value_set_int(&item->value, value);
	item->is_asked = true;
}

bool al_settings_is_asked(const struct al_settings *settings, const char *symbol)
{
	const struct al_setting *item = find(settings, symbol);

	return item && item->is_asked;
}

void al_settings_set_word(struct al_settings *settings, const char *symbol, const char *word,
	const char *origin)
{
	const char *copy = al_strdup(&settings->arena, word);

	al_value_set_word(&replace(settings, symbol, origin)->value, copy);
}

void al_settings_set_list(struct al_settings *settings, const char *symbol,
	const struct al_value *values, size_t n, const char *origin)
{
	struct al_value *list = al_new_array(&settings->arena, struct al_value, n);

	for (size_t i = 0; i < n; i++) {
		al_value_init(&list[i]);
		if (values[i].kind == AL_VALUE_WORD)
			al_value_set_word(&list[i], al_strdup(&settings->arena, values[i].word));
		else
			al_value_set_int(&list[i], values[i].integer);
	}
	struct al_setting *item = replace(settings, symbol, origin);
	item->list = list;
	item->n_list = n;
}

static void copy_item(struct al_settings *to, const struct al_setting *item)
{
	if (item->is_default)
		return;
	if (item->list)
		al_settings_set_list(to, item->symbol, item->list, item->n_list, item->origin);
	else if (item->value.kind == AL_VALUE_WORD)
		al_settings_set_word(to, item->symbol, item->value.word, item->origin);
	else
		al_settings_set(to, item->symbol, item->value.integer, item->origin);
	if (item->formula)
		al_settings_derived(to, item->symbol, item->formula);
	if (item->is_asked)
		find(to, item->symbol)->is_asked = true;
}

void al_settings_merge(struct al_settings *to, const struct al_settings *from)
{
	for (size_t i = 0; i < from->n; i++)
		copy_item(to, &from->items[i]);
}

void al_settings_merge_asked(struct al_settings *to, const struct al_settings *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (from->items[i].is_asked)
			copy_item(to, &from->items[i]);
}

/* ---- KEY=VALUE ---- */

bool al_settings_parse(struct al_settings *settings, const char *assignment, const char *origin,
	struct al_error *err)
{
	const char *equals = strchr(assignment, '=');
	int64_t value;

	if (!equals)
		return al_fail(err, AL_EINPUT, "%s: found \"%s\", expected SYMBOL=NUMBER", origin,
			assignment);
	const char *symbol = al_strndup(&settings->arena, assignment,
		(size_t)(equals - assignment));
	if (!al_symbol_is_name(symbol))
		return al_fail(err, AL_EINPUT,
			"%s: found \"%s\" before \"=\", expected a symbol's name", origin, symbol);
	size_t n_digits = al_read_digits(equals + 1, &value);
	bool is_count = n_digits > 0 && !equals[1 + n_digits] && value >= 0
		&& value < INT64_C(1) << 53;
	if (!is_count)
		return al_fail(err, AL_EINPUT,
			"%s: %s is \"%s\", expected a whole number of at least 0 and below 2^53",
			origin, symbol, equals + 1);
	al_settings_set(settings, symbol, value, origin);
	return true;
}

/* ---- get ---- */

static size_t list_known(void *context, const char *const **names)
{
	struct al_settings *settings = context;
	const char **known = al_new_array(&settings->arena, const char *,
		settings->n + settings->n_symbols);
	size_t n = 0;

	for (size_t i = 0; i < settings->n; i++)
		known[n++] = settings->items[i].symbol;
	for (size_t i = 0; i < settings->n_symbols; i++)
		if (!find(settings, settings->symbols[i].name))
			known[n++] = settings->symbols[i].name;
	*names = known;
	return n;
}

static const struct al_symbol *find_standard(const struct al_settings *settings, const char *symbol)
{
	const struct al_variant *variant = settings->variant;
	const struct al_symbol *own = variant
		? AL_FIND(variant->defaults, variant->n_defaults, symbol)
		: NULL;

	return own ? own : AL_FIND(settings->symbols, settings->n_symbols, symbol);
}

static bool pick(const struct al_setting *setting, const struct al_reference *reference,
	struct al_value *out, struct al_error *err)
{
	const struct al_value *value = &setting->value;

	if (setting->list && !reference->has_index)
		return al_fail(err, AL_EINPUT, "%s is a list, expected %s[...]", setting->symbol,
			setting->symbol);
	if (!setting->list && reference->has_index)
		return al_fail(err, AL_EINPUT, "%s is not a list, found %s[%lld]", setting->symbol,
			setting->symbol, (long long)reference->index);
	if (setting->list) {
		if (reference->index < 0 || (uint64_t)reference->index >= setting->n_list)
			return al_fail(err, AL_EINPUT, "found %s[%lld], but the list has %zu items",
				setting->symbol, (long long)reference->index, setting->n_list);
		value = &setting->list[reference->index];
	}
	if (value->kind == AL_VALUE_WORD)
		al_value_set_word(out, value->word);
	else
		al_value_set_int(out, value->integer);
	return true;
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct al_settings *settings = context;
	const struct al_setting *setting;

	*found = false;
	if (!al_settings_get(settings, reference->symbol, &setting, err))
		return false;
	if (!setting)
		return !find_standard(settings, reference->symbol)
			|| al_fail(err, AL_EUNSET, "%s is not set", reference->symbol);
	*found = true;
	return pick(setting, reference, out, err);
}

struct al_scope al_settings_scope(struct al_settings *settings)
{
	return (struct al_scope){
		.lookup = look_up,
		.known = list_known,
		.context = settings,
	};
}

/* A standard default uses only symbols before it (finish_symbol); a variant's may lead back to
 * itself. */
static bool evaluate_default(struct al_settings *settings, const struct al_symbol *symbol,
	int64_t *value, struct al_error *err)
{
	const struct al_scope scope = al_settings_scope(settings);
	const struct al_pending_default own = {symbol, settings->pending};

	for (const struct al_pending_default *p = settings->pending; p; p = p->outer)
		if (p->symbol == symbol)
			return al_fail(err, AL_EINPUT, "%s depends on itself", symbol->name);
	settings->pending = &own;
	const bool ok = al_formula_whole(symbol->fallback, &scope, 0, value, err);
	settings->pending = own.outer;
	return ok || al_in(err, "default of %s", symbol->name);
}

bool al_settings_get(struct al_settings *settings, const char *symbol,
	const struct al_setting **out, struct al_error *err)
{
	int64_t value;

	*out = find(settings, symbol);
	if (*out)
		return true;
	const struct al_symbol *standard = find_standard(settings, symbol);
	if (!standard || !standard->fallback)
		return true;
	if (!evaluate_default(settings, standard, &value, err))
		return false;
	struct al_setting *item = add(settings, standard->name, standard->fallback_origin);
	item->is_default = true;
	al_value_set_int(&item->value, value);
	*out = item;
	return true;
}

/* ---- loops ---- */

static bool look_up_iteration(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct al_iteration *iteration = context;
	int variable = al_find_name(reference->symbol, iteration->variables, iteration->n);

	(void)err;
	*found = variable >= 0 && !reference->has_index;
	if (*found)
		al_value_set_int(out, iteration->values[variable]);
	return true;
}

struct al_iteration al_iteration_of(const struct al_loops *loops,
	const int64_t values[AL_FAMILY_LOOPS], struct al_settings *settings)
{
	struct al_iteration iteration = {.settings = settings, .n = loops->n};

	for (size_t i = 0; i < loops->n; i++) {
		iteration.variables[i] = loops->items[i].variable;
		iteration.values[i] = values[i];
	}
	return iteration;
}

struct al_scope al_iteration_scope(struct al_iteration *iteration)
{
	iteration->outer = al_settings_scope(iteration->settings);
	return (struct al_scope){.lookup = look_up_iteration,
		.context = iteration,
		.outer = &iteration->outer};
}

const char *al_iteration_name(const struct al_iteration *iteration, struct al_arena *arena,
	const char *name)
{
	AL_TEXT(text);
	while (*name) {
		size_t plain = strcspn(name, "{");
		al_text_add_bytes(&text, name, plain);
		name += plain;
		if (!*name)
			break;
		size_t length = strcspn(name + 1, "}");
		const char *variable = al_strndup(arena, name + 1, length);
		int index = al_find_name(variable, iteration->variables, iteration->n);
		al_text_addf(&text, "%lld", index < 0 ? 0LL : (long long)iteration->values[index]);
		name += length + 2;
	}
	return al_strdup(arena, text.data);
}
