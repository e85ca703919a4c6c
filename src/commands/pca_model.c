/* pca MODEL --tokens|--text: a model runs, its heads' outputs are recorded, and its loss is
 * measured with PCA layers in the place of its output projections. */
#include "commands/pca.h"

#include <math.h>
#include <stdlib.h>

#include "audit/select.h"
#include "base/memory.h"
#include "commands/checkpoint.h"
#include "commands/progress.h"
#include "deacon/recording.h"

struct pca_model {
	struct pca_source source;
	struct al_opened_checkpoint opened;
	struct al_network network;
	struct al_tokens tokens;
	struct al_recording recording;
	bool *is_wanted; /* [modules] */
	size_t n_wanted;
	struct al_in_place (*in_place)[AL_N_ARCHITECTURES]; /* [modules] */
	struct al_progress progress;
	struct al_watch watch;
};

static const struct pca_options *options_of(const struct pca_model *m)
{
	return m->source.session->options;
}

static void show(void *context, const char *part, size_t done, size_t n)
{
	struct pca_model *m = context;

	al_progress_show(&m->progress, m->opened.checkpoint.path, part, (struct al_steps){done, n});
}

/* ---- the loss with layers in place ---- */

struct row {
	const char *module, *architecture;
	size_t kept;
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

static double mean_of(const struct al_loss *loss)
{
	return loss->nats / (double)loss->n_predicted;
}

static struct al_table *loss_table(const struct pca_model *m)
{
	return m->source.tables.of[PCA_LOSS];
}

static void add_loss(const struct pca_model *m, const char *module, int architecture, size_t kept,
	const struct al_loss *loss, const struct al_loss *whole)
{
	al_table_add_record(loss_table(m),
		&(struct row){module, al_architecture_names[architecture], kept,
			loss ? mean_of(loss) : NAN, loss ? mean_of(loss) - mean_of(whole) : NAN});
}

static bool measure(struct pca_model *m, const struct al_in_place *layers, struct al_loss *out,
	struct al_error *err)
{
	const struct al_batch all = al_input_batch(&m->tokens);

	return al_in_place_loss(&m->network, &all, layers, &m->watch, out, err);
}

static size_t kept_of(const struct pca_model *m, size_t module)
{
	const int64_t keep = options_of(m)->keep;

	return (size_t)(keep ? keep : m->opened.view.modules[module].n_heads);
}

/* One module's layer; without weights, where too few tokens say nothing of a fit, no number. */
static bool measure_module(struct pca_model *m, size_t module, int architecture,
	struct al_in_place *layers, const struct al_loss *whole, struct al_error *err)
{
	const bool is_fitted = m->in_place[module][architecture].weights.data != NULL;
	struct al_loss loss;

	layers[module] = m->in_place[module][architecture];
	if (is_fitted && !measure(m, layers, &loss, err))
		return false;
	add_loss(m, m->opened.view.modules[module].name, architecture, kept_of(m, module),
		is_fitted ? &loss : NULL, whole);
	layers[module] = (struct al_in_place){0};
	return true;
}

static bool measure_all(struct pca_model *m, int architecture, struct al_in_place *layers,
	const struct al_loss *whole, struct al_error *err)
{
	struct al_loss loss;
	size_t last = 0;

	for (size_t i = 0; i < m->opened.view.n_modules; i++) {
		layers[i] = m->in_place[i][architecture];
		last = m->is_wanted[i] ? i : last;
		if (m->is_wanted[i] && !layers[i].weights.data)
			return true;
	}
	if (!measure(m, layers, &loss, err))
		return false;
	add_loss(m, "all of them", architecture, kept_of(m, last), &loss, whole);
	return true;
}

static bool measure_architecture(struct pca_model *m, int architecture, const struct al_loss *whole,
	struct al_error *err)
{
	const size_t n = m->opened.view.n_modules;
	struct al_in_place *layers = al_calloc(n, sizeof(*layers));
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++)
		ok = !m->is_wanted[i] || measure_module(m, i, architecture, layers, whole, err);
	ok = ok && (m->n_wanted < 2 || measure_all(m, architecture, layers, whole, err));
	free(layers);
	return ok;
}

/* ---- modules ---- */

static bool take_modules(struct pca_model *m, struct al_error *err)
{
	const struct al_model_view *view = &m->opened.view;
	bool ok = true;

	for (size_t i = 0; ok && i < view->n_modules; i++) {
		if (!m->is_wanted[i])
			continue;
		show(m, view->modules[i].name, i, view->n_modules);
		ok = pca_take_module(&m->source,
			     &(struct pca_subject){.name = view->modules[i].name,
				     .n_heads = (size_t)view->modules[i].n_heads,
				     .width = m->recording.rows[i][0].width,
				     .rows = m->recording.rows[i],
				     .in_place = loss_table(m) ? m->in_place[i] : NULL},
			     err)
			|| al_in(err, "%s", view->modules[i].name);
	}
	return ok;
}

static double increase_of(const struct al_table *table, size_t row)
{
	double increase;

	return al_table_number(table, row, "loss_increase", &increase) ? increase : NAN;
}

