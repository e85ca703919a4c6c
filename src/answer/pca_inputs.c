/* Inputs of pca:
 * - FILE: head outputs in a file;
 * - --weights: the weights of trained PCA layers;
 * - --calibration: sums over tokens, enough for exact components of the direct and the average
 *   architecture, but not for targets, losses and patterns;
 * - MODEL: the model runs; its heads' outputs are recorded, and its loss is measured with PCA
 *   layers instead of its output projections. */
#include "answer/pca.h"

#include "audit/select.h"
#include "answer/calibration.h"
#include "deacon/recording.h"

static bool is_chosen(const struct pca *pca, const char *name)
{
	return !pca->options->modules || al_select_module(pca->options->modules, name);
}

/* ---- tensors of files ---- */

struct files {
	struct pca *pca;
	struct al_checkpoint *outputs, *target; /* target: NULL where there is none */
};

/* The target of that name; one tensor alone goes with one alone. */
static bool find_target(const struct files *f, struct al_rows rows[2], struct al_error *err)
{
	const struct al_checkpoint *file = f->target;
	const char *name = rows[0].tensor->name;
	const struct al_tensor *tensor = file->n_tensors == 1 && f->outputs->n_tensors == 1
		? &file->tensors[0]
		: al_checkpoint_find(file, name);

	if (!tensor)
		return al_fail(err, AL_EINPUT, "%s: has no tensor \"%.120s\"", file->path, name);
	if (!al_rows_of(&rows[1], file, tensor, err))
		return al_in(err, "%s", file->path);
	return rows[1].n_rows == rows[0].n_rows
		|| al_fail(err, AL_EINPUT, "%s: found %zu tokens, but the head outputs have %zu",
			file->path, rows[1].n_rows, rows[0].n_rows);
}

static bool take_outputs(struct files *f, const struct al_tensor *tensor, struct al_error *err)
{
	const size_t n_heads = (size_t)f->pca->options->n_heads;
	struct al_rows rows[2] = {{0}};

	if (!al_rows_of(&rows[0], f->outputs, tensor, err))
		return false;
	if (rows[0].width == 0 || rows[0].width % n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": %zu numbers per token are not a multiple of --heads "
			"%zu",
			tensor->name, rows[0].width, n_heads);
	if (f->target && !find_target(f, rows, err))
		return false;
	struct pca_module module = {.pca = f->pca,
		.name = tensor->name,
		.n_heads = n_heads,
		.width = rows[0].width,
		.rows = rows};
	return pca_take_module(&module, err)
		|| (f->outputs->n_tensors > 1 && al_in(err, "tensor \"%.120s\"", tensor->name));
}

/* Weights [m][n], no more components than features. */
static bool take_weights(struct files *f, const struct al_tensor *tensor, struct al_error *err)
{
	struct al_rows rows;
	struct al_matrix w;
	AL_SCRATCH(scratch);

	if (!al_rows_of(&rows, f->outputs, tensor, err))
		return false;
	if (rows.n_rows > rows.width || rows.n_rows == 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found %zu components of %zu features; expected at most "
			"as many components as features",
			tensor->name, rows.n_rows, rows.width);
	if (!al_take(&scratch, &w, rows.width, rows.n_rows, err)
		|| !al_rows_read(&rows, 0, rows.n_rows, w.data, rows.width, err)
		|| !al_check_not_finite(al_matrix_count_not_finite(al_view(w)), tensor->n_elements,
			tensor->name, err))
		return false;
	pca_figures_begin(f->pca);
	pca_weights_add(f->pca, tensor->name, NULL, tensor->name, al_view(w));
	return pca_figures_end(f->pca, tensor->name, true, err);
}

static bool take_tensors(struct files *f, struct al_error *err)
{
	const struct al_checkpoint *file = f->outputs;
	const char *patterns = f->pca->options->modules;
	size_t n = 0;

	for (size_t i = 0; i < file->n_tensors; i++) {
		const struct al_tensor *tensor = &file->tensors[i];
		if (!is_chosen(f->pca, tensor->name))
			continue;
		n++;
		if (!al_watch_show(&f->pca->progress->watch, tensor->name, i, file->n_tensors, err))
			return false;
		if (f->pca->options->weights ? take_weights(f, tensor, err)
					     : take_outputs(f, tensor, err))
			continue;
		if (file->n_tensors > 1 && !patterns)
			al_in(err, "without --modules all %zu tensors are used", file->n_tensors);
		return al_in(err, "%s", file->path);
	}
	return n > 0
		|| al_fail(err, AL_EINPUT, "%s: has no tensor%s%s", file->path,
			patterns ? " of --modules " : "", patterns ? patterns : "");
}

/* That it is still the file that was opened. */
static bool note_file(const struct pca *pca, const struct al_checkpoint *file, struct al_error *err)
{
	al_checkpoint_note(pca->session->tables[0], file, NULL);
	return al_checkpoint_check_unchanged(file, err);
}

