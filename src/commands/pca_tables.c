/* pca: its tables, and those of exact components. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "commands/kernel.h"
#include "commands/pca.h"
#include "linalg/kernel.h"

const char *const pca_table_names[PCA_N_TABLES] = {
	[PCA_MODULES] = "modules",
	[PCA_COMPONENTS] = "components",
	[PCA_LOADINGS] = "loadings",
	[PCA_TRAINING] = "training",
	[PCA_WEIGHTS] = "weights",
	[PCA_CORRELATION] = "correlation",
	[PCA_LOSS] = "loss",
};

/* A row of modules, components or loadings. */
struct exact {
	const char *module, *architecture, *feature;
	int64_t tokens;
	size_t features, n90, n95, n99, kept, component;
	double eigenvalue, share, captured, error, target_error, target_change;
};

/* Columns that not all of the three have; errors are those of modules and components. */
enum {
	OF_MODULES = PCA_WITH_TARGET << 1,
	OF_COMPONENTS = OF_MODULES << 1,
	OF_LOADINGS = OF_MODULES << 2,
	OF_ERRORS = OF_MODULES << 3
};

#define COUNT(member, ...) \
	{ \
		{.key = #member, .digits = AL_DIGITS_ALL, __VA_ARGS__}, \
			AL_MEMBER(struct exact, member), .when = OF_MODULES \
	}

static const struct al_table_field exact_fields[] = {
	{{.key = "module", .title = "Module", .is_key = true}, AL_MEMBER(struct exact, module)},
	{{.key = "architecture", .title = "Architecture", .is_key = true},
		AL_MEMBER(struct exact, architecture)},
	COUNT(tokens, .title = "Tokens", .quantity = AL_QUANTITY_COUNT),
	COUNT(features, .title = "Features"),
	COUNT(n90, .title = "90 %", .group = "Components for"),
	COUNT(n95, .title = "95 %", .group = "Components for"),
	COUNT(n99, .title = "99 %", .group = "Components for"),
	COUNT(kept, .title = "Kept"),
	{{.key = "component", .title = "Component", .digits = AL_DIGITS_ALL, .is_key = true},
		AL_MEMBER(struct exact, component), .when = OF_COMPONENTS},
	{{.key = "eigenvalue", .title = "Eigenvalue", .digits = 6},
		AL_MEMBER(struct exact, eigenvalue), .when = OF_COMPONENTS},
	{{.key = "share", .title = "Share", .digits = 4}, AL_MEMBER(struct exact, share),
		.when = OF_COMPONENTS},
	{{.key = "captured", .title = "Captured", .digits = 4}, AL_MEMBER(struct exact, captured),
		.when = OF_MODULES},
	{{.key = "cumulative", .title = "Captured", .digits = 4}, AL_MEMBER(struct exact, captured),
		.when = OF_COMPONENTS},
	{{.key = "relative_error", .title = "Reconstruction error", .digits = 4},
		AL_MEMBER(struct exact, error), .when = OF_ERRORS},
	{{.key = "target_error", .title = "Error", .group = "Target", .digits = 6},
		AL_MEMBER(struct exact, target_error), .when = OF_ERRORS | PCA_WITH_TARGET},
	{{.key = "target_change", .title = "More than by all", .group = "Target", .digits = 6},
		AL_MEMBER(struct exact, target_change), .when = OF_ERRORS | PCA_WITH_TARGET},
	/* As many components as are kept follow; their columns come with the first module. */
	{{.key = "feature", .title = "Feature", .is_key = true}, AL_MEMBER(struct exact, feature),
		.when = OF_LOADINGS},
	AL_FIELDS_END,
};

static const struct {
	const char *title;
	const struct al_table_field *fields;
	unsigned shown;
	const char *why_not; /* where the other options don't make it */
} tables_of[PCA_N_TABLES] = {
	[PCA_MODULES] = {"Principal components across heads", exact_fields, OF_MODULES | OF_ERRORS,
		NULL},
	[PCA_COMPONENTS] = {"Each component", exact_fields, OF_COMPONENTS | OF_ERRORS, NULL},
	[PCA_LOADINGS] = {"What each component is made of", exact_fields, OF_LOADINGS, NULL},
	[PCA_TRAINING] = {"Training, beside the exact components", pca_training_fields, 0,
		"goes with --train RULE"},
	[PCA_WEIGHTS] = {"How alike the components of the weights are", pca_weights_fields,
		PCA_OF_LAYERS | PCA_WITH_MEASURES, NULL},
	[PCA_CORRELATION] = {"Each pair of components of the weights", pca_weights_fields,
		PCA_OF_PAIRS, NULL},
	[PCA_LOSS] = {"Measured loss with the layer in place", pca_loss_fields, 0,
		"goes with a decoder that runs, on sequences of more than one token"},
};

/* Do the other options make this table? */
static bool can_be(const struct pca_options *o, enum pca_table table, bool has_loss)
{
	if (table == PCA_LOSS)
		return has_loss;
	if (table == PCA_TRAINING)
		return o->rule >= 0;
	return table > PCA_TRAINING || !o->weights;
}

/* Is it shown where none is named? What was trained or given is looked at instead of the exact
 * components. */
static bool is_usual(const struct pca_options *o, enum pca_table table, bool has_loss)
{
	if (table == PCA_LOSS)
		return has_loss;
	if (o->weights)
		return table == PCA_WEIGHTS;
	if (o->rule >= 0)
		return table == PCA_MODULES || table == PCA_TRAINING || table == PCA_WEIGHTS;
	return table <= PCA_LOADINGS;
}

bool pca_tables_begin(struct pca *pca, bool has_loss, struct al_error *err)
{
	const struct pca_options *o = pca->options;
	const unsigned shown = (pca_has_target(o) ? PCA_WITH_TARGET : 0U)
		| (o->rule >= 0 ? 1U << o->rule : 0U);

	for (int i = 0; i < PCA_N_TABLES; i++) {
		const enum pca_table which = (enum pca_table)i;
		const bool is_named = o->only >> i & 1;
		if (is_named && !can_be(o, which, has_loss))
			return al_fail(err, AL_EINPUT, "--only %s: %s", pca_table_names[i],
				tables_of[i].why_not ? tables_of[i].why_not
						     : "weights alone have no such table");
		if (!(o->only ? is_named : is_usual(o, which, has_loss)))
			continue;
		pca->tables[i] = al_session_table(pca->session, pca_table_names[i],
			tables_of[i].title);
		al_table_add_fields(pca->tables[i], tables_of[i].fields,
			shown | tables_of[i].shown);
	}
	return true;
}

void pca_note(const struct pca_module *m, const char *format, ...)
{
	struct al_table *table = m->pca->session->tables[0];
	va_list args;

	va_start(args, format);
	al_table_note(table, "%s, %s: %s", m->name, m->label,
		al_format_list(&table->arena, format, args));
	va_end(args);
}

void pca_note_options(const struct al_session *session)
{
	const struct pca_options *o = session->options;
	struct al_table *table = session->tables[0];

	if (!o->weights)
		al_table_note(table, "batch normalisation: over each %s, epsilon %s",
			o->architectures & (UINT64_C(1) << AL_NONLINEAR)
				? "dimension of each head (nonlinear: over each feature)"
				: "dimension of each head",
			o->epsilon ? o->epsilon : "0");
	if (pca_has_target(o))
		al_table_note(table,
			"target: %serrors of the best linear fit with an intercept, relative",
			o->target ? "" : "what W_O makes of the heads; ");
	if (o->rule >= 0)
		al_table_note(table, "trained from random weights, seed: %lld",
			(long long)o->input.seed);
	al_table_note(table, "BLAS kernel: %s", al_blas_kernel());
	al_kernel_note(table);
}

/* ---- rows ---- */

bool pca_target_is_fitted(const struct pca_module *m, size_t kept)
{
	return m->errors && !isnan(m->errors[kept])
		&& kept * m->principal.layer.width < (size_t)m->principal.n_tokens;
}

/* What the first `kept` components hold, and leave of the target. */
static struct exact describe(const struct pca_module *m, size_t kept)
{
	const size_t n = m->principal.layer.n_features;
	const double error = al_principal_error(&m->principal, kept);
	const bool is_fitted = pca_target_is_fitted(m, kept);

	return (struct exact){.module = m->name,
		.architecture = al_architecture_names[m->architecture],
		.features = n,
		.kept = kept,
		.component = kept,
		.captured = 1 - error * error,
		.error = error,
		.target_error = is_fitted ? m->errors[kept] : NAN,
		.target_change = is_fitted && pca_target_is_fitted(m, n)
			? m->errors[kept] - m->errors[n]
			: NAN};
}

static void add_module(struct al_table *table, const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;
	struct exact row = describe(m, m->n_kept);

	row.tokens = p->n_tokens;
	row.n90 = al_principal_count(p, .9);
	row.n95 = al_principal_count(p, .95);
	row.n99 = al_principal_count(p, .99);
	al_table_add_record(table, &row);
}

static void add_components(struct al_table *table, const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;

	for (size_t i = 0; i < p->layer.n_features; i++) {
		struct exact row = describe(m, i + 1);
		row.eigenvalue = p->values[i];
		row.share = p->values[i] / p->sum;
		al_table_add_record(table, &row);
	}
}

static void add_loadings(struct al_table *table, const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;
	struct al_arena *arena = &table->arena;
	struct exact row = describe(m, m->n_kept);

	for (size_t c = 1; table->n_rows == 0 && c <= m->n_kept; c++)
		al_table_add_column(table,
			(struct al_column){.key = al_format(arena, "component_%zu", c),
				.title = al_format(arena, "%zu", c),
				.group = "Component",
				.digits = 3});
	const int first = al_table_find_column(table, "component_1");
	for (size_t k = 0; k < p->layer.n_features; k++) {
		row.feature = al_pca_feature_name(&p->layer, k, arena);
		struct al_cell *cells = al_table_add_record(table, &row) + first;
		for (size_t c = 0; c < m->n_kept; c++)
			al_cell_set_real(&cells[c], p->vectors.data[k + c * p->vectors.ld]);
	}
}

/* Errors are NAN from where the fit would take too much memory. */
static void note_unfitted(const struct pca_module *m)
{
	const size_t n = m->principal.layer.n_features;
	size_t fitted = 0;

	while (m->errors && fitted <= n && !isnan(m->errors[fitted]))
		fitted++;
	if (m->errors && fitted <= n)
		pca_note(m,
			"the target is fitted with at most %zu of %zu components, whose second "
			"moments fit into memory",
			fitted - 1, n);
}

static void note_left_out(const struct pca_module *m)
{
	const long long heads = (long long)m->principal.n_left_out,
			target = (long long)m->n_left_out - heads;

	if (heads > 0)
		pca_note(m, "%lld token%s left out, since %s numbers that aren't finite", heads,
			heads == 1 ? " is" : "s are", heads == 1 ? "it has" : "they have");
	if (target > 0)
		pca_note(m,
			"%lld token%s left out of the target's errors, since %s has numbers there "
			"that aren't finite",
			target, target == 1 ? " is" : "s are", m->pca->options->target);
}

static void note_constant(const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;
	size_t first = 0;

	if (!p->n_constant)
		return;
	while (p->layer.scale[first] != 0)
		first++;
	pca_note(m, "%zu of %zu normalised features are constant and count as 0, the first is %s",
		p->n_constant, p->layer.n_norm,
		al_pca_norm_name(&p->layer, first, &m->pca->session->arena));
}

void pca_tables_add(const struct pca_module *m)
{
	struct al_table *const *tables = m->pca->tables;

	if (tables[PCA_MODULES])
		add_module(tables[PCA_MODULES], m);
	if (tables[PCA_COMPONENTS])
		add_components(tables[PCA_COMPONENTS], m);
	if (tables[PCA_LOADINGS])
		add_loadings(tables[PCA_LOADINGS], m);
	note_left_out(m);
	note_unfitted(m);
	note_constant(m);
}
