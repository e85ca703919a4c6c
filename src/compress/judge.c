/* A model and its compressed copy run on the same tokens, batch by batch. */
#include "compress/judge.h"

enum { ORIGINAL, COMPRESSED, DIVERGENCE, AGREEMENT, N_SUMS };

struct judging {
	struct al_network *network;
	const struct al_factor_source *factors;
	const struct al_batch *all;
	struct al_unit *sums[N_SUMS]; /* [n_sequences] */
	double *tokens; /* of al_judged */
};

static bool run_changed(const struct judging *j, const struct al_batch *batch,
	struct al_matrix_f *hidden, struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f x = {0};

	j->network->factors = j->factors;
	bool ok = al_network_embed(j->network, batch, 0, &x, err)
		&& al_network_run_from(j->network, 0, batch, x, hidden, err);
	j->network->factors = NULL;
	return ok || al_in(err, "compressed");
}

/* A sequence's first token sees itself alone: both models attend alike there. */
static void add(const struct judging *j, size_t sequence, const struct al_comparison *one,
	bool is_first)
{
	const double numbers[N_SUMS] = {one->losses[0], one->losses[1], one->divergence,
		one->agree};

	for (int i = 0; i < N_SUMS; i++)
		if (i < DIVERGENCE || !is_first) {
			j->sums[i][sequence].sum += numbers[i];
			j->sums[i][sequence].n++;
		}
}

/* `at`: of the batch's first token, of all. */
static void keep_tokens(const struct judging *j, size_t at, const struct al_comparison *each,
	const int32_t *targets, size_t n)
{
	const size_t n_all = al_batch_tokens(j->all);

	for (int model = 0; j->tokens && model < 2; model++)
		for (size_t i = 0; i < n; i++)
			j->tokens[(size_t)model * n_all + at + i] = i > 0 && targets[i - 1] >= 0
				? each[i - 1].losses[model]
				: (double)NAN;
}

static bool judge_batch(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct judging *j = context;
	const size_t n = al_batch_tokens(batch);
	const size_t first = batch->first_sequence - j->all->first_sequence;
	AL_FREED int32_t *targets = al_batch_targets(batch);
	AL_FREED struct al_comparison *each = al_alloc(n, sizeof(*each));
	AL_OWNED_F struct al_matrix_f other = {0};

	if (!run_changed(j, batch, &other, err)
		|| !al_network_compare(j->network, NULL, batch, hidden, al_view_f(other), targets,
			each, err))
		return false;
	for (size_t i = 0; i < batch->n_sequences; i++)
		for (size_t k = batch->begin[i]; k + 1 < batch->begin[i + 1]; k++)
			add(j, first + i, &each[k], k == batch->begin[i]);
	keep_tokens(j, j->all->begin[first], each, targets, n);
	return true;
}

static void conclude(const struct judging *j, struct al_judgment *out)
{
	const size_t n = j->all->n_sequences;

	*out = (struct al_judgment){.original = al_estimate_mean(j->sums[ORIGINAL], n),
		.compressed = al_estimate_mean(j->sums[COMPRESSED], n),
		.change = al_estimate_change(j->sums[ORIGINAL], j->sums[COMPRESSED], n),
		.divergence = al_estimate_mean(j->sums[DIVERGENCE], n),
		.agreement = al_estimate_mean(j->sums[AGREEMENT], n),
		.n_predicted = al_batch_tokens(j->all) - n};
}

bool al_judge(struct al_network *network, struct al_job *job, const struct al_batch *all,
	const struct al_judged *parts, struct al_judgment *out, struct al_error *err)
{
	const struct al_factor_source factors = al_job_factors(job);
	AL_FREED struct al_unit *sums = al_calloc(N_SUMS * all->n_sequences, sizeof(*sums));
	struct judging j = {network, &factors, all, {NULL}, parts->tokens};

	for (size_t i = 0; i < N_SUMS; i++)
		j.sums[i] = sums + i * all->n_sequences;
	if (!al_network_pass(network, all, NULL,
		    &(struct al_visitor){.hidden = judge_batch, .context = &j}, err))
		return false;
	conclude(&j, out);
	if (parts->divergences)
		memcpy(parts->divergences, j.sums[DIVERGENCE],
			all->n_sequences * sizeof(*parts->divergences));
	return out->divergence.n > 0
		|| al_fail(err, AL_EINPUT,
			"every sequence is too short: need one of at least three tokens");
}

bool al_judge_embeddings(struct al_network *network, struct al_job *job, const struct al_batch *all,
	struct al_matrix out[2], struct al_error *err)
{
	const struct al_factor_source factors = al_job_factors(job);

	if (!al_evaluate_embeddings(network, all, NULL, &out[0], err))
		return false;
	network->factors = &factors;
	const bool ok = al_evaluate_embeddings(network, all, NULL, &out[1], err);
	network->factors = NULL;
	if (!ok)
		al_matrix_finish(&out[0]);
	return ok;
}
