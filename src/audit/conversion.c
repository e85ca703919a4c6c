/* What a module would lose as another variant, in weight space, beside what it would save. */
#include "audit/audit.h"
#include "audit/collaborative.h"
#include "audit/convert.h"
#include "audit/grouping.h"
#include "ledger/ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANGES = 16 };

/* One module on its way through the conversions. */
struct converter {
	struct al_audit *audit;
	struct al_audit_module *module;
	struct al_table *table;
	struct al_stack keys, values;
	bool has_values;
	bool is_rotary;              /* keys can't be mixed freely */
	bool is_normed;              /* nor even scaled: queries and keys pass a norm */
	mpq_t parameters, cache;     /* of the module as it is */
};

/* A row: the ledger's variant with what is changed in it, and what the conversion costs. */
struct conversion {
	const char *variant, *name;  /* of the catalogue; what the row calls it */
	const char *setting, *gauge;
	const char *groups;          /* which heads share; NULL: neighbours, or none */
	struct al_binding changes[MOST_CHANGES];
	size_t n_changes;
	double qk, ov;               /* relative errors; NAN: none */
};

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	static const struct al_column columns[] = {
		{.key = "variant", .title = "Variant", .is_key = true},
		{.key = "setting", .title = "Setting", .is_key = true},
		{.key = "gauge", .title = "Gauge", .is_key = true},
		{.key = "parameters", .title = "Parameters", .quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "saving", .title = "Saving", .digits = 3},
		{.key = "cache_saving", .title = "Cache saving", .digits = 3},
		{.key = "qk_relative_error", .title = "QK error", .digits = 4},
		{.key = "ov_relative_error", .title = "OV error", .digits = 4},
		{.key = "groups", .title = "Groups"},
	};

	(void)audit;
	al_table_add_column(table, (struct al_column){.key = "module", .title = "Module", .is_key = true});
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(table, columns[i]);
}

/* ---- counts ---- */

static bool has_option(const struct al_variant *variant, const char *name)
{
	for (size_t i = 0; i < variant->n_options; i++)
		if (strcmp(variant->options[i].name, name) == 0)
			return true;
	return false;
}

static void change(struct conversion *c, const char *symbol, size_t value)
{
	c->changes[c->n_changes++] = (struct al_binding){symbol, (int64_t)value};
}

/* The module's own options where the variant knows them (biases), behind the conversion's changes. */
static bool keep_options(const struct converter *x, const struct al_variant *variant,
	struct conversion *c, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;

	for (size_t i = 0; i < a->n_with; i++) {
		if (!has_option(variant, a->with[i].symbol))
			continue;
		if (c->n_changes == MOST_CHANGES)
			return al_fail(err, AL_EINPUT, "%s sets more than %d options", variant->name,
				MOST_CHANGES);
		c->changes[c->n_changes++] = a->with[i];
	}
	return true;
}

static bool measure_use(const struct converter *x, const struct al_variant_use *use, mpq_t parameters,
	mpq_t cache, struct al_error *err)
{
	struct al_basis basis;
	struct al_block block;

	al_basis_init(&basis);
	if (!al_block_init(&block, use, &x->audit->view->settings, &basis, err))
		return false;
	bool ok = al_block_measure(&block, AL_PARAMETERS, NULL, parameters, err)
		&& al_block_measure(&block, AL_CACHE, NULL, cache, err);
	al_block_finish(&block);
	return ok;
}

static bool measure_module(struct converter *x, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;
	const struct al_variant_use use = {.variant = a->variant, .name = a->variant->name, .with = a->with,
		.n_with = a->n_with};

	return measure_use(x, &use, x->parameters, x->cache, err);
}

static bool measure_conversion(const struct converter *x, struct conversion *c, mpq_t parameters,
	mpq_t cache, struct al_error *err)
{
	struct al_variant_use use = {.name = c->name, .with = c->changes};

	if (!al_catalog_variant(x->audit->view->catalog, c->variant, &use.variant, err)
		|| !keep_options(x, use.variant, c, err))
		return false;
	use.n_with = c->n_changes;
	return measure_use(x, &use, parameters, cache, err);
}

