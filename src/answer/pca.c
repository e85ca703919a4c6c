/* pca: principal components across heads, of what attention heads put out for real tokens. */
#include "answer/pca.h"
#include "answer/kernel.h"

#include "report/claim.h"
#include "formats/safetensors.h"

/* ---- options ---- */

static const struct al_option_row pca_rows[] = {
	OPTION_COUNT(struct pca_options, n_heads, "heads", "H",
		"number of heads in each row of FILE", .least = 1, .most = 1 << 20),
	OPTION_SET(struct pca_options, architectures, "architecture", "A,B",
		"inputs of the PCA layer: the heads' values in each dimension (direct, the "
		"default), their averages, or values, squares and products (nonlinear)",
		.words = al_architecture_names, .n_words = AL_N_ARCHITECTURES,
		.noun = "architecture"),
	OPTION_COUNT(struct pca_options, keep, "keep", "M",
		"keep M components (default: the number of heads)", .least = 1),
	OPTION_TEXT(struct pca_options, target, "target", "FILE",
		"desired outputs of the output projection; measures how well the kept components "
		"can produce them"),
	OPTION_TEXT(struct pca_options, modules, "modules", "SELECTION",
		"use only these tensors of FILE, or layers of MODEL: layers.0-5,encoder.*.self"),
	OPTION_TEXT(struct pca_options, epsilon, "epsilon", "E",
		"added to each variance before the root (default 0; torch adds 1e-5)"),
	OPTION_TEXT(struct pca_options, weights, "weights", "FILE",
		"compare the components of trained PCA layers in this checkpoint (one component "
		"per row) instead of analyzing head outputs"),
	OPTION_TEXT(struct pca_options, calibration, "calibration", "DIR",
		"use the moments in the output of `calibrate` instead of head outputs (direct and "
		"average only)"),
	OPTION_TEXT(struct pca_options, saved, "save", "FILE",
		"write the weights, trained or exact, as input for --weights"),
	OPTION_TEXT(struct pca_options, figures, "figures", "DIR",
		"write figures of the similarity of the components to DIR"),
	OPTION_SET(struct pca_options, only, "only", "A,B", "print only these tables",
		.words = pca_table_names, .n_words = PCA_N_TABLES, .noun = "table",
		.shows_all = true),
	OPTION_END,
};

static const struct al_option_row training_rows[] = {
	OPTION_TEXT(struct pca_options, train, "train", "RULE[:KEY=VALUE,...]",
		"train the PCA layer: gha (Sanger's rule) with steps (2000) and seed (1), or "
		"deacon (needs --target or a model) with steps (100), seed, delta_p, the step "
		"length (0.2), and xi, the least share of the steepest descent per step (0.8)",
		.is_advanced = true),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS_WITHOUT_ONLY, {pca_rows, 0},
	{al_input_rows, offsetof(struct pca_options, input)}, {training_rows, 0}, {NULL, 0}};

/* Refuses the first option given that is one of `names`, ended by NULL. */
static bool refuse(const struct al_session *session, const char *const *names, const char *before,
	const char *after, struct al_error *err)
{
	for (size_t i = 0; i < session->line.n_given; i++)
		for (const char *const *name = names; *name; name++)
			if (strcmp(session->line.given[i].row->name, *name) == 0)
				return al_fail(err, AL_EINPUT, "%s--%s%s", before, *name, after);
	return true;
}

/* --weights and --calibration replace head outputs. */
static bool check_alone(const struct al_session *session, bool is_weights, struct al_error *err)
{
	enum { OF_CALIBRATION = 6 };
	static const char *const others[] = {"architecture", "keep", "epsilon", "train",
		"calibration", "save", [OF_CALIBRATION] = "heads", "target", "tokens", "text",
		"sequences", "sample", NULL};

	if (session->line.n_words > 0)
		return al_fail(err, AL_EINPUT,
			"--%s can't be used with a file of head outputs (%s)",
			is_weights ? "weights" : "calibration", al_session_word(session, 0));
	return is_weights
		? refuse(session, others, "--weights takes no ", "", err)
		: refuse(session, others + OF_CALIBRATION, "--calibration takes no ", "", err);
}

static bool check_file(const struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;

	if (!o->n_heads)
		return al_fail(err, AL_EINPUT,
			"pass --heads H, the number of heads in %s, or --tokens, --text or "
			"--sample if it is a model",
			al_session_word(session, 0));
	if (o->input.sequences)
		return al_fail(err, AL_EINPUT, "--sequences needs --tokens, --text or --sample");
	return session->line.n_words == 1
		|| al_fail(err, AL_EINPUT, "a CONFIG (%s) needs --tokens, --text or --sample",
			al_session_word(session, 1));
}

