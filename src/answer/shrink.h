/* Declarations shared by the files of `shrink`. */
#pragma once

#include "answer/input.h"
#include "shrink/shrink.h"

struct al_shrink_words {
	struct al_output_options output;
	struct al_layout_options layout;
	struct al_input_options input;
	const char *file, *limit, *budget, *context;
	uint64_t is_for; /* bits of AL_SHRINK_FOR_*; 0: the file */
};

enum { AL_SHRINK_FOR_FILE, AL_SHRINK_FOR_CACHE, AL_N_SHRINK_FOR };

extern const struct al_option_group al_shrink_groups[];

/* The goal, but for the context where none is given: 0. */
bool al_shrink_read(const struct al_shrink_words *words, struct al_shrink_goal *out,
	struct al_error *err) AL_MUST_CHECK;

/* The tokens in three parts, each of whole sequences; long ones are cut so that there are some in
 * each. In the arena. */
bool al_shrink_split(struct al_arena *arena, const struct al_running *running,
	struct al_batch out[AL_N_PARTS_OF_TEXT], struct al_error *err) AL_MUST_CHECK;

/* What was found, as tables, and in a sentence. */
bool al_shrink_add_tables(struct al_session *session, struct al_shrink *s,
	struct al_error *err) AL_MUST_CHECK;
void al_shrink_conclude(struct al_session *session, const struct al_shrink *s);
