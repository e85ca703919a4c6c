/* Cells of formulas. */
#include "commands/formulas.h"

#include "base/text.h"

struct cached {
	struct al_ledger *ledger;
	const struct al_substitutions *substitutions;
	struct al_catalog *catalog;
	struct al_text text, latex;
};

static bool add_sum(struct cached *c, bool is_once, struct al_error *err)
{
	struct al_polynomial *sum, *zero = al_polynomial_from_int(0);
	bool ok = al_ledger_cache_polynomial(c->ledger, is_once, c->substitutions->items,
		c->substitutions->n, &sum, err);

	if (ok && !al_polynomial_equal(sum, zero)) {
		al_text_addf(&c->text, "%s%s", c->text.length ? ", " : "", is_once ? "once: " : "");
		al_text_addf(&c->latex, "%s%s", c->latex.length ? ",\\ " : "",
			is_once ? "\\mathrm{once:}\\ " : "");
		al_polynomial_text(sum, &c->text);
		al_polynomial_latex(sum, al_catalog_latex, c->catalog, &c->latex);
	}
	if (ok)
		al_polynomial_destroy(sum);
	al_polynomial_destroy(zero);
	return ok;
}

static bool write_cached(struct cached *c, struct al_table *table, struct al_cell *cell,
	struct al_error *err)
{
	al_text_init(&c->text);
	al_text_init(&c->latex);
	bool ok = add_sum(c, false, err) && add_sum(c, true, err);
	if (ok && c->text.length)
		al_cell_set_latex(table, cell, c->text.data,
			al_format(&table->arena, "$%s$", c->latex.data));
	else if (ok)
		al_cell_set_text(table, cell, "none");
	al_text_finish(&c->text);
	al_text_finish(&c->latex);
	return ok;
}

bool al_cell_set_cached(struct al_table *table, struct al_cell *cell, struct al_ledger *ledger,
	const struct al_substitutions *substitutions, struct al_catalog *catalog,
	struct al_error *err)
{
	struct cached cached = {ledger, substitutions, catalog, .text = {0}};
	struct al_undeclared undeclared;

	if (al_ledger_declares_list(ledger, AL_LIST_CACHE, &undeclared))
		return write_cached(&cached, table, cell, err);
	al_note_undeclared(&undeclared, table);
	return true;
}
