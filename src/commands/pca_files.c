/* pca FILE: head outputs as files hold them; --weights: the weights of PCA layers; --calibration:
 * what was added up over tokens, which says of the direct and the average architecture all that
 * exact components ask, and of targets, losses and patterns nothing. */
#include "commands/pca.h"

#include <string.h>

#include "audit/select.h"
#include "commands/calibration.h"
#include "formats/finite.h"

static bool is_chosen(const struct pca *pca, const char *name)
{
	return !pca->options->modules || al_select_module(pca->options->modules, name);
}

/* ---- tensors of files ---- */

struct files {
	struct pca *pca;
	struct al_checkpoint *outputs, *target; /* target: NULL where there is none */
};

/* The target of that name; one tensor alone goes with one alone. */
static bool find_target(const struct files *f, struct al_rows rows[2], struct al_error *err)
{
	const struct al_checkpoint *file = f->target;
	const char *name = rows[0].tensor->name;
	const struct al_tensor *tensor = file->n_tensors == 1 && f->outputs->n_tensors == 1
		? &file->tensors[0]
		: al_checkpoint_find(file, name);

	if (!tensor)
		return al_fail(err, AL_EINPUT, "%s: has no tensor \"%.120s\"", file->path, name);
	if (!al_rows_of(&rows[1], file, tensor, err))
		return al_in(err, "%s", file->path);
	return rows[1].n_rows == rows[0].n_rows
		|| al_fail(err, AL_EINPUT,
			"%s: found %zu tokens, expected as many as the heads' %zu", file->path,
			rows[1].n_rows, rows[0].n_rows);
}

static bool take_outputs(struct files *f, const struct al_tensor *tensor, struct al_error *err)
{
	const size_t n_heads = (size_t)f->pca->options->n_heads;
	struct al_rows rows[2] = {{0}};

	if (!al_rows_of(&rows[0], f->outputs, tensor, err))
		return false;
	if (rows[0].width == 0 || rows[0].width % n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": %zu numbers a token are no whole number a head "
			"(--heads %zu)",
			tensor->name, rows[0].width, n_heads);
	if (f->target && !find_target(f, rows, err))
		return false;
	struct pca_module module = {.pca = f->pca,
		.name = tensor->name,
		.n_heads = n_heads,
		.width = rows[0].width,
		.rows = rows};
	return pca_take_module(&module, err)
		|| (f->outputs->n_tensors > 1 && al_in(err, "tensor \"%.120s\"", tensor->name));
}

/* Weights [m][n], no more components than features. */
static bool take_weights(struct files *f, const struct al_tensor *tensor, struct al_error *err)
{
	struct al_rows rows;
	struct al_matrix w;
	AL_SCRATCH(scratch);

	if (!al_rows_of(&rows, f->outputs, tensor, err))
		return false;
	if (rows.n_rows > rows.width || rows.n_rows == 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found %zu components of %zu features, expected no more "
			"components than features",
			tensor->name, rows.n_rows, rows.width);
	if (!al_take(&scratch, &w, rows.width, rows.n_rows, err)
		|| !al_rows_read(&rows, 0, rows.n_rows, w.data, rows.width, err)
		|| !al_check_not_finite(al_matrix_count_not_finite(al_view(w)), tensor->n_elements,
			tensor->name, err))
		return false;
	pca_figures_begin(f->pca);
	pca_weights_add(f->pca, tensor->name, NULL, tensor->name, al_view(w));
	return pca_figures_end(f->pca, tensor->name, true, err);
}

static bool take_tensors(struct files *f, struct al_error *err)
{
	const struct al_checkpoint *file = f->outputs;
	const char *patterns = f->pca->options->modules;
	size_t n = 0;

	for (size_t i = 0; i < file->n_tensors; i++) {
		const struct al_tensor *tensor = &file->tensors[i];
		if (!is_chosen(f->pca, tensor->name))
			continue;
		n++;
		al_progress_show(f->pca->progress, tensor->name, i, file->n_tensors);
		if (f->pca->options->weights ? take_weights(f, tensor, err)
					     : take_outputs(f, tensor, err))
			continue;
		if (file->n_tensors > 1 && !patterns)
			al_in(err, "without --modules all %zu tensors are taken", file->n_tensors);
		return al_in(err, "%s", file->path);
	}
	return n > 0
		|| al_fail(err, AL_EINPUT, "%s: has no tensor%s%s", file->path,
			patterns ? " of --modules " : "", patterns ? patterns : "");
}

static bool take_files(struct files *f, struct al_error *err)
{
	const struct pca_options *o = f->pca->options;

	f->pca->progress->whole = f->outputs->path;
	if (!pca_tables_begin(f->pca, false, err) || !take_tensors(f, err)
		|| !al_checkpoint_check_unchanged(f->outputs, err)
		|| (f->target && !al_checkpoint_check_unchanged(f->target, err)))
		return false;
	struct al_table *table = f->pca->session->tables[0];
	al_checkpoint_note(table, f->outputs);
	if (f->target)
		al_checkpoint_note(table, f->target);
	if (o->weights)
		al_table_note(table, "a component: a row");
	return true;
}

bool pca_run_files(struct pca *pca, struct al_error *err)
{
	const struct pca_options *o = pca->options;
	const char *path = o->weights ? o->weights : al_session_word(pca->session, 0);
	struct files f = {.pca = pca, .outputs = al_session_file(pca->session, path, err)};

	if (f.outputs && o->target)
		f.target = al_session_file(pca->session, o->target, err);
	return f.outputs && (f.target || !o->target) && take_files(&f, err);
}

/* ---- modules of a calibration ---- */

static bool take_statistics(struct pca *pca, const struct al_module_statistics *statistics,
	struct al_error *err)
{
	const struct al_matrix products = statistics->of[AL_STATISTIC_HEADS];
	const struct al_head_moments moments = {.products = al_view(products),
		.sums = statistics->of[AL_STATISTIC_SUMS].data,
		.n_tokens = (int64_t)al_statistics_tokens(statistics)};
	struct pca_module module = {.pca = pca,
		.name = statistics->name,
		.n_heads = al_statistics_heads(statistics),
		.width = products.rows,
		.moments = &moments};

	return pca_take_module(&module, err) || al_in(err, "%s", statistics->name);
}

static bool take_calibration(struct pca *pca, const struct al_calibration *calibration,
	struct al_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < calibration->n_modules; i++) {
		if (!is_chosen(pca, calibration->modules[i].name))
			continue;
		n++;
		if (!take_statistics(pca, &calibration->modules[i], err))
			return al_in(err, "%s", calibration->path);
	}
	if (n == 0)
		return al_fail(err, AL_EINPUT, "%s: has no module of --modules %s",
			calibration->path, pca->options->modules);
	al_table_note(pca->session->tables[0], "calibration: %s, %.0f tokens in %zu sequences",
		calibration->path, al_statistics_tokens(&calibration->modules[0]),
		calibration->n_sequences);
	return true;
}

bool pca_run_calibration(struct pca *pca, struct al_error *err)
{
	const struct al_calibration *calibration = al_session_calibration(pca->session,
		pca->options->calibration, NULL, err);

	return calibration && pca_tables_begin(pca, false, err)
		&& take_calibration(pca, calibration, err);
}
