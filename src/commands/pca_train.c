/* pca --train: Hebbian rules and DEACON's update, step by step beside the exact components. */
#include "commands/pca.h"

#include <math.h>

#include "commands/pca_watch.h"

enum { STEPS = 2000, HEBB_STEPS = 100, ONLINE_TRACE = 20 };

const char *const pca_rule_names[PCA_N_RULES] = {
	[PCA_HEBB] = "hebb",
	[PCA_OJA] = "oja",
	[PCA_GHA] = "gha",
	[PCA_DEACON] = "deacon",
};

/* ---- options ---- */

enum { TRAIN, STEPS_ROW, INNER_ROW, RATE_ROW, ONLINE, BATCH, HALVE, DELTA_P, XI, RANGES };

const struct al_option_row pca_training_rows[] = {
	[TRAIN] = OPTION_CHOICE(struct pca_training, rule, "train", "RULE",
		"train the PCA layer by a rule: hebb, oja, gha (Sanger's) or deacon (needs "
		"--target or a model)",
		.words = pca_rule_names, .n_words = PCA_N_RULES, .noun = "rule", .fallback = -1),
	[STEPS_ROW] = OPTION_COUNT(struct pca_training, n_steps, "steps", "N",
		"steps on all tokens (default 2000; hebb, deacon 100); with --online or "
		"--batch-tokens "
		"tokens (default each once)",
		.least = 1),
	[INNER_ROW] = OPTION_COUNT(struct pca_training, n_inner, "inner", "N",
		"steps of Sanger's rule on each batch, or for one step of deacon (default 500, as "
		"in the paper)",
		.least = 1, .most = 1 << 30),
	[RATE_ROW] = OPTION_TEXT(struct pca_training, rate, "rate", "R",
		"learning rate (default 0.5 over the largest eigenvalue; --online: 0.05 over the "
		"sum of all)"),
	[ONLINE] = OPTION_FLAG(struct pca_training, is_online, "online",
		"take patterns one by one instead of all tokens at once"),
	[BATCH] = OPTION_COUNT(struct pca_training, batch_tokens, "batch-tokens", "N",
		"take batches of N tokens, --inner steps each", .least = 1, .most = 1 << 20),
	[HALVE] = OPTION_COUNT(struct pca_training, halve_after, "halve-after", "N",
		"the rate after t steps is R/(1 + t/N) (default: constant; --online: a tenth of "
		"the steps)",
		.least = 1),
	[DELTA_P] = OPTION_TEXT(struct pca_training, delta_p, "delta-p", "D",
		"deacon: the length of a step (default 0.2)"),
	[XI] = OPTION_TEXT(struct pca_training, xi, "xi", "X",
		"deacon: the part of the steepest fall that the loss must make (default 0.8)"),
	[RANGES] = OPTION_FLAG(struct pca_training, shows_ranges, "ranges",
		"deacon: also train over the paper's ranges of delta-p and xi"),
	OPTION_END,
};

/* The first of the rows [from, to) that is given. */
static const char *given(const struct al_session *session, int from, int to)
{
	for (int i = from; i < to; i++)
		if (al_command_line_has(&session->line, &pca_training_rows[i]))
			return pca_training_rows[i].name;
	return NULL;
}

static bool refuse(const char *option, const char *goes_with, struct al_error *err)
{
	return !option || al_fail(err, AL_EINPUT, "--%s goes with --train %s", option, goes_with);
}

bool pca_training_check(const struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	const struct pca_training *t = &o->training;

	if (t->rule < 0)
		return refuse(given(session, STEPS_ROW, RANGES + 1), "RULE", err);
	if (t->rule != PCA_DEACON && !refuse(given(session, DELTA_P, RANGES + 1), "deacon", err))
		return false;
	if (t->rule == PCA_DEACON)
		return (pca_has_target(o)
			       || al_fail(err, AL_EINPUT,
				       "--train deacon needs --target FILE, whose squared error is "
				       "its loss, or a model that runs"))
			&& refuse(given(session, ONLINE, DELTA_P), "hebb, oja or gha", err);
	if (t->is_online && t->batch_tokens)
		return al_fail(err, AL_EINPUT, "--online takes no batches (--batch-tokens)");
	return t->n_inner == 0 || t->batch_tokens
		|| al_fail(err, AL_EINPUT, "--inner goes with --batch-tokens or --train deacon");
}

