/* Listings: tables whose rows stand in a scenario, or in a CSV file beside it, and are taken as
 * they are: what was measured or trained elsewhere, above all what another command wrote. */
#ifndef ATTNLEDGER_SCENARIO_LISTINGS_H
#define ATTNLEDGER_SCENARIO_LISTINGS_H

#include "base/table.h"
#include "scenario/data.h"

struct al_scenario_listing {
	const char *id, *title, *source;
	struct al_rows_source from;
	struct al_column *columns;
	size_t n_columns;
	const char ***rows; /* [n_rows][n_columns], NULL: missing */
	size_t n_rows;
};

#endif
