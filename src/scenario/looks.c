/* Looks: a variant keeps its color and mark in every figure of a scenario, and so does a case. The
 * scenario gives a color, or the figures give the palette's in the order in which they first show a
 * name. */
#include "scenario/read.h"

/* ---- the colors that a scenario gives ---- */

bool al_scenario_read_color(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_scenario_color *color = out;

	color->name = al_json_key(member);
	if (!al_variant_find(s, color->name, NULL) && !al_case_find(s, color->name, NULL)) {
		al_unknown_fail(s, AL_NAMES_VARIANTS, "variant or case", color->name, err);
		return al_json_in(&s->doc, member, err);
	}
	const int found = al_json_find_word(&s->doc, member, "color", al_figure_colors,
		AL_FIGURE_N_COLORS, err);
	color->place = (size_t)found;
	return found >= 0;
}

/* ---- who is drawn as a series ---- */

enum { MOST_LOOKS = 64 }; /* more can't be distinguished */

struct looks {
	struct al_look *items;
	const char **ids; /* [n] */
	size_t n;
};

static void add_look(struct looks *looks, const char *id, const char *title,
	const char *const *wanted, size_t n_wanted)
{
	if (looks->n == MOST_LOOKS || al_find_name(id, looks->ids, looks->n) >= 0
		|| (wanted && al_find_name(id, wanted, n_wanted) < 0))
		return;
	looks->ids[looks->n] = id;
	looks->items[looks->n++].name = title ? title : id;
}

static void add_variant(struct looks *looks, const struct al_scenario_figure *figure,
	const struct al_configured_variant *configured)
{
	if (configured)
		add_look(looks, configured->name, configured->title, figure->variants,
			figure->n_variants);
}

static void add_variants(struct looks *looks, const struct al_scenario_figure *figure)
{
	for (size_t i = 0; figure->table && i < figure->table->n_rows; i++)
		add_variant(looks, figure, figure->table->rows[i].variant);
	for (size_t i = 0; figure->sweep && i < figure->sweep->sweep.n_variants; i++)
		add_variant(looks, figure, figure->sweep->sweep.variants[i]);
}

static void add_case(struct looks *looks, const struct al_scenario_figure *figure,
	const struct al_case *case_)
{
	if (case_)
		add_look(looks, case_->id, case_->title, figure->cases, figure->n_cases);
}

static void add_cases(struct looks *looks, const struct al_scenario_figure *figure)
{
	for (size_t i = 0; figure->table && i < figure->table->n_rows; i++)
		add_case(looks, figure, figure->table->rows[i].case_);
	for (size_t i = 0; figure->sweep && i < figure->sweep->cases.n; i++)
		add_case(looks, figure, figure->sweep->cases.items[i]);
}

/* ---- their places in the palette ---- */

enum { NOT_PLACED = -1 };

static bool is_taken(const struct looks *looks, size_t place)
{
	for (size_t i = 0; i < looks->n; i++)
		if (looks->items[i].place == place)
			return true;
	return false;
}

/* The first free place from `place` on; of a given color every so many-th has it. */
static size_t find_free(const struct looks *looks, size_t place, size_t step)
{
	while (is_taken(looks, place))
		place += step;
	return place;
}

static void place_all(const struct al_scenario *s, struct looks *looks)
{
	for (size_t i = 0; i < looks->n; i++)
		looks->items[i].place = (size_t)NOT_PLACED;
	for (size_t i = 0; i < looks->n; i++) {
		const struct al_scenario_color *given = AL_FIND(s->colors, s->n_colors,
			looks->ids[i]);
		if (given)
			looks->items[i].place = find_free(looks, given->place, AL_FIGURE_N_COLORS);
	}
	for (size_t i = 0; i < looks->n; i++)
		if (looks->items[i].place == (size_t)NOT_PLACED)
			looks->items[i].place = find_free(looks, 0, 1);
}

static void choose(struct al_scenario *s, const char *column,
	void (*add)(struct looks *looks, const struct al_scenario_figure *figure))
{
	struct looks looks = {al_new_array(&s->arena, struct al_look, MOST_LOOKS),
		al_new_array(&s->arena, const char *, MOST_LOOKS), 0};

	for (size_t i = 0; i < s->n_figures; i++) {
		const char *series = s->figures[i].figure.series;
		if (series && strcmp(series, column) == 0)
			add(&looks, &s->figures[i]);
	}
	place_all(s, &looks);
	for (size_t i = 0; i < s->n_figures; i++) {
		struct al_figure *figure = &s->figures[i].figure;
		if (!figure->series || strcmp(figure->series, column) != 0)
			continue;
		figure->looks = looks.items;
		figure->n_looks = looks.n;
	}
}

void al_looks_choose(struct al_scenario *s)
{
	choose(s, "variant", add_variants);
	choose(s, "case", add_cases);
}
