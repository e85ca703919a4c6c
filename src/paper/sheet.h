/* A table as rows, columns and cells of known meaning. */
#pragma once

#include "paper/derive.h"

/* A number, and what it is of. */
struct al_paper_cell {
	size_t line, row, column;
	const char *printed;
	double value, half; /* half: of the last printed digit */
	double scale; /* 10^9 of 3.2e9, whose value is 3.2 */
	int digits;
	const char *unit; /* its own, else the column's, else the caption's */
	enum al_meaning meaning;
	int size; /* of the meaning */
	const struct al_paper_subject *subject;
	double tokens, round_tokens, batch, bytes; /* 0: not stated */
	const char *tokens_from, *bytes_from; /* "caption", if any */
	double right; /* by a reading, in the printed unit; 0: it can't be derived */
	bool is_guess; /* of its meaning */
	bool holds;
	bool is_whole; /* as if each layer kept the whole context */
	bool has_no_states; /* nor are recurrent states counted */
};

struct al_paper_head {
	const char *text;
	enum al_meaning meaning;
	int size;
	const char *unit;
	struct al_paper_facts facts;
	const struct al_paper_subject *subject;
	bool is_guess; /* of its meaning */
};

struct al_paper_sheet {
	struct al_arena *arena;
	const struct al_paper *paper;
	const struct al_paper_table *table;
	struct al_paper_subjects *subjects;
	const char *caption;
	struct al_paper_facts facts; /* of the caption */
	const struct al_paper_subject *subject; /* that the caption names */
	enum al_meaning meaning; /* of cells whose head has none, by the caption */
	bool is_guess; /* the caption may mean something else */
	struct al_paper_head *heads; /* [table->n_columns] */
	size_t n_heads; /* rows of heads */
	struct al_paper_cell *cells;
	size_t n, room;
	bool *is_judged; /* [table->n_rows][n_columns][2]: numbers, and those in their brackets */
};

/* Whether the number of a cell is judged. */
static inline bool *al_paper_sheet_judged(const struct al_paper_sheet *sheet, size_t row,
	size_t column)
{
	return &sheet->is_judged[(row * sheet->table->n_columns + column) * 2];
}

void al_paper_sheet_init(struct al_paper_sheet *sheet, struct al_arena *arena,
	const struct al_paper *paper, size_t table, struct al_paper_subjects *subjects,
	bool is_turned);

/* Is there a model's name in a row? */
bool al_paper_sheet_names_model(const struct al_paper_sheet *sheet, size_t index);

/* Are there numbers of caches, parameters or weights? */
bool al_paper_sheet_has_numbers(const struct al_paper_sheet *sheet);

/* A number as a cell prints it, without what comes after it; false: it prints none. */
bool al_paper_cell_number(struct al_arena *arena, const char *text, struct al_paper_cell *out);

/* Is the text a number, with its unit or without? */
bool al_paper_is_number(struct al_arena *arena, const char *text);

/* Adds the cells of a row; `section`: the model that a line above it names, or NULL (rows.c). */
void al_paper_sheet_add_row(struct al_paper_sheet *sheet, size_t index,
	const struct al_paper_subject *section);

/* Does a label name what others are compared with? "Full", "FP16", or nothing. */
bool al_paper_is_baseline(const char *label);

/* The unit at a head's end, which is cut off; NULL: there is none (draft.c). */
const char *al_paper_cut_unit(char *head);
