/* A request: a model (or bare symbols), bases, a recipe and the variants that are asked about. */
#include "ledger/request/request.h"

#include "catalog/scheme.h"
#include "ledger/request/subject.h"

/* ---- symbols ---- */

const char *al_request_symbol(const struct al_request *q, const char *name)
{
	for (size_t i = 0; q->family && i < q->family->n_config; i++) {
		const struct al_config_key *key = &q->family->config[i];
		if (al_find_name(name, key->keys, key->n_keys) >= 0)
			return key->symbol;
	}
	return name;
}

static bool has_symbol(const struct al_request *q, const char *symbol)
{
	for (size_t i = 0; q->family && i < q->family->n_config; i++)
		if (strcmp(q->family->config[i].symbol, symbol) == 0)
			return true;
	return false;
}

/* A family's own symbols (n_experts) belong to its models. */
bool al_request_check_symbol(const struct al_request *q, const char *symbol, struct al_error *err)
{
	const char *known = al_request_symbol(q, symbol);

	if (has_symbol(q, known) || (q->family && strcmp(known, "dropout") == 0))
		return true;
	if (strcmp(known, "n_layers") == 0 && has_symbol(q, "n_encoder_layers"))
		return al_fail(err, AL_EINPUT,
			"%s has n_encoder_layers and n_decoder_layers; set these instead of "
			"n_layers",
			q->name);
	return al_symbol_check(&q->asked, &q->variants, symbol, err);
}

/* ---- settings ---- */

/* "KEY=VALUE" */
static bool ask(struct al_request *q, const char *text, const char *origin, struct al_error *err)
{
	const struct al_setting *setting;
	const char *value, *name = al_setting_cut(q->arena, text, &value);

	if (!value)
		return al_settings_parse(&q->asked, text, origin, err);
	if (!al_request_check_symbol(q, name, err))
		return al_in(err, "%s", origin);
	const char *symbol = al_request_symbol(q, name);
	if (!al_settings_parse(&q->asked, al_format(q->arena, "%s=%s", symbol, value), origin, err)
		|| !al_settings_get(&q->asked, symbol, &setting, err))
		return false;
	al_settings_ask(&q->asked, symbol, setting->value.integer, origin);
	return true;
}

/* "128k" -> "131072". Anything else stays. */
static const char *in_full(struct al_arena *arena, const char *tokens)
{
	int64_t value;
	const size_t n = al_read_tokens(tokens, &value);

	return n > 0 && !tokens[n] && value >= 0 ? al_format(arena, "%lld", (long long)value)
						 : tokens;
}

static bool ask_all(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	for (size_t i = 0; i < asked->sets.n; i++)
		if (!ask(q, asked->sets.items[i], asked->origin ? asked->origin : "--set", err))
			return false;
	if (asked->batch && !ask(q, al_format(q->arena, "batch=%s", asked->batch), "--batch", err))
		return false;
	return !asked->seq
		|| ask(q, al_format(q->arena, "seq=%s", in_full(q->arena, asked->seq)), "--seq",
			err);
}

static bool add_families(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	for (size_t i = 0; i < asked->families.n; i++)
		if (!al_catalog_add_families(q->catalog, asked->families.items[i], err))
			return al_in(err, "--families");
	return true;
}

/* The model's settings under what is asked. */
static bool settle(struct al_request *q, struct al_error *err)
{
	al_settings_finish(&q->settings);
	al_settings_init(&q->settings, q->catalog);
	al_settings_merge(&q->settings, &q->asked);
	return !q->model || al_model_settings(q->model, q->catalog, &q->settings, err);
}

bool al_request_set(struct al_request *q, const char *symbol, int64_t value, struct al_error *err)
{
	al_settings_ask(&q->asked, al_request_symbol(q, symbol), value, "set");
	return settle(q, err);
}

/* ---- what is assumed ---- */

bool al_request_context(struct al_request *q, int64_t *out, struct al_error *err)
{
	const struct al_setting *setting;

	*out = 0;
	if (!al_settings_get(&q->settings, "context", &setting, err))
		return false;
	if (setting && setting->value.kind == AL_VALUE_INTEGER)
		*out = setting->value.integer;
	return true;
}

