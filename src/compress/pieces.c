/* What a method makes of a module's weights. */
#include "compress/pieces.h"

#include <math.h>

#include "linalg/cp.h"
#include "linalg/tucker.h"

/* ---- loading ---- */

static bool load(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	struct al_matrix *out, struct al_error *err)
{
	return factor->n_runs == 0 || al_factor_load(checkpoint, factor, out, err);
}

static bool fill(struct al_scores *s, const struct al_model_view *view, const struct al_data *data,
	struct al_error *err)
{
	const struct al_checkpoint *checkpoint = view->checkpoint;
	const struct al_attention *a = s->attention;
	double norm;

	if (!load(checkpoint, &a->factors[AL_QUERY], &s->query, err)
		|| !load(checkpoint, &a->factors[AL_KEY], &s->key, err)
		|| !load(checkpoint, &a->biases[AL_QUERY], &s->query_bias, err)
		|| !load(checkpoint, &a->biases[AL_KEY], &s->key_bias, err))
		return false;
	if (data && !al_whiten(view, a, data, al_view(s->query), al_view(s->key), s->whitened, err))
		return false;
	s->heads = (struct al_heads){.query = al_scores_seen(s, AL_QUERY),
		.key = al_scores_seen(s, AL_KEY),
		.n_heads = (size_t)a->n_heads,
		.n_kv_heads = (size_t)a->n_kv_heads,
		.d_head = (size_t)a->d_head};
	const bool is_single = !s->whitened[AL_QUERY].weights.data
		&& a->factors[AL_QUERY].dtype->epsilon >= 0x1p-23
		&& a->factors[AL_KEY].dtype->epsilon >= 0x1p-23;
	s->narrow = s->heads;
	if (is_single && !al_heads_narrow(&s->scratch, &s->heads, &s->narrow, err))
		return false;
	return al_heads_check(&s->heads, &norm, err)
		&& al_control_init(&s->control, &s->narrow, err);
}

bool al_scores_load(struct al_scores *out, const struct al_model_view *view,
	const struct al_attention *attention, const struct al_data *data, struct al_error *err)
{
	*out = (struct al_scores){.attention = attention};
	if (fill(out, view, data, err))
		return true;
	al_scores_finish(out);
	return false;
}

void al_scores_finish(struct al_scores *s)
{
	al_matrix_finish(&s->query);
	al_matrix_finish(&s->key);
	al_matrix_finish(&s->query_bias);
	al_matrix_finish(&s->key_bias);
	al_whitened_finish(&s->whitened[AL_QUERY]);
	al_whitened_finish(&s->whitened[AL_KEY]);
	al_scratch_finish(&s->scratch);
	al_control_finish(&s->control);
	*s = (struct al_scores){0};
}

/* ---- the control ---- */

int64_t al_layout_weights(const struct al_module_layout *layout)
{
	const struct al_attention *a = layout->attention;
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;

	if (al_method_is_of_values(layout->method))
		return al_layout_parameters(layout);
	switch (layout->method) {
	case AL_METHOD_COLLAB:
	case AL_METHOD_MHE_MUL:
		return layout->rank * (d_query + d_key + a->n_heads);
	case AL_METHOD_TUCKER:
		return al_tucker_width(a, AL_QUERY, layout->rank)
			* (d_query + a->n_heads * a->d_head)
			+ al_tucker_width(a, AL_KEY, layout->rank)
			* (d_key + a->n_kv_heads * a->d_head);
	case AL_METHOD_QK:
		return layout->rank * (a->n_heads * d_query + a->n_kv_heads * d_key);
	default:
		return a->d_head
			* (al_layout_heads(layout, false) * d_query
				+ al_layout_heads(layout, true) * d_key);
	}
}

/* ---- collab ---- */

/* v_i = W_K^(i) b_Q^(i): exact, of the original keys. */
static bool make_content(const struct al_scores *s, struct al_matrix *out, struct al_error *err)
{
	const size_t d_head = (size_t)s->attention->d_head;
	bool ok = al_matrix_init(out, s->key.rows, s->heads.n_heads, err);

	for (size_t i = 0; ok && i < s->heads.n_heads; i++)
		ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
			al_columns(al_view(s->key), al_kv_head(&s->heads, i) * d_head, d_head),
			al_columns(al_view(s->query_bias), i * d_head, d_head), 0,
			al_part(*out, 0, i, s->key.rows, 1), err);
	return ok;
}

