/* Tables: the one answer. Every command ends in a table; writers print any table; a figure is a
 * table plus the columns to draw.
 *
 * A table owns an arena; texts and numbers that go into a cell are copied into it. Numbers are kept
 * in base units (parameters, bytes, percent); how people read them (digits, a scale) belongs to the
 * column and never changes JSON or CSV. */
#pragma once

#include <gmp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum al_quantity {
	AL_QUANTITY_PLAIN, /* a name, a ratio, a score: never scaled */
	AL_QUANTITY_COUNT, /* parameters, elements: k, M, B under --units */
	AL_QUANTITY_BYTES, /* kB, MB or KiB, MiB under --units */
	AL_QUANTITY_FLOPS, /* kFLOP, MFLOP, ... */
};

enum { AL_DIGITS_ALL = -1 };

struct al_column {
	const char *key; /* API: JSON and CSV name */
	const char *title; /* what people read; the key where NULL */
	const char *unit; /* of the exact value: "", "B", "FLOP", "%", "tokens" */
	const char *group; /* heading over neighboring columns, or NULL */
	const char *scale; /* fixed reading scale: "k", "M", "B" (10^9), "KiB", "GB" ...; NULL:
			      --units */
	enum al_quantity quantity;
	int digits; /* decimals that people read; AL_DIGITS_ALL: as many as there are */
	bool is_key; /* names the row: repeated where a wide table is folded */
};

enum al_cell_kind {
	AL_CELL_MISSING, /* null, empty, a dash: never zero */
	AL_CELL_TEXT,
	AL_CELL_EXACT,
	AL_CELL_REAL,
};

/* How LaTeX sets a number with its spread. */
enum al_spread_form {
	AL_SPREAD_BRACKETS, /* 84.0 (0.3) */
	AL_SPREAD_SUBSCRIPT, /* 84.0, and below it a smaller +- 0.3 */
	AL_SPREAD_PLUS_MINUS, /* 84.0 +- 0.3 */
	AL_SPREAD_SIUNITX, /* the same in columns of siunitx, aligned at the point */
	AL_SPREAD_NONE,
};

struct al_table;

struct al_cell {
	enum al_cell_kind kind;
	bool is_best; /* LaTeX sets it bold */
	bool is_second; /* LaTeX underlines it */
	bool is_total; /* of a row's first cell: the row is a sum of rows before it */
	const char *text; /* TEXT: JSON and CSV keep it */
	const char *title; /* TEXT: what people read instead; NULL: the text */
	const char *latex; /* TEXT: LaTeX for it, ready to print; NULL: the text, escaped */
	mpq_srcptr exact; /* EXACT */
	mpq_srcptr spread; /* EXACT: standard deviation printed with it, or NULL */
	int digits, spread_digits; /* EXACT: decimals that it was printed with; people read as many
				      where the column doesn't set them; 0: as many as there are */
	const char *mark; /* EXACT: "*" after it, which a note explains; or NULL */
	double real; /* REAL */
};

/* A column, and how a record gives its cell: by a member of the record, or by a function. A table
 * is an array of these, so that the name of a column and its value are in one place:
 *
 *     static const struct al_table_field fields[] = {
 *         {AL_SHOW_KEY(struct row, name, "Tensor")},
 *         {{.key = "shape", .title = "Shape"}, .get = get_shape},
 *         {AL_COLUMN_BYTES("size", "Size"), AL_MEMBER(struct row, bytes), .when = WITH_SIZES},
 *         AL_FIELDS_END,
 *     };
 *
 * A pointer that is NULL, a real that is NaN and an int64_t that is INT64_MIN are missing cells. */
enum al_member_type {
	AL_MEMBER_NONE,
	AL_MEMBER_TEXT, /* const char * */
	AL_MEMBER_TITLED, /* struct al_titled */
	AL_MEMBER_INT,
	AL_MEMBER_INT64,
	AL_MEMBER_SIZE,
	AL_MEMBER_REAL,
	AL_MEMBER_EXACT, /* mpq_t */
	AL_MEMBER_EXACT_AT, /* mpq_srcptr */
};

/* A text, and what people read instead; title NULL: the text, text NULL: missing. */
struct al_titled {
	const char *text, *title;
};

struct al_table_field {
	struct al_column column;
	enum al_member_type type;
	size_t offset;
	void (*get)(struct al_table *table, struct al_cell *cell, const void *record);
	unsigned when; /* the column is shown where all these bits are asked for */
};

#define AL_MEMBER(record, member) \
	.type = _Generic(((record *)0)->member, char *: AL_MEMBER_TEXT, \
		const char *: AL_MEMBER_TEXT, struct al_titled: AL_MEMBER_TITLED, \
		int: AL_MEMBER_INT, int64_t: AL_MEMBER_INT64, \
		size_t: AL_MEMBER_SIZE, double: AL_MEMBER_REAL, \
		mpq_ptr: AL_MEMBER_EXACT, mpq_srcptr: AL_MEMBER_EXACT_AT), \
	.offset = offsetof(record, member)

/* Columns of the usual kinds: what names a row, a whole number, a count, bytes. */
#define AL_COLUMN_KEY(name, ...) \
	{ \
		.key = (name), .is_key = true, .title = __VA_ARGS__ \
	}
#define AL_COLUMN_WHOLE(name, ...) \
	{ \
		.key = (name), .digits = AL_DIGITS_ALL, .title = __VA_ARGS__ \
	}
#define AL_COLUMN_COUNT(name, ...) AL_COLUMN_WHOLE(name, __VA_ARGS__, .quantity = AL_QUANTITY_COUNT)
#define AL_COLUMN_BYTES(name, ...) \
	AL_COLUMN_WHOLE(name, __VA_ARGS__, .quantity = AL_QUANTITY_BYTES, .unit = "B")
