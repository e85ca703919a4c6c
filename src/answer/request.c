/* Requests as the options of the command line ask them. */
#include "answer/request.h"

const struct al_option_row al_setting_rows[] = {
	OPTION_LIST(struct al_asked, sets, "set", "KEY=VALUE", "set a symbol, e.g. n_heads=12"),
	OPTION_TEXT(struct al_asked, batch, "batch", "N", "batch size (same as --set batch=N)"),
	OPTION_TEXT(struct al_asked, seq, "seq", "N",
		"context length in tokens (same as --set seq=N); 128k is 131072, 1M 2^20"),
	OPTION_LIST(struct al_asked, families, "families", "PATH",
		"also read this folder of model families, or one family's file"),
	OPTION_END,
};

const struct al_option_row al_variant_rows[] = {
	OPTION_LIST(struct al_asked, variants, "variant", "NAME|FILE[:KEY=VALUE,...],...",
		"attention variants, optionally with overrides: mha,gqa:n_kv_heads=4,mqa; \"all\" "
		"for "
		"every built-in one"),
	OPTION_LIST(struct al_asked, bases, "basis", "KEY=VALUE",
		"what to count: output_projection=own|full|none, biases=true|false, roles=A,B, "
		"per=module|layer|model"),
	OPTION_END,
};

const struct al_option_row al_recipe_rows[] = {
	OPTION_TEXT(struct al_asked, recipe, "recipe", "NAME",
		"rules for training memory (list recipes); default megatron"),
	OPTION_TEXT(struct al_asked, kernel, "attention", "KERNEL",
		"eager, or flash as sdpa also is (default: the recipe's, the engine's)"),
	OPTION_TEXT(struct al_asked, optimizer, "optimizer", "NAME",
		"adamw-fused, adamw8bit ... (default: the recipe's)"),
	OPTION_TEXT(struct al_asked, adapters, "adapters", "A,B,C",
		"matrices with LoRA: query, key, value, output, gate, up, down (default: all)"),
	OPTION_END,
};

const struct al_option_row al_engine_rows[] = {
	OPTION_TEXT(struct al_asked, engine, "engine", "NAME[@V]",
		"inference engine: ideal (default), vllm, sglang, llama.cpp, transformers (list "
		"engines); vllm@0.12 is its version 0.12"),
	OPTION_COUNT(struct al_asked, block, "block", "N",
		"tokens per cache block (default: the engine's)", .least = 1),
	OPTION_COUNT(struct al_asked, chunk, "max-num-batched-tokens", "N",
		"tokens that a step processes (default: the engine's)", .least = 1),
	OPTION_COUNT(struct al_asked, sequences, "max-num-seqs", "N",
		"sequences that a step samples (default: the engine's)", .least = 1),
	OPTION_FLAG(struct al_asked, holds_windows_whole, "swa-full",
		"window layers hold the whole context (llama.cpp, sglang)"),
	OPTION_COUNT(struct al_asked, max_model_len, "max-model-len", "N",
		"longest sequence that the engine is started for (default: the model's context)",
		.least = 1),
	OPTION_TEXT(struct al_asked, state_dtype, "mamba-ssm-cache-dtype", "NAME",
		"number format of recurrent states (default: the model's or the engine's)"),
	OPTION_TEXT(struct al_asked, prefix_caching, "prefix-caching", "on|off",
		"keep states for common prefixes (default: the engine's)"),
	OPTION_COUNT(struct al_asked, speculated, "speculative-tokens", "N",
		"tokens speculated in each step (default: 1 with --mtp)", .least = 1),
	OPTION_TEXT(struct al_asked, draft, "draft", "MODEL",
		"draft model that speculates, on the same devices"),
	OPTION_TEXT(struct al_asked, utilization, "utilization", "SHARE",
		"share of device memory to use, e.g. 0.9 (default: the engine's)"),
	OPTION_FLAG(struct al_asked, has_mtp, "mtp",
		"include the multi-token prediction layers and their cache"),
	OPTION_END,
};

bool al_names_variants(const struct al_asked *asked)
{
	return asked->variants.n > 0;
}

struct al_request *al_ask_request(struct al_session *session, const struct al_asked *options,
	const char *word, bool takes_variant, struct al_error *err)
{
	struct al_request *request = al_new(&session->arena, struct al_request);
	struct al_asked asked = *options;

	asked.subject = word;
	asked.takes_variant = takes_variant;
	asked.per = AL_BASIS_MODEL;
	if (!al_request_init(request, &session->arena, session->catalog, &asked, err))
		return NULL;
	al_arena_defer(&session->arena, al_request_finish, request);
	return request;
}

