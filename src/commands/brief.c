/* What people read of an audit. */
#include "commands/brief.h"

#include <string.h>

#include "audit/summary.h"

/* The columns of the short form, NULL-terminated, and how many rows of it; 0: all. */
static const struct brief {
	const char *id;
	size_t most_rows;
	const char *columns[10];
} briefs[] = {
	{"layers", 0,
		{"module", "q_n90", "k_n90", "ov_n90", "qk_n90", "qk_gaussian_n90",
			"qk_independent_n90", "redundancy"}},
	{"similarity", 10, {"module_a", "head_a", "module_b", "head_b", "qk_cosine", "ov_cosine"}},
};
enum { N_BRIEFS = sizeof(briefs) / sizeof(*briefs) };

static void copy_cell(struct al_table *to, struct al_cell *out, const struct al_cell *cell)
{
	switch (cell->kind) {
	case AL_CELL_TEXT:
		al_cell_set_titled(to, out, cell->text, cell->title);
		break;
	case AL_CELL_EXACT:
		al_cell_set_exact(to, out, cell->exact);
		break;
	case AL_CELL_REAL:
		al_cell_set_real(out, cell->real);
		break;
	case AL_CELL_MISSING:
		break;
	}
}

static void copy(struct al_table *to, const struct al_table *from, const struct brief *brief)
{
	size_t n = brief->most_rows && brief->most_rows < from->n_rows ? brief->most_rows
								       : from->n_rows;

	for (size_t i = 0; brief->columns[i]; i++)
		if (al_table_find_column(from, brief->columns[i]) >= 0)
			al_table_add_column(to,
				from->columns[al_table_find_column(from, brief->columns[i])]);
	for (size_t row = 0; row < n; row++) {
		struct al_cell *cells = al_table_add_row(to);
		for (size_t i = 0; i < to->n_columns; i++)
			copy_cell(to, &cells[i],
				&from->rows[row][al_table_find_column(from, to->columns[i].key)]);
	}
}

void brief_add(struct session *session, const struct al_table *table)
{
	if (strcmp(table->id, "conversion") == 0) {
		al_summary_conversions(session_table(session, table->id,
					       "Conversions of all modules, the largest error of "
					       "any"),
			table);
		return;
	}
	for (int i = 0; i < N_BRIEFS; i++) {
		if (strcmp(table->id, briefs[i].id) != 0)
			continue;
		copy(session_table(session, table->id, table->title), table, &briefs[i]);
		return;
	}
}
