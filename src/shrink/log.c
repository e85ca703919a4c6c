/* Trials that were made before the program was ended. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/temporary.h"
#include "shrink/trial.h"

struct head {
	char magic[8];
	uint64_t of;
};
static const char MAGIC[8] = "al-tried";

struct entry {
	struct al_judgment judgment;
	uint64_t hash; /* of it, and of which one it is */
};

static uint64_t hash_of(const struct al_judgment *judgment, size_t number)
{
	const uint64_t at = number;

	return al_hash_block(al_hash(AL_HASH_EMPTY, &at, sizeof(at)),
		(const unsigned char *)judgment, sizeof(*judgment));
}

static bool fail(const struct al_trial_log *log, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", log->path, strerror(errno));
}

static int64_t place_of(size_t number)
{
	return (int64_t)(sizeof(struct head) + number * sizeof(struct entry));
}

static bool read_entry(const struct al_trial_log *log, size_t number, struct entry *entry)
{
	return pread(log->file, entry, sizeof(*entry), (off_t)place_of(number)) == sizeof(*entry)
		&& entry->hash == hash_of(&entry->judgment, number);
}

/* Of another search, or cut: what can't be used goes. */
static bool read_all(struct al_trial_log *log, uint64_t of, struct al_error *err)
{
	struct head head = {.of = 0}, own = {.of = of};
	struct entry entry;

	memcpy(own.magic, MAGIC, sizeof(MAGIC));
	if (pread(log->file, &head, sizeof(head), 0) == sizeof(head)
		&& memcmp(&head, &own, sizeof(head)) == 0)
		while (read_entry(log, log->n, &entry))
			log->n++;
	log->n_found = log->n;
	return (ftruncate(log->file, log->n > 0 ? (off_t)place_of(log->n) : 0) == 0
		       && al_temporary_write(log->file, 0, &own, sizeof(own)))
		|| fail(log, err);
}

bool al_trial_log_open(struct al_trial_log *log, const char *path, uint64_t of,
	struct al_error *err)
{
	*log = (struct al_trial_log){.path = path,
		.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
	if (log->file < 0)
		return fail(log, err);
	if (flock(log->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		close(log->file);
		log->path = NULL;
		return al_fail(err, AL_EINPUT, "%s: another process is writing it", path);
	}
	return read_all(log, of, err);
}

void al_trial_log_close(struct al_trial_log *log, bool is_complete)
{
	if (!log->path)
		return;
	if (is_complete || log->n == 0)
		(void)unlink(log->path);
	if (log->file >= 0)
		close(log->file);
	*log = (struct al_trial_log){0};
}

bool al_trial_log_next(struct al_trial_log *log, struct al_judgment *out)
{
	struct entry entry;

	if (log->n_used >= log->n_found || !read_entry(log, log->n_used, &entry))
		return false;
	log->n_used++;
	*out = entry.judgment;
	return true;
}

bool al_trial_log_add(struct al_trial_log *log, const struct al_judgment *judgment,
	struct al_error *err)
{
	struct entry entry;

	memset(&entry, 0, sizeof(entry));
	entry.judgment = *judgment;
	entry.hash = hash_of(&entry.judgment, log->n);
	if (!al_temporary_write(log->file, place_of(log->n), &entry, sizeof(entry)))
		return fail(log, err);
	log->n++;
	return true;
}
