/* What a compressed file has copied from the original, held against it. */
#ifndef ATTNLEDGER_COMPRESS_COMPARE_H
#define ATTNLEDGER_COMPRESS_COMPARE_H

#include "base/table.h"
#include "compress/job.h"

/* Compares byte for byte all that the job's modules leave as it is in the original, and notes the
 * tensors that differ, are missing or have no counterpart, the first few by name. Of the modules
 * the layouts are read. `is_same`: none does. */
bool al_copies_compare(struct al_job *job, const struct al_checkpoint *compressed,
	struct al_table *table, bool *is_same, struct al_error *err) AL_MUST_CHECK;

#endif
