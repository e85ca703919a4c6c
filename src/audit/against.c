/* Two checkpoints side by side, through inner products of the heads' forms. */
#include "audit/against.h"

#include "audit/forms.h"
#include "audit/measurement.h"

/* How a head's form compares with its counterpart's. */
struct form {
	double cosine, norm, norm_against, difference;
};

struct row {
	struct al_audit_place at;
	size_t head;
	struct form qk, ov;
};

#define FORM_FIELDS(form, name) \
	{{.key = #form "_cosine", .title = "cosine", .group = name, .digits = 4}, \
		AL_MEMBER(struct row, form.cosine)}, \
		{{.key = #form "_norm", .title = "norm", .group = name, .digits = 4}, \
			AL_MEMBER(struct row, form.norm)}, \
		{{.key = #form "_norm_against", .title = "against", .group = name, .digits = 4}, \
			AL_MEMBER(struct row, form.norm_against)}, \
	{ \
		{.key = #form "_difference", .title = "difference", .group = name, .digits = 4}, \
			AL_MEMBER(struct row, form.difference) \
	}

void al_against_add_columns(struct al_table *table)
{
	static const struct al_table_field fields[] = {
		AL_AUDIT_PLACE_FIELDS,
		{{.key = "head", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
			AL_MEMBER(struct row, head)},
		FORM_FIELDS(qk, "QK"),
		FORM_FIELDS(ov, "OV"),
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

/* For equal heads the three products are bit-identical, so the difference is 0. */
static struct form compare(struct al_matrix aa, struct al_matrix bb, struct al_matrix ab,
	size_t head)
{
	const double a = aa.data[head + head * aa.ld], b = bb.data[head + head * bb.ld];
	const double both = ab.data[head + head * ab.ld];

	return (struct form){al_cosine(both, a, b), sqrt(a), sqrt(b),
		a > 0 ? sqrt(fmax(a - 2 * both + b, 0) / a) : NAN};
}

/* forms[n_heads]: NANs where the modules have no such form. */
static bool compare_forms(const struct al_heads *a, const struct al_heads *b, enum al_form form,
	struct form *forms, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix aa, bb, ab;

	if (al_has_form(a, form)
		&& (!al_form_inner(&scratch, a, a, form, &aa, err)
			|| !al_form_inner(&scratch, b, b, form, &bb, err)
			|| !al_form_inner(&scratch, a, b, form, &ab, err)))
		return false;
	for (size_t i = 0; i < a->n_heads; i++)
		forms[i] = al_has_form(a, form) ? compare(aa, bb, ab, i)
						: (struct form){NAN, NAN, NAN, NAN};
	return true;
}

bool al_against_add_module(const struct al_audit_module *a, const struct al_audit_module *b,
	struct al_table *table, struct al_error *err)
{
	const size_t n = a->heads.n_heads;
	struct form *qk = al_new_array(&table->arena, struct form, n);
	struct form *ov = al_new_array(&table->arena, struct form, n);

	if (!compare_forms(&a->heads, &b->heads, AL_FORM_QK, qk, err)
		|| !compare_forms(&a->heads, &b->heads, AL_FORM_OV, ov, err))
		return false;
	for (size_t i = 0; i < n; i++)
		al_table_add_record(table, &(struct row){al_audit_place_of(a), i, qk[i], ov[i]});
	return true;
}
