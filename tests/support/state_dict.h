/* State dicts of tests/data/state-dicts (what such a file holds stands in
 * tests/unit/state_dicts.c), to be written as checkpoints. */
#pragma once

#include "base/arena.h"
#include "support/folder.h"
#include "support/weights.h"

#define STATE_DICTS "tests/data/state-dicts"

enum { STATE_DICT_WEIGHTS = 512 };

struct state_dict {
	struct al_arena arena;
	const char *config; /* the JSON of its config.json */
	struct weight weights[STATE_DICT_WEIGHTS];
	size_t n;
};

/* Reads STATE_DICTS/NAME.txt; all weights are F32 and random. Free it with state_dict_finish. */
struct state_dict *state_dict_read(const char *name);
/* The same with numbers that are known, drawn from a normal distribution; they die with it. */
struct state_dict *state_dict_read_numbered(const char *name);
void state_dict_finish(struct state_dict *dict);

struct weight *state_dict_find(struct state_dict *dict, const char *name);
void state_dict_remove(struct state_dict *dict, const char *name);

/* Every name gets `added` before it, in place of `removed` where it begins with that. */
void state_dict_rename(struct state_dict *dict, const char *removed, const char *added);

/* Writes FOLDER/model.safetensors, and FOLDER/config.json where asked. */
void state_dict_write(const struct state_dict *dict, const struct test_folder *folder,
	bool with_config);
