/* pca: its tables, and one attention module, wherever its head outputs come from: exact components,
 * training, and what is left of a target. */
#include <ctype.h>
#include <stdarg.h>

#include "answer/kernel.h"
#include "answer/pca.h"
#include "linalg/kernel.h"

/* ---- tables ---- */

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
	double eigenvalue, share, captured, relative_error, target_error, target_change;
};

/* Columns that not all of the three have; errors are those of modules and components. */
enum {
	OF_MODULES = PCA_WITH_TARGET << 1,
	OF_COMPONENTS = OF_MODULES << 1,
	OF_LOADINGS = OF_MODULES << 2,
	OF_ERRORS = OF_MODULES << 3
};

static const struct al_table_field exact_fields[] = {
	{AL_SHOW_KEY(struct exact, module, "Module")},
	{AL_SHOW_KEY(struct exact, architecture, "Architecture")},
	{AL_SHOW_COUNT(struct exact, tokens, "Tokens"), .when = OF_MODULES},
	{AL_SHOW_WHOLE(struct exact, features, "Features"), .when = OF_MODULES},
	{AL_SHOW_WHOLE(struct exact, n90, "90 %", .group = "Components for"), .when = OF_MODULES},
	{AL_SHOW_WHOLE(struct exact, n95, "95 %", .group = "Components for"), .when = OF_MODULES},
	{AL_SHOW_WHOLE(struct exact, n99, "99 %", .group = "Components for"), .when = OF_MODULES},
	{AL_SHOW_WHOLE(struct exact, kept, "Kept"), .when = OF_MODULES},
	{AL_SHOW_KEY(struct exact, component, "Component", .digits = AL_DIGITS_ALL),
		.when = OF_COMPONENTS},
	{AL_SHOW(struct exact, eigenvalue, "Eigenvalue", .digits = 6), .when = OF_COMPONENTS},
	{AL_SHOW(struct exact, share, "Share", .digits = 4), .when = OF_COMPONENTS},
	{AL_SHOW(struct exact, captured, "Captured", .digits = 4), .when = OF_MODULES},
	{{.key = "cumulative", .title = "Captured", .digits = 4}, AL_MEMBER(struct exact, captured),
		.when = OF_COMPONENTS},
	{AL_SHOW(struct exact, relative_error, "Reconstruction error", .digits = 4),
		.when = OF_ERRORS},
	{AL_SHOW(struct exact, target_error, "Error", .group = "Target", .digits = 6),
		.when = OF_ERRORS | PCA_WITH_TARGET},
	{AL_SHOW(struct exact, target_change, "Added error", .group = "Target", .digits = 6),
		.when = OF_ERRORS | PCA_WITH_TARGET},
	/* As many components as are kept follow; their columns come with the first module. */
	{AL_SHOW_KEY(struct exact, feature, "Feature"), .when = OF_LOADINGS},
	AL_FIELDS_END,
};

static const char of_weights[] = "weights alone don't give this table";

/* What is asked for. */
enum { EXACT = 1, TRAINED = 2, OF_WEIGHTS = 4, WITH_LOSS = 8 };

static const struct {
	const char *title;
	const struct al_table_field *fields;
	unsigned shown;
	/* The inputs that give this table at all, and those that show it by default: trained or
	 * given weights are shown instead of the exact components. */
	unsigned makes, shows;
	const char *why_not; /* where it isn't made */
} tables_of[PCA_N_TABLES] = {
	[PCA_MODULES] = {"Principal components across heads", exact_fields, OF_MODULES | OF_ERRORS,
		EXACT | TRAINED, EXACT | TRAINED, of_weights},
	[PCA_COMPONENTS] = {"Each component", exact_fields, OF_COMPONENTS | OF_ERRORS,
		EXACT | TRAINED, EXACT, of_weights},
	[PCA_LOADINGS] = {"Loadings of each component", exact_fields, OF_LOADINGS, EXACT | TRAINED,
		EXACT, of_weights},
	[PCA_TRAINING] = {"Trained and exact components", pca_training_fields, 0, TRAINED, TRAINED,
		"needs --train RULE"},
	[PCA_WEIGHTS] = {"Similarity of the weights' components", pca_weights_fields,
		PCA_OF_LAYERS | PCA_WITH_MEASURES, EXACT | TRAINED | OF_WEIGHTS,
		TRAINED | OF_WEIGHTS, NULL},
	[PCA_CORRELATION] = {"Pairs of the weights' components", pca_weights_fields, PCA_OF_PAIRS,
		EXACT | TRAINED | OF_WEIGHTS, 0, NULL},
	[PCA_LOSS] = {"Measured loss with the layer inserted", pca_loss_fields, 0, WITH_LOSS,
		WITH_LOSS, "needs a decoder that runs, and sequences of more than one token"},
};

