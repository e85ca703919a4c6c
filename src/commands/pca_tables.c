/* pca: the tables of exact components. */
#include "commands/pca.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/kernel.h"
#include "linalg/kernel.h"

const char *const pca_table_names[PCA_N_TABLES] = {
	[PCA_MODULES] = "modules",
	[PCA_COMPONENTS] = "components",
	[PCA_LOADINGS] = "loadings",
	[PCA_TRAINING] = "training",
	[PCA_RANGES] = "ranges",
	[PCA_WEIGHTS] = "weights",
	[PCA_CORRELATION] = "correlation",
	[PCA_LOSS] = "loss",
};

static const char *const titles[PCA_N_TABLES] = {
	[PCA_MODULES] = "Principal components across heads",
	[PCA_COMPONENTS] = "Each component",
	[PCA_LOADINGS] = "What each component is made of",
	[PCA_TRAINING] = "Training, beside the exact components",
	[PCA_RANGES] = "Training over the paper's ranges",
	[PCA_WEIGHTS] = "How alike the components of the weights are",
	[PCA_CORRELATION] = "Each pair of components of the weights",
	[PCA_LOSS] = "Measured loss with the layer in place",
};

/* How many components hold so much of the variance. */
static const struct share {
	const char *key, *title;
	double share;
} shares[] = {{"n90", "90 %", .9}, {"n95", "95 %", .95}, {"n99", "99 %", .99}};
enum { N_SHARES = sizeof(shares) / sizeof(*shares) };

static void add_columns(struct al_table *table, const struct al_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_table_add_column(table, columns[i]);
}
#define ADD_COLUMNS(table, ...) \
	add_columns(table, (const struct al_column[]){__VA_ARGS__}, \
		sizeof((const struct al_column[]){__VA_ARGS__}) / sizeof(struct al_column))

static void add_names(struct al_table *table)
{
	ADD_COLUMNS(table, {.key = "module", .title = "Module", .is_key = true},
		{.key = "architecture", .title = "Architecture", .is_key = true});
}

static void add_target_columns(struct al_table *table)
{
	ADD_COLUMNS(table,
		{.key = "target_error", .title = "Error", .group = "Target", .digits = 6},
		{.key = "target_change",
			.title = "More than by all",
			.group = "Target",
			.digits = 6});
}

static void begin_modules(struct al_table *table, bool with_target)
{
	add_names(table);
	ADD_COLUMNS(table,
		{.key = "tokens",
			.title = "Tokens",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "features", .title = "Features", .digits = AL_DIGITS_ALL});
	for (size_t i = 0; i < N_SHARES; i++)
		ADD_COLUMNS(table,
			{.key = shares[i].key,
				.title = shares[i].title,
				.group = "Components for",
				.digits = AL_DIGITS_ALL});
	ADD_COLUMNS(table, {.key = "kept", .title = "Kept", .digits = AL_DIGITS_ALL},
		{.key = "captured", .title = "Captured", .digits = 4},
		{.key = "relative_error", .title = "Reconstruction error", .digits = 4});
	if (with_target)
		add_target_columns(table);
}

void pca_components_columns(struct al_table *table, bool with_target)
{
	add_names(table);
	ADD_COLUMNS(table,
		{.key = "component", .title = "Component", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "eigenvalue", .title = "Eigenvalue", .digits = 6},
		{.key = "share", .title = "Share", .digits = 4},
		{.key = "cumulative", .title = "Captured", .digits = 4},
		{.key = "relative_error", .title = "Reconstruction error", .digits = 4});
	if (with_target)
		add_target_columns(table);
}

/* So many components as are kept at most; their columns come with the first module. */
static void begin_loadings(struct al_table *table)
{
	add_names(table);
	ADD_COLUMNS(table, {.key = "feature", .title = "Feature", .is_key = true});
}

/* Do the other options make this table? */
static bool can_be(const struct pca_options *o, enum pca_table table, bool has_loss)
{
	if (table == PCA_LOSS)
		return has_loss;
	if (table == PCA_WEIGHTS || table == PCA_CORRELATION)
		return true;
	if (table == PCA_TRAINING)
		return o->training.rule >= 0;
	if (table == PCA_RANGES)
		return o->training.shows_ranges;
	return !o->weights;
}

