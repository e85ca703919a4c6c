/* A module's scores, from the original or from the compressed file. */
#include "compress/side.h"

#include "compress/compress.h"
#include "compress/effective.h"

void al_side_forget_input(struct al_side_scores *side)
{
	al_matrix_finish(&side->queries);
	al_matrix_finish(&side->keys);
	al_matrix_finish(&side->contents);
	al_matrix_finish(&side->values);
}

void al_side_finish(struct al_side_scores *side)
{
	for (int i = 0; i < AL_N_PIECES; i++)
		al_matrix_finish(&side->of[i]);
	al_side_forget_input(side);
}

bool al_side_load_original(struct al_side_scores *side, const struct al_model_view *view,
	const struct al_attention *a, struct al_error *err)
{
	*side = (struct al_side_scores){.n_heads = (size_t)a->n_heads,
		.n_kv_heads = (size_t)a->n_kv_heads,
		.scale = a->score_scale};
	for (int p = AL_QUERY; p < AL_N_PROJECTIONS; p++)
		if ((a->factors[p].n_runs > 0
			    && !al_factor_load(view->checkpoint, &a->factors[p], &side->of[p], err))
			|| (a->biases[p].n_runs > 0
				&& !al_factor_load(view->checkpoint, &a->biases[p],
					&side->of[AL_PIECE_QUERY_BIAS + (int)p], err)))
			return false;
	return true;
}

/* Values and outputs that are others than the original's, in its shape. */
static bool load_outputs(struct al_side_scores *side, const struct al_checkpoint *original,
	const struct al_checkpoint *compressed, const struct al_module_layout *layout,
	struct al_error *err)
{
	for (int p = AL_VALUE; p <= AL_OUTPUT; p++) {
		al_matrix_finish(&side->of[p]);
		if (!al_effective_load(layout, compressed, side->scale, original,
			    (enum al_projection)p, false, &side->of[p], err))
			return false;
	}
	al_matrix_finish(&side->of[AL_PIECE_VALUE_BIAS]);
	return al_effective_load(layout, compressed, side->scale, original, AL_VALUE, true,
		&side->of[AL_PIECE_VALUE_BIAS], err);
}

bool al_side_load_compressed(struct al_side_scores *side, const struct al_checkpoint *original,
	const struct al_checkpoint *compressed, const struct al_module_layout *layout, double scale,
	struct al_error *err)
{
	*side = (struct al_side_scores){.n_heads = (size_t)al_layout_heads(layout, false),
		.n_kv_heads = (size_t)al_layout_kv_heads(layout),
		.scale = scale,
		.is_compressed = true,
		.is_shared = al_method_mixes(layout->method),
		.has_outputs = layout->is_refitted || al_layout_has_values(layout)};
	for (int i = 0; i < AL_N_PIECES; i++)
		if (!al_layout_read(layout, compressed, (enum al_module_piece)i, &side->of[i], err))
			return false;
	return !side->has_outputs || load_outputs(side, original, compressed, layout, err);
}

/* X W + b, through the narrow space where there is one. */
static bool project(const struct al_side_scores *side, enum al_projection p, struct al_view x,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_matrix none = {0}, w = side->of[p];
	const struct al_matrix down = p <= AL_KEY ? side->of[AL_PIECE_QUERY_DOWN + (int)p] : none;
	const struct al_matrix bias = side->of[AL_PIECE_QUERY_BIAS + (int)p];
	AL_OWNED struct al_matrix narrow = {0};
	bool ok = al_matrix_init(out, x.rows, w.cols, err);

	if (ok && down.data)
		ok = al_matrix_init(&narrow, x.rows, down.cols, err)
			&& al_gemm(AL_PLAIN, AL_PLAIN, 1, x, al_view(down), 0, narrow, err)
			&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(narrow), al_view(w), 0, *out,
				err);
	else if (ok)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1, x, al_view(w), 0, *out, err);
	for (size_t j = 0; ok && bias.data && j < out->cols; j++)
		for (size_t i = 0; i < out->rows; i++)
			out->data[i + j * out->ld] += bias.data[j * bias.ld];
	return ok;
}

/* The original's stand for both where they were copied: that is compared byte for byte. */
static bool has_output(const struct al_side_scores *side)
{
	return (!side->is_compressed || side->has_outputs) && side->of[AL_PIECE_VALUE].data
		&& side->of[AL_PIECE_OUTPUT].data;
}

bool al_side_take_input(struct al_side_scores *side, struct al_view x, struct al_view y,
	struct al_error *err)
{
	return project(side, AL_QUERY, x, &side->queries, err)
		&& project(side, AL_KEY, y, &side->keys, err)
		&& (!has_output(side) || project(side, AL_VALUE, y, &side->values, err))
		&& (!side->of[AL_PIECE_CONTENT].data
			|| (al_matrix_init(&side->contents, y.rows, side->n_heads, err)
				&& al_gemm(AL_PLAIN, AL_PLAIN, 1, y,
					al_view(side->of[AL_PIECE_CONTENT]), 0, side->contents,
					err)));
}

static bool shared_logits(const struct al_side_scores *side, size_t head, struct al_matrix out,
	struct al_error *err)
{
	const struct al_matrix mixing = side->of[AL_PIECE_MIXING], content = side->contents;
	AL_OWNED struct al_matrix mixed = {0};

	if (!al_matrix_init(&mixed, side->queries.rows, side->queries.cols, err))
		return false;
	for (size_t r = 0; r < mixed.cols; r++)
		for (size_t i = 0; i < mixed.rows; i++)
			mixed.data[i + r * mixed.ld] = side->queries.data[i + r * side->queries.ld]
				* mixing.data[r + head * mixing.ld];
	bool ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, side->scale, al_view(mixed), al_view(side->keys),
		0, out, err);
	for (size_t j = 0; ok && content.data && j < out.cols; j++)
		for (size_t i = 0; i < out.rows; i++)
			out.data[i + j * out.ld] += side->scale
				* content.data[j + head * content.ld];
	return ok;
}

bool al_side_logits(const struct al_side_scores *side, size_t head, struct al_matrix out,
	struct al_error *err)
{
	if (side->is_shared)
		return shared_logits(side, head, out, err);

	const size_t width = side->queries.cols / side->n_heads;
	const size_t kv_head = head * side->n_kv_heads / side->n_heads;
	return al_gemm(AL_PLAIN, AL_TRANSPOSED, side->scale,
		al_columns(al_view(side->queries), head * width, width),
		al_columns(al_view(side->keys), kv_head * width, width), 0, out, err);
}
