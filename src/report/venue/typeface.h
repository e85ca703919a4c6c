/* Typefaces: how wide TeX sets a character, from the metrics of the fonts.
 *
 * typefaces/NAME.json holds the advances of the printable ASCII characters, ' ' to '~', in
 * thousandths of the size, upright and bold, for each size that a font was drawn for. */
#ifndef ATTNLEDGER_VENUE_TYPEFACE_H
#define ATTNLEDGER_VENUE_TYPEFACE_H

#include "base/arena.h"
#include "base/error.h"

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

bool al_typeface_find(struct al_arena *arena, const char *name, const struct al_typeface **out,
	struct al_error *err) AL_MUST_CHECK;

/* In TeX points; of a character that is not ASCII an em. */
double al_typeface_advance(const struct al_typeface *typeface, double pt, bool is_bold,
	unsigned char c);

#endif
