/* audit --tokens: what it costs to leave out heads and to convert the checkpoint, measured; and the
 * conversions drawn. */
#include "answer/audit_run.h"

#include "base/file.h"
#include "answer/draw.h"
#include "compress/judge.h"

/* ---- the tokens it was measured on ---- */

static void add_notes(struct al_table *table, const struct al_calibration *calibration,
	const struct al_batch *all)
{
	const size_t n = all->n_sequences, n_seen = al_calibration_count_seen(calibration, all);

	const char *tokens = al_format(&table->arena, "%zu", al_batch_tokens(all));

	al_table_warn(table, "measured on %s tokens (%zu sequence%s), %s",
		al_exact_grouped(&table->arena, tokens), n, n == 1 ? "" : "s",
		n_seen == 0 ? "none of them used for calibration"
			    : al_format(&table->arena,
				    "%zu of the sequences used for calibration: losses are too "
				    "small",
				    n_seen));
}

/* ---- heads ---- */

struct missing {
	struct al_audit_place at;
	int64_t head;
	double error_compensated, original, loss, loss_increase;
};

static const struct al_table_field missing_fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_SHOW_KEY(struct missing, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct missing, error_compensated, "Error, W_O refitted", .digits = 4)},
	{AL_SHOW(struct missing, original, "Loss", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct missing, loss, "Loss without it", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct missing, loss_increase, "Loss added", .unit = "nats per token",
		.digits = 4)},
	AL_FIELDS_END,
};

/* Errors compare within a layer: of each the head whose loss others make up for best. */
static void choose_heads(const struct al_audit_run *run, const struct al_table *drop,
	struct al_missing_head *items, double *errors)
{
	for (size_t row = 0, i = 0; row < drop->n_rows; row++) {
		double error = 0, head = 0;
		if (!al_table_number(drop, row, "error_compensated", &error)
			|| !al_table_number(drop, row, "head", &head))
			continue;
		while (strcmp(run->measured[i]->name, al_table_text(drop, row, "module")) != 0)
			i++;
		if (items[i].attention && errors[i] <= error)
			continue;
		items[i] = (struct al_missing_head){run->measured[i], (int64_t)head, 0};
		errors[i] = error;
	}
}

/* Needs the table `drop`. */
static bool measure_heads(struct al_audit_run *run, struct al_running *model, struct al_error *err)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *drop = al_audit_run_table(run, "drop");
	const size_t n = run->n_measured;
	struct al_missing_head *items = al_new_array(arena, struct al_missing_head, n + 1);
	double *errors = al_new_array(arena, double, n + 1), whole;

	if (!drop || drop->n_rows == 0)
		return true;
	choose_heads(run, drop, items, errors);
	if (!al_judge_heads(&model->network, al_covariance_calibration(&run->covariance),
		    &model->all, &run->progress->watch, items, n, &whole, err))
		return false;
	al_table_init(&run->losses, "losses",
		"Loss without the cheapest head of each layer, measured");
	al_table_add_fields(&run->losses, missing_fields, 0);
	for (size_t i = 0; i < n; i++)
		al_table_add_record(&run->losses,
			&(struct missing){{items[i].attention->name, items[i].attention->layer},
				items[i].head, errors[i], whole, items[i].loss,
				items[i].loss - whole});
	add_notes(&run->losses, al_covariance_calibration(&run->covariance), &model->all);
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
	double saving, cache_saving, error, loss, kl, agreement;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct row, method, "Conversion")},
	{AL_SHOW_KEY(struct row, setting, "Setting")},
	{AL_SHOW(struct row, saving, "Parameters saved", .unit = "%", .digits = 1)},
	{AL_SHOW_WHOLE(struct row, cached, "Cached numbers per token")},
	{AL_SHOW(struct row, cache_saving, "Cache saved", .unit = "%", .digits = 1)},
	{AL_SHOW(struct row, error, "In-sample error", .digits = 4)},
	{AL_SHOW(struct row, loss, "Loss", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct row, kl, "KL divergence", .unit = "nats per token", .digits = 4)},
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
			.loss = c->measured.compressed,
			.kl = c->measured.divergence,
			.agreement = 100 * c->measured.agreement,
			.frontier = c->is_best ? "on it" : "inside",
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
		has_zero |= frontier->items[i].measured.divergence <= 0;
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
	add_notes(table, calibration, &model->all);
	al_table_note(table,
		"the original's loss is %.4f; each conversion changes all layers alike, by closed "
		"forms weighted by the calibration; drop, merge and ov also refit W_O; error: "
		"relative in-sample error of what the closed form minimizes; frontier: no other "
		"conversion with as small a cache has a lower KL divergence",
		frontier.items[0].measured.original);
	return !figures
		|| draw(run->session, table, &frontier,
			describe_sample(table, calibration, &model->all), figures, err);
}

bool al_audit_run_losses(struct al_audit_run *run, struct al_error *err)
{
	const struct al_input_options *input = &run->options->input;

	if (!al_input_is_given(input))
		return true;
	struct al_running *model = al_session_running(run->session, &run->opened->view, input, err);
	run->progress->whole = run->opened->checkpoint->path;
	return model && measure_heads(run, model, err) && measure_conversions(run, model, err);
}
