/* pca --train: Hebbian rules and DEACON's update, step by step beside the exact components. */
#include "commands/pca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pca/deacon.h"

enum { STEPS = 2000, HEBB_STEPS = 100, DEACON_STEPS = 100, INNER = 500, ONLINE_TRACE = 20 };

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

/* ---- tables ---- */

void pca_training_columns(struct al_table *table, const struct pca_options *o)
{
	static const struct al_column
		names[] = {{.key = "module", .title = "Module", .is_key = true},
			{.key = "architecture", .title = "Architecture", .is_key = true},
			{.key = "step", .title = "Step", .digits = AL_DIGITS_ALL, .is_key = true}},
		deacon[] = {{.key = "loss", .title = "Loss", .digits = 6},
			{.key = "loss_change",
				.title = "Changed by",
				.group = "Loss, by this step of W",
				.digits = 6},
			{.key = "promised",
				.title = "Promised",
				.group = "Loss, by this step of W",
				.digits = 6},
			{.key = "length", .title = "Step's length", .digits = 6}},
		rate[] = {{.key = "rate", .title = "Rate", .digits = 6}},
		alignment[] = {{.key = "norm", .title = "Norm of W", .digits = 4},
			{.key = "angle", .title = "Largest angle", .unit = "degrees", .digits = 4},
			{.key = "cosine_mean",
				.title = "mean",
				.group = "|Cosine| with exact components",
				.digits = 6},
			{.key = "cosine_least",
				.title = "least",
				.group = "|Cosine| with exact components",
				.digits = 6}};
#define ADD(columns) \
	for (size_t i = 0; i < sizeof(columns) / sizeof(*(columns)); i++) \
	al_table_add_column(table, (columns)[i])

	ADD(names);
	if (o->training.rule == PCA_DEACON)
		ADD(deacon);
	else
		ADD(rate);
	ADD(alignment);
}

void pca_ranges_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "module", .title = "Module", .is_key = true},
		{.key = "architecture", .title = "Architecture", .is_key = true},
		{.key = "delta_p", .title = "delta_p", .digits = 2},
		{.key = "xi", .title = "xi", .digits = 2},
		{.key = "holds", .title = "Both hold"},
		{.key = "loss", .title = "Loss", .digits = 6},
		{.key = "steps_that_fell",
			.title = "Steps of W that lowered it",
			.digits = AL_DIGITS_ALL},
		{.key = "steps", .title = "of", .digits = AL_DIGITS_ALL},
		{.key = "cosine_mean", .title = "Mean |cosine|", .digits = 4},
		{.key = "length_off",
			.title = "length",
			.group = "Off by",
			.digits = AL_DIGITS_ALL},
		{.key = "fall_off", .title = "fall", .group = "Off by", .digits = AL_DIGITS_ALL},
	};

	ADD(columns);
}

/* One training under way. */
struct watcher {
	const struct pca_module *module;
	struct pca_tables *tables;
	double *cosines; /* [kept] */
	size_t n_rows;
	double cosine_mean, cosine_least, angle_degrees; /* of the last look */
	struct al_view weights; /* of deacon */
};

static bool look(struct watcher *w, struct al_view weights, struct al_error *err)
{
	const struct al_view vectors = al_columns(al_view(w->module->principal.vectors), 0,
		weights.cols);
	double angle;

	if (!al_hebbian_alignment(weights, vectors, w->cosines, &angle, err))
		return false;
	w->angle_degrees = angle * 180 / acos(-1);
	w->cosine_mean = 0;
	w->cosine_least = 1;
	for (size_t c = 0; c < weights.cols; c++) {
		w->cosine_mean += w->cosines[c] / (double)weights.cols;
		w->cosine_least = w->cosines[c] < w->cosine_least ? w->cosines[c] : w->cosine_least;
	}
	return true;
}

static void add_row(struct al_table *table, const struct watcher *w, size_t step,
	const double *numbers, size_t n, double norm)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, w->module->name);
	al_cell_set_text(table, cell++, al_architecture_names[w->module->architecture]);
	al_cell_set_int(table, cell++, (int64_t)step);
	for (size_t i = 0; i < n; i++, cell++)
		if (!isnan(numbers[i]))
			al_cell_set_real(cell, numbers[i]);
	al_cell_set_real(cell++, norm);
	al_cell_set_real(cell++, w->angle_degrees);
	al_cell_set_real(cell++, w->cosine_mean);
	al_cell_set_real(cell++, w->cosine_least);
	for (size_t c = 0; c < w->module->n_kept; c++)
		al_cell_set_real(cell++, w->cosines[c]);
}

/* The components' own columns come with the first row, as many as are kept. */
static void add_rows(struct watcher *w, size_t step, const double *numbers, size_t n,
	struct al_view weights, bool is_shown)
{
	struct al_table *tables[] = {is_shown ? w->tables->of[PCA_TRAINING] : NULL,
		&w->tables->drawn[PCA_TRAINING]};
	const double norm = sqrt(al_inner(weights, weights));

