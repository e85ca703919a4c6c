/* The loss without one head, W_O of its module's other heads fitted anew: what comes before the
 * head's layer is computed once. */
#include "compress/judge.h"

#include "model/calibration/outputs.h"
#include "model/forward/evaluate.h"

struct judging {
	struct al_network *network;
	const struct al_calibration *calibration;
	struct al_missing_head *items;
	size_t n;
	struct al_loss *losses; /* [n], then the whole model's */
	struct al_matrix *outputs; /* [n] */
	size_t at; /* the item that is tried */
};

/* ---- W_O ---- */

static void clear_head(struct al_matrix m, size_t head, size_t width, bool both)
{
	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < m.rows; i++)
			if (i / width == head || (both && j / width == head))
				m.data[i + j * m.ld] = 0;
}

/* Zero where it reads the head's output. */
static bool refit(const struct judging *j, size_t i, struct al_error *err)
{
	const struct al_attention *a = j->items[i].attention;
	const size_t width = (size_t)a->d_value, head = (size_t)j->items[i].head;
	const struct al_module_statistics *statistics;
	struct al_matrix *out = &j->outputs[i];
	AL_OWNED struct al_matrix output = {0}, gram = {0}, cross = {0};

	if (!al_calibration_find(j->calibration, a->name, &statistics, err)
		|| !al_factor_load(j->network->view->checkpoint, &a->factors[AL_OUTPUT], &output,
			err))
		return false;
	const struct al_view moment = al_view(statistics->of[AL_STATISTIC_HEADS]);
	if (!al_duplicate(moment, &gram, err) || !al_duplicate(moment, &cross, err)
		|| !al_matrix_init(out, output.rows, output.cols, err))
		return false;
	clear_head(gram, head, width, true);
	clear_head(cross, head, width, false);
	return al_output_refit(al_view(gram), al_view(cross), al_view(output), *out, err);
}

static bool load(void *context, const struct al_attention *a, enum al_projection p, bool is_bias,
	struct al_matrix *out, struct al_error *err)
{
	const struct judging *j = context;

	if (a == j->items[j->at].attention && p == AL_OUTPUT && !is_bias)
		return al_duplicate(al_view(j->outputs[j->at]), out, err);
	return al_factor_load(j->network->view->checkpoint,
		is_bias ? &a->biases[p] : &a->factors[p], out, err);
}

/* ---- the model without a head ---- */

static bool try_head(struct judging *j, const struct al_batch *batch, struct al_view_f x,
	struct al_error *err)
{
	const int64_t layer = j->items[j->at].attention->layer;
	const struct al_factor_source source = {.load = load, .context = j};
	AL_OWNED_F struct al_matrix_f copy = {0}, hidden = {0};

	if (!al_matrix_init_f(&copy, x.rows, x.cols, err))
		return false;
	for (size_t i = 0; i < x.cols; i++)
		memcpy(copy.data + i * copy.ld, x.data + i * x.ld, x.rows * sizeof(float));
	j->network->factors = &source;
	const bool ok = al_network_run_from(j->network, layer, batch, copy, &hidden, err);
	j->network->factors = NULL;
	return ok
		&& al_losses_add(j->network, batch, al_view_f(hidden), NULL, &j->losses[j->at], 1,
			err);
}

static bool try_layer(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_view_f o, struct al_error *err)
{
	struct judging *j = context;

	(void)o;
	for (j->at = 0; j->at < j->n; j->at++)
		if (j->items[j->at].attention == al_layer_attention(layer)
			&& !try_head(j, batch, x, err))
			return false;
	return true;
}

static bool add_whole(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct judging *j = context;

	return al_losses_add(j->network, batch, hidden, NULL, &j->losses[j->n], 1, err);
}

bool al_judge_heads(struct al_network *network, const struct al_calibration *calibration,
	const struct al_batch *all, const struct al_watch *watch, struct al_missing_head *items,
	size_t n, double *whole, struct al_error *err)
{
	AL_FREED struct al_loss *losses = al_calloc(n + 1, sizeof(*losses));
	AL_FREED struct al_matrix *outputs = al_calloc(n + 1, sizeof(*outputs));
	struct judging j = {network, calibration, items, n, losses, outputs, 0};
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++)
		ok = refit(&j, i, err);
	ok = ok
		&& al_network_pass(network, all, watch,
			&(struct al_visitor){.heads = try_layer,
				.hidden = add_whole,
				.context = &j},
			err);
	for (size_t i = 0; i < n; i++) {
		items[i].loss = losses[i].nats / (double)losses[i].n_predicted;
		al_matrix_finish(&outputs[i]);
	}
	*whole = losses[n].nats / (double)losses[n].n_predicted;
	return ok;
}
