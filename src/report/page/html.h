/* HTML as text: what a stranger wrote comes out as characters, never as markup. */
#pragma once

#include "base/base.h"

/* Adds a text, in an element or between the double quotes of an attribute: & < > " ' escaped,
 * control characters as \xNN. */
void al_html_add(struct al_text *out, const char *text);

/* The same of prose in an element, with what is between backticks as <code>. */
void al_html_add_prose(struct al_text *out, const char *text);

/* Formats markup: what %s stands for is added as above; of numbers %d, %zu, %g and such as %.1f and
 * %.3g; and %%. */
void al_html_addf(struct al_text *out, const char *format, ...) AL_PRINTF(2, 3);
