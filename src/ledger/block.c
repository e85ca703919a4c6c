/* A block: a variant under settings and bases, and what its symbols are worth. Bases are chosen by
 * the asker and printed with the answer. */
#include "ledger/block.h"

/* ---- bases ---- */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const projection_names[] = {
	[AL_OUTPUT_OWN] = "own",
	[AL_OUTPUT_FULL] = "full",
	[AL_OUTPUT_NONE] = "none",
};
static const char *const projection_texts[] = {
	[AL_OUTPUT_FULL] = "output projection d_model x d_model",
	[AL_OUTPUT_NONE] = "no output projection",
};
static const char *const per_names[] = {
	[AL_BASIS_MODULE] = "module",
	[AL_BASIS_LAYER] = "layer",
	[AL_BASIS_MODEL] = "model",
	[AL_BASIS_WHOLE] = "whole",
};
static const char *const per_texts[] = {
	[AL_BASIS_MODULE] = "one attention block",
	[AL_BASIS_LAYER] = "the attention of one layer",
	[AL_BASIS_MODEL] = "all attention of the model",
	[AL_BASIS_WHOLE] = "the whole model",
};
static const char *const tensor_names[] = {"all", "matrices"};
static const char *const boolean_names[] = {"false", "true"};

enum { ALL_ROLES = (1u << AL_N_ROLES) - 1 };

void al_basis_init(struct al_basis *basis)
{
	*basis = (struct al_basis){.roles = ALL_ROLES};
}

/* "all", or role names with commas. */
static bool set_roles(struct al_basis *basis, const char *value, struct al_error *err)
{
	unsigned roles = 0;

	if (strcmp(value, "all") == 0) {
		basis->roles = ALL_ROLES;
		return true;
	}
	for (const char *p = value;; p++) {
		char name[32];
		size_t length = strcspn(p, ",");
		snprintf(name, sizeof(name), "%.*s", (int)length, p);
		int role = al_find_name(name, al_role_names, AL_N_ROLES);
		if (role < 0)
			return al_fail_unknown(err, "role", name, al_role_names, AL_N_ROLES);
		roles |= 1u << role;
		p += length;
		if (!*p)
			break;
	}
	basis->roles = roles;
	return true;
}

_Static_assert(sizeof(enum al_basis_per) == sizeof(unsigned), "an enum is stored as unsigned");

/* A key whose value is one of some words, and what its index among them is. */
static const struct choice {
	const char *key;
	const char *const *names;
	size_t n;
	size_t offset;
	bool is_flag; /* a bool; else an enum */
} choices[] = {
	{"output_projection", projection_names, COUNT(projection_names),
		offsetof(struct al_basis, output_projection), false},
	{"biases", boolean_names, COUNT(boolean_names), offsetof(struct al_basis, biases), true},
	{"roles", NULL, 0, 0, false},
	{"tensors", tensor_names, COUNT(tensor_names), offsetof(struct al_basis, only_matrices),
		true},
	{"per", per_names, COUNT(per_names), offsetof(struct al_basis, per), false},
};

bool al_basis_set(struct al_basis *basis, const char *key, const char *value, struct al_error *err)
{
	const struct choice *choice = AL_FIND_KNOWN(choices, COUNT(choices), "basis", key, err);

	if (!choice)
		return false;
	if (!choice->names)
		return set_roles(basis, value, err);
	if (choice->names == per_names && strcmp(value, "block") == 0)
		value = per_names[AL_BASIS_MODULE];
	int index = al_find_name(value, choice->names, choice->n);
	if (index < 0)
		return al_fail_unknown(err, key, value, choice->names, choice->n);
	void *out = (char *)basis + choice->offset;
	if (choice->is_flag)
		*(bool *)out = index == 1;
	else
		*(unsigned *)out = (unsigned)index;
	basis->has_biases |= choice->names == boolean_names;
	return true;
}

static void add_basis_item(struct al_text *text, const char *item)
{
	al_text_addf(text, "%s%s", text->length ? ", " : "", item);
}

static void add_roles(struct al_text *text, unsigned roles)
{
	const char *comma = text->length ? ", only " : "only ";

	for (int role = 0; role < AL_N_ROLES; role++) {
		if (!(roles >> role & 1))
			continue;
		al_text_addf(text, "%s%s", comma, al_role_names[role]);
		comma = " and ";
	}
}

const char *al_basis_text(const struct al_basis *basis, struct al_arena *arena)
{
	AL_TEXT(text);
	if (basis->per != AL_BASIS_WHOLE)
		add_basis_item(&text, per_texts[basis->per]);
	if (basis->only_matrices)
		add_basis_item(&text, "only matrices");
	if (basis->roles != ALL_ROLES)
		add_roles(&text, basis->roles);
	if (basis->output_projection != AL_OUTPUT_OWN)
		add_basis_item(&text, projection_texts[basis->output_projection]);
	if (basis->has_biases)
		add_basis_item(&text, basis->biases ? "with biases" : "without biases");
	return al_strdup(arena, text.length ? text.data : "");
}