static bool make_collab(struct al_pieces *out, const struct al_scores *s,
	const struct al_module_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	const struct al_cp_options options = {.rank = (size_t)layout->rank,
		.start = AL_CP_AUTO,
		.n_sweeps = effort->n_sweeps,
		.stop = AL_CP_STOP,
		.seed = effort->seed};
	struct al_matrix *mixing = &out->of[AL_PIECE_MIXING];
	struct al_cp cp;

	if (!al_cp(&s->narrow, &options, &cp, err))
		return false;
	bool ok = al_matrix_init(mixing, cp.mixing.cols, cp.mixing.rows, err);
	for (size_t j = 0; ok && j < mixing->cols; j++)
		for (size_t i = 0; i < mixing->rows; i++)
			mixing->data[i + j * mixing->ld] = cp.mixing.data[j + i * cp.mixing.ld];
	out->of[AL_PIECE_QUERY] = cp.query;
	out->of[AL_PIECE_KEY] = cp.key;
	cp.query = cp.key = (struct al_matrix){0};
	out->relative_error = cp.relative_error;
	out->is_estimate = cp.is_estimate;
	out->has_settled = al_cp_has_settled(&cp);
	al_cp_finish(&cp);
	return ok && al_unwhiten(&s->whitened[AL_QUERY], &out->of[AL_PIECE_QUERY], err)
		&& al_unwhiten(&s->whitened[AL_KEY], &out->of[AL_PIECE_KEY], err)
		&& (!s->query_bias.data || make_content(s, &out->of[AL_PIECE_CONTENT], err));
}

/* ---- tucker ---- */

static bool make_tucker(struct al_pieces *out, const struct al_scores *s,
	const struct al_module_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	struct al_tucker_options options = {.modes = AL_TUCKER_PARTIAL,
		.query_rank = (size_t)al_tucker_width(layout->attention, AL_QUERY, layout->rank),
		.key_rank = (size_t)al_tucker_width(layout->attention, AL_KEY, layout->rank),
		.seed = effort->seed};
	struct al_tucker tucker;

	al_tucker_refine(&s->narrow, &options);
	if (!al_tucker(&s->narrow, &options, &tucker, err))
		return false;
	out->of[AL_PIECE_QUERY_DOWN] = tucker.query;
	out->of[AL_PIECE_KEY_DOWN] = tucker.key;
	out->of[AL_PIECE_QUERY] = tucker.core_query;
	out->of[AL_PIECE_KEY] = tucker.core_key;
	tucker.query = tucker.key = tucker.core_query = tucker.core_key = (struct al_matrix){0};
	out->relative_error = tucker.relative_error;
	out->is_estimate = tucker.is_estimate;
	al_tucker_finish(&tucker);
	return al_unwhiten(&s->whitened[AL_QUERY], &out->of[AL_PIECE_QUERY_DOWN], err)
		&& al_unwhiten(&s->whitened[AL_KEY], &out->of[AL_PIECE_KEY_DOWN], err);
}

/* ---- drop ---- */

static bool make_drop(struct al_pieces *out, const struct al_scores *s,
	const struct al_module_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	const size_t d_head = (size_t)s->attention->d_head;
	double norm, sum = 0, one;

	(void)effort;
	if (!al_heads_norm(&s->heads, &norm, err))
		return false;
	for (size_t i = 0; i < s->heads.n_heads; i++) {
		const size_t kv_head = al_kv_head(&s->heads, i);
		const struct al_heads head = {.query = al_columns(s->heads.query, i * d_head,
						      d_head),
			.key = al_columns(s->heads.key, kv_head * d_head, d_head),
			.n_heads = 1,
			.n_kv_heads = 1,
			.d_head = d_head};
		if (!layout->is_dropped[i])
			continue;
		if (!al_heads_norm(&head, &one, err))
			return false;
		sum += one;
	}
	out->relative_error = sqrt(sum / norm);
	return true;
}

bool al_pieces_make(struct al_pieces *out, const struct al_scores *scores,
	const struct al_module_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	static bool (*const methods[])(struct al_pieces *, const struct al_scores *,
		const struct al_module_layout *, const struct al_effort *,
		struct al_error *) = {make_collab, make_tucker, al_pieces_make_qk, make_drop};
	const enum al_method method = al_method_mixes(layout->method) ? AL_METHOD_COLLAB
								      : layout->method;

	*out = (struct al_pieces){.has_settled = true};
	if (methods[method](out, scores, layout, effort, err))
		return true;
	al_pieces_finish(out);
	return false;
}

void al_pieces_finish(struct al_pieces *pieces)
{
	for (int i = 0; i < AL_N_PIECES; i++)
		al_matrix_finish(&pieces->of[i]);
	*pieces = (struct al_pieces){0};
}
