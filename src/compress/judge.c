/* A model and its compressed copy run on the same tokens, batch by batch. */
#include "compress/judge.h"

#include "model/forward/evaluate.h"

struct judging {
	struct al_network *network;
	const struct al_factor_source *factors;
	struct al_judgment *out;
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
static void add(struct al_judgment *sum, const struct al_comparison *one, bool is_first)
{
	sum->original += one->losses[0];
	sum->compressed += one->losses[1];
	sum->n_predicted++;
	if (is_first)
		return;
	sum->divergence += one->divergence;
	sum->agreement += one->agree;
	sum->n_compared++;
}

static bool judge_batch(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct judging *j = context;
	const size_t n = al_batch_tokens(batch);
	AL_FREED int32_t *targets = al_batch_targets(batch);
	AL_FREED struct al_comparison *each = al_alloc(n, sizeof(*each));
	AL_OWNED_F struct al_matrix_f other = {0};
	bool ok = run_changed(j, batch, &other, err)
		&& al_network_compare(j->network, batch, hidden, al_view_f(other), targets, each,
			err);

	for (size_t i = 0; ok && i < n; i++)
		if (targets[i] >= 0)
			add(j->out, &each[i], i == 0 || targets[i - 1] < 0);
	return ok;
}

bool al_judge(struct al_network *network, struct al_job *job, const struct al_batch *all,
	struct al_judgment *out, struct al_error *err)
{
	const struct al_factor_source factors = al_job_factors(job);
	struct judging j = {network, &factors, out};

	*out = (struct al_judgment){0};
	if (!al_network_pass(network, all, NULL,
		    &(struct al_visitor){.hidden = judge_batch, .context = &j}, err))
		return false;
	if (out->n_compared == 0)
		return al_fail(err, AL_EINPUT,
			"every sequence is too short: need one of at least three tokens");
	out->original /= (double)out->n_predicted;
	out->compressed /= (double)out->n_predicted;
	out->divergence /= (double)out->n_compared;
	out->agreement /= (double)out->n_compared;
	return true;
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
