/* An audit: what is measured of which modules. */
#include "answer/audit_run.h"

#include "audit/across.h"
#include "audit/notes.h"
#include "audit/pairs.h"
#include "audit/select.h"
#include "answer/kernel.h"
#include "linalg/kernel.h"

/* ---- options that shape tables ---- */

#define MEASUREMENT_NAME(name) #name,

static const char *const measurement_names[] = {AL_MEASUREMENTS(MEASUREMENT_NAME)};

const struct al_option_row al_audit_shaping_rows[] = {
	OPTION_COUNT(struct al_audit_asked, n_nulls, "null", "N",
		"null model: sample N sets of independent heads instead of using the closed-form "
		"mean; 0 to skip",
		.fallback = AL_NULL_IS_COMPUTED, .most = 1000),
	OPTION_COUNT(struct al_audit_asked, n_pairs, "top", "N",
		"show N pairs of heads (default 20; 0 for all)", .fallback = 20, .most = 1 << 30,
		.shows_all = true),
	AL_SEED_ROW(struct al_audit_asked, seed, (INT64_C(1) << 53) - 1),
	OPTION_FLAG(struct al_audit_asked, is_centered, "center",
		"first subtract each row's mean over the head's dimensions"),
	OPTION_FLAG(struct al_audit_asked, folds_norms, "fold-norms",
		"first multiply the preceding norm's scale into W_Q, W_K, W_V"),
	OPTION_SET(struct al_audit_asked, only, "only", "A,B", "print only these tables",
		.words = measurement_names, .n_words = AL_N_MEASUREMENTS, .noun = "measurement",
		.shows_all = true),
	OPTION_COUNT(struct al_audit_asked, offset, "offset", "T",
		"rotary models: distance in tokens from key to query (default 0)", .most = 1 << 30),
	OPTION_TEXT(struct al_audit_asked, calibration, "calibration", "DIR|FILE",
		"weight errors by real inputs: output of `calibrate`, a llama.cpp imatrix, or "
		"second moments of the inputs as .npy (D x D, (D+1) x (D+1) for [x, 1], or D mean "
		"squares), one file or one per module"),
	OPTION_END,
};

const struct al_option_group al_audit_shaping[] = {{al_layout_rows,
							   offsetof(struct al_audit_asked, layout)},
	{al_module_rows, offsetof(struct al_audit_asked, layout)}, {al_audit_shaping_rows, 0},
	{NULL, 0}};

/* ---- tables ---- */

static bool is_wanted(const struct al_audit_run *run, size_t i)
{
	const struct al_audit_asked *o = run->options;
	enum al_measured measured = al_measurements[i]->measured;

	if (o->only)
		return o->only >> i & 1;
	if (o->against)
		return false; /* the two side by side are the answer */
	return measured == AL_MEASURED_ALWAYS
		|| (measured == AL_MEASURED_WITH_OUTPUTS && run->has_outputs)
		|| (measured == AL_MEASURED_FOR_REPORT && o->report)
		|| (measured == AL_MEASURED_FOR_FILES && (o->tables || o->figures));
}

static void add_needs(struct al_needs *needs, const struct al_needs *more)
{
	needs->weights |= more->weights;
	needs->layer_spectra |= more->layer_spectra;
	needs->loss_spectra |= more->loss_spectra;
	needs->forms |= more->forms;
}

static struct al_needs find_needs(const struct al_audit_run *run)
{
	const struct al_audit_asked *o = run->options;
	struct al_needs needs = {.weights = o->is_across || o->against};

	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (is_wanted(run, i))
			add_needs(&needs, &al_measurements[i]->needs);
	if (o->tables)
		add_needs(&needs, &al_matrices_needs);
	return needs;
}

struct al_table *al_audit_run_table(const struct al_audit_run *run, const char *id)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i] && strcmp(al_measurements[i]->id, id) == 0)
			return run->tables[i];
	return NULL;
}

void al_audit_run_begin_table(struct al_audit_run *run, size_t measurement)
{
	const struct al_measurement *m = al_measurements[measurement];

	al_table_init(run->tables[measurement], m->id, m->title);
	al_measurement_add_columns(m, run->tables[measurement], &run->audit);
}

void al_audit_run_begin_tables(struct al_audit_run *run)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		if (!is_wanted(run, i))
			continue;
		if (!run->tables[i])
			run->tables[i] = al_new(&run->session->arena, struct al_table);
		al_audit_run_begin_table(run, i);
	}
	al_table_init(&run->summary, "summary", "Summary");
}

void al_audit_run_end_tables(struct al_audit_run *run)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i])
			al_table_finish(run->tables[i]);
	al_table_finish(&run->summary);
	al_table_finish(&run->across);
	al_table_finish(&run->against);
	al_table_finish(&run->totals);
	al_table_finish(&run->losses);
	al_table_finish(&run->frontier);
}

/* ---- begin and end ---- */

