/* pca MODEL --tokens|--text: a model runs, its heads' outputs are recorded, and its loss is
 * measured with PCA layers in the place of its output projections. */
#include "commands/pca.h"

#include <math.h>
#include <stdlib.h>

#include "audit/select.h"
#include "base/memory.h"
#include "deacon/recording.h"

struct model {
	struct pca *pca;
	struct al_opened_model opened;
	bool *is_wanted; /* [modules] */
	size_t n_wanted;
	struct al_in_place (*in_place)[AL_N_ARCHITECTURES]; /* [modules] */
};

/* ---- the loss with layers in place ---- */

struct row {
	const char *module, *architecture;
	int64_t kept;
	double loss, increase;
};

const struct al_table_field pca_loss_fields[] = {
	{{.key = "module", .title = "Module", .is_key = true}, AL_MEMBER(struct row, module)},
	{{.key = "architecture", .title = "Architecture", .is_key = true},
		AL_MEMBER(struct row, architecture)},
	{{.key = "kept", .title = "Kept", .digits = AL_DIGITS_ALL}, AL_MEMBER(struct row, kept)},
	{{.key = "loss", .title = "Loss", .unit = "nats per token", .digits = 6},
		AL_MEMBER(struct row, loss)},
	{{.key = "loss_increase",
		 .title = "More than without the layer",
		 .unit = "nats per token",
		 .digits = 6},
		AL_MEMBER(struct row, increase)},
	AL_FIELDS_END,
};

/* The row of one module, or of the last of all, with `layers` in place; without a number where too
 * few tokens say nothing of the fit. */
static bool add_row(struct model *m, size_t module, const char *name, int architecture,
	const struct al_in_place *layers, double whole, struct al_error *err)
{
	const int64_t keep = m->pca->options->keep;
	struct row row = {name, al_architecture_names[architecture],
		keep ? keep : m->opened.file->view.modules[module].n_heads, NAN, NAN};
	struct al_loss loss;

	if (layers[module].weights.data) {
		if (!al_in_place_loss(&m->opened.running->network, &m->opened.running->all, layers,
			    &m->opened.watch, &loss, err))
			return false;
		row.loss = loss.nats / (double)loss.n_predicted;
		row.increase = row.loss - whole;
	}
	al_table_add_record(m->pca->tables[PCA_LOSS], &row);
	return true;
}

/* Each module's alone, then all at once where all are fitted. */
static bool measure(struct model *m, int a, struct al_in_place *layers, double whole,
	struct al_error *err)
{
	const struct al_model_view *view = &m->opened.file->view;
	bool is_fitted = m->n_wanted > 1;
	size_t last = 0;

	for (size_t i = 0; i < view->n_modules; i++) {
		if (!m->is_wanted[i])
			continue;
		last = i;
		layers[i] = m->in_place[i][a];
		is_fitted = is_fitted && layers[i].weights.data;
		if (!add_row(m, i, view->modules[i].name, a, layers, whole, err))
			return false;
		layers[i] = (struct al_in_place){0};
	}
	if (!is_fitted)
		return true;
	for (size_t i = 0; i < view->n_modules; i++)
		layers[i] = m->in_place[i][a];
	return add_row(m, last, "all of them", a, layers, whole, err);
}

static double increase_of(const struct al_table *table, size_t row)
{
	double increase;

	return al_table_number(table, row, "loss_increase", &increase) ? increase : NAN;
}

/* Of the modules of one architecture, whose rows begin at `first`: where the layer costs least. */
static void conclude(const struct model *m, int architecture, size_t first)
{
	struct al_table *table = m->pca->tables[PCA_LOSS];
	size_t least = first, most = first;

	if (m->n_wanted < 2 || isnan(increase_of(table, first)))
		return;
	for (size_t i = first; i < first + m->n_wanted; i++) {
		least = increase_of(table, i) < increase_of(table, least) ? i : least;
		most = increase_of(table, i) > increase_of(table, most) ? i : most;
	}
	al_table_note(table,
		"%s: the layer costs least in %s (%+.4f nats a token), most in %s (%+.4f)",
		al_architecture_names[architecture], al_table_text(table, least, "module"),
		increase_of(table, least), al_table_text(table, most, "module"),
		increase_of(table, most));
}

