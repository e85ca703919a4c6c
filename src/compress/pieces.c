/* What a method makes of a module's weights. */
#include "compress/pieces.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/cp.h"
#include "linalg/tucker.h"

/* ---- loading ---- */

static bool load(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	struct al_matrix *out, struct al_error *err)
{
	return factor->n_runs == 0 || al_factor_load(checkpoint, factor, out, err);
}

static bool find_greedy(struct al_scores *s, struct al_error *err)
{
	const struct al_heads *heads = s->is_single ? &s->narrow.heads : &s->heads;

	s->n_greedy = al_cp_bound(heads);
	s->greedy = al_calloc(s->n_greedy + 1, sizeof(*s->greedy));
	return al_cp_greedy_errors(heads, s->greedy, err);
}

static bool fill(struct al_scores *s, const struct al_checkpoint *checkpoint, struct al_error *err)
{
	const struct al_attention *a = s->attention;

	if (!load(checkpoint, &a->factors[AL_QUERY], &s->query, err)
		|| !load(checkpoint, &a->factors[AL_KEY], &s->key, err)
		|| !load(checkpoint, &a->biases[AL_QUERY], &s->query_bias, err)
		|| !load(checkpoint, &a->biases[AL_KEY], &s->key_bias, err))
		return false;
	s->heads = (struct al_heads){.query = al_view(s->query),
		.key = al_view(s->key),
		.n_heads = (size_t)a->n_heads,
		.n_kv_heads = (size_t)a->n_kv_heads,
		.d_head = (size_t)a->d_head};
	s->is_single = a->factors[AL_QUERY].dtype->epsilon >= 0x1p-23
		&& a->factors[AL_KEY].dtype->epsilon >= 0x1p-23;
	if (s->is_single && !al_narrow_heads_init(&s->narrow, &s->heads, err))
		return false;
	return al_heads_check(&s->heads, err) && find_greedy(s, err);
}

bool al_scores_load(struct al_scores *out, const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, struct al_error *err)
{
	*out = (struct al_scores){.attention = attention};
	if (fill(out, checkpoint, err))
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
	if (s->is_single)
		al_narrow_heads_finish(&s->narrow);
	free(s->greedy);
	*s = (struct al_scores){0};
}

/* ---- the control ---- */

int64_t al_layout_weights(const struct al_layout *layout)
{
	const struct al_attention *a = layout->attention;
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;

	if (al_method_is_of_values(layout->method))
		return al_layout_parameters(layout);
	switch (layout->method) {
	case AL_METHOD_COLLAB:
		return layout->rank * (d_query + d_key + a->n_heads);
	case AL_METHOD_TUCKER:
		return al_tucker_width(a, AL_QUERY, layout->rank)
			* (d_query + a->n_heads * a->d_head)
			+ al_tucker_width(a, AL_KEY, layout->rank)
			* (d_key + a->n_kv_heads * a->d_head);
	case AL_METHOD_TRUNCATE:
		return layout->rank * (a->n_heads * d_query + a->n_kv_heads * d_key);
	default:
		return a->d_head
			* (al_layout_heads(layout, false) * d_query
				+ al_layout_heads(layout, true) * d_key);
	}
}

