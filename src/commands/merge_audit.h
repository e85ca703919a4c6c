/* merge: what several processes measured of one checkpoint, answered as one would. */
#ifndef ATTNLEDGER_COMMANDS_MERGE_AUDIT_H
#define ATTNLEDGER_COMMANDS_MERGE_AUDIT_H

#include "commands/command.h"

struct al_merge_audit {
	const char *checkpoint; /* where it is now; NULL: where it was */
	const char *tables, *figures; /* folders, or NULL */
	const char *report; /* a page, or NULL */
	int width; /* enum al_drawing_width */
};

/* Does the folder hold a part of an audit? */
bool al_holds_fragments(const char *folder);

bool al_merge_audit(struct al_session *session, const struct al_merge_audit *options,
	struct al_error *err) AL_MUST_CHECK;

#endif
