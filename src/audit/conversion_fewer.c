/* Conversions to fewer heads, and to narrower ones. */
#include "audit/conversion.h"
#include "audit/merging.h"

/* The squares of a spectrum [values][heads] beyond `rank`. */
static double beyond(struct al_matrix spectrum, size_t rank, double norm)
{
	double sum = 0;

	for (size_t j = 0; j < spectrum.cols; j++)
		for (size_t i = rank; i < spectrum.rows; i++)
			sum += spectrum.data[i + j * spectrum.ld]
				* spectrum.data[i + j * spectrum.ld];
	return sqrt(sum) / norm;
}

static bool convert_narrow(struct al_converter *x, size_t rank, struct al_error *err)
{
	const struct al_stack *keys = &x->losses->keys, *values = &x->losses->values;
	struct al_conversion c = al_conversion_begin_same(x,
		(struct al_conversion_loss){{NAN, NAN}, NAN});
	const struct al_spectra *heads;

	if (!al_audit_head_spectra(x->module, &heads, err))
		return false;
	c.setting = al_format((&x->table->arena), "heads of rank %zu", rank);
	al_conversion_change(&c, c.to->width, rank);
	c.loss.of[AL_LOSS_QK] = beyond(heads->values[AL_SPECTRUM_QK], rank, keys->norm);
	if (x->losses->has_values) {
		al_conversion_change(&c, "d_value", al_least(rank, values->width));
		c.loss.of[AL_LOSS_OV] = beyond(heads->values[AL_SPECTRUM_OV], rank, values->norm);
	}
	return al_conversion_add_row(x, &c, err);
}

/* Without the k heads whose value form is smallest, the lightest first; their scores go with
 * them. */
static bool convert_fewer(struct al_converter *x, size_t k, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_conversion c = al_conversion_begin_same(x,
		(struct al_conversion_loss){{NAN, NAN}, NAN});
	const struct al_stack *values = &x->losses->values;
	const size_t n = values->n, width = values->width;
	double *lightness = al_take_array(&scratch, n, sizeof(*lightness), err), sum = 0;
	size_t *order = al_take_array(&scratch, n, sizeof(*order), err);

	if (!lightness || !order)
		return false;
	for (size_t i = 0; i < n; i++)
		lightness[i] = -al_squared_norm(
			al_columns(al_view(values->weighed), i * width, width));
	al_sort_order(lightness, n, order);
	c.groups = "without";
	for (size_t i = 0; i < k; i++) {
		sum -= lightness[order[i]];
		c.groups = al_format(&x->table->arena, "%s %zu", c.groups, order[i]);
	}
	al_conversion_change(&c, "n_heads", n - k);
	c.setting = al_format((&x->table->arena), "without %zu head%s", k, k == 1 ? "" : "s");
	c.loss.of[AL_LOSS_OV] = sqrt(sum) / values->norm;
	return al_conversion_add_row(x, &c, err);
}

/* Errors up to which heads are merged or dropped. */
static const struct limit {
	double error;
	const char *setting;
} limits[] = {
	{.01, "redundant heads to 1 %"},
	{.05, "redundant heads to 5 %"},
	{.1, "redundant heads to 10 %"},
};
enum { N_LIMITS = sizeof(limits) / sizeof(*limits) };

/* Keys and values that heads share stay as long as one of their heads does. */
static size_t count_kv_left(const struct al_heads *heads, const struct al_merging *merging,
	size_t n)
{
	size_t left = 0;

	for (size_t kv = 0; kv < heads->n_kv_heads; kv++) {
		size_t of_group = heads->n_heads / heads->n_kv_heads;
		for (size_t k = 0; k < n; k++)
			of_group -= al_kv_head(heads, merging->steps[k].head) == kv;
		left += of_group > 0;
	}
	return left;
}

static int64_t columns_parameters(const struct al_attention *a, enum al_projection p)
{
	const struct al_factor *factor = &a->factors[p];

	return factor->width * (factor->rows + (p != AL_OUTPUT && a->biases[p].n_runs > 0));
}

/* Groups may become unequal, which no gqa's symbols can express: the removed parameters are counted
 * themselves. */
