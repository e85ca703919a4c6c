/* One module's weights as the options change them: read whole, or a few heads at a time. */

#include "audit/audit.h"
#include "audit/rotary.h"

/* Row i of what a norm feeds is multiplied by scale[i]. */
static bool fold_norm(const struct al_audit *audit, const struct al_attention *attention,
	struct al_matrix weights, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix scale;

	if (!attention->norm || attention->norm->n_elements != (int64_t)weights.rows)
		return true;
	if (!al_take(&scratch, &scale, weights.rows, 1, err)
		|| !al_tensor_read_finite(audit->view->checkpoint, attention->norm, scale.data,
			err))
		return false;
	for (size_t j = 0; j < weights.cols; j++)
		for (size_t i = 0; i < weights.rows; i++)
			weights.data[i + j * weights.ld] *= scale.data[i]
				+ attention->has_unit_offset;
	return true;
}

static bool folds(const struct al_audit *audit, const struct al_attention *attention,
	enum al_projection p)
{
	return audit->options.folds_norms
		&& (p == AL_QUERY || (!attention->is_cross && p != AL_OUTPUT));
}

/* Does a softmax see the bias of the keys? It is the same for all keys but for what positions turn;
 * that of the outputs belongs to no head. */
static bool sees_bias(const struct al_attention *a, enum al_projection p)
{
	return p != AL_OUTPUT && (p != AL_KEY || al_has_offset(a));
}

static bool folds_bias(const struct al_audit *audit, const struct al_attention *a,
	enum al_projection p)
{
	return a->norm_bias && folds(audit, a, p) && a->factors[p].n_runs > 0
		&& a->norm_bias->n_elements == a->factors[p].rows;
}

/* (scale x + shift) W + b is x (diag(scale) W) + (shift W + b). */
static bool fold_bias(const struct al_audit *audit, const struct al_attention *a,
	enum al_projection p, struct al_matrix *bias, struct al_error *err)
{
	AL_OWNED struct al_matrix weights = {0}, shift = {0};

	return al_factor_load(audit->view->checkpoint, &a->factors[p], &weights, err)
		&& al_matrix_init(&shift, weights.rows, 1, err)
		&& al_tensor_read_finite(audit->view->checkpoint, a->norm_bias, shift.data, err)
		&& (bias->data || al_matrix_init(bias, 1, weights.cols, err))
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(shift), al_view(weights), 1, *bias,
			err);
}

static bool load_biases(struct al_audit_module *module, const struct al_audit *audit,
	struct al_error *err)
{
	const struct al_attention *a = module->attention;

	for (int i = 0; i < AL_N_PROJECTIONS; i++) {
		const enum al_projection p = (enum al_projection)i;
		struct al_matrix *bias = &module->biases[p];
		if (!sees_bias(a, p))
			continue;
		if (!al_factor_load(audit->view->checkpoint, &a->biases[p], bias, err)
			|| (folds_bias(audit, a, p) && !fold_bias(audit, a, p, bias, err)))
			return false;
	}
	return true;
}

/* Takes the mean over its dimensions off each head. */
static void center(const struct al_factor *factor, struct al_matrix weights)
{
	const size_t width = (size_t)factor->width;

	for (size_t at = 0; width > 0 && at + width <= weights.cols; at += width)
		al_center(al_part(weights, 0, at, weights.rows, width));
}

/* Unit roundoff of the coarsest of the stored formats. */
static double unit_of(const struct al_attention *attention)
{
	double unit = 0x1p-53;

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (attention->factors[p].dtype && attention->factors[p].dtype->epsilon / 2 > unit)
			unit = attention->factors[p].dtype->epsilon / 2;
	return unit;
}

static void set_factors(struct al_audit_module *module)
{
	const struct al_attention *a = module->attention;
	struct al_matrix *w = module->weights;

	module->heads = (struct al_heads){
		.query = al_view(w[AL_QUERY]),
		.key = al_view(w[AL_KEY]),
		.n_heads = (size_t)a->n_heads,
		.n_kv_heads = (size_t)a->n_kv_heads,
		.d_head = (size_t)a->d_head,
		.d_value = (size_t)a->d_value,
		.unit = unit_of(a),
	};
	if (w[AL_VALUE].data && w[AL_OUTPUT].data) {
		module->heads.value = al_view(w[AL_VALUE]);
		module->heads.output = al_view(w[AL_OUTPUT]);
	}
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (module->biases[p].data)
			module->heads.bias[p] = al_view(module->biases[p]);
}

static void change_biases(struct al_audit_module *module, const struct al_audit_options *options)
{
	for (int p = 0; options->is_centered && p < AL_N_PROJECTIONS; p++)
		center(&module->attention->factors[p], module->biases[p]);
	if (module->biases[AL_QUERY].data)
		al_rotate_queries(module->attention, options->offset, module->biases[AL_QUERY]);
}