	for (size_t k = 0; k < 2; k++) {
		struct al_table *table = tables[k];
		if (!table || !table->n_columns)
			continue;
		for (size_t c = 0; table->n_rows == 0 && c < w->module->n_kept; c++)
			al_table_add_column(table,
				(struct al_column){.key = al_format(&table->arena, "cosine_%zu",
							   c + 1),
					.title = al_format(&table->arena, "%zu", c + 1),
					.group = "|Cosine| of component",
					.digits = 4});
		add_row(table, w, step, numbers, n, norm);
	}
}

/* ---- Hebbian rules ---- */

static bool watch(void *context, size_t step, double rate, struct al_view weights,
	struct al_error *err)
{
	struct watcher *w = context;

	if (!look(w, weights, err))
		return false;
	add_rows(w, step, &rate, 1, weights, true);
	return true;
}

static size_t find_steps(const struct pca_training *t, const struct al_principal *p)
{
	if (t->n_steps)
		return (size_t)t->n_steps;
	if (t->is_online || t->batch_tokens)
		return (size_t)p->n_tokens;
	return t->rule == PCA_HEBB ? HEBB_STEPS : STEPS;
}

static bool train_hebbian(struct watcher *w, const struct al_head_outputs *outputs,
	struct al_matrix weights, struct al_error *err)
{
	const struct pca_training *t = &w->module->options->training;
	const struct al_principal *p = &w->module->principal;
	struct al_hebbian_options options = {.rule = (enum al_hebbian)t->rule,
		.is_online = t->is_online,
		.batch_tokens = (size_t)t->batch_tokens,
		.n_steps = find_steps(t, p),
		.n_inner = t->n_inner ? (size_t)t->n_inner : INNER,
		.halve_after = t->halve_after ? (double)t->halve_after
			: t->is_online	      ? (double)find_steps(t, p) / 10
					      : 0,
		.watch = watch,
		.context = w};
	const double fallback = t->is_online ? 1 / (ONLINE_TRACE * p->sum)
					     : al_hebbian_default_rate(p);

	al_hebbian_start(weights, (uint64_t)w->module->options->input.seed);
	return pca_read_real("rate", t->rate, fallback, 0, 1e300, &options.rate, err)
		&& al_hebbian_train(p, outputs, &options, weights, err);
}

static void note_hebbian(const struct watcher *w, struct al_view weights)
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

/* ---- DEACON ---- */

/* What came of all steps. */
struct seen {
	size_t n_fell, n_steps;
	double length_off, fall_off; /* the largest, relative */
	double loss, gradient_norm; /* the last loss; the first norm: of the relative loss */
};

static bool is_on_grid(size_t step)
{
	while (step >= 10 && step % 10 == 0)
		step /= 10;
	return step == 0 || step == 1 || step == 2 || step == 5;
}

/* The loss as a part of what predicting the mean would lose, half the target's variance. */
static double loss_unit(const struct pca_module *m)
{
	return m->moments.squares / 2;
}

static void see(struct seen *seen, const struct al_deacon_step *step, double delta_p, double unit)
{
	const struct al_constrained *c = &step->constraint;

	if (seen->n_steps++ == 0)
		seen->gradient_norm = c->gradient_norm / unit;
	seen->n_fell += step->loss_between < step->loss_before;
	seen->length_off = fmax(seen->length_off, fabs(c->length / delta_p - 1));
	seen->fall_off = fmax(seen->fall_off, fabs(c->decrease / c->delta_q - 1));
	seen->loss = step->loss_after / unit;
}

/* `w` NULL: nobody looks. */
static bool train_deacon(const struct pca_module *m, const struct al_deacon_options *options,
	struct al_deacon *d, struct watcher *w, struct seen *seen, struct al_error *err)
{
	const struct pca_training *t = &m->options->training;
	const size_t n = t->n_steps ? (size_t)t->n_steps : DEACON_STEPS;
	const double unit = loss_unit(m);
	double numbers[4] = {d->loss / unit, NAN, NAN, NAN};

	*seen = (struct seen){.loss = d->loss / unit};
	for (size_t s = 0;; s++) {
		struct al_deacon_step step;
		if (w && !look(w, al_view(d->weights), err))
			return false;
		if (w)
			add_rows(w, s, numbers, 4, al_view(d->weights),
				s == n || is_on_grid(s) || !m->session->writer->is_for_people);
		if (s == n)
			return true;
		if (!al_deacon_step(d, options, &step, err))
			return al_in(err, "step %zu", s + 1);
		see(seen, &step, options->delta_p, unit);
		numbers[0] = step.loss_after / unit;
		numbers[1] = (step.loss_between - step.loss_before) / unit;
		numbers[2] = step.constraint.delta_q / unit;
		numbers[3] = step.constraint.length;
	}
}