bool al_each_request(struct al_session *session, const struct al_asked *options, bool takes_variant,
	bool (*answer)(void *context, struct al_request *request, struct al_error *err),
	void *context, struct al_error *err)
{
	const struct al_arena_deferred *mark = session->arena.deferred;

	for (size_t i = 0; i < session->line.n_words; i++) {
		struct al_request *request = al_ask_request(session, options,
			session->line.words[i], takes_variant, err);
		if (!request)
			return false;
		request->is_last = i + 1 == session->line.n_words;
		if (!answer(context, request, err))
			return false;
		al_arena_settle(&session->arena, mark);
	}
	return true;
}

bool al_request_number(struct al_request *q, const char *symbol, int64_t least, int64_t fallback,
	int64_t *out, struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&q->settings, symbol, &setting, err))
		return false;
	*out = setting ? setting->value.integer : fallback;
	return !setting || *out >= least
		|| al_fail(err, AL_EINPUT, "%s is %lld, expected at least %lld", symbol,
			(long long)*out, (long long)least);
}

struct al_quantization *al_request_quantization(struct al_request *q, const char *name,
	struct al_error *err)
{
	struct al_quantization *quantization = al_new(q->arena, struct al_quantization);

	if (name && strcmp(name, "fp8") == 0 && q->engine.engine->fp8)
		name = q->engine.engine->fp8;

	if (!al_quantization_init(quantization, q->arena, q->catalog, q->model, name, err))
		return NULL;
	al_arena_defer(q->arena, al_quantization_finish, quantization);
	return quantization;
}

bool al_request_open_draft(const struct al_request *q, struct al_ledger_ask *ask,
	struct al_error *err)
{
	if (!q->draft)
		return true;
	struct al_ledger_ask of_draft = al_request_ask(q->draft, NULL, true);
	const struct al_ledger_list *tensors;
	of_draft.tp = ask->tp;
	of_draft.detail = ask->detail;
	of_draft.explains = ask->explains;
	of_draft.engine = ask->engine;
	of_draft.cache = ask->cache;
	of_draft.quantization = al_request_quantization(q->draft, NULL, err);
	ask->draft = of_draft.quantization ? al_ledger_create(q->arena, &of_draft, err) : NULL;
	return (ask->draft && al_ledger_list(ask->draft, AL_LIST_TENSORS, &tensors, err))
		|| al_in(err, "--draft");
}

bool al_check_whole(const struct al_request *q, bool is_whole, struct al_error *err)
{
	return !is_whole || al_request_is_about_model(q, true)
		|| al_fail(err, AL_EINPUT,
			q->family ? "--whole and --basis per=... exclude each other: remove one of "
				    "them"
				  : "--whole needs a complete model, not only attention");
}

/* ---- conventions, in every answer ---- */

/* "gqa, biases=false": what the family sets in a module, except what the basis covers already. */
static const char *module_text(const struct al_request *q,
	const struct al_configured_variant *configured, struct al_arena *arena)
{
	const char *text = configured->variant->name;

	for (size_t i = 0; i < configured->n_with; i++) {
		const struct al_binding *with = &configured->with[i];
		if (q->basis.has_biases && strcmp(with->symbol, "biases") == 0)
			continue;
		const char *value = al_variant_has_option(configured->variant, with->symbol)
			? with->value ? "true" : "false"
			: al_format(arena, "%lld", (long long)with->value);
		text = al_format(arena, "%s, %s=%s", text, with->symbol, value);
	}
	return text;
}

/* Modules that are configured alike. */
struct alike {
	const char *text;
	int64_t n_modules;
};
enum { MOST_KINDS = 4 };

/* Of the model's own layers: those of towers and of additional parts don't count. The last of
 * `kinds` is there for what is one too many. */
static size_t find_kinds(const struct al_request *q, const struct al_ledger *ledger,
	struct al_arena *arena, struct alike kinds[MOST_KINDS + 1])
{
	size_t n = 0, k;

	for (size_t i = 0; i < ledger->n_modules; i++) {
		const struct al_ledger_module *module = &ledger->modules[i];
		const char *text = module_text(q, &module->configured, arena);
		if (module->extra || module->component != ledger->modules[0].component)
			continue;
		for (k = 0; k < n && strcmp(kinds[k].text, text) != 0;)
			k++;
		if (k == n && n <= MOST_KINDS)
			kinds[n++] = (struct alike){.text = text};
		if (k < n)
			kinds[k].n_modules += module->copies;
	}
	return n;
}

/* How the model's attention is configured: "gqa, biases=false", or where modules differ "23 modules
 * of mamba2, conv_bias=true; 6 of gqa". */
