/* The BLAS kernel of a command that computes: chosen, tested and named; and where its matrices lie.
 *
 * OpenBLAS reads its kernel's name when it is loaded, so that another one takes another process.
 * An environment variable passes on what the first process found out. */
#include "answer/kernel.h"

#include <strings.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "linalg/kernel.h"

static const char by_name[] = "OPENBLAS_CORETYPE", because[] = "ATTNLEDGER_BLAS_KERNEL";

static const char *get(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* `reason` is what users are told of the kernel, if anything. Returns where the program can't begin
 * again: it goes on with what it has. */
static void begin_again(char **argv, const char *kernel, const char *reason)
{
	setenv(by_name, kernel, 1);
	setenv(because, reason, 1);
	execv("/proc/self/exe", argv);
}

static void choose(char **argv)
{
	char version[16];
	const char *better = al_kernel_better(al_blas_kernel(), al_blas_version(version),
		al_cpu_level());

	if (better)
		begin_again(argv, better, "");
}

static void step_down(char **argv, const char *failed)
{
	char version[16], reason[128];
	const char *below = al_kernel_below(failed, al_blas_version(version), al_cpu_level());

	if (!below)
		return;
	snprintf(reason, sizeof(reason), "OpenBLAS %s gives wrong results with %s", version,
		failed);
	begin_again(argv, below, reason);
}

/* glibc raises the size from which a block gets pages of its own whenever such a block is freed;
 * the next module's matrices would then lie between smaller blocks, and memory would grow with
 * every one. With a fixed size the peak is that of one module (tests/bench/run-memory). It is as
 * large as glibc takes, and the heap isn't cut after every matrix: fresh pages for each would cost
 * a third of an audit's time. A long text grows in pages of its own, so that this is for commands
 * that compute alone. */
static void reuse_matrices(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 4 << 20);
#endif
}

bool al_kernel_prepare(char **argv, struct al_error *err)
{
	const char *named = get(by_name);
	bool is_users = named && !getenv(because);

	if (!named && al_blas_has_kernels())
		choose(argv);
	reuse_matrices();
	if (!al_blas_reserve(err))
		return false;
	if (al_kernel_check(err))
		return true;
	if (!is_users && al_blas_has_kernels())
		step_down(argv, named ? named : al_blas_kernel());
	return false;
}

const char *al_kernel_reason(struct al_arena *arena)
{
	const char *kernel = al_blas_kernel(), *named = get(by_name), *reason = getenv(because);

	if (!named || strcasecmp(named, kernel) != 0) /* OpenBLAS has no such kernel */
		return NULL;
	if (reason)
		return *reason ? al_format(arena, "BLAS kernel %s: %s", kernel, reason) : NULL;
	return al_format(arena, "BLAS kernel %s, set by %s", kernel, by_name);
}

const char *al_kernel_library(struct al_arena *arena)
{
	char version[16];

	return al_format(arena, "OpenBLAS %s, kernel %s", al_blas_version(version),
		al_blas_kernel());
}

void al_kernel_note(struct al_table *table)
{
	const char *reason = al_kernel_reason(&table->arena);

	if (reason)
		al_table_warn(table, "%s", reason);
}
