/* merge: what several processes recorded or measured, put together: calibrations of one model, or
 * the parts of an audit. */
#include <errno.h>

#include "base/file.h"
#include "answer/audit_run.h"
#include "answer/calibration.h"

struct merge_options {
	struct al_output_options output;
	const char *target; /* a folder or the answer's file */
	const char *checkpoint; /* where an audit's is now */
	struct al_audit_asked audit; /* what it writes */
};

static const struct al_option_row target_rows[] = {
	OPTION_TEXT(struct merge_options, target, "output", "DIR|FILE",
		"calibrations: folder for calibration.safetensors; audit: file for the result",
		.letter = 'o'),
	OPTION_END,
};

static const struct al_option_row audit_rows[] = {
	OPTION_TEXT(struct merge_options, checkpoint, "checkpoint", "PATH",
		"audit: path of the checkpoint, if it has moved"),
	OPTION_TEXT(struct merge_options, audit.tables, "tables", "DIR",
		"audit: write tables to DIR; the shards need --tables, too"),
	OPTION_TEXT(struct merge_options, audit.figures, "figures", "DIR",
		"audit: write figures to DIR; the shards need --figures, too"),
	AL_DRAWING_WIDTH_ROW(struct merge_options, audit.width),
	OPTION_TEXT(struct merge_options, audit.report, "report", "FILE.html",
		"audit: write an HTML page; the shards need --report, too"),
	OPTION_END,
};

static const struct al_option_group groups[] = {{al_format_rows, 0}, {target_rows, 0},
	{audit_rows, 0}, {al_display_rows, 0}, {al_only_rows, 0}, {NULL, 0}};

/* ---- calibrations ---- */

static bool add_others(const struct al_session *session, struct al_calibration *sum,
	struct al_error *err)
{
	for (size_t i = 1; al_session_word(session, i); i++) {
		AL_ENDS(al_calibration_finish) struct al_calibration other = {0};
		if (!al_calibration_read(&other, al_session_word(session, i), err)
			|| !al_calibration_add(sum, &other, err))
			return false;
	}
	return true;
}

static bool check_calibrations(const struct al_session *session, struct al_error *err)
{
	const struct merge_options *o = session->options;
	const char *name = al_command_line_first_of(&session->line, audit_rows);
	const char *first = al_session_word(session, 0);

	if (name)
		return al_fail(err, AL_EINPUT,
			"--%s is only for shards of an audit; %s contains none", name, first);
	if (al_path_kind(first) == AL_PATH_NONE)
		return al_fail(err, AL_EINPUT, "%s: can't open: %s", first, strerror(errno));
	if (!al_session_word(session, 1))
		return al_fail(err, AL_EINPUT,
			"%s: contains no shard of an audit (shard-I-of-N.json); to merge "
			"calibrations give at least two",
			first);
	return o->target || al_fail(err, AL_EINPUT, "pass -o DIR, the folder to write to");
}

static bool merge_calibrations(struct al_session *session, struct al_error *err)
{
	const char *folder = ((const struct merge_options *)session->options)->target;

	if (!check_calibrations(session, err))
		return false;
	struct al_calibration *sum = al_session_calibration(session, al_session_word(session, 0),
		NULL, err);
	const char *path = sum && add_others(session, sum, err)
		? al_calibration_folder_make(session, folder, err)
		: NULL;

	return path && al_calibration_add_table(session, sum, folder, err)
		&& al_calibration_write(sum, path, err);
}

/* ---- the command ---- */

static bool holds_audit(struct al_session *session)
{
	for (size_t i = 0; al_session_word(session, i); i++)
		if (al_shard_manifests(&session->arena, al_session_word(session, i)).n > 0)
			return true;
	return false;
}

static bool run_merge(struct al_session *session, struct al_error *err)
{
	const struct merge_options *o = session->options;

	if (!holds_audit(session))
		return merge_calibrations(session, err);
	return (!o->target || al_session_answer_to(session, o->target, err))
		&& al_merge_audit(session, &o->audit, o->checkpoint, err);
}

const struct al_command al_command_merge = {
	.words = "DIR...",
	.examples = {"merge monday/ tuesday/ -o both/", "merge parts/ --tables out -o audit.json"},
	.options = groups,
	.options_size = sizeof(struct merge_options),
	.run = run_merge,
};
