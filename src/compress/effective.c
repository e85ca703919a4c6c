/* A compressed module's projections in the shape of the original's. */
#include "compress/effective.h"

#include <string.h>

#include "model/heads/shared_heads.h"

static enum al_module_piece piece_of(enum al_projection p, bool is_bias)
{
	return (enum al_module_piece)(is_bias ? AL_PIECE_QUERY_BIAS + (int)p : (int)p);
}

/* The narrow matrix before a projection; AL_N_PIECES: no method has one. */
static enum al_module_piece down_of(enum al_projection p)
{
	return p <= AL_VALUE ? (enum al_module_piece)(AL_PIECE_QUERY_DOWN + (int)p) : AL_N_PIECES;
}

bool al_layout_changes(const struct al_module_layout *layout, enum al_projection p, bool is_bias)
{
	for (size_t i = 0; i < layout->n_slices; i++)
		if (layout->slices[i].piece == piece_of(p, is_bias) && !layout->slices[i].is_kept)
			return true;
	return false;
}

/* Where head number i of the original's projection begins in the piece, and how wide it is there;
 * 0: nowhere. */
struct spot {
	size_t at, width;
};

static struct spot find_spot(const struct al_module_layout *layout, enum al_projection p,
	size_t head)
{
	const struct al_attention *a = layout->attention;
	const bool is_shared = p == AL_KEY || p == AL_VALUE;
	const size_t width = (size_t)a->factors[p].width, rank = (size_t)layout->rank;
	size_t at = 0;

	switch (layout->method) {
	case AL_METHOD_QK:
	case AL_METHOD_OV:
		return (struct spot){head * rank, rank};
	case AL_METHOD_GQA:
		return p == AL_VALUE || (p == AL_KEY && layout->of_keys)
			? (struct spot){head / ((size_t)a->n_kv_heads / rank) * width, width}
			: (struct spot){head * width, width};
	case AL_METHOD_MHE_MUL:
		return (struct spot){p == AL_OUTPUT ? head * width : 0, width};
	case AL_METHOD_DROP:
	case AL_METHOD_MERGE:
		for (size_t i = 0; i < head; i++)
			at += layout->is_dropped[is_shared
					      ? i * (size_t)(a->n_heads / a->n_kv_heads)
					      : i]
				? 0
				: width;
		return (struct spot){at,
			layout->is_dropped[is_shared ? head * (size_t)(a->n_heads / a->n_kv_heads)
						     : head]
				? 0
				: width};
	default:
		return (struct spot){head * width, width};
	}
}

static void spread(const struct al_module_layout *layout, enum al_projection p,
	struct al_view piece, struct al_matrix out)
{
	const struct al_factor *factor = &layout->attention->factors[p];

	for (size_t head = 0; head < (size_t)factor->heads; head++) {
		const struct spot spot = find_spot(layout, p, head);
		for (size_t j = 0; j < spot.width; j++)
			memcpy(out.data + (head * (size_t)factor->width + j) * out.ld,
				piece.data + (spot.at + j) * piece.ld, out.rows * sizeof(double));
	}
}

/* A narrow projection, if there is one, times what follows it. */
static bool make(const struct al_module_layout *layout, const struct al_matrix pieces[AL_N_PIECES],
	enum al_projection p, bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_factor *factor = &layout->attention->factors[p];
	const struct al_matrix piece = pieces[piece_of(p, is_bias)];
	const enum al_module_piece down = is_bias ? AL_N_PIECES : down_of(p);
	AL_OWNED struct al_matrix product = {0};
	struct al_view whole = al_view(piece);

	if (down < AL_N_PIECES && pieces[down].data) {
		if (!al_matrix_init(&product, pieces[down].rows, piece.cols, err)
			|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(pieces[down]), al_view(piece), 0,
				product, err))
			return false;
		whole = al_view(product);
	}
	if (!al_matrix_init(out, is_bias ? 1 : (size_t)factor->rows,
		    (size_t)(factor->heads * factor->width), err))
		return false;
	spread(layout, p, whole, *out);
	return true;
}

