/* evaluate: a model run on tokens: a decoder's loss, an encoder's embeddings, and what is lost
 * without each head. */
#include "answer/ablate.h"
#include "answer/arrays.h"
#include "answer/kernel.h"
#include "answer/losses.h"
#include "answer/masked.h"
#include "report/claim.h"

struct evaluate_options {
	struct al_output_options output;
	struct al_layout_options layout;
	struct al_input_options input;
	struct al_ablation_options ablation;
	const char *per_token, *mask_token;
	struct al_arrays_options arrays;
};

static const struct al_option_row rows[] = {
	AL_PER_TOKEN_ROW(struct evaluate_options, per_token),
	AL_MASK_TOKEN_ROW(struct evaluate_options, mask_token),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_layout_rows, offsetof(struct evaluate_options, layout)},
	{al_input_rows, offsetof(struct evaluate_options, input)},
	{al_ablation_rows, offsetof(struct evaluate_options, ablation)}, {rows, 0},
	{al_arrays_rows, offsetof(struct evaluate_options, arrays)}, {NULL, 0}};

struct evaluation {
	struct al_session *session;
	struct al_opened_model model;
};

/* ---- a decoder's loss ---- */

static void conclude_loss(struct evaluation *e, const struct al_loss *loss)
{
	struct al_arena *arena = &e->session->arena;
	struct al_table *table = al_losses_add_table(e->session, loss);
	const struct al_estimate estimate = al_loss_estimate(loss);

	al_session_claim(e->session,
		al_format(arena,
			"Loss " AL_CLAIM_LEAD "%s nats per token over %s predicted tokens, "
			"perplexity %s; measured on these tokens only.",
			al_claim_with_error(arena, table, 0, "loss", "loss_error"),
			al_claim_cell(arena, table, 0, "predicted"),
			al_claim_cell(arena, table, 0, "perplexity")));
	al_table_note(table,
		"the model gives each next token a probability of 1 in %.3g (geometric mean)",
		exp(estimate.mean));
	al_losses_note_errors(table, estimate);
}

static bool measure_loss(struct evaluation *e, const struct al_loss *loss, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	struct al_network *network = &e->model.running->network;

	if (o->ablation.what < 0) {
		if (!al_evaluate_loss(network, loss, e->model.watch, err))
			return false;
		conclude_loss(e, loss);
		return true;
	}
	return al_ablate(e->session, &e->model, &o->ablation, loss, err);
}

static bool evaluate_decoder(struct evaluation *e, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	const struct al_batch *all = &e->model.running->all;
	struct al_loss loss = al_loss_new(&e->session->arena, all);

	if (o->mask_token)
		return al_fail(err, AL_EINPUT, "--mask-token: the model is a decoder");
	if (al_batch_tokens(all) == all->n_sequences)
		return al_fail(err, AL_EINPUT,
			"no token to predict: every sequence has only one token");
	if (o->per_token || o->arrays.folder)
		loss.tokens = al_new_array(&e->session->arena, double, al_batch_tokens(all));
	if (!measure_loss(e, &loss, err))
		return false;
	if (o->per_token)
		al_losses_add_file(e->session, o->per_token, all, loss.tokens, 1);
	return !o->arrays.folder
		|| al_arrays_add(e->session, &e->model, &o->arrays, loss.tokens, err);
}

/* ---- an encoder's embeddings ---- */

static double cosine(const struct al_matrix *m, size_t a, size_t b)
{
	return al_inner(al_columns(al_view(*m), a, 1), al_columns(al_view(*m), b, 1));
}

struct pair {
	size_t a, b;
	double cosine;
};

static const struct al_table_field pair_fields[] = {
	{AL_SHOW_KEY(struct pair, a, "Sequence", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct pair, b, "And", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct pair, cosine, "Cosine", .digits = 4)},
	AL_FIELDS_END,
};

/* Adds the table; a sentence of it. */
static const char *add_similarity(struct evaluation *e, const struct al_matrix *embeddings)
{
	struct al_table *table = al_session_table(e->session, "similarity", pair_fields, 0,
		"Cosines between the sequences' embeddings");

	for (size_t a = 0; a < embeddings->cols; a++)
		for (size_t b = a + 1; b < embeddings->cols; b++)
			al_table_add_record(table, &(struct pair){a, b, cosine(embeddings, a, b)});
	al_table_note(table, "an embedding is the mean of the last hidden states of all tokens");
	struct al_arena *arena = &e->session->arena;
	double closest;
	const size_t row = al_table_extreme(table, "cosine", 1, &closest);

	if (row == table->n_rows)
		return "Only one sequence: give two or more to compare.";
	return al_format(arena,
		"Of %s sequences %s and %s (counted from %s) are closest, with cosine %s.",
		al_claim_count(arena, "sequences", (int64_t)embeddings->cols),
		al_claim_cell(arena, table, row, "a"), al_claim_cell(arena, table, row, "b"),
		al_claim_count(arena, "first", 0), al_claim_cell(arena, table, row, "cosine"));
}

