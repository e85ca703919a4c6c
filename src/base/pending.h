/* What is to be removed where the program ends in the middle.
 *
 * While anything is pending, SIGINT, SIGTERM and SIGHUP (unless the program handles or ignores
 * them) remove it and then end the program as they would have: that needs handlers, the one thing
 * that the library keeps outside of what its callers own. They are put back when nothing is pending
 * any more. Called from one thread at a time. */
#ifndef ATTNLEDGER_BASE_PENDING_H
#define ATTNLEDGER_BASE_PENDING_H

#include <signal.h>

struct al_pending {
	const char *const *files; /* up to a NULL */
	const char *folder; /* removed after them; or NULL */
	int slot; /* -1: it isn't pending */
};

/* Both with signals blocked; what is pending stays where it is until it is forgotten. */
void al_pending_add(struct al_pending *pending);
void al_pending_forget(struct al_pending *pending);

/* Signals that end the program wait in between. */
void al_pending_block(sigset_t *old);
void al_pending_unblock(const sigset_t *old);

/* Removes all that is pending: for a signal's handler too. */
void al_pending_remove(void);

#endif
