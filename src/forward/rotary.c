/* Rotary positions (Su et al. 2021, arXiv:2104.09864): pair i of a head's first dimensions turns by
 * position * base^(-2i/width), and a config's rules for sequences beyond those of training:
 *
 *     linear, dynamic  positions divided by a factor; nothing within the trained positions
 *     llama3           slow pairs divided by a factor, those between smoothly (transformers,
 *                      modeling_rope_utils.py, _compute_llama3_parameters)
 *     yarn             the same by a ramp over dimensions (Peng et al. 2023, arXiv:2309.00071)
 *     longrope         a factor for each pair (Ding et al. 2024, arXiv:2402.13753; Phi-3's "su")
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "forward/internal.h"

#define TURN 6.283185307179586476925

/* What a rule makes of a pair's speed, in turns of `i` of `width / 2` pairs. */
struct pair {
	double speed, width, base, n_positions;
	size_t index;
};

struct al_rotary_rule_kind {
	const char *name;
	double (*speed)(const struct al_rotary_rule *rule, const struct pair *pair);
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
	const double low = fmax(floor(dimension_of(rule, pair, rule->beta_fast)), 0);
	double high = fmin(ceil(dimension_of(rule, pair, rule->beta_slow)), pair->width - 1);

	high = high == low ? high + 0.001 : high;
	const double ramp = fmin(fmax(((double)pair->index - low) / (high - low), 0), 1);
	return pair->speed / rule->factor * ramp + pair->speed * (1 - ramp);
}

static double longrope(const struct al_rotary_rule *rule, const struct pair *pair)
{
	const bool is_long = pair->n_positions > rule->original_positions;

	return pair->speed / (is_long ? rule->long_factors : rule->short_factors)[pair->index];
}

static const struct al_rotary_rule_kind kinds[] = {
	{"default", plain},
	{"dynamic", plain},
	{"linear", linear},
	{"llama3", llama3},
	{"yarn", yarn},
	{"longrope", longrope},
	{"su", longrope},
};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

/* ---- the config's rule ---- */

struct source {
	struct al_network *network;
	const struct cJSON *object;
};

static const struct cJSON *member(const struct cJSON *object, const char *key)
{
	const struct cJSON *node = al_json_get(object, key);

	return node && al_json_kind(node) != AL_JSON_NULL ? node : NULL;
}