/* Head outputs, a model that runs, or the weights of PCA layers. */
static bool check_input(const struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;

	if (o->weights || o->calibration)
		return check_alone(session, o->weights, err);
	if (session->line.n_words == 0)
		return al_fail(err, AL_EINPUT,
			"pass FILE, MODEL, --calibration DIR or --weights FILE");
	if (!al_input_is_given(&o->input))
		return check_file(session, err);
	return !o->target
		|| al_fail(err, AL_EINPUT,
			"--target only works with a file of head outputs; a model's targets are "
			"the outputs of its output projections");
}

static bool check_training(struct pca *pca, struct al_error *err)
{
	if (!pca_training_read(pca->options->train, &pca->training, err))
		return false;
	return pca->training.rule != PCA_DEACON || pca_has_target(pca->options)
		|| al_fail(err, AL_EINPUT,
			"--train deacon needs --target FILE (its loss is the squared error) or a "
			"model to run");
}

/* ---- --save ---- */

static bool save(const struct pca *pca, struct al_error *err)
{
	const struct al_metadata version = {.key = "attnledger", .value = al_version()};
	struct al_tensor_writer *writer;
	bool ok = true;

	if (!pca->options->saved)
		return true;
	if (!al_safetensors_create(&writer, pca->options->saved, pca->saved, pca->n_saved, &version,
		    1, err))
		return false;
	for (size_t i = 0; ok && i < pca->n_saved; i++)
		ok = al_tensor_writer_append_doubles(writer, pca->saved[i].dtype, pca->numbers[i],
			(size_t)(pca->saved[i].shape[0] * pca->saved[i].shape[1]), err);
	if (ok)
		return al_tensor_writer_commit(writer, err);
	al_tensor_writer_abandon(writer);
	return false;
}

/* ---- in a sentence: how many components across heads hold 90 % of the variance ---- */

/* A row's number of components for 90 %, and of features; false if it has none. */
static bool find_share(const struct al_table *table, size_t row, double *n, double *features)
{
	return al_table_number(table, row, "n90", n)
		&& al_table_number(table, row, "features", features) && *features > 0;
}

/* "11 of 12 components in layers.0 direct" */
static const char *say_row(struct al_arena *arena, const struct al_table *table, size_t row)
{
	return al_format(arena, AL_CLAIM_LEAD "%s of %s components in %s",
		al_claim_cell(arena, table, row, "n90"),
		al_claim_cell(arena, table, row, "features"), al_claim_row(arena, table, row, ""));
}

static const char *say(struct al_session *session)
{
	const struct al_table *table = session->tables[0];
	struct al_arena *arena = &session->arena;
	double n, features, least = INFINITY, most = 0;
	size_t at_least = 0, at_most = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		if (!find_share(table, row, &n, &features))
			continue;
		const double share = n / features;
		at_least = share < least ? row : at_least;
		at_most = share > most ? row : at_most;
		least = fmin(least, share);
		most = fmax(most, share);
	}
	if (!(most > 0))
		return NULL;
	const char *others = least < most
		? al_format(arena, ", up to %s", say_row(arena, table, at_most))
		: table->n_rows > 1 ? ", the same share as in every other row"
				    : "";
	return al_format(arena,
		"Capturing %s of the variance across heads takes %s%s, on %s tokens.",
		al_claim_percent(arena, "variance", 0.9), say_row(arena, table, at_least), others,
		al_claim_cell(arena, table, at_least, "tokens"));
}

static bool run_pca(struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	struct pca pca = {.session = session, .options = o};

	if (!check_input(session, err) || !check_training(&pca, err))
		return false;
	pca.progress = al_progress_begin(session, NULL);
	if (!(o->calibration				   ? pca_run_calibration(&pca, err)
			    : al_input_is_given(&o->input) ? pca_run_model(&pca, err)
							   : pca_run_files(&pca, err)))
		return false;
	pca_note_options(session);
	al_session_claim(session, say(session));
	return save(&pca, err);
}

const struct al_command al_command_pca = {
	.words = "[FILE|MODEL [CONFIG]]",
	.examples = {"pca stories15M.bin --tokens stories.npy --keep 4",
		"pca heads.npy --heads 8 --target outputs.npy --train deacon --architecture "
		"direct,average,nonlinear --figures out"},
	.options = groups,
	.options_size = sizeof(struct pca_options),
	.computed_with = al_kernel_library,
	.run = run_pca,
};
