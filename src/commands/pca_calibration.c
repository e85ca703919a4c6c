/* pca --calibration DIR: what a calibration has added up over tokens says of the direct and the
 * average architecture all that exact components ask; of targets, losses and patterns it says
 * nothing. */
#include "commands/pca.h"

#include "audit/select.h"
#include "model/calibration/calibration.h"

static bool take_module(struct pca_source *source, const struct al_module_statistics *module,
	struct al_error *err)
{
	const struct al_matrix products = module->of[AL_STATISTIC_HEADS];
	const struct al_head_moments moments = {.products = al_view(products),
		.sums = module->of[AL_STATISTIC_SUMS].data,
		.n_tokens = (int64_t)al_statistics_tokens(module)};

	return pca_take_module(source,
		       &(struct pca_subject){.name = module->name,
			       .n_heads = al_statistics_heads(module),
			       .width = products.rows,
			       .moments = &moments},
		       err)
		|| al_in(err, "%s", module->name);
}

static bool take_all(struct pca_source *source, const struct al_calibration *calibration,
	struct al_error *err)
{
	const char *patterns = ((const struct pca_options *)source->session->options)->modules;
	size_t n = 0;

	for (size_t i = 0; i < calibration->n_modules; i++) {
		if (patterns && !al_select_module(patterns, calibration->modules[i].name))
			continue;
		if (!take_module(source, &calibration->modules[i], err))
			return false;
		n++;
	}
	return n > 0
		|| al_fail(err, AL_EINPUT, "has no module of --modules %s",
			patterns ? patterns : "");
}

bool pca_run_calibration(struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	struct pca_source source = {.session = session};
	struct al_calibration calibration;

	if (!al_calibration_read(&calibration, o->calibration, err))
		return false;
	bool ok = pca_tables_begin(&source.tables, session, false, err)
		&& (take_all(&source, &calibration, err) || al_in(err, "%s", calibration.path));
	if (ok) {
		al_table_note(session->tables[0], "calibration: %s, %.0f tokens in %zu sequences",
			calibration.path, al_statistics_tokens(&calibration.modules[0]),
			calibration.n_sequences);
		pca_note_options(session);
		ok = pca_save(&source.tables, session, err);
	}
	al_calibration_finish(&calibration);
	return ok;
}
