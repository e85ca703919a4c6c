/* What conversions of a whole model cost, measured. */
#include "compress/judge.h"

#include "linalg/cp.h"

/* ---- one candidate ---- */

static void count(const struct al_job *job, struct al_candidate *out)
{
	double squares = 0;

	for (size_t i = 0; i < job->n_modules; i++) {
		const struct al_job_module *module = &job->modules[i];
		const double error = module->pieces.relative_error;
		out->parameters += module->parameters;
		out->original += module->original;
		out->cached += al_layout_cached(&module->layout);
		out->cached_originally += al_original_cached(module->layout.attention);
		squares += error * error;
	}
	out->error = sqrt(squares / (double)job->n_modules);
}

/* All modules converted in memory, as compress does it. */
static bool measure(struct al_candidate *candidate, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all, struct al_error *err)
{
	const bool drops = al_method_drops(candidate->method);
	const struct al_compress_options options = {.method = candidate->method,
		.ranks = &candidate->rank,
		.n_ranks = 1,
		.n_of_each = drops ? (size_t)candidate->rank : 0,
		.of_keys = candidate->of_keys,
		.data = {.calibration = calibration},
		.effort = {.n_sweeps = AL_CP_SWEEPS, .seed = 1}};
	AL_ENDS(al_job_finish)
	struct al_job job = {.view = network->view, .options = &options, .in_memory = true};

	if (!al_job_make(&job, err)
		|| !al_judge(network, &job, all,
			&(struct al_judged){.divergences = candidate->divergences},
			&candidate->measured, err))
		return false;
	count(&job, candidate);
	return true;
}

/* ---- results of an earlier run ---- */

size_t al_frontier_bytes(const struct al_batch *all)
{
	return sizeof(struct al_candidate) + all->n_sequences * sizeof(struct al_unit);
}

/* Takes the result from there, or puts it there. */
static bool find(struct al_candidate *candidate, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all, struct al_kept *kept,
	struct al_error *err)
{
	const size_t n = all->n_sequences;
	AL_FREED struct al_candidate *result = al_calloc(al_frontier_bytes(all), 1);
	struct al_unit *divergences = al_new_array(&network->arena, struct al_unit, n);

	candidate->divergences = divergences;
	if (kept && al_kept_next(kept, result)) {
		memcpy(divergences, result + 1, n * sizeof(*divergences));
		result->divergences = divergences;
		*candidate = *result;
		return true;
	}
	if (!measure(candidate, network, calibration, all, err))
		return false;
	*result = *candidate;
	result->divergences = NULL;
	memcpy(result + 1, divergences, n * sizeof(*divergences));
	return !kept || al_kept_add(kept, result, err);
}

/* ---- all ---- */

static void add(struct al_frontier *f, enum al_method method, bool of_keys, int64_t rank)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].method == method && f->items[i].of_keys == of_keys
			&& f->items[i].rank == rank)
			return;
	f->items = al_grow(f->arena, f->items, f->n, &f->room, sizeof(*f->items));
	f->items[f->n++] = (struct al_candidate){.method = method,
		.rank = rank,
		.of_keys = of_keys};
}

static void add_shares(struct al_frontier *f, enum al_method method, bool of_keys, int64_t whole)
{
	static const double shares[] = {.875, .75, .625, .5, .375, .25, .125};

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		if ((int64_t)(shares[i] * (double)whole) >= 1)
			add(f, method, of_keys, (int64_t)(shares[i] * (double)whole));
}

static bool can(const struct al_model_view *view, enum al_method method, bool of_keys)
{
	for (size_t i = 0; i < view->n_modules; i++)
		if (!al_method_check(&view->modules[i], method, of_keys, NULL))
			return false;
	return true;
}

static void list(struct al_frontier *f, const struct al_model_view *view)
{
	const struct al_attention *a = &view->modules[0];
	const bool has_own_keys = a->n_heads == a->n_kv_heads;
	const int64_t width = al_method_bound(a, AL_METHOD_LATENT);
	static const enum al_method drops[] = {AL_METHOD_DROP, AL_METHOD_MERGE};

	for (int i = 0; i < 2; i++)
		if (can(view, drops[i], false) && has_own_keys)
			for (int64_t n = 1; n <= a->n_heads / 2; n++)
				add(f, drops[i], false, n);
	if (can(view, AL_METHOD_MHE_MUL, false) && has_own_keys)
		add(f, AL_METHOD_MHE_MUL, false, al_method_bound(a, AL_METHOD_MHE_MUL));
	if (can(view, AL_METHOD_OV, false))
		add_shares(f, AL_METHOD_OV, false, a->d_value);
	if (can(view, AL_METHOD_LATENT, false))
		add_shares(f, AL_METHOD_LATENT, false, width);
	if (can(view, AL_METHOD_LATENT, true) && !a->is_rotary)
		add_shares(f, AL_METHOD_LATENT, true, width);
	for (int64_t left = a->n_kv_heads - 1; left >= 1; left--)
		for (int of_keys = 0; of_keys < 2 && a->n_kv_heads % left == 0; of_keys++)
			if (can(view, AL_METHOD_GQA, of_keys))
				add(f, AL_METHOD_GQA, of_keys, left);
}

static bool beats(const struct al_candidate *b, const struct al_candidate *a)
{
	return b->cached <= a->cached && b->measured.divergence.mean < a->measured.divergence.mean;
}

/* Is any of the n that beat it told from it? */
static bool is_beaten(const struct al_frontier *f, const struct al_candidate *a, size_t n,
	size_t n_sequences)
{
	for (size_t k = 0; k < f->n; k++)
		if (beats(&f->items[k], a)
			&& al_estimate_is_apart(al_estimate_change(f->items[k].divergences,
							a->divergences, n_sequences),
				n))
			return true;
	return false;
}

static void mark_best(struct al_frontier *f, size_t n_sequences)
{
	for (size_t i = 0; i < f->n; i++) {
		struct al_candidate *a = &f->items[i];
		size_t n = 0;
		for (size_t k = 0; k < f->n; k++)
			n += beats(&f->items[k], a);
		a->is_best = n == 0;
		a->is_tied = n > 0 && n_sequences > 1 && !is_beaten(f, a, n, n_sequences);
	}
}

bool al_frontier_find(struct al_frontier *out, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all, struct al_kept *kept,
	const struct al_watch *watch, struct al_error *err)
{
	*out = (struct al_frontier){.arena = &network->arena};
	list(out, network->view);
	for (size_t i = 0; i < out->n; i++) {
		if (!al_watch_show(watch, "conversions", i, out->n, err))
			return false;
		if (!find(&out->items[i], network, calibration, all, kept, err))
			return al_in(err, "%s", al_method_names[out->items[i].method]);
	}
	mark_best(out, all->n_sequences);
	return true;
}
