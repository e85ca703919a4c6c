/* Pairs of heads: which are the most similar, and their table. Only pairs that stay
 * among the best get their angles. */
#include "audit/pairs.h"

#include "audit/likeness.h"
#include "audit/measurement.h"
#include "audit/summary.h"

struct pair {
	const char *module_a, *module_b;
	size_t head_a, head_b;
	double likeness[AL_N_FORMS], composition[AL_N_READERS]; /* NAN: there is none */
	struct al_angles angles[AL_N_PROJECTIONS]; /* likewise */
};

static bool compare_by_weights(struct al_scratch *scratch, struct al_audit_module *module,
	struct al_pair_scores *out, struct al_error *err)
{
	struct al_view s;

	for (int form = 0; form < AL_N_FORMS; form++) {
		struct al_matrix *cosines = &out->likeness[form];
		if (!al_has_form(&module->heads, (enum al_form)form))
			continue;
		if (!al_audit_form_inner(module, (enum al_form)form, &s, err)
			|| !al_take(scratch, cosines, s.rows, s.cols, err))
			return false;
		for (size_t j = 0; j < s.cols; j++)
			for (size_t i = 0; i < s.rows; i++)
				cosines->data[i + j * cosines->ld] = al_cosine(s.data[i + j * s.ld],
					s.data[i + i * s.ld], s.data[j + j * s.ld]);
	}
	return true;
}

bool al_module_likeness(struct al_scratch *scratch, const struct al_audit *audit,
	struct al_audit_module *module, struct al_pair_scores *out, struct al_error *err)
{
	const struct al_calibration *calibration = al_covariance_calibration(
		audit->options.covariance);
	const struct al_module_statistics *statistics;
	struct al_likeness alike;

	*out = (struct al_pair_scores){0};
	if (!calibration)
		return compare_by_weights(scratch, module, out, err);
	if (!al_calibration_find(calibration, module->attention->name, &statistics, err)
		|| !al_likeness_find(scratch, statistics, &alike, err))
		return false;
	out->likeness[AL_FORM_QK] = alike.correlation;
	out->likeness[AL_FORM_OV] = alike.outputs;
	return true;
}

/* ---- angles ---- */

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

static struct al_view basis_at(struct place x)
{
	return al_bases_head(&x.side->bases[x.projection], x.head);
}

static bool is_even(struct place x)
{
	return x.side->is_even[x.projection][x.head];
}

static bool judge(struct place x, struct al_error *err)
{
	const struct al_audit_module *module = x.side->module;
	const bool **all = &x.side->is_even[x.projection];

	if (!*all)
		*all = al_even_heads_find(&x.side->scratch, &module->triangles, &module->heads,
			x.projection, err);
	return *all != NULL;
}

static bool need_bases(struct place x, struct al_error *err)
{
	struct al_bases *bases = &x.side->bases[x.projection];

	return bases->ranks
		|| al_bases_find(&x.side->scratch, bases, &x.side->module->heads, x.projection,
			err);
}

/* Computes the inputs of two heads' cosines, if missing. */
static bool prepare_cosines(struct place a, struct place b, struct al_error *err)
{
	return judge(a, err) && judge(b, err)
		&& ((is_even(a) && is_even(b)) || (need_bases(a, err) && need_bases(b, err)));
}

/* One projection of the heads of a pair. */
struct angle {
	struct al_angles *out;
	struct place a, b;
};

/* From U_a^T U_b. */
static bool find_angle(void *context, size_t index, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct angle *x = &((const struct angle *)context)[index];
	const bool are_even = is_even(x->a) && is_even(x->b);
	const struct al_view a = are_even ? weights_at(x->a) : basis_at(x->a);
	const struct al_view b = are_even ? weights_at(x->b) : basis_at(x->b);
	struct al_matrix cosines;

	return al_take(&scratch, &cosines, a.cols, b.cols, err)
		&& (are_even ? al_even_cosines(a, triangle_at(x->a), b, triangle_at(x->b), cosines,
			    err)
			     : al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, a, b, 0, cosines, err))
		&& al_angles_find(al_view(cosines), x->out, err);
}

/* Are there angles to be found? Heads that share a key/value head have the same subspace there. */
static bool lists_angle(struct pair *pair, struct al_pair_side *a, struct al_pair_side *b,
	enum al_projection p, struct angle *out)
{
	const struct al_heads *fa = &a->module->heads, *fb = &b->module->heads;
	const struct al_view wa = al_projection_of(fa, p), wb = al_projection_of(fb, p);
	const size_t i = al_own_head(fa, p, pair->head_a), j = al_own_head(fb, p, pair->head_b);
	const bool is_there = wa.data && wb.data && wa.rows == wb.rows;

	pair->angles[p] = is_there ? (struct al_angles){.kernel = 1}
				   : (struct al_angles){NAN, NAN, NAN};
	*out = (struct angle){&pair->angles[p], {a, p, i}, {b, p, j}};
	return is_there && (a != b || i != j);
}

