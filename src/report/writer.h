/* Shared by the writers, and internal to them. */
#pragma once

#include "report/report.h"

/* The one list of writers. */
#define AL_WRITERS(X) X(text) X(json) X(csv) X(latex) X(markdown) X(value)

#define AL_DECLARE_WRITER(name) extern const struct al_writer al_writer_##name;
AL_WRITERS(AL_DECLARE_WRITER)

/* The parts of a text, which the short form puts together. */
void al_text_write_table(const struct al_style *style, const struct al_table *table,
	struct al_text *out);
void al_text_write_claim(const struct al_style *style, const char *claim, struct al_text *out);
void al_text_write_end(const struct al_style *style, const struct al_claim *claim,
	struct al_text *out);

/* Is a table set without being folded? */
bool al_text_table_fits(const struct al_style *style, const struct al_table *table);

/* The short form: brief.c. */
size_t al_text_write_short(const struct al_style *style, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out);

/* A stranger's text as one printable line: control characters come out as \xNN. */
const char *al_printable(struct al_arena *arena, const char *text);

/* The exact number of a cell as JSON and CSV print it; NULL where the cell holds none. A real that
 * is not finite is "nan", "inf" or "-inf". */
const char *al_cell_number_text(struct al_arena *arena, const struct al_cell *cell);

/* The unit in brackets in a column's head; "" where its title names it, or there is none. */
const char *al_column_head_unit(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column);

/* Columns of numbers are aligned right: those with a number, or nothing at all. */
bool al_column_is_number(const struct al_table *table, size_t column);

/* An exact cell's number without its spread and mark, or its spread, with so many digits. */
const char *al_number_display(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, mpq_srcptr number, int digits);

/* Does any cell carry a spread? JSON and CSV then have a column KEY_spread after it. */
bool al_column_has_spread(const struct al_table *table, size_t column);

/* Are two columns under the same group heading? */
bool al_column_same_group(const struct al_column *a, const struct al_column *b);

/* Is there a rule above the row, which sums several? A row alone needs no line under it. */
bool al_table_has_rule(const struct al_table *table, size_t row);
