/* What a compressed file says of itself: how each of its modules lies in it. */
#ifndef ATTNLEDGER_COMPRESS_RECORDED_H
#define ATTNLEDGER_COMPRESS_RECORDED_H

#include "base/json.h"
#include "compress/job.h"

struct al_recorded {
	struct al_arena arena;
	const struct al_model_view *view; /* of the original */
	const struct al_checkpoint *compressed;
	enum al_method method;
	struct al_json record;
	struct al_job_module *modules; /* layout and scale */
	size_t n_modules;
};

/* Both outlive it. A file without a record, and one that doesn't fit the original, are AL_EINPUT.
 * On failure nothing is left to close. */
bool al_recorded_open(struct al_recorded *recorded, const struct al_model_view *view,
	const struct al_checkpoint *compressed, struct al_error *err) AL_MUST_CHECK;
void al_recorded_close(struct al_recorded *recorded);

#endif
