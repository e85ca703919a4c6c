/* Profiles: what a venue's pages hold, so that tables and figures are made for them.
 *
 * profiles/NAME.json gives a venue's widths and height in TeX points (72.27 to the inch), the sizes
 * of type that its class offers for tables, largest first, and what figures are lettered in;
 * "document" begins a document whose text looks like the venue's, for the proof. */
#pragma once

#include "base/base.h"

/* Typefaces: how wide TeX sets a character, from the metrics of the fonts. typefaces/NAME.json
 * holds the advances of the printable ASCII characters, ' ' to '~', in thousandths of the size,
 * upright and bold, for each size that a font was drawn for. */
enum { AL_N_ADVANCES = '~' - ' ' + 1 };

struct al_design {
	double pt;
	int16_t regular[AL_N_ADVANCES], bold[AL_N_ADVANCES];
};

struct al_typeface {
	const char *title, *source;
	struct al_design *designs; /* rising */
	size_t n_designs;
};

/* In TeX points; of a character that is not ASCII an em. */
double al_typeface_advance(const struct al_typeface *typeface, double pt, bool is_bold,
	unsigned char c);

struct al_profile_size {
	const char *name; /* "small" */
	double pt, line_pt;
};

struct al_profile {
	const char *title, *source, *document;
	const struct al_typeface *typeface;
	double column_pt, page_pt, height_pt; /* one column: column_pt is page_pt */
	struct al_profile_size *sizes;
	size_t n_sizes;
	const char **families; /* of figures: the first that is installed */
	size_t n_families;
	double tick_pt, title_pt; /* of figures */
};

/* By name (the error for an unknown one lists the known ones), or from a file (al_json_is_path). */
bool al_profile_find(struct al_arena *arena, const char *name, const struct al_profile **out,
	struct al_error *err) AL_MUST_CHECK;

/* Are there two columns on a page? */
bool al_profile_has_columns(const struct al_profile *profile);

extern const struct al_embedded_list al_embedded_profiles;
