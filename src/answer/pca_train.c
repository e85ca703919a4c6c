/* pca --train: Sanger's rule (GHA) and DEACON's constrained update, step by step, compared with the
 * exact components. */

#include "answer/pca.h"
#include "linalg/hebbian.h"
#include "deacon/deacon.h"

enum { INNER_STEPS = 500 };

static const char *const rule_names[PCA_N_RULES] = {
	[PCA_GHA] = "gha",
	[PCA_DEACON] = "deacon",
};

/* ---- --train ---- */

/* Settings of a rule; `fallback` is for DEACON's. */
static const struct key {
	const char *name;
	size_t offset;
	double least, fallback;
	bool is_whole, is_deacons;
} keys[] = {
	{"steps", offsetof(struct pca_training, n_steps), 1, 100, true, false},
	{"seed", offsetof(struct pca_training, seed), 0, 1, true, false},
	{"delta_p", offsetof(struct pca_training, delta_p), 0, .2, false, true},
	{"xi", offsetof(struct pca_training, xi), -1e300, .8, false, true},
};
enum { N_KEYS = sizeof(keys) / sizeof(*keys), GHA_STEPS = 2000 };

/* "xi=0.9" */
static bool read_key(char *text, struct pca_training *out, struct al_error *err)
{
	char *value = text + strcspn(text, "="), *end;
	const bool has_value = *value == '=';

	*value = '\0';
	const struct key *key = AL_FIND(keys, N_KEYS, text);
	if (!key || (key->is_deacons && out->rule != PCA_DEACON))
		return al_fail(err, AL_EINPUT, "--train %s: use %s, not \"%s\"",
			rule_names[out->rule],
			out->rule == PCA_DEACON ? "steps, seed, delta_p and xi" : "steps and seed",
			text);
	const double number = has_value ? strtod(++value, &end) : 0;
	if (!has_value || end == value || *end || !(number >= key->least) || number > 0x1p53
		|| (key->is_whole && number != floor(number)))
		return al_fail(err, AL_EINPUT, "--train %s=%s: use a %snumber of at least %g", text,
			has_value ? value : "", key->is_whole ? "whole " : "", key->least);
	*(double *)((char *)out + key->offset) = number;
	return true;
}

static bool read_keys(char *text, struct pca_training *out, struct al_error *err)
{
	for (size_t i = 0; i < N_KEYS; i++)
		*(double *)((char *)out + keys[i].offset) = keys[i].fallback;
	if (out->rule == PCA_GHA)
		out->n_steps = GHA_STEPS;
	for (char *rest, *key = strtok_r(text, ",", &rest); key; key = strtok_r(NULL, ",", &rest))
		if (!read_key(key, out, err))
			return false;
	return true;
}

bool pca_training_read(const char *text, struct pca_training *out, struct al_error *err)
{
	const size_t length = text ? strcspn(text, ":") : 0;

	out->rule = -1;
	if (!text)
		return true;
	AL_ARENA(arena);
	const char *rule = al_strndup(&arena, text, length);
	out->rule = al_find_name(rule, rule_names, PCA_N_RULES);
	if (out->rule < 0)
		return al_fail_unknown(err, "rule", rule, rule_names, PCA_N_RULES);
	return read_keys(al_strdup(&arena, text + length + (text[length] == ':')), out, err);
}

/* The second moments of all features take 512 MB. */
enum { MOST_COLUMNS = 8192 };

/* ---- one training ---- */

struct trainer {
	const struct pca_module *module;
	struct al_matrix weights;
	struct al_deacon *deacon; /* NULL: Sanger's rule */
	struct al_deacon_options options; /* of Sanger's rule only the rate */
	double first_cosine; /* of the random weights, the mean */
	const char *label; /* "Direct-8, gha" */
};

/* A row of the table. */
struct state {
	const char *module, *architecture;
	size_t step;
	double loss, promised, curvature, loss_change, length, falls_below; /* DEACON's */
	double rate; /* Sanger's */
	double norm, angle, cosine_mean, cosine_least;
	double *cosines; /* [kept] */
};

