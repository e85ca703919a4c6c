/* A model that runs, by its family's definition and its config's values. */

#include "base/hash.h"
#include "catalog/config.h"
#include "linalg/kernel.h"
#include "model/forward/activation.h"
#include "model/forward/internal.h"

enum { MOST_POSITIONS = 1 << 24 };

/* ---- the config ---- */

static bool read_number(const struct al_network *network, const struct al_config_number *number,
	double absent, double *out, struct al_error *err)
{
	return al_config_number(&network->view->config, network->config, number, absent, out, err);
}

static bool read_count(const struct al_network *network, const struct al_config_number *number,
	int64_t *out, struct al_error *err)
{
	double value;

	if (!read_number(network, number, 0, &value, err))
		return false;
	if (value != floor(value) || value > MOST_POSITIONS)
		return al_fail(err, AL_EINPUT, "%s: %s is %g, expected a whole number up to %d",
			network->view->config_path, number->n_keys ? number->keys[0] : "it", value,
			MOST_POSITIONS);
	*out = (int64_t)value;
	return true;
}

static bool read_longest(struct al_model_view *view, const struct al_forward *how, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting = NULL;

	if (!how->has_any_length && !al_settings_get(&view->settings, "context", &setting, err))
		return false;
	*out = setting ? setting->value.integer : 0;
	return *out <= MOST_POSITIONS
		|| al_fail(err, AL_EINPUT, "%s: its context is %lld tokens, expected at most %d",
			view->config_path, (long long)*out, MOST_POSITIONS);
}

bool al_view_longest(struct al_model_view *view, int64_t *out, struct al_error *err)
{
	const struct al_forward *how;

	*out = 0;
	return !view->has_config
		|| (al_catalog_forward(view->catalog, view->family, &how, err)
			&& (!how || read_longest(view, how, out, err)));
}

static bool read_activation(struct al_network *network, const struct al_forward_word *word,
	const struct al_activation **out, struct al_error *err)
{
	const struct al_item *node = al_config_find_first(network->config, word->keys,
		word->n_keys);
	const char *name = word->fallback;

	if (!node || al_json_kind(node) == AL_JSON_NULL)
		return al_activation_find(name, out, err);
	return al_json_text(&network->view->config, node, &name, err)
		&& (al_activation_find(name, out, err)
			|| al_json_in(&network->view->config, node, err));
}

static bool read_activations(struct al_network *network, struct al_error *err)
{
	const struct al_forward *how = network->how;

	if (!read_activation(network, &how->activation, &network->activation, err))
		return false;
	network->masked_activation = network->activation;
	if (how->masked_activation.fallback
		&& !read_activation(network, &how->masked_activation, &network->masked_activation,
			err))
		return false;
	return !how->mask || !al_activation_learns(network->masked_activation)
		|| al_fail(err, AL_EINPUT,
			"the head for masked tokens can't have an activation with learned numbers");
}

/* A config's value as the family's file writes it. */
static const char *value_text(struct al_network *network, const struct al_item *node)
{
	const char *text = "";
	double real = 0;
	bool flag = false;

	switch (al_json_kind(node)) {
	case AL_JSON_NULL:
		return "null";
	case AL_JSON_BOOLEAN:
		return al_json_boolean(&network->view->config, node, &flag, NULL) && flag ? "true"
											  : "false";
	case AL_JSON_NUMBER:
		return al_json_real(&network->view->config, node, &real, NULL)
			? al_format(&network->arena, "%.17g", real)
			: "";
	case AL_JSON_TEXT:
		return al_json_text(&network->view->config, node, &text, NULL) ? text : "";
	default:
		return "a list or an object";
	}
}

static bool check_need(struct al_network *network, const struct al_forward_need *need,
	struct al_error *err)
{
	const struct al_item *node = al_config_find_first(network->config, &need->key, 1);
	const char *value = node ? value_text(network, node) : NULL;
	const char *expected = need->values[0];

	if (!value || al_find_name(value, need->values, need->n_values) >= 0)
		return true;
	for (size_t i = 1; i < need->n_values; i++)
		expected = al_format(&network->arena, "%s or %s", expected, need->values[i]);
	return al_json_fail(&network->view->config, node, err,
		"%s is %s; the forward pass of family %s only supports %s", need->key, value,
		network->view->family->name, expected);
}

/* Where a key is absent, the reference implementation may assume another value. */
static bool check_present(struct al_network *network, struct al_error *err)
{
	const struct al_forward *how = network->how;

	return how->n_present == 0
		|| al_config_find_first(network->config, how->present, how->n_present)
		|| al_fail(err, AL_EINPUT, "%s has no %s; the forward pass of family %s needs it",
			network->view->config_path, how->present[0], network->view->family->name);
}

static bool check_when(struct al_network *network, struct al_error *err)
{
	const struct al_scope scope = al_settings_scope(&network->view->settings);
	bool holds = true;

	if (network->how->when && !al_formula_holds(network->how->when, &scope, &holds, err))
		return false;
	return holds
		|| al_fail(err, AL_EINPUT, "the forward pass of family %s only supports %s",
			network->view->family->name, network->how->only);
}