static bool find_angles(struct pair *pairs, size_t n_pairs, struct al_pair_side *a,
	struct al_pair_side *b, struct al_error *err)
{
	AL_FREED struct angle *all = al_calloc(n_pairs * AL_N_PROJECTIONS + 1, sizeof(*all));
	size_t n = 0;

	for (size_t k = 0; k < n_pairs; k++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++)
			n += lists_angle(&pairs[k], a, b, (enum al_projection)p, &all[n]);
	for (size_t i = 0; i < n; i++)
		if (!prepare_cosines(all[i].a, all[i].b, err))
			return false;
	return al_parallel(n, find_angle, all, err);
}

/* ---- the table ---- */

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct pair, module_a, "Module")},
	{AL_SHOW_WHOLE(struct pair, head_a, "Head", .is_key = true)},
	{AL_SHOW_KEY(struct pair, module_b, "and module")},
	{AL_SHOW_WHOLE(struct pair, head_b, "Head", .is_key = true)},
	AL_AUDIT_LIKENESS_FIELDS(struct pair, likeness[AL_FORM_QK], likeness[AL_FORM_OV]),
	AL_FIELDS_END,
};

/* The pairs of one projection. */
static const struct al_table_field angles[] = {
	{AL_SHOW(struct al_angles, kernel, "mean squared cosine", .digits = 3)},
	{{.key = "angle_min", .title = "smallest", .unit = "°", .digits = 1},
		AL_MEMBER(struct al_angles, smallest)},
	{{.key = "angle_max", .title = "largest", .unit = "°", .digits = 1},
		AL_MEMBER(struct al_angles, largest)},
	AL_FIELDS_END,
};

static const struct al_table_field composition[] = {
	{{.key = "query_composition", .title = "query", .group = "composition", .digits = 3},
		AL_MEMBER(struct pair, composition[AL_QUERY])},
	{{.key = "key_composition", .title = "key", .group = "composition", .digits = 3},
		AL_MEMBER(struct pair, composition[AL_KEY])},
	{{.key = "value_composition", .title = "value", .group = "composition", .digits = 3},
		AL_MEMBER(struct pair, composition[AL_VALUE])},
	AL_FIELDS_END,
};

void al_pairs_add_columns(struct al_table *table, unsigned basis, bool with_composition)
{
	al_table_add_fields(table, fields, basis);
	for (size_t p = 0; p < AL_N_PROJECTIONS; p++)
		al_table_add_group(table, al_projection_names[p], angles,
			offsetof(struct pair, angles) + p * sizeof(struct al_angles), 0);
	if (with_composition)
		al_table_add_fields(table, composition, 0);
}

/* ---- the most similar ---- */

static bool is_on_tokens(const struct al_table *table)
{
	return al_table_find_column(table, "logit_correlation") >= 0;
}

/* By weights the larger cosine in size; -1 where there is neither. */
static double score(const struct al_table *table, double attention, double outputs)
{
	if (is_on_tokens(table))
		return al_likeness_score(attention, outputs);
	const double larger = fmax(fabs(attention), fabs(outputs)); /* fmax passes NANs over */

	return isnan(larger) ? -1 : larger;
}

static bool read_row(const struct al_table *table, size_t row, enum al_form form, double *out)
{
	static const char *const keys[AL_N_FORMS][2] = {
		[AL_FORM_QK] = {"qk_cosine", "logit_correlation"},
		[AL_FORM_OV] = {"ov_cosine", "output_cka"},
	};

	return al_table_number(table, row, keys[form][is_on_tokens(table)], out);
}

static double score_of_row(const struct al_table *table, size_t row)
{
	double attention = NAN, outputs = NAN;

	(void)read_row(table, row, AL_FORM_QK, &attention);
	(void)read_row(table, row, AL_FORM_OV, &outputs);
	return score(table, attention, outputs);
}

static void cut(struct al_table *table, size_t most)
{
	const size_t n = table->n_rows;
	AL_FREED double *all = al_calloc(n + 1, sizeof(*all));
	AL_FREED size_t *order = al_calloc(n + 1, sizeof(*order));
	AL_FREED struct al_cell **rows = al_calloc(n + 1, sizeof(struct al_cell *));
	for (size_t row = 0; row < n; row++)
		all[row] = score_of_row(table, row);
	al_sort_order(all, n, order);
	for (size_t row = 0; row < n; row++)
		rows[row] = table->rows[order[row]];
	for (size_t row = 0; row < n; row++)
		table->rows[row] = rows[row];
	if (most > 0 && n > most)
		table->n_rows = most;
}

static size_t list_pairs(const struct al_audit_module *a, const struct al_audit_module *b,
	const struct al_pair_scores *s, struct pair *out)
{
	size_t n = 0;

	for (size_t i = 0; i < a->heads.n_heads; i++)
		for (size_t j = a == b ? i + 1 : 0; j < b->heads.n_heads; j++) {
			struct pair *pair = &out[n++];
			*pair = (struct pair){.module_a = a->attention->name,
				.module_b = b->attention->name,
				.head_a = i,
				.head_b = j};
			for (int form = 0; form < AL_N_FORMS; form++)
				pair->likeness[form] = al_pair_score(s->likeness[form], i, j);
			for (int p = 0; p < AL_N_READERS; p++)
				pair->composition[p] = al_pair_score(s->composition[p], i, j);
		}
	return n;
}

