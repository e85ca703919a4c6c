/* An audit: measurements of attention modules, one after the other, each a table.
 *
 * One module is in memory at a time. What several measurements need of it (triangular factors,
 * spectra) is computed once, when it is first asked for. A measurement is one file with one
 * descriptor, and its name in the list below. */
#ifndef ATTNLEDGER_AUDIT_AUDIT_H
#define ATTNLEDGER_AUDIT_AUDIT_H

#include "audit/covariance.h"
#include "audit/forms.h"
#include "audit/nulls.h"
#include "base/table.h"
#include "views/views.h"

struct al_audit_options {
	int64_t n_nulls; /* draws of the null of independent heads; 0: none */
	uint64_t seed;
	bool is_centred; /* the mean over a head's dimensions taken off */
	size_t n_pairs; /* of heads that the answer shows; 0: all */
	bool folds_norms; /* the preceding norm's scale goes into W_Q, W_K, W_V */
	int64_t offset; /* tokens from a key to its query: rotary models' query/key form */
	const struct al_covariance *covariance; /* of the inputs, or NULL */
	bool only_heads; /* only head spectra will be asked for: weights are read a few heads at
			       a time and not kept, where nothing else is to be done with them */
};

/* One module's weights, in memory, and what was computed of them. */
struct al_audit_module {
	const struct al_attention *attention;
	uint64_t index; /* of the module: seeds its draws */
	struct al_factors factors; /* without data where weights aren't kept */
	struct al_triangles triangles;
	struct al_spectra heads, layer;
	bool has_heads, has_layer;
	struct al_matrix inner[AL_N_FORMS];
	struct al_spectra *draws; /* of the null of independent heads, [options.n_nulls] */
	size_t n_draws;
	struct al_matrix weights[AL_N_PROJECTIONS];
};

/* What all modules share. */
struct al_audit {
	const struct al_model_view *view;
	struct al_audit_options options;
	struct al_spectra gaussian_heads, gaussian_layer; /* of the last shape that was asked for */
	struct al_factors gaussian_shape;
	bool has_gaussian;
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

/* Singular values of each head and of all heads together; of both in Gaussian weights of the
 * module's shape; and of all heads together in every draw of independent heads, [n_draws]. */
bool al_audit_head_spectra(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err) AL_MUST_CHECK;
bool al_audit_layer_spectra(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err) AL_MUST_CHECK;
bool al_audit_gaussian(struct al_audit *audit, const struct al_audit_module *module,
	const struct al_spectra **heads, const struct al_spectra **layer,
	struct al_error *err) AL_MUST_CHECK;
bool al_audit_draws(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err) AL_MUST_CHECK;

/* <F_i, F_j> of the heads' forms, [n_heads][n_heads]; the module's, not to be changed. */
bool al_audit_form_inner(struct al_audit_module *module, enum al_form form, struct al_view *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- measurements ---- */

struct al_measurement {
	const char *id, *title;
	void (*add_columns)(struct al_table *table, const struct al_audit *audit);
	/* Adds the module's rows. */
	bool (*add_module)(struct al_audit *audit, struct al_audit_module *module,
		struct al_table *table, struct al_error *err);
	/* After the last module: sorts, cuts. NULL: nothing to do. */
	void (*finish)(struct al_audit *audit, struct al_table *table);
};

/* All of them, NULL-terminated, in the order of the answer. */
extern const struct al_measurement *const al_measurements[];

/* The first columns of every measurement: module, layer. */
void al_audit_add_module_columns(struct al_table *table);
void al_audit_set_module(struct al_table *table, struct al_cell **cell,
	const struct al_audit_module *module);

#endif
