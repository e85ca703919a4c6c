/* What every file takes for granted: the C library's numbers, memory and strings; arenas, texts,
 * exact numbers, errors. */
#pragma once

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include "base/text.h"
