/* Pairs of heads of different modules. The first module of a pair stays, the others pass by. */
#include "audit/across.h"

#include <math.h>

#include "audit/composition.h"
#include "audit/pairs.h"

/* ---- two modules ---- */

struct loaded {
	struct al_audit_module module;
	struct al_pair_side side;
};

static void loaded_finish(struct loaded *m)
{
	al_pair_side_finish(&m->side);
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
static bool find_cosines(const struct al_audit_module *first, const struct al_audit_module *second,
	enum al_form form, struct al_matrix *out, struct al_error *err)
{
	const struct al_heads *a = &first->heads, *b = &second->heads;
	AL_OWNED struct al_matrix norms = {0};

	if (!same_rows(a, b, form))
		return true;
	bool ok = al_form_inner(a, b, form, out, err)
		&& al_matrix_init(&norms, a->n_heads + b->n_heads, 1, err)
		&& find_norms(first, form, norms.data, err)
		&& find_norms(second, form, norms.data + a->n_heads, err);
	for (size_t j = 0; ok && j < b->n_heads; j++)
		for (size_t i = 0; i < a->n_heads; i++)
			out->data[i + j * out->ld] = al_cosine(out->data[i + j * out->ld],
				norms.data[i], norms.data[a->n_heads + j]);
	return ok;
}

struct scores {
	struct al_matrix cosine[AL_N_FORMS], composition[AL_N_READERS];
};

static void scores_finish(struct scores *s)
{
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&s->cosine[form]);
	for (int p = 0; p < AL_N_READERS; p++)
		al_matrix_finish(&s->composition[p]);
}

static bool scores_init(struct scores *s, const struct loaded *a, const struct loaded *b,
	struct al_error *err)
{
	bool ok = true;

	*s = (struct scores){0};
	for (int form = 0; ok && form < AL_N_FORMS; form++)
		ok = find_cosines(&a->module, &b->module, (enum al_form)form, &s->cosine[form],
			err);
	for (int p = 0; ok && p < AL_N_READERS; p++)
		if (al_can_compose(&a->module, &b->module, (enum al_projection)p))
			ok = al_composition_scores(&a->module, &b->module, (enum al_projection)p,
				&s->composition[p], err);
	return ok;
}

static struct al_pair_scores views_of(const struct scores *s)
{
	struct al_pair_scores views;

	for (int form = 0; form < AL_N_FORMS; form++)
		views.cosine[form] = al_view(s->cosine[form]);
	for (int p = 0; p < AL_N_READERS; p++)
		views.composition[p] = al_view(s->composition[p]);
	return views;
}

static bool measure_two(struct al_ranking *ranking, struct loaded *first, struct loaded *second,
	struct al_error *err)
{
	bool in_order = al_is_earlier(first->module.attention, second->module.attention);
	struct loaded *a = in_order ? first : second, *b = in_order ? second : first;
	struct scores scores;

	if (!same_rows(&a->module.heads, &b->module.heads, AL_FORM_QK))
		return true;
	bool ok = scores_init(&scores, a, b, err);
	const struct al_pair_scores views = views_of(&scores);
	ok = ok && al_ranking_offer(ranking, &a->side, &b->side, &views, err);
	scores_finish(&scores);
	return ok;
}

/* ---- the table ---- */

static bool measure_all(struct al_ranking *ranking, const struct al_audit *audit,
	const struct al_attention *const *modules, size_t n, const struct al_across_watch *watch,
	struct al_error *err)
{
	struct loaded a, b;
	size_t done = 0;
	bool ok = true;

	for (size_t i = 0; ok && i + 1 < n; i++) {
		if (!loaded_init(&a, audit, modules[i], err))
			return false;
		for (size_t j = i + 1; ok && j < n; j++) {
			if (watch)
				watch->show(watch->context, modules[i]->name, modules[j]->name,
					done++, n * (n - 1) / 2);
			ok = loaded_init(&b, audit, modules[j], err);
			ok = ok && measure_two(ranking, &a, &b, err);
			loaded_finish(&b);
		}
		loaded_finish(&a);
	}
	return ok;
}

bool al_across_measure(const struct al_audit *audit, const struct al_attention *const *modules,
	size_t n_modules, const struct al_across_watch *watch, struct al_table *table,
	struct al_error *err)
{
	struct al_ranking ranking = {.most = audit->options.n_pairs, .least = AL_LIKE_NOTHING};
	bool ok = measure_all(&ranking, audit, modules, n_modules, watch, err);

	if (ok) {
		al_pairs_add_rows(table, &ranking);
		al_pairs_note(table, ranking.n_seen);
	}
	al_ranking_finish(&ranking);
	return ok;
}