bool pca_run_files(struct pca *pca, struct al_error *err)
{
	const struct pca_options *o = pca->options;
	const char *path = o->weights ? o->weights : al_session_word(pca->session, 0);
	struct files f = {.pca = pca, .outputs = al_session_file(pca->session, path, err)};

	if (f.outputs && o->target)
		f.target = al_session_file(pca->session, o->target, err);
	if (!f.outputs || (o->target && !f.target))
		return false;
	pca->progress->whole = f.outputs->path;
	if (!pca_tables_begin(pca, false, err) || !take_tensors(&f, err)
		|| !note_file(pca, f.outputs, err) || (f.target && !note_file(pca, f.target, err)))
		return false;
	if (o->weights)
		al_table_note(pca->session->tables[0], "each row is a component");
	return true;
}

/* ---- modules of a calibration ---- */

static bool take_statistics(struct pca *pca, const struct al_module_statistics *statistics,
	struct al_error *err)
{
	AL_OWNED struct al_matrix products = {0}, sums = {0};
	if (!al_statistics_sum(statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &products, err)
		|| !al_statistics_sum(statistics, AL_STATISTIC_SUMS, AL_ALL_FOLDS, &sums, err))
		return false;
	const struct al_head_moments moments = {.products = al_view(products),
		.sums = sums.data,
		.n_tokens = (int64_t)al_statistics_tokens(statistics)};
	struct pca_module module = {.pca = pca,
		.name = statistics->name,
		.n_heads = al_statistics_heads(statistics),
		.width = products.rows,
		.moments = &moments};

	return pca_take_module(&module, err) || al_in(err, "%s", statistics->name);
}

bool pca_run_calibration(struct pca *pca, struct al_error *err)
{
	const struct al_calibration *calibration = al_session_calibration(pca->session,
		pca->options->calibration, NULL, err);
	const struct al_module_statistics *module = NULL;

	if (!calibration || !pca_tables_begin(pca, false, err))
		return false;
	for (size_t i = 0; i < calibration->n_modules; i++) {
		if (!is_chosen(pca, calibration->modules[i].name))
			continue;
		if (!al_calibration_find(calibration, calibration->modules[i].name, &module, err))
			return false;
		if (!take_statistics(pca, module, err))
			return al_in(err, "%s", calibration->path);
	}
	if (!module)
		return al_fail(err, AL_EINPUT, "%s: no attention layer matches --modules %s",
			calibration->path, pca->options->modules);
	al_table_note(pca->session->tables[0], "calibration: %s, %.0f tokens in %zu sequences",
		calibration->path, al_statistics_tokens(module), calibration->n_sequences);
	return true;
}

/* ---- a model that runs ---- */

struct model {
	struct pca *pca;
	struct al_opened_model opened;
	bool *is_wanted; /* [modules] */
	size_t n_wanted;
	struct al_in_place *(*layers)[AL_N_ARCHITECTURES]; /* [modules]; NULL: not fitted */
	double loss; /* without a layer */
};

struct row {
	const char *module, *architecture;
	int64_t kept;
	double loss, loss_increase;
};

const struct al_table_field pca_loss_fields[] = {
	{AL_SHOW_KEY(struct row, module, "Module")},
	{AL_SHOW_KEY(struct row, architecture, "Architecture")},
	{AL_SHOW_WHOLE(struct row, kept, "Kept")},
	{AL_SHOW(struct row, loss, "Loss", .unit = "nats per token", .digits = 6)},
	{AL_SHOW(struct row, loss_increase, "Added by the layer", .unit = "nats per token",
		.digits = 6)},
	AL_FIELDS_END,
};

/* With `layers` in place; or without a number, where there are too few tokens to judge the fit. */
static bool add_row(struct model *m, struct row *row, const struct al_in_place *const *layers,
	bool is_fitted, struct al_error *err)
{
	const struct al_loss loss = al_loss_new(&m->pca->session->arena, &m->opened.running->all);

	row->loss = row->loss_increase = NAN;
	if (is_fitted) {
		if (!al_in_place_loss(&m->opened.running->network, layers, m->opened.watch, &loss,
			    err))
			return false;
		row->loss = al_loss_estimate(&loss).mean;
		row->loss_increase = row->loss - m->loss;
	}
	al_table_add_record(m->pca->tables[PCA_LOSS], row);
	return true;
}

/* Each module's alone, then all at once where all are fitted. */
static bool measure(struct model *m, int a, struct al_error *err)
{
	const struct al_model_view *view = &m->opened.file->view;
	const struct al_in_place **one = al_new_array(&m->pca->session->arena,
					 const struct al_in_place *, 2 * view->n_modules),
				 **all = one + view->n_modules;
	struct row row = {.architecture = al_architecture_names[a]}, least = {0}, most = {0};
	bool is_fitted = m->n_wanted > 1;

	for (size_t i = 0; i < view->n_modules; i++) {
		if (!m->is_wanted[i])
			continue;
		one[i] = all[i] = m->layers[i][a];
		is_fitted = is_fitted && one[i];
		row.module = view->modules[i].name;
		row.kept = m->pca->options->keep ? m->pca->options->keep : view->modules[i].n_heads;
		if (!add_row(m, &row, one, one[i], err))
			return false;
		least = !least.module || row.loss_increase < least.loss_increase ? row : least;
		most = !most.module || row.loss_increase > most.loss_increase ? row : most;
		one[i] = NULL;
	}
	if (!is_fitted)
		return true;
	al_table_note(m->pca->tables[PCA_LOSS],
		"%s: adding the layer costs least in %s (%+.4f nats per token), most in %s (%+.4f)",
		row.architecture, least.module, least.loss_increase, most.module,
		most.loss_increase);
	row.module = "all of them";
	return add_row(m, &row, all, true, err);
}

