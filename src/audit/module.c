/* One module's weights as the options change them: read whole, or a few heads at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/rotary.h"
#include "base/memory.h"
#include "formats/finite.h"

/* Row i of what a norm feeds is multiplied by scale[i]. */
static bool fold_norm(const struct al_audit *audit, const struct al_attention *attention,
	struct al_matrix weights, struct al_error *err)
{
	double *scale;

	if (!attention->norm || attention->norm->n_elements != (int64_t)weights.rows)
		return true;
	scale = al_alloc(weights.rows, sizeof(*scale));
	bool ok = al_tensor_read_finite(audit->view->checkpoint, attention->norm, scale, err);
	for (size_t j = 0; ok && j < weights.cols; j++)
		for (size_t i = 0; i < weights.rows; i++)
			weights.data[i + j * weights.ld] *= scale[i] + attention->has_unit_offset;
	free(scale);
	return ok;
}

static bool folds(const struct al_audit *audit, const struct al_attention *attention,
	enum al_projection p)
{
	return audit->options.folds_norms
		&& (p == AL_QUERY || (!attention->is_cross && p != AL_OUTPUT));
}

static bool load(const struct al_audit *audit, const struct al_attention *attention,
	enum al_projection p, struct al_matrix *out, struct al_error *err)
{
	const struct al_factor *factor = &attention->factors[p];

	if (factor->n_runs == 0)
		return true;
	return al_factor_load(audit->view->checkpoint, factor, out, err)
		&& (!folds(audit, attention, p) || fold_norm(audit, attention, *out, err));
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

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (sees_bias(a, (enum al_projection)p)
			&& (!al_factor_load(audit->view->checkpoint, &a->biases[p],
				    &module->biases[p], err)
				|| (folds_bias(audit, a, (enum al_projection)p)
					&& !fold_bias(audit, a, (enum al_projection)p,
						&module->biases[p], err))))
			return false;
	return true;
}

/* Takes the mean over its dimensions off each head. */
static void centre(const struct al_factor *factor, struct al_matrix weights)
{
	const size_t width = (size_t)factor->width;

	for (size_t at = 0; width > 0 && at + width <= weights.cols; at += width)
		al_centre(al_part(weights, 0, at, weights.rows, width));
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
	for (int p = 0; options->is_centred && p < AL_N_PROJECTIONS; p++)
		centre(&module->attention->factors[p], module->biases[p]);
	if (module->biases[AL_QUERY].data)
		al_rotate_queries(module->attention, options->offset, module->biases[AL_QUERY]);
}

/* What the options make of the stored weights. Queries are rotated last: a mean over dimensions is
 * one of dimensions as they are stored. */
static bool change(struct al_audit_module *module, const struct al_audit_options *options,
	struct al_error *err)
{
	if (options->covariance
		&& !al_covariance_apply(options->covariance, module->attention, module->weights,
			module->biases, err))
		return false;
	change_biases(module, options);
	for (int p = 0; options->is_centred && p < AL_N_PROJECTIONS; p++)
		centre(&module->attention->factors[p], module->weights[p]);
	al_rotate_queries(module->attention, options->offset, module->weights[AL_QUERY]);
	return true;
}

/* ---- a few heads at a time ---- */

/* What a module's heads are read into at once. */
static const double PART_BYTES = 128 * 1024 * 1024;

/* Some key/value heads and the queries that share them. */
struct part {
	struct al_matrix weights[AL_N_PROJECTIONS];
	int64_t not_finite[AL_N_PROJECTIONS];
};

static struct al_view shape_of(const struct al_factor *factor)
{
	return (struct al_view){NULL, (size_t)factor->rows, (size_t)(factor->heads * factor->width),
		factor->rows ? (size_t)factor->rows : 1};
}

static size_t heads_a_part(const struct al_attention *a)
{
	double bytes = 0;

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		bytes += (double)(a->factors[p].rows * a->factors[p].heads * a->factors[p].width)
			* sizeof(double);
	return (size_t)fmax(1, PART_BYTES / fmax(bytes / (double)a->n_kv_heads, 1));
}

/* Heads that aren't finite are counted and left at zero: the module will be refused. */
static bool read_part(const struct al_audit *audit, const struct al_attention *a,
	enum al_projection p, size_t first, size_t n, struct part *part, struct al_error *err)
{
	const struct al_factor *factor = &a->factors[p];
	struct al_matrix *w = &part->weights[p];

	if (factor->n_runs == 0)
		return true;
	if (!al_matrix_init_unset(w, (size_t)factor->rows, n * (size_t)factor->width, err)
		|| !al_factor_read(audit->view->checkpoint, factor, (int64_t)first, (int64_t)n, *w,
			err))
		return false;
	if (!al_is_finite(al_view(*w))) {
		part->not_finite[p] += al_matrix_count_not_finite(al_view(*w));
		memset(w->data, 0, w->rows * w->cols * sizeof(*w->data));
	}
	if (folds(audit, a, p) && !fold_norm(audit, a, *w, err))
		return false;
	if (audit->options.is_centred)
		centre(factor, *w);
	return true;
}

