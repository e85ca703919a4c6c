/* What a module would lose as another variant, in weight space, beside what it would save. */
#include "audit/conversion_totals.h"
#include "audit/grouping.h"
#include "audit/losses.h"
#include "audit/measurement.h"
#include "audit/merging.h"
#include "ledger/ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MOST_CHANGES = 16 };

enum { HEAD_SPECTRA = AL_SPECTRUM_BIT(AL_SPECTRUM_QK) | AL_SPECTRUM_BIT(AL_SPECTRUM_OV) };

/* One module on its way through the conversions. */
struct converter {
	struct al_audit *audit;
	struct al_audit_module *module;
	struct al_table *table;
	const struct al_losses *losses;
	mpq_t parameters, cache; /* of the module as it is */
};

/* What a module can become: a variant of the catalogue, and its symbol for the width of a head's
 * queries and keys (of MLA, of the part that positions don't rotate). */
static const struct target {
	const char *variant, *width;
} one_key = {"mqa", "d_head"}, key_groups = {"gqa", "d_head"}, shared_kv = {"skv", "d_head"},
  latent = {"latent-kv", "d_head"}, own_keys = {"mha", "d_head"}, latent_keys = {"mla", "d_nope"},
  embeddings[AL_N_EMBEDDINGS] = {{"mhe-add", "d_head"}, {"mhe-mul", "d_head"}};

/* A row: the ledger's variant with what is changed in it, and what the conversion costs. */
struct conversion {
	const struct target *to;
	const char *name; /* what the row calls it */
	const char *setting, *gauge;
	const char *groups; /* which heads share, are merged or dropped; NULL: none */
	struct al_binding changes[MOST_CHANGES];
	size_t n_changes;
	struct al_loss loss;
};

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	static const struct al_column columns[] = {
		{.key = "variant", .title = "Variant", .is_key = true},
		{.key = "setting", .title = "Setting", .is_key = true},
		{.key = "gauge", .title = "Basis", .is_key = true},
		{.key = "parameters",
			.title = "Parameters",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "saving", .title = "Saving", .unit = "%", .digits = 1},
		{.key = "cache_saving", .title = "Cache saving", .unit = "%", .digits = 1},
		{.key = "qk_relative_error", .title = "QK error", .digits = 4},
		{.key = "qk_mean_error", .title = "over all offsets", .digits = 4},
		{.key = "ov_relative_error", .title = "OV error", .digits = 4},
		{.key = "groups", .title = "Heads"},
	};

	(void)audit;
	al_table_add_column(table,
		(struct al_column){.key = "module", .title = "Module", .is_key = true});
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(table, columns[i]);
}

/* ---- counts ---- */

/* In place of what it was. */
static void change(struct conversion *c, const char *symbol, size_t value)
{
	size_t i = 0;

	while (i < c->n_changes && strcmp(c->changes[i].symbol, symbol) != 0)
		i++;
	c->changes[i] = (struct al_binding){symbol, (int64_t)value};
	c->n_changes += i == c->n_changes;
}

/* The module's own options where the variant knows them (biases), after the conversion's
 * changes. */
static bool keep_options(const struct converter *x, const struct al_variant *variant,
	struct conversion *c, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;

	for (size_t i = 0; i < a->n_with; i++) {
		if (!al_variant_has_option(variant, a->with[i].symbol))
			continue;
		if (c->n_changes == MOST_CHANGES)
			return al_fail(err, AL_EINPUT, "%s sets more than %d options",
				variant->name, MOST_CHANGES);
		c->changes[c->n_changes++] = a->with[i];
	}
	return true;
}

static bool measure_variant(const struct converter *x,
	const struct al_configured_variant *configured, mpq_t parameters, mpq_t cache,
	struct al_error *err)
{
	struct al_basis basis;
	struct al_ledger ledger;

	al_basis_init(&basis);
	if (!al_ledger_open_module(&ledger, configured, &x->audit->view->settings, &basis, err))
		return false;
	bool ok = al_ledger_measure(&ledger, AL_PARAMETERS, NULL, parameters, err)
		&& al_ledger_measure(&ledger, AL_CACHE, NULL, cache, err);
	al_ledger_close(&ledger);
	return ok;
}

