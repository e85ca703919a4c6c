/* How wide TeX sets a piece of the LaTeX that the writer prints, and where a line of it may be
 * broken. What is measured is the source itself: escapes, \textbf, \underline, mathematics with
 * its levels and symbols. The result is never much less than what TeX sets; AL_LATEX_MARGIN covers
 * the rest. */
#pragma once

#include "report/venue/profile.h"

/* The share of a width that layouts leave free, as metrics are rounded and mathematics is
 * estimated. */
#define AL_LATEX_MARGIN 0.015

/* Type to measure in. */
struct al_latex_type {
	const struct al_typeface *typeface;
	double pt;
};

/* In TeX points. */
double al_latex_width(const struct al_latex_type *type, const char *latex);

/* The length in bytes of the piece at `latex` up to where a line may be broken: a space of the
 * text, or mathematics after an outer + or -. 0 at the end. */
size_t al_latex_piece(const char *latex);

/* The widest piece. */
double al_latex_widest_piece(const struct al_latex_type *type, const char *latex);
