/* The names of the marks: for those that read descriptions of figures, and draw none. */
#include "figure/spec.h"

#define MARK_NAME(name) #name,

const char *const al_figure_marks[AL_FIGURE_N_MARKS] = {AL_FIGURE_MARKS(MARK_NAME)};
