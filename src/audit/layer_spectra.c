/* Spectra of all heads of a module together.
 *
 * The unfolding [W_1 .. W_H] has the Gram matrix sum_i Q_i (R_K^T R_K) Q_i^T, so its singular
 * values are those of [Q_1 R_K1^T .. Q_H R_KH^T] (D x H d), R_K the keys' triangular factors. */
#include <math.h>

#include "audit/spectra.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One factor of the Gram matrix that a group's heads add up to: R with R^T R = sum R_i^T R_i over
 * the query heads of a key/value head, [min(group*height, width)][width]. */
static bool stack_group(const struct al_triangles *t, size_t kv_head, struct al_matrix *out,
	struct al_error *err)
{
	const size_t group = t->shape.n_heads / t->shape.n_kv_heads, width = t->shape.d_head;
	const size_t height = t->of[AL_QUERY].r.rows;
	struct al_matrix stack;
	bool done = true;

	*out = (struct al_matrix){0};
	if (!al_matrix_init(&stack, group * height, width, err))
		return false;
	for (size_t i = 0; i < group && done; i++)
		done = al_copy(al_triangle_of(t, AL_QUERY, kv_head * group + i),
			al_part(stack, i * height, 0, height, width), err);
	done = done && al_matrix_init(out, least(stack.rows, width), width, err)
		&& al_qr_r(stack, *out, err);
	al_matrix_finish(&stack);
	if (!done)
		al_matrix_finish(out);
	return done;
}

/* ---- what the two precisions do differently ---- */

static bool take_values(struct al_matrix *values, struct al_view a, struct al_error *err)
{
	return al_matrix_init(values, least(a.rows, a.cols), 1, err)
		&& al_singular_values(a, values->data, err);
}

/* From the Gram matrix alone. */
static bool take_values_f(struct al_matrix *values, struct al_view_f a, struct al_error *err)
{
	const size_t n = least(a.rows, a.cols);
	struct al_matrix_f gram = {0}, found = {0};

	bool done = al_matrix_init_f(&gram, n, n, err) && al_matrix_init_f(&found, n, 1, err)
		&& al_gram_f(a.rows < a.cols ? AL_PLAIN : AL_TRANSPOSED, a, gram, err)
		&& al_eigenvalues_f(gram, found.data, err) && al_matrix_init(values, n, 1, err);
	for (size_t i = 0; done && i < n; i++)
		values->data[i] = sqrt(fmax((double)found.data[i], 0));
	al_matrix_finish_f(&found);
	al_matrix_finish_f(&gram);
	return done;
}

static bool find_triangle(struct al_view b, struct al_matrix *out, struct al_error *err)
{
	const struct al_view no_gram = {.ld = 1};
	enum al_route route;

	return al_matrix_init(out, least(b.rows, b.cols), b.cols, err)
		&& al_triangle(b, no_gram, *out, &route, err);
}

/* Found in double. */
static bool find_triangle_f(struct al_view_f b, struct al_matrix_f *out, struct al_error *err)
{
	struct al_matrix wide = {0}, r = {0};

	bool done = al_matrix_init(&wide, b.rows, b.cols, err) && al_widen(b, wide, err)
		&& find_triangle(al_view(wide), &r, err)
		&& al_matrix_init_f(out, r.rows, r.cols, err) && al_narrow(al_view(r), *out, err);
	al_matrix_finish(&r);
	al_matrix_finish(&wide);
	return done;
}

/* ---- and alike ---- */

struct layer {
	const struct al_heads *heads;
	const struct al_triangles *t;
	unsigned kinds;
	struct al_spectra *out;
};

/* The long ones first. */
static const enum al_spectrum order[AL_N_SPECTRA] = {
	AL_SPECTRUM_QK,
	AL_SPECTRUM_OV,
	AL_SPECTRUM_QU,
	AL_SPECTRUM_KU,
	AL_SPECTRUM_Q,
	AL_SPECTRUM_K,
};

#include "linalg/in_double.h"
#include "audit/layer_spectra.inc"

#include "linalg/in_single.h"
#include "audit/layer_spectra.inc"

bool al_layer_spectra(struct al_spectra *out, const struct al_heads *heads,
	const struct al_triangles *triangles, unsigned kinds, struct al_error *err)
{
	struct layer x = {heads, triangles, kinds, out};

	*out = (struct al_spectra){0};
	if (al_heads_check_projections(heads, err)
		&& al_parallel(AL_N_SPECTRA, heads->query_f.data ? layer_values_f : layer_values,
			&x, err))
		return true;
	al_spectra_finish(out);
	return false;
}
