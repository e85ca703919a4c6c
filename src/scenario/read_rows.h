/* Reading rows of texts: lists in the scenario, or a CSV file with a header. */
#pragma once

#include "scenario/read.h"

enum { AL_MOST_DATA_COLUMNS = 256 };

/* "columns", "rows" and "file", whose struct al_rows_source is at `at`. */
#define AL_ROWS_SOURCE(at) \
	{AL_KEY("columns", NODE, (at) + offsetof(struct al_rows_source, columns)), \
		.kind = AL_JSON_ARRAY}, \
		{AL_KEY("rows", NODE, (at) + offsetof(struct al_rows_source, rows)), \
			.kind = AL_JSON_ARRAY}, \
	{ \
		AL_KEY("file", NODE, (at) + offsetof(struct al_rows_source, file)), \
			.kind = AL_JSON_TEXT \
	}

struct al_text_row {
	const char **cells; /* [n_columns], NULL: missing */
	const struct al_item *node; /* NULL: a record of the file */
	size_t record;
};

struct al_text_rows {
	const char *path; /* of the file */
	const char **header; /* [n_columns] of a file, NULL: an empty name; without a file NULL */
	size_t n_columns;
	struct al_text_row *rows;
	size_t n, room;
};

/* From a CSV file in the scenario's folder (of an embedded scenario: in the binary); or from lists
 * of as many texts as there are columns, numbers too where `takes_numbers`. */
bool al_text_rows_read(struct al_scenario *s, const struct al_item *node,
	const struct al_rows_source *from, bool takes_numbers, struct al_text_rows *out,
	struct al_error *err) AL_MUST_CHECK;

/* Puts the row's place before a message. */
bool al_text_row_in(const struct al_scenario *s, const struct al_text_rows *rows,
	const struct al_text_row *row, struct al_error *err);
