/* Where files without a name are. */
#pragma once

#include_next <stdio.h>

#define P_tmpdir "/tmp"