/* What of the file such a projection is made of. */
static bool takes_piece(const struct al_module_layout *layout, enum al_module_piece piece,
	enum al_projection p, bool is_bias)
{
	if (al_method_mixes(layout->method) && p <= AL_KEY)
		return piece == (enum al_module_piece)p || piece == AL_PIECE_MIXING
			|| piece == AL_PIECE_CONTENT;
	return piece == piece_of(p, is_bias) || (!is_bias && piece == down_of(p));
}

static bool read_pieces(const struct al_module_layout *layout,
	const struct al_checkpoint *compressed, enum al_projection p, bool is_bias,
	struct al_matrix pieces[AL_N_PIECES], struct al_error *err)
{
	for (int i = 0; i < AL_N_PIECES; i++)
		if (takes_piece(layout, (enum al_module_piece)i, p, is_bias)
			&& !al_layout_read(layout, compressed, (enum al_module_piece)i, &pieces[i],
				err))
			return false;
	return true;
}

static bool make_shared(const struct al_module_layout *layout,
	const struct al_matrix pieces[AL_N_PIECES], double scale, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const struct al_shared_heads heads = {.columns = pieces[p],
		.mixing = pieces[AL_PIECE_MIXING],
		.content = pieces[AL_PIECE_CONTENT],
		.n_heads = (size_t)a->n_heads,
		.factor = scale / a->score_scale};

	return al_shared_heads_make(&heads, p == AL_QUERY, is_bias, out, err);
}

bool al_effective_factor(const struct al_module_layout *layout,
	const struct al_matrix pieces[AL_N_PIECES], double scale,
	const struct al_checkpoint *original, enum al_projection p, bool is_bias,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const struct al_factor *own = is_bias ? &a->biases[p] : &a->factors[p];

	if (al_method_mixes(layout->method) && p <= AL_KEY)
		return make_shared(layout, pieces, scale, p, is_bias, out, err);
	if (pieces[piece_of(p, is_bias)].data)
		return make(layout, pieces, p, is_bias, out, err);
	*out = (struct al_matrix){0};
	return (is_bias && own->n_runs == 0) || al_factor_load(original, own, out, err);
}

bool al_effective_load(const struct al_module_layout *layout,
	const struct al_checkpoint *compressed, double scale, const struct al_checkpoint *original,
	enum al_projection p, bool is_bias, struct al_matrix *out, struct al_error *err)
{
	struct al_matrix pieces[AL_N_PIECES] = {{0}};
	const bool is_read = al_layout_changes(layout, p, is_bias)
		|| (al_method_mixes(layout->method) && p <= AL_KEY);
	const bool ok = (!is_read || read_pieces(layout, compressed, p, is_bias, pieces, err))
		&& al_effective_factor(layout, pieces, scale, original, p, is_bias, out, err);

	for (int i = 0; i < AL_N_PIECES; i++)
		al_matrix_finish(&pieces[i]);
	return ok;
}

bool al_effective_gather(const struct al_module_layout *layout, enum al_projection p,
	struct al_view effective, struct al_matrix *piece, struct al_error *err)
{
	const struct al_factor *factor = &layout->attention->factors[p];
	size_t columns = 0;

	for (size_t head = 0; head < (size_t)factor->heads; head++) {
		const struct spot spot = find_spot(layout, p, head);
		columns = spot.width && spot.at + spot.width > columns ? spot.at + spot.width
								       : columns;
	}
	al_matrix_finish(piece);
	if (!al_matrix_init(piece, effective.rows, columns, err))
		return false;
	for (size_t head = 0; head < (size_t)factor->heads; head++) {
		const struct spot spot = find_spot(layout, p, head);
		for (size_t j = 0; j < spot.width; j++)
			memcpy(piece->data + (spot.at + j) * piece->ld,
				effective.data + (head * (size_t)factor->width + j) * effective.ld,
				piece->rows * sizeof(double));
	}
	return true;
}
