/* pca in a sentence: how many components across heads hold 90 % of the variance. */
#include "commands/pca.h"

#include <string.h>

#include "commands/say.h"

/* Where the share of components is least or most. */
struct place {
	size_t row;
	double n, features;
};

static bool read_place(const struct al_table *table, size_t row, struct place *out)
{
	out->row = row;
	return al_table_number(table, row, "n90", &out->n)
		&& al_table_number(table, row, "features", &out->features) && out->features > 0;
}

static double share_of(const struct place *place)
{
	return place->n / place->features;
}

static bool find_extremes(const struct al_table *table, struct place *least, struct place *most)
{
	bool is_found = false;
	struct place here;

	for (size_t row = 0; row < table->n_rows; row++) {
		if (!read_place(table, row, &here))
			continue;
		*least = !is_found || share_of(&here) < share_of(least) ? here : *least;
		*most = !is_found || share_of(&here) > share_of(most) ? here : *most;
		is_found = true;
	}
	return is_found;
}

/* "11 of 12 components in layers.0 direct" */
static const char *say_place(struct al_arena *arena, const struct al_table *table,
	const struct place *place)
{
	return al_format(arena, "%.0f of %.0f components in %s", place->n, place->features,
		al_say_row(arena, table, place->row, ""));
}

static const struct al_table *find_modules(const struct al_session *session)
{
	for (size_t i = 0; i < session->n_tables; i++)
		if (strcmp(session->tables[i]->id, pca_table_names[PCA_MODULES]) == 0)
			return session->tables[i];
	return NULL;
}

const char *pca_say(struct al_session *session)
{
	const struct al_table *table = find_modules(session);
	struct al_arena *arena = &session->arena;
	struct place least = {0}, most = {0};

	if (!table || !find_extremes(table, &least, &most))
		return NULL;
	const char *others = share_of(&least) < share_of(&most)
		? al_format(arena, ", up to %s", say_place(arena, table, &most))
		: table->n_rows > 1 ? ", and as large a share in every other row"
				    : "";
	return al_format(arena, "Across heads, 90 %% of the variance takes %s%s, on %s tokens.",
		say_place(arena, table, &least), others,
		al_say_cell(arena, table, least.row, "tokens"));
}
