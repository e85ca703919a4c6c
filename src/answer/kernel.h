/* The BLAS kernel of a command that computes: chosen, tested and named. */
#pragma once

#include "base/base.h"
#include "base/table.h"

/* Begins the program once more where OpenBLAS took a kernel older than the processor, or one that
 * computes wrong. Where the user named the kernel (OPENBLAS_CORETYPE), it is only tested. Blocks of
 * memory are as matrices want them from here on. `argv`: of the whole program. */
bool al_kernel_prepare(char **argv, struct al_error *err) AL_MUST_CHECK;

/* Why this kernel runs, where users should know: they named it, or a newer one computes wrong. NULL
 * where OpenBLAS chose it, or this program for a processor that OpenBLAS doesn't know. */
const char *al_kernel_reason(struct al_arena *arena);

/* "OpenBLAS 0.3.21, kernel Haswell" */
const char *al_kernel_library(struct al_arena *arena);

/* Notes the reason. */
void al_kernel_note(struct al_table *table);