/* Of the modules of one architecture, whose rows begin at `first`: where the layer costs least. */
static void conclude(struct pca_model *m, int architecture, size_t first)
{
	struct al_table *table = loss_table(m);
	size_t least = first, most = first;

	if (m->n_wanted < 2 || isnan(increase_of(table, first)))
		return;
	for (size_t i = first; i < first + m->n_wanted; i++) {
		least = increase_of(table, i) < increase_of(table, least) ? i : least;
		most = increase_of(table, i) > increase_of(table, most) ? i : most;
	}
	al_table_note(table,
		"%s: the layer costs least in %s (%+.4f nats a token), most in %s (%+.4f)",
		al_architecture_names[architecture], table->rows[least][0].text,
		increase_of(table, least), table->rows[most][0].text, increase_of(table, most));
}

static bool measure_losses(struct pca_model *m, struct al_error *err)
{
	const struct pca_options *o = options_of(m);
	const struct al_batch all = al_input_batch(&m->tokens);
	struct al_loss whole;

	if (!loss_table(m))
		return true;
	if (!al_evaluate_loss(&m->network, &all, &m->watch, &whole, err))
		return false;
	for (int a = 0; a < AL_N_ARCHITECTURES; a++) {
		const size_t first = loss_table(m)->n_rows;
		if (!(o->architectures ? o->architectures >> a & 1 : a == AL_DIRECT))
			continue;
		if (!measure_architecture(m, a, &whole, err))
			return false;
		conclude(m, a, first);
	}
	al_table_note(loss_table(m),
		"without a layer the loss is %.6f nats a token; output projections are fitted to "
		"the same %zu tokens, so this is in sample",
		mean_of(&whole), al_batch_tokens(&all));
	return true;
}

static bool record_and_take(struct pca_model *m, struct al_error *err)
{
	const struct al_batch all = al_input_batch(&m->tokens);
	const size_t n = m->opened.view.n_modules;

	if (!al_recording_make(&m->recording, &m->network, &all, m->is_wanted, &m->watch, err))
		return false;
	m->in_place = al_calloc(n, sizeof(*m->in_place));
	bool ok = take_modules(m, err) && measure_losses(m, err);
	for (size_t i = 0; i < n; i++)
		for (int a = 0; a < AL_N_ARCHITECTURES; a++)
			al_in_place_finish(&m->in_place[i][a]);
	free(m->in_place);
	al_recording_finish(&m->recording);
	return ok;
}

static bool choose_modules(struct pca_model *m, struct al_error *err)
{
	const struct al_model_view *view = &m->opened.view;
	const char *patterns = options_of(m)->modules;

	m->is_wanted = al_new_array(&m->source.session->arena, bool, view->n_modules);
	for (size_t i = 0; i < view->n_modules; i++) {
		m->is_wanted[i] = !patterns || al_select_module(patterns, view->modules[i].name);
		m->n_wanted += m->is_wanted[i];
	}
	return m->n_wanted > 0
		|| al_fail(err, AL_EINPUT,
			"%s: has no attention module of --modules %s; the first of %zu is %s",
			m->opened.checkpoint.path, patterns ? patterns : "", view->n_modules,
			view->n_modules ? view->modules[0].name : "none");
}

static void note_tokens(const struct pca_model *m, const struct al_batch *all)
{
	const struct al_input_options *input = &options_of(m)->input;
	struct al_table *table = m->source.session->tables[0];

	al_table_note(table, "tokens: %zu in %zu sequences%s", al_batch_tokens(all),
		all->n_sequences,
		input->sample ? al_format(&table->arena, " that the model wrote, seed %lld",
			(long long)input->seed)
			      : "");
}

static bool run_tokens(struct pca_model *m, struct al_error *err)
{
	const struct al_batch all = al_input_batch(&m->tokens);
	const bool has_loss = m->network.how->kind == AL_FORWARD_DECODER
		&& al_batch_tokens(&all) > all.n_sequences;

	if (!choose_modules(m, err)
		|| !pca_tables_begin(&m->source.tables, m->source.session, has_loss, err))
		return false;
	al_progress_init(&m->progress, m->source.session);
	m->watch = (struct al_watch){show, m};
	bool ok = record_and_take(m, err);
	al_progress_finish(&m->progress);
	if (!ok || !al_checkpoint_check_unchanged(&m->opened.checkpoint, err))
		return false;
	al_opened_checkpoint_note(&m->opened, m->source.session->tables[0]);
	note_tokens(m, &all);
	al_table_note(m->source.session->tables[0],
		"components pair the same dimension of all heads; a model that wasn't trained with "
		"such a layer leaves open which dimension of a head is which");
	pca_note_options(m->source.session);
	return pca_save(&m->source.tables, m->source.session, err);
}

static bool run_network(struct pca_model *m, struct al_error *err)
{
	if (!al_network_open(&m->network, &m->opened.view, err))
		return false;
	bool ok = al_input_read(&options_of(m)->input, &m->network, &m->tokens, err);
	if (ok) {
		ok = run_tokens(m, err);
		al_tokens_finish(&m->tokens);
	}
	al_network_close(&m->network);
	return ok;
}

bool pca_run_model(struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	struct al_layout_options layout = {0};
	struct pca_model m = {.source.session = session};

	if (o->n_heads)
		layout.heads = al_format(&session->arena, "%lld", (long long)o->n_heads);
	if (!al_input_check(&o->input, err)
		|| !al_opened_checkpoint_init(&m.opened, session, &layout,
			al_session_word(session, 0), al_session_word(session, 1), true, err))
		return false;
	bool ok = run_network(&m, err);
	al_opened_checkpoint_finish(&m.opened);
	return ok;
}