static bool gives(struct al_request *q, const char *symbol, bool *out, struct al_error *err)
{
	const struct al_setting *setting;
	const bool ok = al_settings_get(&q->settings, symbol, &setting, err);

	*out = ok && setting;
	return ok;
}

bool al_request_assume(struct al_request *q, struct al_error *err)
{
	bool has_batch, has_seq;
	int64_t context;

	if (!gives(q, "batch", &has_batch, err) || !gives(q, "seq", &has_seq, err)
		|| !al_request_context(q, &context, err))
		return false;
	q->assumes_batch |= !has_batch;
	q->assumes_seq |= !has_seq && context > 0;
	q->lacks_seq |= !has_seq && context == 0;
	if (!has_batch)
		al_settings_ask(&q->asked, "batch", 1, "default");
	if (!has_seq && context > 0)
		al_settings_ask(&q->asked, "seq", context, "default");
	return settle(q, err);
}

/* ---- which of "all" can be counted ---- */

/* Are all symbols of the variant's tensors and cache known? */
static bool is_countable(const struct al_request *q, const struct al_configured_variant *configured,
	struct al_error *err)
{
	const struct al_ledger_list *list;
	struct al_ledger ledger;

	if (!al_ledger_open_module(&ledger, configured, &q->settings, &q->basis, err))
		return false;
	bool ok = al_ledger_list(&ledger, AL_LIST_STORED, &list, err)
		&& al_ledger_list(&ledger, AL_LIST_CACHE, &list, err);
	al_ledger_close(&ledger);
	return ok;
}

/* "all" are those whose symbols are known: few models give what a low-rank variant would need. */
static bool leave_out(struct al_request *q, struct al_error *err)
{
	size_t kept = 0;

	q->left_out = al_new_array(q->arena, const char *, q->variants.n + 1);
	for (size_t i = 0; i < q->variants.n; i++) {
		const struct al_configured_variant *configured = &q->variants.items[i];
		if (!configured->is_of_all || is_countable(q, configured, err))
			q->variants.items[kept++] = *configured;
		else
			q->left_out[q->n_left_out++] = al_strdup(q->arena, err->message);
	}
	if (kept == 0 && q->variants.n > 0)
		return false;
	q->variants.n = kept;
	return true;
}

/* ---- making one ---- */

static bool find_kernel(const char *name, bool *is_flash, struct al_error *err)
{
	static const char *const kernels[] = {"eager", "flash"};
	const int kernel = al_find_name(name, kernels, 2);

	*is_flash = kernel == 1;
	return kernel >= 0 || al_fail_unknown(err, "--attention", name, kernels, 2);
}

static bool choose_kernel(struct al_recipe *recipe, const char *name, struct al_error *err)
{
	if (!find_kernel(name, &recipe->is_flash, err))
		return false;
	return !recipe->activations_per_token
		|| al_fail(err, AL_EINPUT,
			"--attention can't be used with recipe %s, which has its own rule for "
			"saved activations",
			recipe->name);
}

static bool choose_optimizer(struct al_recipe *recipe, const char *name, struct al_error *err)
{
	size_t found = 0;

	while (found < recipe->n_optimizers && strcmp(recipe->optimizers[found].name, name) != 0)
		found++;
	if (recipe->n_optimizers == 0)
		return al_fail(err, AL_EINPUT,
			"--optimizer can't be used with recipe %s, which has one of its own",
			recipe->name);
	if (found == recipe->n_optimizers)
		return al_fail_unknown_item(err, "--optimizer", name, recipe->optimizers,
			recipe->n_optimizers, sizeof(*recipe->optimizers));
	recipe->chosen = &recipe->optimizers[found];
	recipe->step = recipe->chosen->step;
	if (recipe->chosen->optimizer.n_parts > 0)
		recipe->optimizer = recipe->chosen->optimizer;
	return true;
}

static bool choose_adapters(struct al_arena *arena, struct al_recipe *recipe, const char *names,
	struct al_error *err)
{
	char *rest = al_strdup(arena, names);

