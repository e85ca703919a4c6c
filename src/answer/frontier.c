/* audit --tokens: what it costs to leave out heads and to convert the checkpoint, measured; and the
 * conversions drawn. */
#include "answer/audit_run.h"

#include "base/file.h"
#include "answer/draw.h"
#include "answer/losses.h"
#include "compress/judge.h"
#include "report/claim.h"

/* ---- heads ---- */

struct missing {
	struct al_audit_place at;
	int64_t head;
	double error_compensated, original, loss;
	struct al_estimate added;
	const char *place;
};

static const struct al_table_field missing_fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_SHOW_KEY(struct missing, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct missing, error_compensated, "Error, W_O refitted", .digits = 4)},
	{AL_SHOW(struct missing, original, "Loss", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct missing, loss, "Loss without it", .unit = "nats per token", .digits = 4)},
	{{.key = "loss_increase", .title = "Loss added", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct missing, added.mean)},
	{{.key = "loss_increase_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct missing, added.error)},
	{AL_SHOW(struct missing, place, "Of these")},
	AL_FIELDS_END,
};

/* Errors compare within a layer: of each the head of least cost. */
static void choose_heads(const struct al_audit_run *run, const struct al_table *drop,
	int64_t *heads, double *errors)
{
	AL_FREED double *costs = al_alloc(run->n_measured, sizeof(*costs));

	for (size_t i = 0; i < run->n_measured; i++)
		costs[i] = INFINITY;
	for (size_t row = 0, i = 0; row < drop->n_rows; row++) {
		double cost = 0, head = 0;
		if (!al_table_number(drop, row, "relative", &cost)
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

static void add_heads(struct al_audit_run *run, const struct al_ablations *without,
	const struct al_loss *whole, const double *errors)
{
	const size_t n = without->n, n_sequences = whole->all->n_sequences;
	const double original = al_loss_estimate(whole).mean;
	AL_FREED const char **places = al_alloc(n, sizeof(*places));

	al_losses_find_places(without->items, n, n_sequences, places);
	for (size_t i = 0; i < n; i++) {
		const struct al_ablation *one = &without->items[i];
		al_table_add_record(&run->losses,
			&(struct missing){{one->attention->name, one->attention->layer}, one->first,
				errors[i], original,
				al_estimate_mean(one->without, n_sequences).mean,
				al_estimate_change(whole->sequences, one->without, n_sequences),
				places[i]});
	}
}

/* Needs the table `drop`. */
static bool measure_heads(struct al_audit_run *run, struct al_running *model, struct al_error *err)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_calibration *calibration = al_covariance_calibration(&run->covariance);
	const struct al_table *drop = al_audit_run_table(run, "drop");
	const size_t n = run->n_measured;
	int64_t *heads = al_new_array(arena, int64_t, n + 1);
	double *errors = al_new_array(arena, double, n + 1);
	const struct al_loss whole = al_loss_new(arena, &model->all);
	AL_ENDS(al_ablations_finish) struct al_ablations without = {0};

	if (!drop || drop->n_rows == 0)
		return true;
	choose_heads(run, drop, heads, errors);
	al_ablations_begin(&without, &model->all, n);
	for (size_t i = 0; i < n; i++)
		al_ablations_add(&without, run->measured[i], heads[i], -1, 1);
	if (!al_judge_refitted(&model->network, calibration, &model->all,
		    &(struct al_ablation_measure){.loss = &whole}, &run->progress->watch, &without,
		    err))
		return false;
	al_table_init(&run->losses, "losses",
		"Loss without the cheapest head of each layer, measured");
	al_table_add_fields(&run->losses, missing_fields, 0);
	add_heads(run, &without, &whole, errors);
	al_losses_note_errors(&run->losses, al_loss_estimate(&whole));
	al_losses_warn_seen(&run->losses, calibration, &model->all);
	return true;
}

/* ---- conversions ---- */

static const char *setting_of(struct al_table *table, const struct al_candidate *c)
{
	switch (c->method) {
	case AL_METHOD_DROP:
	case AL_METHOD_MERGE:
		return al_format(&table->arena, "%lld head%s per layer", (long long)c->rank,
			c->rank == 1 ? "" : "s");
	case AL_METHOD_LATENT:
		return al_format(&table->arena, "%s from %lld", c->of_keys ? "keys" : "values",
			(long long)c->rank);
	case AL_METHOD_GQA:
		return al_format(&table->arena, "%lld %s%s", (long long)c->rank,
			c->of_keys ? "key/value head" : "value", c->rank == 1 ? "" : "s");
	case AL_METHOD_MHE_MUL:
		return "one for all heads";
	default:
		return al_format(&table->arena, "rank %lld", (long long)c->rank);
	}
}

static double saving(int64_t now, int64_t before)
{
	return 100 * (1 - (double)now / (double)before);
}

struct row {
	const char *method, *setting, *frontier, *label;
	int64_t cached;
	double saving, cache_saving, error, loss, agreement;
	struct al_judgment on;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct row, method, "Conversion")},
	{AL_SHOW_KEY(struct row, setting, "Setting")},
	{AL_SHOW(struct row, saving, "Parameters saved", .unit = "%", .digits = 1)},
	{AL_SHOW_WHOLE(struct row, cached, "Cached numbers per token")},
	{AL_SHOW(struct row, cache_saving, "Cache saved", .unit = "%", .digits = 1)},
	{AL_SHOW(struct row, error, "Error", .digits = 4)},
	{AL_SHOW(struct row, loss, "Loss", .unit = "nats per token", .digits = 4)},
	{{.key = "loss_increase", .title = "Loss added", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct row, on.change.mean)},
	{{.key = "loss_increase_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct row, on.change.error)},
	{{.key = "kl", .title = "KL divergence", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct row, on.divergence.mean)},
	{{.key = "kl_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct row, on.divergence.error)},
	{AL_SHOW(struct row, agreement, "Same top token", .unit = "%", .digits = 1)},
	{AL_SHOW(struct row, frontier, "Frontier")},
	{AL_SHOW(struct row, label, "Point")},
	AL_FIELDS_END,
};

static void add_row(struct al_table *table, const struct al_candidate *c)
{
	const char *setting = setting_of(table, c);

	al_table_add_record(table,
		&(struct row){.method = al_method_names[c->method],
			.setting = setting,
			.saving = saving(c->parameters, c->original),
			.cached = c->cached,
			.cache_saving = saving(c->cached, c->cached_originally),
			.error = c->error,
			.loss = c->measured.compressed.mean,
			.on = c->measured,
			.agreement = 100 * c->measured.agreement.mean,
			.frontier = c->is_best ? "on it"
				: c->is_tied   ? "tied"
					       : "inside",
			.label = c->is_best ? setting : ""});
}

/* The model in the words of compress. */
static const char *options_of(struct al_arena *arena, const struct al_candidate *c)
{
	const bool drops = c->method == AL_METHOD_DROP || c->method == AL_METHOD_MERGE;

	return al_format(arena, "--method %s %s %lld%s%s", al_method_names[c->method],
		drops ? "--drop" : "--rank", (long long)c->rank,
		c->of_keys && c->method == AL_METHOD_LATENT ? " --of keys" : "",
		c->parameters < c->original ? "" : " --force");
}

static const char *describe_sample(struct al_table *table, const struct al_calibration *calibration,
	const struct al_batch *all)
{
	const size_t n = al_calibration_count_seen(calibration, all);
	const char *seen = n == 0	? "none"
		: n == all->n_sequences ? "all"
					: al_format(&table->arena, "%zu", n);

	return al_format(&table->arena,
		"Calibrated on %zu sequence%s, judged on %zu, %s of them from the calibration",
		calibration->n_sequences, calibration->n_sequences == 1 ? "" : "s",
		all->n_sequences, seen);
}

/* A conversion that costs nothing has no place on a logarithmic axis. */
static bool draw(struct al_session *session, const struct al_table *table,
	const struct al_frontier *frontier, const char *sample, const char *folder,
	struct al_error *err)
{
	bool has_zero = false;

	for (size_t i = 0; i < frontier->n; i++)
		has_zero |= frontier->items[i].measured.divergence.mean <= 0;
	const struct al_figure figure = {
		.id = "frontier",
		.title = sample,
		.mark = "point",
		.x = {.column = "cached", .title = "Cached numbers per token"},
		.y = {.column = "kl",
			.title = "KL divergence (nats per token)",
			.scale = has_zero ? AL_AXIS_LINEAR : AL_AXIS_LOG},
		.series = "method",
		.label = "label",
		.width_pt = AL_FIGURE_PAGE_PT,
		.legend = true,
	};

	return al_folder_make(folder, err)
		&& al_draw_into(&session->files, &figure, table, folder, err);
}

static bool measure_conversions(struct al_audit_run *run, struct al_running *model,
	struct al_error *err)
{
	const struct al_calibration *calibration = al_covariance_calibration(&run->covariance);
	const char *figures = run->options->figures;
	struct al_table *table = &run->frontier;
	struct al_frontier frontier;

	if (!al_frontier_find(&frontier, &model->network, calibration, &model->all,
		    &run->progress->watch, err))
		return false;
	al_table_init(table, "frontier", "Measured cost of conversions");
	al_table_add_fields(table, fields, 0);
	for (size_t i = 0; i < frontier.n; i++)
		add_row(table, &frontier.items[i]);
	if (frontier.n == 0)
		return true;
	run->frontier_options = al_new_array(&run->session->arena, const char *, frontier.n);
	for (size_t i = 0; i < frontier.n; i++)
		run->frontier_options[i] = options_of(&run->session->arena, &frontier.items[i]);
	al_losses_note_errors(table, frontier.items[0].measured.divergence);
	al_losses_warn_seen(table, calibration, &model->all);
	al_table_note(table,
		"the original's loss is %.4f; each conversion changes all layers alike, by closed "
		"forms weighted by the calibration; drop, merge and ov also refit W_O; error, "
		"relative: of drop, merge and ov that of the layers' outputs, of others of what "
		"the closed form minimizes, %s; frontier: no other conversion with as "
		"small a cache has a lower KL divergence; tied: others have a lower one in this "
		"sample, "
		"but none significantly, by paired differences over sequences at 95 %%",
		frontier.items[0].measured.original.mean,
		calibration->n_folds > 1 ? "cross-fitted but for gqa and mhe-mul, in sample"
					 : "in sample");
	return !figures
		|| draw(run->session, table, &frontier,
			describe_sample(table, calibration, &model->all), figures, err);
}

/* ---- the sentence on heads ---- */

/* Of the other heads that were tried, how many can't be told from the one of least loss. */
static const char *say_tied(struct al_arena *arena, const struct al_table *losses)
{
	const size_t n = al_count_rows(losses, "place", "tied");

	if (n == 0)
		return "";
	return al_format(arena, " These tokens don't tell it from %s of %s tried.",
		al_claim_count(arena, "tied", (int64_t)n - 1),
		al_claim_counted(arena, losses->n_rows - 1, "other head"));
}

/* The head of least loss. */
const char *al_audit_verdict_say_losses(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *losses = &run->losses;
	double before = 0, after = 0, error;

	if (losses->n_rows == 0)
		return "";
	const size_t row = al_table_extreme(losses, "loss", -1, &after);

	(void)al_table_number(losses, row, "original", &before);
	if (!al_table_number(losses, row, "loss_increase_error", &error))
		error = (double)NAN;
	return al_format(arena, "Without %s and with W_O refitted the loss %s.%s",
		al_audit_head_text(run, losses, row), al_claim_loss(arena, before, after, error),
		say_tied(arena, losses));
}

/* ---- all ---- */

bool al_audit_run_losses(struct al_audit_run *run, struct al_error *err)
{
	const struct al_input_options *input = &run->options->input;

	if (!al_input_is_given(input))
		return true;
	struct al_running *model = al_session_running(run->session, &run->opened->view, input, err);
	run->progress->whole = run->opened->checkpoint->path;
	return model && measure_heads(run, model, err) && measure_conversions(run, model, err);
}
