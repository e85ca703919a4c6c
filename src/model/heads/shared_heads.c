/* Queries and keys that all heads share, as heads. */
#include "model/heads/shared_heads.h"

static size_t stride_of(const struct al_shared_heads *s)
{
	return s->columns.cols + (s->content.data ? 1 : 0);
}

static bool make_bias(const struct al_shared_heads *s, bool is_query, struct al_matrix *out,
	struct al_error *err)
{
	const size_t stride = stride_of(s);

	*out = (struct al_matrix){0};
	if (!s->content.data || !is_query)
		return true;
	if (!al_matrix_init(out, 1, s->n_heads * stride, err))
		return false;
	for (size_t j = stride - 1; j < out->cols; j += stride)
		out->data[j * out->ld] = s->factor;
	return true;
}

static void make_head(const struct al_shared_heads *s, size_t head, bool is_query,
	struct al_matrix out)
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

static bool make_heads(const struct al_shared_heads *s, bool is_query, struct al_matrix *out,
	struct al_error *err)
{
	const size_t stride = stride_of(s);

	if (!al_matrix_init(out, s->columns.rows, s->n_heads * stride, err))
		return false;
	for (size_t head = 0; head < s->n_heads; head++)
		make_head(s, head, is_query, al_part(*out, 0, head * stride, out->rows, stride));
	return true;
}

bool al_shared_heads_make(const struct al_shared_heads *heads, bool is_query, bool is_bias,
	struct al_matrix *out, struct al_error *err)
{
	return is_bias ? make_bias(heads, is_query, out, err)
		       : make_heads(heads, is_query, out, err);
}

/* [n_heads][R] as [R][n_heads]. */
static bool load_mixing(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	struct al_matrix *out, struct al_error *err)
{
	AL_OWNED struct al_matrix stored = {0};
	bool ok = al_factor_load(checkpoint, factor, &stored, err)
		&& al_matrix_init(out, stored.cols, stored.rows, err);

	for (size_t j = 0; ok && j < out->cols; j++)
		for (size_t i = 0; i < out->rows; i++)
			out->data[i + j * out->ld] = stored.data[j + i * stored.ld];
	return ok;
}

bool al_shared_heads_load(const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, bool is_query, bool is_bias, struct al_matrix *out,
	struct al_error *err)
{
	struct al_factor own = attention->factors[is_query ? AL_QUERY : AL_KEY];
	struct al_shared_heads s = {.n_heads = (size_t)attention->n_heads, .factor = 1};

	own.mixing = NULL;
	own.heads = 1;
	const bool ok = al_factor_load(checkpoint, &own, &s.columns, err)
		&& load_mixing(checkpoint, attention->factors[AL_QUERY].mixing, &s.mixing, err)
		&& (!attention->content
			|| al_factor_load(checkpoint, attention->content, &s.content, err))
		&& al_shared_heads_make(&s, is_query, is_bias, out, err);
	al_matrix_finish(&s.columns);
	al_matrix_finish(&s.mixing);
	al_matrix_finish(&s.content);
	return ok;
}
