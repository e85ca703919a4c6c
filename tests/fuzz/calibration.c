/* A calibration: sums of finite numbers by module, or a refusal in one line that names the file. */
#include "model/calibration/calibration.h"
#include "fuzz.h"
#include "support/folder.h"
#include "model/heads/views.h"

static struct test_folder folder;
static char path[256];

static void end(void)
{
	test_folder_remove(&folder);
}

static void check_refusal(const struct al_error *err)
{
	FUZZ_CHECK(err->status == AL_EINPUT || err->status == AL_ENOTFINITE
		|| err->status == AL_EFORMAT);
	FUZZ_CHECK(!strchr(err->message, '\n'));
	FUZZ_CHECK(strncmp(err->message, path, strlen(path)) == 0);
}

static void visit(const struct al_calibration *calibration)
{
	FUZZ_CHECK(calibration->n_modules > 0);
	for (size_t i = 0; i < calibration->n_modules; i++) {
		const struct al_module_statistics *module = &calibration->modules[i], *found;
		struct al_error err = {0};
		FUZZ_CHECK(al_statistics_tokens(module) >= 1 && al_statistics_heads(module) >= 1);
		if (!al_calibration_find(calibration, module->name, &found, &err)) {
			check_refusal(&err);
			continue;
		}
		for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
			AL_OWNED struct al_matrix sum = {0};
			if (!al_calibration_has(calibration, (enum al_statistic_kind)kind))
				continue;
			FUZZ_CHECK(found->of[kind].cols == calibration->n_folds);
			FUZZ_CHECK(al_statistics_sum(found, (enum al_statistic_kind)kind,
				AL_ALL_FOLDS, &sum, &err));
			FUZZ_CHECK(al_matrix_count_not_finite(al_view(sum)) == 0);
		}
	}
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_calibration calibration;
	struct al_error err = {0};

	if (!folder.path[0]) {
		test_folder_make(&folder);
		atexit(end);
		test_path(path, &folder, "calibration.safetensors");
	}
	test_write(path, data, size);
	if (!al_calibration_read(&calibration, path, &err)) {
		check_refusal(&err);
		return 0;
	}
	visit(&calibration);
	al_calibration_finish(&calibration);
	return 0;
}
