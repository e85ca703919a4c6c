/* Drawing: figures to files. */
#pragma once

#include "answer/files.h"
#include "figure/figure.h"

/* Adds the figure as a file; its extension sets the format (.pdf, .svg or .png). */
bool al_draw_to_file(struct al_files *files, const struct al_figure *figure,
	const struct al_table *table, const char *path, struct al_error *err) AL_MUST_CHECK;

/* Adds FOLDER/ID.pdf, .svg and .png to the files. */
bool al_draw_into(struct al_files *files, const struct al_figure *figure,
	const struct al_table *table, const char *folder, struct al_error *err) AL_MUST_CHECK;
