/* A module during compression: loading its inputs and running the method. */
#include "compress/work.h"

/* ---- loading ---- */

static bool load_weights(struct al_work *w, int first, int end, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = w->view->checkpoint;

	for (int p = first; p < end; p++)
		if (!al_factor_load(checkpoint, &w->a->factors[p], &w->weights[p], err)
			|| (p != AL_OUTPUT
				&& !al_factor_load(checkpoint, &w->a->biases[p], &w->biases[p],
					err)))
			return false;
	return true;
}

static bool find_statistics(struct al_work *w, struct al_error *err)
{
	const struct al_calibration *calibration = w->options->data.calibration;
	const size_t outputs = w->weights[AL_OUTPUT].cols;

	if (!calibration)
		return true;
	if (!al_calibration_find(calibration, w->a->name, &w->statistics, err))
		return false;
	const size_t recorded = al_statistics_outputs(w->statistics);
	return outputs == 0 || recorded == outputs
		|| al_fail(err, AL_EINPUT,
			"the calibration has %zu head outputs, but the module has %zu", recorded,
			outputs);
}

static bool prepare_scores(struct al_work *w, struct al_error *err)
{
	const struct al_attention *a = w->a;
	double norm;

	if (!al_work_whiten(w, err))
		return false;
	w->heads = (struct al_heads){.query = al_work_seen(w, AL_QUERY),
		.key = al_work_seen(w, AL_KEY),
		.n_heads = (size_t)a->n_heads,
		.n_kv_heads = (size_t)a->n_kv_heads,
		.d_head = (size_t)a->d_head};
	const bool is_single = !w->seen[AL_QUERY].data
		&& a->factors[AL_QUERY].dtype->epsilon >= 0x1p-23
		&& a->factors[AL_KEY].dtype->epsilon >= 0x1p-23;
	w->narrow = w->heads;
	if (is_single && !al_heads_narrow(&w->scratch, &w->heads, &w->narrow, err))
		return false;
	return al_heads_check(&w->heads, &norm, err)
		&& al_control_init(&w->control, &w->narrow, err);
}

/* Where a family has rotary positions, heads without them may have others that no file of the
 * catalog describes, as Falcon's ALiBi. */
static bool knows_positions(const struct al_family *family, const struct al_attention *a)
{
	for (size_t i = 0; i < family->n_modules; i++)
		if (family->modules[i].is_rotary && !a->is_rotary)
			return false;
	return true;
}

/* Heads may change places where they differ in their projections alone. */
static bool find_regroups(struct al_work *w, const struct al_job *job, struct al_error *err)
{
	const char *own = NULL;

	if (w->options->method != AL_METHOD_GQA || !w->options->of_keys)
		return true;
	if (!al_job_find_own(job, w->a, &own, err))
		return false;
	w->regroups = !own && knows_positions(job->view->family, w->a);
	return true;
}

bool al_work_load(struct al_work *w, struct al_job *job, const struct al_attention *a,
	struct al_error *err)
{
	const struct al_compress_options *o = job->options;
	const enum al_method method = o->method;
	const bool is_by_data = al_job_refits_by_data(o);
	const bool has_values = al_method_touches_all(method)
		&& (method != AL_METHOD_DROP || is_by_data || o->n_of_each > 0);
	*w = (struct al_work){.view = job->view,
		.options = o,
		.a = a,
		.folds = AL_ALL_FOLDS,
		.width = (size_t)a->d_value,
		.n_kv = (size_t)a->n_kv_heads,
		.group = (size_t)(a->n_heads / a->n_kv_heads),
		.arena = &job->arena,
		.has_scores = !al_method_is_of_values(method) && method != AL_METHOD_MERGE
			&& !(method == AL_METHOD_DROP && is_by_data)};
	const bool has_queries = w->has_scores || method == AL_METHOD_MERGE
		|| (method == AL_METHOD_GQA && o->of_keys);

	return find_regroups(w, job, err)
		&& load_weights(w, has_queries ? AL_QUERY : AL_KEY,
			has_values ? AL_N_PROJECTIONS : AL_VALUE, err)
		&& find_statistics(w, err) && (!w->has_scores || prepare_scores(w, err));
}

void al_work_finish(struct al_work *w)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		al_matrix_finish(&w->weights[p]);
		al_matrix_finish(&w->biases[p]);
	}
	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		al_matrix_finish(&w->seen[p]);
		al_matrix_finish(&w->inverse[p]);
	}
	al_matrix_finish(&w->gram);
	al_matrix_finish(&w->directions);
	free(w->energies);
	free(w->crossed);
	al_scratch_finish(&w->scratch);
	al_control_finish(&w->control);
}

/* ---- heads in another order ---- */

/* Blocks of `width` columns. */
static bool reorder(struct al_matrix m, const size_t *order, size_t n, size_t width,
	struct al_error *err)
{
	AL_OWNED struct al_matrix before = {0};
	bool ok = !m.data || al_duplicate(al_view(m), &before, err);

	for (size_t i = 0; ok && m.data && i < n; i++)
		ok = al_copy(al_columns(al_view(before), order[i] * width, width),
			al_part(m, 0, i * width, m.rows, width), err);
	return ok;
}

bool al_work_reorder(struct al_work *w, const size_t *order, struct al_error *err)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (!reorder(w->weights[p], order, w->n_kv, w->weights[p].cols / w->n_kv, err)
			|| (p != AL_OUTPUT
				&& !reorder(w->biases[p], order, w->n_kv,
					w->biases[p].cols / w->n_kv, err)))
			return false;
	return true;
}

/* ---- the method ---- */

struct al_module_layout al_work_layout(const struct al_work *w, int64_t rank)
{
	return (struct al_module_layout){.attention = w->a,
		.method = w->options->method,
		.rank = rank,
		.is_dropped = w->is_dropped,
		.is_refitted = al_job_refits(w->options),
		.of_keys = w->options->of_keys};
}

/* One value for all heads in addition to the shared scores. */
static bool make_shared(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	return al_work_collab(w, out, err) && al_work_gqa(w, out, err);
}

bool al_work_make(struct al_work *w, const struct al_module_layout *layout, struct al_pieces *out,
	struct al_error *err)
{
	static al_work_method *const methods[AL_N_METHODS] = {al_work_collab, al_work_tucker,
		al_work_qk, al_work_drop, al_work_ov, al_work_latent, al_work_gqa, al_work_merge,
		make_shared};

	*out = (struct al_pieces){.has_settled = true};
	w->places = NULL;
	al_matrix_finish(&w->gram);
	w->layout = layout;
	w->lost = w->whole = 0;
	if ((!w->has_scores || layout->method == AL_METHOD_MHE_MUL)
		&& !al_measure_choose(w, layout->method, err))
		return false;
	if (!methods[layout->method](w, out, err))
		return false;
	if (w->whole > 0) /* errors of scores and of values add up as squares */
		out->relative_error = hypot(out->relative_error, sqrt(w->lost / w->whole));
	return true;
}

bool al_work_choose(struct al_work *w, size_t n, struct al_error *err)
{
	const struct al_attention *a = w->a;

	if (n >= (size_t)a->n_heads || a->n_kv_heads != a->n_heads)
		return al_fail(err, AL_EINPUT,
			"it has %" PRId64 " query and %" PRId64
			" key heads, so %zu can't be chosen: name them with --drop LAYER:HEAD",
			a->n_heads, a->n_kv_heads, n);
	return (w->options->method == AL_METHOD_MERGE ? al_work_choose_merged
						      : al_work_choose_dropped)(w, n, err);
}
