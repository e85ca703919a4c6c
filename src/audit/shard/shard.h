/* Files of shards: facts and tables of a part of an audit, exactly, as JSON. Process I of N writes
 * to a folder
 *
 *     shard-I-of-N.json           its manifest: what it is of, and the files below
 *     shard-I-of-N.PLACE.json     the tables of each of its modules, by their places among the
 *                                 checkpoint's, or why it is left out
 *     shard-I-of-N.NAME.npy       the matrices of --tables
 *
 * and all but the last read
 *
 *     {
 *       "facts": {"shard": "1", "kernel": "Haswell", ...},
 *       "tables": [
 *         {"id": "heads", "columns": ["module", "layer", ...], "notes": [],
 *          "rows": [
 *           ["layers.7", {"exact": "7"}, 0.25, null, ...],
 *           ...
 *         ]},
 *         ...
 *       ]
 *     }
 *
 * A cell is null where it is missing, a text, {"text": "...", "title": "..."}, {"exact": "1/3"}, a
 * double (as many digits as give it back), {"real": "inf"} or "-inf". */
#pragma once

#include "base/base.h"
#include "base/table.h"

struct al_fact {
	const char *name, *value;
};

struct al_shard_file {
	struct al_arena arena;
	const char *path; /* of the file, for messages */
	struct al_fact *facts;
	size_t n_facts, facts_room;
	const struct al_table **tables; /* of those that were read columns have keys alone */
	size_t n_tables, tables_room;
};

void al_shard_file_init(struct al_shard_file *shard, const char *path);
void al_shard_file_finish(void *shard);

/* Adds a fact; nothing where the value is NULL. Texts are copied. */
void al_shard_file_say(struct al_shard_file *shard, const char *name, const char *value);

/* The fact's value; NULL: none. */
const char *al_shard_file_fact(const struct al_shard_file *shard, const char *name);

/* Adds a table, which the caller finishes; or a new one, which the file owns. Cells are as
 * measurements set them: texts, exact numbers without a spread, doubles. */
void al_shard_file_add(struct al_shard_file *shard, const struct al_table *table);
struct al_table *al_shard_file_new_table(struct al_shard_file *shard, const char *id);

/* The table of that id, or NULL. */
const struct al_table *al_shard_file_table(const struct al_shard_file *shard, const char *id);

/* Adds the file's text: the facts and the tables. */
void al_shard_file_write(const struct al_shard_file *shard, struct al_text *out);

/* Reads it. Errors begin with path:line:column. On failure nothing is left to finish. */
bool al_shard_file_parse(struct al_shard_file *shard, const char *path, const char *text,
	size_t length, struct al_error *err) AL_MUST_CHECK;
