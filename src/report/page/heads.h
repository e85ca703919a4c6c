/* The heads of an audit side by side: who is nearest to whom, and which repeat each other. Read off
 * the audit's tables; no number is computed. */
#pragma once

#include "report/page/page.h"

enum { AL_PAGE_NO_HEAD = -1, AL_PAGE_SHADES = 7 };

/* A head that costs less, of an average head's, is marked. */
#define AL_PAGE_REMOVABLE 0.1

/* A module's heads are rows first .. first+n-1 of the table `heads`. */
struct al_page_module {
	const char *name;
	size_t first, n;
	double *scores, *values; /* how alike heads attend and write, [n][n]: cosines, or on tokens
				    correlation of logits and CKA of outputs; NAN: unknown */
	int64_t *groups; /* the key/value head that each reads, [n] */
	bool has_groups; /* several read one */
	const char **marks; /* a letter that copies share, "x": removable, NULL: neither; [n] */
	double *costs; /* of an average head's, without each; NAN: unknown; [n] */
	int *doing; /* which of the names, AL_PAGE_NO_HEAD: nothing stands out; [n] */
};

struct al_page_heads {
	const struct al_table *heads;
	struct al_page_module *modules;
	size_t n_modules;
	bool has_costs;
	bool is_on_tokens; /* by what heads do there they are alike */
	const struct al_texts *doings; /* what heads may attend to */
};

/* `pairs`: how alike all pairs are, `redundant`: heads to do without, `drop`: what heads attend to
 * on tokens and their outputs are worth, which then decides; NULL: unknown. */
void al_page_heads_read(struct al_page_heads *out, struct al_arena *arena,
	const struct al_table *heads, const struct al_table *pairs,
	const struct al_table *redundant, const struct al_table *drop,
	const struct al_texts *doings);

/* By weights the smaller of the cosines of scores and of values (without its sign, which W_O can
 * turn); one of them where only that is known; else NAN. On tokens the sum of both, as `drop` has
 * it. */
double al_page_likeness(const struct al_page_heads *heads, const struct al_page_module *module,
	size_t a, size_t b);

/* The head that is `place`-th nearest, from 0 on, or AL_PAGE_NO_HEAD. */
int64_t al_page_nearest(const struct al_page_heads *heads, const struct al_page_module *module,
	size_t head, size_t place);

/* 0 to AL_PAGE_SHADES - 1; and the least number of a shade. */
int al_page_shade(double cosine);
double al_page_shade_least(int shade);

/* The same of a cost: the smaller, the darker; and the largest of a shade, but for the first. */
int al_page_cost_shade(double cost);
double al_page_cost_shade_most(int shade);

/* The row of a head in a table with the columns module and head; n_rows: it has none. */
size_t al_page_find_head(const struct al_table *table, const char *module, size_t head);

/* A module that was left out, and why. */
struct al_page_left_out {
	const char *module, *why;
	size_t n_heads, before; /* the number of measured modules before it */
};

void al_page_head_map(struct al_text *out, const struct al_page_heads *heads,
	const struct al_page_left_out *left_out, size_t n_left_out);

/* Every pair, a picture each module: scores above, values below the diagonal. */
void al_page_pair_maps(struct al_text *out, const struct al_page_heads *heads);

/* ---- audit_parts.c: tables that are put together from the audit's own ---- */

/* A row each square of the head map, in its order: the head's numbers, of them those of `drop`
 * (NULL: none), and its neighbors. */
void al_page_map_table(struct al_table *out, const struct al_page_heads *heads,
	const struct al_table *drop);

/* Heads to do without, by the error with all before. */
void al_page_steps_table(struct al_table *out, const struct al_table *redundant);

/* The rows on the frontier, numbered as the circles are. */
void al_page_frontier_table(struct al_table *out, const struct al_page_points *points);
