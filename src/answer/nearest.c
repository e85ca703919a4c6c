/* Each head's nearest one of its module. */
#include "answer/nearest.h"

#include "audit/likeness.h"
#include "audit/pairs.h"

/* far [n_heads][n_heads] */
static void choose(struct al_matrix far, size_t *nearest)
{
	for (size_t i = 0; i < far.cols; i++) {
		nearest[i] = i;
		for (size_t j = 0; j < far.rows; j++)
			if (j != i
				&& (nearest[i] == i
					|| far.data[j + i * far.ld]
						< far.data[nearest[i] + i * far.ld]))
				nearest[i] = j;
	}
}

static bool by_weights(const struct al_model_view *view, const struct al_attention *attention,
	size_t *nearest, struct al_error *err)
{
	const struct al_audit_options options = {.seed = 1};
	const size_t n = (size_t)attention->n_heads;
	AL_SCRATCH(scratch);
	struct al_audit audit;
	struct al_audit_module module;
	struct al_pair_scores scores;
	struct al_matrix far;

	al_audit_init(&audit, view, &options);
	if (!al_audit_module_init(&module, &audit, attention, err)) {
		al_audit_finish(&audit);
		return al_in(err,
			"heads can't be compared by their weights (pass --calibration DIR)");
	}
	const bool ok = al_module_likeness(&scratch, &audit, &module, &scores, err)
		&& al_take(&scratch, &far, n, n, err);
	for (size_t i = 0; ok && i < n; i++)
		for (size_t j = 0; j < n; j++)
			for (int form = 0; form < AL_N_FORMS; form++) {
				const double cosine = al_pair_score(scores.likeness[form], i, j);
				far.data[i + j * far.ld] -= isnan(cosine) ? 0 : cosine;
			}
	if (ok)
		choose(far, nearest);
	al_audit_module_finish(&module);
	al_audit_finish(&audit);
	return ok;
}

static bool by_data(const struct al_module_statistics *statistics, size_t *nearest,
	struct al_error *err)
{
	const size_t n = al_statistics_heads(statistics);
	AL_SCRATCH(scratch);
	struct al_alike_head *alike = al_take_array(&scratch, n, sizeof(*alike), err);

	if (!alike || !al_heads_alike(statistics, alike, err))
		return false;
	for (size_t i = 0; i < n; i++)
		nearest[i] = n > 1 ? (size_t)alike[i].head : i;
	return true;
}

bool al_nearest_heads(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_calibration *calibration, size_t *nearest, struct al_error *err)
{
	const struct al_module_statistics *statistics;

	if (!calibration)
		return by_weights(view, attention, nearest, err);
	return al_calibration_find(calibration, attention->name, &statistics, err)
		&& by_data(statistics, nearest, err);
}
