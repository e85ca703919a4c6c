/* Files that hold models but are no checkpoints that are read here: named, with the way to one. */
#pragma once

#include "base/file.h"

/* `start` is how the file begins. True where nothing is known of such files. */
bool al_foreign_refuse(const struct al_source *source, const char *start, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* What such a file is by how its name ends, and the way to one that is read; NULL: not known. */
const char *al_foreign_name(const char *name);
