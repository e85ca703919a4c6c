/* The light program goes on as the full one. */
#include "commands/program.h"

#include <errno.h>
#include <unistd.h>

static const char name[] = "attnledger-full";

/* Folders in which the full program may be, relative to this one: the same in a build, and where
 * both are installed (a tree may be moved as a whole) or as it was configured. */
static const char *const folders[] = {"", AL_LIBEXEC "/"};
enum { N_FOLDERS = sizeof(folders) / sizeof(*folders) };

void al_find_own_folder(char *out, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", out, size - 1);

	out[al_most(0, length)] = '\0';
	char *slash = strrchr(out, '/');
	out[slash ? slash + 1 - out : 0] = '\0';
}

/* Libraries read these from the environment when they are loaded. BLAS keeps to one thread, since
 * this program cuts the work itself; OpenMP's threads don't spin between two products, which would
 * take half the machine from other programs; glibc asks for large pages, with which an audit takes
 * 0.94 of the time. */
static void set_environment(void)
{
	setenv("OPENBLAS_NUM_THREADS", "1", 0);
	setenv("OMP_WAIT_POLICY", "passive", 0);
	setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
}

int al_exec_full(const char *command, char **argv)
{
	char own[4096], path[N_FOLDERS][2 * sizeof(own)];
	int reason = ENOENT;

	/* What the full program takes before its first line runs: its libraries, and the buffer
	 * that some versions of OpenBLAS take when they are loaded, and ask for without end where
	 * it can't be had. */
	if (!al_memory_has_room((size_t)224 << 20)) {
		fprintf(stderr,
			"attnledger %s: can't reserve the 224 MiB of address space that %s needs "
			"(check ulimit -v)\n",
			command, name);
		return AL_ESYSTEM;
	}
	al_find_own_folder(own, sizeof(own));
	set_environment();
	for (int i = 0; i < N_FOLDERS; i++) {
		snprintf(path[i], sizeof(path[i]), "%s%s%s", folders[i][0] == '/' ? "" : own,
			folders[i], name);
		execv(path[i], argv);
		if (errno != ENOENT)
			reason = errno;
	}
	fprintf(stderr, "attnledger %s: can't start %s: %s; expected %s or %s\n", command, name,
		strerror(reason), path[0], path[1]);
	return AL_ESYSTEM;
}
