/* Rows of one module: what a process of several measured of it, exactly, as a JSON file.
 *
 *     {
 *       "module": "layers.7",
 *       "tables": [
 *         {"id": "heads", "columns": ["module", "layer", ...], "notes": [],
 *          "rows": [
 *           ["layers.7", 7, 0.25, null, ...],
 *           ...
 *         ]},
 *         ...
 *       ],
 *       "matrices": [
 *         {"name": "layers.7.qk.gram.npy", "fingerprint": "fnv1a 0123456789abcdef"}, ...
 *       ]
 *     }
 *
 * A cell is null where it is missing, a text, {"text": "...", "title": "..."}, a whole number in
 * plain digits, {"exact": "1/3"}, a double with a point or an exponent (as many digits as give it
 * back), {"real": "nan"}, "inf" or "-inf". */
#ifndef ATTNLEDGER_FRAGMENT_ROWS_H
#define ATTNLEDGER_FRAGMENT_ROWS_H

#include "base/table.h"
#include "base/text.h"

/* A matrix of --tables: its name there, and the fingerprint of its file. */
struct al_fragment_matrix {
	const char *name;
	uint64_t fingerprint;
};

struct al_fragment_rows {
	struct al_arena arena;
	const char *name, *module; /* name: of the file */
	struct al_table *tables; /* columns have keys alone; notes are those of the module */
	size_t n_tables, tables_room;
	struct al_fragment_matrix *matrices;
	size_t n_matrices, matrices_room;
};

/* Adds the file's text. Cells are as measurements set them: texts, exact numbers without a spread,
 * doubles. */
void al_fragment_rows_write(const char *module, const struct al_table *const *tables,
	size_t n_tables, const struct al_fragment_matrix *matrices, size_t n_matrices,
	struct al_text *out);

/* Reads it. What is wrong is said with name:line:column. On failure nothing is left to finish. */
bool al_fragment_rows_parse(struct al_fragment_rows *rows, const char *name, const char *text,
	size_t length, struct al_error *err) AL_MUST_CHECK;
void al_fragment_rows_finish(struct al_fragment_rows *rows);

/* The table of that id, or NULL. */
const struct al_table *al_fragment_rows_find(const struct al_fragment_rows *rows, const char *id);

#endif
