/* Tables of formulas. */
#include "answer/formulas.h"

struct record {
	const struct al_formulas *of;
	const char *variant;
	struct al_polynomial *parameters, *difference; /* difference NULL: none is asked for */
	int degree; /* -1: not decided */
	struct al_text cache, cache_latex;
};

static void get_order(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct record *r = record;

	if (r->degree >= 0)
		al_cell_set_order(table, cell, r->of->order, r->degree, r->of->session->catalog);
}

static void get_parameters(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct record *r = record;

	al_cell_set_polynomial(table, cell, r->parameters, r->of->session->catalog);
}

static void get_difference(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct record *r = record;

	al_cell_set_polynomial(table, cell, r->difference, r->of->session->catalog);
}

/* "2*d_head*n_heads", "once: d_head*d_value*n_heads", "none" */
static void get_cache(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct record *r = record;

	if (r->cache_latex.length)
		al_cell_set_latex(table, cell, r->cache.data,
			al_format(&table->arena, "$%s$", r->cache_latex.data));
	else if (r->cache.length)
		al_cell_set_text(table, cell, r->cache.data);
}

enum { WITH_ORDER = 1, WITH_DIFFERENCE = 2 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, variant, "Variant")},
	{{.key = "order", .title = "Order"}, .get = get_order, .when = WITH_ORDER},
	{{.key = "parameters", .title = "Parameters"}, .get = get_parameters},
	{{.key = "difference"}, .get = get_difference, .when = WITH_DIFFERENCE},
	{{.key = "cache", .title = "Cached per token"}, .get = get_cache},
	AL_FIELDS_END,
};

void al_formulas_begin(const struct al_formulas *f, struct al_table *table)
{
	al_table_add_fields(table, fields,
		(f->order ? WITH_ORDER : 0) | (f->reference ? WITH_DIFFERENCE : 0));
	if (f->reference)
		table->columns[al_table_find_column(table, "difference")].title =
			al_format(&table->arena, "Difference to %s", f->against.name);
}

static struct al_ledger *open_ledger(const struct al_formulas *f,
	const struct al_configured_variant *configured, struct al_error *err)
{
	const struct al_ledger_ask ask = {.settings = f->settings,
		.basis = f->basis,
		.configured = configured};

	return al_ledger_create(&f->session->arena, &ask, err);
}

/* What a token adds to a module's cache, or (`is_once`) what a sequence has once. */
static bool add_cached(struct record *r, struct al_ledger *ledger, bool is_once,
	struct al_error *err)
{
	const struct al_formulas *f = r->of;
	struct al_polynomial *sum, *zero = al_polynomial_from_int(0);
	const bool ok = al_ledger_cache_polynomial(ledger, is_once, f->substitutions,
		f->n_substitutions, &sum, err);

	if (ok && !al_polynomial_equal(sum, zero)) {
		al_text_addf(&r->cache, "%s%s", r->cache.length ? ", " : "",
			is_once ? "once: " : "");
		al_text_addf(&r->cache_latex, "%s%s", r->cache_latex.length ? ",\\ " : "",
			is_once ? "\\mathrm{once:}\\ " : "");
		al_polynomial_text(sum, &r->cache);
		al_polynomial_latex(sum, al_catalog_latex, f->session->catalog, &r->cache_latex);
	}
	if (ok)
		al_polynomial_destroy(sum);
	al_polynomial_destroy(zero);
	return ok;
}

static bool find_cached(struct record *r, struct al_ledger *ledger, struct al_table *table,
	struct al_error *err)
{
	struct al_undeclared undeclared;

	if (!al_ledger_declares_list(ledger, AL_LIST_CACHE, &undeclared)) {
		al_note_undeclared(&undeclared, table);
		return true;
	}
	if (!add_cached(r, ledger, false, err) || !add_cached(r, ledger, true, err))
		return false;
	if (!r->cache.length)
		al_text_add(&r->cache, "none");
	return true;
}

/* In a survey a note explains why there is no order. */
static bool find_order(struct record *r, struct al_table *table, struct al_error *err)
{
	if (!r->of->order || al_polynomial_degree(r->parameters, r->of->order, &r->degree, err))
		return true;
	r->degree = -1;
	if (r->of->is_survey)
		al_table_warn(table, "%s: %s", r->variant, err->message);
	return r->of->is_survey;
}

bool al_formulas_add(const struct al_formulas *f, struct al_table *table,
	const struct al_configured_variant *configured, struct al_error *err)
{
	struct record r = {f, configured->name, .degree = -1};
	struct al_ledger *ledger = open_ledger(f, configured, err);

	if (!ledger
		|| !al_ledger_polynomial(ledger, f->substitutions, f->n_substitutions,
			&r.parameters, err))
		return false;
	al_text_init(&r.cache);
	al_text_init(&r.cache_latex);
	const bool ok = find_order(&r, table, err)
		&& (!f->reference
			|| al_polynomial_difference(r.parameters, f->reference, &r.difference, err))
		&& find_cached(&r, ledger, table, err);
	if (ok)
		al_table_add_record(table, &r);
	al_polynomial_destroy(r.parameters);
	al_polynomial_destroy(r.difference);
	al_text_finish(&r.cache);
	al_text_finish(&r.cache_latex);
	return ok || al_in(err, "variant %s", configured->name);
}

bool al_formulas_sum(const struct al_formulas *f, const struct al_configured_variant *configured,
	struct al_polynomial **out, struct al_error *err)
{
	struct al_ledger *ledger = open_ledger(f, configured, err);

	return ledger
		&& al_ledger_polynomial(ledger, f->substitutions, f->n_substitutions, out, err);
}
