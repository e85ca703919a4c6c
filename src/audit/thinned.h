/* How redundant a module's heads are: as many of them are as independent heads can do without and
 * still fill as many components.
 *
 * Where the heads' spaces fill the model's width, half of the heads fill more than half of the
 * components: their number isn't proportional to that of heads. So a draw of independent heads is
 * thinned: components are counted of a quarter of its heads, of a half and of all. */
#pragma once

#include "audit/spectra.h"

/* Heads in single precision, with the triangles of what they are drawn from. */
struct al_drawn {
	struct al_triangles triangles;
	struct al_matrix_f weights[AL_N_PROJECTIONS]; /* the triangles' */
	struct al_heads heads;
};

/* Room for heads of this shape. On failure, too, it is to be finished. */
bool al_drawn_init(struct al_drawn *drawn, const struct al_heads *shape, bool has_values,
	struct al_error *err) AL_MUST_CHECK;

void al_drawn_finish(struct al_drawn *drawn);

/* Before a declaration: finished where its block ends. */
#define AL_OWNED_DRAWN __attribute__((cleanup(al_drawn_finish)))

enum { AL_MOST_THINNED = 3, AL_N_UNFOLDINGS = 2 };

/* One draw: the number of subsets of heads counted, each one's share of all heads (increasing, the
 * last 1), and the components for 90 % of each unfolding. */
struct al_thinned {
	size_t n;
	double share[AL_MOST_THINNED];
	double n90[AL_N_UNFOLDINGS][AL_MOST_THINNED];
};

/* `heads`, in single precision, are the draw, with the triangles of the module and the spectra of
 * all heads. Key/value heads are taken with the queries that share them, evenly spread over what
 * they weigh: of heads that come in pairs one of each, once the heavier and once the lighter. */
bool al_thinned_find(struct al_thinned *thinned, const struct al_heads *heads,
	const struct al_triangles *triangles, const struct al_spectra *all,
	struct al_error *err) AL_MUST_CHECK;

/* The same computed, from the singular values of the heads' products, seen from the queries,
 * [values][n_heads], and from the keys, [values][n_kv_heads]. `*is_found` is as in al_free_sum. */
bool al_thinned_compute(struct al_thinned *thinned, const struct al_heads *shape,
	struct al_view queries, struct al_view keys, const struct al_spectra *all, bool *is_found,
	struct al_error *err) AL_MUST_CHECK;

/* 1 - the share of a draw's heads that have as many components for 90 % as the module, the mean of
 * both unfoldings: 0 for independent heads, a half where half of the heads are copies. Below 0
 * where heads have less in common than chance gives. What fewer heads of the draw have follows
 * from `thinned`, which may be another draw of the module, in proportion. */
double al_redundancy(const struct al_spectra *module, const struct al_spectra *draw,
	const struct al_thinned *thinned);
