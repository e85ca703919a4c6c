/* All formats of checkpoints. A program that has only some has a list of that name of its own, and
 * this file isn't in it. */
#include "formats/format.h"

#define FORMAT_POINTER(name, program) &al_format_##name,

const struct al_format *const al_formats[] = {AL_FORMATS(FORMAT_POINTER) NULL};