static bool check_ablation(const struct al_audit_run *run, struct al_error *err)
{
	if (!al_input_is_given(&run->options->input))
		return al_fail(err, AL_EINPUT,
			"--ablate heads measures losses: pass --calibration DIR and --tokens FILE, "
			"--text FILE or --sample N");
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (al_measurements[i]->measured == AL_MEASURED_WITH_OUTPUTS && is_wanted(run, i))
			return true;
	return al_fail(err, AL_EINPUT,
		"--ablate heads adds to the table drop, which isn't asked for: pass --only drop");
}

/* Tables that need a calibration are named with one. */
static bool check_outputs(struct al_audit_run *run, struct al_error *err)
{
	const bool has_calibration = al_covariance_calibration(&run->covariance) != NULL;

	run->has_outputs = has_calibration || al_covariance_imatrix(&run->covariance) != NULL;
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (al_measurements[i]->measured == AL_MEASURED_WITH_OUTPUTS && is_wanted(run, i)
			&& !run->has_outputs)
			return al_fail(err, AL_EINPUT,
				"--only %s needs --calibration DIR (from `calibrate`) or an "
				"imatrix",
				al_measurements[i]->id);
	if (al_input_is_given(&run->options->input) && !has_calibration)
		return al_fail(err, AL_EINPUT,
			"--tokens and --text measure conversions, which needs --calibration DIR "
			"(from `calibrate`)");
	return !run->options->ablated || check_ablation(run, err);
}

static bool open_covariance(struct al_audit_run *run, struct al_error *err)
{
	const char *path = run->options->calibration;

	return (!path
		       || (al_covariance_open(&run->covariance, path, run->opened->checkpoint,
				   run->options->layout.modules ? run->chosen : NULL, run->n_chosen,
				   err)
			       && al_imatrix_check_layers(&run->covariance.imatrix,
				       &run->opened->view, err)))
		&& check_outputs(run, err);
}

/* A step of a module, of which there are as many as there are. */
static bool show_step(void *context, const char *step, size_t done, size_t n)
{
	struct al_audit_run *run = context;
	const struct al_watch *watch = &run->progress->watch;

	(void)done, (void)n;
	run->progress->whole = run->module;
	return watch->show(watch->context, step, run->n_done - 1, run->n_steps);
}

static void begin(struct al_audit_run *run)
{
	const struct al_audit_asked *o = run->options;
	const struct al_audit_options options = {
		.n_nulls = o->n_nulls,
		.n_pairs = (size_t)o->n_pairs,
		.seed = (uint64_t)o->seed,
		.is_centered = o->is_centered,
		.folds_norms = o->folds_norms,
		.offset = o->offset,
		.ablated = !o->ablated			       ? 0
			: run->opened->view.family->is_encoder ? AL_AUDIT_ABLATES_EMBEDDINGS
							       : AL_AUDIT_ABLATES_LOSS,
		.covariance = o->calibration ? &run->covariance : NULL,
		.needs = &run->needs,
		.watch = &run->watch,
	};
	struct al_arena *arena = &run->session->arena;

	run->watch = (struct al_watch){show_step, run};
	run->needs = find_needs(run);
	run->tables = al_new_array(arena, struct al_table *, AL_N_MEASUREMENTS);
	run->measured = al_new_array(arena, const struct al_attention *,
		run->opened->view.n_modules + 1);
	run->not_finite = al_new_array(arena, int64_t, run->opened->checkpoint->n_tensors + 1);
	run->kernel = al_blas_kernel();
	run->kernel_note = al_kernel_reason(arena);
	al_audit_init(&run->audit, &run->opened->view, &options);
	run->progress = al_progress_begin(run->session, NULL);
	al_audit_run_begin_tables(run);
}

static bool choose_modules(struct al_audit_run *run, struct al_error *err)
{
	const struct al_model_view *view = &run->opened->view;
	const char *patterns = run->options->layout.modules;

	run->chosen = al_new_array(&run->session->arena, const struct al_attention *,
		view->n_modules + 1);
	for (size_t i = 0; i < view->n_modules; i++)
		if (!patterns || al_select_module(patterns, view->modules[i].name))
			run->chosen[run->n_chosen++] = &view->modules[i];
	return run->n_chosen > 0
		|| al_fail(err, AL_EINPUT,
			"--modules %s matches no attention layer; the first is %s", patterns,
			view->modules[0].name);
}

static void finish(void *context)
{
	struct al_audit_run *run = context;

	if (run->tables)
		al_audit_run_end_tables(run);
	al_audit_finish(&run->audit);
	al_covariance_finish(&run->covariance);
}

struct al_audit_run *al_audit_run_begin(struct al_session *session,
	const struct al_audit_asked *options, const char *path, const char *config,
	struct al_error *err)
{
	struct al_audit_run *run = al_new(&session->arena, struct al_audit_run);

	*run = (struct al_audit_run){.session = session, .options = options};
	run->opened = al_session_checkpoint(session, &options->layout, path, config, true, err);
	if (!run->opened || !al_audit_set_offset(&run->opened->view, options->offset, err))
		return NULL;
	al_arena_defer(&session->arena, finish, run);
	if (!choose_modules(run, err) || !open_covariance(run, err))
		return NULL;
	begin(run);
	return run;
}

