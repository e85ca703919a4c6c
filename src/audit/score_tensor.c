/* A module's queries and keys as the tensor that Tucker and CP decompose. */
#include "audit/score_tensor.h"

#include "audit/stacks.h"

bool al_score_tensor_init(struct al_score_tensor *tensor, const struct al_factors *factors, struct al_error *err)
{
	*tensor = (struct al_score_tensor){.heads = {.query = factors->q, .key = factors->k,
		.n_heads = factors->n_heads, .n_kv_heads = factors->n_kv_heads}};
	if (!al_heads_check(&tensor->heads, err))
		return false;
	if (factors->unit < 0x1p-24)
		return true;
	if (!al_narrow_heads_init(&tensor->narrow, &tensor->heads, err))
		return false;
	tensor->heads = tensor->narrow.heads;
	return true;
}

void al_score_tensor_finish(struct al_score_tensor *tensor)
{
	al_narrow_heads_finish(&tensor->narrow);
	*tensor = (struct al_score_tensor){0};
}

bool al_score_tensor_is_zero(const struct al_factors *factors)
{
	return al_squared_norm(factors->q) == 0 || al_squared_norm(factors->k) == 0;
}
