/* An audit: what measurements share. */
#include "audit/audit.h"

#include <stdlib.h>

#include "audit/losses.h"
#include "audit/rotary.h"
#include "base/memory.h"

void al_audit_init(struct al_audit *audit, const struct al_model_view *view,
	const struct al_audit_options *options)
{
	*audit = (struct al_audit){.view = view, .options = *options};
}

void al_audit_finish(struct al_audit *audit)
{
	al_spectra_finish(&audit->gaussian_heads);
	al_spectra_finish(&audit->gaussian_layer);
	*audit = (struct al_audit){0};
}

/* Moves what was found to what there is. */
static void take_spectra(struct al_spectra *found, unsigned kinds, struct al_spectra *all,
	unsigned *all_kinds)
{
	for (int kind = 0; kind < AL_N_SPECTRA; kind++)
		if (kinds & AL_SPECTRUM_BIT(kind)) {
			al_matrix_finish(&all->values[kind]);
			all->values[kind] = found->values[kind];
		}
	*all_kinds |= kinds;
}

bool al_audit_head_spectra(const struct al_audit *audit, struct al_audit_module *module,
	unsigned kinds, const struct al_spectra **out, struct al_error *err)
{
	const struct al_needs *needs = audit->options.needs;
	const unsigned missing = ((needs ? needs->head_spectra : 0) | kinds) & ~module->head_kinds;
	struct al_spectra found;

	*out = &module->head_spectra;
	if (missing == 0)
		return true;
	if (!al_head_spectra(&found, &module->triangles, missing, err))
		return false;
	take_spectra(&found, missing, &module->head_spectra, &module->head_kinds);
	return true;
}

/* Whose values the audit will ask for. */
static unsigned needed_of_layer(const struct al_audit *audit, const struct al_audit_module *module)
{
	const struct al_needs *needs = audit->options.needs;

	if (!needs)
		return 0;
	return needs->layer_spectra
		| (al_losses_take_spectra(module->attention) ? needs->loss_spectra : 0);
}

static void keep_exact(struct al_audit_module *module, struct al_spectra *found, unsigned kinds)
{
	take_spectra(found, kinds, &module->layer_spectra, &module->layer_kinds);
	module->counted_kinds &= ~kinds;
}

bool al_audit_gram(struct al_audit_module *module, enum al_projection projection,
	struct al_view *out, struct al_error *err)
{
	const struct al_view weights = al_projection_of(&module->heads, projection);
	struct al_matrix *gram = &module->grams[projection];

	if (!gram->data
		&& (!al_matrix_init_unset(gram, weights.cols, weights.cols, err)
			|| !al_gram(AL_TRANSPOSED, weights, *gram, err)))
		return false;
	*out = al_view(*gram);
	return true;
}

bool al_audit_layer_spectra(const struct al_audit *audit, struct al_audit_module *module,
	unsigned kinds, const struct al_spectra **out, struct al_error *err)
{
	const unsigned missing = (needed_of_layer(audit, module) | kinds) & ~module->layer_kinds;
	struct al_spectra found;

	*out = &module->layer_spectra;
	if (missing == 0)
		return true;
	if (!al_layer_spectra(&found, &module->heads, &module->triangles, missing, err))
		return false;
	keep_exact(module, &found, missing);
	return true;
}

/* Values of some kinds of spectra, and of others as far as they are counted by, side by side. */
struct layer_spectra {
	struct al_audit_module *module;
	unsigned exact, counted;
	struct al_spectra found_exact, found_counted;
};

static bool find_exact(struct layer_spectra *x, size_t kind, struct al_error *err)
{
	struct al_spectra found;

	if (!(x->exact & AL_SPECTRUM_BIT(kind)))
		return true;
	if (!al_layer_spectra(&found, &x->module->heads, &x->module->triangles,
		    AL_SPECTRUM_BIT(kind), err))
		return false;
	x->found_exact.values[kind] = found.values[kind];
	return true;
}

/* Those that take long first: kind by kind the exact ones, then what is counted. */
static bool find_layer(void *context, size_t index, struct al_error *err)
{
	struct layer_spectra *x = context;

	if (index < AL_N_SPECTRA)
		return find_exact(x, index, err);
	return x->counted == 0
		|| al_layer_counted(&x->found_counted, &x->module->heads, &x->module->triangles,
			x->counted, err);
}

bool al_audit_layer_counts(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err)
{
	const unsigned exact = needed_of_layer(audit, module) & ~module->layer_kinds;
	struct layer_spectra x = {.module = module,
		.exact = exact,
		.counted = AL_ALL_SPECTRA & ~exact & ~module->layer_kinds & ~module->counted_kinds};

	*out = &module->layer_spectra;
	if (!al_parallel(AL_N_SPECTRA + 1, find_layer, &x, err)) {
		al_spectra_finish(&x.found_counted);
		al_spectra_finish(&x.found_exact);
		return false;
	}
	keep_exact(module, &x.found_exact, x.exact);
	take_spectra(&x.found_counted, x.counted, &module->layer_spectra, &module->counted_kinds);
	return true;
}

