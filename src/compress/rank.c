/* The rank that a module gets: given, or found by an error or by a number of parameters. */
#include "compress/steps.h"

#include <inttypes.h>

#include "compress/by_data.h"

/* Is W_O another where the method alone leaves it? */
bool al_job_refits(const struct al_compress_options *options)
{
	const struct al_data *data = options->data;
	const bool is_drop = options->method == AL_METHOD_DROP;

	return data && (is_drop || options->method == AL_METHOD_LATENT)
		&& (al_refit_runs(data->refit)
			|| (is_drop && al_data_refits(data, options->method)));
}

struct al_layout al_treated_layout(const struct al_job *job, const struct al_treated *t,
	int64_t rank)
{
	const struct al_compress_options *options = job->options;

	return (struct al_layout){.attention = t->attention,
		.method = options->method,
		.rank = rank,
		.is_dropped = t->is_dropped,
		.is_refitted = al_job_refits(options),
		.of_keys = options->method == AL_METHOD_LATENT && options->of_keys};
}

static int64_t parameters_at(const struct al_job *job, const struct al_treated *t, int64_t rank)
{
	const struct al_layout layout = al_treated_layout(job, t, rank);

	return al_layout_parameters(&layout);
}

/* The largest rank within the parameters. */
static bool rank_by_parameters(const struct al_job *job, const struct al_treated *t, int64_t most,
	int64_t *rank, struct al_error *err)
{
	if (parameters_at(job, t, 1) > most)
		return al_fail(err, AL_EINPUT,
			"rank 1 takes %" PRId64 " parameters already, expected at most %" PRId64,
			parameters_at(job, t, 1), most);
	*rank = al_method_bound(t->attention, job->options->method);
	while (parameters_at(job, t, *rank) > most
		|| (job->options->method == AL_METHOD_GQA && t->attention->n_kv_heads % *rank != 0))
		--*rank;
	return true;
}

bool al_treated_make(struct al_job *job, const struct al_treated *t, const struct al_layout *layout,
	struct al_pieces *out, struct al_error *err)
{
	static const struct al_data none = {0};
	const struct al_data *data = job->options->data ? job->options->data : &none;

	return t->scores ? al_pieces_make(out, t->scores, layout, &job->options->effort, err)
			 : al_pieces_by_data(out, job->view, layout, data, err);
}

static bool error_at(struct al_job *job, const struct al_treated *t, int64_t rank, double *error,
	struct al_error *err)
{
	struct al_pieces pieces;
	const struct al_layout layout = al_treated_layout(job, t, rank);

	if (!al_treated_make(job, t, &layout, &pieces, err))
		return false;
	*error = pieces.relative_error;
	al_pieces_finish(&pieces);
	return true;
}

/* CP is never worse than the greedy truncation at the same rank: where that one suffices is an
 * upper end. Below it by halving. */
static bool rank_by_error(struct al_job *job, const struct al_treated *t, int64_t *rank,
	struct al_error *err)
{
	const double target = job->options->target_error;
	int64_t low = 0, high = al_method_bound(t->attention, job->options->method);

	if (job->options->method == AL_METHOD_COLLAB)
		for (int64_t r = 1; r < high; r++)
			if (t->scores->greedy[r] <= target)
				high = r;
	while (high - low > 1) {
		const int64_t middle = low + (high - low) / 2;
		double error;
		if (!error_at(job, t, middle, &error, err))
			return false;
		*(error <= target ? &high : &low) = middle;
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

bool al_choose_rank(struct al_job *job, const struct al_treated *t, int64_t *rank,
	struct al_error *err)
{
	const struct al_compress_options *options = job->options;
	const double original = (double)al_original_parameters(t->attention, options->method);

	*rank = 0;
	if (options->method == AL_METHOD_DROP)
		return true;
	if (options->ranks)
		return al_given_rank(job, t->attention, t->index, rank, err);
	if (options->target_parameters > 0)
		return rank_by_parameters(job, t, options->target_parameters, rank, err);
	if (options->budget > 0)
		return rank_by_parameters(job, t, (int64_t)((1 - options->budget) * original), rank,
			err);
	return rank_by_error(job, t, rank, err);
}
