/* Composition scores. With W_OV = V O^T and the later head's form X Y^T, X the projection that
 * reads,
 *
 *     ||V (O^T X) Y^T||_F = ||R_V (O^T X) R_Y^T||_F,
 *
 * R being the triangular factors. */
#include "audit/composition.h"

#include "audit/forms.h"

/* ---- who reads whom ---- */

bool al_is_earlier(const struct al_attention *a, const struct al_attention *b)
{
	if (a->stack != b->stack || a->layer < b->layer)
		return true;
	return a->layer == b->layer && (!a->is_cross || b->is_cross);
}

bool al_can_compose(const struct al_audit_module *earlier, const struct al_audit_module *later,
	enum al_projection projection)
{
	const struct al_attention *b = later->attention;
	bool reads_memory = b->is_cross && projection != AL_QUERY;

	return al_has_values(&earlier->heads)
		&& al_has_form(&later->heads, projection == AL_VALUE ? AL_FORM_OV : AL_FORM_QK)
		&& (earlier->attention->stack == b->stack) != reads_memory
		&& earlier->heads.output.rows
		== al_heads_run(&later->heads, projection).weights.rows;
}

/* ---- scores ---- */

/* The other side of the form that a projection belongs to. */
static enum al_projection opposite(enum al_projection p)
{
	return p == AL_QUERY ? AL_KEY : p == AL_KEY ? AL_QUERY : AL_OUTPUT;
}

static struct al_view triangle(const struct al_audit_module *m, enum al_projection p, size_t head)
{
	return al_triangle_of(&m->triangles, p, al_own_head(&m->heads, p, head));
}

/* ||R_x M R_y^T||_F; M NULL is the identity. */
static bool product_norm(struct al_view x, const struct al_view *m, struct al_view y, double *out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix left, all;

	if (!al_take(&scratch, &all, x.rows, y.rows, err))
		return false;
	if (m) {
		if (!al_take_product(&scratch, AL_PLAIN, x, AL_PLAIN, *m, &left, err))
			return false;
		x = al_view(left);
	}
	if (!al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, x, y, 0, all, err))
		return false;
	*out = sqrt(al_inner(al_view(all), al_view(all)));
	return true;
}

bool al_form_norms(const struct al_audit_module *m, enum al_projection p, double *norms,
	struct al_error *err)
{
	for (size_t i = 0; i < m->heads.n_heads; i++)
		if (!product_norm(triangle(m, p, i), NULL, triangle(m, opposite(p), i), &norms[i],
			    err))
			return false;
	return true;
}

struct work {
	const struct al_audit_module *earlier, *later;
	enum al_projection projection;
	struct al_matrix between; /* O^T X of all heads */
	struct al_matrix scores;
	struct al_matrix norms; /* of the earlier heads' forms, then of the later ones' */
};

static bool score(void *context, size_t index, struct al_error *err)
{
	const struct work *w = context;
	size_t i = index % w->scores.rows, j = index / w->scores.rows;
	size_t d_out = w->earlier->heads.d_value;
	struct al_run run = al_heads_run(&w->later->heads, w->projection);
	struct al_view m = al_view(al_part(w->between, i * d_out,
		al_own_head(&w->later->heads, w->projection, j) * run.width, d_out, run.width));
	struct al_view y = triangle(w->later, opposite(w->projection), j);
	double both, norms = w->norms.data[i] * w->norms.data[w->scores.rows + j];

	if (!product_norm(triangle(w->earlier, AL_VALUE, i), &m, y, &both, err))
		return false;
	w->scores.data[i + j * w->scores.ld] = norms > 0 ? both / norms : 0;
	return true;
}

bool al_composition_scores(struct al_scratch *scratch, const struct al_audit_module *earlier,
	const struct al_audit_module *later, enum al_projection projection,
	struct al_matrix *scores, struct al_error *err)
{
	AL_SCRATCH(room);
	struct work w = {.earlier = earlier, .later = later, .projection = projection};
	const struct al_view written = earlier->heads.output;
	const struct al_view read = al_projection_of(&later->heads, projection);
	const size_t n_earlier = earlier->heads.n_heads, n_later = later->heads.n_heads;

	if (!al_take(scratch, scores, n_earlier, n_later, err))
		return false;
	w.scores = *scores;
	return al_take_product(&room, AL_TRANSPOSED, written, AL_PLAIN, read, &w.between, err)
		&& al_take(&room, &w.norms, n_earlier + n_later, 1, err)
		&& al_form_norms(earlier, AL_VALUE, w.norms.data, err)
		&& al_form_norms(later, projection, w.norms.data + n_earlier, err)
		&& al_parallel(n_earlier * n_later, score, &w, err);
}
