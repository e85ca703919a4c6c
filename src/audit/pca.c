/* PCA across heads: the heads' forms as points, through the eigenvalues of their centered Gram
 * matrix; and how many different heads there are, through those of their cosines. */
#include "audit/measurement.h"
#include "audit/summary.h"

/* How many components hold so much. */
static const double shares[] = {.9, .95, .99};
enum { N_SHARES = sizeof(shares) / sizeof(*shares) };

static size_t count_components(const double *values, size_t n, double share)
{
	double running = 0;
	size_t count = 0;

	/* A share that is met but for rounding is met. */
	while (count < n && running < share * (1 - 1e-12))
		running += values[count++];
	return count;
}

struct row {
	struct al_audit_place at;
	const char *form;
	size_t component, n[N_SHARES];
	double share, cumulative, effective, different;
};

#define SHARE_FIELD(at, name, text) \
	{ \
		{.key = name, .title = text, .group = "components for", .digits = 0}, \
			AL_MEMBER(struct row, n[at]) \
	}

static const struct al_table_field fields[] = {
	AL_AUDIT_MODULE_FIELD,
	{AL_SHOW_KEY(struct row, form, "Form")},
	{AL_SHOW_WHOLE(struct row, component, "Component")},
	{AL_SHOW(struct row, share, "Share", .digits = 4)},
	{AL_SHOW(struct row, cumulative, "Captured", .digits = 4)},
	{{.key = "effective_heads", .title = "Effective heads", .digits = 2},
		AL_MEMBER(struct row, effective)},
	{{.key = "different_heads", .title = "Different heads", .digits = 2},
		AL_MEMBER(struct row, different)},
	SHARE_FIELD(0, "n90", "90 %"),
	SHARE_FIELD(1, "n95", "95 %"),
	SHARE_FIELD(2, "n99", "99 %"),
	AL_FIELDS_END,
};

/* Takes the mean head off every head: rows and columns of the Gram matrix lose their means. */
static void center(struct al_matrix s, double *means)
{
	size_t n = s.rows;
	double mean = 0;

	for (size_t j = 0; j < n; j++) {
		means[j] = 0;
		for (size_t i = 0; i < n; i++)
			means[j] += s.data[i + j * s.ld] / (double)n;
		mean += means[j] / (double)n;
	}
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++)
			s.data[i + j * s.ld] += mean - means[i] - means[j];
}

/* Cosines in place of inner products; heads that do nothing are left out. */
static size_t take_cosines(struct al_view inner, struct al_matrix out)
{
	size_t n = 0;

	for (size_t j = 0; j < inner.cols; j++) {
		const double jj = inner.data[j + j * inner.ld];
		size_t row = 0;
		if (!(jj > 0))
			continue;
		for (size_t i = 0; i < inner.rows; i++)
			if (inner.data[i + i * inner.ld] > 0)
				out.data[row++ + n * out.ld] =
					al_cosine(inner.data[i + j * inner.ld],
						inner.data[i + i * inner.ld], jj);
		n++;
	}
	return n;
}

/* exp(entropy of the shares): as many equally different heads would have the same. */
static double effective_number(const double *parts, size_t n)
{
	double entropy = 0;

	for (size_t i = 0; i < n; i++)
		if (parts[i] > 0)
			entropy -= parts[i] * log(parts[i]);
	return exp(entropy);
}

/* Eigenvalues to their shares of the sum. */
static void share_out(double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		values[i] = al_most(0, values[i]);
		sum += values[i];
	}
	for (size_t i = 0; i < n; i++)
		values[i] = sum > 0 ? values[i] / sum : 0;
}

/* How many heads of one length at right angles to each other have eigenvalues as even: n where they
 * have nothing in common, 1 where they are one. What they share is not taken off first. */
static bool count_different(struct al_view inner, double *different, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix cosines, values;

	if (!al_take(&scratch, &cosines, inner.rows, inner.cols, err)
		|| !al_take(&scratch, &values, inner.rows, 1, err))
		return false;
	const size_t n = take_cosines(inner, cosines);
	if (n > 0 && !al_eigenvalues(al_part(cosines, 0, 0, n, n), values.data, err))
		return false;
	share_out(values.data, n);
	*different = n ? effective_number(values.data, n) : 0;
	return true;
}

static void add_rows(struct al_audit_module *module, enum al_form form, double different,
	double *values, size_t n, struct al_table *table)
{
	share_out(values, n);
	struct row row = {.at = al_audit_place_of(module),
		.form = al_form_names[form],
		.effective = effective_number(values, n),
		.different = different};
	for (size_t j = 0; j < N_SHARES; j++)
		row.n[j] = count_components(values, n, shares[j]);
	for (size_t i = 0; i < n; i++) {
		row.component = i + 1;
		row.share = values[i];
		row.cumulative += values[i];
		al_table_add_record(table, &row);
	}
}

static bool add_form(struct al_audit_module *module, enum al_form form, struct al_table *table,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = module->heads.n_heads;
	struct al_view inner;
	struct al_matrix s, room;
	double different;

	if (!al_audit_form_inner(module, form, &inner, err) || !al_take(&scratch, &room, n, 2, err)
		|| !al_take_copy(&scratch, inner, &s, err)
		|| !count_different(inner, &different, err))
		return false;
	center(s, room.data);
	if (!al_eigenvalues(s, room.data + n, err))
		return false;
	add_rows(module, form, different, room.data + n, n, table);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	(void)audit;
	for (int form = 0; form < AL_N_FORMS; form++)
		if (al_has_form(&module->heads, (enum al_form)form)
			&& !add_form(module, (enum al_form)form, table, err))
			return false;
	return true;
}

static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *pca)
{
	struct al_arena *arena = &summary->arena;
	struct al_range qk = al_range_of(arena, pca, "different_heads", "form", "qk");
	struct al_range ov = al_range_of(arena, pca, "different_heads", "form", "ov");

	al_summary_add(summary, "different heads",
		al_format(arena, "equivalent to %s%s heads by scores%s",
			al_range_text(arena, qk, 1),
			al_summary_of(arena, audit->view, offsetof(struct al_attention, n_heads)),
			ov.n ? al_format(arena, ", %s by values", al_range_text(arena, ov, 1))
			     : ""));
}

const struct al_measurement al_measurement_pca = {
	.id = "pca",
	.title = "Principal components across heads",
	.needs = {.weights = true},
	.fields = fields,
	.add_module = add_module,
	.summary = {{AL_SUMMARY_DIFFERENT_HEADS, summarize}},
};
