/* verify: a checkpoint and its compressed copy side by side. */
#include "answer/compress.h"

#include "answer/losses.h"
#include "answer/progress.h"
#include "answer/kernel.h"
#include "shrink/trial.h"
#include "answer/translate.h"

bool al_verify_add_table(struct al_session *session, struct al_model_view *view, const char *path,
	const char *shown, const struct al_verify_options *options, bool *holds,
	struct al_error *err)
{
	struct al_checkpoint *compressed = al_session_file(session, path, err);

	if (!compressed)
		return false;
	compressed->path = shown;
	struct al_table *table = al_session_table(session, "verify", NULL, 0,
		"Attention probabilities and outputs, original and compressed");
	al_verify_add_columns(table);
	struct al_verify_options watched = *options;
	watched.watch = &al_progress_begin(session, shown)->watch;
	return al_verify(view, compressed, &watched, table, holds, err);
}

struct verify_options {
	struct al_output_options output;
	struct al_layout_options layout;
	struct al_input_options input;
	const char *tolerance, *per_token;
	int64_t seed;
};

static const struct al_option_row verify_rows[] = {
	AL_SEED_ROW(struct verify_options, seed, 0),
	OPTION_TEXT(struct verify_options, tolerance, "tolerance", "X",
		"exit with status 1 if an output's relative error exceeds X"),
	AL_PER_TOKEN_ROW(struct verify_options, per_token),
	OPTION_END,
};

static const struct al_option_group verify_groups[] = {OUTPUT_GROUPS,
	{al_layout_rows, offsetof(struct verify_options, layout)},
	{al_module_rows, offsetof(struct verify_options, layout)},
	{al_input_rows, offsetof(struct verify_options, input)}, {verify_rows, 0}, {NULL, 0}};

/* ---- on tokens ---- */

struct loss {
	size_t sequences;
	struct al_judgment on;
};

static void get_agreement(struct al_table *table, struct al_cell *cell, const void *record)
{
	(void)table;
	al_cell_set_real(cell, 100 * ((const struct loss *)record)->on.agreement.mean);
}

#define NATS(name, at, name_of) \
	{ \
		{.key = (name), .title = (name_of), .unit = "nats per token", .digits = 6}, \
			AL_MEMBER(struct loss, on.at) \
	}

static const struct al_table_field loss_fields[] = {
	{AL_SHOW_WHOLE(struct loss, sequences, "Sequences")},
	{AL_COLUMN_WHOLE("predicted", "Predicted"), AL_MEMBER(struct loss, on.n_predicted)},
	NATS("original", original.mean, "Loss"),
	NATS("compressed", compressed.mean, "Compressed"),
	NATS("loss_increase", change.mean, "Loss added"),
	NATS("loss_increase_error", change.error, "Standard error"),
	NATS("kl", divergence.mean, "KL divergence"),
	NATS("kl_error", divergence.error, "Standard error"),
	{{.key = "agreement", .title = "Same top token", .unit = "%", .digits = 2},
		.get = get_agreement},
	AL_FIELDS_END,
};

static void add_loss(struct al_session *session, const struct al_judgment *judgment,
	const struct al_batch *all)
{
	struct al_table *table = al_session_table(session, "loss", loss_fields, 0,
		"Loss on the tokens, original and compressed");

	al_table_add_record(table, &(struct loss){all->n_sequences, *judgment});
	al_table_note(table,
		"the compressed model gives each next token %.4g times the original's probability "
		"(geometric mean); KL(original || compressed) and agreement exclude each "
		"sequence's first token, which sees only itself",
		exp(-judgment->change.mean));
	al_losses_note_errors(table, judgment->change);
	al_table_note(table,
		"use sequences that weren't used for calibration; on those, errors are too small");
}

static double cosine(struct al_matrix a, size_t i, struct al_matrix b, size_t j)
{
	return al_inner(al_columns(al_view(a), i, 1), al_columns(al_view(b), j, 1));
}

struct pair {
	size_t a, b;
	double original, compressed; /* cosines */
};

static const struct al_table_field pair_fields[] = {
	{AL_SHOW_KEY(struct pair, a, "Sequence", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct pair, b, "And", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct pair, original, "Cosine", .digits = 4)},
	{AL_SHOW(struct pair, compressed, "Compressed", .digits = 4)},
	AL_FIELDS_END,
};

/* An encoder's: what the sequences' embeddings have in common, in each model and across both. */
static void add_similarity(struct al_session *session, const struct al_matrix of[2])
{
	struct al_table *table = al_session_table(session, "similarity", pair_fields, 0,
		"Cosines between the sequences' embeddings, original and compressed");
	AL_FREED struct al_unit *cosines = al_alloc(of[0].cols, sizeof(*cosines));
	double least = 1;

	for (size_t i = 0; i < of[0].cols; i++) {
		const double own = cosine(of[0], i, of[1], i);
		cosines[i] = (struct al_unit){own, 1};
		least = al_least(own, least);
		for (size_t j = i + 1; j < of[0].cols; j++)
			al_table_add_record(table,
				&(struct pair){i, j, cosine(of[0], i, of[0], j),
					cosine(of[1], i, of[1], j)});
	}
	const struct al_estimate mean = al_estimate_mean(cosines, of[0].cols);
	al_table_note(table,
		"cosine between the original's and the copy's embedding of a sequence: mean "
		"%.4f%s, "
		"minimum %.4f (1: identical); an embedding is the mean of the last hidden states "
		"of all tokens",
		mean.mean,
		isnan(mean.error) ? "" : al_format(&table->arena, " +- %.4f", mean.error), least);
}

