/* What the commands on checkpoints share: a checkpoint opened with its family. */
#pragma once

#include "answer/session.h"
#include "model/heads/views.h"

struct al_opened_checkpoint {
	struct al_checkpoint *checkpoint;
	struct al_model_view view;
	const char *note; /* under another program's names: what that does otherwise; or NULL */
};

struct al_layout_options {
	const char *heads, *layout; /* what a checkpoint without a config lacks */
	const char *modules; /* NULL: all */
	struct al_texts families; /* al_catalog_add_families */
	bool runs; /* as of struct al_view_options; no option of the command line */
};

/* --heads, --layout and --families; --modules. */
extern const struct al_option_row al_layout_rows[], al_module_rows[];

/* The first of these as groups, for the next question about a checkpoint. */
extern const struct al_option_group al_layout_groups[];

/* `largest` 0: as large as a number may be. */
#define AL_SEED_ROW(type, at, largest) \
	OPTION_COUNT(type, at, "seed", "N", "random seed (default 1)", .fallback = 1, \
		.most = largest)

/* Lays a family over a checkpoint; `config` NULL: its own, or none. `modules`: its attention
 * modules too. */
bool al_checkpoint_view(struct al_model_view *view, struct al_session *session,
	const struct al_layout_options *options, struct al_checkpoint *checkpoint,
	const char *config, bool modules, struct al_error *err) AL_MUST_CHECK;

/* Opens a checkpoint, or one with a family over it as al_checkpoint_view; it is closed when the
 * command has run. NULL: failed. */
struct al_checkpoint *al_session_file(struct al_session *session, const char *path,
	struct al_error *err) AL_MUST_CHECK;
struct al_opened_checkpoint *al_session_checkpoint(struct al_session *session,
	const struct al_layout_options *options, const char *path, const char *config, bool modules,
	struct al_error *err) AL_MUST_CHECK;

/* Facts in every answer about a checkpoint: sizes, fingerprint, family, what was left out. */
void al_opened_checkpoint_note(const struct al_opened_checkpoint *opened, struct al_table *table);

/* The same with the fingerprint of all numbers, which are read for it. */
bool al_opened_checkpoint_note_whole(const struct al_opened_checkpoint *opened,
	struct al_table *table, struct al_error *err) AL_MUST_CHECK;

/* The same with a fingerprint that is known, of what heads are measured of. */
void al_opened_checkpoint_note_fingerprint(const struct al_opened_checkpoint *opened,
	uint64_t fingerprint, struct al_table *table);

/* Warns of layers without heads, where there are any. */
void al_opened_checkpoint_warn_mixers(const struct al_opened_checkpoint *opened,
	struct al_table *table);

/* How the family was found, for a note: "named by config.json". */
const char *al_recognition_text(struct al_table *table, const struct al_model_view *view);

/* ---- the file alone ---- */

/* Notes which file was read: its path, size, and a fingerprint, which distinguish it from another
 * file of the same name; NULL: of its header alone. */
void al_checkpoint_note(struct al_table *table, const struct al_checkpoint *checkpoint,
	const uint64_t *fingerprint);

/* That the answer is of headers alone, and which one reads numbers. */
void al_note_numbers_unread(struct al_table *table);

/* "1 tensor", "1,040,128 bytes": `what` is one of them. */
const char *al_count_text(struct al_arena *arena, uint64_t count, const char *what);
