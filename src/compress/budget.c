/* Ranks of all modules out of one budget.
 *
 * Every module begins at its lowest rank; then that module gets a higher one, again and again,
 * whose squared relative error falls most for what the step takes, as long as a step fits: squared
 * errors fall ever more slowly with the rank, so that this comes near the smallest sum. */
#include "compress/work.h"

/* Where there are more ranks than these, so many of them are tried, evenly spaced. */
enum { MOST_RUNGS = 64 };

struct rung {
	int64_t rank, cost;
	double square; /* of the relative error */
};

/* What a module may get, by rising rank. */
struct ladder {
	struct rung *rungs;
	size_t n, at;
};

static int64_t cost_of(const struct al_job *job, const struct al_module_layout *layout)
{
	return job->options->budget_is_cache ? al_layout_cached(layout)
					     : al_layout_parameters(layout);
}

static int64_t original_cost(const struct al_job *job, const struct al_attention *a)
{
	return job->options->budget_is_cache ? al_original_cached(a)
					     : al_original_parameters(a, job->options->method);
}

/* CP is never worse than the greedy truncation, whose errors are known at all ranks. */
static bool square_at(struct al_work *w, int64_t rank, double *out, struct al_error *err)
{
	if (w->options->method == AL_METHOD_COLLAB)
		*out = w->control.errors[rank];
	else if (!al_error_at(w, rank, out, err))
		return false;
	*out *= *out;
	return true;
}

static bool climb(struct al_job *job, struct al_work *w, struct ladder *out, struct al_error *err)
{
	const enum al_method method = job->options->method;
	const int64_t bound = al_method_bound(w->a, method);
	const int64_t n = bound < MOST_RUNGS || method == AL_METHOD_COLLAB ? bound : MOST_RUNGS;

	*out = (struct ladder){.rungs = al_new_array(&job->arena, struct rung, (size_t)n)};
	for (int64_t i = 1; i <= n; i++) {
		struct rung *rung = &out->rungs[out->n];
		const struct al_module_layout wanted = al_work_layout(w, i * bound / n);
		struct al_module_layout layout;
		if (!al_method_has_rank(w->a, method, wanted.rank))
			continue;
		if (!al_layout_make(&layout, &job->arena, job->view->checkpoint, &wanted, err)
			|| !square_at(w, wanted.rank, &rung->square, err))
			return false;
		rung->rank = wanted.rank;
		rung->cost = cost_of(job, &layout);
		out->n++;
	}
	return true;
}

static bool make_ladder(struct al_job *job, const struct al_attention *a, struct ladder *out,
	struct al_error *err)
{
	AL_ENDS(al_work_finish) struct al_work w = {0};

	return al_watch_show(job->options->watch, a->name, 0, 0, err)
		&& al_work_load(&w, job, a, err) && climb(job, &w, out, err);
}

/* The module whose next step saves most error for what it takes and fits; n: none. */
static size_t find_step(const struct ladder *ladders, size_t n, int64_t left)
{
	size_t best = n;
	double best_slope = -1;

	for (size_t i = 0; i < n; i++) {
		const struct ladder *l = &ladders[i];
		if (l->at + 1 >= l->n)
			continue;
		const struct rung *here = &l->rungs[l->at], *next = here + 1;
		const double slope = (here->square - next->square)
			/ fmax(1, (double)(next->cost - here->cost));
		if (next->cost - here->cost <= left && slope > best_slope) {
			best = i;
			best_slope = slope;
		}
	}
	return best;
}

static bool spend(struct al_job *job, struct ladder *ladders, size_t n, int64_t budget,
	struct al_error *err)
{
	int64_t left = budget;

	for (size_t i = 0; i < n; i++)
		left -= ladders[i].rungs[0].cost;
	if (left < 0)
		return al_fail(err, AL_EINPUT,
			"the lowest ranks already need %" PRId64 " %s, more than %" PRId64,
			budget - left,
			job->options->budget_is_cache ? "cached numbers per token" : "parameters",
			budget);
	for (size_t step; (step = find_step(ladders, n, left)) < n;) {
		const struct rung *here = &ladders[step].rungs[ladders[step].at++];
		left -= here[1].cost - here[0].cost;
	}
	for (size_t i = 0; i < n; i++)
		job->ranks[i] = ladders[i].rungs[ladders[i].at].rank;
	return true;
}

bool al_job_spend(struct al_job *job, struct al_error *err)
{
	const size_t most = job->view->n_modules;
	struct ladder *ladders = al_new_array(&job->arena, struct ladder, most);
	int64_t original = 0;
	size_t n = 0;

	job->ranks = al_new_array(&job->arena, int64_t, most);
	for (size_t i = 0; i < most; i++) {
		const struct al_attention *a = &job->view->modules[i];
		if (!al_job_takes(job, a))
			continue;
		if (!make_ladder(job, a, &ladders[n++], err))
			return al_in(err, "%s", a->name);
		original += original_cost(job, a);
	}
	/* A decimal share is no binary fraction: 1 - 0.2 of 10 is 8. */
	return spend(job, ladders, n,
		(int64_t)floor((1 - job->options->budget) * (double)original * (1 + 1e-12)), err);
}
