/* One config.json under a family, and its values. */
#pragma once

#include "catalog/family.h"

struct al_config {
	const struct al_family *family;
	const struct al_json *doc;
	const struct al_item *object;
	const char *origin; /* the model */
	struct al_settings *settings; /* what was read goes here */
};

/* "a whole number" */
const char *al_config_expectation(const struct al_config_key *key);

/* A list symbol, one value per layer. */
bool al_config_is_list(const struct al_config_key *key);

/* How long a list must be. */
bool al_config_length(const struct al_config *config, const struct al_config_key *key, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* The object with the place's keys; NULL: the config has none of them. NULL is the config
 * itself. */
const struct al_item *al_config_object(const struct al_config *config,
	const struct al_config_place *place);

/* The value that the config gives under the first of the key's names that is there; or NULL. */
const struct al_item *al_config_find(const struct al_config *config,
	const struct al_config_key *key);

/* The same of one path in an object: "a.b", "a.=" for a where it isn't an object, or "a.*.b" the
 * array a. */
const struct al_item *al_config_find_nested(const struct al_item *object, const char *path);

/* ... of the first of the paths that is there. */
const struct al_item *al_config_find_first(const struct al_item *object, const char *const *keys,
	size_t n);

/* The object of a config in which the keys of the family's text model are. */
const struct al_item *al_config_of_text(const struct al_family *family,
	const struct al_item *config);

/* A number of at least 0 from an object of the config. One that is missing, or null, is `absent`
 * unless the family has a default. */
bool al_config_number(const struct al_json *doc, const struct al_item *object,
	const struct al_config_number *number, double absent, double *out,
	struct al_error *err) AL_MUST_CHECK;

/* A symbol's value as a config has it: "768", "true", "0.5" of millionths. */
const char *al_config_value_text(const struct al_config_key *key, const struct al_value *value,
	struct al_arena *arena);

/* Checks a value that is not null against the key's type and sets the symbol. */
bool al_config_read(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, struct al_error *err) AL_MUST_CHECK;