/* Conversions ask for the other Gram matrices again. That of the outputs, which takes as much
 * memory as they do, is let go. */
static bool find_inner(struct al_audit_module *module, enum al_form form, struct al_error *err)
{
	const bool is_qk = form == AL_FORM_QK;
	const enum al_projection left = is_qk ? AL_QUERY : AL_VALUE;
	const enum al_projection right = is_qk ? AL_KEY : AL_OUTPUT;
	struct al_view grams[AL_N_PROJECTIONS];

	if (!al_audit_gram(module, left, &grams[left], err)
		|| !al_audit_gram(module, right, &grams[right], err)
		|| !al_form_inner_of_grams(&module->heads, grams, form, &module->inner[form], err))
		return false;
	if (!is_qk)
		al_matrix_finish(&module->grams[AL_OUTPUT]);
	return true;
}

bool al_audit_form_inner(struct al_audit_module *module, enum al_form form, struct al_view *out,
	struct al_error *err)
{
	struct al_matrix *inner = &module->inner[form];

	if (!inner->data && !find_inner(module, form, err))
		return false;
	*out = al_view(*inner);
	return true;
}

static bool same_shape(const struct al_heads *a, const struct al_heads *b)
{
	return a->n_heads == b->n_heads && a->n_kv_heads == b->n_kv_heads && a->d_head == b->d_head
		&& a->d_value == b->d_value && a->query.rows == b->query.rows
		&& a->key.rows == b->key.rows && a->value.rows == b->value.rows
		&& a->output.rows == b->output.rows;
}

bool al_audit_gaussian(struct al_audit *audit, const struct al_audit_module *module,
	const struct al_spectra **heads_out, const struct al_spectra **layer_out,
	struct al_error *err)
{
	struct al_spectra heads = {0}, layer = {0};

	*heads_out = &audit->gaussian_heads;
	*layer_out = &audit->gaussian_layer;
	if (audit->has_gaussian && same_shape(&audit->gaussian_shape, &module->heads))
		return true;
	if (!al_null_gaussian(&heads, &layer, &module->heads, al_has_values(&module->heads),
		    audit->options.n_nulls == AL_NULL_IS_COMPUTED, audit->options.seed, err))
		return false;
	al_spectra_finish(&audit->gaussian_heads);
	al_spectra_finish(&audit->gaussian_layer);
	audit->gaussian_heads = heads;
	audit->gaussian_layer = layer;
	audit->gaussian_shape = module->heads;
	audit->has_gaussian = true;
	return true;
}

enum {
	NULL_SPECTRA = AL_ALL_SPECTRA & ~AL_SPECTRUM_BIT(AL_SPECTRUM_QU)
		& ~AL_SPECTRUM_BIT(AL_SPECTRUM_KU)
};

static bool draw(const struct al_audit *audit, struct al_audit_module *module, size_t n,
	struct al_error *err)
{
	if (!module->draws)
		module->draws = al_calloc(n, sizeof(*module->draws));
	for (; module->n_draws < n; module->n_draws++)
		if (!al_null_independent(&module->draws[module->n_draws],
			    module->n_draws == 0 ? &module->thinned : NULL, &module->triangles,
			    audit->options.seed, module->index, module->n_draws, err))
			return false;
	return true;
}

/* Draws where that fails. */
static bool compute(const struct al_audit *audit, struct al_audit_module *module,
	struct al_error *err)
{
	const struct al_null_name name = {audit->options.seed, module->index};
	const struct al_spectra *heads;
	struct al_spectra layer;
	bool is_found;

	if (!al_audit_head_spectra(audit, module, NULL_SPECTRA, &heads, err)
		|| !al_null_compute(&layer, &module->thinned, &module->triangles, heads, &name,
			&is_found, err))
		return false;
	module->is_drawn = !is_found;
	if (!is_found)
		return draw(audit, module, AL_DRAWS_INSTEAD, err);
	module->draws = al_calloc(1, sizeof(*module->draws));
	module->draws[0] = layer;
	module->n_draws = 1;
	return true;
}

bool al_audit_draws(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err)
{
	bool ok = true;

	if (audit->options.n_nulls != AL_NULL_IS_COMPUTED)
		ok = draw(audit, module, (size_t)audit->options.n_nulls, err);
	else if (module->n_draws == 0)
		ok = compute(audit, module, err);
	*out = module->draws;
	return ok;
}
