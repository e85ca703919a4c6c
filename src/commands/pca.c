/* pca: principal components across heads, of what attention heads put out for real tokens. */
#include "commands/pca.h"

#include <math.h>

#include "commands/summary.h"

/* ---- options ---- */

static const struct al_option_row pca_rows[] = {
	OPTION_COUNT(struct pca_options, n_heads, "heads", "H",
		"number of heads whose outputs lie beside each other in a row", .least = 1,
		.most = 1 << 20),
	OPTION_SET(struct pca_options, architectures, "architecture", "A,B",
		"what a pattern is made of: the heads in each dimension (direct, the default), "
		"their averages, or heads, squares and products",
		.words = al_architecture_names, .n_words = AL_N_ARCHITECTURES,
		.noun = "architecture"),
	OPTION_COUNT(struct pca_options, keep, "keep", "M",
		"components that stay (default as many as there are heads)", .least = 1),
	OPTION_TEXT(struct pca_options, target, "target", "FILE",
		"what the output projection should make of each token: how well the components "
		"that stay can"),
	OPTION_TEXT(struct pca_options, modules, "modules", "SELECTION",
		"only these tensors of FILE, or modules of MODEL: layers.0-5,encoder.*.self"),
	OPTION_TEXT(struct pca_options, epsilon, "epsilon", "E",
		"added to each variance before its root (default 0; torch adds 1e-5)"),
	OPTION_FLAG(struct pca_options, is_strict, "strict",
		"refuse tokens with numbers that aren't finite instead of leaving them out"),
	OPTION_TEXT(struct pca_options, weights, "weights", "FILE",
		"instead of head outputs the weights of PCA layers, as a checkpoint holds them: "
		"how alike their components are"),
	OPTION_TEXT(struct pca_options, calibration, "calibration", "DIR",
		"instead of head outputs the moments that a calibration of a model holds (direct "
		"and average)"),
	OPTION_FLAG(struct pca_options, is_by_columns, "by-columns",
		"of --weights: a component is a column (default: a row, as torch stores them)"),
	OPTION_TEXT(struct pca_options, saved, "save", "FILE",
		"write the weights, trained or exact, as a checkpoint that --weights reads"),
	OPTION_TEXT(struct pca_options, figures, "figures", "DIR",
		"draw how alike the weights' components are into DIR"),
	OPTION_SET(struct pca_options, only, "only", "A,B", "only these tables",
		.words = pca_table_names, .n_words = PCA_N_TABLES, .noun = "table"),
	OPTION_END,
};

/* What is drawn at random. */
static const struct al_option_row drawn_rows[] = {
	OPTION_COUNT(struct pca_options, input.sample, "sample", "N",
		"N tokens that the model itself writes, each drawn with its probability",
		.least = 2, .most = 1 << 28),
	OPTION_COUNT(struct pca_options, input.seed, "seed", "N",
		"seed of --sample, and of the weights that training begins with (default 1)",
		.fallback = 1),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {pca_rows, 0},
	{al_input_rows, offsetof(struct pca_options, input)}, {drawn_rows, 0},
	{pca_training_rows, offsetof(struct pca_options, training)}, {NULL, 0}};

/* The first option given that is one of these. */
static const char *given(const struct al_session *session, const char *const *names, size_t n)
{
	for (size_t i = 0; i < session->line.n_given; i++)
		if (al_find_name(session->line.given[i].row->name, names, n) >= 0)
			return session->line.given[i].row->name;
	return NULL;
}

/* --weights and --calibration stand in the place of head outputs. */
static bool check_alone(const struct al_session *session, const char *option,
	const char *const *others, size_t n, struct al_error *err)
{
	const char *other = given(session, others, n);

	if (session->line.n_words > 0)
		return al_fail(err, AL_EINPUT, "--%s takes no head outputs beside it (%s)", option,
			al_session_word(session, 0));
	return !other || al_fail(err, AL_EINPUT, "--%s takes no --%s", option, other);
}

static bool check_weights(const struct al_session *session, struct al_error *err)
{
	static const char *const of_outputs[] = {"heads", "architecture", "keep", "target",
		"epsilon", "strict", "tokens", "text", "sequences", "sample", "train",
		"calibration", "save"};

	return check_alone(session, "weights", of_outputs, sizeof(of_outputs) / sizeof(*of_outputs),
		err);
}