/* ---- modules ---- */

void al_audit_run_add_measured(struct al_audit_run *run, const struct al_attention *attention)
{
	const size_t n_heads = (size_t)attention->n_heads;

	run->audit.n_pairs += n_heads * (n_heads - 1) / 2;
	run->measured[run->n_measured++] = attention;
}

void al_audit_run_add_left_out(struct al_audit_run *run, const struct al_attention *attention,
	const char *why)
{
	struct al_arena *arena = &run->session->arena;

	*AL_APPEND(arena, run->left_out, run->n_left_out,
		run->room) = (struct al_page_left_out){attention->name, al_strdup(arena, why),
		(size_t)attention->n_heads, run->n_measured};
}

/* Weights that aren't finite leave a module out; anything else ends the audit. */
static bool leave_out(struct al_audit_run *run, const struct al_attention *attention,
	struct al_error *err)
{
	if (err->status != AL_ENOTFINITE)
		return al_in(err, "%s", attention->name);
	al_audit_run_add_left_out(run, attention,
		al_format(&run->session->arena, "%s is left out: %s", attention->name,
			err->message));
	return true;
}

bool al_audit_run_measure(struct al_audit_run *run, const struct al_attention *attention,
	struct al_error *err)
{
	struct al_audit_module module;
	bool ok = true;

	run->module = attention->name;
	run->progress->whole = run->opened->checkpoint->path;
	if (!al_watch_show(&run->progress->watch, run->module, run->n_done++, run->n_steps, err))
		return false;
	if (!al_audit_module_init(&module, &run->audit, attention, err))
		return leave_out(run, attention, err);
	for (size_t i = 0; ok && i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i] && !(al_measurements[i]->needs_own_keys && attention->is_shared))
			ok = al_measurements[i]->add_module(&run->audit, &module, run->tables[i],
				err);
	if (ok && run->options->tables)
		ok = al_matrices_hand_over(&run->audit, &module, run->take_matrix, run->taker, err);
	al_audit_module_finish(&module);
	al_audit_run_add_measured(run, attention);
	return ok || al_in(err, "%s", attention->name);
}

bool al_audit_run_check_modules(const struct al_audit_run *run, struct al_error *err)
{
	return run->n_measured > 0 || al_fail(err, AL_EINPUT, "%s", run->left_out[0].why);
}

/* With --modules those of the modules alone. What was measured is known to be finite, but for the
 * rotary part of latent heads, which isn't read. */
static void mark_counted(const struct al_audit_run *run, bool *is_counted)
{
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;

	memset(is_counted, !run->options->layout.modules, checkpoint->n_tensors);
	for (size_t i = 0; i < run->n_chosen; i++)
		al_attention_mark_tensors(checkpoint, run->chosen[i], true, is_counted);
	for (size_t i = 0; i < run->n_measured; i++)
		if (!run->measured[i]->is_latent)
			al_attention_mark_weights(checkpoint, run->measured[i], false, is_counted);
}

bool al_audit_run_count_not_finite(const struct al_audit_run *run, const bool *is_own,
	struct al_error *err)
{
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	bool *is_counted = al_new_array(&run->session->arena, bool, checkpoint->n_tensors + 1);

	mark_counted(run, is_counted);
	for (size_t i = 0; is_own && i < checkpoint->n_tensors; i++)
		is_counted[i] &= is_own[i];
	return al_checkpoint_count_not_finite(checkpoint, is_counted, run->not_finite, err);
}

bool al_audit_run_hash(struct al_audit_run *run, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	bool *is_read = al_new_array(&run->session->arena, bool, checkpoint->n_tensors + 1);

	for (size_t i = 0; i < run->n_chosen; i++)
		al_attention_mark_tensors(checkpoint, run->chosen[i], true, is_read);
	return al_checkpoint_hash(checkpoint, run->options->layout.modules ? is_read : NULL,
		&run->fingerprint, err);
}

/* ---- pairs: heads of different modules ---- */

static bool measure_across(struct al_audit_run *run, struct al_error *err)
{
	al_table_init(&run->across, "across",
		"Pairs of heads of different modules, most similar first");
	al_pairs_add_columns(&run->across, AL_BY_WEIGHTS, true);
	run->progress->whole = run->opened->checkpoint->path;
	if (!al_across_measure(&run->audit, run->measured, run->n_measured, &run->progress->watch,
		    &run->across, err))
		return false;
	al_table_note(&run->across,
		"cosines are those of W_Q W_K^T and of W_V W_O, from the weights%s; what heads do "
		"on tokens is compared within a layer only",
		run->options->calibration
			? ", weighted by how often the calibration's tokens use each direction"
			: "");
	return true;
}

bool al_audit_run_pairs(struct al_audit_run *run, struct al_error *err)
{
	return (!run->options->is_across || measure_across(run, err))
		&& (!run->options->against || al_audit_against(run, err));
}
