/* An audit: what measurements share. */
#include "audit/audit.h"

#include "audit/losses.h"
#include "audit/rotary.h"

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

bool al_audit_head_spectra(struct al_audit_module *module, const struct al_spectra **out,
	struct al_error *err)
{
	*out = &module->head_spectra;
	return al_has_spectrum(&module->head_spectra, AL_SPECTRUM_Q)
		|| al_head_spectra(&module->head_spectra, &module->triangles, err);
}

bool al_audit_takes_loss_spectra(const struct al_attention *a)
{
	return !a->is_rotary && !a->has_qk_norm && !a->is_latent && a->n_kv_heads == a->n_heads;
}

/* Modules whose values the audit needs. */
static unsigned needed_of_layer(const struct al_audit *audit, const struct al_audit_module *module)
{
	const struct al_needs *needs = audit->options.needs;

	if (!needs)
		return 0;
	return needs->layer_spectra
		| (al_audit_takes_loss_spectra(module->attention) ? needs->loss_spectra : 0);
}

bool al_audit_layer_spectra(const struct al_audit *audit, struct al_audit_module *module,
	unsigned exact, unsigned counted, const struct al_spectra **out, struct al_error *err)
{
	exact = (needed_of_layer(audit, module) | exact) & ~module->layer_kinds;
	counted &= ~exact & ~module->layer_kinds & ~module->counted_kinds;
	*out = &module->layer_spectra;
	if (counted && audit->options.needs && audit->options.needs->forms
		&& (!al_audit_gram(module, AL_QUERY, err) || !al_audit_gram(module, AL_KEY, err)))
		return false;
	if (!al_layer_spectra(&module->layer_spectra, &module->heads, &module->triangles, exact,
		    counted, err))
		return false;
	module->layer_kinds |= exact;
	module->counted_kinds |= counted;
	return true;
}

bool al_audit_gram(struct al_audit_module *module, enum al_projection p, struct al_error *err)
{
	const struct al_view a = al_projection_of(&module->heads, p);
	struct al_matrix *gram = &module->grams[p];

	if (gram->data)
		return true;
	if (!al_matrix_init(gram, a.cols, a.cols, err) || !al_gram(AL_TRANSPOSED, a, *gram, err))
		return false;
	module->heads.gram[p] = al_view(*gram);
	return true;
}

static void drop_gram(struct al_audit_module *module, enum al_projection p)
{
	al_matrix_finish(&module->grams[p]);
	module->heads.gram[p] = (struct al_view){0};
}

bool al_audit_form_inner(struct al_audit_module *module, enum al_form form, struct al_view *out,
	struct al_error *err)
{
	const struct al_heads *heads = &module->heads;
	const bool is_qk = form == AL_FORM_QK, turns = is_qk && al_has_offset(module->attention);
	const enum al_projection own = is_qk ? AL_QUERY : AL_OUTPUT;
	struct al_matrix inner, all;

	if (!module->inner[form].data) {
		if (!al_audit_gram(module, own, err)
			|| !al_audit_gram(module, is_qk ? AL_KEY : AL_VALUE, err)
			|| !al_form_inner_rotary(&module->scratch, heads, heads, form,
				turns ? module->attention : NULL, &inner, &all, err))
			return false;
		/* Large, and not asked for again but by conversions to embeddings. */
		if (!is_qk || heads->n_kv_heads < heads->n_heads)
			drop_gram(module, own);
		module->inner[form] = al_view(inner);
		if (turns)
			module->rotary_inner = al_view(all);
	}
	*out = module->inner[form];
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
	const struct al_spectra **heads, const struct al_spectra **layer, struct al_error *err)
{
	*heads = &audit->gaussian_heads;
	*layer = &audit->gaussian_layer;
	if (audit->has_gaussian && same_shape(&audit->gaussian_shape, &module->heads))
		return true;
	al_spectra_finish(&audit->gaussian_heads);
	al_spectra_finish(&audit->gaussian_layer);
	audit->gaussian_heads = audit->gaussian_layer = (struct al_spectra){0};
	audit->gaussian_shape = module->heads;
	audit->has_gaussian = al_null_gaussian(&audit->gaussian_heads, &audit->gaussian_layer,
		&module->heads, al_has_values(&module->heads),
		audit->options.n_nulls == AL_NULL_IS_COMPUTED, audit->options.seed, err);
	return audit->has_gaussian;
}

static bool draw(const struct al_audit *audit, struct al_audit_module *module, size_t n,
	struct al_error *err)
{
	while (module->n_draws < n) {
		const size_t i = module->n_draws++;
		struct al_thinned *thinned = i == 0 ? &module->thinned : NULL;
		if (!(audit->options.covariance ? al_audit_module_draw(module, audit, i,
			      &module->draws[i], thinned, err)
						: al_null_independent(&module->draws[i], thinned,
							&module->triangles, audit->options.seed,
							module->index, i, err)))
			return false;
	}
	return true;
}

/* Draws where that fails. */
static bool compute(const struct al_audit *audit, struct al_audit_module *module,
	struct al_error *err)
{
	const struct al_null_name name = {audit->options.seed, module->index};
	const struct al_spectra *heads;
	bool is_found;

	module->n_draws = 1;
	if (!al_audit_head_spectra(module, &heads, err)
		|| !al_null_compute(module->draws, &module->thinned, &module->triangles, heads,
			&name, &is_found, err))
		return false;
	module->is_drawn = !is_found;
	if (is_found)
		return true;
	al_spectra_finish(module->draws);
	module->draws[0] = (struct al_spectra){0};
	module->n_draws = 0;
	return draw(audit, module, AL_DRAWS_INSTEAD, err);
}

bool al_audit_draws(const struct al_audit *audit, struct al_audit_module *module,
	const struct al_spectra **out, struct al_error *err)
{
	const bool is_computed = audit->options.n_nulls == AL_NULL_IS_COMPUTED;
	const bool computes = is_computed && !audit->options.covariance;
	const size_t n = is_computed ? AL_DRAWS_INSTEAD : (size_t)audit->options.n_nulls;

	*out = module->draws;
	if (module->n_draws > 0)
		return true;
	*out = module->draws = al_take_array(&module->scratch, n, sizeof(*module->draws), err);
	if (!module->draws)
		return false;
	return computes ? compute(audit, module, err) : draw(audit, module, n, err);
}
