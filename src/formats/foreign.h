/* Files that hold models but are no checkpoints that are read here: named, with the way to one. */
#pragma once

#include "base/file.h"

/* `start` is how the file begins. True where nothing is known of such files. */
bool al_foreign_refuse(const struct al_source *source, const char *start, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* A file's kind by the ending of its name, and how to convert it; NULL: not known. */
const char *al_foreign_name(const char *name);
