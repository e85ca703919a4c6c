/* A PCA layer across heads in a model. */
#include "deacon/in_place.h"

enum { TOKENS_AT_ONCE = 64 };

/* The intercept: the target's mean less what the projections' means give. */
static bool find_intercept(struct al_in_place *out, const struct al_target_moments *moments,
	struct al_error *err)
{
	memcpy(out->intercept.data, moments->target_mean,
		moments->n_targets * sizeof(*moments->target_mean));
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, -1, al_view(out->output), al_view(moments->means),
		1, out->intercept, err);
}

static bool fit(struct al_in_place *out, const struct al_rows rows[2],
	const struct al_principal *principal, struct al_error *err)
{
	const struct al_view weights = al_view(out->weights);
	AL_ENDS(al_target_moments_finish) struct al_target_moments moments = {0};

	return al_target_moments_find(&moments, rows, principal, &weights, err)
		&& al_regression_fit(&moments, out->output, err)
		&& find_intercept(out, &moments, err);
}

bool al_in_place_init(struct al_in_place *out, const struct al_rows rows[2],
	const struct al_principal *principal, struct al_view weights, struct al_error *err)
{
	const struct al_pca_layer *layer = &principal->layer;
	const size_t n_targets = rows[1].width;

	*out = (struct al_in_place){0};
	if (!al_pca_layer_init(&out->layer, layer->architecture, layer->n_heads, layer->d_head,
		    &out->scratch, err))
		return false;
	memcpy(out->layer.mean, layer->mean, layer->n_norm * sizeof(*layer->mean));
	memcpy(out->layer.scale, layer->scale, layer->n_norm * sizeof(*layer->scale));
	return al_take(&out->scratch, &out->weights, weights.rows, weights.cols, err)
		&& al_copy(weights, out->weights, err)
		&& al_take(&out->scratch, &out->output, weights.cols * layer->width, n_targets, err)
		&& al_take(&out->scratch, &out->intercept, n_targets, 1, err)
		&& fit(out, rows, principal, err);
}

void al_in_place_finish(void *context)
{
	al_scratch_finish(&((struct al_in_place *)context)->scratch);
}

/* ---- some tokens ---- */

struct applying {
	const struct al_in_place *in_place;
	struct al_view_f o;
	struct al_matrix_f y;
};

static void make_features(const struct al_pca_layer *layer, struct al_view_f o, struct al_matrix u)
{
	AL_FREED double *row = al_alloc(o.rows, sizeof(*row));

	for (size_t j = 0; j < o.cols; j++) {
		for (size_t i = 0; i < o.rows; i++)
			row[i] = (double)o.data[i + j * o.ld];
		al_pca_features(layer, row, u.data + j * u.ld);
	}
}

/* (W (x) I)^T U, column by column: a column [n_features][width], seen as a matrix, is multiplied by
 * the weights and becomes [m][width]. */
static bool project(const struct al_in_place *p, struct al_matrix u, struct al_matrix out,
	struct al_error *err)
{
	const size_t width = p->layer.width;
	bool ok = true;

	for (size_t c = 0; ok && c < u.cols; c++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			(struct al_view){u.data + c * u.ld, width, p->weights.rows, width},
			al_view(p->weights), 0,
			(struct al_matrix){out.data + c * out.ld, width, p->weights.cols, width},
			err);
	return ok;
}

static bool apply(const struct al_in_place *p, struct al_view_f o, struct al_matrix u,
	struct al_matrix kept, struct al_matrix y, struct al_error *err)
{
	make_features(&p->layer, o, u);
	for (size_t j = 0; j < y.cols; j++)
		memcpy(y.data + j * y.ld, p->intercept.data, y.rows * sizeof(*y.data));
	return project(p, u, kept, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(p->output), al_view(kept), 1, y,
			err);
}

static bool apply_block(void *context, size_t index, struct al_error *err)
{
	const struct applying *a = context;
	const struct al_in_place *p = a->in_place;
	const size_t first = index * TOKENS_AT_ONCE, left = a->o.cols - first,
		     n = al_least(left, TOKENS_AT_ONCE);
	struct al_matrix u, kept, y;
	AL_SCRATCH(scratch);

	return al_take(&scratch, &u, p->layer.n_features * p->layer.width, n, err)
		&& al_take(&scratch, &kept, p->output.rows, n, err)
		&& al_take(&scratch, &y, a->y.rows, n, err)
		&& apply(p, al_columns_f(a->o, first, n), u, kept, y, err)
		&& al_narrow(al_view(y), al_part_f(a->y, 0, first, a->y.rows, n), err);
}

/* From head outputs o [n_heads*d_head][tokens] to y [d_model][tokens]. */
static bool apply_layer(const struct al_in_place *in_place, struct al_view_f o,
	struct al_matrix_f y, struct al_error *err)
{
	struct applying applying = {in_place, o, y};

	return al_parallel((o.cols + TOKENS_AT_ONCE - 1) / TOKENS_AT_ONCE, apply_block, &applying,
		err);
}

/* ---- the model ---- */

struct running {
	struct al_network *network;
	const struct al_in_place *const *layers;
	const struct al_loss *loss;
};

static bool run_module(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f o, struct al_matrix_f y, struct al_error *err)
{
	const struct running *r = context;
	const struct al_attention *module = al_layer_attention(layer);
	const struct al_in_place *p = r->layers[module - r->network->view->modules];

	return p ? apply_layer(p, o, y, err) || al_in(err, "%s", module->name)
		 : al_layer_project(layer, batch, o, y, err);
}

static bool add_loss(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct running *r = context;

	return al_loss_add(r->network, batch, hidden, NULL, r->loss, err);
}

bool al_in_place_loss(struct al_network *network, const struct al_in_place *const *layers,
	const struct al_watch *watch, const struct al_loss *out, struct al_error *err)
{
	struct running running = {network, layers, out};

	memset(out->sequences, 0, out->all->n_sequences * sizeof(*out->sequences));
	return al_network_pass(network, out->all, watch,
		&(struct al_visitor){.project = run_module,
			.hidden = add_loss,
			.context = &running},
		err);
}
