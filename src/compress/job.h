/* A compression under way: modules done, their numbers as they will stand in the file. */
#ifndef ATTNLEDGER_COMPRESS_JOB_H
#define ATTNLEDGER_COMPRESS_JOB_H

#include "compress/compress.h"

struct al_job_module {
	struct al_layout layout;
	unsigned char **bytes; /* beside layout.slices; NULL: nothing new stands there */
	int64_t parameters, original;
	double relative_error, control_error, scale;
	bool is_estimate, has_settled;
	struct al_pieces pieces; /* kept where later modules are fitted behind it */
	size_t *dimensions; /* collab, [n_heads]: how many shared ones a head needs for 90 % */
};

struct al_job {
	struct al_arena arena;
	struct al_model_view *view;
	const struct al_compress_options *options;
	struct al_job_module *modules;
	size_t n_modules;
};

/* Refuses an output that is a file of the input, or that can't be written. */
bool al_job_check_output(const struct al_job *job, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* A module's pieces in the stored number format; the bytes are the arena's. */
bool al_job_encode(struct al_job *job, struct al_job_module *module, const struct al_pieces *pieces,
	struct al_error *err) AL_MUST_CHECK;

bool al_job_write(struct al_job *job, const char *path, struct al_error *err) AL_MUST_CHECK;

#endif