static bool measure_module(struct converter *x, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;
	const struct al_configured_variant configured = {.variant = a->variant,
		.name = a->variant->name,
		.with = a->with,
		.n_with = a->n_with};

	return measure_variant(x, &configured, x->parameters, x->cache, err);
}

static bool measure_conversion(const struct converter *x, struct conversion *c, mpq_t parameters,
	mpq_t cache, struct al_error *err)
{
	struct al_configured_variant configured = {.name = c->name, .with = c->changes};

	if (!al_catalog_variant(x->audit->view->catalog, c->to->variant, &configured.variant, err)
		|| !keep_options(x, configured.variant, c, err))
		return false;
	configured.n_with = c->n_changes;
	return measure_variant(x, &configured, parameters, cache, err);
}

/* ---- rows ---- */

/* Per cent; nothing of nothing is saved. */
static void set_saving(struct al_cell *cell, mpq_srcptr part, mpq_srcptr whole)
{
	if (mpq_sgn(whole) > 0)
		al_cell_set_real(cell, 100 * (1 - mpq_get_d(part) / mpq_get_d(whole)));
}

/* What people read for a gauge, which is the basis that a side is shared in. */
static const char *gauge_title(const char *gauge)
{
	static const char *const titles[][2] = {{"raw", "as stored"}, {"aligned", "position-safe"},
		{"optimal", "best"}, {"found", "best found"}};

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		if (strcmp(titles[i][0], gauge) == 0)
			return titles[i][1];
	return NULL;
}

static void set_row(const struct converter *x, const struct conversion *c, mpq_srcptr parameters,
	mpq_srcptr cache)
{
	struct al_table *table = x->table;
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, x->module->attention->name);
	al_cell_set_text(table, cell++, c->name);
	al_cell_set_text(table, cell++, c->setting);
	al_cell_set_titled(table, cell++, c->gauge, gauge_title(c->gauge));
	al_cell_set_exact(table, cell++, parameters);
	set_saving(cell++, parameters, x->parameters);
	set_saving(cell++, cache, x->cache);
	al_audit_set_number(cell++, c->loss.of[AL_LOSS_QK]);
	al_audit_set_number(cell++, c->loss.qk_mean);
	al_audit_set_number(cell++, c->loss.of[AL_LOSS_OV]);
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
static struct conversion begin(const struct converter *x, const struct target *to,
	const char *gauge, struct al_loss loss)
{
	const struct al_heads *heads = &x->module->heads;
	struct conversion c = {.to = to,
		.name = to->variant,
		.setting = "",
		.gauge = gauge,
		.loss = loss};

	change(&c, "n_heads", heads->n_heads);
	change(&c, to->width, heads->d_head);
	if (x->losses->has_values)
		change(&c, "d_value", heads->d_value);
	return c;
}

/* The same within what a module with a key for every head is: multi-head or, already, latent
 * attention. */
static struct conversion begin_same(const struct converter *x, struct al_loss loss)
{
	if (!x->losses->is_latent)
		return begin(x, &own_keys, "optimal", loss);
	return (struct conversion){.to = &latent_keys,
		.name = latent_keys.variant,
		.setting = "",
		.gauge = "optimal",
		.loss = loss};
}

/* What the best basis is called that positions allow. */
static const char *best_gauge(const struct converter *x)
{
	return al_losses_is_free(x->losses) ? "optimal" : "aligned";
}

/* ---- fewer key/value heads ---- */

static bool add_grouping_row(struct converter *x, const struct al_grouping *g, const char *setting,
	const char *gauge, struct al_loss loss, const size_t *order, struct al_error *err)
{
	struct conversion c = begin(x, g->n_groups == 1 ? &one_key : &key_groups, gauge, loss);
	struct al_text text;

	c.setting = setting;
	if (g->n_groups > 1) {
		c.name = al_format(arena_of(x), "%s-%zu", c.to->variant, g->n_groups);
		change(&c, "n_kv_heads", g->n_groups);
	}
	if (order) {
		al_text_init(&text);
		al_group_print(order, x->losses->keys.n, g->size, &text);
		c.groups = al_strdup(arena_of(x), text.data);
		al_text_finish(&text);
	}
	return add_row(x, &c, err);
}