struct part_reading {
	const struct al_audit *audit;
	const struct al_audit_module *module;
	size_t first, n; /* key/value heads */
	struct part *part;
};

static bool read_projection(void *context, size_t p, struct al_error *err)
{
	const struct part_reading *x = context;
	const size_t group = x->module->heads.n_heads / x->module->heads.n_kv_heads;
	const size_t times = p == AL_KEY || p == AL_VALUE ? 1 : group;

	return read_part(x->audit, x->module->attention, (enum al_projection)p, x->first * times,
		x->n * times, x->part, err);
}

static bool add_part(struct al_audit_module *module, const struct al_audit *audit, size_t first,
	size_t n, struct part *part, struct al_error *err)
{
	size_t group = module->heads.n_heads / module->heads.n_kv_heads;
	struct al_heads heads = module->heads;
	struct part_reading reading = {audit, module, first, n, part};
	bool ok = al_parallel(AL_N_PROJECTIONS, read_projection, &reading, err);

	heads.n_heads = n * group;
	heads.n_kv_heads = n;
	heads.query = al_view(part->weights[AL_QUERY]);
	heads.key = al_view(part->weights[AL_KEY]);
	heads.value = al_view(part->weights[AL_VALUE]);
	heads.output = al_view(part->weights[AL_OUTPUT]);
	ok = ok && al_triangles_add(&module->triangles, &heads, first, err);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&part->weights[p]);
	return ok;
}

static bool take_parts(struct al_audit_module *module, const struct al_audit *audit,
	struct al_error *err)
{
	const struct al_attention *a = module->attention;
	size_t n_kv_heads = module->heads.n_kv_heads, most = heads_a_part(a);
	struct part part = {.not_finite = {0}};
	bool ok = true;

	for (size_t first = 0; ok && first < n_kv_heads; first += most)
		ok = add_part(module, audit, first,
			most < n_kv_heads - first ? most : n_kv_heads - first, &part, err);
	for (int p = 0; ok && p < AL_N_PROJECTIONS; p++)
		ok = part.not_finite[p] == 0
			|| al_factor_check_finite(&a->factors[p], part.not_finite[p], err);
	return ok;
}

/* Only what is done to each head on its own can be done to a part. */
static bool can_take_parts(const struct al_audit *audit, const struct al_attention *a)
{
	const struct al_audit_options *options = &audit->options;

	return options->needs && !options->needs->weights && !options->covariance
		&& options->offset == 0 && !a->is_latent && a->n_kv_heads > 0
		&& (a->factors[AL_VALUE].n_runs > 0) == (a->factors[AL_OUTPUT].n_runs > 0);
}

static bool init_by_parts(struct al_audit_module *module, const struct al_audit *audit,
	struct al_error *err)
{
	const struct al_attention *a = module->attention;
	bool has_values = a->factors[AL_VALUE].n_runs > 0;

	change_biases(module, &audit->options);
	set_factors(module);
	module->heads.query = shape_of(&a->factors[AL_QUERY]);
	module->heads.key = shape_of(&a->factors[AL_KEY]);
	if (has_values) {
		module->heads.value = shape_of(&a->factors[AL_VALUE]);
		module->heads.output = shape_of(&a->factors[AL_OUTPUT]);
	}
	if (al_triangles_init(&module->triangles, &module->heads, has_values, err)
		&& take_parts(module, audit, err))
		return true;
	al_audit_module_finish(module);
	return false;
}

struct loading {
	const struct al_audit *audit;
	struct al_audit_module *module;
};

static bool load_projection(void *context, size_t p, struct al_error *err)
{
	const struct loading *x = context;

	return load(x->audit, x->module->attention, (enum al_projection)p, &x->module->weights[p],
		err);
}

bool al_audit_module_init(struct al_audit_module *module, const struct al_audit *audit,
	const struct al_attention *attention, struct al_error *err)
{
	struct loading loading = {audit, module};

	*module = (struct al_audit_module){.attention = attention,
		.index = (uint64_t)(attention - audit->view->modules)};
	if (!load_biases(module, audit, err)) {
		al_audit_module_finish(module);
		return false;
	}
	if (can_take_parts(audit, attention))
		return init_by_parts(module, audit, err);
	bool ok = al_parallel(AL_N_PROJECTIONS, load_projection, &loading, err)
		&& change(module, &audit->options, err);
	if (ok) {
		set_factors(module);
		ok = al_heads_check_projections(&module->heads, err);
	}
	if (ok && al_triangles_take(&module->triangles, &module->heads, err))
		return true;
	al_audit_module_finish(module);
	return false;
}

void al_audit_module_finish(struct al_audit_module *module)
{
	al_spectra_finish(&module->head_spectra);
	al_spectra_finish(&module->layer_spectra);
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&module->inner[form]);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&module->grams[p]);
	for (size_t i = 0; i < module->n_draws; i++)
		al_spectra_finish(&module->draws[i]);
	free(module->draws);
	al_triangles_finish(&module->triangles);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&module->weights[p]);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_matrix_finish(&module->biases[p]);
	*module = (struct al_audit_module){0};
}
