/* Values by version, in files about a program that changes: in an engine's file a key's value may
 * be an object, {"value": 16, "since": "0.21", "source": "v1/core/kv_cache_utils.py"}, or a list of
 * them, oldest first. The last one that isn't newer than the version holds. Where there is none, or
 * its value is null, the key is absent. Without "since" a value held in all versions before. */
#pragma once

#include "base/json.h"
#include "base/text.h"

/* Compares the numbers of "0.21.0", "v0.21" and "b8000" one by one, as many as both have: 0.21.1 is
 * 0.21. -1, 0 or 1. */
int al_version_compare(const char *a, const char *b);

/* "vllm@0.21" cut in two; the version is NULL where there is none. */
const char *al_version_cut(struct al_arena *arena, const char *text, const char **version);

/* Is it numbers between dots, after at most one letter? What follows them is passed over: rc1. */
bool al_version_is_valid(const char *text);

/* The "since" of all values, each once, in their order. */
bool al_history_versions(struct al_arena *arena, const struct al_json *doc,
	const struct al_item *object, struct al_texts *out, struct al_error *err) AL_MUST_CHECK;

/* The object with the values that held in `version`, in the arena. */
bool al_history_at(struct al_arena *arena, const struct al_json *doc, const struct al_item *object,
	const char *version, const struct al_item **out, struct al_error *err) AL_MUST_CHECK;
