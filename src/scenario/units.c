/* Units of what people read. */
#include "scenario/units.h"

#include <stddef.h>
#include <string.h>

int64_t al_unit_factor(const char *unit)
{
	static const struct {
		const char *unit;
		int64_t factor;
	} units[] = {{"k", 1000}, {"M", 1000000}, {"B", 1000000000}, {"kB", 1000}, {"MB", 1000000},
		{"GB", 1000000000}, {"TB", 1000000000000}, {"KiB", 1024}, {"MiB", 1048576},
		{"GiB", 1073741824}, {"TiB", 1099511627776}};

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i].unit, unit) == 0)
			return units[i].factor;
	return 1;
}
