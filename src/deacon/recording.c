/* Recording the heads of a model that runs: module after module lie in the file, of each all
 * tokens' head outputs and then all tokens' targets, as float32, which is what the model computes
 * in. */
#include "deacon/recording.h"

/* Where each module's numbers lie. */
static void place(struct al_recording *r, const struct al_network *network, const bool *is_wanted)
{
	const struct al_model_view *view = network->view;
	size_t at = 0;

	r->rows = al_calloc(view->n_modules, sizeof(*r->rows));
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		const size_t widths[2] = {(size_t)(a->n_heads * a->d_value),
			(size_t)network->d_model};
		for (int k = 0; k < 2 && is_wanted[i]; k++) {
			r->rows[i][k] = (struct al_rows){.name = a->name,
				.n_rows = r->n_tokens,
				.width = widths[k],
				.recorded = &r->file,
				.recorded_at = at * sizeof(float)};
			at += r->n_tokens * widths[k];
		}
	}
}

/* ---- while the model runs ---- */

struct recorder {
	struct al_recording *recording;
	const struct al_attention *modules;
	const int32_t *tokens; /* all */
};

/* The columns of a batch, from token `first` on, are rows of the file. */
static bool record(const struct al_rows *rows, size_t first, struct al_view_f columns,
	struct al_error *err)
{
	bool ok = true;

	for (size_t j = 0; ok && j < columns.cols; j++)
		ok = al_spill_put_at(rows->recorded,
			rows->recorded_at + (first + j) * rows->width * sizeof(float),
			columns.data + j * columns.ld, rows->width * sizeof(float), err);
	return ok;
}

static bool record_heads(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f o, struct al_matrix_f y, struct al_error *err)
{
	const struct recorder *r = context;
	const struct al_rows *rows = r->recording->rows[al_layer_attention(layer) - r->modules];
	const size_t first = (size_t)(batch->tokens - r->tokens);

	return al_layer_project(layer, batch, o, y, err)
		&& (!rows[0].recorded
			|| (record(&rows[0], first, o, err)
				&& record(&rows[1], first, al_view_f(y), err)));
}

bool al_recording_make(struct al_recording *out, struct al_network *network,
	const struct al_batch *all, const bool *is_wanted, const struct al_watch *watch,
	struct al_error *err)
{
	struct recorder recorder = {.recording = out,
		.modules = network->view->modules,
		.tokens = all->tokens};

	*out = (struct al_recording){.n_tokens = al_batch_tokens(all)};
	place(out, network, is_wanted);
	if ((al_spill_open(&out->file, NULL, err) || al_in(err, "temporary file for head outputs"))
		&& al_network_pass(network, all, watch,
			&(struct al_visitor){.project = record_heads, .context = &recorder}, err))
		return true;
	al_recording_finish(out);
	return false;
}

void al_recording_finish(void *context)
{
	struct al_recording *recording = context;

	al_spill_close(&recording->file);
	free(recording->rows);
	*recording = (struct al_recording){0};
}
