/* The verdict: what an audit says of redundant heads, in a sentence. */
#pragma once

#include "audit/audit.h"

/* The largest error, in percent of the module's scores and values, at which a head is redundant. */
enum { AL_REDUNDANT_PERCENT = 10 };

/* Read off the finished tables `heads` and `redundant`; NULL: no head has values. The arena's. */
const char *al_audit_verdict(struct al_arena *arena, const struct al_audit *audit,
	const struct al_table *heads, const struct al_table *redundant);
