/* Pairs of heads: which are the most similar, and what a table says of them. Only pairs that stay
 * among the best get their angles. */
#include "audit/pairs.h"

#include <stdlib.h>

#include "audit/measurement.h"
#include "base/memory.h"

/* ---- the ranking ---- */

/* The larger in size; -1 where there is neither. */
static double rank(double qk, double ov)
{
	const double larger = fmax(fabs(qk), fabs(ov)); /* fmax passes NANs over */

	return isnan(larger) ? -1 : larger;
}

static double likeness(const struct al_head_pair *p)
{
	return rank(p->cosine[AL_FORM_QK], p->cosine[AL_FORM_OV]);
}

/* The most alike first; what is equally alike in the order of the checkpoint. */
static int compare(const void *x, const void *y)
{
	const struct al_head_pair *p = x, *q = y;
	const double left = likeness(p), right = likeness(q);

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

static void cut(struct al_ranking *ranking)
{
	if (ranking->n > 0)
		qsort(ranking->items, ranking->n, sizeof(*ranking->items), compare);
	if (ranking->most > 0 && ranking->n > ranking->most)
		ranking->n = ranking->most;
	while (ranking->n > 0 && likeness(&ranking->items[ranking->n - 1]) <= ranking->least)
		ranking->n--;
}

static void add_pair(struct al_ranking *ranking, const struct al_head_pair *pair)
{
	ranking->n_seen++;
	if (ranking->n == ranking->room) {
		ranking->room = 2 * ranking->room + 64;
		ranking->items = al_realloc(ranking->items, ranking->room, sizeof(*ranking->items));
	}
	ranking->items[ranking->n++] = *pair;
}

void al_ranking_finish(struct al_ranking *ranking)
{
	free(ranking->items);
	*ranking = (struct al_ranking){0};
}

static double entry(struct al_view m, size_t i, size_t j)
{
	return m.data ? m.data[i + j * m.ld] : NAN;
}

static void add_pairs(struct al_ranking *ranking, const struct al_audit_module *a,
	const struct al_audit_module *b, const struct al_pair_scores *s)
{
	for (size_t i = 0; i < a->heads.n_heads; i++)
		for (size_t j = a == b ? i + 1 : 0; j < b->heads.n_heads; j++) {
			struct al_head_pair pair = {.a = a->attention,
				.b = b->attention,
				.head_a = i,
				.head_b = j,
				.is_new = true};
			for (int form = 0; form < AL_N_FORMS; form++)
				pair.cosine[form] = entry(s->cosine[form], i, j);
			for (int p = 0; p < AL_N_READERS; p++)
				pair.composition[p] = entry(s->composition[p], i, j);
			add_pair(ranking, &pair);
		}
}

/* ---- angles ---- */

void al_pair_side_finish(struct al_pair_side *side)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		al_bases_finish(&side->bases[p]);
		free(side->is_even[p]);
		side->is_even[p] = NULL;
	}
}

/* One head of one projection. */
struct place {
	struct al_pair_side *side;
	enum al_projection projection;
	size_t head;
};

static struct al_view weights_at(struct place x)
{
	return al_head_of(&x.side->module->heads, x.projection, x.head);
}

static struct al_view triangle_at(struct place x)
{
	return al_triangle_of(&x.side->module->triangles, x.projection, x.head);
}

static bool judge(struct place x, bool *is_even, struct al_error *err)
{
	const struct al_audit_module *module = x.side->module;
	bool **all = &x.side->is_even[x.projection];

	if (!*all
		&& !al_even_heads_find(&module->triangles, &module->heads, x.projection, all, err))
		return false;
	*is_even = (*all)[x.head];
	return true;
}

static bool need_basis(struct place x, struct al_view *basis, struct al_error *err)
{
	struct al_bases *bases = &x.side->bases[x.projection];

	if (!bases->ranks && !al_bases_init(bases, &x.side->module->heads, x.projection, err))
		return false;
	*basis = al_bases_head(bases, x.head);
	return true;
}