/* "Loss 2.1234 +- 0.1000 nats on 34 masked tokens." */
static const char *add_masked(struct evaluation *e, const struct al_loss *loss)
{
	struct al_arena *arena = &e->session->arena;
	struct al_table *table = al_losses_add_table(e->session, loss);

	al_losses_note_errors(table, al_loss_estimate(loss));
	return al_format(arena, "Loss %s nats per masked token, of which there are %s.",
		al_claim_with_error(arena, table, 0, "loss", "loss_error"),
		al_claim_cell(arena, table, 0, "predicted"));
}

/* On masked tokens, where the model has a head for them; `loss` NULL: it hasn't. */
static bool evaluate_masked(struct evaluation *e, const struct al_loss *loss, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	struct al_matrix embeddings;

	if (o->ablation.what >= 0)
		return al_ablate(e->session, &e->model, &o->ablation, loss, err);
	if (!al_evaluate_embeddings(&e->model.running->network, &e->model.running->all,
		    e->model.watch, &embeddings, err))
		return false;
	const char *text = add_similarity(e, &embeddings);
	al_matrix_finish(&embeddings);
	if (loss && !al_evaluate_loss(&e->model.running->network, loss, e->model.watch, err))
		return false;
	if (loss)
		text = al_format(&e->session->arena, "%s %s", text, add_masked(e, loss));
	al_session_claim(e->session, text);
	return true;
}

static bool evaluate_encoder(struct evaluation *e, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	const struct al_masked *masked;
	struct al_loss loss;
	const char *why;

	if (o->arrays.has_logits)
		return al_fail(err, AL_EINPUT,
			"--array-logits: family %s is an encoder, without logits",
			e->model.file->view.family->name);
	if (!al_session_masked(e->session, e->model.running, o->mask_token, &masked, &why, err))
		return false;
	if (!masked && o->per_token)
		return al_fail(err, AL_EINPUT, "--per-token: %s",
			why ? why : "the model is an encoder without a head for masked tokens");
	if (masked) {
		loss = al_loss_new(&e->session->arena, &masked->batch);
		loss.targets = masked->targets;
		if (o->per_token)
			loss.tokens = al_new_array(&e->session->arena, double,
				al_batch_tokens(loss.all));
	}
	if (!evaluate_masked(e, masked ? &loss : NULL, err))
		return false;
	if (o->per_token)
		al_losses_add_file(e->session, o->per_token, loss.all, loss.tokens, 1);
	if (masked)
		al_masked_note(e->session->tables[e->session->n_tables - 1], masked);
	else if (why)
		al_table_note(e->session->tables[0], "%s", why);
	return !o->arrays.folder || al_arrays_add(e->session, &e->model, &o->arrays, NULL, err);
}

/* ---- all ---- */

static bool evaluate(struct evaluation *e, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = e->model.file->checkpoint;
	const bool is_decoder = e->model.running->network.how->kind == AL_FORWARD_DECODER;

	/* Numbers that the tokens don't use may be NaN: rows of embeddings, tied tensors. */
	if (!(is_decoder ? evaluate_decoder(e, err) : evaluate_encoder(e, err))
		|| !al_checkpoint_note_not_finite(checkpoint, e->session->tables[0], err)
		|| !al_opened_checkpoint_note_whole(e->model.file, e->session->tables[0], err)
		|| !al_checkpoint_check_unchanged(checkpoint, err))
		return false;
	al_kernel_note(e->session->tables[0]);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct evaluate_options *o = session->options;
	struct evaluation e = {.session = session};
	struct al_layout_options layout = o->layout;

	layout.runs = true;
	return al_ablation_check(&o->ablation, err) && al_arrays_check(&o->arrays, err)
		&& al_opened_model_init(&e.model, session, &layout, &o->input, err)
		&& evaluate(&e, err);
}

const struct al_command al_command_evaluate = {
	.words = "MODEL [CONFIG]",
	.examples = {"evaluate stories15M.bin --tokens stories.npy",
		"evaluate stories15M.bin --text stories.txt --ablate heads -f csv"},
	.options = groups,
	.options_size = sizeof(struct evaluate_options),
	.computed_with = al_kernel_library,
	.run = run,
};
