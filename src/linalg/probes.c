/* Estimates of what an approximation leaves, by Gaussian vectors (Hutchinson 1990). */
#include "linalg/probes.h"

#include "base/random.h"
#include "linalg/internal.h"

struct estimate {
	const struct al_heads *heads;
	const struct al_approximation *approximation;
	struct al_matrix probes, right; /* [d_key][AL_RESIDUAL_PROBES]; right^T probes */
	double *parts; /* of the heads */
};

/* ||(T_i - T'_i) probes||^2 of one head. */
static bool estimate_head(void *context, size_t head, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct estimate *x = context;
	const struct al_approximation *a = x->approximation;
	const struct al_heads_shape s = al_heads_shape(x->heads);
	const size_t n = AL_RESIDUAL_PROBES;
	struct al_matrix query, key, inner, middle, residual;

	if (!al_take(&scratch, &query, s.d_query, s.d_head, err)
		|| !al_take(&scratch, &key, s.d_key, s.d_head, err)
		|| !al_take(&scratch, &inner, s.d_head, n, err)
		|| !al_take(&scratch, &middle, a->left.cols, n, err)
		|| !al_take(&scratch, &residual, s.d_query, n, err)
		|| !al_head_copy(x->heads, AL_QUERY, head, query, err)
		|| !al_head_copy(x->heads, AL_KEY, al_kv_head(x->heads, head), key, err)
		|| !al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(key), al_view(x->probes), 0, inner,
			err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(query), al_view(inner), 0, residual, err)
		|| !a->middle(a->context, head, al_view(x->right), middle, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, -1, a->left, al_view(middle), 1, residual, err))
		return false;
	x->parts[head] = al_inner(al_view(residual), al_view(residual));
	return true;
}

bool al_residual_estimate(const struct al_heads *heads, const struct al_approximation *a,
	double *sum, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_heads_shape s = al_heads_shape(heads);
	struct estimate x = {.heads = heads,
		.approximation = a,
		.parts = al_take_array(&scratch, s.n_heads, sizeof(*x.parts), err)};

	if (!x.parts || !al_take(&scratch, &x.probes, s.d_key, AL_RESIDUAL_PROBES, err)
		|| !al_take(&scratch, &x.right, a->right.cols, AL_RESIDUAL_PROBES, err))
		return false;
	struct al_random *random = al_random_create(AL_RESIDUAL_PROBES, s.n_heads, 0, 0);
	al_random_gaussian(random, x.probes.data, x.probes.rows * x.probes.cols);
	al_random_destroy(random);
	if (!al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, a->right, al_view(x.probes), 0, x.right, err)
		|| !al_parallel(s.n_heads, estimate_head, &x, err))
		return false;
	*sum = 0;
	for (size_t i = 0; i < s.n_heads; i++)
		*sum += x.parts[i] / AL_RESIDUAL_PROBES;
	return true;
}
