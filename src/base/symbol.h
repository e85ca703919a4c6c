/* Symbols of formulas in a text: a letter and its subscript, "W_O", "d_model", "n_kv_heads".
 * Figures and LaTeX typeset them as mathematics. */
#pragma once

#include <stddef.h>

/* The length of the symbol at `p` in `text`, if it is a word of its own; 0: there is none. Its
 * first two bytes are the letter and "_". */
size_t al_symbol_length(const char *text, const char *p);
