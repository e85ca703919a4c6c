/* evaluate: a model run on tokens: a decoder's loss, an encoder's embeddings, and what is lost
 * without each head. */
#include "answer/input.h"
#include "answer/kernel.h"
#include "report/claim.h"

struct evaluate_options {
	struct al_output_options output;
	struct al_layout_options layout;
	struct al_input_options input;
	int ablated, replacement; /* ablated -1: nothing is */
};

static const struct al_option_row rows[] = {
	OPTION_CHOICE(struct evaluate_options, ablated, "ablate", "heads|groups|layers",
		"loss without each query head, each group of heads that share a key/value head, or "
		"each layer's attention",
		.words = al_ablated_names, .n_words = AL_N_ABLATED, .fallback = -1),
	OPTION_CHOICE(struct evaluate_options, replacement, "replace", "zero|mean",
		"replace an ablated head's output by zero (default) or by its mean over all tokens",
		.words = al_replacement_names, .n_words = AL_N_REPLACEMENTS),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_layout_rows, offsetof(struct evaluate_options, layout)},
	{al_input_rows, offsetof(struct evaluate_options, input)}, {rows, 0}, {NULL, 0}};

struct evaluation {
	struct al_session *session;
	struct al_opened_model model;
};

/* ---- a decoder's loss ---- */

struct loss {
	size_t sequences, tokens, predicted;
	double loss, perplexity;
};

static const struct al_table_field loss_fields[] = {
	{AL_SHOW_WHOLE(struct loss, sequences, "Sequences")},
	{AL_SHOW_WHOLE(struct loss, tokens, "Tokens")},
	{AL_SHOW_WHOLE(struct loss, predicted, "Predicted")},
	{AL_SHOW(struct loss, loss, "Loss", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct loss, perplexity, "Perplexity", .digits = 2)},
	AL_FIELDS_END,
};

static struct al_table *add_loss(struct evaluation *e, const struct al_loss *loss)
{
	const struct al_batch *all = &e->model.running->all;
	const double mean = loss->nats / (double)loss->n_predicted;

	struct al_table *table = al_session_table(e->session, "loss", loss_fields, 0,
		"Loss on the tokens");
	al_table_add_record(table,
		&(struct loss){all->n_sequences, al_batch_tokens(all), (size_t)loss->n_predicted,
			mean, exp(mean)});
	return table;
}

static void conclude_loss(struct evaluation *e, const struct al_loss *loss)
{
	struct al_table *table = add_loss(e, loss);
	const double mean = loss->nats / (double)loss->n_predicted;
	struct al_arena *arena = &e->session->arena;

	al_session_claim(e->session,
		al_format(arena,
			"Loss " AL_CLAIM_LEAD "%s nats per token over %s predicted tokens, "
			"perplexity %s; measured on these tokens only.",
			al_claim_cell(arena, table, 0, "loss"),
			al_claim_cell(arena, table, 0, "predicted"),
			al_claim_cell(arena, table, 0, "perplexity")));
	al_table_note(table,
		"the model gives each next token a probability of 1 in %.3g (geometric mean)",
		exp(mean));
}

/* ---- without heads ---- */

static double increase(const struct al_ablations *all, size_t i)
{
	return (all->items[i].nats - all->whole.nats) / (double)all->whole.n_predicted;
}

struct ablated {
	const char *module;
	int64_t layer, head, heads;
	double loss_increase;
};