/* ---- sizes ---- */

static bool read_symbol(struct al_network *network, const char *symbol, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&network->view->settings, symbol, &setting, err))
		return false;
	if (!setting)
		return al_fail(err, AL_EINPUT, "family %s doesn't specify %s",
			network->view->family->name, symbol);
	*out = setting->value.integer;
	return true;
}

static bool read_layers(struct al_network *network, struct al_error *err)
{
	const struct al_scope scope = al_settings_scope(&network->view->settings);

	return network->how->layers
		? al_formula_whole(network->how->layers, &scope, 0, &network->n_layers, err)
		: read_symbol(network, "n_layers", &network->n_layers, err);
}

/* The root of a formula; of none 1. */
static bool read_root(const struct al_network *network, const struct al_formula *squared,
	int64_t least, double *out, struct al_error *err)
{
	const struct al_scope scope = al_settings_scope(&network->view->settings);
	int64_t value = 1;

	if (squared && !al_formula_whole(squared, &scope, least, &value, err))
		return false;
	*out = sqrt((double)value);
	return true;
}

/* A factor from the config, in addition to the weights: more than 0. */
static bool read_factor(const struct al_network *network, const struct al_config_number *number,
	double *out, struct al_error *err)
{
	return read_number(network, number, 1, out, err)
		&& (*out > 0
			|| al_fail(err, AL_EINPUT, "%s: %s is %g, expected more than 0",
				network->view->config_path, number->n_keys ? number->keys[0] : "it",
				*out));
}

static bool read_epsilon(const struct al_network *network, const struct al_config_number *number,
	double *out, struct al_error *err)
{
	return read_number(network, number, -1, out, err)
		&& (*out >= 0
			|| al_fail(err, AL_EINPUT, "%s: %s is missing or less than 0",
				network->view->config_path,
				number->n_keys ? number->keys[0] : "the norms' epsilon"));
}

static bool is_null(const struct al_network *network, const struct al_config_number *number)
{
	const struct al_item *node = al_config_find_first(network->config, number->keys,
		number->n_keys);

	return node && al_json_kind(node) == AL_JSON_NULL;
}

static bool read_factors(struct al_network *network, struct al_error *err)
{
	const struct al_forward *how = network->how;

	double factor, of_embedding, of_residual;

	if (!read_factor(network, &how->embedding_scale, &network->embedding_scale, err)
		|| !read_root(network, how->scale_squared, 0, &of_embedding, err)
		|| !read_factor(network, &how->residual_scale, &network->residual_scale, err)
		|| !read_root(network, how->residual_over, 1, &of_residual, err)
		|| !read_factor(network, &how->logit_divisor, &network->logit_divisor, err)
		|| !read_factor(network, &how->logit_factor, &factor, err))
		return false;
	network->embedding_scale *= of_embedding;
	network->residual_scale /= is_null(network, &how->residual_scale) ? 1 : of_residual;
	network->logit_divisor /= factor;
	return true;
}

/* There are as many learned positions as rows; the config may set fewer. */
static bool limit_positions(struct al_network *network, const struct al_reading *reading,
	struct al_error *err)
{
	const struct al_tensor *positions;

	if (!al_matrix_resolve(reading, AL_FORWARD_POSITIONS, 0, 0, &positions, err))
		return false;
	if (!positions)
		return true;
	const int64_t rows = positions->shape[0] - network->first_position;
	if (network->longest == 0 || rows < network->longest)
		network->longest = rows;
	return network->longest > 0
		|| al_fail(err, AL_EINPUT, "tensor %s has %lld rows, but positions begin at %lld",
			positions->name, (long long)positions->shape[0],
			(long long)network->first_position);
}

static bool read_tables(struct al_network *network, struct al_error *err)
{
	const struct al_reading reading = al_reading_of(network, NULL);
	const struct al_tensor *tokens;

	if (!al_matrix_resolve(&reading, AL_FORWARD_TOKENS, 0, 0, &tokens, err))
		return false;
	network->vocab = tokens->shape[0];
	if (network->vocab < 1 || network->vocab > INT32_MAX)
		return al_fail(err, AL_EINPUT, "tensor %s has %lld rows", tokens->name,
			(long long)network->vocab);
	return limit_positions(network, &reading, err);
}

/* A layer reads it again. */
static bool check_rotary(struct al_network *network, struct al_error *err)
{
	const struct al_model_view *view = network->view;
	const struct al_attention *found = NULL;
	struct al_rotary_rule rule;

	for (size_t i = 0; i < view->n_modules; i++)
		if (view->modules[i].is_rotary && view->modules[i].n_rotary_scaling > 0)
			found = &view->modules[i];
	return !found || al_rotary_rule_read(view, found, &network->arena, &rule, err);
}

