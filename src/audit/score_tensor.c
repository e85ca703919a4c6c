/* A module's queries and keys as the tensor that Tucker and CP decompose. */
#include "audit/score_tensor.h"

#include <math.h>

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

bool al_score_tensor_init(struct al_score_tensor *tensor, const struct al_heads *heads,
	struct al_error *err)
{
	double norm;

	*tensor = (struct al_score_tensor){.heads = {.query = heads->query,
						   .key = heads->key,
						   .n_heads = heads->n_heads,
						   .n_kv_heads = heads->n_kv_heads,
						   .d_head = heads->d_head}};
	if (!al_heads_check(&tensor->heads, &norm, err))
		return false;
	if (heads->unit < 0x1p-24)
		return true;
	if (!al_narrow_heads_init(&tensor->narrow, &tensor->heads, err))
		return false;
	scale(tensor->narrow.query);
	scale(tensor->narrow.key);
	tensor->heads = tensor->narrow.heads;
	return true;
}

void al_score_tensor_finish(struct al_score_tensor *tensor)
{
	al_narrow_heads_finish(&tensor->narrow);
	*tensor = (struct al_score_tensor){0};
}

bool al_score_tensor_is_zero(const struct al_heads *heads)
{
	return al_squared_norm(heads->query) == 0 || al_squared_norm(heads->key) == 0;
}
