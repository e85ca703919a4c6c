/* Redundant heads: those that their module can do without. */
#ifndef ATTNLEDGER_AUDIT_REDUNDANT_H
#define ATTNLEDGER_AUDIT_REDUNDANT_H

/* The largest error, in percent of the module's scores and values, at which a head is one. */
enum { AL_REDUNDANT_PERCENT = 10 };

#endif
