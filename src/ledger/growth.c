/* Cells of theory: a polynomial, an order of growth. */
#include "base/text.h"
#include "ledger/ledger.h"

void al_cell_set_polynomial(struct al_table *table, struct al_cell *cell,
	const struct al_polynomial *polynomial, struct al_catalog *catalog)
{
	struct al_text text, latex;

	al_text_init(&text);
	al_text_init(&latex);
	al_polynomial_text(polynomial, &text);
	al_text_add(&latex, "$");
	al_polynomial_latex(polynomial, al_catalog_latex, catalog, &latex);
	al_text_add(&latex, "$");
	al_cell_set_latex(table, cell, text.data, latex.data);
	al_text_finish(&text);
	al_text_finish(&latex);
}

void al_cell_set_order(struct al_table *table, struct al_cell *cell, const char *symbol, int degree,
	struct al_catalog *catalog)
{
	const char *latex = al_catalog_latex(catalog, symbol);

	if (degree == 0)
		al_cell_set_latex(table, cell, "O(1)", "$O(1)$");
	else if (degree == 1)
		al_cell_set_latex(table, cell, al_format(&table->arena, "O(%s)", symbol),
			al_format(&table->arena, "$O(%s)$", latex));
	else
		al_cell_set_latex(table, cell, al_format(&table->arena, "O(%s^%d)", symbol, degree),
			al_format(&table->arena, "$O(%s^{%d})$", latex, degree));
}
