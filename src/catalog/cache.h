/* The catalog's cache, only for files that load. */
#pragma once

#include "catalog/catalog.h"
#include "catalog/read.h"

struct al_cached {
	const char *name; /* as it was asked for */
	const char *path; /* of a family that was added; or NULL */
	struct al_json *doc; /* models point into it */
	void *item;
	struct al_cached *older;
};

struct al_catalog {
	struct al_arena arena;
	struct al_symbols symbols;
	struct al_cached *newest[AL_N_CATALOG_KINDS];
	struct al_cached *newest_base; /* what families are like */
	bool has_own; /* the user's families were read */
	const struct al_family_names *family_names; /* or NULL, until they are asked for */
};

struct al_cached *al_catalog_keep(struct al_catalog *catalog, enum al_catalog_kind kind,
	const char *name);
struct al_cached *al_catalog_find_cached(const struct al_catalog *catalog,
	enum al_catalog_kind kind, const char *name);

/* The built-in item of a kind that answers to a word, a family to a model_type, a scheme to a
 * method; NULL: none does. */
bool al_catalog_find_by_word(struct al_catalog *catalog, enum al_catalog_kind kind,
	const char *word, const void **out, struct al_error *err) AL_MUST_CHECK;

/* The file of a family as it is, "like" another one; a name is that of a built-in one. */
bool al_catalog_family_file(struct al_catalog *catalog, const char *name, struct al_json *doc,
	struct al_error *err) AL_MUST_CHECK;

/* A config.json has no name of its own, and its family goes by its model_type. */
bool al_catalog_config(struct al_catalog *catalog, const struct al_json *doc, void **model,
	struct al_error *err) AL_MUST_CHECK;
