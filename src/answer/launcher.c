/* Which part of an audit this process measures: set by --shard, or by a launcher's number in the
 * environment. No MPI is linked.
 *
 * Under Slurm `mpirun` starts processes within a step whose variables they inherit, so Slurm's are
 * those of the outermost launcher, and are asked last. Should two processes take one part for
 * theirs, `merge` reports it. */
#include "answer/audit_part.h"

static const struct launcher {
	const char *rank, *size;
} launchers[] = {
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
};
enum { N_LAUNCHERS = sizeof(launchers) / sizeof(*launchers) };

/* "3/4" */
static bool read_part(const char *text, int64_t first, struct al_shard_of *out)
{
	size_t n = al_read_digits(text, &out->shard);

	if (n == 0 || text[n] != '/')
		return false;
	text += n + 1;
	n = al_read_digits(text, &out->n_shards);
	out->shard += 1 - first;
	return n > 0 && text[n] == '\0' && out->shard >= 1 && out->n_shards <= AL_MOST_SHARDS
		&& out->shard <= out->n_shards;
}

static bool ask_launchers(struct al_arena *arena, struct al_shard_of *out, struct al_error *err)
{
	for (int i = 0; i < N_LAUNCHERS; i++) {
		const char *rank = getenv(launchers[i].rank), *size = getenv(launchers[i].size);
		if (!rank && !size)
			continue;
		const char *text = al_format(arena, "%s/%s", rank ? rank : "", size ? size : "");
		return read_part(text, 0, out)
			|| al_fail(err, AL_EINPUT,
				"--shard auto: %s/%s are %s; expected I/N with I from 0 to N - 1 "
				"and N at most %d",
				launchers[i].rank, launchers[i].size, text, AL_MOST_SHARDS);
	}
	return al_fail(err, AL_EINPUT,
		"--shard auto: not started by mpirun (which sets %s or %s) or srun (%s); use "
		"--shard I/N",
		launchers[0].rank, launchers[1].rank, launchers[2].rank);
}

bool al_shard_of_read(struct al_arena *arena, const char *text, struct al_shard_of *out,
	struct al_error *err)
{
	if (strcmp(text, "auto") == 0)
		return ask_launchers(arena, out, err);
	return read_part(text, 1, out)
		|| al_fail(err, AL_EINPUT,
			"--shard %s: expected auto, or I/N with I from 1 to N and N at most %d",
			text, AL_MOST_SHARDS);
}