/* Is it shown where none is named? What was trained or given is looked at instead of the exact
 * components. */
static bool is_usual(const struct pca_options *o, enum pca_table table, bool has_loss)
{
	if (table == PCA_LOSS)
		return has_loss;
	if (o->weights)
		return table == PCA_WEIGHTS;
	if (o->training.rule >= 0)
		return table == PCA_MODULES || table == PCA_TRAINING || table == PCA_WEIGHTS
			|| (table == PCA_RANGES && o->training.shows_ranges);
	return table <= PCA_LOADINGS;
}

static void begin_table(struct al_table *table, enum pca_table which, const struct pca_options *o)
{
	switch (which) {
	case PCA_MODULES:
		begin_modules(table, pca_has_target(o));
		break;
	case PCA_COMPONENTS:
		pca_components_columns(table, pca_has_target(o));
		break;
	case PCA_LOADINGS:
		begin_loadings(table);
		break;
	case PCA_TRAINING:
		pca_training_columns(table, o);
		break;
	case PCA_RANGES:
		pca_ranges_columns(table);
		break;
	case PCA_WEIGHTS:
		pca_weights_columns(table);
		break;
	case PCA_LOSS:
		pca_loss_columns(table);
		break;
	default:
		pca_correlation_columns(table);
	}
}

static const char *why_not(enum pca_table table)
{
	switch (table) {
	case PCA_TRAINING:
		return "goes with --train RULE";
	case PCA_RANGES:
		return "goes with --train deacon --ranges";
	case PCA_LOSS:
		return "goes with a decoder that runs, on sequences of more than one token";
	default:
		return "weights alone have no such table";
	}
}

bool pca_tables_begin(struct pca_tables *tables, struct al_session *session, bool has_loss,
	struct al_error *err)
{
	const struct pca_options *o = session->options;

	*tables = (struct pca_tables){0};
	for (int i = 0; i < PCA_N_TABLES; i++) {
		const enum pca_table which = (enum pca_table)i;
		const bool is_named = o->only >> i & 1;
		if (is_named && !can_be(o, which, has_loss))
			return al_fail(err, AL_EINPUT, "--only %s: %s", pca_table_names[i],
				why_not(which));
		if (!(o->only ? is_named : is_usual(o, which, has_loss)))
			continue;
		tables->of[i] = al_session_table(session, pca_table_names[i], titles[i]);
		begin_table(tables->of[i], which, o);
	}
	return true;
}

void pca_note(const struct al_session *session, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	al_table_note(session->tables[0], "%s", text);
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
	if (o->training.rule >= 0)
		al_table_note(table, "trained from random weights, seed: %lld",
			(long long)o->input.seed);
	al_table_note(table, "BLAS kernel: %s", al_blas_kernel());
	al_kernel_note(table);
}

bool pca_read_real(const char *name, const char *text, double fallback, double least, double most,
	double *out, struct al_error *err)
{
	char *end;

	*out = fallback;
	if (!text)
		return true;
	*out = strtod(text, &end);
	return (end != text && !*end && *out >= least && *out <= most)
		|| al_fail(err, AL_EINPUT, "--%s %s: expected a number of at least %g", name, text,
			least);
}

/* ---- rows ---- */

static struct al_cell *begin_row(struct al_table *table, const struct pca_module *m)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, m->name);
	al_cell_set_text(table, cell++, al_architecture_names[m->architecture]);
	return cell;
}

bool pca_target_is_fitted(const struct pca_module *m, size_t kept)
{
	return m->errors && !isnan(m->errors[kept])
		&& kept * m->principal.layer.width < (size_t)m->principal.n_tokens;
}

static void set_target(const struct pca_module *m, struct al_cell *cell, size_t kept)
{
	const size_t n = m->principal.layer.n_features;

	if (!pca_target_is_fitted(m, kept))
		return;
	al_cell_set_real(&cell[0], m->errors[kept]);
	if (pca_target_is_fitted(m, n))
		al_cell_set_real(&cell[1], m->errors[kept] - m->errors[n]);
}

