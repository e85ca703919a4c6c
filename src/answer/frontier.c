/* audit --tokens: what conversions of the checkpoint cost, measured and drawn. */
#include "answer/audit_run.h"

#include "base/file.h"
#include "answer/draw.h"
#include "compress/judge.h"

static const char *setting_of(struct al_table *table, const struct al_candidate *c)
{
	switch (c->method) {
	case AL_METHOD_DROP:
	case AL_METHOD_MERGE:
		return al_format(&table->arena, "%lld head%s a module", (long long)c->rank,
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
	{AL_SHOW_WHOLE(struct row, cached, "Cached numbers a token")},
	{AL_SHOW(struct row, cache_saving, "Cache saved", .unit = "%", .digits = 1)},
	{AL_SHOW(struct row, error, "Error in sample", .digits = 4)},
	{AL_SHOW(struct row, loss, "Loss", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct row, kl, "KL divergence", .unit = "nats per token", .digits = 4)},
	{AL_SHOW(struct row, agreement, "Same likeliest token", .unit = "%", .digits = 1)},
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

static bool saves_more(const struct al_candidate *a, const struct al_candidate *b)
{
	return a->cached < b->cached
		|| (a->cached == b->cached && a->measured.divergence < b->measured.divergence);
}

/* The most that is saved of the cache at a KL divergence of at most this. */
static void conclude(struct al_table *table, const struct al_frontier *f)
{
	static const double most = .05;
	const struct al_candidate *best = NULL;

	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].measured.divergence <= most
			&& (!best || saves_more(&f->items[i], best)))
			best = &f->items[i];
	if (best)
		al_table_note(table,
			"at a KL divergence of at most %g, %s (%s) caches least: %.1f %% less, for "
			"%.4f nats a token",
			most, al_method_names[best->method], setting_of(table, best),
			saving(best->cached, best->cached_originally), best->measured.divergence);
	else
		al_table_note(table, "no conversion here has a KL divergence of %g or less", most);
}

static void add_notes(struct al_table *table, const struct al_frontier *f,
	const struct al_calibration *calibration, const struct al_batch *all)
{
	const size_t n_seen = al_calibration_count_seen(calibration, all);

	conclude(table, f);
	al_table_note(table,
		"measured on %zu sequence%s of %zu tokens, %zu of them among the calibration's%s; "
		"the original's loss is %.4f",
		all->n_sequences, all->n_sequences == 1 ? "" : "s", al_batch_tokens(all), n_seen,
		n_seen ? " (in sample: losses are too small)" : " (out of sample)",
		f->items[0].measured.original);
	al_table_note(table,
		"each changes all modules alike, by closed forms in the calibration's measure, "
		"drop, merge and ov with W_O fitted anew; error: of what the form minimises, in "
		"sample; frontier: no other that caches as little has less KL divergence");
}

static const char *describe_sample(struct al_table *table, const struct al_calibration *calibration,
	const struct al_batch *all)
{
	const size_t n = al_calibration_count_seen(calibration, all);
	const char *seen = n == 0	? "none"
		: n == all->n_sequences ? "all"
					: al_format(&table->arena, "%zu", n);

	return al_format(&table->arena,
		"Calibrated on %zu sequence%s, judged on %zu, %s of them the calibration's",
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
		.x = {.column = "cached", .title = "Cached numbers a token"},
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

static bool measure(struct al_audit_run *run, struct al_running *model, struct al_error *err)
{
	const struct al_calibration *calibration = al_covariance_calibration(&run->covariance);
	const struct al_watch watch = {al_progress_show, run->progress};
	const char *figures = run->options->figures;
	struct al_frontier frontier;

	run->progress->whole = run->opened->checkpoint->path;
	if (!al_frontier_find(&frontier, &model->network, calibration, &model->all, &watch, err))
		return false;
	struct al_table *table = al_session_table(run->session, "frontier", fields, 0,
		"What conversions cost, measured");
	bool ok = true;
	for (size_t i = 0; i < frontier.n; i++)
		add_row(table, &frontier.items[i]);
	if (frontier.n > 0) {
		add_notes(table, &frontier, calibration, &model->all);
		ok = !figures
			|| draw(run->session, table, &frontier,
				describe_sample(table, calibration, &model->all), figures, err);
	}
	return ok;
}

bool al_audit_run_frontier(struct al_audit_run *run, struct al_error *err)
{
	const struct al_input_options *input = &run->options->input;

	if (!al_input_is_given(input))
		return true;
	struct al_running *model = al_session_running(run->session, &run->opened->view, input, err);
	return model && measure(run, model, err);
}
