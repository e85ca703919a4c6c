/* What is asked of a Tucker decomposition: whether it can be, and how it is found. */
#include "linalg/tensor.h"

struct al_tucker_bounds al_tucker_bounds(const struct al_heads *heads)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	return (struct al_tucker_bounds){
		.head = s.n_heads,
		.query = al_least(s.d_query, s.n_heads * s.d_head),
		.key = al_least(s.d_key, s.n_kv_heads * s.d_head),
	};
}

static bool check_rank(const char *name, size_t rank, size_t bound, struct al_error *err)
{
	if (rank >= 1 && rank <= bound)
		return true;
	return al_fail(err, AL_EINPUT, "%s (%zu): expected 1 to %zu", name, rank, bound);
}

static bool check_sizes(const struct al_heads *heads, const struct al_tucker_options *o,
	struct al_error *err)
{
	const struct al_tucker_bounds bounds = al_tucker_bounds(heads);

	return check_rank("query rank", o->query_rank, bounds.query, err)
		&& check_rank("key rank", o->key_rank, bounds.key, err)
		&& (o->modes == AL_TUCKER_PARTIAL
			|| check_rank("head rank", o->head_rank, bounds.head, err));
}

static bool check_tolerance(const struct al_tucker_options *o, struct al_error *err)
{
	if (o->head_rank || o->query_rank || o->key_rank)
		return al_fail(err, AL_EINPUT, "ranks beside a tolerance, expected one of them");
	if (!(o->tolerance > 0 && o->tolerance < 1))
		return al_fail(err, AL_EINPUT, "tolerance (%g): expected between 0 and 1",
			o->tolerance);
	if (o->finder == AL_TUCKER_RANDOM)
		return al_fail(err, AL_EINPUT, "the random finder takes ranks, not a tolerance");
	return true;
}

bool al_tucker_check(const struct al_heads *heads, const struct al_tucker_options *o,
	struct al_error *err)
{
	if (o->modes == AL_TUCKER_PARTIAL && o->head_rank)
		return al_fail(err, AL_EINPUT,
			"head rank (%zu) of a decomposition that keeps the heads", o->head_rank);
	if (o->finder == AL_TUCKER_RANDOM && o->modes == AL_TUCKER_FULL)
		return al_fail(err, AL_EINPUT, "the random finder is for query and key");
	return o->tolerance != 0 ? check_tolerance(o, err) : check_sizes(heads, o, err);
}

enum { LARGE_MODE = 2048, SMALL_PART = 4 };

bool al_tucker_is_random(const struct al_heads_shape *s, const struct al_tucker_options *o)
{
	const size_t largest = s->d_query > s->d_key ? s->d_query : s->d_key;

	if (o->finder != AL_TUCKER_AUTO)
		return o->finder == AL_TUCKER_RANDOM;
	return o->modes == AL_TUCKER_PARTIAL && o->n_sweeps == 0 && o->tolerance == 0
		&& largest > LARGE_MODE && o->query_rank * SMALL_PART < largest
		&& o->key_rank * SMALL_PART < largest;
}

enum { REFINING_SWEEPS = 100, WIDE_MODE = 1024 };

/* Where a sweep changes the error by less of it. */
static const double REFINED = 1e-4, REFINED_WIDE = 1e-3;

/* Eigenvectors of such a mode, anew in each sweep, would take minutes: steps of sweeps reach what
 * they would. */
static bool is_wide(const struct al_heads_shape *s, const struct al_tucker_options *o)
{
	return o->modes == AL_TUCKER_PARTIAL && o->tolerance == 0
		&& (s->d_query > WIDE_MODE || s->d_key > WIDE_MODE);
}

void al_tucker_refine(const struct al_heads *heads, struct al_tucker_options *o)
{
	const struct al_heads_shape s = al_heads_shape(heads);
	const size_t n = o->modes == AL_TUCKER_FULL ? o->head_rank : s.n_heads;

	o->n_sweeps = 0;
	if (al_tucker_is_random(&s, o) || is_wide(&s, o))
		o->finder = AL_TUCKER_RANDOM;
	if (o->query_rank > o->key_rank * n || o->key_rank > o->query_rank * n)
		return;
	o->n_sweeps = REFINING_SWEEPS;
	o->stop = is_wide(&s, o) ? REFINED_WIDE : REFINED;
}
