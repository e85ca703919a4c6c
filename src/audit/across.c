/* Pairs of heads of different modules. The first module of a pair stays while the others pass by;
 * cosines of all pairs come from Grams, and only the pairs that stay among the best get their
 * angles. */
#include "audit/across.h"

#include <math.h>
#include <stdlib.h>

#include "audit/composition.h"
#include "audit/forms.h"
#include "audit/subspaces.h"
#include "base/memory.h"

enum { N_READERS = AL_OUTPUT }; /* query, key, value */

/* ---- pairs ---- */

struct pair {
	const struct al_attention *a, *b;
	size_t head_a, head_b;
	double cosine[AL_N_FORMS], composition[N_READERS]; /* NAN: there is none */
	struct al_angles angles[AL_N_PROJECTIONS];
	bool has_angles[AL_N_PROJECTIONS], is_new;
};

/* The best so far; `most` 0 keeps all. */
struct ranking {
	struct pair *items;
	size_t n, room, most, n_seen;
};

static double likeness(const struct pair *p)
{
	return fmax(fabs(p->cosine[AL_FORM_QK]),
		fabs(p->cosine[AL_FORM_OV])); /* fmax passes NANs over */
}

/* The most alike first; what is equally alike in the order of the checkpoint. */
static int compare(const void *x, const void *y)
{
	const struct pair *p = x, *q = y;
	double left = likeness(p), right = likeness(q);

	left = isnan(left) ? -1 : left;
	right = isnan(right) ? -1 : right;
	if (left != right)
		return (left < right) - (left > right);
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	if (p->b != q->b)
		return p->b < q->b ? -1 : 1;
	if (p->head_a != q->head_a)
		return p->head_a < q->head_a ? -1 : 1;
	return (p->head_b > q->head_b) - (p->head_b < q->head_b);
}

static void cut(struct ranking *ranking)
{
	qsort(ranking->items, ranking->n, sizeof(*ranking->items), compare);
	if (ranking->most > 0 && ranking->n > ranking->most)
		ranking->n = ranking->most;
}

static void add_pair(struct ranking *ranking, const struct pair *pair)
{
	ranking->n_seen++;
	if (ranking->n == ranking->room) {
		ranking->room = 2 * ranking->room + 64;
		ranking->items = al_realloc(ranking->items, ranking->room, sizeof(*ranking->items));
	}
	ranking->items[ranking->n++] = *pair;
}

/* ---- two modules ---- */

/* A module and, once they are asked for, its bases. */
struct loaded {
	struct al_audit_module module;
	struct al_bases bases[AL_N_PROJECTIONS];
};

static void loaded_finish(struct loaded *m)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		al_bases_finish(&m->bases[p]);
	al_audit_module_finish(&m->module);
}

static bool loaded_init(struct loaded *m, const struct al_audit *audit,
	const struct al_attention *attention, struct al_error *err)
{
	*m = (struct loaded){0};
	return al_audit_module_init(&m->module, audit, attention, err)
		|| al_in(err, "%s", attention->name);
}

static bool need_bases(struct loaded *m, enum al_projection p, struct al_error *err)
{
	return m->bases[p].ranks || al_bases_init(&m->bases[p], &m->module.heads, p, err);
}

static bool same_rows(const struct al_heads *a, const struct al_heads *b, enum al_form form)
{
	if (!al_has_form(a, form) || !al_has_form(b, form))
		return false;
	return form == AL_FORM_QK
		? a->query.rows == b->query.rows && a->key.rows == b->key.rows
		: a->value.rows == b->value.rows && a->output.rows == b->output.rows;
}

/* Inner products to cosines, NAN where a form is zero; no data where the forms can't be
 * compared. */
static bool find_cosines(const struct al_audit_module *first, const struct al_audit_module *second,
	enum al_form form, struct al_matrix *out, struct al_error *err)
{
	const struct al_heads *a = &first->heads, *b = &second->heads;
	enum al_projection p = form == AL_FORM_QK ? AL_QUERY : AL_VALUE;
	struct al_matrix norms = {0};

