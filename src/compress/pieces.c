/* Methods on the scores of all heads together: shared projections and a mixing matrix (collab),
 * narrow queries and keys before the heads' own (tucker). */
#include "compress/work.h"

#include "linalg/cp.h"
#include "linalg/tucker.h"

/* v_i = W_K^(i) b_Q^(i): exact, of the original keys. */
static bool make_content(const struct al_work *w, struct al_matrix *out, struct al_error *err)
{
	const size_t d_head = (size_t)w->a->d_head;
	const struct al_view keys = al_view(w->weights[AL_KEY]);
	bool ok = al_matrix_init(out, keys.rows, w->heads.n_heads, err);

	for (size_t i = 0; ok && i < w->heads.n_heads; i++)
		ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1,
			al_columns(keys, al_kv_head(&w->heads, i) * d_head, d_head),
			al_columns(al_view(w->biases[AL_QUERY]), i * d_head, d_head), 0,
			al_part(*out, 0, i, keys.rows, 1), err);
	return ok;
}

bool al_work_collab(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const struct al_cp_options options = {.rank = (size_t)w->layout->rank,
		.start = AL_CP_AUTO,
		.n_sweeps = w->options->effort.n_sweeps,
		.stop = w->options->effort.n_restarts > 0 ? AL_CP_STOP / 100 : AL_CP_STOP,
		.seed = w->options->effort.seed,
		.n_restarts = w->options->effort.n_restarts};
	struct al_matrix *mixing = &out->of[AL_PIECE_MIXING];
	struct al_cp cp;

	if (!al_cp(&w->narrow, &options, &cp, err))
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
	return ok && al_work_bring_back(w, AL_QUERY, &out->of[AL_PIECE_QUERY], err)
		&& al_work_bring_back(w, AL_KEY, &out->of[AL_PIECE_KEY], err)
		&& (!w->biases[AL_QUERY].data || make_content(w, &out->of[AL_PIECE_CONTENT], err));
}

bool al_work_tucker(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	struct al_tucker_options options = {.modes = AL_TUCKER_PARTIAL,
		.query_rank = (size_t)al_tucker_width(w->a, AL_QUERY, w->layout->rank),
		.key_rank = (size_t)al_tucker_width(w->a, AL_KEY, w->layout->rank),
		.seed = w->options->effort.seed};
	struct al_tucker tucker;

	al_tucker_refine(&w->narrow, &options);
	if (!al_tucker(&w->narrow, &options, &tucker, err))
		return false;
	out->of[AL_PIECE_QUERY_DOWN] = tucker.query;
	out->of[AL_PIECE_KEY_DOWN] = tucker.key;
	out->of[AL_PIECE_QUERY] = tucker.core_query;
	out->of[AL_PIECE_KEY] = tucker.core_key;
	tucker.query = tucker.key = tucker.core_query = tucker.core_key = (struct al_matrix){0};
	out->relative_error = tucker.relative_error;
	out->is_estimate = tucker.is_estimate;
	al_tucker_finish(&tucker);
	return al_work_bring_back(w, AL_QUERY, &out->of[AL_PIECE_QUERY_DOWN], err)
		&& al_work_bring_back(w, AL_KEY, &out->of[AL_PIECE_KEY_DOWN], err);
}