/* A positive number; `*out` stays where there is none. */
static bool read_real(const struct source *s, const char *key, double *out, struct al_error *err)
{
	const struct al_json *doc = &s->network->view->config;
	const struct cJSON *node = member(s->object, key);

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
	const struct al_json *doc = &s->network->view->config;
	const struct cJSON *list = member(s->object, key);
	double *values;
	size_t i = 0;

	if (!list)
		return true;
	if (!al_json_expect(doc, list, AL_JSON_ARRAY, err))
		return false;
	*n = al_json_size(list);
	values = al_new_array(&s->network->arena, double, *n + 1);
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
	const struct al_json *doc = &s->network->view->config;
	const struct cJSON *node = member(s->object, "rope_type");
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

/* Phi-3 says beside the rule from how many positions on it reckons. */
static bool read_numbers(const struct source *s, struct al_rotary_rule *rule, struct al_error *err)
{
	const struct source config = {s->network, s->network->view->config.root};
	size_t n_short = 0, n_long = 0;

	rule->original_positions = (double)s->network->longest;
	if (!read_real(&config, "original_max_position_embeddings", &rule->original_positions, err)
		|| !read_real(s, "original_max_position_embeddings", &rule->original_positions,
			err))
		return false;
	rule->factor = rule->original_positions > 0
		? (double)s->network->longest / rule->original_positions
		: 1;
	rule->beta_fast = 32;
	rule->beta_slow = 1;
	if (!read_real(s, "factor", &rule->factor, err)
		|| !read_real(s, "low_freq_factor", &rule->low_factor, err)
		|| !read_real(s, "high_freq_factor", &rule->high_factor, err)
		|| !read_real(s, "beta_fast", &rule->beta_fast, err)
		|| !read_real(s, "beta_slow", &rule->beta_slow, err)
		|| !read_real(s, "attention_factor", &rule->attention_factor, err)
		|| !read_list(s, "short_factor", &rule->short_factors, &n_short, err)
		|| !read_list(s, "long_factor", &rule->long_factors, &n_long, err))
		return false;
	rule->n_factors = n_short < n_long ? n_short : n_long;
	return true;
}

static bool check_rule(const struct source *s, struct al_rotary_rule *rule, struct al_error *err)
{
	const struct al_json *doc = &s->network->view->config;
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
		rule->attention_factor = rule->kind->speed == yarn ? 0.1 * size + 1
			: rule->kind->speed == longrope
			? sqrt(1 + size / log(rule->original_positions))
			: 1;
	return true;
}

bool al_rotary_rule_read(struct al_network *network, struct al_error *err)
{
	struct source s = {.network = network};

	for (size_t i = 0; !s.object && i < network->how->n_rotary_scaling; i++)
		s.object = member(network->view->config.root, network->how->rotary_scaling[i]);
	if (!s.object)
		return true;
	return al_json_expect(&network->view->config, s.object, AL_JSON_OBJECT, err)
		&& read_kind(&s, &network->rotary, err) && read_numbers(&s, &network->rotary, err)
		&& check_rule(&s, &network->rotary, err);
}

/* ---- turning ---- */

bool al_rotary_is_long(const struct al_network *network, size_t n)
{
	const struct al_rotary_rule *rule = &network->rotary;

	return rule->kind && rule->kind->speed == longrope && (double)n > rule->original_positions;
}

static double speed_of(const struct al_rotary_rule *rule, struct pair pair)
{
	pair.speed = pow(pair.base, -2.0 * (double)pair.index / pair.width);
	return rule->kind ? rule->kind->speed(rule, &pair) : pair.speed;
}

bool al_turns_init(struct al_turns *turns, const struct al_network *network,
	const struct al_attention *attention, size_t n_positions, struct al_error *err)
{
	const struct al_rotary_rule *rule = &network->rotary;
	const size_t n_pairs = (size_t)attention->rotary_width / 2;
	const double size = rule->kind ? rule->attention_factor : 1;

	if (rule->n_factors > 0 && rule->n_factors != n_pairs)
		return al_fail(err, AL_EINPUT,
			"%zu rotary factors, expected %zu, one for each pair", rule->n_factors,
			n_pairs);
	*turns = (struct al_turns){.n_pairs = n_pairs,
		.n_positions = n_positions,
		.cos = al_alloc(n_pairs * n_positions, sizeof(float)),
		.sin = al_alloc(n_pairs * n_positions, sizeof(float)),
		.pairs = attention->rotary_pairs};
	for (size_t i = 0; i < n_pairs; i++) {
		const double speed = speed_of(rule,
			(struct pair){.width = (double)attention->rotary_width,
				.base = (double)attention->rotary_base,
				.n_positions = (double)n_positions,
				.index = i});
		for (size_t j = 0; j < n_positions; j++) {
			turns->cos[i + j * n_pairs] = (float)(size * cos((double)j * speed));
			turns->sin[i + j * n_pairs] = (float)(size * sin((double)j * speed));
		}
	}
	return true;
}

void al_turns_finish(struct al_turns *turns)
{
	free(turns->cos);
	free(turns->sin);
	*turns = (struct al_turns){0};
}

void al_turn(const struct al_turns *turns, size_t position, float *x)
{
	const float *cosines = turns->cos + position * turns->n_pairs;
	const float *sines = turns->sin + position * turns->n_pairs;
	const bool halves = turns->pairs == AL_PAIRS_HALVES;

	for (size_t i = 0; i < turns->n_pairs; i++) {
		float *a = &x[halves ? i : 2 * i], *b = halves ? a + turns->n_pairs : a + 1;
		const float before = *a;
		*a = before * cosines[i] - *b * sines[i];
		*b = *b * cosines[i] + before * sines[i];
	}
}
