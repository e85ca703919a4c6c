/* Papers: the text of a .tex, .md or .txt file, its tables and its annotated numbers, and what of
 * them can be recomputed.
 *
 *   source    the lines of the file and of those that it includes, without comments
 *   text      the file, refused where its macros aren't closed
 *   macros    those that the paper defines, in place of which comes what they stand for
 *   tables    rows and cells of it, without their markup
 *   numbers   cells that print a number in the ways of papers
 *   map       a reader's description of the tables: their columns, their model
 *   bind      tables and map into a scenario, each number of which is a claim: rows here, their
 *             cells in cells.c
 *   claims    annotated numbers; ledger: those that a scenario's numbers.tex defines
 *   prose     numbers in running text that are a slip for one of the tables
 *   sentences running text as words and numbers (words), in which are judged
 *     relations    ratios and percentages, by the two numbers of a pair (pairs), or by any two
 *                  quantities (operands) near the statement, unless chance would do (nearby)
 *     rates        rates and what they make, by their units
 *     restated     factors that formats or percentages say again
 *     counts       counts that are made of others
 *     expressions  arithmetic, by its value
 *     stated       sizes of caches in sentences that name a model and a context (mentions)
 *     sizes        sizes of the models that are named
 *   lint      all of it, and the lines of the answer
 *   draft     a map to begin with */
#pragma once

#include "base/base.h"

enum { AL_PAPER_LIMIT = 64 << 20 };

/* Subjects of a map. */
enum { AL_PAPER_MOST_TABLES = 1000, AL_PAPER_MOST_COLUMNS = 256 };

enum al_paper_kind { AL_PAPER_TEX, AL_PAPER_MARKDOWN, AL_PAPER_TEXT };

/* The text of the cells that another one extends over. */
extern const char al_paper_spanned[];

struct al_paper_row {
	size_t line; /* of the paper's lines, from 1, as any other line below */
	const char **cells; /* [n_cells], without markup and outer spaces */
	size_t n_cells, cells_room;
	bool has_rule; /* over the whole width, above it */
};

static inline const char *al_paper_row_text(const struct al_paper_row *row, size_t column)
{
	return column < row->n_cells ? row->cells[column] : "";
}

struct al_paper_table {
	struct al_paper_row *rows;
	size_t n_rows, rows_room;
	size_t n_columns; /* of the widest row */
	const struct al_paper_table *turned; /* whose columns are its rows; NULL: no other's are */
};

/* \claim{PRINTED}{VALUE} */
struct al_paper_claim {
	size_t line;
	const char *printed, *value;
};

/* \ledger{PATH}, or the line that defines what it prints */
struct al_paper_macro {
	size_t line;
	const char *argument;
};

struct al_paper_macros {
	struct al_paper_macro *items;
	size_t n, room;
};

/* A line of a file, or the part of it before or behind an \input. */
struct al_paper_line {
	const char *file;
	size_t number, column; /* number from 1; column from 0, where the text begins in the line */
	const char *text; /* not ended by a NUL */
	size_t length;
	bool is_of_table;
	bool is_part; /* of a line: no paragraph ends where it is empty */
};

/* An \input{FILE} that isn't followed, or a macro that isn't expanded. */
struct al_paper_unread {
	size_t line;
	const char *macro, *why;
	bool is_in_body; /* of the document, not before it */
};

struct al_paper {
	struct al_arena arena;
	const char *file; /* for messages */
	enum al_paper_kind kind;
	struct al_paper_line *lines;
	size_t n_lines, lines_room;
	struct al_paper_table *tables;
	size_t n_tables, tables_room;
	struct al_paper_claim *claims;
	size_t n_claims, claims_room;
	struct al_paper_macros ledgers, definitions;
	struct al_paper_unread *unread;
	size_t n_unread, unread_room;
};

/* Does the name end as a paper's does? */
bool al_paper_is_named(const char *path);

/* Reads a file of at most AL_PAPER_LIMIT bytes, with those that a LaTeX file includes. On failure
 * nothing is left to finish. */
bool al_paper_read(struct al_paper *paper, const char *path, struct al_error *err) AL_MUST_CHECK;

/* The same of a text, which includes no file; the extension of `file` gives its kind. */
bool al_paper_parse(struct al_paper *paper, const char *file, const char *text, size_t length,
	struct al_error *err) AL_MUST_CHECK;
void al_paper_finish(struct al_paper *paper);

/* ---- what the parts above do, in their order ---- */

/* "FILE:NUMBER" of a line of the paper, from 1. */
const char *al_paper_place(const struct al_paper *paper, struct al_arena *arena, size_t line);

/* All lines; `text` ends with a NUL, and is changed (source.c). */
bool al_paper_read_lines(struct al_paper *paper, char *text, size_t length, bool follows,
	struct al_error *err) AL_MUST_CHECK;

/* The paper's own macros in its lines (macros.c). */
void al_paper_expand(struct al_paper *paper);

/* A piece of text as a reader sees it: without macros, emphasis, dollars and outer spaces
 * (markup.c). */
const char *al_paper_plain(struct al_arena *arena, const char *text, size_t length);

/* The length of "{...}", which may hold others; 0 where it doesn't end in the text (markup.c). */
size_t al_paper_group_length(const char *text, size_t left);

/* A cell as scenarios read a printed number: "8K" is 8k, "$2^{20}$" 1048576, "128K (max)" 128k. The
 * cell itself where it is none (numbers.c). */
const char *al_paper_number(struct al_arena *arena, const char *cell);

/* A cell's text as a reader sees it; ".291" is 0.291. */
const char *al_paper_cell_text(struct al_arena *arena, const char *text, size_t length);

enum { AL_PAPER_MOST_LINES = 4 };

/* \makecell{78.0 \\ 22.8 (3.1x)}: how many lines it has, if each is a number; else 0. */
size_t al_paper_cell_lines(struct al_arena *arena, const char *text,
	const char *out[AL_PAPER_MOST_LINES]);

/* The text without this character. */
char *al_paper_without(struct al_arena *arena, const char *text, char c);

/* Letters and digits alone, in capitals: "MHE $-Mul$" is MHEMUL. */
const char *al_paper_normal(struct al_arena *arena, const char *plain);

/* All tables, and which lines are theirs (tables.c). */
bool al_paper_find_tables(struct al_paper *paper, struct al_error *err) AL_MUST_CHECK;

/* All \claim, \ledger and definitions of the latter in a LaTeX text, whose braces are balanced
 * (claims.c). */
void al_paper_find_claims(struct al_paper *paper);

/* Is the value what was printed, to half a unit of its last digit? */
static inline bool al_paper_rounds_to(double value, double printed, double half)
{
	return fabs(value - printed) <= half * (1 + 1e-9);
}