double al_control_error(const struct al_scores *scores, int64_t parameters)
{
	const size_t rank = (size_t)parameters / (scores->query.rows + scores->key.rows);

	return scores->greedy[rank < scores->n_greedy ? rank : scores->n_greedy];
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

/* An error below this is rounding. */
static const double SETTLED = 1e-6;

static bool make_collab(struct al_pieces *out, const struct al_scores *s,
	const struct al_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	const struct al_cp_options options = {.rank = (size_t)layout->rank,
		.start = AL_CP_AUTO,
		.n_sweeps = effort->n_sweeps,
		.stop = AL_CP_STOP,
		.seed = effort->seed};
	struct al_matrix *mixing = &out->of[AL_PIECE_MIXING];
	struct al_cp cp;

	if (!al_cp(s->is_single ? &s->narrow.heads : &s->heads, &options, &cp, err))
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
	out->has_settled = cp.is_converged || cp.relative_error < SETTLED;
	al_cp_finish(&cp);
	return ok && (!s->query_bias.data || make_content(s, &out->of[AL_PIECE_CONTENT], err));
}

/* ---- tucker ---- */

static bool make_tucker(struct al_pieces *out, const struct al_scores *s,
	const struct al_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	struct al_tucker_options options = {.modes = AL_TUCKER_PARTIAL,
		.query_rank = (size_t)al_tucker_width(layout->attention, AL_QUERY, layout->rank),
		.key_rank = (size_t)al_tucker_width(layout->attention, AL_KEY, layout->rank),
		.seed = effort->seed};
	struct al_tucker tucker;

	const struct al_heads *heads = s->is_single ? &s->narrow.heads : &s->heads;
	al_tucker_refine(heads, &options);
	if (!al_tucker(heads, &options, &tucker, err))
		return false;
	out->of[AL_PIECE_QUERY_DOWN] = tucker.query;
	out->of[AL_PIECE_KEY_DOWN] = tucker.key;
	out->of[AL_PIECE_QUERY] = tucker.core_query;
	out->of[AL_PIECE_KEY] = tucker.core_key;
	tucker.query = tucker.key = tucker.core_query = tucker.core_key = (struct al_matrix){0};
	out->relative_error = tucker.relative_error;
	out->is_estimate = tucker.is_estimate;
	al_tucker_finish(&tucker);
	return true;
}

/* ---- truncate ---- */

/* One key/value head and the query heads of its group. K = U R (thin QR); of the stack [Q_i R^T]
 * the first singular vectors V are the directions of the keys that the scores need most, common to
 * the group because its heads share their keys. */
struct group {
	size_t kv_head, n, first; /* query heads [first, +n) */
	struct al_matrix basis; /* U, [d_key][height] */
	struct al_matrix forms; /* stacked Q_i R^T, [n*d_query][height] */
	struct al_matrix left, right;
	double *values;
	double scale; /* keys times it, queries divided by it: balances their norms */
};

static void group_finish(struct group *g)
{
	al_matrix_finish(&g->basis);
	al_matrix_finish(&g->forms);
	al_matrix_finish(&g->left);
	al_matrix_finish(&g->right);
	free(g->values);
}

static bool stack_forms(struct group *g, const struct al_scores *s, struct al_matrix r,
	struct al_error *err)
{
	const size_t d_head = (size_t)s->attention->d_head, d_query = s->query.rows;
	bool ok = true;

	for (size_t i = 0; ok && i < g->n; i++)
		ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
			al_columns(al_view(s->query), (g->first + i) * d_head, d_head), al_view(r),
			0, al_part(g->forms, i * d_query, 0, d_query, r.rows), err);
	return ok;
}

static bool group_init(struct group *g, const struct al_scores *s, struct al_error *err)
{
	const size_t d_head = (size_t)s->attention->d_head, d_key = s->key.rows;
	const size_t height = d_key < d_head ? d_key : d_head, tall = g->n * s->query.rows;
	const size_t n_values = tall < height ? tall : height;
	struct al_matrix r = {0};

	g->values = al_calloc(n_values, sizeof(*g->values));
	bool ok = al_matrix_init(&g->basis, d_key, d_head, err)
		&& al_matrix_init(&r, height, d_head, err)
		&& al_matrix_init(&g->forms, tall, height, err)
		&& al_matrix_init(&g->left, tall, n_values, err)
		&& al_matrix_init(&g->right, height, n_values, err)
		&& al_copy(al_columns(al_view(s->key), g->kv_head * d_head, d_head), g->basis, err)
		&& al_qr(g->basis, r, err) && stack_forms(g, s, r, err)
		&& al_svd(g->forms, g->left, g->values, g->right, err);
	/* al_svd destroyed the forms; biases go through them too */
	ok = ok && stack_forms(g, s, r, err);
	g->basis.cols = height;
	g->scale = ok && g->values[0] > 0 ? sqrt(g->values[0]) : 1;
	al_matrix_finish(&r);
	return ok;
}

