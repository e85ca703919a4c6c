/* Tables that are written down in a test. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/table.h"

/* A table of lines of cells, the first of keys: numbers, texts, in which ~ is a space, and "-" for
 * what is missing. */
static inline void write_table(struct al_table *table, const char *id, const char *lines)
{
	char *rest, *cell_rest, *copy;

	al_table_init(table, id, "");
	copy = rest = al_strdup(&table->arena, lines);
	for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct al_cell *cell = line == copy ? NULL : al_table_add_row(table);
		for (char *text = strtok_r(line, " ", &cell_rest); text;
			text = strtok_r(NULL, " ", &cell_rest)) {
			char *end;
			int digits;
			const double number = strtod(text, &end);
			mpq_ptr exact = al_exact_new(&table->arena);
			if (!cell)
				al_table_add_column(table,
					(struct al_column){.key = text,
						.digits = AL_DIGITS_ALL,
						.is_key = strcmp(text, "module") == 0});
			else if (al_exact_parse(text, exact, &digits))
				al_cell_set_exact(table, cell++, exact);
			else if (!*end)
				al_cell_set_real(cell++, number);
			else if (strcmp(text, "-") == 0)
				cell++;
			else {
				for (char *at = text; (at = strchr(at, '~'));)
					*at = ' ';
				al_cell_set_text(table, cell++, text);
			}
		}
	}
}
