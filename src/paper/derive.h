/* Deriving a table without a map: what its heads, labels and caption mean, the numbers that follow,
 * and the readings under which they are printed so.
 *
 *   heads     what a head means, and the facts in it: a context, a unit, a number format
 *   sheet     the table as rows, columns and cells of known meaning
 *   readings  conventions that a paper may follow: bytes of a number, GB as 10^9 or 2^30 ...; the
 *             one that fits most cells of a table is taken, and what differs is judged by it
 *   causes    what may have happened to a number that differs */
#pragma once

#include "paper/bind.h"
#include "paper/lint.h"
#include "paper/subject.h"
#include "paper/vocabulary.h"

/* ---- heads.c ---- */

/* Facts of a head, a label or a caption; what isn't in it is 0 or NULL. */
struct al_paper_facts {
	double tokens; /* of context; its K is 1,024 */
	double round_tokens; /* the same with a K of 1,000 */
	double batch;
	double bytes; /* of a cached number */
	const char *unit; /* "GiB", "M" */
	bool has_several_tokens, has_several_formats, has_several_batches, is_shared;
};

/* A head in normal letters without contexts, number formats and units. */
const char *al_paper_head_normal(struct al_arena *arena, const char *head);

/* Is it of another quantity, "Accuracy"? */
bool al_paper_is_other(const struct al_paper_vocabulary *v, struct al_arena *arena,
	const char *head);

/* What a column with this head holds. */
const struct al_paper_heads *al_paper_meaning(const struct al_paper_vocabulary *v,
	struct al_arena *arena, const char *head);

/* The facts in a text; is_caption: numbers need their noun ("8K context"), a unit its brackets or
 * "in". */
void al_paper_read_facts(const char *text, bool is_caption, struct al_paper_facts *out);

/* A context as a cell or a head prints it alone: "8K", "4,096 tokens"; 0: it is none. */
double al_paper_tokens(const char *text, double *round);

/* The length of the number format that begins at `p` in a text, and the bytes of a number; 0: none
 * does. */
size_t al_paper_format_at(const char *text, const char *p, double *bytes);

/* Bytes of a number in a format that a text names alone: 2 of "BF16"; 0: it is none. */
double al_paper_format_bytes(const char *text);

/* The captions around a table (caption.c). */
const char *al_paper_caption(const struct al_paper *paper, struct al_arena *arena, size_t table);

/* ---- causes.c ---- */

/* What a number is, and what it could have been taken for. */
struct al_paper_suspect {
	const char *printed; /* as in the paper */
	double value, right; /* in the printed unit */
	double half; /* of the printed last digit */
	int digits;
	const char *unit; /* NULL: none */
	bool is_bytes, is_of_cache; /* bytes of parameters or caches; of a cache */
	bool is_of_model; /* parameters, which their authors round in ways of their own */
	bool is_unit_known; /* GB isn't to be read in two ways */
	const struct al_paper_subject *subject; /* or NULL */
};

struct al_paper_cause {
	const char *name; /* "half", "digit"; NULL: none is known */
	const char *text; /* "half: as if values were not counted" */
	bool is_note; /* no error: another convention */
};

/* `arena` for the text. */
struct al_paper_cause al_paper_find_cause(struct al_arena *arena,
	const struct al_paper_suspect *suspect);

/* Is one digit wrong, or are two exchanged? */
bool al_paper_is_digit_slip(struct al_arena *arena, const struct al_paper_suspect *suspect);

/* Adds a number that is wrong, with its cause; `found` has what is known besides, a cause and the
 * beginning of a note if no other is found. */
void al_paper_add_wrong(struct al_paper_findings *out, struct al_lint_counts *counts,
	const struct al_paper_suspect *suspect, const struct al_paper_finding *found);

/* Adds a number of a sentence that follows, from rounded ones perhaps. */
void al_paper_add_holding(struct al_paper_findings *out, struct al_lint_counts *counts,
	struct al_word *said, double right, enum al_verdict verdict);

/* The right number, printed as the wrong one is. */
const char *al_paper_instead(struct al_arena *arena, const char *printed, double right, int digits);

/* The right number, with a digit more than is printed; a whole one as it is. */
const char *al_paper_expected(struct al_arena *arena, double right, int digits);

/* ---- derive.c ---- */

struct al_deriving;

/* Judges the tables that `map`, which may be NULL, doesn't describe; notes get what was assumed. */
void al_paper_derive(const struct al_deriving *deriving, const struct al_paper_map *map,
	struct al_paper_subjects *subjects);