static bool check_calibration(const struct al_session *session, struct al_error *err)
{
	static const char *const of_tokens[] = {"heads", "target", "strict", "tokens", "text",
		"sequences", "sample", "by-columns"};

	return check_alone(session, "calibration", of_tokens,
		sizeof(of_tokens) / sizeof(*of_tokens), err);
}

static bool check_model(const struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;

	return !o->target
		|| al_fail(err, AL_EINPUT,
			"--target goes with a file of head outputs: a model's targets are what its "
			"output projections make");
}

static bool check_file(const struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;

	if (!o->n_heads)
		return al_fail(err, AL_EINPUT,
			"expected --heads H, the number of heads in %s, or --tokens, --text or "
			"--sample where it is a model",
			al_session_word(session, 0));
	if (o->input.sequences)
		return al_fail(err, AL_EINPUT,
			"--sequences goes with --tokens, --text or --sample");
	return session->line.n_words == 1
		|| al_fail(err, AL_EINPUT, "a CONFIG (%s) goes with --tokens, --text or --sample",
			al_session_word(session, 1));
}

/* Head outputs, a model that runs, or the weights of PCA layers. */
static bool check_input(const struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;

	if (o->weights)
		return check_weights(session, err);
	if (o->calibration)
		return check_calibration(session, err);
	if (session->line.n_words == 0)
		return al_fail(err, AL_EINPUT,
			"expected FILE, MODEL, --calibration DIR or --weights FILE");
	if (o->is_by_columns)
		return al_fail(err, AL_EINPUT, "--by-columns goes with --weights");
	return pca_is_of_model(o) ? check_model(session, err) : check_file(session, err);
}

/* ---- in a sentence: how many components across heads hold 90 % of the variance ---- */

/* Of a row; false where it has none. */
static bool find_share(const struct al_table *table, size_t row, double *share)
{
	double n, features;

	if (!al_table_number(table, row, "n90", &n)
		|| !al_table_number(table, row, "features", &features) || !(features > 0))
		return false;
	*share = n / features;
	return true;
}

/* "11 of 12 components in layers.0 direct" */
static const char *say_row(struct al_arena *arena, const struct al_table *table, size_t row)
{
	double n = 0, features = 0;

	(void)(al_table_number(table, row, "n90", &n)
		&& al_table_number(table, row, "features", &features));
	return al_format(arena, "%.0f of %.0f components in %s", n, features,
		al_text_of_row(arena, table, row, ""));
}

static const char *say(struct al_session *session)
{
	const struct al_table *table = session->tables[0];
	struct al_arena *arena = &session->arena;
	double share, least = INFINITY, most = 0;
	size_t at_least = 0, at_most = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		if (!find_share(table, row, &share))
			continue;
		at_least = share < least ? row : at_least;
		at_most = share > most ? row : at_most;
		least = fmin(least, share);
		most = fmax(most, share);
	}
	if (!(most > 0))
		return NULL;
	const char *others = least < most
		? al_format(arena, ", up to %s", say_row(arena, table, at_most))
		: table->n_rows > 1 ? ", and as large a share in every other row"
				    : "";
	return al_format(arena, "Across heads, 90 %% of the variance takes %s%s, on %s tokens.",
		say_row(arena, table, at_least), others,
		al_text_of_cell(arena, table, at_least, "tokens"));
}

static bool run_pca(struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	static const char *const seed[] = {"seed"};

	if (given(session, seed, 1) && o->training.rule < 0 && !o->input.sample)
		return al_fail(err, AL_EINPUT, "--seed goes with --train RULE or --sample N");
	if (!check_input(session, err) || !pca_training_check(session, err))
		return false;
	bool ok = o->calibration     ? pca_run_calibration(session, err)
		: pca_is_of_model(o) ? pca_run_model(session, err)
				     : pca_run_file(session, err);
	if (ok)
		session->style.summary = say(session);
	return ok;
}

const struct al_command al_command_pca = {
	.words = "[FILE|MODEL [CONFIG]]",
	.examples = {"pca stories15M.bin --tokens stories.npy --keep 4",
		"pca heads.npy --heads 8 --target outputs.npy --train deacon --architecture "
		"direct,average,nonlinear --figures out"},
	.options = groups,
	.options_size = sizeof(struct pca_options),
	.most_words = 2,
	.computes = true,
	.run = run_pca,
};
