/* pca --train deacon: what each constrained step promises, and what the loss does. */
#include "commands/pca.h"

#include <math.h>

#include "commands/pca_watch.h"
#include "pca/deacon.h"

enum { DEACON_STEPS = 100 };

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
		{.key = "falls_below", .title = "Shorter than this all would", .digits = 4},
		{.key = "cosine_mean", .title = "Mean |cosine|", .digits = 4},
		{.key = "length_off",
			.title = "length",
			.group = "Off by",
			.digits = AL_DIGITS_ALL},
		{.key = "fall_off", .title = "fall", .group = "Off by", .digits = AL_DIGITS_ALL},
	};

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

/* What came of all steps. */
struct seen {
	size_t n_fell, n_steps;
	double length_off, fall_off; /* the largest, relative */
	double falls_below; /* the least */
	double loss; /* the last */
	double cosine; /* the first */
};

static bool is_on_grid(size_t step)
{
	while (step >= 10 && step % 10 == 0)
		step /= 10;
	return step == 0 || step == 1 || step == 2 || step == 5;
}

static void see(struct seen *seen, const struct al_deacon_step *step, double delta_p, double unit)
{
	const struct al_constrained *c = &step->constraint;

	seen->n_steps++;
	seen->falls_below = fmin(seen->falls_below, step->falls_below);
	seen->n_fell += step->loss_between < step->loss_before;
	seen->length_off = fmax(seen->length_off, fabs(c->length / delta_p - 1));
	seen->fall_off = fmax(seen->fall_off, fabs(c->decrease / c->delta_q - 1));
	seen->loss = step->loss_after / unit;
}

/* The columns of training that are DEACON's own. */
enum { LOSS, PROMISED, CURVATURE, CHANGE, LENGTH, FALLS_BELOW, N_NUMBERS };

static void set_numbers(double numbers[N_NUMBERS], const struct al_deacon_step *step, double unit)
{
	numbers[LOSS] = step->loss_after / unit;
	numbers[PROMISED] = step->constraint.delta_q / unit;
	numbers[CURVATURE] = step->curvature / unit;
	numbers[CHANGE] = (step->loss_between - step->loss_before) / unit;
	numbers[LENGTH] = step->constraint.length;
	numbers[FALLS_BELOW] = isfinite(step->falls_below) ? step->falls_below : NAN;
}

static size_t find_steps(const struct pca_module *m)
{
	const int64_t n = m->options->training.n_steps;

	return n ? (size_t)n : DEACON_STEPS;
}

/* `is_watched`: each step has its row. */
static bool train_deacon(const struct pca_module *m, const struct al_deacon_options *options,
	struct al_deacon *d, struct pca_watcher *w, bool is_watched, struct seen *seen,
	struct al_error *err)
{
	const size_t n = find_steps(m);
	const double unit = al_deacon_unit(d);
	double numbers[N_NUMBERS] = {d->loss / unit, NAN, NAN, NAN, NAN, NAN};

	*seen = (struct seen){.loss = d->loss / unit, .falls_below = INFINITY};
	for (size_t s = 0;; s++) {
		struct al_deacon_step step;
		if (is_watched && !pca_look(w, al_view(d->weights), err))
			return false;
		if (is_watched && s == 0)
			seen->cosine = w->cosine_mean;
		if (is_watched)
			pca_add_rows(w, s, numbers, N_NUMBERS, al_view(d->weights),
				s == n || is_on_grid(s) || !m->session->writer->is_for_people);
		if (s == n)
			return true;
		pca_show_step(w);
		w->steps.done++;
		if (!al_deacon_step(d, options, &step, err))
			return al_in(err, "step %zu", s + 1);
		see(seen, &step, options->delta_p, unit);
		set_numbers(numbers, &step, unit);
	}
}

static void add_range(struct al_table *table, const struct pca_watcher *w, double delta_p,
	double xi, const struct seen *seen)
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
	if (isfinite(seen->falls_below))
		al_cell_set_real(cell, seen->falls_below);
	cell++;
	al_cell_set_real(cell++, w->cosine_mean);
	al_cell_set_real(cell++, seen->length_off);
	al_cell_set_real(cell++, seen->fall_off);
}

/* The paper's ranges, and an xi beyond them, at which both constraints can't hold. */
static const double delta_ps[] = {.05, .1, .2, .3, .5}, xis[] = {.8, .85, .9, .95, .99, 1};

enum {
	N_XIS = sizeof(xis) / sizeof(*xis),
	N_RANGES = sizeof(delta_ps) / sizeof(*delta_ps) * N_XIS,
	N_TRAINED_RANGES = N_RANGES - N_RANGES / N_XIS,
};

static bool add_ranges(struct pca_watcher *w, const struct al_deacon_source *source,
	struct al_deacon_options options, struct al_error *err)
{
	struct al_table *table = w->tables->of[PCA_RANGES];
	const struct pca_module *m = w->module;

