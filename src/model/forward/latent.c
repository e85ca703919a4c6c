/* Multi-head latent attention (DeepSeek-AI 2024, arXiv:2405.04434, section 2.1): queries, keys and
 * values of all heads are made of two narrow vectors, and all heads share the rotated part of a
 * key. Here the rotated numbers of a head come first. */
#include "catalog/config.h"
#include "model/forward/internal.h"

static bool get(const struct al_network *network, const char *symbol, int64_t *out,
	struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&network->view->settings, symbol, &setting, err))
		return false;
	*out = setting ? setting->value.integer : 0;
	return setting || al_fail(err, AL_EINPUT, "the family doesn't specify %s", symbol);
}

/* The heads as they run: each has keys of its own, whose first d_rope numbers rotate. */
static bool make_shape(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	const struct al_forward *how = layer->network->how;
	struct al_attention *shape = al_new(&layer->arena, struct al_attention);
	struct al_iteration iteration = reading->iteration;
	const struct al_scope scope = al_iteration_scope(&iteration);
	bool are_neighbors = false;

	*shape = *layer->attention;
	shape->n_kv_heads = shape->n_heads;
	shape->d_head = (int64_t)(layer->latent.d_nope + layer->latent.d_rope);
	shape->is_rotary = true;
	shape->rotary_width = (int64_t)layer->latent.d_rope;
	shape->rotary_scaling = how->latent_scaling;
	shape->n_rotary_scaling = how->n_latent_scaling;
	layer->shape = shape;
	if (!al_formula_whole(how->latent_base, &scope, 1, &shape->rotary_base, err)
		|| !al_formula_holds(how->latent_interleaved, &scope, &are_neighbors, err)
		|| !al_rotary_rule_read(layer->network->view, shape, &layer->arena, &layer->rotary,
			err))
		return false;
	shape->rotary_pairs = are_neighbors ? AL_PAIRS_INTERLEAVED : AL_PAIRS_HALVES;
	shape->score_scale = layer->rotary.score_factor / sqrt((double)shape->d_head);
	return true;
}

bool al_latent_load(struct al_layer *layer, const struct al_reading *reading, struct al_error *err)
{
	const struct al_network *network = layer->network;
	const int64_t n_heads = layer->attention->n_heads, d_value = layer->attention->d_value;
	struct al_latent *l = &layer->latent;
	int64_t q_rank, kv_rank, d_nope, d_rope;
	double epsilon;

	if (!get(network, "q_rank", &q_rank, err) || !get(network, "kv_rank", &kv_rank, err)
		|| !get(network, "d_nope", &d_nope, err) || !get(network, "d_rope", &d_rope, err)
		|| !al_config_number(&network->view->config, network->config,
			&network->how->latent_epsilon, 0, &epsilon, err))
		return false;
	l->kv_rank = (size_t)kv_rank;
	l->d_nope = (size_t)d_nope;
	l->d_rope = (size_t)d_rope;
	if (!make_shape(layer, reading, err)
		|| !al_linear_read(reading, AL_FORWARD_LATENT_QUERY_DOWN, q_rank, network->d_model,
			&l->query_down, err)
		|| !al_norm_read(reading, AL_FORWARD_LATENT_QUERY_NORM, q_rank, &l->query_norm, err)
		|| !al_linear_read(reading, AL_FORWARD_LATENT_QUERY, n_heads * (d_nope + d_rope),
			q_rank > 0 ? q_rank : network->d_model, &layer->query, err)
		|| !al_linear_read(reading, AL_FORWARD_LATENT_DOWN, kv_rank + d_rope,
			network->d_model, &l->down, err)
		|| !al_norm_read(reading, AL_FORWARD_LATENT_NORM, kv_rank, &l->norm, err)
		|| !al_linear_read(reading, AL_FORWARD_LATENT_UP, n_heads * (d_nope + d_value),
			kv_rank, &l->up, err))
		return false;
	l->query_norm.epsilon = l->norm.epsilon = epsilon;
	return true;
}

