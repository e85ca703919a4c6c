/* Rotary positions (Su et al. 2021, arXiv:2104.09864): pair i of a head's first dimensions turns by
 * position * base^(-2i/width), and a config's rules for sequences beyond those of training:
 *
 *     linear           positions divided by a factor
 *     dynamic          nothing within the trained positions; beyond, a base by the length
 *     llama3           slow pairs divided by a factor, those between smoothly (transformers,
 *                      modeling_rope_utils.py, _compute_llama3_parameters)
 *     yarn             the same by a ramp over dimensions (Peng et al. 2023, arXiv:2309.00071)
 *     longrope         a factor for each pair, another beyond the trained positions (Ding et al.
 *                      2024, arXiv:2402.13753; Phi-3's "su")
 */
#include "model/heads/rotary.h"

#include "catalog/config.h"

#define TURN 6.283185307179586476925

/* The speed of pair `i` of `width / 2` after a scaling rule, in turns. */
struct pair {
	double speed, width, base;
	size_t n_positions;
	size_t index;
};

struct al_rotary_rule_kind {
	const char *name;
	double (*speed)(const struct al_rotary_rule *rule, const struct pair *pair);
	bool hangs_on_length; /* beyond the original positions the frequencies are others */
};

static double plain(const struct al_rotary_rule *rule, const struct pair *pair)
{
	(void)rule;
	return pair->speed;
}

static double linear(const struct al_rotary_rule *rule, const struct pair *pair)
{
	return pair->speed / rule->factor;
}

static double llama3(const struct al_rotary_rule *rule, const struct pair *pair)
{
	const double turns = rule->original_positions * pair->speed / TURN;
	const double smooth = (turns - rule->low_factor) / (rule->high_factor - rule->low_factor);

	if (turns < rule->low_factor)
		return pair->speed / rule->factor;
	return turns > rule->high_factor
		? pair->speed
		: (1 - smooth) * pair->speed / rule->factor + smooth * pair->speed;
}

/* The dimension whose pair makes so many turns over the original positions. */
static double dimension_of(const struct al_rotary_rule *rule, const struct pair *pair, double turns)
{
	return pair->width * log(rule->original_positions / (turns * TURN)) / (2 * log(pair->base));
}

static double yarn(const struct al_rotary_rule *rule, const struct pair *pair)
{
	double low = dimension_of(rule, pair, rule->beta_fast);
	double high = dimension_of(rule, pair, rule->beta_slow);

	low = fmax(rule->is_exact ? low : floor(low), 0);
	high = fmin(rule->is_exact ? high : ceil(high), pair->width - 1);
	high = high == low ? high + 0.001 : high;
	const double ramp = fmin(fmax(((double)pair->index - low) / (high - low), 0), 1);
	return pair->speed / rule->factor * ramp + pair->speed * (1 - ramp);
}

static double longrope(const struct al_rotary_rule *rule, const struct pair *pair)
{
	const bool is_long = al_rotary_is_long(rule, pair->n_positions);

	return pair->speed / (is_long ? rule->long_factors : rule->short_factors)[pair->index];
}

static const struct al_rotary_rule_kind kinds[] = {
	{"default", plain, false},
	{"mrope", plain, false}, /* of text, all positions of a token are one */
	{"dynamic", plain, true},
	{"linear", linear, false},
	{"llama3", llama3, false},
	{"yarn", yarn, false},
	{"longrope", longrope, true},
	{"su", longrope, true},
};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

/* ---- the config's rule ---- */

struct source {
	const struct al_json *doc;
	struct al_arena *arena;
	const struct al_item *config, *object; /* the rule, in the config */
};

static const struct al_item *member(const struct al_item *object, const char *key)
{
	const struct al_item *node = al_json_get(object, key);

	return node && al_json_kind(node) != AL_JSON_NULL ? node : NULL;
}

/* A positive number; `*out` stays where there is none. */
static bool read_real(const struct source *s, const char *key, double *out, struct al_error *err)
{
	const struct al_json *doc = s->doc;
	const struct al_item *node = member(s->object, key);

	if (!node)
		return true;
	return al_json_real(doc, node, out, err)
		&& (*out > 0
			|| al_json_fail(doc, node, err, "%s is %g, expected more than 0", key,
				*out));
}

static bool read_list(const struct source *s, const char *key, const double **out, size_t *n,
	struct al_error *err)
{
	const struct al_json *doc = s->doc;
	const struct al_item *list = member(s->object, key);
	double *values;
	size_t i = 0;

	if (!list)
		return true;
	if (!al_json_expect(doc, list, AL_JSON_ARRAY, err))
		return false;
	*n = al_json_size(list);
	values = al_new_array(s->arena, double, *n + 1);
	al_json_each (item, list)
		if (!al_json_real(doc, item, &values[i++], err))
			return false;
		else if (values[i - 1] <= 0)
			return al_json_fail(doc, item, err, "expected more than 0");
	*out = values;
	return true;
}