/* ---- rows ---- */

/* 1 - part/whole; nothing of nothing is saved. */
static void set_saving(struct al_cell *cell, mpq_srcptr part, mpq_srcptr whole)
{
	if (mpq_sgn(whole) > 0)
		al_cell_set_real(cell, 1 - mpq_get_d(part) / mpq_get_d(whole));
}

static void set_error(struct al_cell *cell, double error)
{
	if (!isnan(error))
		al_cell_set_real(cell, error);
}

static void set_row(const struct converter *x, const struct conversion *c, mpq_srcptr parameters,
	mpq_srcptr cache)
{
	struct al_table *table = x->table;
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, x->module->attention->name);
	al_cell_set_text(table, cell++, c->name);
	al_cell_set_text(table, cell++, c->setting);
	al_cell_set_text(table, cell++, c->gauge);
	al_cell_set_exact(table, cell++, parameters);
	set_saving(cell++, parameters, x->parameters);
	set_saving(cell++, cache, x->cache);
	set_error(cell++, c->qk);
	set_error(cell++, c->ov);
	if (c->groups)
		al_cell_set_text(table, cell, c->groups);
}

static bool add_row(struct converter *x, struct conversion *c, struct al_error *err)
{
	mpq_t parameters, cache;

	mpq_init(parameters);
	mpq_init(cache);
	bool ok = measure_conversion(x, c, parameters, cache, err);
	if (ok)
		set_row(x, c, parameters, cache);
	mpq_clear(cache);
	mpq_clear(parameters);
	return ok || al_in(err, "conversion to %s", c->name);
}

static struct al_arena *arena_of(const struct converter *x)
{
	return &x->table->arena;
}

/* A conversion that keeps the heads' number and widths. */
static struct conversion begin(const struct converter *x, const char *variant, const char *gauge)
{
	const struct al_factors *f = &x->module->factors;
	struct conversion c = {.variant = variant, .name = variant, .setting = "", .gauge = gauge, .qk = NAN,
		.ov = NAN};

	change(&c, "n_heads", f->n_heads);
	change(&c, "d_head", f->d_head);
	if (x->has_values)
		change(&c, "d_value", f->d_value);
	return c;
}

/* ---- fewer key/value heads ---- */

static struct conversion begin_groups(const struct converter *x, size_t n_groups, const char *gauge)
{
	struct conversion c = begin(x, n_groups == 1 ? "mqa" : "gqa", gauge);

	if (n_groups > 1) {
		c.name = al_format(arena_of(x), "gqa-%zu", n_groups);
		change(&c, "n_kv_heads", n_groups);
	}
	return c;
}

static bool convert_raw(struct converter *x, const size_t *order, size_t n_groups, struct al_error *err)
{
	struct conversion c = begin_groups(x, n_groups, "raw");
	size_t size = x->keys.n / n_groups;

	c.setting = "mean";
	return al_convert_mean(&x->keys, order, size, &c.qk, err)
		&& (!x->has_values || al_convert_mean(&x->values, order, size, &c.ov, err))
		&& add_row(x, &c, err);
}

/* Within what positions allow. */
static bool share(const struct converter *x, const size_t *order, size_t size, struct conversion *c,
	struct al_error *err)
{
	bool ok = x->is_rotary ? al_convert_rotary(&x->keys, x->module->attention, order, size, &c->qk, err)
		: al_stack_share(&x->keys, order, size, &c->qk, err);

	return ok && (!x->has_values || al_stack_share(&x->values, order, size, &c->ov, err));
}

static const char *print_groups(const struct converter *x, const size_t *order, size_t size)
{
	struct al_text text;

	al_text_init(&text);
	al_group_print(order, x->keys.n, size, &text);
	const char *copy = al_strdup(arena_of(x), text.data);
	al_text_finish(&text);
	return copy;
}