static void add_range(struct al_table *table, const struct watcher *w, double delta_p, double xi,
	const struct seen *seen)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, w->module->name);
	al_cell_set_text(table, cell++, al_architecture_names[w->module->architecture]);
	al_cell_set_real(cell++, delta_p);
	al_cell_set_real(cell++, xi);
	al_cell_set_text(table, cell++, seen ? "yes" : "no");
	if (!seen)
		return;
	al_cell_set_real(cell++, seen->loss);
	al_cell_set_int(table, cell++, (int64_t)seen->n_fell);
	al_cell_set_int(table, cell++, (int64_t)seen->n_steps);
	al_cell_set_real(cell++, w->cosine_mean);
	al_cell_set_real(cell++, seen->length_off);
	al_cell_set_real(cell++, seen->fall_off);
}

/* The paper's ranges, and an xi beyond them, at which both constraints can't hold. */
static bool add_ranges(struct watcher *w, struct al_deacon_options options, struct al_error *err)
{
	static const double delta_ps[] = {.05, .1, .2, .3, .5}, xis[] = {.8, .85, .9, .95, .99, 1};
	struct al_table *table = w->tables->of[PCA_RANGES];
	const struct pca_module *m = w->module;

	for (size_t k = 0; table && k < 30; k++) {
		struct al_deacon d;
		struct seen seen;
		options.delta_p = delta_ps[k / 6];
		options.xi = xis[k % 6];
		if (options.xi >= 1) {
			add_range(table, w, options.delta_p, options.xi, NULL);
			continue;
		}
		if (!al_deacon_init(&d, &m->moments, &m->principal, m->n_kept,
			    (uint64_t)m->options->input.seed, err))
			return false;
		bool ok = train_deacon(m, &options, &d, NULL, &seen, err)
			&& look(w, al_view(d.weights), err);
		al_deacon_finish(&d);
		if (!ok)
			return al_in(err, "delta_p %g, xi %g", options.delta_p, options.xi);
		add_range(table, w, options.delta_p, options.xi, &seen);
	}
	return true;
}

static void note_deacon(const struct watcher *w, const struct seen *seen)
{
	const struct al_session *session = w->module->session;
	const char *name = w->module->name, *label = w->module->label;

	pca_note(session,
		"%s, %s: %zu of %zu steps of W lowered the loss by themselves; length and G.dW are "
		"as asked to %s",
		name, label, seen->n_fell, seen->n_steps,
		fmax(seen->length_off, seen->fall_off) < 1e-12
			? "rounding"
			: al_format(&w->module->session->arena, "%.1e",
				fmax(seen->length_off, seen->fall_off)));
	if (seen->n_steps)
		pca_note(session,
			"%s, %s: both constraints can hold for xi below 1; with delta_q as the "
			"paper prints it, without a root, for xi below 1/|G|, which is %.3g at the "
			"first step",
			name, label, 1 / seen->gradient_norm);
}

static bool read_deacon(const struct pca_module *m, struct al_deacon_options *o,
	struct al_error *err)
{
	const struct pca_training *t = &m->options->training;

	*o = (struct al_deacon_options){.n_inner = t->n_inner ? (size_t)t->n_inner : INNER};
	return pca_read_real("rate", t->rate, al_hebbian_default_rate(&m->principal), 0, 1e300,
		       &o->rate, err)
		&& pca_read_real("delta-p", t->delta_p, .2, 0, 1e300, &o->delta_p, err)
		&& pca_read_real("xi", t->xi, .8, -1e300, 1e300, &o->xi, err);
}

static bool train_constrained(struct watcher *w, struct al_matrix weights, struct al_error *err)
{
	const struct pca_module *m = w->module;
	struct al_deacon_options options;
	struct al_deacon d;
	struct seen seen;

	if (!read_deacon(m, &options, err)
		|| !al_deacon_init(&d, &m->moments, &m->principal, m->n_kept,
			(uint64_t)m->options->input.seed, err))
		return false;
	bool ok = train_deacon(m, &options, &d, w, &seen, err)
		&& al_copy(al_view(d.weights), weights, err);
	al_deacon_finish(&d);
	if (!ok)
		return false;
	note_deacon(w, &seen);
	return add_ranges(w, options, err);
}

bool pca_train(const struct pca_module *m, const struct al_head_outputs *outputs,
	struct pca_tables *tables, struct al_matrix weights, struct al_error *err)
{
	struct watcher w = {.module = m,
		.tables = tables,
		.cosines = al_new_array(&m->session->arena, double, m->n_kept)};

	if (m->options->training.rule == PCA_DEACON)
		return train_constrained(&w, weights, err);
	if (!train_hebbian(&w, outputs, weights, err))
		return false;
	note_hebbian(&w, al_view(weights));
	return true;
}