	if (!recipe->trainable)
		return al_fail(err, AL_EINPUT,
			"--adapters can't be used with recipe %s, which trains all weights",
			recipe->name);
	for (char *name = strtok_r(rest, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		const int found = al_find_name(name, al_adapted_names, AL_N_ADAPTED);
		if (found < 0)
			return al_fail_unknown(err, "--adapters", name, al_adapted_names,
				AL_N_ADAPTED);
		recipe->adapted |= 1u << found;
	}
	return true;
}

static bool choose(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	struct al_recipe *changed = al_new(q->arena, struct al_recipe);

	*changed = *q->recipe;
	q->recipe = changed;
	return (!asked->kernel || choose_kernel(changed, asked->kernel, err))
		&& (!asked->optimizer || choose_optimizer(changed, asked->optimizer, err))
		&& (!asked->adapters || choose_adapters(q->arena, changed, asked->adapters, err));
}

static bool find_recipe(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	if (asked->has_no_recipe)
		return true;
	return al_catalog_recipe(q->catalog, asked->recipe ? asked->recipe : "megatron", &q->recipe,
		       err)
		&& choose(q, asked, err);
}

static bool find_prefix_caching(struct al_engine_choice *choice, const struct al_asked *asked,
	struct al_error *err)
{
	static const char *const words[] = {"off", "on"};
	const int word = asked->prefix_caching ? al_find_name(asked->prefix_caching, words, 2) : 0;