static bool add_grouped_row(struct al_converter *x, struct al_conversion *c,
	const struct al_merging *merging, size_t n)
{
	const struct al_attention *a = x->module->attention;
	const size_t n_kv = x->module->heads.n_kv_heads;
	const size_t kv_left = count_kv_left(&x->module->heads, merging, n);
	const int64_t of_head = columns_parameters(a, AL_QUERY) + columns_parameters(a, AL_OUTPUT);
	const int64_t of_kv = columns_parameters(a, AL_KEY) + columns_parameters(a, AL_VALUE);

	AL_EXACT(parameters);
	AL_EXACT(cache);
	AL_EXACT(part);
	mpq_set_si(part, (int64_t)n * of_head + (int64_t)(n_kv - kv_left) * of_kv, 1);
	mpq_sub(parameters, x->parameters, part);
	mpq_set_ui(part, kv_left, n_kv);
	mpq_canonicalize(part);
	mpq_mul(cache, x->cache, part);
	c->name = a->variant->name;
	al_conversion_set_row(x, c, parameters, cache);
	return true;
}

/* Without the first `n` heads of those that a module can do without. */
static bool convert_merged(struct al_converter *x, const struct al_merging *merging, size_t n,
	const char *setting, struct al_error *err)
{
	struct al_conversion c = al_conversion_begin_same(x,
		(struct al_conversion_loss){{0, 0}, NAN});
	double qk = 0, ov = 0;
	AL_TEXT(text);

	for (size_t k = 0; k < n; k++) {
		qk += merging->steps[k].qk_squared;
		ov += merging->steps[k].ov_squared;
	}
	c.loss.of[AL_LOSS_QK] = sqrt(fmax(qk, 0));
	c.loss.of[AL_LOSS_OV] = sqrt(fmax(ov, 0));
	if (x->losses->is_rotary)
		c.loss.qk_mean = c.loss.of[AL_LOSS_QK];
	al_conversion_change(&c, "n_heads", merging->n_heads - n);
	c.setting = setting;
	al_merging_print(merging, n, &text);
	c.groups = al_strdup((&x->table->arena), text.data);
	return al_losses_has_own_keys(x->losses) ? al_conversion_add_row(x, &c, err)
						 : add_grouped_row(x, &c, merging, n);
}

bool al_convert_redundant(struct al_converter *x, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_merging merging;

	if (!x->losses->has_values || (x->losses->is_latent && !al_losses_has_own_keys(x->losses)))
		return true;
	if (!al_merging_find(&merging, &scratch, x->audit, x->module, limits[N_LIMITS - 1].error,
		    err))
		return false;
	for (size_t i = 0; i < N_LIMITS; i++)
		if (!convert_merged(x, &merging, al_merging_count(&merging, limits[i].error),
			    limits[i].setting, err))
			return false;
	return true;
}

/* Where it was recorded what heads put out, the table `drop` has them in the order of that. */
static bool judges_outputs(const struct al_audit *audit)
{
	return al_covariance_calibration(audit->options.covariance)
		|| al_covariance_imatrix(audit->options.covariance);
}

bool al_convert_widths(struct al_converter *x, struct al_error *err)
{
	const size_t n = x->module->heads.n_heads, width = x->losses->keys.width;
	const bool drops = x->losses->has_values && !judges_outputs(x->audit);

	if (!al_losses_has_own_keys(x->losses))
		return true;
	for (size_t quarters = 3; quarters > 0 && al_losses_is_free(x->losses); quarters--)
		if (width * quarters / 4 > 0 && !convert_narrow(x, width * quarters / 4, err))
			return false;
	for (size_t quarters = 0, last = 0; drops && quarters < 4; quarters++) {
		size_t k = quarters ? n * quarters / 4 : 1;
		if (k <= last || k >= n)
			continue;
		if (!convert_fewer(x, k, err))
			return false;
		last = k;
	}
	return true;
}

/* ---- the table ---- */

static bool saves_somewhere(const struct al_table *table, const char *setting)
{
	double saving;

	for (size_t row = 0; row < table->n_rows; row++)
		if (strcmp(al_table_text(table, row, "setting"), setting) == 0
			&& al_table_number(table, row, "saving", &saving) && saving > 0)
			return true;
	return false;
}

/* Redundant heads that no module has need no rows. */
void al_conversions_leave_out_nothing(struct al_table *table)
{
	bool is_kept[N_LIMITS];
	size_t n = 0;

	for (int i = 0; i < N_LIMITS; i++)
		is_kept[i] = saves_somewhere(table, limits[i].setting);
	for (size_t row = 0; row < table->n_rows; row++) {
		const char *setting = al_table_text(table, row, "setting");
		bool is_left = true;
		for (int i = 0; i < N_LIMITS; i++)
			is_left = is_left
				&& (is_kept[i] || strcmp(setting, limits[i].setting) != 0);
		if (is_left)
			table->rows[n++] = table->rows[row];
	}
	table->n_rows = n;
}
