/* Sentences: what an answer says, read off its finished tables, for the session's style. A sentence
 * claims no more than its table, and names the assumption on which it hangs most. */
#pragma once

#include "base/table.h"

/* ---- pieces ---- */

/* "14.96 GiB"; a number of bytes below 1024 whole. */
const char *al_text_of_bytes(struct al_arena *arena, mpq_srcptr bytes);

/* "131,072" */
const char *al_text_of_count(struct al_arena *arena, int64_t count);

/* The cell of a row under a key: bytes as above, a count in full ("124,439,808"); "" where it is
 * missing. */
const char *al_text_of_cell(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key);

/* The exact number of a cell; NULL: it is missing, no exact number, or there is no such column. */
mpq_srcptr al_cell_exact(const struct al_table *table, size_t row, const char *key);

/* The rows whose cell under a key reads `text`. */
size_t al_count_rows(const struct al_table *table, const char *key, const char *text);

/* "34.0 %", three digits; 100 % and 0 % are said of nothing else. */
const char *al_text_of_percent(struct al_arena *arena, double share);

/* The text with a capital letter first, where it begins with a word: a file's name stays. */
const char *al_text_of_capital(struct al_arena *arena, const char *text);

/* One of several that are compared. */
struct al_said {
	const char *name;
	const char *text; /* "14,797,504,512" */
	double value;
};

/* "from least to most: mqa 14,797,504,512 (34.0 % of mha's), mha 43,486,543,872": each beside the
 * one at `base`. Of more than five "of 18: least ..., most ...". */
const char *al_text_of_order(struct al_arena *arena, const struct al_said *items, size_t n,
	size_t base);

/* The columns that name a row, but for `except`, as one name: "llama-3-8b mqa"; "" where there are
 * none. */
const char *al_text_of_row(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *except);

/* The rows whose cell under `key` reads `text` (`key` "": all), compared by the column `of` as in
 * al_text_of_order, beside the first; NULL where fewer than two are known. */
const char *al_text_of_compared(struct al_arena *arena, const struct al_table *table,
	const char *key, const char *text, const char *of);
