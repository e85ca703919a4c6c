/* Singular values of a module's forms, head by head and all heads together, without a D x D product
 * wherever the heads are narrower than that. */
#pragma once

#include "audit/triangles.h"

/* Of a head: Q_i, K_g, Q_i K_g^T and V_g O_i^T. Of all heads together: the concatenated W_Q and
 * W_K; the full-width products, which are the heads' sums; and the unfoldings that Tucker and CP
 * compress, [W_1 .. W_H] of the heads' forms W_i = Q_i K_g^T, from the side of the queries and of
 * the keys. */
enum al_spectrum {
	AL_SPECTRUM_Q,
	AL_SPECTRUM_K,
	AL_SPECTRUM_QK,
	AL_SPECTRUM_QU,
	AL_SPECTRUM_KU,
	AL_SPECTRUM_OV,
	AL_N_SPECTRA,
};

#define AL_SPECTRUM_BIT(kind) (1u << (kind))
enum { AL_ALL_SPECTRA = (1 << AL_N_SPECTRA) - 1 };

extern const char *const al_spectrum_names[AL_N_SPECTRA]; /* "q", "k", "qk" ... */

/* Singular values, largest first: column i of values[kind] is head i's (in K the key/value
 * head's), or the only column the module's. A kind that there isn't has no columns. */
struct al_spectra {
	struct al_matrix values[AL_N_SPECTRA];
	struct al_scratch scratch; /* theirs */
};

/* Safe on a zeroed struct and twice. */
void al_spectra_finish(struct al_spectra *spectra);

/* Before a declaration: finished where its block ends. */
#define AL_OWNED_SPECTRA __attribute__((cleanup(al_spectra_finish)))

bool al_has_spectrum(const struct al_spectra *spectra, enum al_spectrum kind);

/* Every head on its own, from its triangles: Q, K, QK and, where there are values, OV. `out` is
 * zeroed; on failure, too, it is to be finished. */
bool al_head_spectra(struct al_spectra *out, const struct al_triangles *triangles,
	struct al_error *err) AL_MUST_CHECK;

/* W_i G_ij W_j^T of the blocks of a Gram matrix: from A's own, that of [A_1 W_1^T .. A_n W_n^T]
 * with A_i of `width` columns. The W_i lie side by side, [height][n*width]. The rounding is that of
 * A's: `*is_good` where weights that take little of A along don't make it show. */
bool al_weigh_gram(struct al_view gram, struct al_view weights, size_t width, struct al_matrix out,
	bool *is_good, struct al_error *err) AL_MUST_CHECK;

/* All heads together: adds the kinds of `exact` and `counted` (AL_SPECTRUM_BIT) to `out`.
 * `triangles` are the same module's, not centered ones: to center, subtract the mean from the
 * projections (al_center) before both. Heads in single precision take half the time and memory;
 * their values are good to about 1e-3 of the largest.
 *
 * Of `counted`, of heads in double precision, values are good for counts of components for
 * al_shares alone: from Gram matrices, in single precision; in double where a sum of squares is so
 * near a share that rounding might decide. */
bool al_layer_spectra(struct al_spectra *out, const struct al_heads *heads,
	const struct al_triangles *triangles, unsigned exact, unsigned counted,
	struct al_error *err) AL_MUST_CHECK;