/* What the cosines of two heads are found from, unless it is there already. */
static bool prepare_cosines(struct place a, struct place b, struct al_error *err)
{
	bool a_is_even, b_is_even;
	struct al_view basis;

	if (!judge(a, &a_is_even, err) || !judge(b, &b_is_even, err))
		return false;
	return (a_is_even && b_is_even)
		|| (need_basis(a, &basis, err) && need_basis(b, &basis, err));
}

/* U_a^T U_b, which the caller finishes. */
static bool find_cosines(struct place a, struct place b, struct al_matrix *out,
	struct al_error *err)
{
	const struct al_view wa = weights_at(a), wb = weights_at(b);
	bool a_is_even, b_is_even;
	struct al_view u, v;

	if (!judge(a, &a_is_even, err) || !judge(b, &b_is_even, err))
		return false;
	if (a_is_even && b_is_even)
		return al_matrix_init(out, wa.cols, wb.cols, err)
			&& al_even_cosines(wa, triangle_at(a), wb, triangle_at(b), *out, err);
	return need_basis(a, &u, err) && need_basis(b, &v, err)
		&& al_matrix_init(out, u.cols, v.cols, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, u, v, 0, *out, err);
}

/* One projection of the heads of a pair that came and stayed. */
struct angle {
	struct al_head_pair *pair;
	enum al_projection projection;
	struct place a, b;
};

static bool find_angle(void *context, size_t index, struct al_error *err)
{
	const struct angle *x = &((const struct angle *)context)[index];
	AL_OWNED struct al_matrix cosines = {0};

	return find_cosines(x->a, x->b, &cosines, err)
		&& al_angles_find(al_view(cosines), &x->pair->angles[x->projection], err);
}

/* Are there angles to be found? Heads that share a key/value head have the same subspace there. */
static bool lists_angle(struct al_head_pair *pair, struct al_pair_side *a, struct al_pair_side *b,
	enum al_projection p, struct angle *out)
{
	const struct al_heads *fa = &a->module->heads, *fb = &b->module->heads;
	struct al_view wa = al_heads_run(fa, p).weights, wb = al_heads_run(fb, p).weights;
	size_t i = al_own_head(fa, p, pair->head_a), j = al_own_head(fb, p, pair->head_b);

	if (!wa.data || !wb.data || wa.rows != wb.rows)
		return false;
	pair->has_angles[p] = true;
	pair->angles[p] = (struct al_angles){.kernel = 1};
	*out = (struct angle){pair, p, {a, p, i}, {b, p, j}};
	return a != b || i != j;
}

static bool add_angles(struct al_ranking *ranking, struct al_pair_side *a, struct al_pair_side *b,
	struct al_error *err)
{
	struct angle *all;
	size_t n = 0;
	bool ok = true;

	for (size_t k = 0; k < ranking->n; k++)
		n += ranking->items[k].is_new;
	all = al_calloc(n * AL_N_PROJECTIONS, sizeof(*all));
	n = 0;
	for (size_t k = 0; k < ranking->n; k++) {
		struct al_head_pair *pair = &ranking->items[k];
		for (int p = 0; pair->is_new && p < AL_N_PROJECTIONS; p++)
			n += lists_angle(pair, a, b, (enum al_projection)p, &all[n]);
		pair->is_new = false;
	}
	for (size_t i = 0; ok && i < n; i++)
		ok = prepare_cosines(all[i].a, all[i].b, err);
	ok = ok && al_parallel(n, find_angle, all, err);
	free(all);
	return ok;
}

bool al_ranking_offer(struct al_ranking *ranking, struct al_pair_side *a, struct al_pair_side *b,
	const struct al_pair_scores *scores, struct al_error *err)
{
	add_pairs(ranking, a->module, b->module, scores);
	cut(ranking);
	return add_angles(ranking, a, b, err);
}

/* ---- the table ---- */

