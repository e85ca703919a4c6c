/* Pages: an answer as one HTML file that needs nothing else. It is readable without its script,
 * which sorts tables, chooses a head and switches between light and dark; no request leaves it.
 *
 * What a page shows are the answer's own tables, with the digits that people read; nothing is
 * computed here that isn't in them. The style and the script are style.css and script.js. */
#pragma once

#include "report/claim.h"
#include "report/page/html.h"
#include "report/report.h"

/* Numbers are in full, in the column's unit, with thousands commas: so they can be sorted. */
extern const struct al_style al_page_style;

struct al_page_head {
	const char *title;
	struct al_texts facts; /* one line below it */
	const char *summary; /* the answer's claim, as a pattern; NULL: there is none */
	bool has_pictures; /* from `data:` addresses */
};

void al_page_begin(struct al_text *out, const struct al_page_head *head);

/* The last section: the command that made the page, what it notes, and the version. */
void al_page_end(struct al_text *out, const char *command, const struct al_table *noted);

/* A section; `text` explains how to read its content, NULL: none. */
void al_page_begin_section(struct al_text *out, const char *id, const char *title,
	const char *text);
void al_page_end_section(struct al_text *out);

/* ---- content of sections ---- */

/* A claim's pattern: each of its values is a <data> that names its cell, or itself. */
void al_page_add_claim(struct al_text *out, const char *pattern);

struct al_page_tile {
	const char *number, *text; /* patterns of claims */
};

void al_page_tiles(struct al_text *out, const struct al_page_tile *tiles, size_t n);

struct al_page_table {
	const struct al_table *table;
	const char *const *columns; /* NULL-terminated; those that the table has. NULL: all */
	const char *caption; /* NULL: the table's title; "": none */
	bool is_folded; /* behind its caption until somebody opens it */
	bool hides_notes; /* they are elsewhere */
};

/* A table that can be sorted by each column; one without rows has a line instead. */
void al_page_add_table(struct al_text *out, const struct al_page_table *shown);

/* Lines to copy into a terminal. */
void al_page_command(struct al_text *out, const char *line);

/* A bar for each row of a table, from 0 on, with a mark where there is a reference. */
struct al_page_bars {
	const struct al_table *table;
	const char *label, *value, *reference; /* keys; reference NULL: none */
	const char *leaves_out; /* a row with this label, a total; NULL: none */
	const char *axis; /* what the numbers are */
};

/* Adds nothing where no row has a positive number. */
void al_page_add_bars(struct al_text *out, const struct al_page_bars *bars);

/* A chart of each row's saving against the largest of its errors. */
struct al_page_points {
	const struct al_table *table;
	const char *x, *x_title, *y_title;
	const char *const *y; /* NULL-terminated keys: the largest counts */
	const char *const *names; /* NULL-terminated keys */
};

/* Which rows no other row outdoes, by growing x; the array is the arena's. */
const size_t *al_page_frontier(struct al_arena *arena, const struct al_page_points *points,
	size_t *n);

/* A circle each row, numbered on the frontier. */
void al_page_add_points(struct al_text *out, const struct al_page_points *points);

struct al_page_term {
	const char *term, *meaning;
};

void al_page_glossary(struct al_text *out, const struct al_page_term *terms, size_t n);