#define AL_COLUMN_FLOPS(name, ...) \
	AL_COLUMN_WHOLE(name, __VA_ARGS__, .quantity = AL_QUANTITY_FLOPS, .unit = "FLOP")

/* The same of a member that has the column's key as its name: its title, then what else is set. */
#define AL_SHOW(record, member, ...) \
	{.key = #member, .title = __VA_ARGS__}, AL_MEMBER(record, member)
#define AL_SHOW_KEY(record, member, ...) \
	AL_COLUMN_KEY(#member, __VA_ARGS__), AL_MEMBER(record, member)
#define AL_SHOW_WHOLE(record, member, ...) \
	AL_COLUMN_WHOLE(#member, __VA_ARGS__), AL_MEMBER(record, member)
#define AL_SHOW_COUNT(record, member, ...) \
	AL_COLUMN_COUNT(#member, __VA_ARGS__), AL_MEMBER(record, member)
#define AL_SHOW_BYTES(record, member, ...) \
	AL_COLUMN_BYTES(#member, __VA_ARGS__), AL_MEMBER(record, member)
#define AL_SHOW_FLOPS(record, member, ...) \
	AL_COLUMN_FLOPS(#member, __VA_ARGS__), AL_MEMBER(record, member)

#define AL_FIELDS_END \
	{ \
		.column = {.key = NULL } \
	}

/* How LaTeX places a table, where it shall not be as usual. */
struct al_placing {
	const char *label; /* NULL: "tab:ID" */
	const char *size; /* "footnotesize"; NULL: the text's, or what fits */
	bool is_wide; /* across both columns of a page */
	bool hides_notes;
	bool merges_keys; /* a first name that several rows share is set once (multirow) */
};

struct al_table {
	struct al_arena arena;
	const char *id, *title;
	struct al_column *columns;
	const struct al_table_field **fields; /* [n_columns]; NULL of columns without one */
	size_t n_columns, columns_room, fields_room;
	struct al_cell **rows; /* rows[row][column] */
	size_t n_rows, rows_room;
	enum al_spread_form spread_form;
	struct al_placing placing;
	const char **notes; /* warnings, what is kept with the table, the others */
	size_t n_notes, n_warnings, n_kept, notes_room;
};

void al_table_init(struct al_table *table, const char *id, const char *title);
void al_table_finish(struct al_table *table);

/* Adds a column (its texts are copied) and returns its index. All columns come before the first
 * row. */
size_t al_table_add_column(struct al_table *table, struct al_column column);
void al_table_add_columns(struct al_table *table, const struct al_column *columns, size_t n);

/* Adds the columns of the fields whose bits are among `shown`. The fields outlive the table. */
void al_table_add_fields(struct al_table *table, const struct al_table_field *fields,
	unsigned shown);

/* ... as columns of a group, by whose name their keys begin, "qk_rank"; their members are of what
 * is `offset` further on in the record. */
void al_table_add_group(struct al_table *table, const char *group,
	const struct al_table_field *fields, size_t offset, unsigned shown);

/* Adds the column of another table, if it has one with this key. */
void al_table_copy_column(struct al_table *to, const struct al_table *from, const char *key);

/* A new row of missing cells, [n_columns]. */
struct al_cell *al_table_add_row(struct al_table *table);

/* A new row, whose columns with fields are filled from the record. */
struct al_cell *al_table_add_record(struct al_table *table, const void *record);

/* The last row is a sum of rows before it: text draws a line over it. */
void al_table_mark_total(struct al_table *table);

/* A note that is there already isn't added again. */
void al_table_note(struct al_table *table, const char *format, ...) AL_PRINTF(2, 3);

/* The same of what readers must know before they use the answer: its short form shows it, whether
 * it shows this table or not. */
void al_table_warn(struct al_table *table, const char *format, ...) AL_PRINTF(2, 3);

/* The same of what readers must know of the table's numbers: wherever it is shown, this is. */
void al_table_keep_note(struct al_table *table, const char *format, ...) AL_PRINTF(2, 3);

void al_cell_set_text(struct al_table *table, struct al_cell *cell, const char *text);
void al_cell_set_titled(struct al_table *table, struct al_cell *cell, const char *text,
	const char *title);
void al_cell_set_latex(struct al_table *table, struct al_cell *cell, const char *text,
	const char *latex);
void al_cell_set_exact(struct al_table *table, struct al_cell *cell, mpq_srcptr value);
void al_cell_set_int(struct al_table *table, struct al_cell *cell, int64_t value);
void al_cell_set_real(struct al_cell *cell, double value); /* NaN: the cell is missing */

/* The same number (with its spread and its digits) or text; a missing cell stays as it is. */
void al_cell_copy(struct al_table *table, struct al_cell *to, const struct al_cell *from);

/* The index of the column with this key, or -1. */
int al_table_find_column(const struct al_table *table, const char *key);

/* A cell's number as a double; false where it is missing or a text. */
bool al_cell_number(const struct al_cell *cell, double *out);

/* The cell of a row under a key: its number, false where it is missing, a text, or the table has no
 * such column; its text, "" in these cases. */
bool al_table_number(const struct al_table *table, size_t row, const char *key, double *out);
const char *al_table_text(const struct al_table *table, size_t row, const char *key);

/* The texts of the row's key columns, separated by spaces: "full", "llama-3-8b mqa". */
const char *al_table_row_name(struct al_arena *arena, const struct al_table *table, size_t row);

/* The row with the largest number under a key, with `sign` -1 the smallest, and that number; of
 * equals the first. n_rows: no row has one. */
size_t al_table_extreme(const struct al_table *table, const char *key, int sign, double *out);
