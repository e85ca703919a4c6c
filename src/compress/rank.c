/* The rank that a module gets: given, found by an error, or its part of a budget. */
#include "compress/work.h"

bool al_error_at(struct al_work *w, int64_t rank, double *error, struct al_error *err)
{
	struct al_pieces pieces;
	const struct al_module_layout layout = al_work_layout(w, rank);
	const bool ok = al_work_make(w, &layout, &pieces, err);

	*error = pieces.relative_error;
	al_pieces_finish(&pieces);
	return ok;
}

/* Ranks that are left out (of gqa those that make no groups of one size) have the error of none. */
static bool error_within(struct al_work *w, int64_t rank, bool *out, struct al_error *err)
{
	double error = INFINITY;

	if (al_method_has_rank(w->a, w->options->method, rank)
		&& !al_error_at(w, rank, &error, err))
		return false;
	*out = error <= w->options->target_error;
	return true;
}

/* Of few ranks, with gaps between them: one after the other. */
static bool first_within(struct al_work *w, int64_t *rank, struct al_error *err)
{
	bool is_within = false;

	for (*rank = 0; !is_within;)
		if (++*rank == al_method_bound(w->a, w->options->method))
			return true;
		else if (!error_within(w, *rank, &is_within, err))
			return false;
	return true;
}

/* CP is never worse than the greedy truncation at the same rank: where that one suffices is an
 * upper end. Below it by halving. */
static bool rank_by_error(struct al_work *w, int64_t *rank, struct al_error *err)
{
	int64_t low = 0, high = al_method_bound(w->a, w->options->method);

	if (w->options->method == AL_METHOD_GQA)
		return first_within(w, rank, err);
	if (w->options->method == AL_METHOD_COLLAB)
		for (int64_t r = 1; r < high; r++)
			if (w->control.errors[r] <= w->options->target_error)
				high = r;
	while (high - low > 1) {
		const int64_t middle = low + (high - low) / 2;
		bool is_within;
		if (!error_within(w, middle, &is_within, err))
			return false;
		*(is_within ? &high : &low) = middle;
	}
	*rank = high;
	return true;
}

bool al_given_rank(const struct al_job *job, const struct al_attention *a, size_t index,
	int64_t *rank, struct al_error *err)
{
	const int64_t bound = al_method_bound(a, job->options->method);

	*rank = job->options->ranks[job->options->n_ranks == 1 ? 0 : index];
	return (*rank >= 1 && *rank <= bound)
		|| al_fail(err, AL_EINPUT, "rank %" PRId64 ", expected 1 to %" PRId64, *rank,
			bound);
}

bool al_choose_rank(struct al_job *job, struct al_work *w, int64_t *rank, struct al_error *err)
{
	const struct al_compress_options *options = job->options;

	*rank = 0;
	if (al_method_drops(options->method))
		return true;
	if (options->method == AL_METHOD_MHE_MUL)
		*rank = al_method_bound(w->a, AL_METHOD_MHE_MUL);
	else if (options->ranks)
		return al_given_rank(job, w->a, w->index, rank, err);
	else if (job->ranks)
		*rank = job->ranks[w->index];
	else
		return rank_by_error(w, rank, err);
	return true;
}