	if (!same_rows(a, b, form))
		return true;
	bool ok = al_form_inner(a, b, form, out, err)
		&& al_matrix_init(&norms, a->n_heads + b->n_heads, 1, err)
		&& al_form_norms(first, p, norms.data, err)
		&& al_form_norms(second, p, norms.data + a->n_heads, err);
	for (size_t j = 0; ok && j < b->n_heads; j++)
		for (size_t i = 0; i < a->n_heads; i++) {
			double product = norms.data[i] * norms.data[a->n_heads + j];
			out->data[i + j * out->ld] = product > 0
				? out->data[i + j * out->ld] / product
				: NAN;
		}
	al_matrix_finish(&norms);
	return ok;
}

struct scores {
	struct al_matrix cosine[AL_N_FORMS], composition[N_READERS];
};

static void scores_finish(struct scores *s)
{
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&s->cosine[form]);
	for (int p = 0; p < N_READERS; p++)
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
	for (int p = 0; ok && p < N_READERS; p++)
		if (al_can_compose(&a->module, &b->module, (enum al_projection)p))
			ok = al_composition_scores(&a->module, &b->module, (enum al_projection)p,
				&s->composition[p], err);
	return ok;
}

static double entry(struct al_matrix m, size_t i, size_t j)
{
	return m.data ? m.data[i + j * m.ld] : NAN;
}

static void offer_pairs(struct ranking *ranking, const struct loaded *a, const struct loaded *b,
	const struct scores *s)
{
	for (size_t i = 0; i < a->module.heads.n_heads; i++)
		for (size_t j = 0; j < b->module.heads.n_heads; j++) {
			struct pair pair = {.a = a->module.attention,
				.b = b->module.attention,
				.head_a = i,
				.head_b = j,
				.is_new = true};
			for (int form = 0; form < AL_N_FORMS; form++)
				pair.cosine[form] = entry(s->cosine[form], i, j);
			for (int p = 0; p < N_READERS; p++)
				pair.composition[p] = entry(s->composition[p], i, j);
			add_pair(ranking, &pair);
		}
}

/* ---- angles ---- */

static size_t own_head(const struct al_heads *heads, enum al_projection p, size_t head)
{
	return p == AL_KEY || p == AL_VALUE ? al_kv_head(heads, head) : head;
}

static bool find_angles(struct pair *pair, struct loaded *a, struct loaded *b, enum al_projection p,
	struct al_error *err)
{
	const struct al_heads *fa = &a->module.heads, *fb = &b->module.heads;
	struct al_view wa = al_heads_run(fa, p).weights, wb = al_heads_run(fb, p).weights;
	struct al_matrix cosines = {0};

	if (!wa.data || !wb.data || wa.rows != wb.rows)
		return true;
	if (!need_bases(a, p, err) || !need_bases(b, p, err))
		return false;
	struct al_view u = al_bases_head(&a->bases[p], own_head(fa, p, pair->head_a));
	struct al_view v = al_bases_head(&b->bases[p], own_head(fb, p, pair->head_b));
	bool ok = al_matrix_init(&cosines, u.cols, v.cols, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, u, v, 0, cosines, err)
		&& al_angles_find(al_view(cosines), &pair->angles[p], err);
	pair->has_angles[p] = ok;
	al_matrix_finish(&cosines);
	return ok;
}

/* Of the pairs that came and stayed. */
static bool add_angles(struct ranking *ranking, struct loaded *a, struct loaded *b,
	struct al_error *err)
{
	for (size_t k = 0; k < ranking->n; k++) {
		struct pair *pair = &ranking->items[k];
		for (int p = 0; pair->is_new && p < AL_N_PROJECTIONS; p++)
			if (!find_angles(pair, a, b, (enum al_projection)p, err))
				return false;
		pair->is_new = false;
	}
	return true;
}

static bool measure_two(struct ranking *ranking, struct loaded *first, struct loaded *second,
	struct al_error *err)
{
	bool in_order = al_is_earlier(first->module.attention, second->module.attention);
	struct loaded *a = in_order ? first : second, *b = in_order ? second : first;
	struct scores scores;

