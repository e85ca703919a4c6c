/* Shared queries and keys as heads. */
#include "compress/shared.h"

#include <math.h>

#include "views/shared_heads.h"

bool al_shared_load(const struct al_layout *layout, const struct al_checkpoint *compressed,
	double scale, enum al_projection p, bool is_bias, struct al_matrix *out,
	struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const bool is_query = p == AL_QUERY;
	struct al_shared_heads s = {.n_heads = (size_t)a->n_heads,
		.factor = scale * sqrt((double)a->score_divisor)};
	bool ok = al_layout_read(layout, compressed, is_query ? AL_PIECE_QUERY : AL_PIECE_KEY,
			  &s.columns, err)
		&& al_layout_read(layout, compressed, AL_PIECE_MIXING, &s.mixing, err)
		&& al_layout_read(layout, compressed, AL_PIECE_CONTENT, &s.content, err)
		&& al_shared_heads_make(&s, is_query, is_bias, out, err);

	al_matrix_finish(&s.columns);
	al_matrix_finish(&s.mixing);
	al_matrix_finish(&s.content);
	return ok;
}
