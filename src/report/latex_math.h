/* Mathematics within a text: what figures set as mathematics, LaTeX does, too. */
#ifndef ATTNLEDGER_REPORT_LATEX_MATH_H
#define ATTNLEDGER_REPORT_LATEX_MATH_H

#include "base/text.h"

/* Adds the mathematics that begins at `p` in `text` (a symbol, symbols joined by " x ", or what
 * stands between dollar signs) and returns where it ends; `p` where none begins. */
const char *al_latex_add_math(struct al_text *out, const char *text, const char *p);

#endif