static void note_own_attention(const struct al_request *q, struct al_table *table)
{
	struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0], true);
	struct alike kinds[MOST_KINDS + 1];
	const char *text = "";

	ask.detail = AL_MODULES_BY_KIND;
	struct al_ledger *ledger = q->family ? al_ledger_create(q->arena, &ask, NULL) : NULL;
	const size_t n = ledger && al_ledger_update(ledger, NULL)
		? find_kinds(q, ledger, &table->arena, kinds)
		: 0;
	for (size_t i = 0; n > 1 && i < n && i < MOST_KINDS; i++)
		text = al_format(&table->arena, "%s%s%lld %s%s", text, i ? "; " : "",
			(long long)kinds[i].n_modules, i ? "of " : "modules of ", kinds[i].text);
	if (n > 1)
		al_table_note(table, "%s's attention: %s%s", q->name, text,
			n > MOST_KINDS ? "; and others" : "");
	else if (n == 1 && strchr(kinds[0].text, '='))
		al_table_note(table, "%s's attention: %s", q->name, kinds[0].text);
}

static bool has_own_default(const struct al_configured_variant *configured, const char *symbol)
{
	return AL_FIND(configured->variant->defaults, configured->variant->n_defaults, symbol);
}

/* "mla: q_rank = 1536, kv_rank = 512 by default": the sizes that neither asker nor model gives. */
static void note_defaults_of(const struct al_request *q, const struct al_configured_variant *of,
	struct al_table *table)
{
	const char *sizes = "";

	for (size_t i = 0; i < of->variant->n_defaults; i++) {
		const struct al_symbol *symbol = &of->variant->defaults[i];
		if (!al_settings_gives(&q->settings, symbol->name)
			&& al_find_name(symbol->name, q->varied.items, q->varied.n) < 0
			&& !AL_FIND(of->with, of->n_with, symbol->name))
			sizes = al_join(&table->arena, sizes,
				al_format(&table->arena, "%s = %s", symbol->name,
					al_formula_source(symbol->fallback)));
	}
	if (*sizes)
		al_table_note(table, "%s: %s by default", of->name, sizes);
}

void al_note_variant_defaults(const struct al_request *q, struct al_table *table)
{
	for (size_t i = 0; !q->is_own && i < q->variants.n; i++)
		note_defaults_of(q, &q->variants.items[i], table);
}

/* Where a variant alone is asked for, the defaults that its tensors took: "d_head = 64 (default
 * d_model/n_heads)". A model's sizes are its own. */
static void note_defaults(const struct al_request *q, struct al_table *table)
{
	for (size_t i = 0; i < q->variants.n; i++) {
		const struct al_ledger_ask ask = {.settings = &q->settings,
			.basis = &q->basis,
			.configured = &q->variants.items[i]};
		struct al_ledger *ledger = al_ledger_create(q->arena, &ask, NULL);
		const struct al_ledger_list *tensors;
		if (!ledger)
			continue;
		(void)!al_ledger_list(ledger, AL_LIST_STORED, &tensors, NULL);
		const struct al_settings *settings = al_ledger_settings(ledger);
		for (size_t k = 0; k < settings->n; k++) {
			const struct al_setting *setting = &settings->items[k];
			if (setting->is_default && setting->value.kind == AL_VALUE_INTEGER
				&& !has_own_default(&q->variants.items[i], setting->symbol))
				al_table_note(table, "%s = %lld (%s)", setting->symbol,
					(long long)setting->value.integer, setting->origin);
		}
	}
}

/* A built-in model was checked against its source: of a config.json it is a warning. */
static void tell_left_out(const struct al_request *q, struct al_table *table, const char *text)
{
	if (q->model->source)
		al_table_note(table, "%s", text);
	else
		al_table_warn(table, "%s", text);
}

/* The sizes that a config leaves to its family. */
static void note_left_out(const struct al_request *q, struct al_table *table)
{
	const char *const *sizes, *list = "";
	size_t n = al_family_left_out(q->family, q->model->doc, q->model->config, &q->settings,
		&table->arena, &sizes);

	for (size_t i = 0; i < n; i++)
		list = al_join(&table->arena, list, sizes[i]);
	if (n > 0)
		tell_left_out(q, table,
			al_format(&table->arena,
				"config.json of %s omits %s; using defaults of family %s", q->name,
				list, q->family->name));
}

static bool lacks(const struct al_settings *settings, const char *has)
{
	for (size_t i = 0; i < settings->n; i++)
		if (strcmp(settings->items[i].symbol, has) == 0)
			return settings->items[i].value.integer == 0;
	return false;
}

