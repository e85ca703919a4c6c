/* Compressing a checkpoint: module by module, then the file. */
#include "compress/work.h"

static void keep_counts(struct al_job_module *module, const struct al_work *w)
{
	const struct al_module_layout *layout = &module->layout;

	module->original = al_original_parameters(layout->attention, layout->method);
	module->parameters = al_layout_parameters(layout);
	module->control_error = w->has_scores && layout->method != AL_METHOD_MHE_MUL
		? al_control_error(&w->control, (size_t)al_layout_weights(layout))
		: NAN;
}

/* Each of the heads gets columns of zeros behind its own. */
static bool pad_piece(struct al_matrix *piece, int64_t heads, int64_t width, struct al_error *err)
{
	AL_OWNED struct al_matrix before = *piece;
	const size_t had = piece->cols / (size_t)heads;

	*piece = (struct al_matrix){0};
	if (!before.data)
		return true;
	if (!al_matrix_init(piece, before.rows, (size_t)(heads * width), err))
		return false;
	for (size_t head = 0; head < (size_t)heads; head++)
		if (!al_copy(al_columns(al_view(before), head * had, had),
			    al_part(*piece, 0, head * (size_t)width, before.rows, had), err))
			return false;
	return true;
}

/* llama.cpp runs heads of one width: values and outputs of a lower rank keep theirs. */
static bool pad(struct al_job *job, struct al_job_module *module, struct al_error *err)
{
	struct al_module_layout layout = module->layout;
	const struct al_attention *a = layout.attention;
	struct al_matrix *of = module->pieces.of;

	if (!job->writes_gguf || layout.method != AL_METHOD_OV)
		return true;
	layout.is_padded = true;
	layout.slices = NULL;
	layout.n_slices = layout.room = 0;
	return pad_piece(&of[AL_PIECE_VALUE], a->n_kv_heads, a->d_value, err)
		&& pad_piece(&of[AL_PIECE_VALUE_BIAS], a->n_kv_heads, a->d_value, err)
		&& pad_piece(&of[AL_PIECE_OUTPUT], a->n_heads, a->d_value, err)
		&& al_layout_make(&module->layout, &job->arena, job->view->checkpoint, &layout,
			err);
}

/* Of a file, what is made is put aside. */
static bool keep_pieces(struct al_job *job, struct al_job_module *module, struct al_error *err)
{
	if (job->in_memory)
		return true;
	if (job->options->for_epfml)
		al_epfml_fold(module);
	const bool ok = al_job_encode(job, module, err);
	if (job->options->data.refit != AL_REFIT_SEQUENTIAL)
		al_pieces_finish(&module->pieces);
	return ok;
}

static bool make_module(struct al_job *job, struct al_job_module *module, struct al_work *w,
	struct al_error *err)
{
	const size_t n_of_each = job->options->n_of_each;
	int64_t rank;

	if ((n_of_each > 0 && !al_work_choose(w, n_of_each, err))
		|| !al_choose_rank(job, w, &rank, err))
		return false;
	const struct al_module_layout layout = al_work_layout(w, rank);
	module->scale = w->a->score_scale;
	if (!al_layout_make(&module->layout, &job->arena, job->view->checkpoint, &layout, err)
		|| !al_work_make(w, &module->layout, &module->pieces, err))
		return false;
	module->layout.places = w->places;
	if (al_refit_runs(job->options->data.refit) && !al_refit_module(job, module, err))
		return false;
	keep_counts(module, w);
	if (job->options->method == AL_METHOD_COLLAB)
		al_count_dimensions(job, module);
	return pad(job, module, err) && keep_pieces(job, module, err);
}

static bool do_module(struct al_job *job, const struct al_attention *a, size_t index,
	bool *is_dropped, struct al_error *err)
{
	struct al_job_module *module = &job->modules[job->n_modules];
	struct al_work w;

	if (!al_watch_show(job->options->watch, a->name, 0, 0, err))
		return false;
	bool ok = al_work_load(&w, job, a, err);
	w.is_dropped = is_dropped;
	w.index = index;
	ok = ok && make_module(job, module, &w, err);
	al_work_finish(&w);
	job->n_modules += ok;
	if (!ok)
		al_pieces_finish(&module->pieces);
	return ok || al_in(err, "%s", a->name);
}

static bool make_modules(struct al_job *job, struct al_error *err)
{
	const struct al_model_view *view = job->view;
	size_t index = 0;

	if (job->options->method == AL_METHOD_IDENTITY)
		return true;
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		if (!al_job_takes(job, a))
			continue;
		bool *is_dropped = al_job_find_dropped(job, a);
		if (al_method_drops(job->options->method) && !is_dropped)
			continue;
		if (!do_module(job, a, index++, is_dropped, err))
			return false;
	}
	return true;
}

/* The view's modules are in one array. */
static int compare_modules(const void *a, const void *b)
{
	const struct al_job_module *x = a, *y = b;

	return x->layout.attention < y->layout.attention ? -1 : 1;
}

bool al_job_each_part(struct al_job *job, bool part(struct al_job *job, struct al_error *err),
	struct al_error *err)
{
	const struct al_compress_options *all = job->options;
	bool ok = true;

	for (; ok && job->options; job->options = job->options->also)
		ok = part(job, err);
	job->options = all;
	return ok;
}

bool al_job_make(struct al_job *job, struct al_error *err)
{
	job->modules = al_new_array(&job->arena, struct al_job_module, job->view->n_modules);
	const bool ok = al_job_each_part(job, make_modules, err);
	qsort(job->modules, job->n_modules, sizeof(*job->modules), compare_modules);
	return ok;
}

void al_job_finish(struct al_job *job)
{
	for (size_t i = 0; i < job->n_modules; i++)
		al_pieces_finish(&job->modules[i].pieces);
	al_spill_close(&job->aside);
	al_arena_finish(&job->arena);
}

bool al_compress_check_output(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_error *err)
{
	AL_ENDS(al_job_finish) struct al_job job = {.view = view, .options = options};

	return al_job_open_output(&job, path, err);
}

bool al_compress(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_table *table, struct al_table *heads, struct al_error *err)
{
	AL_ENDS(al_job_finish)
	struct al_job job = {.view = view,
		.options = options,
		.dtype = options->dtype,
		.is_weighted = !options->formats
			&& (options->imatrix || options->data.calibration)};

	if (!al_job_open_output(&job, path, err) || !al_job_check(&job, err)
		|| (options->budget > 0 && !al_job_spend(&job, err)) || !al_job_make(&job, err)
		|| !al_job_write(&job, path, err))
		return false;
	al_answer_fill(&job, table);
	if (heads && options->method == AL_METHOD_COLLAB)
		al_answer_heads(&job, heads);
	return true;
}
