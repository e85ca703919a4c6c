/* A compression under way: modules done, their numbers as they will stand in the file. */
#ifndef ATTNLEDGER_COMPRESS_JOB_H
#define ATTNLEDGER_COMPRESS_JOB_H

#include "base/spill.h"
#include "compress/compress.h"

struct al_job_module {
	struct al_module_layout layout;
	uint64_t *aside; /* beside layout.slices: where what is new of them waits; NULL: there is no
			    result to write */
	int64_t parameters, original;
	double relative_error, control_error, scale;
	bool is_estimate, has_settled;
	struct al_pieces pieces; /* kept where later modules are fitted behind it */
	size_t *dimensions; /* collab, [n_heads]: how many shared ones a head needs for 90 % */
};

/* The one of a list that treats this attention; NULL: none does. */
static inline const struct al_job_module *al_job_module_find(const struct al_job_module *modules,
	size_t n, const struct al_attention *attention)
{
	for (size_t i = 0; i < n; i++)
		if (modules[i].layout.attention == attention)
			return &modules[i];
	return NULL;
}

struct al_job {
	struct al_arena arena;
	struct al_spill aside; /* the modules' new numbers, as they will stand in the file */
	struct al_model_view *view;
	const struct al_compress_options *options;
	struct al_job_module *modules;
	size_t n_modules;
	int64_t *ranks; /* of the modules that are asked for, out of a budget */
	bool writes_folder;
	const char *config_says; /* who can load the copy by a config.json of its family; NULL: no
				    such config.json says all */
};

/* Refuses an output that is a file of the input, or that can't be written. What the modules put
 * aside waits beside it. */
bool al_job_open_output(struct al_job *job, const char *path, struct al_error *err) AL_MUST_CHECK;

/* A module's pieces in the stored number format, put aside. */
bool al_job_encode(struct al_job *job, struct al_job_module *module, const struct al_pieces *pieces,
	struct al_error *err) AL_MUST_CHECK;

bool al_job_write(struct al_job *job, const char *path, struct al_error *err) AL_MUST_CHECK;

#endif
