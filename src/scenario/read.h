/* Reading a scenario's file into its contents, one file a part. */
#ifndef ATTNLEDGER_SCENARIO_READ_H
#define ATTNLEDGER_SCENARIO_READ_H

#include "base/record.h"
#include "scenario/contents.h"

/* What a file may ask for, told in FORMAT.md. */
enum {
	AL_MOST_PARTS_OF_A_KIND = 1000, /* tables, sweeps, figures, data sets; columns of a table */
	AL_MOST_NAMES = 10000, /* cases; variants, with those that only data know */
	AL_MOST_CELLS = 1000000, /* of all tables */
};

/* ---- the parts, in their order: each may name what was read before it ---- */

bool al_variants_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
/* What all cases begin with. */
bool al_base_read(struct al_scenario *s, struct al_error *err);
bool al_cases_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool al_data_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool al_tables_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool al_columns_read(struct al_scenario *s, const struct cJSON *list,
	struct al_scenario_table *table, struct al_error *err);
bool al_sweeps_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
/* When all figures are read: which variant has which colour. */
void al_looks_choose(struct al_scenario *s);
bool al_figures_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool al_claims_read(struct al_scenario *s, const struct cJSON *claims, const struct cJSON *errata,
	struct al_error *err);

/* ---- what the parts share ---- */

/* Reads an object; functions of its rows get the scenario as their context. */
bool al_object_read(struct al_scenario *s, const struct al_record *record, const struct cJSON *node,
	void *out, struct al_error *err);

/* A "note" may stand among the names of any object. */
bool al_member_is_note(const struct cJSON *member);

/* A member that is one of `n` words: its index. `*out` stays where the member is absent. */
bool al_word_read(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	const char *const *words, size_t n, int *out, struct al_error *err);
/* The owner's "set", "basis", "per" and "recipe"; the origin is said with a symbol's value. */
bool al_changes_read(struct al_scenario *s, const struct cJSON *owner, const char *origin,
	struct al_changes *changes, struct al_error *err);
/* Is the member's key such a symbol? */
bool al_member_symbol_check(const struct al_scenario *s, const struct cJSON *member,
	struct al_error *err);
/* An object of SYMBOL: FORMULA. */
bool al_substitutions_read(struct al_scenario *s, const struct cJSON *node,
	struct al_substitution **out, size_t *n, struct al_error *err);
bool al_id_read(const struct al_scenario *s, const struct cJSON *node, const char **id,
	struct al_error *err);
/* "data:glue" has the prefix "data:", `*rest` is what follows. */
bool al_key_has_prefix(const char *key, const char *prefix, const char **rest);
/* A member that lists variants of the scenario. `*out` is NULL where it is absent. */
bool al_variant_names_read(struct al_scenario *s, const struct cJSON *owner, const char *key,
	const struct al_scenario_variant ***out, size_t *n, struct al_error *err);

/* A list that may hold at most that many. */
bool al_size_check(const struct al_scenario *s, const struct cJSON *list, const char *what,
	size_t most, struct al_error *err);
/* A case or variant name: not empty, no '/', ',', '[' or ']'. */
bool al_name_check(const struct al_scenario *s, const struct cJSON *node, const char *what,
	const char *name, struct al_error *err);
/* Is the name a symbol that a variant of the scenario could need? */
bool al_symbol_name_check(const struct al_scenario *s, const struct cJSON *node, const char *symbol,
	struct al_error *err);

#endif