/* The bias of a query head: b_Q R^T V = b_Q K^T (U V). */
static bool project_bias(const struct group *g, const struct al_scores *s, size_t head,
	struct al_view keys, struct al_matrix out, struct al_error *err)
{
	const size_t d_head = (size_t)s->attention->d_head;
	struct al_matrix content = {0};

	bool ok = al_matrix_init(&content, s->key.rows, 1, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
			al_columns(al_view(s->key), g->kv_head * d_head, d_head),
			al_columns(al_view(s->query_bias), head * d_head, d_head), 0, content, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1 / (g->scale * g->scale), al_view(content),
			keys, 0, out, err);
	al_matrix_finish(&content);
	return ok;
}

/* What the directions that are left out hold. */
static double left_out(const struct group *g, size_t rank)
{
	double sum = 0;

	for (size_t k = g->right.cols; k-- > rank;)
		sum += g->values[k] * g->values[k];
	return sum;
}

static bool fill_group(struct al_pieces *out, const struct group *g, const struct al_scores *s,
	size_t rank, struct al_error *err)
{
	const struct al_view right = al_columns(al_view(g->right), 0, rank);
	const struct al_matrix keys = al_part(out->of[AL_PIECE_KEY], 0, g->kv_head * rank,
		s->key.rows, rank);
	bool ok = al_gemm(AL_PLAIN, AL_PLAIN, g->scale, al_view(g->basis), right, 0, keys, err);

	for (size_t i = 0; ok && i < g->n; i++) {
		const size_t head = g->first + i;
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1 / g->scale,
			al_view(al_part(g->forms, i * s->query.rows, 0, s->query.rows,
				g->forms.cols)),
			right, 0,
			al_part(out->of[AL_PIECE_QUERY], 0, head * rank, s->query.rows, rank), err);
		if (ok && s->query_bias.data)
			ok = project_bias(g, s, head, al_view(keys),
				al_part(out->of[AL_PIECE_QUERY_BIAS], 0, head * rank, 1, rank),
				err);
	}
	return ok;
}

/* The keys' bias gives every key of a query the same; softmax doesn't see it: zeros stand for it,
 * so that the tensor is where its readers look for it. */
static bool init_truncated(struct al_pieces *out, const struct al_scores *s, size_t rank,
	struct al_error *err)
{
	struct al_matrix *of = out->of;
	const size_t queries = s->heads.n_heads * rank, keys = s->heads.n_kv_heads * rank;

	return al_matrix_init(&of[AL_PIECE_QUERY], s->query.rows, queries, err)
		&& al_matrix_init(&of[AL_PIECE_KEY], s->key.rows, keys, err)
		&& (!s->query_bias.data
			|| al_matrix_init(&of[AL_PIECE_QUERY_BIAS], 1, queries, err))
		&& (!s->key_bias.data || al_matrix_init(&of[AL_PIECE_KEY_BIAS], 1, keys, err));
}

static bool make_truncate(struct al_pieces *out, const struct al_scores *s,
	const struct al_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	const size_t rank = (size_t)layout->rank, n = s->heads.n_heads / s->heads.n_kv_heads;
	double norm, sum = 0;
	bool ok = al_heads_norm(&s->heads, &norm, err) && init_truncated(out, s, rank, err);

	(void)effort;
	for (size_t j = 0; ok && j < s->heads.n_kv_heads; j++) {
		struct group g = {.kv_head = j, .n = n, .first = j * n};
		ok = group_init(&g, s, err) && fill_group(out, &g, s, rank, err);
		if (ok)
			sum += left_out(&g, rank);
		group_finish(&g);
	}
	out->relative_error = ok ? sqrt(sum / norm) : 0;
	return ok;
}

/* ---- drop ---- */

static bool make_drop(struct al_pieces *out, const struct al_scores *s,
	const struct al_layout *layout, const struct al_effort *effort, struct al_error *err)
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
	const struct al_layout *layout, const struct al_effort *effort, struct al_error *err)
{
	static bool (*const methods[])(struct al_pieces *, const struct al_scores *,
		const struct al_layout *, const struct al_effort *,
		struct al_error *) = {make_collab, make_tucker, make_truncate, make_drop};

	*out = (struct al_pieces){.has_settled = true};
	if (methods[layout->method](out, scores, layout, effort, err))
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