/* Applies the options to the stored weights. Queries are rotated last, so that means are taken over
 * the stored dimensions. */
static bool change(struct al_audit_module *module, const struct al_audit_options *options,
	struct al_error *err)
{
	if (options->covariance
		&& !al_covariance_apply(options->covariance, module->attention, module->weights,
			module->biases, err))
		return false;
	change_biases(module, options);
	for (int p = 0; options->is_centered && p < AL_N_PROJECTIONS; p++)
		center(&module->attention->factors[p], module->weights[p]);
	al_rotate_queries(module->attention, options->offset, module->weights[AL_QUERY]);
	return true;
}

/* ---- reading: all heads, or a few at a time ---- */

/* Buffers for all heads of a module. */
static const double PART_BYTES = 128 * 1024 * 1024;

/* Some key/value heads and the queries that share them. */
struct part {
	const struct al_audit *audit;
	const struct al_attention *attention;
	size_t first, n; /* key/value heads */
	struct al_matrix weights[AL_N_PROJECTIONS];
	int64_t not_finite[AL_N_PROJECTIONS];
};

/* Heads that aren't finite are counted and left at zero: the module will be refused. */
static bool read_projection(void *context, size_t index, struct al_error *err)
{
	struct part *x = context;
	const enum al_projection p = (enum al_projection)index;
	const struct al_factor *factor = &x->attention->factors[p];
	const size_t times = (size_t)(factor->heads / x->attention->n_kv_heads);
	struct al_matrix *w = &x->weights[p];

	if (factor->n_runs == 0)
		return true;
	if (!al_matrix_init(w, (size_t)factor->rows, x->n * times * (size_t)factor->width, err)
		|| !al_factor_read(x->audit->view->checkpoint, factor, (int64_t)(x->first * times),
			(int64_t)(x->n * times), *w, err))
		return false;
	if (!al_is_finite(al_view(*w))) {
		x->not_finite[p] += al_matrix_count_not_finite(al_view(*w));
		memset(w->data, 0, w->rows * w->cols * sizeof(*w->data));
	}
	return !folds(x->audit, x->attention, p) || fold_norm(x->audit, x->attention, *w, err);
}

static bool check_finite(const struct part *x, struct al_error *err)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (x->not_finite[p]
			&& !al_factor_check_finite(&x->attention->factors[p], x->not_finite[p],
				err))
			return false;
	return true;
}

static bool copy_biases(const struct al_matrix *from, const double *scales, struct al_matrix *to,
	struct al_error *err)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		if (!from[p].data)
			continue;
		if (!al_matrix_init(&to[p], 1, from[p].cols, err))
			return false;
		for (size_t j = 0; j < from[p].cols; j++)
			to[p].data[j * to[p].ld] = from[p].data[j * from[p].ld]
				/ (scales ? scales[p] : 1);
	}
	return true;
}

/* Inputs weigh the module's heads: what is drawn of them is weighed after that. */
static bool keep_stored(struct al_audit_module *module, struct al_error *err)
{
	set_factors(module);
	return al_triangles_take(&module->stored, &module->heads, err)
		&& copy_biases(module->biases, NULL, module->stored_biases, err);
}

static bool read_whole(struct al_audit_module *module, const struct al_audit *audit,
	struct al_error *err)
{
	struct part part = {.audit = audit,
		.attention = module->attention,
		.n = (size_t)module->attention->n_kv_heads};
	const bool ok = al_parallel(AL_N_PROJECTIONS, read_projection, &part, err);

	memcpy(module->weights, part.weights, sizeof(part.weights));
	if (!ok || !check_finite(&part, err)
		|| (audit->options.covariance && audit->options.n_nulls != 0
			&& !keep_stored(module, err))
		|| !change(module, &audit->options, err))
		return false;
	set_factors(module);
	return al_triangles_take(&module->triangles, &module->heads, err);
}

static bool add_part(struct al_audit_module *module, struct part *part, struct al_error *err)
{
	struct al_heads heads = module->heads;
	bool ok = al_parallel(AL_N_PROJECTIONS, read_projection, part, err);

	for (int p = 0; part->audit->options.is_centered && p < AL_N_PROJECTIONS; p++)
		center(&part->attention->factors[p], part->weights[p]);
	heads.n_heads = part->n * heads.n_heads / heads.n_kv_heads;
	heads.n_kv_heads = part->n;
	heads.query = al_view(part->weights[AL_QUERY]);
	heads.key = al_view(part->weights[AL_KEY]);
	heads.value = al_view(part->weights[AL_VALUE]);
	heads.output = al_view(part->weights[AL_OUTPUT]);
	ok = ok && al_triangles_add(&module->triangles, &heads, part->first, err);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&part->weights[p]);
	return ok;
}

static struct al_view shape_of(const struct al_factor *factor)
{
	return (struct al_view){NULL, (size_t)factor->rows, (size_t)(factor->heads * factor->width),
		(size_t)factor->rows};
}

