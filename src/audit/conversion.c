/* Conversions of a module to other variants: errors in weight space, and savings. */
#include "audit/conversion.h"
#include "audit/conversion_totals.h"
#include "audit/grouping.h"
#include "audit/losses.h"
#include "audit/measurement.h"
#include "ledger/ledger.h"

static const struct al_conversion_target one_key = {"mqa", "d_head"},
					 key_groups = {"gqa", "d_head"},
					 shared_kv = {"skv", "d_head"},
					 latent = {"latent-kv", "d_head"},
					 own_keys = {"mha", "d_head"},
					 latent_keys = {"mla", "d_nope"},
					 embeddings[AL_N_EMBEDDINGS] = {{"mhe-add", "d_head"},
						 {"mhe-mul", "d_head"}};

struct row {
	const char *module, *variant, *setting;
	struct al_titled gauge;
	mpq_srcptr parameters;
	double saving, cache_saving;
	struct al_conversion_loss loss;
	const char *groups;
};

static const struct al_table_field fields[] = {
	{AL_COLUMN_KEY("module", "Module"), AL_MEMBER(struct row, module)},
	{AL_COLUMN_KEY("variant", "Variant"), AL_MEMBER(struct row, variant)},
	{AL_COLUMN_KEY("setting", "Setting"), AL_MEMBER(struct row, setting)},
	{AL_COLUMN_KEY("gauge", "Basis"), AL_MEMBER(struct row, gauge)},
	{AL_COLUMN_COUNT("parameters", "Parameters"), AL_MEMBER(struct row, parameters)},
	{AL_SHOW(struct row, saving, "Saving", .unit = "%", .digits = 1)},
	{AL_SHOW(struct row, cache_saving, "Cache saving", .unit = "%", .digits = 1)},
	{{.key = "qk_relative_error", .title = "QK error", .digits = 4},
		AL_MEMBER(struct row, loss.of[AL_LOSS_QK])},
	{{.key = "qk_mean_error", .title = "over all offsets", .digits = 4},
		AL_MEMBER(struct row, loss.qk_mean)},
	{{.key = "ov_relative_error", .title = "OV error", .digits = 4},
		AL_MEMBER(struct row, loss.of[AL_LOSS_OV])},
	{AL_SHOW(struct row, groups, "Heads")},
	AL_FIELDS_END,
};

/* ---- counts ---- */

/* Replaces the previous value. */
void al_conversion_change(struct al_conversion *c, const char *symbol, size_t value)
{
	size_t i = 0;

	while (i < c->n_changes && strcmp(c->changes[i].symbol, symbol) != 0)
		i++;
	c->changes[i] = (struct al_binding){symbol, (int64_t)value};
	c->n_changes += i == c->n_changes;
}

/* The module's own options where the variant knows them (biases), after the conversion's
 * changes. */
static bool keep_options(const struct al_converter *x, const struct al_variant *variant,
	struct al_conversion *c, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;

	for (size_t i = 0; i < a->n_with; i++) {
		if (!al_variant_has_option(variant, a->with[i].symbol))
			continue;
		if (c->n_changes == AL_MOST_CHANGES)
			return al_fail(err, AL_EINPUT, "%s sets too many options (at most %d)",
				variant->name, AL_MOST_CHANGES);
		c->changes[c->n_changes++] = a->with[i];
	}
	return true;
}