/* Neighbours, and other groups: the best that the search finds, which may be neighbours again. */
static bool add_grouping(struct converter *x, const struct al_grouping *g, const size_t *in_order,
	struct al_error *err)
{
	bool is_neighbours = al_loss_squared(&g->neighbours) <= al_loss_squared(&g->regrouped);

	if (!add_grouping_row(x, g, "mean", "raw", g->mean, NULL, err))
		return false;
	return add_grouping_row(x, g, "neighbours", best_gauge(x), g->neighbours, in_order, err)
		&& (g->n_groups == 1
			|| add_grouping_row(x, g, "regrouped", best_gauge(x),
				is_neighbours ? g->neighbours : g->regrouped,
				is_neighbours ? in_order : g->order, err));
}

static bool convert_groups(struct converter *x, struct al_error *err)
{
	size_t n = x->losses->keys.n;
	size_t *in_order = al_calloc(n, sizeof(*in_order));
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		in_order[i] = i;
	for (size_t i = 0; ok && i < x->losses->n_groupings; i++)
		ok = add_grouping(x, &x->losses->groupings[i], in_order, err);
	free(in_order);
	return ok;
}

/* ---- keys and values together ---- */

static bool convert_shared_kv(struct converter *x, struct al_error *err)
{
	struct conversion c = begin(x, &shared_kv, "optimal", x->losses->shared_kv);

	return !al_losses_has_shared_kv(x->losses) || add_row(x, &c, err);
}

static bool convert_latent(struct converter *x, struct al_error *err)
{
	for (size_t i = 0; i < x->losses->n_ranks; i++) {
		size_t rank = x->losses->ranks[i];
		struct al_loss loss = x->losses->latent[i];
		struct conversion c = x->losses->is_latent ? begin_same(x, loss)
							   : begin(x, &latent, best_gauge(x), loss);
		c.setting = al_format(arena_of(x), "kv_rank %zu", rank);
		change(&c, "kv_rank", rank);
		if (!add_row(x, &c, err))
			return false;
	}
	return true;
}

/* ---- multiple-head embeddings ---- */

static bool convert_embeddings(struct converter *x, struct al_error *err)
{
	if (!al_losses_has_embeddings(x->losses))
		return true;
	for (int kind = 0; kind < AL_N_EMBEDDINGS; kind++) {
		struct conversion raw = begin(x, &embeddings[kind], "raw",
			x->losses->embedding[kind]);
		struct conversion best = begin(x, &embeddings[kind],
			kind == AL_EMBEDDING_MUL ? "found" : "optimal",
			x->losses->embedding_best[kind]);
		if (!add_row(x, &raw, err)
			|| (al_losses_is_free(x->losses) && !add_row(x, &best, err)))
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
			sum += spectrum.data[i + j * spectrum.ld]
				* spectrum.data[i + j * spectrum.ld];
	return sqrt(sum) / norm;
}

static bool convert_narrow(struct converter *x, size_t rank, struct al_error *err)
{
	const struct al_stack *keys = &x->losses->keys, *values = &x->losses->values;
	struct conversion c = begin_same(x, (struct al_loss){{NAN, NAN}, NAN});
	const struct al_spectra *heads;

	if (!al_audit_head_spectra(x->audit, x->module, HEAD_SPECTRA, &heads, err))
		return false;
	c.setting = al_format(arena_of(x), "heads of rank %zu", rank);
	change(&c, c.to->width, rank);
	c.loss.of[AL_LOSS_QK] = beyond(heads->values[AL_SPECTRUM_QK], rank, keys->norm);
	if (x->losses->has_values) {
		change(&c, "d_value", rank < values->width ? rank : values->width);
		c.loss.of[AL_LOSS_OV] = beyond(heads->values[AL_SPECTRUM_OV], rank, values->norm);
	}
	return add_row(x, &c, err);
}

struct weighed {
	double squared;
	size_t head;
};

/* The lightest first; of equals the first. */
static int compare_weighed(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->squared != y->squared)
		return x->squared < y->squared ? -1 : 1;
	return (x->head > y->head) - (x->head < y->head);
}

