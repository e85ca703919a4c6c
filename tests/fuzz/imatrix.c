/* An importance matrix, of either form: mean squares of one weight, or a refusal that names the
 * file. */
#include <math.h>

#include "model/calibration/imatrix.h"
#include "fuzz.h"
#include "support/folder.h"

static struct test_folder folder;
static char path[256];

static void end(void)
{
	test_folder_remove(&folder);
}

static void check_refusal(const struct al_error *err)
{
	FUZZ_CHECK(err->status == AL_EINPUT && strncmp(err->message, path, strlen(path)) == 0);
}

static void visit(const struct al_imatrix *imatrix, const struct al_imatrix_entry *entry)
{
	struct al_tensor tensor = {.name = entry->name};
	struct al_factor_run run = {.tensor = &tensor};
	const struct al_attention module = {
		.factors[AL_KEY] = {.runs = &run, .n_runs = 1, .rows = entry->width}};
	struct al_diagonal d;
	struct al_error err = {0};

	if (!al_imatrix_read(imatrix, &module, AL_KEY, &d, &err)) {
		check_refusal(&err);
		return;
	}
	for (size_t i = 0; i < d.n; i++)
		FUZZ_CHECK(d.squares[i] >= 0 && isfinite(d.squares[i]));
	al_diagonal_finish(&d);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_imatrix imatrix;
	struct al_error err = {0};

	if (!folder.path[0]) {
		test_folder_make(&folder);
		atexit(end);
		test_path(path, &folder, "m.imatrix");
	}
	test_write(path, data, size);
	if (!al_imatrix_open(&imatrix, path, &err)) {
		check_refusal(&err);
		return 0;
	}
	for (size_t i = 0; i < imatrix.n_entries && i < 100; i++)
		visit(&imatrix, &imatrix.entries[i]);
	al_imatrix_finish(&imatrix);
	return 0;
}