	choice->caches_prefixes = asked->prefix_caching ? word == 1
							: choice->engine->caches_prefixes;
	return word >= 0
		|| al_fail_unknown(err, "--prefix-caching", asked->prefix_caching, words, 2);
}

/* Does the engine hold the whole context in layers of the family that have a window? */
static bool ignores_windows(const struct al_request *q, const struct al_engine *engine)
{
	return engine->windowed.n > 0 && q->family
		&& al_find_name(q->family->name, engine->windowed.items, engine->windowed.n) < 0;
}

static bool find_engine(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	const char *name = asked->engine ? asked->engine : "ideal";
	struct al_engine_choice *choice = &q->engine;

	*choice = (struct al_engine_choice){.utilization = asked->utilization,
		.kernel = asked->kernel,
		.has_mtp = asked->has_mtp,
		.holds_windows_whole = asked->holds_windows_whole,
		.speculated = asked->speculated ? asked->speculated
						: asked->has_mtp || asked->draft,
		.max_model_len = asked->max_model_len,
		.state_dtype = asked->state_dtype,
		.asked_chunk = asked->chunk,
		.asked_sequences = asked->sequences};
	if (!al_catalog_engine(q->catalog, name, &choice->engine, err))
		return al_in(err, "--engine");
	bool unused_kernel;
	if (asked->kernel && !find_kernel(asked->kernel, &unused_kernel, err))
		return false;
	choice->holds_windows_whole |= ignores_windows(q, choice->engine);
	const struct al_dtype *unused;
	if (asked->state_dtype && !al_dtype_find(asked->state_dtype, &unused, err))
		return al_in(err, "--mamba-ssm-cache-dtype");
	choice->block = asked->block ? asked->block : choice->engine->block;
	return find_prefix_caching(choice, asked, err) && al_engine_settle(choice, NULL, err);
}

static bool find_draft(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	const struct al_asked of_draft = {.subject = asked->draft,
		.engine = asked->engine,
		.per = AL_BASIS_MODEL,
		.has_no_recipe = true};

	q->offload = asked->offload;
	if (!asked->draft)
		return true;
	q->draft = al_new(q->arena, struct al_request);
	if (!al_request_init(q->draft, q->arena, q->catalog, &of_draft, err))
		return al_in(err, "--draft");
	al_arena_defer(q->arena, al_request_finish, q->draft);
	return (q->family && q->draft->family)
		|| al_fail(err, AL_EINPUT, "--draft needs whole models, and %s isn't one",
			q->family ? asked->draft : q->name);
}

static bool fill(struct al_request *q, const struct al_asked *asked, struct al_error *err)
{
	if (!add_families(q, asked, err) || !al_request_find_subject(q, asked, err))
		return false;
	q->basis.per = q->model ? asked->per : AL_BASIS_MODULE;
	return (asked->variants.n == 0
		       || al_configured_variants_parse(&q->variants, q->arena, q->catalog, asked,
			       err))
		&& (asked->bases.n == 0 || al_basis_parse(&q->basis, q->arena, asked->bases, err))
		&& find_recipe(q, asked, err)
		&& (asked->has_no_engine || find_engine(q, asked, err)) && find_draft(q, asked, err)
		&& ask_all(q, asked, err) && settle(q, err)
		&& (asked->keeps_all || leave_out(q, err))
		&& (q->variants.n > 0
			|| al_request_add_own_block(q,
				asked->only_modules && q->basis.per != AL_BASIS_MODULE
					? AL_MODULES_BY_KIND
					: AL_TENSORS_BY_KIND,
				err));
}

void al_request_begin(struct al_request *q, struct al_arena *arena, struct al_catalog *catalog)
{
	*q = (struct al_request){.arena = arena, .catalog = catalog};
	al_settings_init(&q->asked, catalog);
	al_settings_init(&q->settings, catalog);
	al_basis_init(&q->basis);
}

void al_request_copy(struct al_request *q, const struct al_request *of)
{
	*q = *of;
	al_settings_init(&q->asked, of->catalog);
	al_settings_init(&q->settings, of->catalog);
	al_settings_merge(&q->asked, &of->asked);
	al_settings_merge(&q->settings, &of->settings);
}

bool al_request_init(struct al_request *q, struct al_arena *arena, struct al_catalog *catalog,
	const struct al_asked *asked, struct al_error *err)
{
	al_request_begin(q, arena, catalog);
	if (fill(q, asked, err))
		return true;
	al_request_finish(q);
	return false;
}

void al_request_finish(void *object)
{
	struct al_request *q = object;

	al_settings_finish(&q->asked);
	al_settings_finish(&q->settings);
}

bool al_request_is_about_model(const struct al_request *q, bool is_whole)
{
	return q->family
		&& (q->basis.per == AL_BASIS_WHOLE
			|| (q->basis.per == AL_BASIS_MODEL && (q->is_own || is_whole)));
}

const char *al_request_covered(const struct al_request *q, bool is_whole)
{
	if (!q->model || al_request_is_about_model(q, is_whole))
		return q->title;
	return al_format(q->arena,
		q->basis.per == AL_BASIS_MODULE		 ? "one attention module of %s"
			: q->basis.per == AL_BASIS_LAYER ? "the attention of one layer of %s"
							 : "the attention in %s",
		q->title);
}

struct al_ledger_ask al_request_ask(const struct al_request *q,
	const struct al_configured_variant *configured, bool is_model)
{
	return (struct al_ledger_ask){.catalog = q->catalog,
		.model = q->model,
		.family = is_model ? q->family : NULL,
		.name = q->name,
		.settings = &q->settings,
		.basis = &q->basis,
		.engine = q->engine.engine ? &q->engine : NULL,
		.cache = q->cache.dtype,
		.configured = is_model && q->is_own ? NULL : configured};
}

/* ---- the format of its cache ---- */

static bool takes(const struct al_request *q, const struct al_declared_cache *cache)
{
	const struct al_texts *declared = &q->engine.engine->declared;
	const char *text = al_format(q->arena, "%s %s", cache->scheme, cache->dtype);

	return al_find_name(text, declared->items, declared->n) >= 0;
}

/* The engine's format for the cache of the model's attention, where none is asked for. */
static const char *own_format(const struct al_request *q)
{
	const struct al_engine *engine = q->engine.engine;

	return q->is_own && engine->page_dtype
			&& al_engine_has_pages(engine, q->variants.items[0].variant->name)
		? engine->page_dtype
		: "bf16";
}

/* What was asked for, what the model's files declare where the engine takes that, or else the
 * engine's own. */
bool al_request_cache_format(struct al_request *q, const char *asked, struct al_error *err)
{
	struct al_declared_cache cache = {0};

	q->cache = (struct al_cache_format){0};
	if (!asked && q->model && !al_model_cache(q->model, q->catalog, &cache, err))
		return false;
	if (cache.dtype) {
		q->cache.declared = cache.dtype;
		q->cache.declared_in = cache.file;
		q->cache.is_declared = takes(q, &cache);
	}
	if (!al_dtype_find(asked		   ? asked
			    : q->cache.is_declared ? cache.dtype
						   : own_format(q),
		    &q->cache.dtype, err))
		return false;
	return !al_engine_is_eager(&q->engine) || !q->engine.engine->quantizes_by_flash
		|| q->cache.dtype->block_elements == 1
		|| al_fail(err, AL_EINPUT,
			"--cache-dtype %s: %s quantizes the cache only with flash attention; "
			"remove --attention eager",
			q->cache.dtype->name, q->engine.engine->title);
}
