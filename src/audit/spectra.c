/* Spectra of heads on their own. With A_i = U_i R_i the singular values of Q_i K_g^T are those of
 * R_Q R_K^T (d x d). */
#include "audit/spectra.h"

const char *const al_spectrum_names[AL_N_SPECTRA] = {"q", "k", "qk", "qu", "ku", "ov"};

void al_spectra_finish(struct al_spectra *spectra)
{
	for (int i = 0; i < AL_N_SPECTRA; i++)
		al_matrix_finish(&spectra->values[i]);
}

/* ---- every head on its own ---- */

/* The singular values of A B^T. */
static bool product_values(struct al_view a, struct al_view b, double *values, struct al_error *err)
{
	AL_OWNED struct al_matrix product = {0};

	return al_matrix_init(&product, a.rows, b.rows, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, a, b, 0, product, err)
		&& al_singular_values(al_view(product), values, err);
}

struct heads {
	const struct al_triangles *t;
	struct al_spectra *out;
};

/* Where a head's values go; NULL: they aren't asked for, or there are none. */
static double *column(const struct heads *x, enum al_spectrum kind, size_t head)
{
	const struct al_matrix m = x->out->values[kind];

	return m.cols ? m.data + head * m.ld : NULL;
}

static bool find_values(struct al_view a, double *values, struct al_error *err)
{
	return !values || al_singular_values(a, values, err);
}

static bool find_product_values(struct al_view a, struct al_view b, double *values,
	struct al_error *err)
{
	return !values || product_values(a, b, values, err);
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

	return (find_values(q, column(x, AL_SPECTRUM_Q, head), err)
		       && (!is_first || find_values(k, column(x, AL_SPECTRUM_K, kv_head), err))
		       && find_product_values(q, k, column(x, AL_SPECTRUM_QK, head), err)
		       && find_product_values(v, o, column(x, AL_SPECTRUM_OV, head), err))
		|| al_in(err, "head %zu", head);
}

static bool init_heads(struct al_spectra *out, const struct al_triangles *t, unsigned kinds,
	struct al_error *err)
{
	const size_t q = t->of[AL_QUERY].r.rows, k = t->of[AL_KEY].r.rows;
	const size_t ov = al_least(t->of[AL_VALUE].r.rows, t->of[AL_OUTPUT].r.rows);
	const bool has_values = t->of[AL_VALUE].routes != NULL;
	const struct {
		enum al_spectrum kind;
		size_t height, n_heads;
	} all[] = {
		{AL_SPECTRUM_Q, q, t->shape.n_heads},
		{AL_SPECTRUM_K, k, t->shape.n_kv_heads},
		{AL_SPECTRUM_QK, al_least(q, k), t->shape.n_heads},
		{AL_SPECTRUM_OV, ov, has_values ? t->shape.n_heads : 0},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((kinds & AL_SPECTRUM_BIT(all[i].kind)) && all[i].n_heads
			&& !al_matrix_init(&out->values[all[i].kind], all[i].height, all[i].n_heads,
				err))
			return false;
	return true;
}

bool al_head_spectra(struct al_spectra *out, const struct al_triangles *triangles, unsigned kinds,
	struct al_error *err)
{
	struct heads x = {triangles, out};

	*out = (struct al_spectra){0};
	if (init_heads(out, triangles, kinds, err)
		&& al_parallel(triangles->shape.n_heads, head_values, &x, err))
		return true;
	al_spectra_finish(out);
	return false;
}