static bool measure_variant(const struct al_converter *x,
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

static bool measure_module(struct al_converter *x, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;
	const struct al_configured_variant configured = {.variant = a->variant,
		.name = a->variant->name,
		.with = a->with,
		.n_with = a->n_with};

	return measure_variant(x, &configured, x->parameters, x->cache, err);
}

static bool measure_conversion(const struct al_converter *x, struct al_conversion *c,
	mpq_t parameters, mpq_t cache, struct al_error *err)
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
static double saving(mpq_srcptr part, mpq_srcptr whole)
{
	return mpq_sgn(whole) > 0 ? 100 * (1 - mpq_get_d(part) / mpq_get_d(whole)) : NAN;
}

/* The printed name of a gauge, the basis in which heads are shared. */
static const char *gauge_title(const char *gauge)
{
	static const char *const titles[][2] = {{"raw", "as stored"}, {"aligned", "position-safe"},
		{"optimal", "best"}, {"found", "best found"}};

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		if (strcmp(titles[i][0], gauge) == 0)
			return titles[i][1];
	return NULL;
}

void al_conversion_set_row(const struct al_converter *x, const struct al_conversion *c,
	mpq_srcptr parameters, mpq_srcptr cache)
{
	al_table_add_record(x->table,
		&(struct row){x->module->attention->name, c->name, c->setting,
			{c->gauge, gauge_title(c->gauge)}, parameters,
			saving(parameters, x->parameters), saving(cache, x->cache), c->loss,
			c->groups});
}

bool al_conversion_add_row(struct al_converter *x, struct al_conversion *c, struct al_error *err)
{
	AL_EXACT(parameters);
	AL_EXACT(cache);
	bool ok = measure_conversion(x, c, parameters, cache, err);
	if (ok)
		al_conversion_set_row(x, c, parameters, cache);
	return ok || al_in(err, "conversion to %s", c->name);
}

/* A conversion that keeps the heads' number and widths. */
static struct al_conversion begin(const struct al_converter *x,
	const struct al_conversion_target *to, const char *gauge, struct al_conversion_loss loss)
{
	const struct al_heads *heads = &x->module->heads;
	struct al_conversion c = {.to = to,
		.name = to->variant,
		.setting = "",
		.gauge = gauge,
		.loss = loss};

	al_conversion_change(&c, "n_heads", heads->n_heads);
	al_conversion_change(&c, to->width, heads->d_head);
	if (x->losses->has_values)
		al_conversion_change(&c, "d_value", heads->d_value);
	return c;
}

/* The same within what a module with a key for every head is: multi-head or, already, latent
 * attention. */
struct al_conversion al_conversion_begin_same(const struct al_converter *x,
	struct al_conversion_loss loss)
{
	if (!x->losses->is_latent)
		return begin(x, &own_keys, "optimal", loss);
	return (struct al_conversion){.to = &latent_keys,
		.name = latent_keys.variant,
		.setting = "",
		.gauge = "optimal",
		.loss = loss};
}

/* The name of the best basis that positions allow. */
static const char *best_gauge(const struct al_converter *x)
{
	return al_losses_is_free(x->losses) ? "optimal" : "aligned";
}

/* ---- fewer key/value heads ---- */

static bool add_grouping_row(struct al_converter *x, const struct al_grouping *g,
	const char *setting, const char *gauge, struct al_conversion_loss loss, const size_t *order,
	struct al_error *err)
{
	struct al_conversion c = begin(x, g->n_groups == 1 ? &one_key : &key_groups, gauge, loss);
	AL_TEXT(text);

	c.setting = setting;
	if (g->n_groups > 1) {
		c.name = al_format((&x->table->arena), "%s-%zu", c.to->variant, g->n_groups);
		al_conversion_change(&c, "n_kv_heads", g->n_groups);
	}
	if (order) {
		al_group_print(order, x->losses->keys.n, g->size, &text);
		c.groups = al_strdup((&x->table->arena), text.data);
	}
	return al_conversion_add_row(x, &c, err);
}

/* Neighbors, and other groups: the best that the search finds, which may be neighbors again. */
static bool add_grouping(struct al_converter *x, const struct al_grouping *g,
	const size_t *in_order, struct al_error *err)
{
	bool is_neighbors = al_loss_squared(&g->neighbors) <= al_loss_squared(&g->regrouped);

	if (!add_grouping_row(x, g, "mean", "raw", g->mean, NULL, err))
		return false;
	return add_grouping_row(x, g, "neighbors", best_gauge(x), g->neighbors, in_order, err)
		&& (g->n_groups == 1
			|| add_grouping_row(x, g, "regrouped", best_gauge(x),
				is_neighbors ? g->neighbors : g->regrouped,
				is_neighbors ? in_order : g->order, err));
}

static bool convert_groups(struct al_converter *x, struct al_error *err)
{
	for (size_t i = 0; i < x->losses->n_groupings; i++)
		if (!add_grouping(x, &x->losses->groupings[i], x->losses->in_order, err))
			return false;
	return true;
}

/* ---- keys and values together ---- */

static bool convert_shared_kv(struct al_converter *x, struct al_error *err)
{
	struct al_conversion c = begin(x, &shared_kv, "optimal", x->losses->shared_kv);

	return !al_losses_has_shared_kv(x->losses) || al_conversion_add_row(x, &c, err);
}

static bool convert_latent(struct al_converter *x, struct al_error *err)
{
	for (size_t i = 0; i < x->losses->n_ranks; i++) {
		size_t rank = x->losses->ranks[i];
		struct al_conversion_loss loss = x->losses->latent[i];
		struct al_conversion c = x->losses->is_latent
			? al_conversion_begin_same(x, loss)
			: begin(x, &latent, best_gauge(x), loss);
		c.setting = al_format((&x->table->arena), "kv_rank %zu", rank);
		al_conversion_change(&c, "kv_rank", rank);
		if (!al_conversion_add_row(x, &c, err))
			return false;
	}
	return true;
}

/* ---- multiple-head embeddings ---- */

static bool convert_embeddings(struct al_converter *x, struct al_error *err)
{
	if (!al_losses_has_embeddings(x->losses))
		return true;
	for (int kind = 0; kind < AL_N_EMBEDDINGS; kind++) {
		struct al_conversion raw = begin(x, &embeddings[kind], "raw",
			x->losses->embedding[kind]);
		struct al_conversion best = begin(x, &embeddings[kind],
			kind == AL_EMBEDDING_MUL ? "found" : "optimal",
			x->losses->embedding_best[kind]);
		if (!al_conversion_add_row(x, &raw, err)
			|| (al_losses_is_free(x->losses) && !al_conversion_add_row(x, &best, err)))
			return false;
	}
	return true;
}

/* ---- the module ---- */

static bool convert_all(struct al_converter *x, struct al_error *err)
{
	return measure_module(x, err) && convert_groups(x, err) && convert_shared_kv(x, err)
		&& convert_latent(x, err) && convert_embeddings(x, err)
		&& al_convert_redundant(x, err) && al_convert_widths(x, err);
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct al_losses losses;
	struct al_converter x = {.audit = audit,
		.module = module,
		.table = table,
		.losses = &losses};

	mpq_inits(x.parameters, x.cache, NULL);
	const bool ok = al_losses_find(&losses, audit, module, err)
		&& (losses.is_zero || convert_all(&x, err));
	mpq_clears(x.parameters, x.cache, NULL);
	al_losses_finish(&losses);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	al_conversions_leave_out_nothing(table);
	bool is_rotary = false, is_normed = false, is_latent = false, is_grouped = false;

	for (size_t i = 0; i < audit->view->n_modules; i++) {
		is_rotary |= audit->view->modules[i].is_rotary;
		is_normed |= audit->view->modules[i].has_qk_norm;
		is_latent |= audit->view->modules[i].is_latent;
		is_grouped |= audit->view->modules[i].n_kv_heads < audit->view->modules[i].n_heads;
	}
	al_table_note(table,
		"raw: in the stored basis, which is arbitrary (changing it need not change any "
		"score); aligned: in the best basis that rotary positions and norms allow "
		"(position-safe); optimal: in the best of all bases; found: in the best basis that "
		"a search found");
	al_table_note(table,
		"regrouped: groups of heads with the smallest sum of squared errors of scores and "
		"values, exact for pairs among up to %d heads, otherwise the best found by "
		"swapping heads; mhe-mul, found: the result of alternating least squares",
		AL_MOST_MATCHED);
	if (is_rotary)
		al_table_note(table,
			"rotary positions: QK errors are at offset %lld; the mean over all offsets "
			"covers dimension pairs that complete at least one turn over a text; "
			"aligned and regrouped minimize it; latent-kv would also need a decoupled "
			"rotary part, as in MLA, which isn't counted",
			(long long)audit->options.offset);
	if (is_grouped)
		al_table_note(table,
			"grouped heads: removing one saves its W_Q and W_O; its group's keys and "
			"values stay until the last head of the group is removed, and groups "
			"become unequal");
	if (is_normed)
		al_table_note(table,
			"a norm follows the query and key projections: heads are compared in the "
			"stored basis, without the norm's gains");
	if (is_latent)
		al_table_note(table,
			"latent keys and values (MLA): errors cover the non-rotary part of each "
			"head; only the gain of the norm between the two projections is included");
}

const struct al_measurement al_measurement_conversion = {
	.id = "conversion",
	.title = "Conversions to other variants",
	.needs_own_keys = true,
	.needs = {.weights = true, .loss_spectra = AL_LOSS_SPECTRA, .forms = true},
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.title = "Conversions of all modules, with the largest error of any module",
		.fill = al_conversion_total},
	.summary = {{AL_SUMMARY_CONVERSIONS, al_conversion_summarize}},
};
