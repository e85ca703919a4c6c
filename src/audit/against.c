/* Two checkpoints side by side, through inner products of the heads' forms. */
#include "audit/against.h"

#include <math.h>

#include "audit/forms.h"
#include "audit/measurement.h"

void al_against_add_columns(struct al_table *table)
{
	static const char *const keys[] = {"cosine", "norm", "norm_against", "difference"};
	static const char *const titles[] = {"cosine", "norm", "against", "difference"};

	al_audit_add_module_columns(table);
	al_table_add_column(table,
		(struct al_column){.key = "head",
			.title = "Head",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	for (int form = 0; form < AL_N_FORMS; form++)
		for (int k = 0; k < 4; k++)
			al_table_add_column(table,
				(struct al_column){.key = al_format(&table->arena, "%s_%s",
							   al_form_names[form], keys[k]),
					.title = titles[k],
					.group = form == AL_FORM_QK ? "QK" : "OV",
					.digits = 4});
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

/* <A_i, A_i>, <B_i, B_i>, <A_i, B_i> */
struct inner {
	struct al_matrix aa, bb, ab;
};

static void inner_finish(struct inner *x)
{
	al_matrix_finish(&x->aa);
	al_matrix_finish(&x->bb);
	al_matrix_finish(&x->ab);
}

static bool inner_init(struct inner *x, const struct al_heads *a, const struct al_heads *b,
	enum al_form form, struct al_error *err)
{
	*x = (struct inner){0};
	return !al_has_form(a, form)
		|| (al_form_inner(a, a, form, &x->aa, err) && al_form_inner(b, b, form, &x->bb, err)
			&& al_form_inner(a, b, form, &x->ab, err));
}

static void set_form(struct al_cell *cell, const struct inner *x, size_t head)
{
	if (!x->aa.data)
		return;
	double aa = x->aa.data[head + head * x->aa.ld], bb = x->bb.data[head + head * x->bb.ld];
	double ab = x->ab.data[head + head * x->ab.ld];

	al_audit_set_number(&cell[0], al_cosine(ab, aa, bb));
	al_cell_set_real(&cell[1], sqrt(aa));
	al_cell_set_real(&cell[2], sqrt(bb));
	/* Of equal heads the three products have the same bits: the difference is 0. */
	if (aa > 0)
		al_cell_set_real(&cell[3], sqrt(fmax(aa - 2 * ab + bb, 0) / aa));
}

bool al_against_add_module(const struct al_audit_module *a, const struct al_audit_module *b,
	struct al_table *table, struct al_error *err)
{
	struct inner qk, ov = {0};
	bool ok = inner_init(&qk, &a->heads, &b->heads, AL_FORM_QK, err)
		&& inner_init(&ov, &a->heads, &b->heads, AL_FORM_OV, err);

	for (size_t i = 0; ok && i < a->heads.n_heads; i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_audit_set_module(table, &cell, a);
		al_cell_set_int(table, cell++, (int64_t)i);
		set_form(cell, &qk, i);
		set_form(cell + 4, &ov, i);
	}
	inner_finish(&ov);
	inner_finish(&qk);
	return ok;
}
