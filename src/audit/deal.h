/* Work dealt to processes that can't ask each other: all come to the same shares. */
#pragma once

#include "base/base.h"
#include "model/heads/views.h"

/* Assigns n items to shards, counted from 0: shards [n]. Largest first, each to the shard with the
 * least so far. */
void al_deal(const double *sizes, size_t n, size_t n_shards, size_t *shards);

/* How many numbers the module's projections hold. */
double al_attention_size(const struct al_attention *attention);
