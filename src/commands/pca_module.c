/* pca: one attention module, whoever has its head outputs: exact components, training, and what is
 * left of a target. */
#include "commands/pca.h"

#include <ctype.h>
#include <math.h>

/* Of the second moments that a target is fitted by: 19 MB. */
enum { MOST_COLUMNS = 1536 };

static bool find_kept(struct pca_module *m, size_t n_features, struct al_error *err)
{
	const struct pca_options *o = m->options;

	m->n_kept = o->keep ? (size_t)o->keep : m->n_heads;
	return m->n_kept <= n_features
		|| al_fail(err, AL_EINPUT,
			"--keep %zu: the %s architecture has %zu components of %zu heads",
			m->n_kept, al_architecture_names[m->architecture], n_features, m->n_heads);
}

/* Tokens whose heads are finite, and whose target isn't. */
static bool check_target(struct pca_module *m, const struct al_target_moments *moments,
	struct al_error *err)
{
	m->n_left_out = moments->n_left_out;
	return !m->options->is_strict || moments->n_left_out == 0
		|| al_fail(err, AL_EINPUT,
			"%s: %lld of %lld tokens %s numbers that aren't finite, the first is "
			"token %lld",
			m->options->target, (long long)moments->n_left_out,
			(long long)(moments->n_left_out + moments->n_tokens),
			moments->n_left_out == 1 ? "has" : "have",
			(long long)moments->first_left_out);
}

/* So many components that their second moments fit into memory, at least those that are kept. */
static size_t count_fitted(const struct pca_module *m)
{
	const size_t n = m->principal.layer.n_features,
		     room = MOST_COLUMNS / m->principal.layer.width;

	return room >= n ? n : room > m->n_kept ? room : m->n_kept;
}

static bool find_errors(struct pca_module *m, const struct al_head_outputs *outputs,
	struct al_error *err)
{
	const struct al_view vectors = al_columns(al_view(m->principal.vectors), 0,
		count_fitted(m));
	struct al_target_moments moments;

	if (!al_target_moments_find(&moments, outputs, &m->principal, &vectors, m->n_targets, err))
		return false;
	bool ok = check_target(m, &moments, err)
		&& al_regression_errors(&moments, m->principal.layer.width, m->errors, err);
	al_target_moments_finish(&moments);
	return ok;
}

/* Of all features, for --train deacon: no larger than those of the components that are kept need
 * be, or no larger than they may be. */
static bool moments_fit(const struct pca_module *m)
{
	const size_t n = m->principal.layer.n_features;

	return n == m->n_kept || n * m->principal.layer.width <= MOST_COLUMNS;
}

static bool fit_target(struct pca_module *m, const struct al_head_outputs *outputs,
	struct al_error *err)
{
	const size_t n = m->principal.layer.n_features;

	m->errors = al_new_array(&m->session->arena, double, n + 1);
	for (size_t i = 0; i <= n; i++)
		m->errors[i] = NAN;
	return find_errors(m, outputs, err)
		&& (m->options->training.rule != PCA_DEACON || !moments_fit(m)
			|| al_target_moments_find(&m->moments, outputs, &m->principal, NULL,
				m->n_targets, err));
}

/* The layer goes into the model with its weights, where the fit of its output says something. */
static bool put_in_place(const struct pca_module *m, const struct al_head_outputs *outputs,
	struct al_view weights, struct al_error *err)
{
	return !m->in_place || !pca_target_is_fitted(m, m->n_kept)
		|| al_in_place_init(&m->in_place[m->architecture], outputs, &m->principal, weights,
			m->n_targets, err);
}

/* The weights that are trained, or the exact ones, and how alike their components are. */
static bool take_weights(const struct pca_module *m, const struct al_head_outputs *outputs,
	struct pca_tables *tables, struct al_error *err)
{
	const char *architecture = al_architecture_names[m->architecture];
	struct al_matrix weights;

	if (!al_matrix_init(&weights, m->principal.layer.n_features, m->n_kept, err))
		return false;
	bool ok = m->options->training.rule >= 0
		? pca_train(m, outputs, tables->of[PCA_TRAINING], weights, err)
		: al_copy(al_columns(al_view(m->principal.vectors), 0, m->n_kept), weights, err);
	if (ok) {
		pca_weights_add(tables, m->name, architecture, m->label, al_view(weights));
		pca_save_add(tables, m, al_view(weights));
	}
	ok = ok && put_in_place(m, outputs, al_view(weights), err);
	al_matrix_finish(&weights);
	return ok;
}

/* "Direct-8" */
static const char *make_label(const struct pca_module *m)
{
	char *label = al_format(&m->session->arena, "%s-%zu",
		m->architecture == AL_NONLINEAR ? "Non-Linear"
						: al_architecture_names[m->architecture],
		m->n_kept);

	label[0] = (char)toupper((unsigned char)label[0]);
	return label;
}

static bool find_components(struct pca_module *m, const struct pca_subject *subject,
	const struct al_head_outputs *outputs, struct al_error *err)
{
	struct al_pca_options options = {.architecture = m->architecture,
		.n_heads = m->n_heads,
		.d_head = subject->width / m->n_heads,
		.is_strict = m->options->is_strict};

	return pca_read_real("epsilon", m->options->epsilon, 0, 0, 1e300, &options.epsilon, err)
		&& (subject->moments ? al_principal_of_moments(&m->principal, subject->moments,
			    &options, err)
				     : al_principal_find(&m->principal, outputs, &options, err));
}

static bool take(struct pca_module *m, const struct pca_subject *subject, struct pca_tables *tables,
	struct al_error *err)
{
	struct al_head_outputs heads = {0};

	if (subject->rows)
		heads = al_head_outputs_of_file(subject->rows);
	if (!find_components(m, subject, &heads, err))
		return false;
	bool ok = find_kept(m, m->principal.layer.n_features, err);
	m->label = make_label(m);
	ok = ok && (m->n_targets == 0 || fit_target(m, &heads, err));
	if (ok)
		pca_tables_add(tables, m);
	ok = ok && take_weights(m, &heads, tables, err);
	al_target_moments_finish(&m->moments);
	al_principal_finish(&m->principal);
	return ok;
}

bool pca_take_module(struct pca_source *source, const struct pca_subject *subject,
	struct al_error *err)
{
	const struct pca_options *o = source->session->options;
	const uint64_t wanted = o->architectures ? o->architectures : UINT64_C(1) << AL_DIRECT;
	bool ok = true;

	pca_figures_begin(&source->tables, o);
	for (int a = 0; ok && a < AL_N_ARCHITECTURES; a++) {
		struct pca_module module = {.session = source->session,
			.options = o,
			.name = subject->name,
			.n_heads = subject->n_heads,
			.architecture = (enum al_pca_architecture)a,
			.n_targets = subject->rows ? subject->rows[1].width : 0,
			.in_place = subject->in_place};
		if (wanted >> a & 1)
			ok = take(&module, subject, &source->tables, err);
	}
	return pca_figures_end(&source->tables, source->session, subject->name, ok, err);
}
