/* Selecting modules by name: "layers.0-5,encoder.*.self". */
#pragma once

#include "base/base.h"

/* Does the module's name match one of the patterns? A pattern is parts between dots; a part is a
 * word, a number, a range of numbers "0-5" or "*". A pattern that has fewer parts than the name
 * matches what begins so: "layers.3" is all of layer 3. */
bool al_select_module(const char *patterns, const char *name);
