/* audit --tokens: what it costs to convert the checkpoint, measured and drawn. */
#include "answer/audit_run.h"

#include "base/file.h"
#include "answer/draw.h"
#include "answer/losses.h"
#include "base/hash.h"
#include "base/kept.h"
#include "base/mount.h"
#include "compress/judge.h"

/* ---- the table ---- */

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
			c->of_keys ? "key/value head" : "value head", c->rank == 1 ? "" : "s");
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

/* What was measured is kept next to the calibration: the same audit goes on there. Where nothing
 * can be written, or another process writes, nothing is kept. */
static struct al_kept *open_kept(struct al_kept *kept, const struct al_audit_run *run,
	const struct al_running *model)
{
	const struct al_calibration *calibration = al_covariance_calibration(&run->covariance);
	const uint64_t numbers[] = {al_network_fingerprint(&model->network, &model->all),
		calibration->source, calibration->n_folds};

	if (al_mount_now())
		return NULL;
	const uint64_t hash = al_hash(al_hash(AL_HASH_EMPTY, numbers, sizeof(numbers)),
		calibration->sequences, calibration->n_sequences * sizeof(*calibration->sequences));
	return al_kept_open(kept, al_format(&run->session->arena, "%s.frontier", calibration->path),
		       hash, al_frontier_bytes(&model->all), NULL)
		? kept
		: NULL;
}

bool al_audit_run_frontier(struct al_audit_run *run, struct al_running *model, struct al_error *err)
{
	const struct al_calibration *calibration = al_covariance_calibration(&run->covariance);
	const char *figures = run->options->figures;
	struct al_table *table = &run->frontier;
	struct al_frontier frontier;
	struct al_kept kept = {0};

	const bool is_complete = al_frontier_find(&frontier, &model->network, calibration,
		&model->all, open_kept(&kept, run, model), &run->progress->watch, err);
	al_kept_close(&kept, is_complete);
	if (!is_complete)
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