/* ---- running ---- */

/* Each head's numbers behind d_nope come first. */
static void bring_forward(const struct al_layer *layer, struct al_matrix_f q)
{
	const size_t d_nope = layer->latent.d_nope, d_rope = layer->latent.d_rope;
	const size_t width = d_nope + d_rope;
	AL_FREED float *memory = al_alloc(width, sizeof(*memory));

	for (size_t j = 0; j < q.cols; j++)
		for (size_t at = 0; at < q.rows; at += width) {
			float *head = q.data + at + j * q.ld;
			memcpy(memory, head + d_nope, d_rope * sizeof(*memory));
			memcpy(memory + d_rope, head, d_nope * sizeof(*memory));
			memcpy(head, memory, width * sizeof(*memory));
		}
}

static bool make_queries(const struct al_layer *layer, struct al_pass_place place,
	struct al_scratch *scratch, struct al_view_f x, struct al_matrix_f *q, struct al_error *err)
{
	const struct al_latent *l = &layer->latent;
	struct al_matrix_f latent;

	if (al_linear_is_there(&l->query_down)) {
		if (!al_take_f(scratch, &latent, al_linear_rows(&l->query_down), x.cols, err)
			|| !al_linear_apply(&l->query_down, place, x, latent, err))
			return false;
		al_norm_apply(&l->query_norm, latent);
		x = al_view_f(latent);
	}
	if (!al_take_f(scratch, q, al_linear_rows(&layer->query), x.cols, err)
		|| !al_linear_apply(&layer->query, place, x, *q, err))
		return false;
	bring_forward(layer, *q);
	return true;
}

/* Of a token: keys and values of all heads from what is made of its latent, [head][d_nope +
 * d_value]. */
static void deal(const struct al_layer *layer, const float *made, const float *rotated, float *k,
	float *v)
{
	const size_t d_nope = layer->latent.d_nope, d_rope = layer->latent.d_rope;
	const size_t d_value = (size_t)layer->shape->d_value;

	for (int64_t head = 0; head < layer->shape->n_heads; head++) {
		memcpy(k, rotated, d_rope * sizeof(*k));
		memcpy(k + d_rope, made, d_nope * sizeof(*k));
		memcpy(v, made + d_nope, d_value * sizeof(*v));
		k += d_rope + d_nope;
		v += d_value;
		made += d_nope + d_value;
	}
}

bool al_latent_apply(const struct al_layer *layer, struct al_pass_place place,
	struct al_scratch *scratch, struct al_view_f x, struct al_matrix_f *q,
	struct al_matrix_f *k, struct al_matrix_f *v, struct al_error *err)
{
	const struct al_latent *l = &layer->latent;
	const struct al_attention *a = layer->shape;
	struct al_matrix_f both, made;

	if (!make_queries(layer, place, scratch, x, q, err)
		|| !al_take_f(scratch, &both, al_linear_rows(&l->down), x.cols, err)
		|| !al_linear_apply(&l->down, place, x, both, err)
		|| !al_take_f(scratch, &made, al_linear_rows(&l->up), x.cols, err)
		|| !al_take_f(scratch, k, (size_t)(a->n_heads * a->d_head), x.cols, err)
		|| !al_take_f(scratch, v, (size_t)(a->n_heads * a->d_value), x.cols, err))
		return false;
	const struct al_matrix_f latent = al_part_f(both, 0, 0, l->kv_rank, both.cols);
	al_norm_apply(&l->norm, latent);
	if (!al_linear_apply(&l->up, place, al_view_f(latent), made, err))
		return false;
	for (size_t j = 0; j < x.cols; j++)
		deal(layer, made.data + j * made.ld, both.data + l->kv_rank + j * both.ld,
			k->data + j * k->ld, v->data + j * v->ld);
	return true;
}
