/* A module's queries and keys as the tensor that Tucker and CP decompose. */
#include "audit/score_tensor.h"

#include "audit/stacks.h"

/* To elements of at most 1, by a power of two, which rounds nothing: what is asked of the tensor
 * doesn't depend on its scale, and its squares stay within single precision's range. */
static void scale(struct al_matrix_f m)
{
	float largest = 0;
	int exponent;

	for (size_t i = 0; i < m.rows * m.cols; i++)
		largest = fmaxf(largest, fabsf(m.data[i]));
	if (!(largest > 0))
		return;
	frexpf(largest, &exponent);
	for (size_t i = 0; i < m.rows * m.cols; i++)
		m.data[i] = ldexpf(m.data[i], -exponent);
}

static bool narrow(struct al_scratch *scratch, struct al_view *from, struct al_view_f *to,
	struct al_error *err)
{
	struct al_matrix_f copy;

	if (!al_take_f(scratch, &copy, from->rows, from->cols, err) || !al_narrow(*from, copy, err))
		return false;
	scale(copy);
	*from = (struct al_view){0};
	*to = al_view_f(copy);
	return true;
}

bool al_score_tensor_take(struct al_scratch *scratch, const struct al_heads *heads,
	struct al_heads *tensor, struct al_error *err)
{
	double norm;

	*tensor = (struct al_heads){.query = heads->query,
		.key = heads->key,
		.n_heads = heads->n_heads,
		.n_kv_heads = heads->n_kv_heads,
		.d_head = heads->d_head};
	return al_heads_check(tensor, &norm, err)
		&& (heads->unit < 0x1p-24
			|| (narrow(scratch, &tensor->query, &tensor->query_f, err)
				&& narrow(scratch, &tensor->key, &tensor->key_f, err)));
}

bool al_score_tensor_is_zero(const struct al_heads *heads)
{
	return al_squared_norm(heads->query) == 0 || al_squared_norm(heads->key) == 0;
}
