/* An audit as `audit` runs it: by one process, by one of several, or merged from what several
 * measured. The measuring code fills the tables and describes the measurement; the rest is
 * shared. */
#pragma once

#include "audit/matrices.h"
#include "audit/measurement.h"
#include "answer/checkpoint.h"
#include "answer/input.h"
#include "answer/progress.h"
#include "report/page/audit.h"

/* How wide figures are: a page's text, or a column of two. */
enum al_drawing_width { AL_DRAWN_PAGE, AL_DRAWN_COLUMN, AL_N_DRAWING_WIDTHS };
extern const char *const al_drawing_width_names[AL_N_DRAWING_WIDTHS];

/* The option of commands that draw them: an int in their struct of options. */
#define AL_DRAWING_WIDTH_ROW(type, at) \
	OPTION_CHOICE(type, at, "width", "page|column", \
		"draw figures for the width of a page (default) or of one of two columns", \
		.words = al_drawing_width_names, .n_words = AL_N_DRAWING_WIDTHS)

struct al_audit_asked {
	struct al_output_options output;
	struct al_layout_options layout;
	const char *against, *tables, *figures, *report, *calibration;
	int width; /* enum al_drawing_width */
	const char *shard, *fragment; /* a part of the audit, for `merge` */
	int64_t n_nulls, n_pairs, offset, seed;
	bool is_centered, folds_norms, is_across;
	uint64_t only; /* a bit for each of al_measurements */
	uint64_t ablated; /* not 0: heads */
	struct al_input_options input; /* what conversions are measured on */
};

/* The options that shape tables, of that struct; and of these the rows of the audit alone. */
extern const struct al_option_group al_audit_shaping[];
extern const struct al_option_row al_audit_shaping_rows[];
extern const struct al_option_row al_audit_file_rows[]; /* of more files, and of what is in them */
extern const struct al_option_row al_audit_ablation_rows[];

struct al_audit_run {
	struct al_session *session;
	const struct al_audit_asked *options;
	struct al_opened_checkpoint *opened;
	struct al_covariance covariance;
	bool has_outputs; /* a calibration has the heads' outputs */
	struct al_needs needs;
	struct al_audit audit;
	struct al_table **tables; /* in addition to al_measurements; NULL: not wanted */
	struct al_table summary;
	struct al_table totals; /* of conversions, over all modules; without columns: none */
	struct al_table across, against, losses, frontier; /* without columns: not asked for */
	const char *ablation; /* a claim on the loss without each head; NULL: not measured */
	const char **frontier_options; /* of compress, for each row of `frontier` */
	struct al_progress *progress;
	struct al_watch watch; /* of a module's steps */
	const char *module; /* that is measured */
	size_t n_done, n_steps; /* modules */
	const struct al_attention **chosen; /* by --modules */
	size_t n_chosen;
	const struct al_attention **measured;
	size_t n_measured, n_handed_on;
	struct al_page_left_out *left_out; /* modules that weren't measured, and why */
	size_t n_left_out, room;
	int64_t *not_finite; /* of each tensor, how many of its numbers */
	uint64_t fingerprint; /* of the headers and, with --modules, of what these are of, else of
				 all numbers */
	const char *kernel, *kernel_note; /* of BLAS; NULL: no reason to give */
	al_matrices_taker *take_matrix; /* of --tables */
	void *taker;
};

/* Opens the checkpoint and begins the tables; it is gone when the command has run. NULL: failed. */
struct al_audit_run *al_audit_run_begin(struct al_session *session,
	const struct al_audit_asked *options, const char *path, const char *config,
	struct al_error *err) AL_MUST_CHECK;

/* Begins the tables anew, without rows; ends those that there are. */
void al_audit_run_begin_tables(struct al_audit_run *run);
void al_audit_run_end_tables(struct al_audit_run *run);

/* Adds the module's rows to the tables. One whose weights aren't finite is left out, which isn't a
 * failure. */
bool al_audit_run_measure(struct al_audit_run *run, const struct al_attention *attention,
	struct al_error *err) AL_MUST_CHECK;

/* Begins the table of a measurement anew, without rows. */
void al_audit_run_begin_table(struct al_audit_run *run, size_t measurement);

/* Once the rows of another module are there: those that a file of --tables alone gets are put
 * aside, so that they take no memory. */
