/* What methods make of a module in the measure of data. */
#include "compress/work.h"

#include <math.h>

bool al_data_refits(const struct al_data *data, enum al_method method)
{
	return data->calibration && data->refit == AL_REFIT_AUTO
		&& (method == AL_METHOD_OV || method == AL_METHOD_DROP);
}

static bool load(struct al_work *w, const struct al_data *data, struct al_error *err)
{
	for (int p = AL_KEY; p < AL_N_PROJECTIONS; p++)
		if (!al_factor_load(w->view->checkpoint, &w->a->factors[p], &w->weights[p], err))
			return false;
	if (w->a->biases[AL_VALUE].n_runs > 0
		&& !al_factor_load(w->view->checkpoint, &w->a->biases[AL_VALUE], &w->value_bias,
			err))
		return false;
	if (data->calibration
		&& !al_calibration_find(data->calibration, w->a->name, &w->statistics, err))
		return false;
	if (w->statistics
		&& w->statistics->of[AL_STATISTIC_HEADS].rows != w->weights[AL_OUTPUT].cols)
		return al_fail(err, AL_EINPUT,
			"the calibration has %zu outputs of heads, the module %zu",
			w->statistics->of[AL_STATISTIC_HEADS].rows, w->weights[AL_OUTPUT].cols);
	return al_measure_choose(w, data->measure, err);
}

/* `of_keys`: the relative error of keys that are grouped as values are; 0: they aren't. */
static bool make(struct al_work *w, const struct al_data *data, struct al_pieces *out,
	double *of_keys, struct al_error *err)
{
	switch (w->layout->method) {
	case AL_METHOD_OV:
		return al_work_ov(w, out, al_data_refits(data, AL_METHOD_OV), err);
	case AL_METHOD_LATENT:
		return al_work_latent(w, out, err);
	case AL_METHOD_GQA:
	case AL_METHOD_MHE_MUL:
		return al_work_gqa(w, out, data->is_aligned, err)
			&& (w->layout->method != AL_METHOD_GQA || !w->layout->of_keys
				|| al_work_group_keys(w, out, data->is_aligned, of_keys, err));
	case AL_METHOD_MERGE:
		return al_work_merge(w, out, err);
	default:
		return al_work_drop(w, out, err);
	}
}

static struct al_work work_on(const struct al_model_view *view,
	const struct al_module_layout *layout)
{
	const struct al_attention *a = layout->attention;

	return (struct al_work){.view = view,
		.layout = layout,
		.a = a,
		.width = (size_t)a->d_value,
		.n_kv = (size_t)a->n_kv_heads,
		.group = (size_t)(a->n_heads / a->n_kv_heads)};
}

static void finish(struct al_work *w)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&w->weights[p]);
	al_matrix_finish(&w->value_bias);
	al_matrix_finish(&w->gram);
}

bool al_pieces_by_data(struct al_pieces *out, const struct al_model_view *view,
	const struct al_module_layout *layout, const struct al_data *data, struct al_error *err)
{
	struct al_work w = work_on(view, layout);

	*out = (struct al_pieces){.has_settled = true};
	double of_keys = 0;
	bool ok = load(&w, data, err) && make(&w, data, out, &of_keys, err);
	if (ok && w.whole > 0)
		out->relative_error = hypot(sqrt(w.lost / w.whole), of_keys);
	finish(&w);
	if (!ok)
		al_pieces_finish(out);
	return ok;
}

bool al_choose_dropped(const struct al_model_view *view, const struct al_data *data,
	enum al_method method, const struct al_attention *a, size_t n, bool *is_dropped,
	struct al_error *err)
{
	const struct al_module_layout layout = {.attention = a, .method = method};
	struct al_work w = work_on(view, &layout);

	if (n >= (size_t)a->n_heads || a->n_kv_heads != a->n_heads)
		return al_fail(err, AL_EINPUT,
			"%s: of its %lld heads with %lld keys %zu can't be chosen: name them with "
			"--drop LAYER:HEAD",
			a->name, (long long)a->n_heads, (long long)a->n_kv_heads, n);
	const bool ok = load(&w, data, err)
		&& (method == AL_METHOD_MERGE ? al_work_choose_merged(&w, n, is_dropped, err)
					      : al_work_choose_dropped(&w, n, is_dropped, err));
	finish(&w);
	return ok || al_in(err, "%s", a->name);
}
