/* The contents of a scenario: all that its file says, checked, and nothing that was computed.
 * Everything lives in its arena. */
#ifndef ATTNLEDGER_SCENARIO_CONTENTS_H
#define ATTNLEDGER_SCENARIO_CONTENTS_H

#include "base/json.h"
#include "base/names.h"
#include "scenario/claims.h"
#include "scenario/figures.h"
#include "scenario/scenario.h"
#include "report/venue/profile.h"

struct al_scenario {
	struct al_arena arena;
	struct al_json doc;
	struct al_catalog *catalog;
	const char *name, *file, *folder, *title, *source;
	const struct cJSON *set; /* read when variants are, whose symbols it may name */
	const struct al_profile *profile; /* NULL: none is named */
	const struct al_symbol *symbols; /* the standard ones */
	size_t n_symbols;
	struct al_case base; /* what all cases begin with; what it changes holds in every model */
	struct al_scenario_variant **variants;
	size_t n_variants;
	struct al_scenario_variant **data_variants; /* known from data alone */
	size_t n_data_variants, data_variants_room;
	struct al_case *cases;
	size_t n_cases;
	struct al_data_set *data;
	size_t n_data;
	struct al_scenario_table *tables;
	size_t n_tables;
	struct al_scenario_sweep *sweeps;
	size_t n_sweeps;
	struct al_scenario_listing *listings;
	size_t n_listings;
	struct al_scenario_figure *figures;
	size_t n_figures;
	struct al_scenario_claim *claims;
	size_t n_claims;
	size_t n_cells; /* counted against their bounds while the file is read */
	int64_t n_points;
	struct al_evaluator *evaluator; /* what was computed of all this */
};

/* ---- finding things by name; each error names the nearest, NULL err only asks ---- */

const struct al_case *al_case_find(const struct al_scenario *s, const char *id,
	struct al_error *err);
/* Also a variant that only data know. */
const struct al_scenario_variant *al_variant_find(const struct al_scenario *s, const char *name,
	struct al_error *err);
const struct al_scenario_table *al_table_find(const struct al_scenario *s, const char *id);
const struct al_scenario_sweep *al_sweep_find(const struct al_scenario *s, const char *id);
const struct al_scenario_listing *al_listing_find(const struct al_scenario *s, const char *id);
const struct al_data_set *al_data_find(const struct al_scenario *s, const char *id);
/* The set and column of a metric. */
bool al_metric_find(const struct al_scenario *s, const char *name, const struct al_data_set **set,
	size_t *column);
/* Is it a standard symbol or a variant's own? */
bool al_symbol_is_known(const struct al_scenario *s, const char *symbol);

/* For messages: the known symbols, what a figure may draw. */
void al_symbol_add_names(const struct al_scenario *s, struct al_names *names);
void al_drawable_add_ids(const struct al_scenario *s, struct al_names *names);

#endif
