/* Math in a label: a symbol (base/symbol.h) by itself, "d_model"; and between dollar signs
 * "_" sets what follows lower, "^" higher, one character or the text in braces, and spaces are
 * left out: "$W_Q W_K^T$". A single dollar sign is one. */
#pragma once

#include "base/base.h"

enum al_level { AL_LEVEL_LINE = '=', AL_LEVEL_LOWER = '_', AL_LEVEL_UPPER = '^' };

/* Subscripts and superscripts: size and shift, as shares of the line's size. */
#define AL_LEVEL_SIZE 0.7
#define AL_LEVEL_LOWERED 0.16
#define AL_LEVEL_RAISED 0.34

/* The text without its marks, and for each of its bytes its level. */
void al_typeset(const char *text, struct al_text *plain, struct al_text *levels);