/* The `most` that are more alike than `least`, the most alike first; their number. */
static size_t choose(const struct al_table *table, const struct pair *all, size_t n, size_t most,
	double least, struct pair *chosen)
{
	AL_FREED double *scores = al_calloc(n + 1, sizeof(*scores));
	AL_FREED size_t *order = al_calloc(n + 1, sizeof(*order));
	size_t n_chosen = 0;
	for (size_t k = 0; k < n; k++)
		scores[k] = score(table, all[k].likeness[AL_FORM_QK], all[k].likeness[AL_FORM_OV]);
	al_sort_order(scores, n, order);
	while (n_chosen < n && (most == 0 || n_chosen < most) && scores[order[n_chosen]] > least) {
		chosen[n_chosen] = all[order[n_chosen]];
		n_chosen++;
	}
	return n_chosen;
}

bool al_pairs_add(struct al_table *table, size_t most, struct al_pair_side *a,
	struct al_pair_side *b, const struct al_pair_scores *scores, struct al_error *err)
{
	const size_t room = a->module->heads.n_heads * b->module->heads.n_heads;
	AL_FREED struct pair *all = al_calloc(2 * room, sizeof(*all));
	struct pair *chosen = all + room;
	double least = -INFINITY;

	if (most > 0 && table->n_rows == most)
		least = score_of_row(table, most - 1);
	const size_t n = choose(table, all, list_pairs(a->module, b->module, scores, all), most,
		least, chosen);
	const bool ok = find_angles(chosen, n, a, b, err);
	for (size_t k = 0; ok && k < n; k++)
		al_table_add_record(table, &chosen[k]);
	if (most > 0)
		cut(table, most);
	return ok;
}

void al_pairs_finish(struct al_table *table, size_t most, size_t n_seen)
{
	cut(table, most);
	if (table->n_rows < n_seen)
		al_table_note(table, "the %zu most similar of %zu pairs", table->n_rows, n_seen);
}

/* ---- the measurement of one module's pairs ---- */

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	al_pairs_add_columns(table, al_audit_basis(audit), false);
}

/* Of each module only pairs that may be among the best of all. */
static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct al_pair_side side = {.module = module};
	struct al_pair_scores scores;
	const bool ok = al_module_likeness(&side.scratch, audit, module, &scores, err)
		&& al_pairs_add(table, audit->options.n_pairs, &side, &side, &scores, err);

	al_scratch_finish(&side.scratch);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	al_pairs_finish(table, audit->options.n_pairs, audit->n_pairs);
	if (is_on_tokens(table))
		al_table_note(table,
			"on the calibration's tokens; the most similar have the largest sum of the "
			"correlation of logits (each query's mean taken away) and linear CKA of "
			"outputs; principal angles are of weights");
	al_audit_note_basis(audit, table);
}

/* ---- the summary ---- */

static const char *print_head(const struct al_table *table, size_t row, const char *module,
	const char *head, struct al_arena *arena)
{
	double index = 0;

	(void)al_table_number(table, row, head, &index);
	return al_format(arena, "%s head %.0f", al_table_text(table, row, module), index);
}

/* The most similar pair: of weights the larger cosine; without pairs of nonzero heads there is
 * none. */
static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *similarity)
{
	struct al_arena *arena = &summary->arena;
	double qk = 0, ov = 0;

	(void)audit;
	if (similarity->n_rows == 0)
		return;
	const bool has_qk = read_row(similarity, 0, AL_FORM_QK, &qk);
	const bool has_ov = read_row(similarity, 0, AL_FORM_OV, &ov);
	const bool is_ov = has_ov && (!has_qk || fabs(ov) > fabs(qk));
	if (!has_qk && !has_ov)
		return;
	al_summary_add(summary, "most similar",
		al_format(arena, "%s and %s: %s",
			print_head(similarity, 0, "module_a", "head_a", arena),
			print_head(similarity, 0, "module_b", "head_b", arena),
			is_on_tokens(similarity) ? al_format(arena,
				"logit correlation %.2f, output CKA %.2f", qk, ov)
						 : al_format(arena, "%s cosine %.2f",
							 is_ov ? "OV" : "QK", is_ov ? ov : qk)));
}

const struct al_measurement al_measurement_similarity = {
	.id = "similarity",
	.title = "Pairs of heads, most similar first",
	.needs = {.weights = true, .forms = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module_a", "head_a", "module_b", "head_b", "qk_cosine",
			       "ov_cosine", "logit_correlation", "output_cka"},
		.most_rows = 10},
	.summary = {{AL_SUMMARY_PAIRS, summarize}},
};

double al_pair_score(struct al_matrix scores, size_t i, size_t j)
{
	return scores.data ? scores.data[i + j * scores.ld] : NAN;
}
