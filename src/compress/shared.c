/* Shared queries and keys as heads. */
#include "compress/shared.h"

#include <math.h>
#include <string.h>

struct shared {
	struct al_matrix columns, mixing, content; /* [D][R], [R][n_heads], [D][n_heads] or empty */
	size_t n_heads;
	double factor; /* of queries: the model divides scores by the root of score_divisor */
};

static size_t stride_of(const struct shared *s)
{
	return s->columns.cols + (s->content.data ? 1 : 0);
}

static bool make_bias(const struct shared *s, bool is_query, struct al_matrix *out,
	struct al_error *err)
{
	const size_t stride = stride_of(s);

	*out = (struct al_matrix){0};
	if (!s->content.data || !is_query)
		return true;
	if (!al_matrix_init(out, 1, s->n_heads * stride, err))
		return false;
	for (size_t j = 0; j < out->cols; j++)
		out->data[j * out->ld] = j % stride == stride - 1 ? s->factor : 0;
	return true;
}

static void make_head(const struct shared *s, size_t head, bool is_query, struct al_matrix out)
{
	const struct al_matrix *from = &s->columns;

	for (size_t r = 0; r < from->cols; r++) {
		const double factor = is_query ? s->factor * s->mixing.data[r + head * s->mixing.ld]
					       : 1;
		for (size_t i = 0; i < out.rows; i++)
			out.data[i + r * out.ld] = factor * from->data[i + r * from->ld];
	}
	for (size_t i = 0; s->content.data && i < out.rows; i++)
		out.data[i + from->cols * out.ld] = is_query
			? 0
			: s->content.data[i + head * s->content.ld];
}

static bool make_heads(const struct shared *s, bool is_query, struct al_matrix *out,
	struct al_error *err)
{
	const size_t stride = stride_of(s);

	if (!al_matrix_init(out, s->columns.rows, s->n_heads * stride, err))
		return false;
	for (size_t head = 0; head < s->n_heads; head++)
		make_head(s, head, is_query, al_part(*out, 0, head * stride, out->rows, stride));
	return true;
}

bool al_shared_load(const struct al_layout *layout, const struct al_checkpoint *compressed,
	double scale, enum al_projection p, bool is_bias, struct al_matrix *out,
	struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const bool is_query = p == AL_QUERY;
	struct shared s = {.n_heads = (size_t)a->n_heads,
		.factor = scale * sqrt((double)a->score_divisor)};
	bool ok = al_layout_read(layout, compressed, is_query ? AL_PIECE_QUERY : AL_PIECE_KEY,
			  &s.columns, err)
		&& al_layout_read(layout, compressed, AL_PIECE_MIXING, &s.mixing, err)
		&& al_layout_read(layout, compressed, AL_PIECE_CONTENT, &s.content, err)
		&& (is_bias ? make_bias(&s, is_query, out, err)
			    : make_heads(&s, is_query, out, err));

	al_matrix_finish(&s.columns);
	al_matrix_finish(&s.mixing);
	al_matrix_finish(&s.content);
	return ok;
}
