/* Writers: any table as text, JSON, CSV, LaTeX (booktabs) or Markdown; a claim's number alone.
 *
 * A writer is one file with one descriptor, and its name in the list in writer.h. */
#pragma once

#include "base/base.h"
#include "base/table.h"

enum al_units {
	AL_UNITS_DEFAULT, /* exact; in text bytes and FLOPs as with READABLE */
	AL_UNITS_IEC,
	AL_UNITS_SI,
	AL_UNITS_RAW, /* exact, without commas */
	AL_UNITS_EXACT, /* all digits, with thousands commas */
	AL_UNITS_READABLE, /* bytes in KiB, MiB ..., FLOPs in MFLOP ..., counts exact */
};

struct al_claim;
struct al_profile;

struct al_style {
	enum al_units units; /* people's formats only */
	size_t width; /* text: fold wider tables into parts; 0: no limit */
	size_t lines; /* text: the claim and as much of a table as fits; 0: everything */
	bool color; /* text: bold headings */
	const char *command; /* JSON: "command"; NULL leaves the key out */
	const char *const *arguments; /* JSON: of the command, NULL-terminated; or NULL */
	const char *computed_with; /* JSON: libraries, with their versions; or NULL */
	const struct al_profile *profile; /* LaTeX: the pages that tables are laid out for; NULL: as
					      wide as they come */
	const struct al_claim *claim; /* text and Markdown begin with it, JSON: "answer"; NULL:
					 there is none */
};

struct al_writer {
	const char *name; /* "latex" */
	const char *extension; /* "tex" */
	bool is_for_people; /* text, latex, markdown: --units and digits apply */
	enum al_units units; /* where the style has the default */
	/* One of several tables, a blank line between; or all. */
	void (*write_table)(const struct al_style *style, const struct al_table *table,
		struct al_text *out);
	void (*write_all)(const struct al_style *style, const struct al_table *const *tables,
		size_t n_tables, struct al_text *out);
	/* Claim, a table and what leads on, in style->lines lines: returns how many of the table's
	 * rows are left out; NULL: there is no short form. */
	size_t (*write_short)(const struct al_style *style, const struct al_table *const *tables,
		size_t n_tables, struct al_text *out);
	/* The claim's sentence, and what follows the tables; NULL: it isn't shown there. */
	void (*write_claim)(const struct al_style *style, const char *claim, struct al_text *out);
	void (*write_end)(const struct al_style *style, const struct al_claim *claim,
		struct al_text *out);
};

/* Returns how many rows of the table that a short form shows are left out. */
size_t al_write(const struct al_writer *writer, const struct al_style *asked,
	const struct al_table *const *tables, size_t n_tables, struct al_text *out);

/* All writers, NULL-terminated: text, json, csv, latex, markdown, value. */
extern const struct al_writer *const al_writers[];

/* Lines of CSV, which can be written before a table's last row is known. */
void al_csv_add(const struct al_table *table, bool with_header, struct al_text *out);

/* By name ("md" and "tex" too), or by a file's extension; errors name the nearest. */
bool al_writer_find(const char *name, const struct al_writer **out,
	struct al_error *err) AL_MUST_CHECK;
bool al_writer_for_file(const char *path, const struct al_writer **out,
	struct al_error *err) AL_MUST_CHECK;

/* What people read in a cell: scaled by the column or the style, digits applied, thousands commas,
 * a dash for a missing cell. The result lives in the arena. Also used for labels on figures. */
const char *al_cell_display(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column, const struct al_cell *cell);

/* What people read over a column: its title, and in brackets the scale or unit of its numbers
 * unless the title names it or the cells carry it: "weights (MiB)". Also used for the axes of
 * figures. */
const char *al_column_head(struct al_arena *arena, const struct al_style *style,
	const struct al_column *column);