/* Neighbours, and other groups: the best that the search finds, which may be neighbours again. */
static bool convert_best(struct converter *x, size_t *order, size_t n_groups, struct al_error *err)
{
	const char *gauge = x->is_rotary ? "aligned" : "optimal";
	struct conversion near = begin_groups(x, n_groups, gauge), far = begin_groups(x, n_groups, gauge);
	size_t size = x->keys.n / n_groups;

	near.setting = "neighbours";
	far.setting = "regrouped";
	near.groups = print_groups(x, order, size);
	if (!share(x, order, size, &near, err) || !add_row(x, &near, err))
		return false;
	if (n_groups == 1)
		return true;
	if (!al_group_heads(&x->keys, x->has_values ? &x->values : NULL, size, order, err)
		|| !share(x, order, size, &far, err))
		return false;
	far.groups = print_groups(x, order, size);
	if (fmax(near.qk, near.ov) <= fmax(far.qk, far.ov)) {
		far.groups = near.groups;
		far.qk = near.qk;
		far.ov = near.ov;
	}
	return add_row(x, &far, err);
}

static bool convert_to_groups(struct converter *x, size_t n_groups, struct al_error *err)
{
	size_t n = x->keys.n;
	size_t *order = calloc(n, sizeof(*order));
	bool ok = order || al_fail(err, AL_ESYSTEM, "no memory for %zu heads", n);

	for (size_t i = 0; ok && i < n; i++)
		order[i] = i;
	ok = ok && convert_raw(x, order, n_groups, err);
	ok = ok && (x->is_normed || convert_best(x, order, n_groups, err));
	free(order);
	return ok;
}

static bool convert_groups(struct converter *x, struct al_error *err)
{
	bool ok = true;

	for (size_t n_groups = 1; ok && n_groups < x->keys.n; n_groups++)
		if (x->keys.n % n_groups == 0)
			ok = convert_to_groups(x, n_groups, err);
	return ok;
}

/* ---- keys and values together ---- */

static bool has_both_free(const struct converter *x)
{
	return x->has_values && !x->is_normed && x->keys.own.rows == x->values.own.rows;
}

static bool convert_shared_kv(struct converter *x, struct al_error *err)
{
	struct conversion c = begin(x, "skv", "optimal");
	double errors[2];

	if (!has_both_free(x) || x->is_rotary || x->keys.n != x->module->factors.n_heads
		|| x->keys.width != x->values.width)
		return true;
	if (!al_convert_shared_kv(&x->keys, &x->values, errors, err))
		return false;
	c.qk = errors[0];
	c.ov = errors[1];
	return add_row(x, &c, err);
}

/* A half, a quarter and an eighth of d_model that save something. */
static size_t choose_ranks(const struct converter *x, size_t *ranks)
{
	size_t d_model = x->keys.own.rows, cached = x->keys.own.cols + x->values.own.cols, n = 0;

	for (size_t part = 2; part <= 8; part *= 2)
		if (d_model / part > 0 && d_model / part < cached && (n == 0 || d_model / part < ranks[n - 1]))
			ranks[n++] = d_model / part;
	return n;
}

