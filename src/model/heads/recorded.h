/* What a file that `compress` wrote says of its modules. */
#ifndef ATTNLEDGER_VIEWS_RECORDED_H
#define ATTNLEDGER_VIEWS_RECORDED_H

#include "model/heads/internal.h"

/* A projection that stands under other names than the family's. */
struct al_recorded_projection {
	enum al_projection is;
	const char *weight, *down, *bias, *mixing, *content;
	int64_t heads; /* of values that more heads share; 0: each has its own */
	bool is_in_out, moves_bias; /* ... the bias isn't where the family has it */
};

enum al_recorded_symbol {
	AL_RECORDED_HEADS,
	AL_RECORDED_KV_HEADS,
	AL_RECORDED_HEAD,
	AL_RECORDED_VALUE,
	AL_RECORDED_SHARED,
	AL_N_RECORDED,
};

/* One of attnledger.shapes. */
struct al_recorded_shape {
	const char *module;
	int64_t values[AL_N_RECORDED]; /* 0: as the config has it */
	int64_t score_divisor; /* 0: score_scale is said instead */
	double score_scale; /* 0: as the config has it */
	const char *unlisted; /* what no family lists; NULL: nothing */
	struct al_recorded_projection *stored;
	size_t n_stored;
};

/* NULL: it says nothing of the module. */
const struct al_recorded_shape *al_view_find_shape(const struct al_model_view *view,
	const char *module);

/* How many heads have values that they read by themselves: all where queries are shared. */
int64_t al_recorded_kv_heads(const struct al_recorded_shape *shape);

#endif