bool pca_tables_begin(struct pca *pca, bool has_loss, struct al_error *err)
{
	const struct pca_options *o = pca->options;
	const unsigned shown = (pca_has_target(o) ? PCA_WITH_TARGET : 0U)
		| (pca->training.rule >= 0 ? 1U << pca->training.rule : 0U);
	const unsigned asked = (o->weights		  ? OF_WEIGHTS
					       : o->train ? TRAINED
							  : EXACT)
		| (has_loss ? WITH_LOSS : 0U);

	for (int i = 0; i < PCA_N_TABLES; i++) {
		const bool is_named = o->only >> i & 1;
		if (is_named && !(tables_of[i].makes & asked))
			return al_fail(err, AL_EINPUT, "--only %s: %s", pca_table_names[i],
				tables_of[i].why_not);
		if (!(o->only ? is_named : tables_of[i].shows & asked))
			continue;
		pca->tables[i] = al_session_table(pca->session, pca_table_names[i],
			tables_of[i].fields, shown | tables_of[i].shown, "%s", tables_of[i].title);
	}
	return true;
}

void pca_note(const struct pca_module *m, const char *format, ...)
{
	struct al_table *table = m->pca->session->tables[0];
	va_list args;

	va_start(args, format);
	al_table_warn(table, "%s, %s: %s", m->name, m->label,
		al_format_list(&table->arena, format, args));
	va_end(args);
}

void pca_note_options(const struct al_session *session)
{
	const struct pca_options *o = session->options;
	struct al_table *table = session->tables[0];

	if (!o->weights)
		al_table_note(table, "batch normalization: over each %s, epsilon %s",
			o->architectures & (UINT64_C(1) << AL_NONLINEAR)
				? "dimension of each head (nonlinear: over each feature)"
				: "dimension of each head",
			o->epsilon ? o->epsilon : "0");
	if (pca_has_target(o))
		al_table_note(table,
			"target: %serrors of the best linear fit with an intercept, relative",
			o->target ? "" : "the output projection's outputs; ");
	if (o->train)
		al_table_note(table, "trained from random weights: %s", o->train);
	al_table_note(table, "BLAS kernel: %s", al_blas_kernel());
	al_kernel_note(table);
}

/* ---- rows ---- */

/* A fit with as many unknowns as tokens meets any target: its error means nothing. */
static bool is_target_fitted(const struct pca_module *m, size_t kept)
{
	return m->errors && !isnan(m->errors[kept])
		&& kept * m->principal.layer.width < (size_t)m->principal.n_tokens;
}

/* What the first `kept` components hold, and leave of the target. */
static struct exact describe(const struct pca_module *m, size_t kept)
{
	const size_t n = m->principal.layer.n_features;
	const double error = al_principal_error(&m->principal, kept);
	const bool is_fitted = is_target_fitted(m, kept);