static bool compare_embeddings(struct al_session *session, struct al_network *network,
	struct al_job *job, const struct al_batch *all, struct al_error *err)
{
	struct al_matrix of[2];

	if (!al_judge_embeddings(network, job, all, of, err))
		return false;
	add_similarity(session, of);
	for (int i = 0; i < 2; i++)
		al_matrix_finish(&of[i]);
	return true;
}

static bool judge_on(struct al_session *session, struct al_running *running, struct al_job *job,
	struct al_error *err)
{
	const struct al_batch *all = &running->all;
	const char *path = ((const struct verify_options *)session->options)->per_token;
	struct al_judgment judgment;

	if (running->network.how->kind == AL_FORWARD_ENCODER && path)
		return al_fail(err, AL_EINPUT,
			"--per-token: family %s is an encoder, which has no loss on tokens",
			running->network.view->family->name);
	if (running->network.how->kind == AL_FORWARD_ENCODER)
		return compare_embeddings(session, &running->network, job, all, err);
	AL_FREED double *tokens = path ? al_alloc(2 * al_batch_tokens(all), sizeof(*tokens)) : NULL;

	if (!al_judge(&running->network, job, all, &(struct al_judged){.tokens = tokens}, &judgment,
		    err))
		return false;
	add_loss(session, &judgment, all);
	if (path)
		al_losses_add_file(session, path, all, tokens, 2);
	return true;
}

/* A copy whose tensors have other number formats is a model of its own, with a head of its own. */
static bool judge_formats(struct al_session *session, struct al_running *running, const char *path,
	struct al_error *err)
{
	const struct verify_options *o = session->options;
	struct al_layout_options layout = o->layout;
	struct al_network copy;
	struct al_judgment judgment;

	if (o->per_token)
		return al_fail(err, AL_EINPUT,
			"--per-token: %s has other number formats; use evaluate --per-token on "
			"both models",
			path);
	layout.families.n = 0; /* they are in the catalog */
	struct al_opened_checkpoint *opened = al_session_checkpoint(session, &layout, path, NULL,
		true, err);
	if (!opened || !al_network_open(&copy, &opened->view, err))
		return false;
	AL_ENDS(al_sample_part_finish) struct al_sample_part part = {0};
	const bool ok = al_sample_part_init(&part, &running->network, &running->all, NULL, err)
		&& al_sample_part_try(&part, &copy, &judgment, err);
	al_network_close(&copy);
	if (ok)
		add_loss(session, &judgment, &running->all);
	return ok;
}

/* Both models run on tokens; took_original: as al_verify_summarize. */
static bool judge(struct al_session *session, struct al_model_view *view, const char *path,
	const struct al_input_options *input, bool *took_original, struct al_error *err)
{
	const struct al_checkpoint *compressed = al_session_file(session, path, err);
	struct al_job job;

	if (!compressed || !al_job_read(&job, view, compressed, err))
		return false;
	struct al_running *running = al_session_running(session, view, input, err);
	*took_original = !al_checkpoint_metadata(compressed, AL_RECORD_DTYPE);
	bool ok = running
		&& (*took_original ? judge_on(session, running, &job, err)
				   : judge_formats(session, running, path, err));
	al_job_finish(&job);
	return ok && al_checkpoint_check_unchanged(compressed, err);
}

/* The original under the copy's names. */
static bool translate(struct al_session *session, struct al_opened_checkpoint **opened,
	const char *path, struct al_error *err)
{
	const struct verify_options *o = session->options;
	const struct al_checkpoint *copy = al_session_file(session, path, err);

	return copy
		&& al_session_translate(session, &o->layout,
			al_translation_of((*opened)->checkpoint, copy), opened, err);
}

static bool run_verify(struct al_session *session, struct al_error *err)
{
	const struct verify_options *o = session->options;
	struct al_verify_options options = {.n_tokens = AL_VERIFY_TOKENS,
		.seed = (uint64_t)o->seed,
		.modules = o->layout.modules,
		.has_tolerance = o->tolerance != NULL};
	const char *compressed = al_session_word(session, 1);
	const bool has_input = al_input_is_given(&o->input);
	bool holds = true, took_original = false;

	if (has_input && !al_input_check(&o->input, err))
		return false;
	if (!has_input && (o->input.sequences || o->per_token))
		return al_fail(err, AL_EINPUT, "--%s needs --tokens, --text or --sample",
			o->per_token ? "per-token" : "sequences");
	if (!al_option_real("tolerance", o->tolerance, 0, 0, &options.tolerance, err))
		return false;
	struct al_opened_checkpoint *opened = al_session_checkpoint(session, &o->layout,
		al_session_word(session, 0), al_session_word(session, 2), true, err);
	if (!opened || !translate(session, &opened, compressed, err)
		|| (has_input
			&& !judge(session, &opened->view, compressed, &o->input, &took_original,
				err))
		|| !al_verify_add_table(session, &opened->view, compressed, compressed, &options,
			&holds, err))
		return false;
	session->answer_is_no = !holds;
	al_session_claim(session, al_verify_summarize(session, &options, holds, took_original));
	if (!has_input && opened->view.family->runs)
		al_session_next_question(session, "verify", al_layout_groups,
			(const char *const[]){"--tokens TOKENS", NULL});
	return al_opened_checkpoint_note_whole(opened, session->tables[0], err);
}

const struct al_command al_command_verify = {
	.words = "ORIGINAL COMPRESSED [CONFIG]",
	.examples = {"verify bert/ collab.safetensors",
		"verify model.safetensors pruned.safetensors -f csv"},
	.options = verify_groups,
	.options_size = sizeof(struct verify_options),
	.computed_with = al_kernel_library,
	.run = run_verify,
};