static const struct al_table_field ablated_fields[] = {
	{AL_SHOW_KEY(struct ablated, module, "Module")},
	{AL_SHOW_KEY(struct ablated, layer, "Layer", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct ablated, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_WHOLE(struct ablated, heads, "Heads removed")},
	{AL_SHOW(struct ablated, loss_increase, "Loss added", .unit = "nats per token",
		.digits = 4)},
	AL_FIELDS_END,
};

static const char *ablation_text(struct al_arena *arena, const struct al_table *table, size_t row,
	enum al_ablated what)
{
	const char *layer = al_claim_cell(arena, table, row, "layer");

	return what == AL_ABLATE_LAYERS
		? al_format(arena, "the attention of layer %s", layer)
		: al_format(arena, "%s %s of layer %s",
			what == AL_ABLATE_HEADS ? "head" : "the group of head",
			al_claim_cell(arena, table, row, "head"), layer);
}

static void conclude_ablations(struct evaluation *e, const struct al_table *table,
	enum al_ablated what)
{
	struct al_arena *arena = &e->session->arena;
	double added;
	const size_t least = al_table_extreme(table, "loss_increase", -1, &added),
		     most = al_table_extreme(table, "loss_increase", 1, &added);

	if (least == table->n_rows)
		return;
	al_session_claim(e->session,
		al_text_of_capital(arena,
			al_format(arena,
				"Removing %s costs least (%s nats per token), removing %s most "
				"(%s), on these tokens.",
				ablation_text(arena, table, least, what),
				al_claim_cell(arena, table, least, "loss_increase"),
				ablation_text(arena, table, most, what),
				al_claim_cell(arena, table, most, "loss_increase"))));
}

static bool ablate(struct evaluation *e, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	struct al_ablations ablations;

	if (!al_evaluate_ablations(&e->model.running->network, &e->model.running->all,
		    (enum al_ablated)o->ablated, (enum al_replacement)o->replacement,
		    e->model.watch, &ablations, err))
		return false;
	add_loss(e, &ablations.whole);
	struct al_table *table = al_session_table(e->session, "ablation", ablated_fields, 0,
		"Loss without each %.*s (output replaced by %s)",
		(int)strlen(al_ablated_names[o->ablated]) - 1, al_ablated_names[o->ablated],
		o->replacement == AL_REPLACE_ZERO ? "zero" : "its mean");
	for (size_t i = 0; i < ablations.n; i++) {
		const struct al_ablation *one = &ablations.items[i];
		al_table_add_record(table,
			&(struct ablated){one->attention->name, one->layer,
				o->ablated == AL_ABLATE_LAYERS ? INT64_MIN : one->first, one->n,
				increase(&ablations, i)});
	}
	conclude_ablations(e, table, (enum al_ablated)o->ablated);
	free(ablations.items);
	return true;
}

static bool evaluate_decoder(struct evaluation *e, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	struct al_loss loss;

	if (al_batch_tokens(&e->model.running->all) == e->model.running->all.n_sequences)
		return al_fail(err, AL_EINPUT,
			"no token to predict: every sequence has only one token");
	if (o->ablated >= 0)
		return ablate(e, err);
	if (!al_evaluate_loss(&e->model.running->network, &e->model.running->all, e->model.watch,
		    &loss, err))
		return false;
	conclude_loss(e, &loss);
	return true;
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

static void add_similarity(struct evaluation *e, const struct al_matrix *embeddings)
{
	struct al_table *table = al_session_table(e->session, "similarity", pair_fields, 0,
		"Cosines between the sequences' embeddings");
	size_t best[2] = {0, 1};

	for (size_t a = 0; a < embeddings->cols; a++)
		for (size_t b = a + 1; b < embeddings->cols; b++) {
			const struct pair pair = {a, b, cosine(embeddings, a, b)};
			al_table_add_record(table, &pair);
			if (pair.cosine > cosine(embeddings, best[0], best[1])) {
				best[0] = a;
				best[1] = b;
			}
		}
	al_table_note(table, "an embedding is the mean of the last hidden states of all tokens");
	struct al_arena *arena = &e->session->arena;
	double closest;
	const size_t row = al_table_extreme(table, "cosine", 1, &closest);

	if (row == table->n_rows) {
		al_session_claim(e->session, "Only one sequence: give two or more to compare.");
		return;
	}
	al_session_claim(e->session,
		al_format(arena,
			"Of %s sequences %s and %s (counted from %s) are closest, with cosine %s.",
			al_claim_count(arena, "sequences", (int64_t)embeddings->cols),
			al_claim_cell(arena, table, row, "a"),
			al_claim_cell(arena, table, row, "b"), al_claim_count(arena, "first", 0),
			al_claim_cell(arena, table, row, "cosine")));
}

static bool evaluate_encoder(struct evaluation *e, struct al_error *err)
{
	const struct evaluate_options *o = e->session->options;
	struct al_matrix embeddings;

	if (o->ablated >= 0)
		return al_fail(err, AL_EINPUT,
			"--ablate: family %s is an encoder, which has no loss on tokens",
			e->model.file->view.family->name);
	if (!al_evaluate_embeddings(&e->model.running->network, &e->model.running->all,
		    e->model.watch, &embeddings, err))
		return false;
	add_similarity(e, &embeddings);
	al_matrix_finish(&embeddings);
	return true;
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
	return al_opened_model_init(&e.model, session, &layout, &o->input, err)
		&& evaluate(&e, err);
}

const struct al_command al_command_evaluate = {
	.words = "MODEL [CONFIG]",
	.examples = {"evaluate stories15M.bin --tokens stories.npy",
		"evaluate stories15M.bin --text stories.txt --ablate heads -f csv"},
	.options = groups,
	.options_size = sizeof(struct evaluate_options),
	.computes = true,
	.run = run,
};
