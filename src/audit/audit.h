/* An audit: measurements of attention modules, one after the other, each a table.
 *
 * One module is in memory at a time. What several measurements need of it (triangular factors,
 * spectra) is computed once, when it is first asked for. */
#pragma once

#include "audit/covariance.h"
#include "audit/forms.h"
#include "audit/nulls.h"
#include "base/table.h"
#include "base/watch.h"
#include "model/heads/views.h"

/* What the measurements need of a module besides its triangular factors. */
struct al_needs {
	bool weights; /* in memory, all heads; else they are read a few heads at a time and not
			 kept, where nothing else is to be done with them */
	unsigned layer_spectra; /* of all heads together, AL_SPECTRUM_BIT of each kind */
	unsigned loss_spectra; /* the same where losses take them */
	bool forms; /* al_audit_form_inner */
};

/* In place of a number of draws: the null is computed. */
enum { AL_NULL_IS_COMPUTED = -1 };

/* Where it can't be. */
enum { AL_DRAWS_INSTEAD = 4 };

/* What is measured without each head, elsewhere: the loss that comes to it, or how far embeddings
 * move. The table of heads has columns for it. */
enum al_audit_ablated { AL_AUDIT_ABLATES_LOSS = 1, AL_AUDIT_ABLATES_EMBEDDINGS = 2 };

struct al_audit_options {
	int64_t n_nulls; /* draws of the null of independent heads; 0: none, or as below */
	uint64_t seed;
	bool is_centered; /* subtract the mean over a head's dimensions */
	size_t n_pairs; /* how many pairs of heads the answer shows; 0: all */
	bool folds_norms; /* the preceding norm's scale goes into W_Q, W_K, W_V */
	int64_t offset; /* tokens from a key to its query; rotary models only */
	const struct al_covariance *covariance; /* of the inputs, or NULL */
	unsigned ablated; /* enum al_audit_ablated; 0: nothing */
	const struct al_needs *needs; /* NULL: anything may be asked for */
	/* Before a step of long work on a module; NULL: not watched. */
	const struct al_watch *watch;
};

/* One module's weights, in memory, and what was computed of them. */
struct al_audit_module {
	const struct al_attention *attention;
	uint64_t index; /* of the module: seeds its draws */
	struct al_heads heads; /* without data where weights aren't kept */
	struct al_triangles triangles;
	/* As stored, before inputs weigh them: independent heads are drawn of these. */
	struct al_triangles stored;
	struct al_matrix stored_biases[AL_N_PROJECTIONS];
	struct al_spectra head_spectra, layer_spectra;
	unsigned layer_kinds,
		counted_kinds; /* of layer_spectra: found, and good for counts alone */
	struct al_matrix grams[AL_N_PROJECTIONS]; /* the heads' */
	struct al_view inner[AL_N_FORMS];
	struct al_view rotary_inner; /* with the scores', where they have an offset */
	struct al_spectra *draws; /* of the null of independent heads, or it as computed */
	struct al_thinned thinned; /* the first of them with fewer heads */
	size_t n_draws;
	bool is_drawn; /* though it was to be computed */
	struct al_matrix weights[AL_N_PROJECTIONS];
	struct al_matrix biases[AL_N_PROJECTIONS]; /* [1][columns] */
	struct al_scratch scratch; /* of inner products and draws */
};

/* Data shared by all modules. */
struct al_audit {
	const struct al_model_view *view;
	struct al_audit_options options;
	struct al_spectra gaussian_heads, gaussian_layer; /* for gaussian_shape */
	struct al_heads gaussian_shape;
	bool has_gaussian;
	size_t n_pairs; /* of heads of one module, of all modules so far */
};

void al_audit_init(struct al_audit *audit, const struct al_model_view *view,
	const struct al_audit_options *options);
void al_audit_finish(struct al_audit *audit);

/* Loads a module. Weights that are not finite are an AL_EINPUT error that counts them and names
 * their tensors: the module is to be left out, the rest can be audited. On failure nothing is
 * left. */
bool al_audit_module_init(struct al_audit_module *module, const struct al_audit *audit,
	const struct al_attention *attention, struct al_error *err) AL_MUST_CHECK;
void al_audit_module_finish(struct al_audit_module *module);

/* Draws independent heads of the module's stored ones, weighs them by the inputs as those are, and
 * adds their spectra, as al_null_independent does. */
bool al_audit_module_draw(const struct al_audit_module *module, const struct al_audit *audit,
	uint64_t draw, struct al_spectra *layer, struct al_thinned *thinned,
	struct al_error *err) AL_MUST_CHECK;

/* Singular values of each head. */
bool al_audit_head_spectra(struct al_audit_module *module, const struct al_spectra **out,
	struct al_error *err) AL_MUST_CHECK;

/* Do the losses of such a module follow from spectra of all its heads together? */
bool al_audit_takes_loss_spectra(const struct al_attention *attention);

/* Of all heads together, the kinds of `exact` and of `counted` (see al_layer_spectra) at least: all
 * whose values the audit will ask for are found at the first call. */
bool al_audit_layer_spectra(const struct al_audit *audit, struct al_audit_module *module,
	unsigned exact, unsigned counted, const struct al_spectra **out,
	struct al_error *err) AL_MUST_CHECK;

/* Singular values of each head and of all heads together in Gaussian weights of the module's shape;
 * and of all heads together in every draw of independent heads, [module->n_draws], or
 * once as computed; of the first also with fewer heads, module->thinned. */
bool al_audit_gaussian(struct al_audit *audit, const struct al_audit_module *module,
	const struct al_spectra **heads, const struct al_spectra **layer,
	struct al_error *err) AL_MUST_CHECK;
bool al_audit_draws(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err) AL_MUST_CHECK;

/* Has the heads' Gram matrix of a projection found, if it isn't there. */
bool al_audit_gram(struct al_audit_module *module, enum al_projection projection,
	struct al_error *err) AL_MUST_CHECK;

/* <F_i, F_j> of the heads' forms, [n_heads][n_heads]; the module's, not to be changed. */
bool al_audit_form_inner(struct al_audit_module *module, enum al_form form, struct al_view *out,
	struct al_error *err) AL_MUST_CHECK;