static bool read_kind(const struct source *s, struct al_rotary_rule *rule, struct al_error *err)
{
	const struct al_json *doc = s->doc;
	const struct al_item *node = member(s->object, "rope_type");
	const char *name = "default", *names[N_KINDS];

	node = node ? node : member(s->object, "type");
	if (node && !al_json_text(doc, node, &name, err))
		return false;
	for (size_t i = 0; i < N_KINDS; i++) {
		names[i] = kinds[i].name;
		if (strcmp(kinds[i].name, name) == 0)
			rule->kind = &kinds[i];
	}
	if (rule->kind)
		return true;
	al_fail_unknown(err, "rule of rotary positions", name, names, N_KINDS);
	return al_json_in(doc, node, err);
}

/* YaRN's size of the positions' rotations, which is squared in the scores. */
static double size_of(const struct al_rotary_rule *rule, double scale)
{
	return 0.1 * scale * log(fmax(rule->factor, 1)) + 1;
}

/* Phi-3 gives the rule's original number of positions outside of it. */
static bool read_numbers(const struct source *s, struct al_rotary_rule *rule, struct al_error *err)
{
	const struct source config = {s->doc, s->arena, s->config, s->config};
	double longest = 0, mscale = 0, mscale_all = 0, of_short = 0, of_long = 0;
	bool is_rounded = true;
	const struct al_item *truncate = member(s->object, "truncate");
	size_t n_short = 0, n_long = 0;

	if (!read_real(&config, "max_position_embeddings", &longest, err))
		return false;
	rule->original_positions = longest;
	if (!read_real(&config, "original_max_position_embeddings", &rule->original_positions, err)
		|| !read_real(s, "original_max_position_embeddings", &rule->original_positions,
			err))
		return false;
	rule->factor = rule->original_positions > 0 ? longest / rule->original_positions : 1;
	rule->beta_fast = 32;
	rule->beta_slow = 1;
	if (!read_real(s, "factor", &rule->factor, err)
		|| !read_real(s, "low_freq_factor", &rule->low_factor, err)
		|| !read_real(s, "high_freq_factor", &rule->high_factor, err)
		|| !read_real(s, "beta_fast", &rule->beta_fast, err)
		|| !read_real(s, "beta_slow", &rule->beta_slow, err)
		|| !read_real(s, "alpha", &rule->alpha, err)
		|| !read_real(s, "attention_factor", &rule->attention_factor, err)
		|| !read_real(s, "mscale", &mscale, err)
		|| !read_real(s, "mscale_all_dim", &mscale_all, err)
		|| !read_real(s, "short_mscale", &of_short, err)
		|| !read_real(s, "long_mscale", &of_long, err)
		|| (truncate && !al_json_boolean(s->doc, truncate, &is_rounded, err))
		|| !read_list(s, "short_factor", &rule->short_factors, &n_short, err)
		|| !read_list(s, "long_factor", &rule->long_factors, &n_long, err))
		return false;
	rule->n_factors = al_least(n_short, n_long);
	rule->is_exact = !is_rounded;
	rule->score_factor = mscale_all > 0 ? pow(size_of(rule, mscale_all), 2) : 1;
	if (al_rotary_is_plain(rule)) /* it begins where the trained positions end */
		rule->original_positions = longest;
	if (mscale > 0 && mscale_all > 0 && rule->attention_factor == 0)
		rule->attention_factor = size_of(rule, mscale) / size_of(rule, mscale_all);
	if (of_short > 0)
		rule->attention_factor = of_short;
	return of_short == of_long
		|| al_json_fail(s->doc, s->object, err,
			"short_mscale is %g and long_mscale %g, expected one number", of_short,
			of_long);
}

static bool check_rule(const struct source *s, struct al_rotary_rule *rule, struct al_error *err)
{
	const struct al_json *doc = s->doc;
	const double size = log(fmax(rule->factor, 1));

	if (rule->kind->speed == llama3
		&& !(rule->low_factor > 0 && rule->high_factor > rule->low_factor))
		return al_json_fail(doc, s->object, err,
			"expected low_freq_factor and a larger high_freq_factor");
	if (rule->kind->speed == longrope && rule->n_factors == 0)
		return al_json_fail(doc, s->object, err, "expected short_factor and long_factor");
	if (rule->kind->speed != plain && rule->kind->speed != linear
		&& rule->original_positions < 2)
		return al_json_fail(doc, s->object, err,
			"expected original_max_position_embeddings");
	if (rule->attention_factor == 0)
		rule->attention_factor = rule->kind->speed == yarn ? size_of(rule, 1)
			: rule->kind->speed == longrope
			? sqrt(1 + size / log(rule->original_positions))
			: 1;
	return true;
}

/* Meta's use_scaled_rope: 8 in Llama 3.1, 32 in the small ones of 3.2, and the file is the same. */
static bool check_flag(const struct al_json *doc, const struct al_item *node, bool *is_scaled,
	struct al_error *err)
{
	return al_json_boolean(doc, node, is_scaled, err)
		&& (!*is_scaled
			|| al_json_fail(doc, node, err,
				"the scaling of frequencies is unspecified: expected "
				"\"rope_scaling\" with rope_type, factor ..."));
}

