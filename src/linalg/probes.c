/* Estimates of what an approximation leaves, by Gaussian vectors (Hutchinson 1990), in the
 * precision of the heads where that shows it. */
#include "linalg/probes.h"

#include "base/random.h"
#include "linalg/internal.h"

/* Heads whose residuals are formed together, so that the product with the approximation's left side
 * is a wide one. */
enum { GROUP = 8 };

/* Sums that run side by side: one would wait for each addition to end. */
enum { LANES = 16 };

/* Single precision shows a residual above this part of ||T||^2 to 1e-4 of it. */
static const double SINGLE_SHOWS = 1e-6;

static bool take_head(struct al_scratch *scratch, const struct al_heads *heads,
	enum al_projection projection, size_t head, struct al_view *out, struct al_error *err)
{
	struct al_matrix room;

	if (!al_heads_shape(heads).is_single) {
		*out = al_head_of(heads, projection, head);
		return true;
	}
	const struct al_view_f from = al_head_of_f(heads, projection, head);
	if (!al_take(scratch, &room, from.rows, from.cols, err) || !al_widen(from, room, err))
		return false;
	*out = al_view(room);
	return true;
}

static bool take_head_f(struct al_scratch *scratch, const struct al_heads *heads,
	enum al_projection projection, size_t head, struct al_view_f *out, struct al_error *err)
{
	(void)scratch;
	(void)err;
	*out = al_head_of_f(heads, projection, head);
	return true;
}

#include "linalg/in_double.h"
#include "linalg/probes.inc"

#include "linalg/in_single.h"
#include "linalg/probes.inc"

static bool estimate_by(const struct al_heads *heads, double norm_squared,
	const struct al_approximation *a, struct al_view probes, struct al_view right, double *sum,
	struct al_error *err)
{
	if (al_heads_shape(heads).is_single && estimate_f(heads, a, probes, right, sum, NULL)
		&& *sum > SINGLE_SHOWS * norm_squared)
		return true;
	return estimate(heads, a, probes, right, sum, err);
}

bool al_residual_estimate(const struct al_heads *heads, double norm_squared,
	const struct al_approximation *a, double *sum, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_heads_shape s = al_heads_shape(heads);
	struct al_matrix probes, right;

	if (!al_take(&scratch, &probes, s.d_key, AL_RESIDUAL_PROBES, err)
		|| !al_take(&scratch, &right, a->right.cols, AL_RESIDUAL_PROBES, err))
		return false;
	struct al_random *random = al_random_create(AL_RESIDUAL_PROBES, s.n_heads, 0, 0);
	al_random_gaussian(random, probes.data, probes.rows * probes.cols);
	al_random_destroy(random);
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, a->right, al_view(probes), 0, right, err)
		&& estimate_by(heads, norm_squared, a, al_view(probes), al_view(right), sum, err);
}
