/* Moments of inputs and outputs, read one module at a time: of a large model all of them are more
 * than fits into memory. */
#include "model/calibration/calibration.h"

struct al_module_statistics *al_calibration_module(const struct al_calibration *calibration,
	const char *name, struct al_error *err)
{
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (strcmp(calibration->modules[i].name, name) == 0)
			return &calibration->modules[i];
	al_fail(err, AL_EINPUT, "%s: has no statistics of module %s", calibration->path, name);
	return NULL;
}

static bool check_squares(struct al_matrix m, struct al_error *err)
{
	for (size_t fold = 0; fold < m.cols; fold++)
		for (size_t i = 0, at = 0; at < m.rows; at += ++i + 1)
			if (m.data[at + fold * m.ld] < 0)
				return al_fail(err, AL_EINPUT,
					"[%zu, %zu] of fold %zu is %g, a sum of squares", i, i,
					fold, m.data[at + fold * m.ld]);
	return true;
}

bool al_statistic_read(const struct al_checkpoint *file, const struct al_tensor *tensor,
	enum al_statistic_kind kind, struct al_matrix *out, struct al_error *err)
{
	return (al_matrix_init(out, (size_t)tensor->shape[1], (size_t)tensor->shape[0], err)
		       && al_tensor_read_finite(file, tensor, out->data, err)
		       && (!al_statistics[kind].is_square || check_squares(*out, err)))
		|| al_in(err, "tensor %s", tensor->name);
}

static bool add_part(const struct al_calibration_part *part, const char *module,
	enum al_statistic_kind kind, struct al_matrix sum, struct al_error *err)
{
	AL_TEXT(name);
	AL_OWNED struct al_matrix own = {0};

	al_text_addf(&name, "%s.%s", module, al_statistics[kind].name);
	if (!al_statistic_read(part->file, al_checkpoint_find(part->file, name.data), kind, &own,
		    err))
		return false;
	al_folds_add(sum, own, part->first, part->n_folds);
	return true;
}

/* What a file gives to both moments. */
static bool add_file(const struct al_calibration_part *part, struct al_module_statistics *module,
	struct al_error *err)
{
	for (int kind = 0; kind < AL_N_LARGE; kind++)
		if (!add_part(part, module->name, (enum al_statistic_kind)kind, module->of[kind],
			    err))
			return al_in(err, "%s", part->file->path);
	return al_statistics_check(module, err)
		|| al_in(err, "%s: %s%s", part->file->path, module->name,
			part->first > 0 ? ": with it" : "");
}

static bool read_moments(const struct al_calibration *calibration,
	struct al_module_statistics *module, struct al_error *err)
{
	for (int kind = 0; kind < AL_N_LARGE; kind++)
		if (!al_matrix_init(&module->of[kind],
			    al_statistics_length(module, (enum al_statistic_kind)kind),
			    calibration->n_folds, err))
			return false;
	for (size_t part = 0; part < calibration->n_parts; part++)
		if (!add_file(&calibration->parts[part], module, err))
			return false;
	return true;
}

void al_statistics_drop_moments(struct al_module_statistics *module)
{
	for (int kind = 0; kind < AL_N_LARGE; kind++)
		al_matrix_finish(&module->of[kind]);
}

bool al_calibration_find(const struct al_calibration *calibration, const char *name,
	const struct al_module_statistics **out, struct al_error *err)
{
	struct al_module_statistics *module = al_calibration_module(calibration, name, err);

	*out = module;
	if (!module || calibration->n_parts == 0 || module->of[0].data)
		return module;
	for (size_t i = 0; i < calibration->n_modules; i++)
		al_statistics_drop_moments(&calibration->modules[i]);
	if (read_moments(calibration, module, err))
		return true;
	al_statistics_drop_moments(module);
	return false;
}
