/* The machine that reads a pickle: its stack (pickle.c), and what names make on it
 * (pickle_objects.c). */
#pragma once

#include "formats/pickle.h"

struct al_pickle_machine {
	struct al_arena *arena; /* with a budget */
	const char *path;
	const unsigned char *at, *end;
	struct al_pickle_value **stack, **memo;
	size_t n_stack, stack_room, n_memo, memo_room;
	size_t *marks;
	size_t n_marks, marks_room;
	bool failed; /* `err` has the reason: it stops before the next instruction */
	struct al_error *err;
};

/* "PATH: the pickle ends early"; the first failure counts. */
void al_pickle_fail(struct al_pickle_machine *m, const char *what);

/* May the next instruction handle `n` values, and double what the machine holds? Takes them from
 * the budget as steps; fails where that doesn't hold so much. */
bool al_pickle_may(struct al_pickle_machine *m, uint64_t n);

struct al_pickle_value *al_pickle_push(struct al_pickle_machine *m, enum al_pickle_kind kind);
void al_pickle_push_value(struct al_pickle_machine *m, struct al_pickle_value *value);

/* Nothing, where there is none. */
struct al_pickle_value *al_pickle_pop(struct al_pickle_machine *m);

/* Adds behind the last item of a tuple, list or dict. */
void al_pickle_add_item(struct al_pickle_machine *m, struct al_pickle_value *to,
	struct al_pickle_value *item);

/* The class or function of that name; what isn't on the list refuses the file. */
void al_pickle_push_name(struct al_pickle_machine *m, const char *module, const char *name);

/* Instructions: what the class or function below a tuple makes of it; a storage of the tuple that
 * describes it. `how` means nothing. */
void al_pickle_reduce(struct al_pickle_machine *m, int how);
void al_pickle_push_storage(struct al_pickle_machine *m, int how);