static bool measure_losses(struct model *m, struct al_error *err)
{
	struct al_running *running = m->opened.running;
	const struct al_loss loss = al_loss_new(&m->pca->session->arena, &running->all);

	if (!al_evaluate_loss(&running->network, &loss, m->opened.watch, err))
		return false;
	m->loss = al_loss_estimate(&loss).mean;
	for (int a = 0; a < AL_N_ARCHITECTURES; a++)
		if (pca_takes(m->pca->options, a) && !measure(m, a, err))
			return false;
	al_table_note(m->pca->tables[PCA_LOSS],
		"without the layer the loss is %.6f nats per token; output projections are fitted "
		"to the same %zu tokens (in sample)",
		m->loss, al_batch_tokens(&running->all));
	return true;
}

static bool take_modules(struct model *m, const struct al_recording *recording,
	struct al_error *err)
{
	const struct al_model_view *view = &m->opened.file->view;

	for (size_t i = 0; i < view->n_modules; i++) {
		struct pca_module module = {.pca = m->pca,
			.name = view->modules[i].name,
			.n_heads = (size_t)view->modules[i].n_heads,
			.width = recording->rows[i][0].width,
			.rows = recording->rows[i],
			.layers = m->pca->tables[PCA_LOSS] ? m->layers[i] : NULL};
		if (!m->is_wanted[i])
			continue;
		if (!al_watch_show(&m->pca->progress->watch, module.name, i, view->n_modules, err)
			|| !pca_take_module(&module, err))
			return al_in(err, "%s", module.name);
	}
	return true;
}

static bool record_and_take(struct model *m, struct al_error *err)
{
	struct al_running *running = m->opened.running;
	struct al_arena *arena = &m->pca->session->arena;
	struct al_recording *recording = al_new(arena, struct al_recording);

	m->layers = al_arena_alloc(arena, m->opened.file->view.n_modules, sizeof(*m->layers));
	if (!al_recording_make(recording, &running->network, &running->all, m->is_wanted,
		    m->opened.watch, err))
		return false;
	al_arena_defer(arena, al_recording_finish, recording);
	return take_modules(m, recording, err)
		&& (!m->pca->tables[PCA_LOSS] || measure_losses(m, err));
}

static bool choose_modules(struct model *m, struct al_error *err)
{
	const struct al_model_view *view = &m->opened.file->view;
	const char *patterns = m->pca->options->modules;

	m->is_wanted = al_new_array(&m->pca->session->arena, bool, view->n_modules);
	for (size_t i = 0; i < view->n_modules; i++) {
		m->is_wanted[i] = is_chosen(m->pca, view->modules[i].name);
		m->n_wanted += m->is_wanted[i];
	}
	return m->n_wanted > 0
		|| al_fail(err, AL_EINPUT,
			"%s: no attention layer matches --modules %s; the first of %zu is %s",
			m->opened.file->checkpoint->path, patterns ? patterns : "", view->n_modules,
			view->n_modules ? view->modules[0].name : "none");
}

static bool add_notes(const struct model *m, struct al_error *err)
{
	const struct al_input_options *input = &m->pca->options->input;
	const struct al_batch *all = &m->opened.running->all;
	struct al_table *table = m->pca->session->tables[0];

	if (!al_opened_checkpoint_note_whole(m->opened.file, table, err))
		return false;
	al_table_note(table, "tokens: %zu in %zu sequences%s", al_batch_tokens(all),
		all->n_sequences, input->sample ? " generated by the model" : "");
	al_table_note(table,
		"components combine the same dimension of all heads; without training for such a "
		"layer, the order of a head's dimensions is arbitrary");
	return true;
}

bool pca_run_model(struct pca *pca, struct al_error *err)
{
	const struct pca_options *o = pca->options;
	struct al_session *session = pca->session;
	struct al_layout_options layout = {0};
	struct model m = {.pca = pca};

	if (o->n_heads)
		layout.heads = al_format(&session->arena, "%lld", (long long)o->n_heads);
	if (!al_opened_model_init(&m.opened, session, &layout, &o->input, err))
		return false;
	const struct al_running *running = m.opened.running;
	const bool has_loss = running->network.how->kind == AL_FORWARD_DECODER
		&& al_batch_tokens(&running->all) > running->all.n_sequences;
	pca->progress->whole = m.opened.file->checkpoint->path;
	if (!choose_modules(&m, err) || !pca_tables_begin(pca, has_loss, err)
		|| !record_and_take(&m, err))
		return false;
	return add_notes(&m, err) && al_checkpoint_check_unchanged(m.opened.file->checkpoint, err);
}