	return (struct exact){.module = m->name,
		.architecture = al_architecture_names[m->architecture],
		.features = n,
		.kept = kept,
		.component = kept,
		.captured = 1 - error * error,
		.relative_error = error,
		.target_error = is_fitted ? m->errors[kept] : NAN,
		.target_change = is_fitted && is_target_fitted(m, n)
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

void pca_add_row(struct al_table *table, const void *record, const struct al_column *each,
	struct al_view numbers)
{
	for (size_t c = 1; table->n_rows == 0 && c <= numbers.cols; c++) {
		struct al_column column = *each;
		column.key = al_format(&table->arena, "%s_%zu", each->key, c);
		column.title = al_format(&table->arena, "%zu", c);
		al_table_add_column(table, column);
	}
	struct al_cell *cells = al_table_add_record(table, record) + table->n_columns
		- numbers.cols;
	for (size_t c = 0; c < numbers.cols; c++)
		al_cell_set_real(&cells[c], numbers.data[c * numbers.ld]);
}

static void add_loadings(struct al_table *table, const struct pca_module *m)
{
	static const struct al_column each = {.key = "component",
		.group = "Component",
		.digits = 3};
	const struct al_principal *p = &m->principal;
	struct exact row = describe(m, m->n_kept);

	for (size_t k = 0; k < p->layer.n_features; k++) {
		row.feature = al_pca_feature_name(&p->layer, k, &table->arena);
		pca_add_row(table, &row, &each,
			(struct al_view){p->vectors.data + k, 1, m->n_kept, p->vectors.ld});
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
			"the target is fitted with at most %zu of %zu components, so that second "
			"moments fit into memory",
			fitted - 1, n);
}

static void note_left_out(const struct pca_module *m)
{
	const long long heads = (long long)m->principal.n_left_out,
			target = (long long)m->n_left_out - heads;

	if (heads > 0)
		pca_note(m, "%lld token%s left out, since %s NaN or infinite numbers", heads,
			heads == 1 ? " is" : "s are", heads == 1 ? "it has" : "they have");
	if (target > 0)
		pca_note(m,
			"%lld token%s left out of the target's errors, since %s has NaN or "
			"infinite numbers there",
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
	pca_note(m, "%zu of %zu normalized features are constant and count as 0; the first is %s",
		p->n_constant, p->layer.n_norm,
		al_pca_norm_name(&p->layer, first, &m->pca->session->arena));
}

static void add_rows(const struct pca_module *m)
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

/* ---- one module ---- */

/* Limit for second moments that fit a target: 19 MB. */
enum { MOST_COLUMNS = 1536 };

static bool find_kept(struct pca_module *m, struct al_error *err)
{
	const size_t n_features = m->principal.layer.n_features;
	const int64_t keep = m->pca->options->keep;

	m->n_kept = keep ? (size_t)keep : m->n_heads;
	return m->n_kept <= n_features
		|| al_fail(err, AL_EINPUT,
			"--keep %zu: the %s architecture has only %zu components for %zu heads",
			m->n_kept, al_architecture_names[m->architecture], n_features, m->n_heads);
}

/* So many components as fit into memory with their second moments, at least those that are kept. */
static size_t count_fitted(const struct pca_module *m)
{
	const size_t n = m->principal.layer.n_features,
		     room = MOST_COLUMNS / m->principal.layer.width;

	return al_least(n, al_most(room, m->n_kept));
}

static bool fit_target(struct pca_module *m, struct al_error *err)
{
	const size_t n = m->principal.layer.n_features;
	const struct al_view vectors = al_columns(al_view(m->principal.vectors), 0,
		count_fitted(m));
	AL_ENDS(al_target_moments_finish) struct al_target_moments moments = {0};

	m->errors = al_new_array(&m->pca->session->arena, double, n + 1);
	for (size_t i = 0; i <= n; i++)
		m->errors[i] = NAN;
	if (!al_target_moments_find(&moments, m->rows, &m->principal, &vectors, err))
		return false;
	m->n_left_out = moments.n_left_out;
	return al_regression_errors(&moments, m->principal.layer.width, m->errors, err);
}

/* For --save. */
static void keep_weights(const struct pca_module *m, struct al_view weights)
{
	struct pca *pca = m->pca;
	struct al_arena *arena = &pca->session->arena;
	double *numbers = al_new_array(arena, double, weights.rows *weights.cols);
	int64_t *shape = al_new_array(arena, int64_t, 2);

	shape[0] = (int64_t)weights.cols;
	shape[1] = (int64_t)weights.rows;
	for (size_t c = 0; c < weights.cols; c++)
		memcpy(numbers + c * weights.rows, weights.data + c * weights.ld,
			weights.rows * sizeof(*numbers));
	*AL_APPEND(arena, pca->numbers, pca->n_numbers, pca->numbers_room) = numbers;
	*AL_APPEND(arena, pca->saved, pca->n_saved, pca->saved_room) =
		(struct al_tensor){.name = al_format(arena, "%s.%s.W_PCA", m->name,
					   al_architecture_names[m->architecture]),
			.dtype = al_dtype_stored("F64"),
			.shape = shape,
			.n_dims = 2};
}

static bool put_in_place(const struct pca_module *m, struct al_matrix weights, struct al_error *err)
{
	struct al_arena *arena = &m->pca->session->arena;
	struct al_in_place *layer = al_new(arena, struct al_in_place);

	al_arena_defer(arena, al_in_place_finish, layer);
	m->layers[m->architecture] = layer;
	return al_in_place_init(layer, m->rows, &m->principal, al_view(weights), err);
}

/* The weights that are trained, or the exact ones: how alike their components are; and the layer
 * in the model, where the fit of its output is meaningful. */
static bool take_weights(const struct pca_module *m, struct al_error *err)
{
	const struct al_view vectors = al_view(m->principal.vectors);
	struct al_matrix weights;
	AL_SCRATCH(scratch);

	if (!al_take(&scratch, &weights, m->principal.layer.n_features, m->n_kept, err)
		|| !(m->pca->options->train
				? pca_train(m, weights, err)
				: al_copy(al_columns(vectors, 0, m->n_kept), weights, err)))
		return false;
	pca_weights_add(m->pca, m->name, al_architecture_names[m->architecture], m->label,
		al_view(weights));
	if (m->pca->options->saved)
		keep_weights(m, al_view(weights));
	return !m->layers || !is_target_fitted(m, m->n_kept) || put_in_place(m, weights, err);
}

/* "Direct-8" */
static const char *make_label(const struct pca_module *m)
{
	char *label = al_format(&m->pca->session->arena, "%s-%zu",
		m->architecture == AL_NONLINEAR ? "Non-Linear"
						: al_architecture_names[m->architecture],
		m->n_kept);

	label[0] = (char)toupper((unsigned char)label[0]);
	return label;
}

static bool find_components(struct pca_module *m, struct al_error *err)
{
	struct al_pca_options options = {.architecture = m->architecture,
		.n_heads = m->n_heads,
		.d_head = m->width / m->n_heads};

	if (!al_option_real("epsilon", m->pca->options->epsilon, 0, 0, &options.epsilon, err))
		return false;
	return m->moments ? al_principal_of_moments(&m->principal, m->moments, &options, err)
			  : al_principal_find(&m->principal, m->rows, &options, err);
}

static bool take(struct pca_module *m, struct al_error *err)
{
	if (!find_components(m, err))
		return false;
	bool ok = find_kept(m, err);
	m->label = make_label(m);
	ok = ok && (!m->rows || !m->rows[1].width || fit_target(m, err));
	if (ok)
		add_rows(m);
	ok = ok && take_weights(m, err);
	al_principal_finish(&m->principal);
	return ok;
}

bool pca_take_module(struct pca_module *m, struct al_error *err)
{
	bool ok = true;

	pca_figures_begin(m->pca);
	for (int a = 0; ok && a < AL_N_ARCHITECTURES; a++) {
		m->architecture = (enum al_pca_architecture)a;
		if (pca_takes(m->pca->options, a))
			ok = take(m, err);
	}
	return pca_figures_end(m->pca, m->name, ok, err);
}
