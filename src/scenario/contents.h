/* The contents of a scenario: all that its file says, checked, and nothing that was computed.
 * Everything lives in its arena. */
#ifndef ATTNLEDGER_SCENARIO_CONTENTS_H
#define ATTNLEDGER_SCENARIO_CONTENTS_H

#include "base/json.h"
#include "base/names.h"
#include "scenario/claims.h"
#include "scenario/figures.h"
#include "scenario/scenario.h"

struct al_scenario {
	struct al_arena arena;
	struct al_json doc;
	struct al_catalog *catalog;
	const char *name, *file, *folder, *title;
	const struct al_symbol *symbols; /* the standard ones */
	size_t n_symbols;
	struct case_ base; /* what all cases begin with */
	struct changes changes; /* in every case's model too */
	struct variant **variants;
	size_t n_variants, variants_room;
	struct variant **data_variants; /* known from data alone */
	size_t n_data_variants, data_variants_room;
	struct case_ *cases;
	size_t n_cases;
	struct data_set *data;
	size_t n_data;
	struct table *tables;
	size_t n_tables;
	struct sweep *sweeps;
	size_t n_sweeps;
	struct figure *figures;
	size_t n_figures;
	struct claim *claims;
	size_t n_claims;
	size_t n_cells; /* counted against their bounds while the file is read */
	int64_t n_points;
	struct evaluator *evaluator; /* what was computed of all this */
};

/* ---- finding things by name; each error names the nearest, NULL err only asks ---- */

const struct case_ *al_case_find(const struct al_scenario *s, const char *id, struct al_error *err);
/* Also a variant that only data know. */
const struct variant *al_variant_find(const struct al_scenario *s, const char *name,
	struct al_error *err);
const struct table *al_table_find(const struct al_scenario *s, const char *id);
const struct sweep *al_sweep_find(const struct al_scenario *s, const char *id);
const struct data_set *al_data_find(const struct al_scenario *s, const char *id);
/* The set and column of a metric. */
bool al_metric_find(const struct al_scenario *s, const char *name, const struct data_set **set,
	size_t *column);
/* Is it a standard symbol or a variant's own? */
bool al_symbol_is_known(const struct al_scenario *s, const char *symbol);

/* For messages: the known symbols, what a figure may draw. */
void al_symbol_add_names(const struct al_scenario *s, struct al_names *names);
void al_drawable_add_ids(const struct al_scenario *s, struct al_names *names);

#endif