void al_basis_note(const struct al_basis *basis, struct al_table *table)
{
	const char *text = al_basis_text(basis, &table->arena);

	if (*text)
		al_table_keep_note(table, "counted: %s", text);
}

/* ---- errors ---- */

bool al_block_in(const struct al_block *block, struct al_error *err)
{
	const struct al_variant *variant = block->configured->variant;

	if (strcmp(block->configured->name, variant->name) == 0)
		return al_in(err, "variant %s (%s)", variant->name, variant->file);
	return al_in(err, "variant %s (%s, %s)", block->configured->name, variant->name,
		variant->file);
}

/* ---- settings ---- */

bool al_block_gives(const struct al_block *block, const char *symbol)
{
	return al_settings_gives(&block->settings, symbol);
}

static bool basis_decides(const struct al_block *block, const char *option)
{
	return block->basis->has_biases && strcmp(option, "biases") == 0
		&& al_variant_has_option(block->configured->variant, option);
}

/* The value that the configured variant fixes a symbol or an option to, or NULL. */
static const struct al_binding *fixed(const struct al_block *block, const char *symbol)
{
	if (block->configured->is_models_own && basis_decides(block, symbol))
		return NULL;
	return AL_FIND(block->configured->with, block->configured->n_with, symbol);
}

/* From weak to strong; the request's settings are there already. */
static void apply_changes(struct al_block *block)
{
	const struct al_variant *variant = block->configured->variant;
	struct al_settings *settings = &block->settings;

	for (size_t i = 0; i < variant->n_options; i++) {
		const struct al_option *option = &variant->options[i];
		if (basis_decides(block, option->name))
			al_settings_set(settings, option->name, block->basis->biases, "basis");
		else if (!al_block_gives(block, option->name))
			al_settings_set(settings, option->name, option->is_on, variant->name);
	}
	for (size_t i = 0; i < block->configured->n_with; i++) {
		const struct al_binding *with = &block->configured->with[i];
		if (fixed(block, with->symbol))
			al_settings_set(settings, with->symbol, with->value,
				block->configured->name);
	}
}

/* ---- symbols ---- */

/* The catalog knows every symbol of its formulas: one without a value is not given. */
static bool find_setting(struct al_block *block, const char *symbol, const struct al_setting **out,
	struct al_error *err)
{
	return al_settings_get(&block->settings, symbol, out, err)
		&& (*out || al_fail(err, AL_EUNSET, "symbol \"%s\" is not set", symbol));
}

static bool scope_lookup(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct al_block *block = context;
	struct al_scope settings = al_settings_scope(&block->settings);
	const struct al_setting *setting;

	if (!find_setting(block, reference->symbol, &setting, err))
		return false;
	if (setting->list || reference->has_index || setting->value.kind != AL_VALUE_INTEGER)
		return settings.lookup(settings.context, reference, found, out, err);
	al_value_set_int(out, setting->value.integer);
	*found = true;
	return true;
}

struct al_scope al_block_scope(struct al_block *block)
{
	return (struct al_scope){.lookup = scope_lookup, .context = block};
}

bool al_block_read(struct al_block *block, const char *symbol, int64_t least, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (!find_setting(block, symbol, &setting, err))
		return false;
	if (setting->value.kind != AL_VALUE_INTEGER || setting->list)
		return al_fail(err, AL_EINPUT, "symbol \"%s\" is not a number", symbol);
	if (setting->value.integer < least)
		return al_fail(err, AL_EINPUT, "%s is %lld, expected at least %lld", symbol,
			(long long)setting->value.integer, (long long)least);
	*out = setting->value.integer;
	return true;
}

/* ---- how many the basis covers ---- */

/* What a model holds of a thing that is shared over a module, a layer, a group of layers.
 *= Vaswani et al. 2017, section 3.1: a decoder layer has a second attention, over the encoder */
static const char *const times_texts[2][AL_PER_MODEL] = {
	{
		[AL_PER_MODULE] = "n_layers",
		[AL_PER_LAYER] = "n_layers",
		[AL_PER_GROUP] = "n_groups",
	},
	{
		[AL_PER_MODULE] = "n_encoder_layers + 2*n_decoder_layers",
		[AL_PER_LAYER] = "n_encoder_layers + n_decoder_layers",
		[AL_PER_GROUP] = "n_groups",
	},
};

static bool is_encoder_decoder(const struct al_block *block)
{
	return al_block_gives(block, "n_encoder_layers")
		|| al_block_gives(block, "n_decoder_layers");
}

bool al_block_is_two_sided(const struct al_block *block)
{
	return block->basis->per == AL_BASIS_MODEL && is_encoder_decoder(block);
}

const struct al_formula *al_block_times_formula(const struct al_block *block, enum al_per shared)
{
	if (block->basis->per != AL_BASIS_MODEL || shared == AL_PER_MODEL)
		return NULL;
	return block->times[is_encoder_decoder(block)][shared];
}

