/* audit --tokens: what it costs to leave out heads, measured: the loss that is added, or how far an
 * encoder's embeddings move. Of each layer the head that seems cheapest is left out with W_O
 * refitted; with --ablate heads each is left out as it is, and the cheapest is known. */
#include "answer/audit_run.h"

#include "answer/ablate.h"
#include "answer/losses.h"
#include "report/claim.h"

const struct al_option_row al_audit_ablation_rows[] = {
	OPTION_SET(struct al_audit_asked, ablated, "ablate", "heads",
		"with --calibration and --tokens or --text: measure what `evaluate --ablate` does, "
		"too, into the table drop",
		.words = al_ablated_names, .n_words = 1, .noun = "ablation"),
	OPTION_END,
};

/* ---- each head ---- */

static void fill_row(const struct al_ablating *a, struct al_table *drop, size_t row,
	const char *place)
{
	const struct al_estimate added = al_ablating_added(a, row);
	struct al_cell *cells = drop->rows[row];
	struct al_cell *of_place = &cells[al_table_find_column(drop, "place")];

	al_cell_set_real(&cells[al_table_find_column(drop, a->kind->key)], added.mean);
	al_cell_set_real(&cells[al_table_find_column(drop, a->kind->error_key)], added.error);
	*of_place = (struct al_cell){0};
	if (place)
		al_cell_set_text(drop, of_place, place);
}

/* Rows of `drop` are all heads of the measured modules, in this order. */
static bool ablate_all(struct al_audit_run *run, const struct al_opened_model *model,
	struct al_table *drop, struct al_error *err)
{
	const struct al_loss loss = al_loss_new(&run->session->arena, &model->running->all);
	const bool is_encoder = run->opened->view.family->is_encoder;
	AL_ENDS(al_ablating_finish)
	struct al_ablating a = {.session = run->session,
		.model = model,
		.options = &(
			struct al_ablation_options){.what = AL_ABLATE_HEADS, .replacement = -1}};

	al_ablating_begin(&a, is_encoder ? NULL : &loss);
	al_ablations_begin(&a.ablations, &model->running->all, drop->n_rows);
	for (size_t i = 0; i < run->n_measured; i++)
		for (int64_t head = 0; head < run->measured[i]->n_heads; head++)
			al_ablations_add(&a.ablations, run->measured[i], head, -1, 1);
	if (!al_ablating_measure(&a, err))
		return false;
	const char **places = al_ablating_places(&a);
	for (size_t row = 0; row < drop->n_rows; row++)
		fill_row(&a, drop, row, places[row]);
	run->ablation = al_ablating_claim(&a, drop);
	return true;
}

/* ---- of each layer the cheapest, W_O refitted ---- */

struct missing {
	struct al_audit_place at;
	int64_t head;
	double error_compensated, original, loss;
	struct al_estimate added;
	const char *place;
};

enum { OF_LOSS = 1, OF_EMBEDDINGS = 2 };

