/* The names of the marks and colors: for those that read descriptions of figures, and draw none. */
#include "figure/spec.h"

#define MARK_NAME(name) #name,

const char *const al_figure_marks[AL_FIGURE_N_MARKS] = {AL_FIGURE_MARKS(MARK_NAME)};

const char *const al_figure_colors[AL_FIGURE_N_COLORS] = {"blue", "vermilion", "green", "orange",
	"purple", "sky", "black", "yellow"};
