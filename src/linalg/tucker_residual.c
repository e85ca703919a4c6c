/* What a Tucker decomposition leaves of the head tensor, and in how many parameters. */
#include "linalg/tensor.h"

struct middle {
	const struct al_tucker *tucker;
	struct al_matrix p; /* where heads are mixed */
	size_t d_head;
};

/* core_i x = (U_Q^T Q_i)(U_K^T K_g)^T x */
static bool apply_own(const struct middle *m, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_tucker *t = m->tucker;
	const size_t d = m->d_head, kv_head = head * t->n_kv_heads / t->n_heads;
	struct al_matrix inner;

	if (!al_take(&scratch, &inner, d, x.cols, err))
		return false;
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_columns(al_view(t->core_key), kv_head * d, d),
		       x, 0, inner, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_columns(al_view(t->core_query), head * d, d),
			al_view(inner), 0, out, err);
}

static void spread(const struct middle *m, size_t head, struct al_matrix inner,
	struct al_matrix all)
{
	const struct al_tucker *t = m->tucker;
	const size_t d = m->d_head;

	for (size_t c = 0; c < all.cols; c++)
		for (size_t i = 0; i < all.rows; i++)
			all.data[i + c * all.ld] = m->p.data[head + i / d * m->p.ld]
				* inner.data[i / d * t->n_kv_heads / t->n_heads * d + i % d
					+ c * inner.ld];
}

/* sum_j P_ij core_j x */
static bool apply_mixed(const struct middle *m, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_tucker *t = m->tucker;
	struct al_matrix inner, all;

	if (!al_take(&scratch, &all, t->core_query.cols, x.cols, err)
		|| !al_take_product(&scratch, AL_TRANSPOSED, al_view(t->core_key), AL_PLAIN, x,
			&inner, err))
		return false;
	spread(m, head, inner, all);
	return al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(t->core_query), al_view(all), 0, out, err);
}

static bool apply_core(const void *context, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	const struct middle *m = context;

	return (m->p.data ? apply_mixed : apply_own)(m, head, x, out, err);
}

bool al_tucker_measure(const struct al_heads *heads, double norm, struct al_tucker *t,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct middle middle = {.tucker = t, .d_head = t->core_query.cols / t->n_heads};
	const struct al_approximation a = {al_view(t->query), al_view(t->key), apply_core, &middle};

	return (!t->head.data
		       || (al_take(&scratch, &middle.p, t->n_heads, t->n_heads, err)
			       && al_tucker_mix_heads(t, middle.p, err)))
		&& al_residual(heads, norm, &a, AL_RESIDUAL_FLOPS, &t->relative_error,
			&t->is_estimate, err);
}

/* ---- parameters ---- */

static size_t count_bases(const struct al_tucker *t)
{
	return t->query.rows * t->query.cols + t->key.rows * t->key.cols
		+ t->head.rows * t->head.cols;
}

size_t al_tucker_parameters_factored(const struct al_tucker *t)
{
	return count_bases(t) + t->core_query.rows * t->core_query.cols
		+ t->core_key.rows * t->core_key.cols;
}

size_t al_tucker_parameters_dense(const struct al_tucker *t)
{
	const size_t n_cores = t->head.data ? t->head.cols : t->n_heads;

	return count_bases(t) + n_cores * t->query.cols * t->key.cols;
}