#define CHANGE .group = "Loss change from this step of W", .digits = 6
#define LENGTH .group = "Step length", .digits = 6
#define COSINE .group = "|Cosine| with exact components", .digits = 6
enum { OF_GHA = 1 << PCA_GHA, OF_DEACON = 1 << PCA_DEACON };

const struct al_table_field pca_training_fields[] = {
	{AL_SHOW_KEY(struct state, module, "Module")},
	{AL_SHOW_KEY(struct state, architecture, "Architecture")},
	{AL_SHOW_KEY(struct state, step, "Step", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct state, loss, "Loss", .digits = 6), .when = OF_DEACON},
	{AL_SHOW(struct state, promised, "to first order", CHANGE), .when = OF_DEACON},
	{AL_SHOW(struct state, curvature, "by curvature", CHANGE), .when = OF_DEACON},
	{AL_SHOW(struct state, loss_change, "in all", CHANGE), .when = OF_DEACON},
	{AL_SHOW(struct state, length, "taken", LENGTH), .when = OF_DEACON},
	{AL_SHOW(struct state, falls_below, "loss falls below", LENGTH), .when = OF_DEACON},
	{AL_SHOW(struct state, rate, "Rate", .digits = 6), .when = OF_GHA},
	{AL_SHOW(struct state, norm, "Norm of W", .digits = 4)},
	{AL_SHOW(struct state, angle, "Largest angle", .unit = "degrees", .digits = 4)},
	{AL_SHOW(struct state, cosine_mean, "mean", COSINE)},
	{AL_SHOW(struct state, cosine_least, "least", COSINE)},
	AL_FIELDS_END,
};

/* How far weights are from the exact components. */
static bool look(const struct trainer *t, struct state *s, struct al_error *err)
{
	const struct al_view weights = al_view(t->weights),
			     vectors = al_columns(al_view(t->module->principal.vectors), 0,
				     weights.cols);
	double angle;

	if (!al_hebbian_alignment(weights, vectors, s->cosines, &angle, err))
		return false;
	s->norm = sqrt(al_inner(weights, weights));
	s->angle = angle * 180 / acos(-1);
	s->cosine_mean = 0;
	s->cosine_least = 1;
	for (size_t c = 0; c < weights.cols; c++) {
		s->cosine_mean += s->cosines[c] / (double)weights.cols;
		s->cosine_least = fmin(s->cosine_least, s->cosines[c]);
	}
	return true;
}

/* ---- a step ---- */

/* What a step of DEACON's puts into its row. */
static void see(const struct trainer *t, const struct al_deacon_step *step, struct state *s)
{
	const double unit = al_deacon_unit(t->deacon);

	s->loss = step->loss_after / unit;
	s->promised = step->constraint.delta_q / unit;
	s->curvature = step->curvature / unit;
	s->loss_change = (step->loss_between - step->loss_before) / unit;
	s->length = step->constraint.length;
	s->falls_below = isfinite(step->falls_below) ? step->falls_below : NAN;
}

static bool take_step(struct trainer *t, struct state *s, struct al_error *err)
{
	struct al_deacon_step step;

	if (!t->deacon)
		return al_hebbian_batch(al_view(t->module->principal.covariance), t->options.rate,
			s->step, 1, t->weights, err);
	if (!al_deacon_step(t->deacon, &t->options, &step, err))
		return al_in(err, "step %zu", s->step + 1);
	see(t, &step, s);
	return true;
}

/* 0, 1, 2, 5, 10, 20, 50 ... */
static bool is_on_grid(size_t step)
{
	while (step >= 10 && step % 10 == 0)
		step /= 10;
	return step == 0 || step == 1 || step == 2 || step == 5;
}