bool al_block_check_per(const struct al_block *block, struct al_error *err)
{
	return block->basis->per != AL_BASIS_LAYER || !is_encoder_decoder(block)
		|| al_fail(err, AL_EINPUT,
			"the layers of an encoder-decoder differ: use --basis per=module or "
			"per=model");
}

/* n_layers is an encoder-decoder's layers on both sides; a contradicting n_layers would be ignored
 * silently. */
static bool check_layers(struct al_block *block, struct al_error *err)
{
	int64_t layers, sum;
	struct al_scope scope = al_block_scope(block);

	if (!is_encoder_decoder(block) || !al_block_gives(block, "n_layers"))
		return true;
	if (!al_formula_whole(block->times[true][AL_PER_LAYER], &scope, 1, &sum, err)
		|| !al_block_read(block, "n_layers", 1, &layers, err))
		return false;
	return layers == sum
		|| al_fail(err, AL_EINPUT,
			"n_layers is %lld, expected n_encoder_layers + n_decoder_layers = %lld",
			(long long)layers, (long long)sum);
}

static bool count_times(struct al_block *block, enum al_per shared, int64_t *out,
	struct al_error *err)
{
	const struct al_formula *times = al_block_times_formula(block, shared);
	struct al_scope scope = al_block_scope(block);

	*out = 1;
	if (!al_block_check_per(block, err))
		return false;
	return !times || (check_layers(block, err) && al_formula_whole(times, &scope, 1, out, err));
}

bool al_block_times(struct al_block *block, enum al_per shared, int64_t *out, struct al_error *err)
{
	int64_t *covered = &block->covered[shared];

	if (!*covered && !count_times(block, shared, covered, err)) {
		*covered = 0;
		return false;
	}
	*out = *covered;
	return true;
}

bool al_block_cached_times(struct al_block *block, int64_t *out, struct al_error *err)
{
	if (!al_block_is_two_sided(block))
		return al_block_times(block, AL_PER_MODULE, out, err);
	return al_block_read(block, "n_decoder_layers", 1, out, err);
}

/* ---- making one ---- */

static bool parse_times(struct al_block *block, struct al_error *err)
{
	for (int sides = 0; sides < 2; sides++)
		for (int shared = 0; shared < AL_PER_MODEL; shared++)
			if (!al_formula_parse(&block->settings.arena, times_texts[sides][shared],
				    AL_DIALECT_CATALOG, &block->times[sides][shared], err))
				return false;
	return true;
}

/* The formulas that the bases bring along. */
static bool parse_formulas(struct al_block *block, struct al_error *err)
{
	if (block->basis->output_projection == AL_OUTPUT_FULL
		&& !al_formula_parse(&block->settings.arena, "d_model", AL_DIALECT_CATALOG,
			&block->d_model, err))
		return false;
	return block->basis->per != AL_BASIS_MODEL || parse_times(block, err);
}

/* Key/value heads that a configured variant asks for must share out the query heads, where these
 * are known. */
bool al_block_check(struct al_block *block, struct al_error *err)
{
	const struct al_configured_variant *configured = block->configured;
	const struct al_setting *heads;

	for (size_t i = 0; i < configured->n_with; i++) {
		const int64_t n_kv_heads = configured->with[i].value;
		if (strcmp(configured->with[i].symbol, "n_kv_heads") != 0 || n_kv_heads < 1)
			continue;
		if (!al_settings_get(&block->settings, "n_heads", &heads, err))
			return false;
		if (heads && heads->value.integer % n_kv_heads != 0)
			return al_fail(err, AL_EINPUT,
				"n_heads (%lld) is not a multiple of n_kv_heads (%lld)",
				(long long)heads->value.integer, (long long)n_kv_heads);
	}
	return true;
}

bool al_block_init(struct al_block *block, const struct al_configured_variant *configured,
	const struct al_settings *settings, const struct al_basis *basis, struct al_error *err)
{
	if (configured->is_all_own && basis->per != AL_BASIS_WHOLE)
		return al_fail(err, AL_EINPUT,
			"variant \"own\" (the model's own attention) needs --basis per=whole");
	*block = (struct al_block){.configured = configured, .basis = basis};
	block->settings.symbols = settings->symbols;
	block->settings.n_symbols = settings->n_symbols;
	block->settings.variant = configured->is_models_own ? NULL : configured->variant;
	al_arena_init(&block->settings.arena);
	al_settings_merge(&block->settings, settings);
	apply_changes(block);
	if (!al_block_check(block, err))
		al_in(err, "variant %s", configured->name);
	else if (parse_formulas(block, err))
		return true;
	al_block_finish(block);
	return false;
}

void al_block_finish(struct al_block *block)
{
	al_settings_finish(&block->settings);
}

bool al_block_set(struct al_block *block, const char *symbol, int64_t value)
{
	if (fixed(block, symbol) || basis_decides(block, symbol))
		return false;
	if (block->basis->per == AL_BASIS_WHOLE)
		al_settings_ask(&block->settings, symbol, value, "set");
	else
		al_settings_set(&block->settings, symbol, value, "set");
	memset(block->covered, 0, sizeof(block->covered));
	return true;
}
