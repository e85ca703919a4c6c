/* Compressing a checkpoint: module by module, then the file. */
#include "compress/steps.h"

#include <math.h>

#include "compress/by_data.h"
#include "compress/effective.h"

static void keep_counts(struct al_job_module *module, const struct al_scores *scores,
	const struct al_pieces *pieces)
{
	const struct al_module_layout *layout = &module->layout;

	module->original = al_original_parameters(layout->attention, layout->method);
	module->parameters = al_layout_parameters(layout);
	module->relative_error = pieces->relative_error;
	module->is_estimate = pieces->is_estimate;
	module->has_settled = pieces->has_settled;
	module->control_error = scores && layout->method != AL_METHOD_MHE_MUL
		? al_control_error(&scores->control, (size_t)al_layout_weights(layout))
		: NAN;
}

/* Weights of modules that are done already. */
static bool load_done(void *context, const struct al_attention *attention, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_job *job = context;
	const struct al_job_module *done = al_job_module_find(job->modules, job->n_modules,
		attention);

	if (done)
		return al_effective_factor(&done->layout, done->pieces.of, attention->score_scale,
			job->view->checkpoint, p, is_bias, out, err);
	return al_factor_load(job->view->checkpoint,
		is_bias ? &attention->biases[p] : &attention->factors[p], out, err);
}

/* W_O fitted anew: to the calibration's outputs, or to what the module's heads put out then. */
static bool refit(struct al_job *job, const struct al_module_layout *layout,
	struct al_pieces *pieces, struct al_error *err)
{
	const struct al_data *data = job->options->data;
	const struct al_factor_source done = {.load = load_done, .context = job};
	struct al_pieces fitted;

	if (data && al_refit_runs(data->refit))
		return al_refit_module(&data->running,
			data->refit == AL_REFIT_SEQUENTIAL ? &done : NULL, layout, pieces, err);
	if (layout->method != AL_METHOD_DROP || !layout->is_refitted)
		return true;
	if (!al_pieces_by_data(&fitted, job->view, layout, data, err))
		return false;
	pieces->of[AL_PIECE_OUTPUT] = fitted.of[AL_PIECE_OUTPUT];
	fitted.of[AL_PIECE_OUTPUT] = (struct al_matrix){0};
	pieces->relative_error = fitted.relative_error;
	al_pieces_finish(&fitted);
	return true;
}

static bool make_module(struct al_job *job, struct al_job_module *module,
	const struct al_treated *t, struct al_error *err)
{
	struct al_pieces pieces;
	struct al_module_layout layout;
	int64_t rank;

	if (!al_choose_rank(job, t, &rank, err))
		return false;
	layout = al_treated_layout(job, t, rank);
	if (!al_layout_make(&module->layout, &job->arena, job->view->checkpoint, &layout, err)
		|| !al_treated_make(job, t, &module->layout, &pieces, err))
		return false;
	bool ok = refit(job, &module->layout, &pieces, err);
	keep_counts(module, t->scores, &pieces);
	if (job->options->method == AL_METHOD_COLLAB)
		al_count_dimensions(job, module, &pieces);
	module->scale = t->attention->score_scale;
	if (job->options->for_epfml)
		al_epfml_fold(module, &pieces);
	ok = ok && al_job_encode(job, module, &pieces, err);
	if (ok && job->options->data && job->options->data->refit == AL_REFIT_SEQUENTIAL)
		module->pieces = pieces;
	else
		al_pieces_finish(&pieces);
	return ok;
}

static bool do_module(struct al_job *job, const struct al_attention *a, size_t index,
	const bool *is_dropped, struct al_error *err)
{
	struct al_scores scores;
	struct al_treated t = {.attention = a, .is_dropped = is_dropped, .index = index};

	if (job->options->watch)
		job->options->watch(job->options->context, a->name);
	if (!al_treated_load(job, &t, &scores, err))
		return al_in(err, "%s", a->name);
	bool ok = make_module(job, &job->modules[job->n_modules], &t, err);
	al_treated_finish(&t, &scores);
	job->n_modules += ok;
	return ok || al_in(err, "%s", a->name);
}

static bool do_modules(struct al_job *job, struct al_error *err)
{
	const struct al_model_view *view = job->view;
	size_t index = 0;

	job->modules = al_new_array(&job->arena, struct al_job_module, view->n_modules);
	if (job->options->method == AL_METHOD_IDENTITY)
		return true;
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		bool *is_dropped;
		if (!al_job_takes(job, a))
			continue;
		if (!al_job_find_dropped(job, a, &is_dropped, err))
			return false;
		if (al_method_drops(job->options->method) && !is_dropped)
			continue;
		if (!do_module(job, a, index++, is_dropped, err))
			return false;
	}
	return true;
}

bool al_compress(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_table *table, struct al_table *heads, struct al_error *err)
{
	struct al_job job = {.view = view, .options = options};

	al_arena_init(&job.arena);
	bool ok = al_job_open_output(&job, path, err) && al_job_check(&job, err)
		&& (options->budget <= 0 || al_job_spend(&job, err)) && do_modules(&job, err)
		&& al_job_write(&job, path, err);
	if (ok)
		al_answer_fill(&job, table);
	if (ok && heads && options->method == AL_METHOD_COLLAB)
		al_answer_heads(&job, heads);
	for (size_t i = 0; i < job.n_modules; i++)
		al_pieces_finish(&job.modules[i].pieces);
	al_spill_close(&job.aside);
	al_arena_finish(&job.arena);
	return ok;
}