/* Leaves `s` as the last row is. */
static bool run(struct trainer *t, struct state *s, struct al_error *err)
{
	const struct pca_module *m = t->module;
	const size_t n = (size_t)m->pca->training.n_steps;
	static const struct al_column cosine = {.key = "cosine",
		.group = "|Cosine| of component",
		.digits = 4};
	const bool shows_all = t->deacon && !m->pca->session->writer->is_for_people;

	for (;; s->step++) {
		const bool is_shown = s->step == n || shows_all || is_on_grid(s->step);
		if (is_shown && !look(t, s, err))
			return false;
		if (is_shown && m->pca->tables[PCA_TRAINING])
			pca_add_row(m->pca->tables[PCA_TRAINING], s, &cosine,
				(struct al_view){s->cosines, 1, m->n_kept, 1});
		if (s->step == 0)
			t->first_cosine = s->cosine_mean;
		if (s->step == n)
			return true;
		m->pca->progress->whole = m->name;
		if (!al_watch_show(&m->pca->progress->watch, t->label, s->step, n, err)
			|| !take_step(t, s, err))
			return false;
	}
}

/* ---- the two rules ---- */

static bool train_gha(struct trainer *t, struct state *s, struct al_error *err)
{
	s->rate = t->options.rate;
	al_hebbian_start(t->weights, (uint64_t)t->module->pca->training.seed);
	if (!run(t, s, err))
		return false;
	pca_note(t->module,
		"gha ends %.3f degrees from the subspace of the exact components; the |cosine| of "
		"each component with its exact one is at least %.4f",
		s->angle, s->cosine_least);
	return true;
}

static bool train_with(struct trainer *t, const struct al_target_moments *moments, struct state *s,
	struct al_error *err)
{
	const struct pca_module *m = t->module;
	const struct al_matrix out = t->weights;
	AL_ENDS(al_deacon_finish) struct al_deacon deacon = {0};

	if (!al_deacon_init(&deacon, moments, &m->principal, m->n_kept,
		    (uint64_t)m->pca->training.seed, err))
		return false;
	t->deacon = &deacon;
	t->weights = deacon.weights;
	s->loss = deacon.loss / al_deacon_unit(&deacon);
	if (!run(t, s, err) || !al_copy(al_view(deacon.weights), out, err))
		return false;
	pca_note(m,
		"the mean |cosine| with the exact components rose from %.4f (random weights) to "
		"%.4f; the loss, with W_O's own steps, fell to %.3g of the target's variance",
		t->first_cosine, s->cosine_mean, s->loss);
	return true;
}

static bool train_deacon(struct trainer *t, struct state *s, struct al_error *err)
{
	const struct pca_module *m = t->module;
	const struct al_pca_layer *layer = &m->principal.layer;
	AL_ENDS(al_target_moments_finish) struct al_target_moments moments = {0};

	if (layer->n_features * layer->width > MOST_COLUMNS)
		return al_fail(err, AL_EINPUT,
			"--train deacon handles at most %d numbers per token; the %s architecture "
			"has %zu features in %zu dimensions",
			MOST_COLUMNS, al_architecture_names[m->architecture], layer->n_features,
			layer->width);
	return al_target_moments_find(&moments, m->rows, &m->principal, NULL, err)
		&& train_with(t, &moments, s, err);
}

bool pca_train(const struct pca_module *m, struct al_matrix weights, struct al_error *err)
{
	const struct pca_training *training = &m->pca->training;
	struct al_arena *arena = &m->pca->session->arena;
	struct trainer t = {.module = m,
		.weights = weights,
		.options = {.n_inner = INNER_STEPS,
			.rate = al_hebbian_default_rate(&m->principal),
			.delta_p = training->delta_p,
			.xi = training->xi},
		.label = al_format(arena, "%s, %s", m->label, rule_names[training->rule])};
	struct state state = {.module = m->name,
		.architecture = al_architecture_names[m->architecture],
		.promised = NAN,
		.curvature = NAN,
		.loss_change = NAN,
		.length = NAN,
		.falls_below = NAN,
		.cosines = al_new_array(arena, double, m->n_kept)};

	return training->rule == PCA_GHA ? train_gha(&t, &state, err)
					 : train_deacon(&t, &state, err);
}