static bool measure_losses(struct model *m, struct al_in_place *layers, struct al_error *err)
{
	struct al_table *table = m->pca->tables[PCA_LOSS];
	struct al_loss loss;

	if (!al_evaluate_loss(&m->opened.running->network, &m->opened.running->all,
		    &m->opened.watch, &loss, err))
		return false;
	const double whole = loss.nats / (double)loss.n_predicted;
	for (int a = 0; a < AL_N_ARCHITECTURES; a++) {
		const size_t first = table->n_rows;
		if (!pca_takes(m->pca->options, a))
			continue;
		if (!measure(m, a, layers, whole, err))
			return false;
		conclude(m, a, first);
		for (size_t i = 0; i < m->opened.file->view.n_modules; i++)
			layers[i] = (struct al_in_place){0};
	}
	al_table_note(table,
		"without a layer the loss is %.6f nats a token; output projections are fitted to "
		"the same %zu tokens, so this is in sample",
		whole, al_batch_tokens(&m->opened.running->all));
	return true;
}

/* ---- modules ---- */

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
			.in_place = m->pca->tables[PCA_LOSS] ? m->in_place[i] : NULL};
		if (!m->is_wanted[i])
			continue;
		al_progress_show(m->pca->progress, module.name, i, view->n_modules);
		if (!pca_take_module(&module, err))
			return al_in(err, "%s", module.name);
	}
	return true;
}

static bool record_and_take(struct model *m, struct al_error *err)
{
	const size_t n = m->opened.file->view.n_modules;
	struct al_recording recording;

	if (!al_recording_make(&recording, &m->opened.running->network, &m->opened.running->all,
		    m->is_wanted, &m->opened.watch, err))
		return false;
	struct al_in_place *layers = al_calloc(n, sizeof(*layers));
	m->in_place = al_calloc(n, sizeof(*m->in_place));
	bool ok = take_modules(m, &recording, err)
		&& (!m->pca->tables[PCA_LOSS] || measure_losses(m, layers, err));
	for (size_t i = 0; i < n; i++)
		for (int a = 0; a < AL_N_ARCHITECTURES; a++)
			al_in_place_finish(&m->in_place[i][a]);
	free(m->in_place);
	free(layers);
	al_recording_finish(&recording);
	return ok;
}

static bool choose_modules(struct model *m, struct al_error *err)
{
	const struct al_model_view *view = &m->opened.file->view;
	const char *patterns = m->pca->options->modules;

	m->is_wanted = al_new_array(&m->pca->session->arena, bool, view->n_modules);
	for (size_t i = 0; i < view->n_modules; i++) {
		m->is_wanted[i] = !patterns || al_select_module(patterns, view->modules[i].name);
		m->n_wanted += m->is_wanted[i];
	}
	return m->n_wanted > 0
		|| al_fail(err, AL_EINPUT,
			"%s: has no attention module of --modules %s; the first of %zu is %s",
			m->opened.file->checkpoint->path, patterns ? patterns : "", view->n_modules,
			view->n_modules ? view->modules[0].name : "none");
}

static void add_notes(const struct model *m)
{
	const struct al_input_options *input = &m->pca->options->input;
	const struct al_batch *all = &m->opened.running->all;
	struct al_table *table = m->pca->session->tables[0];

	al_opened_checkpoint_note(m->opened.file, table);
	al_table_note(table, "tokens: %zu in %zu sequences%s", al_batch_tokens(all),
		all->n_sequences,
		input->sample ? al_format(&table->arena, " that the model wrote, seed %lld",
			(long long)input->seed)
			      : "");
	al_table_note(table,
		"components pair the same dimension of all heads; a model that wasn't trained with "
		"such a layer leaves open which dimension of a head is which");
}

static bool run(struct model *m, struct al_error *err)
{
	const struct al_batch *all = &m->opened.running->all;
	const bool has_loss = m->opened.running->network.how->kind == AL_FORWARD_DECODER
		&& al_batch_tokens(all) > all->n_sequences;

	m->pca->progress->whole = m->opened.file->checkpoint->path;
	if (!choose_modules(m, err) || !pca_tables_begin(m->pca, has_loss, err)
		|| !record_and_take(m, err)
		|| !al_checkpoint_check_unchanged(m->opened.file->checkpoint, err))
		return false;
	add_notes(m);
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
	return al_opened_model_init(&m.opened, session, &layout, &o->input, err) && run(&m, err);
}