static void add_module(struct al_table *table, const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;
	const double error = al_principal_error(p, m->n_kept);
	struct al_cell *cell = begin_row(table, m);

	al_cell_set_int(table, cell++, p->n_tokens);
	al_cell_set_int(table, cell++, (int64_t)p->layer.n_features);
	for (size_t i = 0; i < N_SHARES; i++)
		al_cell_set_int(table, cell++, (int64_t)al_principal_count(p, shares[i].share));
	al_cell_set_int(table, cell++, (int64_t)m->n_kept);
	al_cell_set_real(cell++, 1 - error * error);
	al_cell_set_real(cell++, error);
	set_target(m, cell, m->n_kept);
}

static void add_components(struct al_table *table, const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;

	for (size_t i = 0; i < p->layer.n_features; i++) {
		const double error = al_principal_error(p, i + 1);
		struct al_cell *cell = begin_row(table, m);
		al_cell_set_int(table, cell++, (int64_t)i + 1);
		al_cell_set_real(cell++, p->values[i]);
		al_cell_set_real(cell++, p->values[i] / p->sum);
		al_cell_set_real(cell++, 1 - error * error);
		al_cell_set_real(cell++, error);
		set_target(m, cell, i + 1);
	}
}

static void add_loadings(struct al_table *table, const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;
	struct al_arena *arena = &table->arena;

	for (size_t k = 0; k < p->layer.n_features; k++) {
		struct al_cell *cell = begin_row(table, m);
		al_cell_set_text(table, cell++, al_pca_feature_name(&p->layer, k, arena));
		for (size_t c = 0; c < m->n_kept; c++)
			al_cell_set_real(cell++, p->vectors.data[k + c * p->vectors.ld]);
	}
}

static void add_loading_columns(struct al_table *table, size_t n)
{
	for (size_t c = 1; c <= n; c++)
		ADD_COLUMNS(table,
			{.key = al_format(&table->arena, "component_%zu", c),
				.title = al_format(&table->arena, "%zu", c),
				.group = "Component",
				.digits = 3});
}

/* Errors are NAN from where the fit would take too much memory. */
static void note_unfitted(const struct pca_module *m)
{
	const size_t n = m->principal.layer.n_features;
	size_t fitted = 0;

	while (m->errors && fitted <= n && !isnan(m->errors[fitted]))
		fitted++;
	if (m->errors && fitted <= n)
		pca_note(m->session,
			"%s, %s: the target is fitted with at most %zu of %zu components, whose "
			"second moments fit into memory",
			m->name, m->label, fitted - 1, n);
}

static void note_left_out(const struct pca_module *m)
{
	const long long heads = (long long)m->principal.n_left_out,
			target = (long long)m->n_left_out - heads;

	if (heads > 0)
		pca_note(m->session,
			"%s, %s: %lld token%s left out, since %s numbers that "
			"aren't finite",
			m->name, m->label, heads, heads == 1 ? " is" : "s are",
			heads == 1 ? "it has" : "they have");
	if (m->n_targets > 0 && target > 0)
		pca_note(m->session,
			"%s, %s: %lld token%s left out of the target's errors, since %s has "
			"numbers there that aren't finite",
			m->name, m->label, target, target == 1 ? " is" : "s are",
			m->options->target);
}

static void note(const struct pca_module *m)
{
	const struct al_principal *p = &m->principal;

	note_left_out(m);
	note_unfitted(m);
	if (!p->n_constant)
		return;
	for (size_t k = 0; k < p->layer.n_norm; k++)
		if (p->layer.scale[k] == 0) {
			pca_note(m->session,
				"%s, %s: %zu of %zu normalised features are constant and count as "
				"0, the first is %s",
				m->name, m->label, p->n_constant, p->layer.n_norm,
				al_pca_norm_name(&p->layer, k, &m->session->arena));
			return;
		}
}

void pca_tables_add(struct pca_tables *tables, const struct pca_module *m)
{
	struct al_table *loadings = tables->of[PCA_LOADINGS];

	if (tables->of[PCA_MODULES])
		add_module(tables->of[PCA_MODULES], m);
	if (tables->of[PCA_COMPONENTS])
		add_components(tables->of[PCA_COMPONENTS], m);
	if (tables->drawn[PCA_COMPONENTS].n_columns)
		add_components(&tables->drawn[PCA_COMPONENTS], m);
	if (loadings && loadings->n_rows == 0)
		add_loading_columns(loadings, m->n_kept);
	if (loadings)
		add_loadings(loadings, m);
	note(m);
}
