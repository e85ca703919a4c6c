/* Drawing: figures to files. */
#pragma once

#include "answer/session.h"
#include "figure/figure.h"

AL_MUST_CHECK al_drawer al_draw_to_file;

/* Adds FOLDER/ID.pdf, .svg and .png to the files. */
bool al_draw_into(struct al_files *files, const struct al_figure *figure,
	const struct al_table *table, const char *folder, struct al_error *err) AL_MUST_CHECK;