static size_t heads_a_part(const struct al_attention *a)
{
	double bytes = 0;

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		bytes += (double)(a->factors[p].rows * a->factors[p].heads * a->factors[p].width)
			* sizeof(double);
	return (size_t)fmax(1, PART_BYTES / fmax(bytes / (double)a->n_kv_heads, 1));
}

static bool read_parts(struct al_audit_module *module, const struct al_audit *audit,
	struct al_error *err)
{
	const struct al_attention *a = module->attention;
	const bool has_values = a->factors[AL_VALUE].n_runs > 0;
	const size_t n = (size_t)a->n_kv_heads, most = heads_a_part(a);
	struct part part = {.audit = audit, .attention = a};

	change_biases(module, &audit->options);
	set_factors(module);
	module->heads.query = shape_of(&a->factors[AL_QUERY]);
	module->heads.key = shape_of(&a->factors[AL_KEY]);
	if (has_values) {
		module->heads.value = shape_of(&a->factors[AL_VALUE]);
		module->heads.output = shape_of(&a->factors[AL_OUTPUT]);
	}
	if (!al_triangles_init(&module->triangles, &module->heads, has_values, err))
		return false;
	for (; part.first < n; part.first += most) {
		part.n = al_least(most, n - part.first);
		if (!add_part(module, &part, err))
			return false;
	}
	return check_finite(&part, err);
}

/* Only what is done to each head on its own can be done to a part. */
static bool can_take_parts(const struct al_audit *audit, const struct al_attention *a)
{
	const struct al_audit_options *options = &audit->options;

	return options->needs && !options->needs->weights && !options->covariance
		&& options->offset == 0 && !a->is_latent
		&& (a->factors[AL_VALUE].n_runs > 0) == (a->factors[AL_OUTPUT].n_runs > 0);
}

bool al_audit_module_init(struct al_audit_module *module, const struct al_audit *audit,
	const struct al_attention *attention, struct al_error *err)
{
	*module = (struct al_audit_module){.attention = attention,
		.index = (uint64_t)(attention - audit->view->modules)};
	if (load_biases(module, audit, err)
		&& (can_take_parts(audit, attention) ? read_parts : read_whole)(module, audit, err))
		return true;
	al_audit_module_finish(module);
	return false;
}

void al_audit_module_finish(struct al_audit_module *module)
{
	for (size_t i = 0; i < module->n_draws; i++)
		al_spectra_finish(&module->draws[i]);
	al_spectra_finish(&module->head_spectra);
	al_spectra_finish(&module->layer_spectra);
	al_triangles_finish(&module->triangles);
	al_triangles_finish(&module->stored);
	al_scratch_finish(&module->scratch);
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		al_matrix_finish(&module->stored_biases[p]);
		al_matrix_finish(&module->weights[p]);
		al_matrix_finish(&module->biases[p]);
		al_matrix_finish(&module->grams[p]);
	}
	*module = (struct al_audit_module){0};
}

/* ---- draws ---- */

/* Weights in double, as if they were stored. */
static bool set_drawn(struct al_audit_module *module, const struct al_drawn *drawn,
	struct al_error *err)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_matrix_f from = drawn->weights[p];
		if (from.data
			&& (!al_matrix_init(&module->weights[p], from.rows, from.cols, err)
				|| !al_widen(al_view_f(from), module->weights[p], err)))
			return false;
	}
	return true;
}

/* The other way round, with the triangles of the module's heads. */
static bool narrow(const struct al_audit_module *module, struct al_drawn *out, struct al_error *err)
{
	if (!al_drawn_init(out, &module->heads, al_has_values(&module->heads), err))
		return false;
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (out->weights[p].data
			&& (!al_narrow(al_view(module->weights[p]), out->weights[p], err)
				|| !al_copy(al_view(module->triangles.of[p].r),
					out->triangles.of[p].r, err)))
			return false;
	return true;
}

bool al_audit_module_draw(const struct al_audit_module *module, const struct al_audit *audit,
	uint64_t draw, struct al_spectra *layer, struct al_thinned *thinned, struct al_error *err)
{
	AL_OWNED_DRAWN struct al_drawn drawn = {0}, weighed = {0};
	struct al_audit_module other = {.attention = module->attention};
	double scales[AL_N_PROJECTIONS];

	bool ok = al_null_draw(&drawn, &module->stored, audit->options.seed, module->index, draw,
			  scales, err)
		&& set_drawn(&other, &drawn, err)
		&& copy_biases(module->stored_biases, scales, other.biases, err)
		&& change(&other, &audit->options, err);
	if (ok)
		set_factors(&other);
	ok = ok && al_triangles_take(&other.triangles, &other.heads, err)
		&& narrow(&other, &weighed, err)
		&& al_null_spectra(layer, thinned, &weighed, scales, err);
	al_audit_module_finish(&other);
	return ok;
}