static bool check_divisors(const struct al_tensor *tensor, const double *divisors, size_t n,
	struct al_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!(isfinite(divisors[i]) && divisors[i] > 0))
			return al_fail(err, AL_EINPUT,
				"tensor %s: number %zu is %g, expected more "
				"than 0",
				tensor->name, i, divisors[i]);
	return true;
}

/* llama.cpp's converter stores the rule of Llama 3 as what each pair's speed is divided by. */
static bool read_divisors(const struct al_model_view *view, size_t n_pairs, struct al_arena *arena,
	struct al_rotary_rule *rule, struct al_error *err)
{
	const struct al_tensor *tensor = view->checkpoint && view->family
		? al_model_view_find(view, "rope_freqs.weight")
		: NULL;

	if (!tensor)
		return true;
	if (tensor->n_elements != (int64_t)n_pairs)
		return al_fail(err, AL_EINPUT, "tensor %s has %lld numbers, expected %zu",
			tensor->name, (long long)tensor->n_elements, n_pairs);
	const struct al_selection all = al_select_all(tensor);
	double *divisors = al_new_array(arena, double, n_pairs + 1);
	rule->divisors = divisors;
	return al_tensor_read_double(view->checkpoint, tensor, &all, divisors, n_pairs, err)
		&& check_divisors(tensor, divisors, n_pairs, err);
}

static bool read_config_rule(const struct al_model_view *view, const struct al_attention *attention,
	struct al_arena *arena, struct al_rotary_rule *rule, struct al_error *err)
{
	const struct al_config config = {.doc = &view->config,
		.object = al_config_of_text(view->family, view->config.root)};
	const struct al_config_key key = {.keys = attention->rotary_scaling,
		.n_keys = attention->n_rotary_scaling};
	struct source s = {.doc = &view->config, .arena = arena, .config = config.object};
	const size_t n_pairs = (size_t)attention->rotary_width / 2;
	bool is_scaled = true;

	*rule = (struct al_rotary_rule){.kind = &kinds[0],
		.attention_factor = 1,
		.score_factor = 1};
	s.object = al_config_find(&config, &key);
	if (!s.object || al_json_kind(s.object) == AL_JSON_NULL)
		return true;
	if (al_json_kind(s.object) == AL_JSON_BOOLEAN)
		return check_flag(s.doc, s.object, &is_scaled, err);
	*rule = (struct al_rotary_rule){.kind = NULL};
	if (!al_json_expect(s.doc, s.object, AL_JSON_OBJECT, err) || !read_kind(&s, rule, err)
		|| !read_numbers(&s, rule, err) || !check_rule(&s, rule, err))
		return false;
	return rule->n_factors == 0 || rule->n_factors == n_pairs
		|| al_json_fail(s.doc, s.object, err,
			"%zu rotary factors, expected %zu, one per pair", rule->n_factors, n_pairs);
}

bool al_rotary_rule_read(const struct al_model_view *view, const struct al_attention *attention,
	struct al_arena *arena, struct al_rotary_rule *rule, struct al_error *err)
{
	return read_config_rule(view, attention, arena, rule, err)
		&& read_divisors(view, (size_t)attention->rotary_width / 2, arena, rule, err);
}

/* ---- what it makes of positions ---- */

const char *al_rotary_rule_name(const struct al_rotary_rule *rule)
{
	if (rule->kind->speed == plain && !rule->kind->hangs_on_length)
		return rule->divisors ? "pair by pair" : NULL;
	return rule->kind->name;
}

bool al_rotary_hangs_on_length(const struct al_rotary_rule *rule)
{
	return rule->kind->hangs_on_length;
}

bool al_rotary_is_long(const struct al_rotary_rule *rule, size_t n)
{
	return rule->kind->hangs_on_length && (double)n > rule->original_positions;
}

bool al_rotary_is_plain(const struct al_rotary_rule *rule)
{
	return rule->kind->speed == plain && !rule->divisors;
}

double al_rotary_speed(const struct al_rotary_rule *rule, const struct al_attention *attention,
	size_t index, size_t n_positions)
{
	struct pair pair = {.width = (double)attention->rotary_width,
		.base = (double)attention->rotary_base,
		.n_positions = n_positions,
		.index = index};

	if (rule->alpha > 0) /* HunYuan's */
		pair.base *= pow(rule->alpha, pair.width / (pair.width - 2));
	pair.speed = pow(pair.base, -2.0 * (double)index / pair.width);
	if (rule->divisors)
		pair.speed /= rule->divisors[index];
	return rule->kind->speed(rule, &pair);
}

const double *al_rotary_speeds(const struct al_rotary_rule *rule,
	const struct al_attention *attention, size_t n_positions, struct al_arena *arena)
{
	const size_t n_pairs = (size_t)attention->rotary_width / 2;
	double *speeds = al_new_array(arena, double, n_pairs);

	for (size_t i = 0; i < n_pairs; i++)
		speeds[i] = al_rotary_speed(rule, attention, i, n_positions);
	return speeds;
}
