/* What cairo's own writers leave to wish: a PNG that knows its resolution and is quick to write, a
 * PDF whose date is well-formed. */
#ifndef ATTNLEDGER_FIGURE_ENCODE_H
#define ATTNLEDGER_FIGURE_ENCODE_H

#include <cairo.h>

#include "base/text.h"

/* An RGB24 image surface, `pixels_per_pt` being its resolution. */
bool al_encode_png(cairo_surface_t *image, double pixels_per_pt, struct al_text *out,
	struct al_error *err) AL_MUST_CHECK;

/* cairo 1.16 leaves out the "D:" before a date that it was given (ISO 32000-1, 7.9.4). */
#define AL_PDF_DATE "2000-01-01T00:00:00Z"
void al_encode_pdf_date(struct al_text *pdf);

#endif
