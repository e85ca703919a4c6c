/* Reading a scenario's file into its contents, one file a part. */
#ifndef ATTNLEDGER_SCENARIO_READ_H
#define ATTNLEDGER_SCENARIO_READ_H

#include "base/record.h"
#include "scenario/contents.h"

/* What a file may ask for, told in FORMAT.md. */
enum {
	MOST_PARTS_OF_A_KIND = 1000, /* tables, sweeps, figures, data sets; columns of a table */
	MOST_NAMES = 10000, /* cases; variants, with those that only data know */
	MOST_CELLS = 1000000, /* of all tables */
};

/* ---- the parts, in their order: each may name what was read before it ---- */

bool read_variants(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
/* What all cases begin with. */
bool read_base(struct al_scenario *s, struct al_error *err);
bool read_cases(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_data(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_tables(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_columns(struct al_scenario *s, const struct cJSON *list, struct table *table,
	struct al_error *err);
bool read_sweeps(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
/* When all figures are read: which variant has which colour. */
void choose_looks(struct al_scenario *s);
bool read_figures(struct al_scenario *s, const struct cJSON *list, struct al_error *err);
bool read_claims(struct al_scenario *s, const struct cJSON *claims, const struct cJSON *errata,
	struct al_error *err);

/* ---- what the parts share ---- */

/* Reads an object; functions of its rows get the scenario as their context. */
bool read_object(struct al_scenario *s, const struct al_record *record, const struct cJSON *node,
	void *out, struct al_error *err);

/* A "note" may stand among the names of any object. */
bool is_note(const struct cJSON *member);

/* A member that is one of `n` words: its index. `*out` stays where the member is absent. */
bool read_word(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	const char *const *words, size_t n, int *out, struct al_error *err);
/* The owner's "set", "basis", "per" and "recipe"; the origin is said with a symbol's value. */
bool read_changes(struct al_scenario *s, const struct cJSON *owner, const char *origin,
	struct changes *changes, struct al_error *err);
/* Is the member's key such a symbol? */
bool check_symbol(const struct al_scenario *s, const struct cJSON *member, struct al_error *err);
/* An object of SYMBOL: FORMULA. */
bool read_substitutions(struct al_scenario *s, const struct cJSON *node,
	struct al_substitution **out, size_t *n, struct al_error *err);
bool read_id(const struct al_scenario *s, const struct cJSON *node, const char **id,
	struct al_error *err);
/* "data:glue" has the prefix "data:", `*rest` is what follows. */
bool has_prefix(const char *key, const char *prefix, const char **rest);
/* A member that lists variants of the scenario. `*out` is NULL where it is absent. */
bool read_variant_names(struct al_scenario *s, const struct cJSON *owner, const char *key,
	const struct variant ***out, size_t *n, struct al_error *err);

/* A list that may hold at most that many. */
bool check_size(const struct al_scenario *s, const struct cJSON *list, const char *what,
	size_t most, struct al_error *err);
/* A case or variant name: not empty, no '/', ',', '[' or ']'. */
bool check_name(const struct al_scenario *s, const struct cJSON *node, const char *what,
	const char *name, struct al_error *err);
/* Is the name a symbol that a variant of the scenario could need? */
bool check_symbol_name(const struct al_scenario *s, const struct cJSON *node, const char *symbol,
	struct al_error *err);

#endif
