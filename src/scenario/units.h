/* Units of what people read. */
#ifndef ATTNLEDGER_SCENARIO_UNITS_H
#define ATTNLEDGER_SCENARIO_UNITS_H

#include <stdint.h>

/* What one of a unit is worth: M is 10^6, KiB 1024; 1 for any other text, and for NULL. */
int64_t al_unit_factor(const char *unit);

#endif
