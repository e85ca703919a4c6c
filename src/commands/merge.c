/* merge: calibrations of one model, added up. */
#include <unistd.h>

#include "commands/calibration.h"

static const struct al_option_group groups[] = {{al_format_rows, 0},
	{al_calibration_folder_rows, 0}, {al_display_rows, 0}, {NULL, 0}};

static bool add_others(const struct al_session *session, struct al_calibration *sum,
	struct al_error *err)
{
	for (size_t i = 1; al_session_word(session, i); i++) {
		struct al_calibration other;
		if (!al_calibration_read(&other, al_session_word(session, i), err))
			return false;
		bool ok = al_calibration_add(sum, &other, err);
		al_calibration_finish(&other);
		if (!ok)
			return false;
	}
	return true;
}

static bool run_merge(struct al_session *session, struct al_error *err)
{
	const char *folder = ((const struct al_calibration_options *)session->options)->folder;
	struct al_calibration sum;
	bool is_new = false;

	if (!folder)
		return al_fail(err, AL_EINPUT, "expected -o DIR, the folder to write to");
	if (!al_calibration_read(&sum, al_session_word(session, 0), err))
		return false;
	bool ok = add_others(session, &sum, err)
		&& al_calibration_folder_make(folder, &is_new, err);
	if (ok) {
		al_calibration_add_table(session, &sum, folder);
		ok = al_calibration_put(session, &sum, folder, err);
	}
	if (!ok && is_new)
		(void)rmdir(folder);
	al_calibration_finish(&sum);
	return ok;
}

const struct al_command al_command_merge = {
	.words = "DIR DIR...",
	.examples = {"merge monday/ tuesday/ -o both/", "merge part-*/ -o all/ -f csv"},
	.options = groups,
	.options_size = sizeof(struct al_calibration_options),
	.least_words = 2,
	.most_words = 1000,
	.computes = false,
	.run = run_merge,
};
