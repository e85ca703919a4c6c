/* What heads do on the tokens of a calibration, in a word; and which heads of a module do alike. */
#pragma once

#include "base/table.h"
#include "model/calibration/calibration.h"

/* The head that does most alike: by logits and outputs together. */
struct al_alike_head {
	int64_t head; /* INT64_MIN: there is no other */
	/* The correlation of both heads' logits: over the keys that a query sees, each query's mean
	 * taken away, all queries alike. */
	double logits;
	/* Linear CKA of both heads' outputs (Kornblith et al. 2019, eq. 5): 1 where one is the
	 * other turned and scaled. */
	double outputs;
};

/* out[n_heads] of the module. */
bool al_heads_alike(const struct al_module_statistics *statistics, struct al_alike_head *out,
	struct al_error *err) AL_MUST_CHECK;

/* Writes into the column `to` of a table with columns "module" and "head" what each head of the
 * calibration does, where one score stands out among all heads: "previous token 0.38". */
bool al_doing_fill(const struct al_calibration *calibration, struct al_table *table, const char *to,
	struct al_error *err) AL_MUST_CHECK;