	if (!same_rows(&a->module.heads, &b->module.heads, AL_FORM_QK))
		return true;
	bool ok = scores_init(&scores, a, b, err);
	if (ok) {
		offer_pairs(ranking, a, b, &scores);
		cut(ranking);
	}
	scores_finish(&scores);
	return ok && add_angles(ranking, a, b, err);
}

/* ---- the table ---- */

void al_across_add_columns(struct al_table *table)
{
	al_table_add_column(table,
		(struct al_column){.key = "module_a", .title = "Module", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "head_a",
			.title = "Head",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "module_b", .title = "and module", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "head_b",
			.title = "Head",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "qk_cosine", .title = "QK cosine", .digits = 3});
	al_table_add_column(table,
		(struct al_column){.key = "ov_cosine", .title = "OV cosine", .digits = 3});
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		static const char *const keys[] = {"kernel", "angle_min", "angle_max"};
		static const char *const titles[] = {"mean squared cosine", "smallest", "largest"};
		for (int k = 0; k < 3; k++)
			al_table_add_column(table,
				(struct al_column){.key = al_format(&table->arena, "%s_%s",
							   al_projection_names[p], keys[k]),
					.title = titles[k],
					.unit = k ? "°" : NULL,
					.group = al_projection_names[p],
					.digits = k ? 1 : 3});
	}
	for (int p = 0; p < N_READERS; p++)
		al_table_add_column(table,
			(struct al_column){.key = al_format(&table->arena, "%s_composition",
						   al_projection_names[p]),
				.title = al_projection_names[p],
				.group = "composition",
				.digits = 3});
}

static void set_number(struct al_cell *cell, double value)
{
	if (!isnan(value))
		al_cell_set_real(cell, value);
}

static void add_row(struct al_table *table, const struct pair *pair)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, pair->a->name);
	al_cell_set_int(table, cell++, (int64_t)pair->head_a);
	al_cell_set_text(table, cell++, pair->b->name);
	al_cell_set_int(table, cell++, (int64_t)pair->head_b);
	for (int form = 0; form < AL_N_FORMS; form++)
		set_number(cell++, pair->cosine[form]);
	for (int p = 0; p < AL_N_PROJECTIONS; p++, cell += 3) {
		if (!pair->has_angles[p])
			continue;
		al_cell_set_real(&cell[0], pair->angles[p].kernel);
		al_cell_set_real(&cell[1], pair->angles[p].smallest);
		al_cell_set_real(&cell[2], pair->angles[p].largest);
	}
	for (int p = 0; p < N_READERS; p++)
		set_number(cell++, pair->composition[p]);
}

static bool measure_all(struct ranking *ranking, const struct al_audit *audit,
	const struct al_attention *const *modules, size_t n,
	void (*show)(void *context, const char *module), void *context, struct al_error *err)
{
	struct loaded a, b;
	bool ok = true;

	for (size_t i = 0; ok && i + 1 < n; i++) {
		if (!loaded_init(&a, audit, modules[i], err))
			return false;
		for (size_t j = i + 1; ok && j < n; j++) {
			if (show)
				show(context, modules[j]->name);
			ok = loaded_init(&b, audit, modules[j], err);
			ok = ok && measure_two(ranking, &a, &b, err);
			loaded_finish(&b);
		}
		loaded_finish(&a);
	}
	return ok;
}

bool al_across_measure(const struct al_audit *audit, const struct al_attention *const *modules,
	size_t n_modules, void (*show)(void *context, const char *module), void *context,
	struct al_table *table, struct al_error *err)
{
	struct ranking ranking = {.most = audit->options.n_pairs};
	bool ok = measure_all(&ranking, audit, modules, n_modules, show, context, err);

	for (size_t k = 0; ok && k < ranking.n; k++)
		add_row(table, &ranking.items[k]);
	if (ok && ranking.n < ranking.n_seen)
		al_table_note(table, "the %zu most similar of %zu pairs", ranking.n,
			ranking.n_seen);
	free(ranking.items);
	return ok;
}
