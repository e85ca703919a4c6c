/* Shared queries and keys as heads. */
#include "compress/shared.h"

#include "model/heads/shared_heads.h"

bool al_shared_make(const struct al_module_layout *layout,
	const struct al_matrix pieces[AL_N_PIECES], double scale, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const struct al_shared_heads heads =
		{.columns = pieces[p == AL_QUERY ? AL_PIECE_QUERY : AL_PIECE_KEY],
			.mixing = pieces[AL_PIECE_MIXING],
			.content = pieces[AL_PIECE_CONTENT],
			.n_heads = (size_t)a->n_heads,
			.factor = scale / a->score_scale};

	return al_shared_heads_make(&heads, p == AL_QUERY, is_bias, out, err);
}

bool al_shared_load(const struct al_module_layout *layout, const struct al_checkpoint *compressed,
	double scale, enum al_projection p, bool is_bias, struct al_matrix *out,
	struct al_error *err)
{
	static const enum al_module_piece shared[] = {AL_PIECE_QUERY, AL_PIECE_KEY, AL_PIECE_MIXING,
		AL_PIECE_CONTENT};
	enum { N = sizeof(shared) / sizeof(*shared) };
	struct al_matrix pieces[AL_N_PIECES] = {{0}};
	bool ok = true;

	for (size_t i = 0; ok && i < N; i++)
		if ((int)shared[i] > AL_KEY || (int)shared[i] == (int)p)
			ok = al_layout_read(layout, compressed, shared[i], &pieces[shared[i]], err);
	ok = ok && al_shared_make(layout, pieces, scale, p, is_bias, out, err);
	for (size_t i = 0; i < N; i++)
		al_matrix_finish(&pieces[shared[i]]);
	return ok;
}
