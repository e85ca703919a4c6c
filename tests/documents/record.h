/* What a compressed checkpoint says of its compression: one of the documents. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "compress/compress.h"
#include "support/folder.h"

/* Compresses tests/data/small-bert.safetensors into the folder by each method, and opens all. */
void record_begin(const struct test_folder *folder);
void record_end(void);
/* The same in a folder of its own, until the program ends: compressing takes longer than a
 * thousand inputs. */
void record_begin_once(void);

bool parse_record(enum al_method method, const char *text, size_t length, struct al_error *err);
void fill_record(enum al_method method, struct al_text *out);

/* What the copy with a dropped head says of its modules' shapes; its tensors are read by them. */
bool parse_shapes(const char *text, size_t length, struct al_error *err);
void fill_shapes(struct al_text *out);

/* What must work for a test to begin. */
void must_read(bool ok, const struct al_error *err);