static bool open_network(struct al_network *network, struct al_error *err)
{
	const struct al_forward *how = network->how;

	for (size_t i = 0; i < how->n_needs; i++)
		if (!check_need(network, &how->needs[i], err))
			return false;
	return check_present(network, err) && check_when(network, err) && read_layers(network, err)
		&& read_factors(network, err)
		&& read_symbol(network, "d_model", &network->d_model, err)
		&& read_epsilon(network, &how->epsilon, &network->epsilon, err)
		&& read_number(network, &how->score_cap, 0, &network->score_cap, err)
		&& read_number(network, &how->logit_cap, 0, &network->logit_cap, err)
		&& read_number(network, &how->alibi, 0, &network->alibi, err)
		&& read_count(network, &how->relative_distance, &network->relative_distance, err)
		&& read_longest(network->view, how, &network->longest, err)
		&& read_count(network, &how->first_position, &network->first_position, err)
		&& read_activations(network, err) && check_rotary(network, err)
		&& read_tables(network, err)
		&& al_model_view_mixers(network->view, &network->mixers, &network->n_mixers, err);
}

bool al_network_open(struct al_network *network, struct al_model_view *view, struct al_error *err)
{
	*network = (struct al_network){.view = view,
		.config = al_config_of_text(view->family, view->config.root),
		.most_kept = UINT64_C(256) << 20};
	if (!al_catalog_forward(view->catalog, view->family, &network->how, err))
		return false;
	if (!network->how)
		return al_fail(err, AL_EINPUT,
			"family %s has no forward pass (\"forward\") and can't be run",
			view->family->name);
	al_arena_init(&network->arena);
	if (open_network(network, err))
		return true;
	al_network_close(network);
	return false;
}

void al_network_close(struct al_network *network)
{
	al_matrix_finish_f(&network->head);
	al_arena_finish(&network->arena);
	*network = (struct al_network){0};
}

bool al_network_shares_nothing(const struct al_network *network)
{
	return (int64_t)(network->view->n_modules + network->n_mixers) == network->n_layers;
}

/* ---- tokens ---- */

bool al_network_named_tokens(const struct al_network *network, const char *key, int32_t *out,
	size_t room, size_t *n, struct al_error *err)
{
	const struct al_json *config = &network->view->config;
	const struct al_item *node = al_config_find_first(network->view->config.root, &key, 1),
			     *item = node;

	*n = 0;
	if (!node || al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (al_json_kind(node) == AL_JSON_ARRAY)
		item = al_json_first(node);
	for (; item && *n < room; item = item == node ? NULL : al_json_next(item)) {
		int64_t token;
		if (!al_json_whole_from(config, item, 0, &token, err))
			return false;
		if (token >= network->vocab)
			return al_json_fail(config, item, err,
				"token %lld is beyond the vocabulary of %lld", (long long)token,
				(long long)network->vocab);
		out[(*n)++] = (int32_t)token;
	}
	return true;
}

static bool check_sequence(const struct al_network *network, const struct al_batch *batch,
	size_t sequence, struct al_error *err)
{
	const size_t first = batch->begin[sequence], n = batch->begin[sequence + 1] - first;

	if (n == 0)
		return al_fail(err, AL_EINPUT, "it has no tokens");
	if (network->longest > 0 && n > (size_t)network->longest)
		return al_fail(err, AL_EINPUT,
			"it has %zu tokens, but the model only %lld positions", n,
			(long long)network->longest);
	for (size_t i = 0; i < n; i++)
		if (batch->tokens[first + i] < 0 || batch->tokens[first + i] >= network->vocab)
			return al_fail(err, AL_EINPUT,
				"token %zu is %d, beyond the vocabulary of %lld", i,
				batch->tokens[first + i], (long long)network->vocab);
	return true;
}

bool al_network_check_tokens(const struct al_network *network, const struct al_batch *batch,
	struct al_error *err)
{
	for (size_t i = 0; i < batch->n_sequences; i++)
		if (!check_sequence(network, batch, i, err))
			return al_in(err, "sequence %zu (counted from 0)",
				batch->first_sequence + i);
	return true;
}

/* ---- what its numbers hang on ---- */

static uint64_t hash_tokens(uint64_t hash, const struct al_batch *all)
{
	hash = al_hash_block(hash, (const unsigned char *)all->begin,
		(all->n_sequences + 1) * sizeof(*all->begin));
	return al_hash_block(hash, (const unsigned char *)all->tokens,
		al_batch_tokens(all) * sizeof(*all->tokens));
}

uint64_t al_network_fingerprint(const struct al_network *network, const struct al_batch *all)
{
	const struct al_model_view *view = network->view;
	AL_TEXT(words);

	al_text_addf(&words, "%s %s %" PRIx64 " %zu ", al_version(), al_blas_kernel(),
		view->family->hash, all->first_sequence);
	for (size_t i = 0; i < view->n_modules; i++)
		al_text_addf(&words, "%" PRId64 ":%" PRId64 " ", view->modules[i].n_heads,
			view->modules[i].n_kv_heads);
	al_json_add_compact(&words, view->config.root);
	return hash_tokens(al_hash_block(AL_HASH_EMPTY, (const unsigned char *)words.data,
				   words.length),
		all);
}
