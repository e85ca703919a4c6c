/* What answers on losses share. */
#include "answer/losses.h"

#include "formats/npy.h"

/* ---- the loss of a model ---- */

struct loss {
	size_t sequences, tokens, predicted; /* of an encoder masked */
	struct al_estimate loss;
	double perplexity;
};

static const struct al_table_field loss_fields[] = {
	{AL_SHOW_WHOLE(struct loss, sequences, "Sequences")},
	{AL_SHOW_WHOLE(struct loss, tokens, "Tokens")},
	{AL_SHOW_WHOLE(struct loss, predicted, "Predicted")},
	{{.key = "loss", .title = "Loss", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct loss, loss.mean)},
	{{.key = "loss_error", .title = "Standard error", .digits = 4},
		AL_MEMBER(struct loss, loss.error)},
	{AL_SHOW(struct loss, perplexity, "Perplexity", .digits = 2)},
	AL_FIELDS_END,
};

struct al_table *al_losses_add_table(struct al_session *session, const struct al_loss *loss)
{
	const struct al_estimate estimate = al_loss_estimate(loss);
	struct al_table *table = al_session_table(session, "loss", loss_fields, 0,
		loss->targets ? "Loss on masked tokens" : "Loss on the tokens");
	double n_predicted = 0;

	for (size_t i = 0; i < loss->all->n_sequences; i++)
		n_predicted += loss->sequences[i].n;
	al_table_add_record(table,
		&(struct loss){loss->all->n_sequences, al_batch_tokens(loss->all),
			(size_t)n_predicted, estimate, exp(estimate.mean)});
	return table;
}

/* ---- each token's ---- */

size_t al_losses_longest(const struct al_batch *all)
{
	size_t most = 0;

	for (size_t i = 0; i < all->n_sequences; i++) {
		const size_t n = all->begin[i + 1] - all->begin[i];
		most = al_most(n, most);
	}
	return most;
}

void al_losses_add_file(struct al_session *session, const char *path, const struct al_batch *all,
	const double *losses, size_t n_models)
{
	const size_t n = all->n_sequences, shape[] = {n_models, n, al_losses_longest(all)};
	AL_FREED double *padded = al_alloc(n_models * n * shape[2], sizeof(*padded));

	for (size_t i = 0; i < n_models * n; i++) {
		const size_t first = all->begin[i % n], end = all->begin[i % n + 1];
		const double *own = losses + i / n * al_batch_tokens(all) + first;
		for (size_t j = 0; j < shape[2]; j++)
			padded[i * shape[2] + j] = j < end - first ? own[j] : (double)NAN;
	}
	if (n_models == 1)
		al_npy_add_array(al_files_add_path(&session->files, path), padded, shape + 1, 2);
	else
		al_npy_add_array(al_files_add_path(&session->files, path), padded, shape, 3);
}

/* ---- the least ---- */

void al_losses_find_places(const struct al_ablation *items, size_t m, size_t n_sequences,
	const char **places)
{
	AL_FREED const struct al_unit **samples = al_alloc(m, sizeof(*samples));
	AL_FREED bool *is_tied = al_alloc(m, sizeof(*is_tied));
	size_t n_tied = 0;

	for (size_t i = 0; i < m; i++)
		samples[i] = items[i].without;
	const size_t least = al_estimate_extreme(samples, m, n_sequences, 1, is_tied);
	for (size_t i = 0; i < m; i++)
		n_tied += is_tied[i];
	const bool is_told = n_tied == 1 || n_sequences < 2;
	for (size_t i = 0; i < m; i++)
		places[i] = is_told ? (i == least ? "least" : NULL) : is_tied[i] ? "tied" : NULL;
}

/* ---- notes ---- */

void al_losses_note_errors(struct al_table *table, struct al_estimate one)
{
	if (one.n < 2)
		al_table_warn(table,
			"no standard errors: they need two or more sequences, which are what is "
			"sampled (tokens of one text aren't independent)");
	else
		al_table_note(table,
			"standard errors: jackknife over the %lld sequences, which are what is "
			"sampled; 95 %% intervals are +- %.3g standard errors (Student's t)",
			(long long)one.n,
			al_estimate_margin((struct al_estimate){.error = 1, .n = one.n}, 1));
}

void al_losses_warn_seen(struct al_table *table, const struct al_calibration *calibration,
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
