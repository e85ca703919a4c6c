/* What a paper takes from a folder of `run` in addition to its tables: figures of a venue's widths,
 * their environments, and a proof of all. */
#pragma once

#include "answer/files.h"
#include "figure/figure.h"
#include "report/venue/profile.h"

/* The figure as wide as the profile's column or page and lettered in its font: the first of a few
 * sizes that has room for all of its text. Without a profile it is `figure`. */
bool al_venue_fit(const struct al_profile *profile, const struct al_figure *figure,
	const struct al_table *table, struct al_figure *out, struct al_error *err) AL_MUST_CHECK;

/* FOLDER/ID-figure.tex: the environment of a figure with its label and a drafted caption. */
bool al_venue_add_figure(struct al_files *files, const struct al_profile *profile,
	const struct al_figure *figure, const struct al_table *table, const char *folder,
	struct al_error *err) AL_MUST_CHECK;

/* FOLDER/proof.tex: a document with the profile's pages that shows what was written. `inputs` are
 * names without ".tex". */
void al_venue_add_proof(struct al_files *files, const struct al_profile *profile,
	const char *folder, const char *const *inputs, size_t n);