	if (table)
		pca_note(m->session,
			"%s, %s: at xi = 1 both constraints can't hold: of all steps of a length "
			"only the one straight down the gradient lowers the loss so far, and "
			"nothing is left to choose by F",
			m->name, m->label);
	for (size_t k = 0; table && k < N_RANGES; k++) {
		struct al_deacon d;
		struct seen seen;
		options.delta_p = delta_ps[k / N_XIS];
		options.xi = xis[k % N_XIS];
		if (options.xi >= 1) {
			add_range(table, w, options.delta_p, options.xi, NULL);
			continue;
		}
		if (!al_deacon_init(&d, source, &m->principal, m->n_kept,
			    (uint64_t)m->options->input.seed, err))
			return false;
		bool ok = train_deacon(m, &options, &d, w, false, &seen, err)
			&& pca_look(w, al_view(d.weights), err);
		al_deacon_finish(&d);
		if (!ok)
			return al_in(err, "delta_p %g, xi %g", options.delta_p, options.xi);
		add_range(table, w, options.delta_p, options.xi, &seen);
	}
	return true;
}

/* How exactly constraints hold. */
static const char *off(const struct pca_module *m, const struct seen *seen)
{
	const double most = fmax(seen->length_off, seen->fall_off);

	return most < 1e-12 ? "to rounding" : al_format(&m->session->arena, "to %.1e", most);
}

/* What holds, what doesn't, and why: that W's steps are of constant length, which the loss's
 * curvature takes no notice of. */
static void note_deacon(const struct pca_watcher *w, const struct seen *seen, double delta_p,
	double xi)
{
	const struct pca_module *m = w->module;
	const struct al_session *session = m->session;

	if (seen->n_steps == 0)
		return;
	pca_note(session,
		"%s, %s: each of %zu steps of W is %g long and, to first order, lowers the loss by "
		"%g of what a step of that length can: both hold %s",
		m->name, m->label, seen->n_steps, delta_p, xi, off(m, seen));
	if (seen->n_fell < seen->n_steps)
		pca_note(session,
			"%s, %s: in %zu of %zu steps of W the loss fell; in the others its "
			"curvature gave back more than was promised: along the step the least "
			"loss lies before its constant length. Shorter than %.3g the loss would "
			"have fallen along each",
			m->name, m->label, seen->n_fell, seen->n_steps, seen->falls_below);
	else
		pca_note(session, "%s, %s: the loss fell in each of %zu steps of W", m->name,
			m->label, seen->n_steps);
	pca_note(session,
		"%s, %s: the mean |cosine| with the exact components went from %.4f, of random "
		"weights, to %.4f; the loss, with W_O's own steps, to %.3g of the target's "
		"variance",
		m->name, m->label, seen->cosine, w->cosine_mean, seen->loss);
}

static bool read_deacon(const struct pca_module *m, struct al_deacon_options *o,
	struct al_error *err)
{
	const struct pca_training *t = &m->options->training;

	*o = (struct al_deacon_options){
		.n_inner = t->n_inner ? (size_t)t->n_inner : PCA_INNER_STEPS};
	return pca_read_real("rate", t->rate, al_hebbian_default_rate(&m->principal), 0, 1e300,
		       &o->rate, err)
		&& pca_read_real("delta-p", t->delta_p, .2, 0, 1e300, &o->delta_p, err)
		&& pca_read_real("xi", t->xi, .8, -1e300, 1e300, &o->xi, err);
}

/* Why training takes so long, and so little memory. */
static void note_passes(const struct pca_module *m)
{
	const struct al_pca_layer *layer = &m->principal.layer;
	const double columns = (double)(layer->n_features * layer->width);

	pca_note(m->session,
		"%s, %s: each step reads all tokens twice, since second moments of %zu features in "
		"%zu dimensions would take %.0f MB",
		m->name, m->label, layer->n_features, layer->width,
		columns * columns * sizeof(double) / 1e6);
}

bool pca_train_deacon(struct pca_watcher *w, const struct al_head_outputs *outputs,
	struct al_matrix weights, struct al_error *err)
{
	const struct pca_module *m = w->module;
	const struct al_deacon_source source = {.moments = m->moments.features.data ? &m->moments
										    : NULL,
		.outputs = outputs,
		.n_targets = m->n_targets};
	struct al_deacon_options options;
	struct al_deacon d;
	struct seen seen;

	if (!read_deacon(m, &options, err)
		|| !al_deacon_init(&d, &source, &m->principal, m->n_kept,
			(uint64_t)m->options->input.seed, err))
		return false;
	w->steps.n = find_steps(m) * (w->tables->of[PCA_RANGES] ? 1 + N_TRAINED_RANGES : 1);
	bool ok = train_deacon(m, &options, &d, w, true, &seen, err)
		&& al_copy(al_view(d.weights), weights, err);
	al_deacon_finish(&d);
	if (!ok)
		return false;
	if (!source.moments)
		note_passes(m);
	note_deacon(w, &seen, options.delta_p, options.xi);
	return add_ranges(w, &source, options, err);
}