static bool convert_latent(struct converter *x, struct al_error *err)
{
	size_t ranks[3] = {0};
	size_t n = has_both_free(x) ? choose_ranks(x, ranks) : 0;
	double errors[3][2];

	if (n == 0)
		return true;
	if (!al_convert_latent(&x->keys, &x->values, ranks, n, errors, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct conversion c = begin(x, "latent-kv", x->is_rotary ? "aligned" : "optimal");
		c.setting = al_format(arena_of(x), "kv_rank %zu", ranks[i]);
		c.qk = errors[i][0];
		c.ov = errors[i][1];
		change(&c, "kv_rank", ranks[i]);
		if (!add_row(x, &c, err))
			return false;
	}
	return true;
}

/* ---- multiple-head embeddings ---- */

static bool convert_embedding(struct converter *x, enum al_embedding kind, const char *variant,
	struct al_error *err)
{
	struct conversion c = begin(x, variant, "raw");
	double errors[2] = {NAN, NAN};

	if (!al_convert_embedding(&x->module->factors, &x->keys, x->has_values ? &x->values : NULL, kind,
		    errors, err))
		return false;
	c.qk = errors[0];
	c.ov = errors[1];
	return add_row(x, &c, err);
}

/* One value for all heads, scaled or not, with the output projections chosen again. */
static bool share_values(const struct converter *x, double *error, struct al_error *err)
{
	size_t *order = calloc(x->keys.n, sizeof(*order));
	bool ok = order || al_fail(err, AL_ESYSTEM, "no memory for %zu heads", x->keys.n);

	for (size_t i = 0; ok && i < x->keys.n; i++)
		order[i] = i;
	ok = ok && (!x->has_values || al_stack_share(&x->values, order, x->keys.n, error, err));
	free(order);
	return ok;
}

/* All heads have one form: their mean at rank d_head. What they differ by is the rest:
 * sum_i ||F_i - M||^2 = sum_i ||F_i||^2 - H ||M||^2, good to the square root of the precision. */
static bool mean_form_error(struct converter *x, double *error, struct al_error *err)
{
	const struct al_spectra *layer;
	double rest = x->keys.norm * x->keys.norm;

	if (!al_audit_layer_spectra(x->audit, x->module, &layer, err))
		return false;
	struct al_matrix sum = layer->values[AL_SPECTRUM_QK];
	for (size_t i = 0; i < sum.rows && i < x->keys.width; i++)
		rest -= sum.data[i] * sum.data[i] / (double)x->keys.n;
	*error = sqrt(fmax(rest, 0)) / x->keys.norm;
	return true;
}

static bool convert_embedding_best(struct converter *x, enum al_embedding kind, const char *variant,
	struct al_error *err)
{
	struct conversion c = begin(x, variant, "optimal");
	const struct al_factors *f = &x->module->factors;
	bool ok = kind == AL_EMBEDDING_ADD ? mean_form_error(x, &c.qk, err)
		: al_convert_collaborative(f->q, f->k, f->n_heads, f->d_head, x->audit->options.seed, &c.qk,
			err);

	return ok && share_values(x, &c.ov, err) && add_row(x, &c, err);
}

static bool convert_embeddings(struct converter *x, struct al_error *err)
{
	static const char *const variants[] = {"mhe-add", "mhe-mul"};

	if (x->keys.n != x->module->factors.n_heads)
		return true;
	for (int kind = AL_EMBEDDING_ADD; kind <= AL_EMBEDDING_MUL; kind++) {
		if (!convert_embedding(x, (enum al_embedding)kind, variants[kind], err))
			return false;
		if (!x->is_rotary && !x->is_normed
			&& !convert_embedding_best(x, (enum al_embedding)kind, variants[kind], err))
			return false;
	}
	return true;
}

/* ---- narrower and fewer heads ---- */

/* What ranks beyond `rank` hold of a spectrum, [values][heads]. */
static double beyond(struct al_matrix spectrum, size_t rank, double norm)
{
	double sum = 0;

	for (size_t j = 0; j < spectrum.cols; j++)
		for (size_t i = rank; i < spectrum.rows; i++)
			sum += spectrum.data[i + j * spectrum.ld] * spectrum.data[i + j * spectrum.ld];
	return sqrt(sum) / norm;
}

static bool convert_narrow(struct converter *x, size_t rank, struct al_error *err)
{
	struct conversion c = {.variant = "mha", .name = "mha", .gauge = "optimal", .ov = NAN,
		.setting = al_format(arena_of(x), "heads of rank %zu", rank)};
	const struct al_spectra *heads;

	if (!al_audit_head_spectra(x->audit, x->module, &heads, err))
		return false;
	change(&c, "n_heads", x->module->factors.n_heads);
	change(&c, "d_head", rank);
	c.qk = beyond(heads->values[AL_SPECTRUM_QK], rank, x->keys.norm);
	if (x->has_values) {
		change(&c, "d_value", rank < x->values.width ? rank : x->values.width);
		c.ov = beyond(heads->values[AL_SPECTRUM_OV], rank, x->values.norm);
	}
	return add_row(x, &c, err);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Without the k heads whose value form is smallest; their scores go with them. */
static bool convert_fewer(struct converter *x, size_t k, struct al_error *err)
{
	struct conversion c = begin(x, "mha", "optimal");
	size_t n = x->values.n, width = x->values.width;
	double *squared = calloc(n, sizeof(*squared)), sum = 0;

	if (!squared)
		return al_fail(err, AL_ESYSTEM, "no memory for %zu heads", n);
	for (size_t i = 0; i < n; i++)
		squared[i] = al_squared_norm(al_columns(al_view(x->values.weighed), i * width, width));
	qsort(squared, n, sizeof(*squared), compare_doubles);
	for (size_t i = 0; i < k; i++)
		sum += squared[i];
	free(squared);
	c.changes[0].value = (int64_t)(n - k);
	c.setting = al_format(arena_of(x), "without %zu head%s", k, k == 1 ? "" : "s");
	c.ov = sqrt(sum) / x->values.norm;
	return add_row(x, &c, err);
}

static bool convert_widths(struct converter *x, struct al_error *err)
{
	size_t n = x->module->factors.n_heads, width = x->keys.width;

	if (x->keys.n != n)
		return true;
	for (size_t quarters = 3; quarters > 0 && !x->is_rotary && !x->is_normed; quarters--)
		if (width * quarters / 4 > 0 && !convert_narrow(x, width * quarters / 4, err))
			return false;
	for (size_t k = 1, last = 0; x->has_values && k < n; k = k == 1 ? n / 4 : k + n / 4) {
		if (k <= last)
			break;
		if (!convert_fewer(x, k, err))
			return false;
		last = k;
	}
	return true;
}

/* ---- the module ---- */

static bool has_norm(const struct al_attention *a)
{
	for (size_t i = 0; i < a->n_with; i++)
		if (strncmp(a->with[i].symbol, "qk_norm", 7) == 0 && a->with[i].value)
			return true;
	return false;
}

static bool convert_all(struct converter *x, struct al_error *err)
{
	return measure_module(x, err) && convert_groups(x, err) && convert_shared_kv(x, err)
		&& convert_latent(x, err) && convert_embeddings(x, err) && convert_widths(x, err);
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module, struct al_table *table,
	struct al_error *err)
{
	const struct al_factors *f = &module->factors;
	struct converter x = {.audit = audit, .module = module, .table = table,
		.has_values = al_has_values(f), .is_rotary = module->attention->is_rotary,
		.is_normed = has_norm(module->attention)};

	if (module->attention->is_latent)
		return true;
	if (!al_stack_init(&x.keys, f, &module->triangles, AL_FORM_QK, err)
		|| (x.has_values && !al_stack_init(&x.values, f, &module->triangles, AL_FORM_OV, err))) {
		al_stack_finish(&x.keys);
		return false;
	}
	mpq_init(x.parameters);
	mpq_init(x.cache);
	bool is_zero = x.keys.norm == 0 || (x.has_values && x.values.norm == 0);
	bool ok = is_zero || convert_all(&x, err);
	mpq_clear(x.cache);
	mpq_clear(x.parameters);
	al_stack_finish(&x.values);
	al_stack_finish(&x.keys);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	bool is_rotary = false, is_normed = false, is_latent = false;

	for (size_t i = 0; i < audit->view->n_modules; i++) {
		is_rotary |= audit->view->modules[i].is_rotary;
		is_normed |= has_norm(&audit->view->modules[i]);
		is_latent |= audit->view->modules[i].is_latent;
	}
	al_table_note(table, "raw: in the basis as stored, which a checkpoint may change without changing a "
		"score; aligned: the best basis that positions allow; optimal: whatever basis is best");
	if (is_rotary)
		al_table_note(table, "rotary positions: errors are those at offset 0; latent-kv needs a decoupled "
			"rotary part besides, as in mla, which isn't counted");
	if (is_normed)
		al_table_note(table, "queries and keys pass a norm: only conversions of the basis as stored");
	if (is_latent)
		al_table_note(table, "modules with latent keys and values are left as they are");
}

const struct al_measurement al_measurement_conversion = {
	.id = "conversion",
	.title = "Conversions to other variants",
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
};