/* "without 3 7" */
static const char *print_dropped(const struct converter *x, const struct weighed *heads, size_t n)
{
	struct al_text text;

	al_text_init(&text);
	al_text_addf(&text, "without");
	for (size_t i = 0; i < n; i++)
		al_text_addf(&text, " %zu", heads[i].head);
	const char *copy = al_strdup(arena_of(x), text.data);
	al_text_finish(&text);
	return copy;
}

/* Without the k heads whose value form is smallest; their scores go with them. */
static bool convert_fewer(struct converter *x, size_t k, struct al_error *err)
{
	struct conversion c = begin_same(x, (struct al_loss){{NAN, NAN}, NAN});
	const struct al_stack *values = &x->losses->values;
	size_t n = values->n, width = values->width;
	struct weighed *heads = al_calloc(n, sizeof(*heads));
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		heads[i] = (struct weighed){al_squared_norm(al_columns(al_view(values->weighed),
						    i * width, width)),
			i};
	qsort(heads, n, sizeof(*heads), compare_weighed);
	for (size_t i = 0; i < k; i++)
		sum += heads[i].squared;
	c.groups = print_dropped(x, heads, k);
	free(heads);
	change(&c, "n_heads", n - k);
	c.setting = al_format(arena_of(x), "without %zu head%s", k, k == 1 ? "" : "s");
	c.loss.of[AL_LOSS_OV] = sqrt(sum) / values->norm;
	return add_row(x, &c, err);
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

/* Groups may become unequal, which no gqa's symbols say: what goes is counted itself. */
static bool add_grouped_row(struct converter *x, struct conversion *c,
	const struct al_merging *merging, size_t n)
{
	const struct al_attention *a = x->module->attention;
	const size_t n_kv = x->module->heads.n_kv_heads;
	const size_t kv_left = count_kv_left(&x->module->heads, merging, n);
	const int64_t of_head = columns_parameters(a, AL_QUERY) + columns_parameters(a, AL_OUTPUT);
	const int64_t of_kv = columns_parameters(a, AL_KEY) + columns_parameters(a, AL_VALUE);
	mpq_t parameters, cache, part;

	mpq_inits(parameters, cache, part, NULL);
	mpq_set_si(part, (int64_t)n * of_head + (int64_t)(n_kv - kv_left) * of_kv, 1);
	mpq_sub(parameters, x->parameters, part);
	mpq_set_ui(part, kv_left, n_kv);
	mpq_canonicalize(part);
	mpq_mul(cache, x->cache, part);
	c->name = a->variant->name;
	set_row(x, c, parameters, cache);
	mpq_clears(parameters, cache, part, NULL);
	return true;
}

/* Without the first `n` heads of those that a module can do without. */
static bool convert_merged(struct converter *x, const struct al_merging *merging, size_t n,
	const char *setting, struct al_error *err)
{
	struct conversion c = begin_same(x, (struct al_loss){{0, 0}, NAN});
	double qk = 0, ov = 0;
	struct al_text text;

	for (size_t k = 0; k < n; k++) {
		qk += merging->steps[k].qk_squared;
		ov += merging->steps[k].ov_squared;
	}
	c.loss.of[AL_LOSS_QK] = sqrt(fmax(qk, 0));
	c.loss.of[AL_LOSS_OV] = sqrt(fmax(ov, 0));
	if (x->losses->is_rotary)
		c.loss.qk_mean = c.loss.of[AL_LOSS_QK];
	change(&c, "n_heads", merging->n_heads - n);
	c.setting = setting;
	al_text_init(&text);
	al_merging_print(merging, n, &text);
	c.groups = al_strdup(arena_of(x), text.data);
	al_text_finish(&text);
	return al_losses_has_own_keys(x->losses) ? add_row(x, &c, err)
						 : add_grouped_row(x, &c, merging, n);
}

static bool convert_redundant(struct converter *x, struct al_error *err)
{
	struct al_merging merging;
	bool ok = true;

	if (!x->losses->has_values || (x->losses->is_latent && !al_losses_has_own_keys(x->losses)))
		return true;
	if (!al_merging_find(&merging, x->module, limits[N_LIMITS - 1].error, err))
		return false;
	for (size_t i = 0; ok && i < N_LIMITS; i++)
		ok = convert_merged(x, &merging, al_merging_count(&merging, limits[i].error),
			limits[i].setting, err);
	al_merging_finish(&merging);
	return ok;
}

static bool convert_widths(struct converter *x, struct al_error *err)
{
	size_t n = x->module->heads.n_heads, width = x->losses->keys.width;

	if (!al_losses_has_own_keys(x->losses))
		return true;
	for (size_t quarters = 3; quarters > 0 && al_losses_is_free(x->losses); quarters--)
		if (width * quarters / 4 > 0 && !convert_narrow(x, width * quarters / 4, err))
			return false;
	for (size_t quarters = 0, last = 0; x->losses->has_values && quarters < 4; quarters++) {
		size_t k = quarters ? n * quarters / 4 : 1;
		if (k <= last || k >= n)
			continue;
		if (!convert_fewer(x, k, err))
			return false;
		last = k;
	}
	return true;
}

/* ---- the module ---- */

static bool convert_all(struct converter *x, struct al_error *err)
{
	return measure_module(x, err) && convert_groups(x, err) && convert_shared_kv(x, err)
		&& convert_latent(x, err) && convert_embeddings(x, err) && convert_redundant(x, err)
		&& convert_widths(x, err);
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct al_losses losses;
	struct converter x = {.audit = audit, .module = module, .table = table, .losses = &losses};

	if (!al_losses_find(&losses, audit, module, err))
		return false;
	mpq_init(x.parameters);
	mpq_init(x.cache);
	bool ok = losses.is_zero || convert_all(&x, err);
	mpq_clear(x.cache);
	mpq_clear(x.parameters);
	al_losses_finish(&losses);
	return ok;
}

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
static void leave_out_nothing(struct al_table *table)
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

static void finish(struct al_audit *audit, struct al_table *table)
{
	leave_out_nothing(table);
	bool is_rotary = false, is_normed = false, is_latent = false, is_grouped = false;

	for (size_t i = 0; i < audit->view->n_modules; i++) {
		is_rotary |= audit->view->modules[i].is_rotary;
		is_normed |= al_has_qk_norm(&audit->view->modules[i]);
		is_latent |= audit->view->modules[i].is_latent;
		is_grouped |= audit->view->modules[i].n_kv_heads < audit->view->modules[i].n_heads;
	}
	al_table_note(table,
		"raw: the basis as stored, which a checkpoint may change without changing a score; "
		"aligned: the best basis that positions and norms allow (position-safe); optimal: "
		"the best of all bases; found: the best that was found");
	al_table_note(table,
		"regrouped: the groups whose squared errors of scores and values add up to "
		"least: pairs of up to %d heads are matched exactly, others are what exchanges "
		"of heads find; mhe-mul, found: what alternating least squares reach",
		AL_MOST_MATCHED);
	if (is_rotary)
		al_table_note(table,
			"rotary positions: QK errors are those at offset %lld; over all offsets "
			"stands "
			"the mean, in which pairs of dimensions add up where they turn at least "
			"once over a text, and which aligned and regrouped make least; latent-kv "
			"also needs a decoupled rotary part, as in mla, which isn't counted",
			(long long)audit->options.offset);
	if (is_grouped)
		al_table_note(table,
			"heads that share keys and values: one that goes saves its W_Q and W_O; "
			"the keys and values stay as long as one head of the group does, and "
			"groups "
			"become unequal");
	if (is_normed)
		al_table_note(table,
			"queries and keys pass a norm: their side is shared in the basis as "
			"stored, without the norm's gains");
	if (is_latent)
		al_table_note(table,
			"modules with latent keys and values (mla): errors are of the part of a "
			"head that positions don't rotate; of the norm between the two "
			"projections only the gain is counted");
}

const struct al_measurement al_measurement_conversion = {
	.id = "conversion",
	.title = "Conversions to other variants",
	.needs_own_keys = true,
	.needs = {.weights = true, .head_spectra = HEAD_SPECTRA, .layer_spectra = AL_LOSS_SPECTRA},
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.title = "Conversions of all modules, the largest error of any",
		.fill = al_conversion_total},
	.summary = {{AL_SUMMARY_CONVERSIONS, al_conversion_summarise}},
};
