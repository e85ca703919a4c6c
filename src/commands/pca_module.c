/* pca: one attention module, whoever has its head outputs: exact components, training, and what is
 * left of a target. */
#include "commands/pca.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Of the second moments that a target is fitted by: 19 MB. */
enum { MOST_COLUMNS = 1536 };

static bool find_kept(struct pca_module *m, struct al_error *err)
{
	const size_t n_features = m->principal.layer.n_features;
	const int64_t keep = m->pca->options->keep;

	m->n_kept = keep ? (size_t)keep : m->n_heads;
	return m->n_kept <= n_features
		|| al_fail(err, AL_EINPUT,
			"--keep %zu: the %s architecture has %zu components of %zu heads",
			m->n_kept, al_architecture_names[m->architecture], n_features, m->n_heads);
}

/* So many components as fit into memory with their second moments, at least those that are kept. */
static size_t count_fitted(const struct pca_module *m)
{
	const size_t n = m->principal.layer.n_features,
		     room = MOST_COLUMNS / m->principal.layer.width;

	return room >= n ? n : room > m->n_kept ? room : m->n_kept;
}

static bool fit_target(struct pca_module *m, struct al_error *err)
{
	const size_t n = m->principal.layer.n_features;
	const struct al_view vectors = al_columns(al_view(m->principal.vectors), 0,
		count_fitted(m));
	struct al_target_moments moments;

	m->errors = al_new_array(&m->pca->session->arena, double, n + 1);
	for (size_t i = 0; i <= n; i++)
		m->errors[i] = NAN;
	if (!al_target_moments_find(&moments, m->rows, &m->principal, &vectors, err))
		return false;
	m->n_left_out = moments.n_left_out;
	bool ok = al_regression_errors(&moments, m->principal.layer.width, m->errors, err);
	al_target_moments_finish(&moments);
	return ok;
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
	pca->saved = al_grow(arena, pca->saved, pca->n_saved, &pca->saved_room,
		sizeof(*pca->saved));
	pca->numbers = al_grow(arena, pca->numbers, pca->n_saved, &pca->numbers_room,
		sizeof(*pca->numbers));
	pca->numbers[pca->n_saved] = numbers;
	pca->saved[pca->n_saved++] =
		(struct al_tensor){.name = al_format(arena, "%s.%s.W_PCA", m->name,
					   al_architecture_names[m->architecture]),
			.dtype = al_dtype_stored("F64"),
			.shape = shape,
			.n_dims = 2};
}

/* The weights that are trained, or the exact ones: how alike their components are; and the layer
 * in the model, where the fit of its output says something. */
static bool take_weights(const struct pca_module *m, struct al_error *err)
{
	const struct al_view vectors = al_view(m->principal.vectors);
	struct al_matrix weights;
	AL_SCRATCH(scratch);

	if (!al_take(&scratch, &weights, m->principal.layer.n_features, m->n_kept, err)
		|| !(m->pca->options->rule >= 0
				? pca_train(m, weights, err)
				: al_copy(al_columns(vectors, 0, m->n_kept), weights, err)))
		return false;
	pca_weights_add(m->pca, m->name, al_architecture_names[m->architecture], m->label,
		al_view(weights));
	if (m->pca->options->saved)
		keep_weights(m, al_view(weights));
	return !m->in_place || !pca_target_is_fitted(m, m->n_kept)
		|| al_in_place_init(&m->in_place[m->architecture], m->rows, &m->principal,
			al_view(weights), err);
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

	if (!pca_read_real("epsilon", m->pca->options->epsilon, 0, 0, &options.epsilon, err))
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
		pca_tables_add(m);
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
