/* Pairs of heads of different modules. The first module of a pair stays, the others pass by. */
#include "audit/across.h"

#include "audit/composition.h"
#include "audit/pairs.h"

/* ---- two modules ---- */

struct loaded {
	struct al_audit_module module;
	struct al_pair_side side;
};

static void loaded_finish(struct loaded *m)
{
	al_scratch_finish(&m->side.scratch);
	al_audit_module_finish(&m->module);
}

static bool loaded_init(struct loaded *m, const struct al_audit *audit,
	const struct al_attention *attention, struct al_error *err)
{
	*m = (struct loaded){.side = {.module = &m->module}};
	return al_audit_module_init(&m->module, audit, attention, err)
		|| al_in(err, "%s", attention->name);
}

static bool same_rows(const struct al_heads *a, const struct al_heads *b, enum al_form form)
{
	if (!al_has_form(a, form) || !al_has_form(b, form))
		return false;
	return form == AL_FORM_QK
		? a->query.rows == b->query.rows && a->key.rows == b->key.rows
		: a->value.rows == b->value.rows && a->output.rows == b->output.rows;
}

/* The squared norms of a module's forms. */
static bool find_norms(const struct al_audit_module *m, enum al_form form, double *squared,
	struct al_error *err)
{
	if (!al_form_norms(m, form == AL_FORM_QK ? AL_QUERY : AL_VALUE, squared, err))
		return false;
	for (size_t i = 0; i < m->heads.n_heads; i++) {
		double bias;
		if (!al_form_bias(&m->triangles, &m->heads, form, i, &bias, err))
			return false;
		squared[i] = squared[i] * squared[i] + bias;
	}
	return true;
}

/* Inner products to cosines; no data where the forms can't be compared. */
static bool find_cosines(struct al_scratch *scratch, const struct al_audit_module *first,
	const struct al_audit_module *second, enum al_form form, struct al_matrix *out,
	struct al_error *err)
{
	const struct al_heads *a = &first->heads, *b = &second->heads;
	struct al_matrix norms;

	if (!same_rows(a, b, form))
		return true;
	if (!al_form_inner(scratch, a, b, form, out, err)
		|| !al_take(scratch, &norms, a->n_heads + b->n_heads, 1, err)
		|| !find_norms(first, form, norms.data, err)
		|| !find_norms(second, form, norms.data + a->n_heads, err))
		return false;
	for (size_t j = 0; j < b->n_heads; j++)
		for (size_t i = 0; i < a->n_heads; i++)
			out->data[i + j * out->ld] = al_cosine(out->data[i + j * out->ld],
				norms.data[i], norms.data[a->n_heads + j]);
	return true;
}

static bool find_scores(struct al_scratch *scratch, struct al_pair_scores *s,
	const struct al_audit_module *a, const struct al_audit_module *b, struct al_error *err)
{
	for (int form = 0; form < AL_N_FORMS; form++)
		if (!find_cosines(scratch, a, b, (enum al_form)form, &s->likeness[form], err))
			return false;
	for (int p = 0; p < AL_N_READERS; p++)
		if (al_can_compose(a, b, (enum al_projection)p)
			&& !al_composition_scores(scratch, a, b, (enum al_projection)p,
				&s->composition[p], err))
			return false;
	return true;
}

static bool measure_two(const struct al_audit *audit, struct loaded *first, struct loaded *second,
	size_t *n_seen, struct al_table *table, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const bool in_order = al_is_earlier(first->module.attention, second->module.attention);
	struct loaded *a = in_order ? first : second, *b = in_order ? second : first;
	struct al_pair_scores scores = {0};

	if (!same_rows(&a->module.heads, &b->module.heads, AL_FORM_QK))
		return true;
	*n_seen += a->module.heads.n_heads * b->module.heads.n_heads;
	return find_scores(&scratch, &scores, &a->module, &b->module, err)
		&& al_pairs_add(table, audit->options.n_pairs, &a->side, &b->side, &scores, err);
}

/* ---- the table ---- */

static bool show(const struct al_watch *watch, const struct al_attention *a,
	const struct al_attention *b, size_t done, size_t n, struct al_error *err)
{
	AL_ARENA(arena);

	return al_watch_show(watch, al_format(&arena, "%s and %s", a->name, b->name), done, n, err);
}

bool al_across_measure(const struct al_audit *audit, const struct al_attention *const *modules,
	size_t n, const struct al_watch *watch, struct al_table *table, struct al_error *err)
{
	struct loaded a, b;
	size_t done = 0, n_seen = 0;
	bool ok = true;

	for (size_t i = 0; ok && i + 1 < n; i++) {
		if (!loaded_init(&a, audit, modules[i], err))
			return false;
		for (size_t j = i + 1; ok && j < n; j++) {
			ok = show(watch, modules[i], modules[j], done++, n * (n - 1) / 2, err);
			if (!ok)
				break;
			ok = loaded_init(&b, audit, modules[j], err)
				&& measure_two(audit, &a, &b, &n_seen, table, err);
			loaded_finish(&b);
		}
		loaded_finish(&a);
	}
	al_pairs_finish(table, audit->options.n_pairs, n_seen);
	return ok;
}
