/* Figures: a table and the columns to draw, on cairo and pangocairo, as PDF, SVG or PNG.
 *
 * The spec defines what to draw; layout (margins from measured text, ticks by extended Wilkinson,
 * labels that never meet) is ours. The same input gives the same bytes. */
#pragma once

#include "base/base.h"
#include "base/table.h"
#include "figure/spec.h"

enum al_figure_format { AL_FIGURE_PDF, AL_FIGURE_SVG, AL_FIGURE_PNG };

/* Draws into memory. Errors: a column that the table lacks (nearest named), a log axis with values
 * that are not positive, nothing to draw, more text than the width can hold. */
bool al_figure_draw(const struct al_figure *figure, const struct al_table *table,
	enum al_figure_format format, struct al_text *out, struct al_error *err) AL_MUST_CHECK;

/* A draft of its caption: the title, and its points in a sentence. */
bool al_figure_caption(const struct al_figure *figure, const struct al_table *table,
	struct al_text *out, struct al_error *err) AL_MUST_CHECK;
