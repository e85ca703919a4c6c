/* Inside the catalogue: one config.json under a family, and its values. */
#ifndef ATTNLEDGER_CATALOG_CONFIG_H
#define ATTNLEDGER_CATALOG_CONFIG_H

#include "catalog/family.h"

struct al_config {
	const struct al_family *family;
	const struct al_json *doc;
	const struct al_item *object;
	const char *origin; /* the model */
	struct al_settings *settings; /* what was read goes here */
};

/* A model has at least one of each. */
enum { AL_N_CONFIG_SIZES = 4 };
extern const char *const al_config_sizes[AL_N_CONFIG_SIZES];

/* A list symbol, one value a layer. */
bool al_config_is_list(const struct al_config_key *key);

/* How long a list must be. */
bool al_config_length(const struct al_config *config, const struct al_config_key *key, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* The object that the place's keys stand in; NULL: the config has none of them. NULL is the config
 * itself. */
const struct al_item *al_config_object(const struct al_config *config,
	const struct al_config_place *place);

/* The value that the config gives under the first of the key's names that is there; or NULL. */
const struct al_item *al_config_find(const struct al_config *config,
	const struct al_config_key *key);

/* The same of one path in an object: "a.b", "a.=" for a where it isn't an object, or "a.*.b" the
 * array a. */
const struct al_item *al_config_find_nested(const struct al_item *object, const char *path);

/* A symbol's value as a config has it: "768", "true", "0.5" of millionths. */
const char *al_config_value_text(const struct al_config_key *key, const struct al_value *value,
	struct al_arena *arena);

/* A whole number, or true and false as 1 and 0 where `takes_boolean`. */
bool al_config_read_number(const struct al_config *config, const struct al_item *node,
	const char *key, bool takes_boolean, int64_t *out, struct al_error *err) AL_MUST_CHECK;
bool al_config_read_millionths(const struct al_config *config, const struct al_item *node,
	const char *name, int64_t *out, struct al_error *err) AL_MUST_CHECK;
bool al_config_read_list(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const char *origin, struct al_error *err) AL_MUST_CHECK;
bool al_config_read_indices(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const char *origin, struct al_error *err) AL_MUST_CHECK;

/* Checks a value that is not null against the key's type and sets the symbol. */
bool al_config_read(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, struct al_error *err) AL_MUST_CHECK;

/* Sets what tells the family's architectures apart, as the config's is. */
bool al_config_set_architecture(const struct al_config *config, struct al_error *err) AL_MUST_CHECK;

#endif