/* A multimodal model whose config doesn't describe a tower. */
static void note_components(const struct al_request *q, struct al_table *table)
{
	for (size_t i = 0; i < q->family->n_components; i++) {
		const struct al_family_component *c = &q->family->components[i];
		if (c->has && lacks(&q->settings, c->has))
			tell_left_out(q, table,
				al_format(&table->arena, "%s has no %s, so no %s tower is counted",
					q->name, c->place.objects[0],
					al_component_names[c->component]));
	}
}

/* Where a config names a class whose heads the family doesn't know. */
static void note_architecture(const struct al_request *q, struct al_table *table)
{
	const char *unknown = q->family && q->model
		? al_family_unknown_architecture(q->family, q->model->doc, q->model->config)
		: NULL;

	if (unknown)
		al_table_warn(table,
			"%s: family %s doesn't know the output head of architecture \"%s\"; "
			"counted as %s",
			q->name, q->family->name, unknown, q->family->architectures[0].name);
}

/* The config.json of a folder that compress wrote describes the original. */
static void note_compressed(const struct al_request *q, struct al_table *table)
{
	if (q->model && q->model->config && al_json_get(q->model->config, AL_CONFIG_COMPRESSED))
		al_table_warn(table,
			"%s: config.json is the original's, but `compress` changed the "
			"attention: these numbers are the original's; `reconcile` counts the "
			"stored tensors",
			q->name);
}

void al_note_recipe(const struct al_request *q, struct al_table *table)
{
	const struct al_recipe *r = q->recipe;

	al_table_note(table, "recipe: %s%s (%s)", r->name,
		r->activations_per_token ? ""
			: r->is_flash	 ? ", flash attention"
					 : ", eager attention",
		r->source);
}

bool al_request_is_encoder(const struct al_request *q)
{
	bool is_encoder = q->family && q->family->is_encoder;

	for (size_t i = 0; is_encoder && i < q->family->n_modules; i++)
		is_encoder = !q->family->modules[i].is_cross;
	return is_encoder;
}

void al_request_next_fit(const struct al_request *q, struct al_session *session, bool is_training,
	const char *const *more)
{
	enum { MOST_MORE = 2 };
	const char *options[2 + MOST_MORE + 1] = {"--engine vllm", "--device H100"};
	const char *const *wanted = options + is_training;
	const bool can_be_served = !q->lacks_seq && !al_request_is_encoder(q)
		&& al_request_cache(q).n > 0;
	bool is_asked = strcmp(session->style.command, "fit") == 0;

	for (size_t i = 0; is_asked && wanted[i]; i++)
		is_asked = al_session_is_given(session, wanted[i]);
	for (size_t i = 0; i < MOST_MORE && more && more[i]; i++)
		options[2 + i] = more[i];
	if (q->family && al_request_is_about_model(q, true) && !is_asked
		&& (is_training ? !q->lacks_seq : can_be_served))
		al_session_next_question(session, "fit", al_command_fit.options, wanted);
}

void al_note_cache_format(const struct al_request *q, const char *option, struct al_table *table)
{
	const struct al_cache_format *format = &q->cache;
	const char *otherwise = option
		? al_format(&table->arena, "; --%s NAME sets another", option)
		: "";

	if (format->is_declared)
		al_table_note(table, "%s specifies %s for the cache of %s%s", format->declared_in,
			format->dtype->name, q->name, otherwise);
	else if (format->declared)
		al_table_warn(table,
			"%s specifies %s for the cache, which engine %s doesn't support: %s is "
			"used%s",
			format->declared_in, format->declared, q->engine.engine->name,
			format->dtype->name, otherwise);
}

void al_note_request(const struct al_request *q, bool is_whole, struct al_table *table)
{
	struct al_basis basis = q->basis;

	if (al_request_is_about_model(q, is_whole))
		basis.per = AL_BASIS_WHOLE;
	al_basis_note(&basis, table);
	if (q->hub_name)
		al_table_warn(table, "%s: no such file or folder; using the built-in %s",
			q->hub_name, q->name);
	if (!q->model)
		note_defaults(q, table);
	al_note_variant_defaults(q, table);
	if (q->model && q->model->note)
		al_table_note(table, "%s: %s", q->name, q->model->note);
	if (q->model && q->family) {
		note_left_out(q, table);
		note_components(q, table);
	}
	note_architecture(q, table);
	note_compressed(q, table);
	if (q->is_own)
		note_own_attention(q, table);
	if (q->uncut)
		al_table_warn(table, "%s: its file has no \"tp\", so each device holds all of it",
			q->uncut);
	for (size_t i = 0; i < q->n_left_out; i++)
		al_table_warn(table, "left out: %s", q->left_out[i]);
}
