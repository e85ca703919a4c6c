/* Claims: the sentence that answers, written from finished tables.
 *
 * A claim is built from a template in which every number is a placeholder that one of the functions
 * below returned: a cell of the answer's tables, or a value with a name and a unit. Templates are
 * put together with al_format; al_claim_read replaces the placeholders by their texts and lists
 * their values. So each number of a sentence can be checked, and programs read the numbers instead
 * of the sentence. */
#pragma once

#include "attnledger.h"
#include "base/base.h"
#include "base/table.h"

/* ---- placeholders ----
 *
 * All are "" where there is no number to print, and live in the arena. */

/* The cell of a row under a key: bytes as "14.96 GiB", counts in full; "" where it is missing or
 * the table has no such column. */
const char *al_claim_cell(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key);

/* The same as `text`. */
const char *al_claim_cell_as(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key, const char *text);

/* A cell that is a share, or percent, as a percentage. */
const char *al_claim_share(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key);

/* "14.96 GiB"; a number of bytes below 1024 whole. */
const char *al_claim_bytes(struct al_arena *arena, const char *name, mpq_srcptr bytes);

/* "131,072" */
const char *al_claim_count(struct al_arena *arena, const char *name, int64_t count);
const char *al_claim_exact(struct al_arena *arena, const char *name, mpq_srcptr value);

/* "1 tensor", "12 tensors": how many there are of what the noun names. */
const char *al_claim_counted(struct al_arena *arena, uint64_t count, const char *noun);

/* "34.0 %", three digits; only exactly 1 reads "100 %" and only exactly 0 reads "0 %". */
const char *al_claim_percent(struct al_arena *arena, const char *name, double share);

/* "1.0432 +- 0.0123": a cell and its standard error, that of `error_key`, where there is one. */
const char *al_claim_with_error(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *key, const char *error_key);

/* "rises by 0.0087 +- 0.0021 nats per token (0.81 %), 1.0681 to 1.0767", or falls; the change
 * leads. `error` NAN or 0: without a standard error. */
const char *al_claim_loss(struct al_arena *arena, double before, double after, double error);

/* A real with a unit ("" for none), as the text shows it. */
const char *al_claim_real(struct al_arena *arena, const char *name, const char *unit, double value,
	const char *text);

/* A name that may contain digits: "Llama 3 8B", "bf16". */
const char *al_claim_name(struct al_arena *arena, const char *name, const char *text);

/* The columns that name a row, but for `except`, as one name: "llama-3-8b mqa"; "" where there are
 * none. */
const char *al_claim_row(struct al_arena *arena, const struct al_table *table, size_t row,
	const char *except);

/* Items of a comparison: their names and texts are placeholders or plain text. */
struct al_compared {
	const char *name;
	const char *text;
	double value;
};

/* "from least to most: mqa 14,797,504,512 (34.0 % of mha's), mha 43,486,543,872": each compared
 * with the one at `base`. Of more than five "of 18: least ..., most ...". */
const char *al_claim_order(struct al_arena *arena, const struct al_compared *items, size_t n,
	size_t base);

/* The rows whose cell under `key` reads `text` (`key` "": all), compared by the column `of` as in
 * al_claim_order, with the first as base; NULL where fewer than two are known. */
const char *al_claim_compared(struct al_arena *arena, const struct al_table *table, const char *key,
	const char *text, const char *of);

/* Put before the placeholder of the one number that answers the question, if there is one: what
 * `-f value` prints. Of several none is. */
#define AL_CLAIM_LEAD "\x01"

/* ---- a claim ---- */

struct al_claim {
	const char *text; /* NULL: there is none */
	const char *pattern; /* that it was read from */
	struct al_answer_value *values;
	size_t *starts; /* where in `text` each value begins, [n_values] */
	size_t n_values, values_room, starts_room;
	const struct al_answer_value *lead; /* the number that answers; NULL: no single one does */
	const char **assumptions, **next; /* next: commands that lead on */
	size_t n_assumptions, assumptions_room, n_next, next_room;
};

/* Reads a template (NULL: nothing is claimed) into the claim's text and values; all live in the
 * arena. */
void al_claim_read(struct al_claim *claim, struct al_arena *arena, const char *pattern);

/* ---- plain texts, for notes ---- */

const char *al_text_of_bytes(struct al_arena *arena, mpq_srcptr bytes);

/* The exact number of a cell; NULL: it is missing, no exact number, or there is no such column. */
mpq_srcptr al_cell_exact(const struct al_table *table, size_t row, const char *key);

/* The rows whose cell under a key reads `text`. */
size_t al_count_rows(const struct al_table *table, const char *key, const char *text);

/* The text with a capital letter first, where it begins with a word: a file's name stays. */
const char *al_text_of_capital(struct al_arena *arena, const char *text);
