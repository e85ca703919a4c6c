/* Two checkpoints side by side, through inner products of the heads' forms. A form doesn't depend
 * on the bases in which a head keeps its queries, keys and values; which head is whose counterpart
 * is found by matching. */
#include "audit/against.h"

#include "audit/forms.h"
#include "audit/measurement.h"
#include "linalg/assignment.h"

/* How a head's form compares with its counterpart's. */
struct form {
	double cosine, norm, norm_against, difference;
};

struct row {
	struct al_audit_place at;
	size_t head, match;
	struct form of[AL_N_FORMS];
};

#define FORM_FIELD(form, at, name, member, heading) \
	{ \
		{.key = #form "_" #member, .title = heading, .group = name, .digits = 4}, \
			AL_MEMBER(struct row, of[at].member) \
	}

void al_against_add_columns(struct al_table *table)
{
	static const struct al_table_field fields[] = {
		AL_AUDIT_PLACE_FIELDS,
		{{.key = "head", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
			AL_MEMBER(struct row, head)},
		{{.key = "match", .title = "Match", .digits = AL_DIGITS_ALL},
			AL_MEMBER(struct row, match)},
		FORM_FIELD(qk, AL_FORM_QK, "QK", cosine, "cosine"),
		FORM_FIELD(qk, AL_FORM_QK, "QK", difference, "difference"),
		FORM_FIELD(ov, AL_FORM_OV, "OV", cosine, "cosine"),
		FORM_FIELD(ov, AL_FORM_OV, "OV", difference, "difference"),
		FORM_FIELD(qk, AL_FORM_QK, "QK norm", norm, "here"),
		FORM_FIELD(qk, AL_FORM_QK, "QK norm", norm_against, "there"),
		FORM_FIELD(ov, AL_FORM_OV, "OV norm", norm, "here"),
		FORM_FIELD(ov, AL_FORM_OV, "OV norm", norm_against, "there"),
		AL_FIELDS_END,
	};

	al_table_add_fields(table, fields, 0);
}

static bool has_factor(const struct al_attention *a, enum al_projection p)
{
	return a->factors[p].n_runs > 0;
}

bool al_against_check(const struct al_attention *a, const struct al_attention *b,
	struct al_error *err)
{
	if (a->n_heads != b->n_heads || a->n_kv_heads != b->n_kv_heads)
		return al_fail(err, AL_EINPUT, "%s: %lld:%lld heads against %lld:%lld", a->name,
			(long long)a->n_heads, (long long)a->n_kv_heads, (long long)b->n_heads,
			(long long)b->n_kv_heads);
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_factor *x = &a->factors[p], *y = &b->factors[p];
		if (has_factor(a, (enum al_projection)p) != has_factor(b, (enum al_projection)p)
			|| x->rows != y->rows || x->width != y->width)
			return al_fail(err, AL_EINPUT,
				"%s: %s heads of %lld x %lld against %lld x %lld", a->name,
				al_projection_names[p], (long long)x->rows, (long long)x->width,
				(long long)y->rows, (long long)y->width);
	}
	return true;
}

/* ---- heads ---- */

/* Inner products of a form within each module and between both, [n_heads][n_heads]. */
struct products {
	bool is_there;
	struct al_matrix aa, bb, ab;
};

static bool find_products(struct al_scratch *scratch, const struct al_heads *a,
	const struct al_heads *b, enum al_form form, struct products *p, struct al_error *err)
{
	p->is_there = al_has_form(a, form);
	return !p->is_there
		|| (al_form_inner(scratch, a, a, form, &p->aa, err)
			&& al_form_inner(scratch, b, b, form, &p->bb, err)
			&& al_form_inner(scratch, a, b, form, &p->ab, err));
}

static double at(struct al_matrix m, size_t row, size_t column)
{
	return m.data[row + column * m.ld];
}

/* For equal heads the three products are equal but for rounding, so the difference is 0. */
static struct form compare(const struct products *p, size_t head, size_t match)
{
	if (!p->is_there)
		return (struct form){NAN, NAN, NAN, NAN};
	const double a = at(p->aa, head, head), b = at(p->bb, match, match);
	const double both = at(p->ab, head, match);

	return (struct form){al_cosine(both, a, b), sqrt(a), sqrt(b),
		a > 0 ? sqrt(fmax(a - 2 * both + b, 0) / a) : NAN};
}

/* ---- which head is whose counterpart ---- */

/* Of two heads that both resemble another equally, the one at the same place is its counterpart. */
static const double SAME_PLACE = 1e-9;

/* How much head i of `a` resembles head j of `b`: their forms' cosines, added. */
static double resemblance(const struct products *products, size_t i, size_t j)
{
	double sum = i == j ? SAME_PLACE : 0;

	for (int form = 0; form < AL_N_FORMS; form++) {
		const double cosine = compare(&products[form], i, j).cosine;
		if (!isnan(cosine))
			sum += cosine;
	}
	return sum;
}

/* Matches the heads of group i of `a` with those of group j of `b`, to[size]; the sum of what they
 * resemble each other. */
static double match_group(const struct products *products, size_t size, size_t i, size_t j,
	size_t *to)
{
	AL_ARENA(arena);
	double *gains = al_new_array(&arena, double, size *size), sum = 0;

	for (size_t y = 0; y < size; y++)
		for (size_t x = 0; x < size; x++)
			gains[x + y * size] = resemblance(products, i * size + x, j * size + y);
	al_assign((struct al_view){gains, size, size, size}, to);
	for (size_t x = 0; x < size; x++)
		sum += gains[x + to[x] * size];
	return sum;
}

/* match[n_heads]: the pairs that resemble each other most, all together. Heads that share a key and
 * a value keep together. */
static void match_heads(const struct products *products, size_t n_heads, size_t n_groups,
	size_t *match)
{
	AL_ARENA(arena);
	const size_t size = n_heads / n_groups;
	double *gains = al_new_array(&arena, double, n_groups *n_groups);
	size_t *to = al_new_array(&arena, size_t, n_groups);

	for (size_t j = 0; j < n_groups; j++)
		for (size_t i = 0; i < n_groups; i++)
			gains[i + j * n_groups] = match_group(products, size, i, j, match);
	al_assign((struct al_view){gains, n_groups, n_groups, n_groups}, to);
	for (size_t i = 0; i < n_groups; i++) {
		(void)match_group(products, size, i, to[i], match + i * size);
		for (size_t x = 0; x < size; x++)
			match[i * size + x] += to[i] * size;
	}
}

bool al_against_add_module(const struct al_audit_module *a, const struct al_audit_module *b,
	struct al_table *table, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = a->heads.n_heads;
	size_t *match = al_new_array(&table->arena, size_t, n);
	struct products products[AL_N_FORMS];

	for (int form = 0; form < AL_N_FORMS; form++)
		if (!find_products(&scratch, &a->heads, &b->heads, (enum al_form)form,
			    &products[form], err))
			return false;
	match_heads(products, n, a->heads.n_kv_heads, match);
	for (size_t i = 0; i < n; i++) {
		struct row row = {.at = al_audit_place_of(a), .head = i, .match = match[i]};
		for (int form = 0; form < AL_N_FORMS; form++)
			row.of[form] = compare(&products[form], i, match[i]);
		al_table_add_record(table, &row);
	}
	return true;
}
