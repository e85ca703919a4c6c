/* Each head's queries and keys at a lower rank: the largest singular values of W_Q W_K^T.
 *
 * Of one key/value head and the query heads of its group: K = U R (thin QR); of the stack [Q_i R^T]
 * the first singular vectors V are the directions of the keys that the scores need most, common to
 * the group because its heads share their keys. Keys become U V, queries Q_i R^T V. */
#include "compress/work.h"

struct group {
	const struct al_work *w;
	size_t kv_head, n, first; /* query heads [first, +n) */
	struct al_matrix basis, r; /* U [d_key][height], R [height][d_head] */
	struct al_matrix right; /* V */
	struct al_matrix values;
	double scale; /* keys times it, queries divided by it: balances their norms */
};

static struct al_view head_of(struct al_view all, size_t head, size_t d_head)
{
	return al_columns(all, head * d_head, d_head);
}

/* The singular values and V of the stack [Q_i R^T]. */
static bool decompose(struct al_scratch *scratch, struct group *g, struct al_error *err)
{
	const struct al_view queries = al_work_seen(g->w, AL_QUERY);
	const size_t rows = queries.rows, tall = g->n * rows, height = g->r.rows;
	const size_t n_values = al_least(tall, height);
	struct al_matrix forms, left;
	AL_SCRATCH(own);

	if (!al_take(&own, &forms, tall, height, err) || !al_take(&own, &left, tall, n_values, err)
		|| !al_take(scratch, &g->right, height, n_values, err)
		|| !al_take(scratch, &g->values, n_values, 1, err))
		return false;
	for (size_t i = 0; i < g->n; i++)
		if (!al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, head_of(queries, g->first + i, g->r.cols),
			    al_view(g->r), 0, al_part(forms, i * rows, 0, rows, height), err))
			return false;
	if (!al_svd(forms, left, g->values.data, g->right, err))
		return false;
	g->scale = g->values.data[0] > 0 ? sqrt(g->values.data[0]) : 1;
	return true;
}

static bool group_init(struct al_scratch *scratch, struct group *g, struct al_error *err)
{
	const size_t d_head = (size_t)g->w->a->d_head;
	const struct al_view keys = al_work_seen(g->w, AL_KEY);
	const size_t height = al_least(keys.rows, d_head);
	const bool ok = al_take(scratch, &g->basis, keys.rows, d_head, err)
		&& al_take(scratch, &g->r, height, d_head, err)
		&& al_copy(head_of(keys, g->kv_head, d_head), g->basis, err)
		&& al_qr(g->basis, g->r, err) && decompose(scratch, g, err);

	g->basis.cols = height;
	return ok;
}

/* What the directions that are left out hold. */
static double left_out(const struct group *g, size_t rank)
{
	double sum = 0;

	for (size_t k = g->right.cols; k-- > rank;)
		sum += g->values.data[k] * g->values.data[k];
	return sum;
}

/* Queries or their biases, which go through the same map R^T V. */
static bool fill_queries(struct al_matrix out, const struct group *g, struct al_view queries,
	struct al_view map, struct al_error *err)
{
	const size_t rank = map.cols;

	for (size_t head = g->first; queries.data && head < g->first + g->n; head++)
		if (!al_gemm(AL_PLAIN, AL_PLAIN, 1 / g->scale, head_of(queries, head, map.rows),
			    map, 0, al_part(out, 0, head * rank, queries.rows, rank), err))
			return false;
	return true;
}

static bool fill_group(struct al_pieces *out, const struct group *g, size_t rank,
	struct al_error *err)
{
	const struct al_view right = al_columns(al_view(g->right), 0, rank);
	AL_OWNED struct al_matrix map = {0};

	return al_gemm(AL_PLAIN, AL_PLAIN, g->scale, al_view(g->basis), right, 0,
		       al_part(out->of[AL_PIECE_KEY], 0, g->kv_head * rank, g->basis.rows, rank),
		       err)
		&& al_product(AL_TRANSPOSED, al_view(g->r), AL_PLAIN, right, &map, err)
		&& fill_queries(out->of[AL_PIECE_QUERY], g, al_view(g->w->weights[AL_QUERY]),
			al_view(map), err)
		&& fill_queries(out->of[AL_PIECE_QUERY_BIAS], g, al_view(g->w->biases[AL_QUERY]),
			al_view(map), err);
}

/* The keys' bias gives every key of a query the same; softmax doesn't see it: zeros replace it,
 * so that the tensor is where its readers look for it. */
static bool init_pieces(struct al_pieces *out, const struct al_work *w, size_t rank,
	struct al_error *err)
{
	const size_t columns[] = {w->heads.n_heads * rank, w->heads.n_kv_heads * rank};

	for (int p = AL_QUERY; p <= AL_KEY; p++)
		if (!al_matrix_init(&out->of[p], w->weights[p].rows, columns[p], err)
			|| (w->biases[p].data
				&& !al_matrix_init(&out->of[AL_PIECE_QUERY_BIAS + p], 1, columns[p],
					err)))
			return false;
	return true;
}

bool al_work_qk(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const size_t rank = (size_t)w->layout->rank;
	double norm, sum = 0;

	if (!al_heads_norm(&w->heads, &norm, err) || !init_pieces(out, w, rank, err))
		return false;
	for (size_t j = 0; j < w->n_kv; j++) {
		struct group g = {.w = w, .kv_head = j, .n = w->group, .first = j * w->group};
		AL_SCRATCH(scratch);
		if (!group_init(&scratch, &g, err) || !fill_group(out, &g, rank, err))
			return false;
		sum += left_out(&g, rank);
	}
	out->relative_error = sqrt(sum / norm);
	return al_work_bring_back(w, AL_KEY, &out->of[AL_PIECE_KEY], err);
}
