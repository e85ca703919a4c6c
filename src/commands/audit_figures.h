/* The figures of an audit. */
#ifndef ATTNLEDGER_COMMANDS_AUDIT_FIGURES_H
#define ATTNLEDGER_COMMANDS_AUDIT_FIGURES_H

#include "audit/measurement.h"
#include "commands/files.h"

/* How wide figures are: a page's text, or a column of two. */
enum al_drawing_width { AL_DRAWN_PAGE, AL_DRAWN_COLUMN, AL_N_DRAWING_WIDTHS };
extern const char *const al_drawing_width_names[AL_N_DRAWING_WIDTHS];

/* The option of commands that draw them: an int in their struct of options. */
#define AL_DRAWING_WIDTH_ROW(type, at) \
	OPTION_CHOICE(type, at, "width", "page|column", \
		"figures as wide as a page's text (default) or as a column of two: their type is " \
		"then not shrunk", \
		.words = al_drawing_width_names, .n_words = AL_N_DRAWING_WIDTHS)

/* Adds to the files what the tables (beside al_measurements, NULL where not wanted) hold, in a
 * folder, as PDF, SVG and PNG: each measurement says which figures its table makes. */
bool al_audit_figures_draw(struct al_files *files, const char *folder, enum al_drawing_width width,
	struct al_table *const *tables, struct al_error *err) AL_MUST_CHECK;

#endif