static const struct al_table_field fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_SHOW_KEY(struct missing, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct missing, error_compensated, "Error, W_O refitted", .digits = 4)},
	{AL_SHOW(struct missing, original, "Loss", .unit = "nats per token", .digits = 4),
		.when = OF_LOSS},
	{AL_SHOW(struct missing, loss, "Loss without it", .unit = "nats per token", .digits = 4),
		.when = OF_LOSS},
	{{.key = "loss_increase", .title = "Loss added", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct missing, added.mean), .when = OF_LOSS},
	{{.key = "loss_increase_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct missing, added.error), .when = OF_LOSS},
	{{.key = "embedding_change", .title = "Cosine distance", .digits = 5},
		AL_MEMBER(struct missing, added.mean), .when = OF_EMBEDDINGS},
	{{.key = "embedding_change_error", .title = "Standard error", .digits = 5},
		AL_MEMBER(struct missing, added.error), .when = OF_EMBEDDINGS},
	{AL_SHOW(struct missing, place, "Of these")},
	AL_FIELDS_END,
};

/* Errors compare within a layer. */
static void choose_heads(const struct al_audit_run *run, const struct al_table *drop,
	const char *cost_key, int64_t *heads, double *errors)
{
	AL_FREED double *costs = al_alloc(run->n_measured, sizeof(*costs));

	for (size_t i = 0; i < run->n_measured; i++)
		costs[i] = INFINITY;
	for (size_t row = 0, i = 0; row < drop->n_rows; row++) {
		double cost = 0, head = 0;
		if (!al_table_number(drop, row, cost_key, &cost)
			|| !al_table_number(drop, row, "head", &head))
			continue;
		while (strcmp(run->measured[i]->name, al_table_text(drop, row, "module")) != 0)
			i++;
		if (costs[i] <= cost)
			continue;
		costs[i] = cost;
		heads[i] = (int64_t)head;
		if (!al_table_number(drop, row, "error_compensated", &errors[i]))
			errors[i] = NAN;
	}
}

static void add_heads(struct al_audit_run *run, const struct al_ablating *a, const double *errors)
{
	const size_t n = a->ablations.n, n_sequences = a->ablations.n_sequences;
	const double original = al_loss_estimate(a->whole).mean;
	AL_FREED const char **places = al_alloc(n, sizeof(*places));
	const bool is_loss = a->kind == &al_ablation_of_loss;
	struct al_table *losses = &run->losses;

	al_table_init(losses, "losses",
		al_format(&run->session->arena,
			"%s without the cheapest head of each layer, measured", a->kind->title));
	al_table_add_fields(losses, fields, is_loss ? OF_LOSS : OF_EMBEDDINGS);
	al_losses_find_places(a->ablations.items, n, n_sequences, places);
	for (size_t i = 0; i < n; i++) {
		const struct al_ablation *one = &a->ablations.items[i];
		al_table_add_record(losses,
			&(struct missing){{one->attention->name, one->attention->layer}, one->first,
				errors[i], original,
				al_estimate_mean(one->without, n_sequences).mean,
				al_ablating_added(a, i), places[i]});
	}
	al_losses_note_errors(losses, al_loss_estimate(a->whole));
	al_losses_warn_seen(losses, a->calibration, a->whole->all);
	if (!is_loss)
		al_table_note(losses,
			"conversions of an encoder aren't measured here: `compress` makes a copy, "
			"whose embeddings `verify --tokens` compares");
}

static bool refit_cheapest(struct al_audit_run *run, const struct al_opened_model *model,
	const struct al_table *drop, struct al_error *err)
{
	struct al_arena *arena = &run->session->arena;
	const size_t n = run->n_measured;
	int64_t *heads = al_new_array(arena, int64_t, n + 1);
	double *errors = al_new_array(arena, double, n + 1);
	const struct al_loss loss = al_loss_new(arena, &model->running->all);
	const bool is_encoder = run->opened->view.family->is_encoder;
	AL_ENDS(al_ablating_finish)
	struct al_ablating a = {.session = run->session,
		.model = model,
		.calibration = al_covariance_calibration(&run->covariance),
		.options = &(struct al_ablation_options){.what = AL_ABLATE_HEADS,
			.replacement = -1,
			.refits = true}};

	al_ablating_begin(&a, is_encoder ? NULL : &loss);
	choose_heads(run, drop, run->options->ablated ? a.kind->key : "relative", heads, errors);
	al_ablations_begin(&a.ablations, &model->running->all, n);
	for (size_t i = 0; i < n; i++)
		al_ablations_add(&a.ablations, run->measured[i], heads[i], -1, 1);
	if (!al_ablating_measure(&a, err))
		return false;
	add_heads(run, &a, errors);
	return true;
}

/* ---- the sentence ---- */

size_t al_audit_losses_least(const struct al_audit_run *run)
{
	const bool is_encoder = run->opened->view.family->is_encoder;
	double least;

	return al_table_extreme(&run->losses, is_encoder ? "embedding_change" : "loss", -1, &least);
}

/* Of the other heads that were tried, how many can't be told from the one of least loss. */
static const char *say_tied(struct al_arena *arena, const struct al_table *losses)
{
	const size_t n = al_count_rows(losses, "place", "tied");

	if (n == 0)
		return "";
	return al_format(arena, " Of %s tried, %s can't be told from it on these tokens.",
		al_claim_counted(arena, losses->n_rows - 1, "other head"),
		al_claim_count(arena, "tied", (int64_t)n - 1));
}

static const char *say_change(const struct al_audit_run *run, size_t row)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *losses = &run->losses;
	double before = 0, after = 0, error;

	if (!al_table_number(losses, row, "original", &before)
		|| !al_table_number(losses, row, "loss", &after))
		return al_format(arena, "embeddings move by %s in cosine distance",
			al_claim_with_error(arena, losses, row, "embedding_change",
				"embedding_change_error"));
	if (!al_table_number(losses, row, "loss_increase_error", &error))
		error = (double)NAN;
	return al_format(arena, "the loss %s", al_claim_loss(arena, before, after, error));
}

/* The head of least loss. */
const char *al_audit_verdict_say_losses(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;

	const size_t row = al_audit_losses_least(run);
	return al_format(arena, "Without %s and with W_O refitted %s.%s",
		al_audit_head_text(run, &run->losses, row), say_change(run, row),
		say_tied(arena, &run->losses));
}

/* ---- all ---- */

bool al_audit_run_losses(struct al_audit_run *run, struct al_error *err)
{
	const struct al_input_options *input = &run->options->input;
	struct al_table *drop = al_audit_run_table(run, "drop");

	struct al_opened_model model = {.file = run->opened,
		.running = al_session_running(run->session, &run->opened->view, input, err),
		.watch = &run->progress->watch};
	run->progress->whole = run->opened->checkpoint->path;
	if (!model.running)
		return false;
	if (drop && drop->n_rows > 0
		&& ((run->options->ablated && !ablate_all(run, &model, drop, err))
			|| !refit_cheapest(run, &model, drop, err)))
		return false;
	return run->opened->view.family->is_encoder
		|| al_audit_run_frontier(run, model.running, err);
}
