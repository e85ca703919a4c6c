/* The rank that a module gets: given, found by an error, or its part of a budget. */
#include "compress/steps.h"

#include <inttypes.h>
#include <math.h>

#include "compress/by_data.h"

/* Is W_O another where the method alone leaves it? */
bool al_job_refits(const struct al_compress_options *options)
{
	const struct al_data *data = options->data;
	const bool is_drop = options->method == AL_METHOD_DROP;

	if (options->method == AL_METHOD_MERGE)
		return true;
	return data && (is_drop || options->method == AL_METHOD_LATENT)
		&& (al_refit_runs(data->refit)
			|| (is_drop && al_data_refits(data, options->method)));
}

struct al_module_layout al_treated_layout(const struct al_job *job, const struct al_treated *t,
	int64_t rank)
{
	const struct al_compress_options *options = job->options;

	return (struct al_module_layout){.attention = t->attention,
		.method = options->method,
		.rank = rank,
		.is_dropped = t->is_dropped,
		.is_refitted = al_job_refits(options),
		.of_keys = options->of_keys};
}

/* What scores are weighed by; heads that go are judged by their weights, W_O is fitted after. */
static const struct al_data *of_scores(const struct al_job *job)
{
	return job->options->method == AL_METHOD_DROP ? NULL : job->options->data;
}

bool al_treated_load(struct al_job *job, struct al_treated *t, struct al_scores *scores,
	struct al_error *err)
{
	if (al_method_is_of_values(job->options->method) || job->options->method == AL_METHOD_MERGE)
		return true;
	t->scores = scores;
	return al_scores_load(scores, job->view, t->attention, of_scores(job), err);
}

void al_treated_finish(struct al_treated *t, struct al_scores *scores)
{
	if (t->scores)
		al_scores_finish(scores);
}

/* One value for all heads beside the shared scores; errors of both add up as squares. */
static bool add_values(struct al_pieces *out, const struct al_model_view *view,
	const struct al_module_layout *layout, const struct al_data *data, struct al_error *err)
{
	static const enum al_module_piece pieces[] = {AL_PIECE_VALUE, AL_PIECE_OUTPUT,
		AL_PIECE_VALUE_BIAS};
	struct al_pieces values;

	if (!al_pieces_by_data(&values, view, layout, data, err)) {
		al_pieces_finish(out);
		return false;
	}
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		out->of[pieces[i]] = values.of[pieces[i]];
		values.of[pieces[i]] = (struct al_matrix){0};
	}
	out->relative_error = hypot(out->relative_error, values.relative_error);
	al_pieces_finish(&values);
	return true;
}

bool al_treated_make(struct al_job *job, const struct al_treated *t,
	const struct al_module_layout *layout, struct al_pieces *out, struct al_error *err)
{
	static const struct al_data none = {0};
	const struct al_data *data = job->options->data ? job->options->data : &none;

	if (!t->scores)
		return al_pieces_by_data(out, job->view, layout, data, err);
	return al_pieces_make(out, t->scores, layout, &job->options->effort, err)
		&& (layout->method != AL_METHOD_MHE_MUL
			|| add_values(out, job->view, layout, data, err));
}

bool al_error_at(struct al_job *job, const struct al_treated *t, int64_t rank, double *error,
	struct al_error *err)
{
	struct al_pieces pieces;
	const struct al_module_layout layout = al_treated_layout(job, t, rank);

	if (!al_treated_make(job, t, &layout, &pieces, err))
		return false;
	*error = pieces.relative_error;
	al_pieces_finish(&pieces);
	return true;
}

/* Ranks that are left out (of gqa those that make no groups of one size) have the error of none. */
static bool error_within(struct al_job *job, const struct al_treated *t, int64_t rank, double most,
	bool *out, struct al_error *err)
{
	double error = INFINITY;

	if (al_method_has_rank(t->attention, job->options->method, rank)
		&& !al_error_at(job, t, rank, &error, err))
		return false;
	*out = error <= most;
	return true;
}

/* Of few ranks, with gaps between them: one after the other. */
static bool first_within(struct al_job *job, const struct al_treated *t, int64_t *rank,
	struct al_error *err)
{
	bool is_within = false;

	for (*rank = 0; !is_within;)
		if (++*rank == al_method_bound(t->attention, job->options->method))
			return true;
		else if (!error_within(job, t, *rank, job->options->target_error, &is_within, err))
			return false;
	return true;
}

/* CP is never worse than the greedy truncation at the same rank: where that one suffices is an
 * upper end. Below it by halving. */
static bool rank_by_error(struct al_job *job, const struct al_treated *t, int64_t *rank,
	struct al_error *err)
{
	const double target = job->options->target_error;
	int64_t low = 0, high = al_method_bound(t->attention, job->options->method);

	if (job->options->method == AL_METHOD_GQA)
		return first_within(job, t, rank, err);
	if (job->options->method == AL_METHOD_COLLAB)
		for (int64_t r = 1; r < high; r++)
			if (t->scores->control.errors[r] <= target)
				high = r;
	while (high - low > 1) {
		const int64_t middle = low + (high - low) / 2;
		bool is_within;
		if (!error_within(job, t, middle, target, &is_within, err))
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

bool al_choose_rank(struct al_job *job, const struct al_treated *t, int64_t *rank,
	struct al_error *err)
{
	const struct al_compress_options *options = job->options;

	*rank = 0;
	if (al_method_drops(options->method))
		return true;
	if (options->method == AL_METHOD_MHE_MUL) {
		*rank = al_method_bound(t->attention, AL_METHOD_MHE_MUL);
		return true;
	}
	if (options->ranks)
		return al_given_rank(job, t->attention, t->index, rank, err);
	if (options->budget > 0) {
		*rank = job->ranks[t->index];
		return true;
	}
	return rank_by_error(job, t, rank, err);
}
