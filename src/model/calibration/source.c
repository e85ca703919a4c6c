/* Of which checkpoint a calibration is: of all its tensors, or of those of some modules. */
#include "model/calibration/calibration.h"

static bool check_source(const struct al_calibration *calibration, uint64_t recorded, uint64_t here,
	const char *path, struct al_error *err)
{
	return here == recorded
		|| al_fail(err, AL_EINPUT,
			"%s: belongs to a different model than %s, or was recorded by an older "
			"version: run `calibrate` again",
			calibration->path, path);
}

static bool check_whole(const struct al_calibration *calibration,
	const struct al_checkpoint *checkpoint, struct al_error *err)
{
	uint64_t source;

	return al_checkpoint_hash(checkpoint, NULL, &source, err)
		&& check_source(calibration, calibration->source, source, checkpoint->path, err);
}

bool al_module_fingerprint(const struct al_checkpoint *checkpoint,
	const struct al_attention *module, uint64_t *out, struct al_error *err)
{
	AL_FREED bool *is_read = al_calloc(checkpoint->n_tensors + 1, sizeof(*is_read));

	al_attention_mark_tensors(checkpoint, module, true, is_read);
	return al_checkpoint_hash(checkpoint, is_read, out, err);
}

/* Modules that the calibration lacks are refused when their statistics are asked for. */
static bool check_some(const struct al_calibration *calibration,
	const struct al_checkpoint *checkpoint, const struct al_attention *const *modules, size_t n,
	struct al_error *err)
{
	uint64_t source;

	for (size_t i = 0; i < n; i++) {
		const struct al_module_statistics *recorded = AL_FIND(calibration->modules,
			calibration->n_modules, modules[i]->name);
		if (recorded && !recorded->source)
			return check_whole(calibration, checkpoint, err);
		if (recorded
			&& (!al_module_fingerprint(checkpoint, modules[i], &source, err)
				|| !check_source(calibration, recorded->source, source,
					checkpoint->path, err)))
			return false;
	}
	return true;
}

bool al_calibration_read_for(struct al_calibration *calibration, const char *path,
	const struct al_checkpoint *checkpoint, const struct al_attention *const *modules, size_t n,
	struct al_error *err)
{
	if (!al_calibration_read(calibration, path, err))
		return false;
	if (modules ? check_some(calibration, checkpoint, modules, n, err)
		    : check_whole(calibration, checkpoint, err))
		return true;
	al_calibration_finish(calibration);
	return false;
}
