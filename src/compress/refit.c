/* W_O fitted to what a compressed module's heads put out: o of the original's heads and p of the
 * compressed ones on the same inputs x, W = E[p^T p]^+ E[p^T o] W_O. */
#include "compress/job.h"

#include "model/calibration/outputs.h"
#include "model/forward/pass.h"

const char *const al_refit_names[AL_N_REFITS] = {"auto", "none", "tokens", "sequential"};

enum { TOKENS_AT_ONCE = 512 };

struct fitting {
	struct al_network *network;
	const struct al_factor_source *before, *own; /* weights of layers before; the module's */
	const struct al_module_layout *layout;
	struct al_matrix moment, gram, cross; /* o^T o, p^T p, p^T o */
	struct al_matrix_f product;
};

/* ---- sums ---- */

static bool add_product(struct fitting *f, struct al_view_f a, struct al_view_f b,
	struct al_matrix to, struct al_error *err)
{
	for (size_t first = 0; first < a.cols; first += TOKENS_AT_ONCE) {
		const size_t n = al_least(a.cols - first, TOKENS_AT_ONCE);
		if (!al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, al_columns_f(a, first, n),
			    al_columns_f(b, first, n), 0, f->product, err))
			return false;
		for (size_t j = 0; j < to.cols; j++)
			for (size_t i = 0; i < to.rows; i++)
				to.data[i + j * to.ld] +=
					(double)f->product.data[i + j * f->product.ld];
	}
	return true;
}

/* The heads of layer number `number` on x, with these factors. */
static bool run_heads(const struct fitting *f, const struct al_factor_source *factors,
	int64_t number, const struct al_batch *batch, struct al_view_f x, struct al_matrix_f *o,
	struct al_error *err)
{
	f->network->factors = factors;
	struct al_layer *layer = al_layer_load(f->network, number, err);
	bool ok = layer && al_layer_heads(layer, batch, x, NULL, o, err);

	f->network->factors = NULL;
	al_layer_free(layer);
	return ok;
}

static bool add_batch(struct fitting *f, const struct al_batch *batch, struct al_view_f x,
	struct al_error *err)
{
	const int64_t number = f->layout->attention->layer;
	struct al_matrix_f o = {0}, p = {0};
	bool ok = run_heads(f, NULL, number, batch, x, &o, err)
		&& run_heads(f, f->own, number, batch, x, &p, err)
		&& add_product(f, al_view_f(o), al_view_f(o), f->moment, err)
		&& add_product(f, al_view_f(p), al_view_f(p), f->gram, err)
		&& add_product(f, al_view_f(p), al_view_f(o), f->cross, err);

	al_matrix_finish_f(&o);
	al_matrix_finish_f(&p);
	return ok;
}

/* x becomes what goes into the module's layer. */
static bool run_before(const struct fitting *f, const struct al_batch *batch, struct al_matrix_f x,
	struct al_error *err)
{
	bool ok = true;

	f->network->factors = f->before;
	for (int64_t number = 0; ok && number < f->layout->attention->layer; number++) {
		struct al_layer *layer = al_layer_load(f->network, number, err);
		ok = layer && al_layer_run(layer, batch, x, err);
		al_layer_free(layer);
	}
	f->network->factors = NULL;
	return ok;
}

static bool add_all(struct fitting *f, const struct al_batch *all, struct al_error *err)
{
	bool ok = al_network_check_tokens(f->network, all, err);

	for (size_t first = 0; ok && first < all->n_sequences;) {
		struct al_matrix_f x = {0};
		struct al_batch_part part;
		al_batch_part_init(&part, all, first);
		ok = al_network_embed(f->network, &part.batch, 0, &x, err)
			&& run_before(f, &part.batch, x, err)
			&& add_batch(f, &part.batch, al_view_f(x), err);
		al_matrix_finish_f(&x);
		first += part.batch.n_sequences;
		al_batch_part_finish(&part);
	}
	return ok;
}

/* ---- the fit ---- */

static bool fit(const struct fitting *f, struct al_pieces *pieces, struct al_error *err)
{
	const struct al_attention *a = f->layout->attention;
	AL_OWNED struct al_matrix output = {0}, fitted = {0};
	double whole = 0, left = 0;

	if (!al_factor_load(f->network->view->checkpoint, &a->factors[AL_OUTPUT], &output, err)
		|| !al_matrix_init(&fitted, output.rows, output.cols, err)
		|| !al_output_refit(al_view(f->gram), al_view(f->cross), al_view(output), fitted,
			err)
		|| !al_output_power(al_view(f->moment), al_view(output), &whole, err)
		|| !al_output_power(al_view(f->gram), al_view(fitted), &left, err))
		return false;
	pieces->relative_error = whole > 0 ? sqrt(fmax(0, 1 - left / whole)) : 0;
	return al_effective_gather(f->layout, AL_OUTPUT, al_view(fitted),
		&pieces->of[AL_PIECE_OUTPUT], err);
}

bool al_refit_module(struct al_job *job, struct al_job_module *module, struct al_error *err)
{
	const struct al_data *data = &job->options->data;
	const struct al_attention *a = module->layout.attention;
	const size_t n = (size_t)(a->n_heads * a->d_value);
	struct al_job alone = {.view = job->view, .modules = module, .n_modules = 1};
	const struct al_factor_source before = al_job_factors(job), own = al_job_factors(&alone);
	struct fitting f = {.network = data->network,
		.before = data->refit == AL_REFIT_SEQUENTIAL ? &before : NULL,
		.own = &own,
		.layout = &module->layout};
	bool ok = al_matrix_init(&f.moment, n, n, err) && al_matrix_init(&f.gram, n, n, err)
		&& al_matrix_init(&f.cross, n, n, err) && al_matrix_init_f(&f.product, n, n, err)
		&& add_all(&f, data->tokens, err) && fit(&f, &module->pieces, err);

	al_matrix_finish(&f.moment);
	al_matrix_finish(&f.gram);
	al_matrix_finish(&f.cross);
	al_matrix_finish_f(&f.product);
	return ok;
}