static void add_column(struct al_table *table, int p, const char *key, const char *title,
	const char *unit, int digits)
{
	al_table_add_column(table,
		(struct al_column){.key = al_format(&table->arena, "%s_%s", al_projection_names[p],
					   key),
			.title = title,
			.unit = unit,
			.group = al_projection_names[p],
			.digits = digits});
}

void al_pairs_add_columns(struct al_table *table, bool with_composition)
{
	static const struct al_column columns[] = {
		{.key = "module_a", .title = "Module", .is_key = true},
		{.key = "head_a", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "module_b", .title = "and module", .is_key = true},
		{.key = "head_b", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "qk_cosine", .title = "QK cosine", .digits = 3},
		{.key = "ov_cosine", .title = "OV cosine", .digits = 3},
	};

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		add_column(table, p, "kernel", "mean squared cosine", NULL, 3);
		add_column(table, p, "angle_min", "smallest", "°", 1);
		add_column(table, p, "angle_max", "largest", "°", 1);
	}
	for (int p = 0; with_composition && p < AL_N_READERS; p++)
		al_table_add_column(table,
			(struct al_column){.key = al_format(&table->arena, "%s_composition",
						   al_projection_names[p]),
				.title = al_projection_names[p],
				.group = "composition",
				.digits = 3});
}

static void add_row(struct al_table *table, const struct al_head_pair *pair)
{
	struct al_cell *cells = al_table_add_row(table), *end = cells + table->n_columns,
		       *cell = cells;

	al_cell_set_text(table, cell++, pair->a->name);
	al_cell_set_int(table, cell++, (int64_t)pair->head_a);
	al_cell_set_text(table, cell++, pair->b->name);
	al_cell_set_int(table, cell++, (int64_t)pair->head_b);
	for (int form = 0; form < AL_N_FORMS; form++)
		al_audit_set_number(cell++, pair->cosine[form]);
	for (int p = 0; p < AL_N_PROJECTIONS; p++, cell += 3) {
		if (!pair->has_angles[p])
			continue;
		al_cell_set_real(&cell[0], pair->angles[p].kernel);
		al_cell_set_real(&cell[1], pair->angles[p].smallest);
		al_cell_set_real(&cell[2], pair->angles[p].largest);
	}
	for (int p = 0; cell < end; p++)
		al_audit_set_number(cell++, pair->composition[p]);
}

void al_pairs_add_rows(struct al_table *table, const struct al_ranking *ranking)
{
	for (size_t k = 0; k < ranking->n; k++)
		add_row(table, &ranking->items[k]);
}

void al_pairs_note(struct al_table *table, size_t n_seen)
{
	if (table->n_rows < n_seen)
		al_table_note(table, "the %zu most similar of %zu pairs", table->n_rows, n_seen);
}

/* A row, to be sorted with others. */
struct ranked {
	struct al_cell *cells;
	double likeness;
	size_t place;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	if (a->likeness != b->likeness)
		return (a->likeness < b->likeness) - (a->likeness > b->likeness);
	return (a->place > b->place) - (a->place < b->place);
}

double al_pairs_likeness(const struct al_table *table, size_t row)
{
	double qk = NAN, ov = NAN;

	(void)al_table_number(table, row, "qk_cosine", &qk);
	(void)al_table_number(table, row, "ov_cosine", &ov);
	return rank(qk, ov);
}

void al_pairs_cut(struct al_table *table, size_t most)
{
	struct ranked *all = al_calloc(table->n_rows + 1, sizeof(*all));

	for (size_t row = 0; row < table->n_rows; row++)
		all[row] = (struct ranked){table->rows[row], al_pairs_likeness(table, row), row};
	qsort(all, table->n_rows, sizeof(*all), compare_ranked);
	for (size_t row = 0; row < table->n_rows; row++)
		table->rows[row] = all[row].cells;
	if (most > 0 && table->n_rows > most)
		table->n_rows = most;
	free(all);
}