/* ---- Hebbian rules ---- */

static bool watch(void *context, size_t step, double rate, struct al_view weights,
	struct al_error *err)
{
	struct pca_watcher *w = context;

	if (!pca_look(w, weights, err))
		return false;
	pca_add_rows(w, step, &rate, 1, weights, true);
	return true;
}

static void show(void *context, size_t step)
{
	struct pca_watcher *w = context;

	w->steps.done = step;
	pca_show_step(w);
}

static size_t find_steps(const struct pca_training *t, const struct al_principal *p)
{
	if (t->n_steps)
		return (size_t)t->n_steps;
	if (t->is_online || t->batch_tokens)
		return (size_t)p->n_tokens;
	return t->rule == PCA_HEBB ? HEBB_STEPS : STEPS;
}

static bool train_hebbian(struct pca_watcher *w, const struct al_head_outputs *outputs,
	struct al_matrix weights, struct al_error *err)
{
	const struct pca_training *t = &w->module->options->training;
	const struct al_principal *p = &w->module->principal;
	struct al_hebbian_options options = {.rule = (enum al_hebbian)t->rule,
		.is_online = t->is_online,
		.batch_tokens = (size_t)t->batch_tokens,
		.n_steps = find_steps(t, p),
		.n_inner = t->n_inner ? (size_t)t->n_inner : PCA_INNER_STEPS,
		.halve_after = t->halve_after ? (double)t->halve_after
			: t->is_online	      ? (double)find_steps(t, p) / 10
					      : 0,
		.watch = watch,
		.show = show,
		.context = w};
	const double fallback = t->is_online ? 1 / (ONLINE_TRACE * p->sum)
					     : al_hebbian_default_rate(p);

	w->steps.n = options.n_steps;
	al_hebbian_start(weights, (uint64_t)w->module->options->input.seed);
	return pca_read_real("rate", t->rate, fallback, 0, 1e300, &options.rate, err)
		&& al_hebbian_train(p, outputs, &options, weights, err);
}

static void note_hebbian(const struct pca_watcher *w, struct al_view weights)
{
	const char *rule = pca_rule_names[w->module->options->training.rule];

	if (!al_hebbian_is_bounded(weights))
		pca_note(w->module->session,
			"%s, %s: the weights' norm has grown to %.3g and goes on growing, as plain "
			"Hebbian learning does",
			w->module->name, w->module->label, sqrt(al_inner(weights, weights)));
	else
		pca_note(w->module->session,
			"%s, %s: %s ends %.3f degrees from the space of the exact components; "
			"|cosine| of each with its own at least %.4f",
			w->module->name, w->module->label, rule, w->angle_degrees, w->cosine_least);
}

bool pca_train(const struct pca_module *m, const struct al_head_outputs *outputs,
	struct pca_tables *tables, struct al_matrix weights, struct al_error *err)
{
	struct pca_watcher w = {.module = m,
		.tables = tables,
		.cosines = al_new_array(&m->session->arena, double, m->n_kept),
		.label = al_format(&m->session->arena, "%s, %s", m->label,
			pca_rule_names[m->options->training.rule])};

	const bool is_deacon = m->options->training.rule == PCA_DEACON;

	al_progress_init(&w.progress, m->session);
	bool ok = is_deacon ? pca_train_deacon(&w, outputs, weights, err)
			    : train_hebbian(&w, outputs, weights, err);
	al_progress_finish(&w.progress);
	if (ok && !is_deacon)
		note_hebbian(&w, al_view(weights));
	return ok;
}
