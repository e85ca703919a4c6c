/* The state of a pickle that is read: its bytes, the stack with marks, the memo. */
#ifndef ATTNLEDGER_CHECKPOINT_PICKLE_MACHINE_H
#define ATTNLEDGER_CHECKPOINT_PICKLE_MACHINE_H

#include "formats/pickle.h"

struct al_machine {
	struct al_arena *arena;
	const char *path;
	const unsigned char *at, *end;
	size_t n_bytes;
	struct al_pickle_value **stack, **memo;
	size_t n_stack, stack_room, n_memo, memo_room;
	size_t *marks;
	size_t n_marks, marks_room;
};

/* "PATH: the pickle ends early". */
bool al_machine_fail_damaged(const struct al_machine *m, const char *what, struct al_error *err);

bool al_machine_take(struct al_machine *m, size_t n, const unsigned char **out,
	struct al_error *err) AL_MUST_CHECK;

/* Of so many bytes, at most 8, the lowest first. */
bool al_machine_take_number(struct al_machine *m, size_t n_bytes, uint64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* A line of text. */
bool al_machine_take_line(struct al_machine *m, const char **out,
	struct al_error *err) AL_MUST_CHECK;

struct al_pickle_value *al_machine_push(struct al_machine *m, enum al_pickle_kind kind);

/* Pops never reach below the last mark. */
struct al_pickle_value *al_machine_pop(struct al_machine *m, struct al_error *err);

/* Behind the last item of a tuple, list or dict. */
void al_machine_add_item(struct al_machine *m, struct al_pickle_value *to,
	struct al_pickle_value *item);

/* The last `n` values, at most three, as a tuple. */
bool al_machine_push_tuple(struct al_machine *m, int n, struct al_error *err) AL_MUST_CHECK;

/* Here and below `kind` is an enum al_pickle_kind. All since the mark as one value. */
bool al_machine_gather(struct al_machine *m, int kind, struct al_error *err) AL_MUST_CHECK;

/* Adds all since the mark to the list or dict below it; to what nobody reads it adds nothing. */
bool al_machine_extend(struct al_machine *m, int kind, struct al_error *err) AL_MUST_CHECK;

/* The last value, of a dict the last two, added as if a mark stood before it. */
bool al_machine_extend_by(struct al_machine *m, int kind, struct al_error *err) AL_MUST_CHECK;

bool al_machine_mark(struct al_machine *m, int unused, struct al_error *err);

/* Keeps the last value under a number, and gets it again. */
bool al_machine_put(struct al_machine *m, uint64_t index, struct al_error *err) AL_MUST_CHECK;
bool al_machine_get(struct al_machine *m, uint64_t index, struct al_error *err) AL_MUST_CHECK;

#endif
