/* Looks: a variant keeps its colour and mark in every figure of a scenario. */
#include <string.h>

#include "base/text.h"
#include "scenario/read.h"

/* The names of the variants that are drawn as series, in the order in which figures first show
 * them. */
struct looks {
	const char **names;
	size_t n;
};
enum { MOST_LOOKS = 64 }; /* nobody could distinguish more */

static void add_look(struct looks *looks, const struct al_scenario_figure *figure,
	const struct al_configured_variant *configured)
{
	const char *name = configured->title ? configured->title : configured->name;

	if (looks->n < MOST_LOOKS && al_find_name(name, looks->names, looks->n) < 0
		&& (!figure->variants
			|| al_find_name(configured->name, figure->variants, figure->n_variants)
				>= 0))
		looks->names[looks->n++] = name;
}

static void add_looks(struct looks *looks, const struct al_scenario_figure *figure)
{
	const struct al_scenario_table *table = figure->table;

	for (size_t i = 0; table && i < table->n_rows; i++)
		if (table->rows[i].variant)
			add_look(looks, figure, table->rows[i].variant);
	for (size_t i = 0; !table && i < figure->sweep->sweep.n_variants; i++)
		add_look(looks, figure, figure->sweep->sweep.variants[i]);
}

static bool has_variants_as_series(const struct al_scenario_figure *figure)
{
	return figure->figure.series && strcmp(figure->figure.series, "variant") == 0;
}

void al_looks_choose(struct al_scenario *s)
{
	struct looks looks = {.names = al_new_array(&s->arena, const char *, MOST_LOOKS)};

	for (size_t i = 0; i < s->n_figures; i++)
		if (has_variants_as_series(&s->figures[i]))
			add_looks(&looks, &s->figures[i]);
	for (size_t i = 0; i < s->n_figures; i++)
		if (has_variants_as_series(&s->figures[i])) {
			s->figures[i].figure.looks = looks.names;
			s->figures[i].figure.n_looks = looks.n;
		}
}
