/* Ranks as launchers say them in the environment: no MPI is linked.
 *
 * Under Slurm `mpirun` starts processes within a step whose variables they inherit, so Slurm's are
 * those of the outermost launcher, and are asked last. Open MPI and an MPI that speaks PMI don't
 * start each other: where both have numbered a process, their numbers are one. */
#include "commands/audit_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static const struct launcher {
	const char *rank, *size;
} launchers[] = {
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
};
enum { N_LAUNCHERS = sizeof(launchers) / sizeof(*launchers), SLURM = N_LAUNCHERS - 1 };

static bool read_number(const char *name, const char *text, int64_t *out, struct al_error *err)
{
	const size_t n = al_read_digits(text, out);

	return (n > 0 && text[n] == '\0' && *out >= 0 && *out <= AL_MOST_SHARDS)
		|| al_fail(err, AL_EINPUT,
			"--shard auto: %s is \"%s\", expected a whole number up to %d", name, text,
			AL_MOST_SHARDS);
}

/* Shard 0: it has said nothing. */
static bool ask(const struct launcher *launcher, struct al_shard_of *out, struct al_error *err)
{
	const char *rank = getenv(launcher->rank), *size = getenv(launcher->size);

	*out = (struct al_shard_of){0};
	if (!rank && !size)
		return true;
	if (!rank || !size)
		return al_fail(err, AL_EINPUT, "--shard auto: %s is set, %s isn't",
			rank ? launcher->rank : launcher->size,
			rank ? launcher->size : launcher->rank);
	if (!read_number(launcher->rank, rank, &out->shard, err)
		|| !read_number(launcher->size, size, &out->n_shards, err))
		return false;
	return out->shard++ < out->n_shards
		|| al_fail(err, AL_EINPUT,
			"--shard auto: %s is %s, expected less than the %s of %s", launcher->rank,
			rank, size, launcher->size);
}

static bool fail_contradiction(const struct launcher *a, const struct launcher *b,
	struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "--shard auto: %s/%s are %s/%s, %s/%s are %s/%s", a->rank,
		a->size, getenv(a->rank), getenv(a->size), b->rank, b->size, getenv(b->rank),
		getenv(b->size));
}

static bool ask_all(struct al_shard_of *out, struct al_error *err)
{
	const struct launcher *first = NULL;

	for (int i = 0; i < N_LAUNCHERS; i++) {
		struct al_shard_of part;
		if (first && i == SLURM)
			break;
		if (!ask(&launchers[i], &part, err))
			return false;
		if (part.shard == 0)
			continue;
		if (first && (part.shard != out->shard || part.n_shards != out->n_shards))
			return fail_contradiction(first, &launchers[i], err);
		first = &launchers[i];
		*out = part;
	}
	return first
		|| al_fail(err, AL_EINPUT,
			"--shard auto: no launcher has numbered this process (mpirun sets %s or "
			"%s, srun %s); give --shard I/N",
			launchers[0].rank, launchers[1].rank, launchers[SLURM].rank);
}

static bool read_part(const char *text, struct al_shard_of *out)
{
	size_t n = al_read_digits(text, &out->shard);

	if (n == 0 || text[n] != '/')
		return false;
	text += n + 1;
	n = al_read_digits(text, &out->n_shards);
	return n > 0 && text[n] == '\0' && out->shard >= 1 && out->n_shards <= AL_MOST_SHARDS
		&& out->shard <= out->n_shards;
}

bool al_shard_of_read(const char *text, struct al_shard_of *out, struct al_error *err)
{
	if (strcmp(text, "auto") == 0)
		return ask_all(out, err);
	return read_part(text, out)
		|| al_fail(err, AL_EINPUT,
			"--shard %s: expected I/N, I from 1 to N, N at most %d, or auto", text,
			AL_MOST_SHARDS);
}
