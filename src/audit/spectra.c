/* Spectra of heads on their own. With A_i = U_i R_i the singular values of Q_i K_g^T are those of
 * R_Q R_K^T (d x d). */
#include "audit/spectra.h"

const char *const al_spectrum_names[AL_N_SPECTRA] = {"q", "k", "qk", "qu", "ku", "ov"};

/* The singular values of A B^T. */
static bool product_values(struct al_view a, struct al_view b, double *values, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix product;

	return al_take_product(&scratch, AL_PLAIN, a, AL_TRANSPOSED, b, &product, err)
		&& al_singular_values(al_view(product), values, err);
}

struct heads {
	const struct al_triangles *t;
	struct al_spectra *out;
};

/* Where a head's values go. */
static double *column(const struct heads *x, enum al_spectrum kind, size_t head)
{
	const struct al_matrix m = x->out->values[kind];

	return m.data + head * m.ld;
}

static bool head_values(void *context, size_t head, struct al_error *err)
{
	const struct heads *x = context;
	const struct al_heads *shape = &x->t->shape;
	const size_t kv_head = al_kv_head(shape, head);
	const bool is_first = head == 0 || al_kv_head(shape, head - 1) != kv_head;
	const struct al_view q = al_triangle_of(x->t, AL_QUERY, head);
	const struct al_view k = al_triangle_of(x->t, AL_KEY, kv_head);
	const struct al_view v = al_triangle_of(x->t, AL_VALUE, kv_head);
	const struct al_view o = al_triangle_of(x->t, AL_OUTPUT, head);

	return (al_singular_values(q, column(x, AL_SPECTRUM_Q, head), err)
		       && (!is_first
			       || al_singular_values(k, column(x, AL_SPECTRUM_K, kv_head), err))
		       && product_values(q, k, column(x, AL_SPECTRUM_QK, head), err)
		       && (!al_has_spectrum(x->out, AL_SPECTRUM_OV)
			       || product_values(v, o, column(x, AL_SPECTRUM_OV, head), err)))
		|| al_in(err, "head %zu", head);
}

static bool take_heads(struct al_spectra *out, const struct al_triangles *t, struct al_error *err)
{
	const size_t q = t->of[AL_QUERY].r.rows, k = t->of[AL_KEY].r.rows;
	const size_t ov = al_least(t->of[AL_VALUE].r.rows, t->of[AL_OUTPUT].r.rows);
	const size_t n = t->shape.n_heads, n_values = al_triangles_has_values(t) ? n : 0;

	return al_take(&out->scratch, &out->values[AL_SPECTRUM_Q], q, n, err)
		&& al_take(&out->scratch, &out->values[AL_SPECTRUM_K], k, t->shape.n_kv_heads, err)
		&& al_take(&out->scratch, &out->values[AL_SPECTRUM_QK], al_least(q, k), n, err)
		&& al_take(&out->scratch, &out->values[AL_SPECTRUM_OV], ov, n_values, err);
}

bool al_head_spectra(struct al_spectra *out, const struct al_triangles *triangles,
	struct al_error *err)
{
	struct heads x = {triangles, out};

	return take_heads(out, triangles, err)
		&& al_parallel(triangles->shape.n_heads, head_values, &x, err);
}
