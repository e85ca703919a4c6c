/* What heads do on the tokens of a calibration, in a word. */
#pragma once

#include "base/table.h"
#include "model/calibration/calibration.h"

/* What there is to attend to: by it heads are named. */
enum { AL_N_DOINGS = 5 };
extern const char *const al_doing_names[AL_N_DOINGS];

/* Writes into the column `to` of a table with columns "module" and "head" what each head of the
 * calibration does, where one score stands out among all heads: "previous token 0.38". */
bool al_doing_fill(const struct al_calibration *calibration, struct al_table *table, const char *to,
	struct al_error *err) AL_MUST_CHECK;