bool al_audit_run_hand_on(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;

/* That a module was measured, or why it wasn't. */
void al_audit_run_add_measured(struct al_audit_run *run, const struct al_attention *attention);
void al_audit_run_add_left_out(struct al_audit_run *run, const struct al_attention *attention,
	const char *why);

/* Fails where all were left out. */
bool al_audit_run_check_modules(const struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;

/* Counts the numbers of tensors that aren't finite; in a part of an audit of those alone that are
 * its own (NULL: of all). */
bool al_audit_run_count_not_finite(const struct al_audit_run *run, const bool *is_own,
	struct al_error *err) AL_MUST_CHECK;

/* Finds the fingerprint. */
bool al_audit_run_hash(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;

/* The table of this measurement; NULL: it isn't wanted. */
struct al_table *al_audit_run_table(const struct al_audit_run *run, const char *id);

/* Finishes the tables, writes those of --tables, draws the figures of --figures, and takes what is
 * to be read into the session's answer. */
bool al_audit_run_answer(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;

/* audit_figures.c: adds to the files of --figures what the tables hold, as PDF, SVG and PNG: each
 * measurement lists the figures of its table. */
bool al_audit_figures_draw(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;

/* Does the answer hold this measurement's table? */
bool al_audit_run_shows(const struct al_audit_run *run, size_t measurement);

/* audit_verdict.c: a template of report/claim.h, or NULL; its sentences on a conversion that is
 * exact, on measured losses and on measured conversions, "" without any; the conversion that the
 * last names, and the key/value heads that the first leaves, 0 where it isn't their number that
 * falls; and the tiles of the page. */
const char *al_audit_verdict(const struct al_audit_run *run);
const char *al_audit_verdict_say_exact(const struct al_audit_run *run);
const char *al_audit_verdict_say_losses(const struct al_audit_run *run);
const char *al_audit_verdict_say_smallest(const struct al_audit_run *run);
bool al_audit_verdict_smallest(const struct al_table *frontier, size_t *row);
int64_t al_audit_verdict_exact_heads(const struct al_audit_run *run);
const char *al_audit_limit_text(struct al_arena *arena);
void al_audit_verdict_tiles(const struct al_audit_run *run, struct al_audit_page *page);

/* audit_removable.c: its sentences on copies and silent heads by weights, and on copies on tokens;
 * "" where it has none. */
const char *al_audit_verdict_say_removable(const struct al_audit_run *run);
const char *al_audit_verdict_say_copies(const struct al_audit_run *run);

/* "layer 4 head 9", or where layers have several modules "decoder.4.self head 9": of a row. */
const char *al_audit_head_text(const struct al_audit_run *run, const struct al_table *table,
	size_t row);

/* audit_advice.c: what could be done, on the page; and the commands that lead on. */
void al_audit_advise(const struct al_audit_run *run, struct al_audit_page *page);
void al_audit_next(const struct al_audit_run *run);

/* audit_report.c: the model as `compress` takes it: its path, --heads, --layout. */
const char *al_audit_model_words(const struct al_audit_run *run);

/* audit_report.c: the page of --report, where it is asked for. */
void al_audit_report_add(struct al_audit_run *run);

/* audit_against.c: fills `against`; and the sentence on it. */
bool al_audit_against(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;
const char *al_audit_against_say(const struct al_audit_run *run);

/* An empty table gets what --against shows of the measured modules and those of `other`. */
bool al_audit_against_fill(const struct al_audit_run *run, const struct al_audit *other,
	struct al_table *table, struct al_error *err) AL_MUST_CHECK;

/* audit_series.c: several checkpoints of one training run. Do the command's words name them? */
bool al_audit_is_series(const struct al_session *session);
bool al_audit_series(struct al_session *session, const struct al_audit_asked *options,
	struct al_error *err) AL_MUST_CHECK;

/* What is measured of heads of different modules, and of heads of two checkpoints. */
bool al_audit_run_pairs(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;

/* audit_losses.c: the losses without heads and of conversions, measured on tokens where there are
 * any; and the row of `losses` that is least. */
bool al_audit_run_losses(struct al_audit_run *run, struct al_error *err) AL_MUST_CHECK;
size_t al_audit_losses_least(const struct al_audit_run *run);

/* frontier.c: what conversions cost a decoder; with --figures a figure. */
bool al_audit_run_frontier(struct al_audit_run *run, struct al_running *model,
	struct al_error *err) AL_MUST_CHECK;

/* audit_shard.c: --shard I/N, a part of the audit, measured and written for `merge`. */
bool al_audit_shard(struct al_session *session, const struct al_audit_asked *options,
	const char *path, const char *config, struct al_error *err) AL_MUST_CHECK;

/* merge_audit.c: the paths of the manifests of parts that the folder holds. */
struct al_texts al_shard_manifests(struct al_arena *arena, const char *folder);

/* The parts in the folders that the session names, answered as one audit. Of `asked`
 * it takes the files to be written; `checkpoint` is where it is now; NULL: where it was. */
bool al_merge_audit(struct al_session *session, const struct al_audit_asked *asked,
	const char *checkpoint, struct al_error *err) AL_MUST_CHECK;
