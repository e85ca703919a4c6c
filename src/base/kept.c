/* Results that were made before the program was ended. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/kept.h"
#include "base/temporary.h"

struct head {
	char magic[8];
	uint64_t of;
};
static const char MAGIC[8] = "al-kept";

/* Of a result, and of which one it is: what is behind it. */
static uint64_t hash_of(const struct al_kept *kept, const void *result, size_t number)
{
	const uint64_t at = number;

	return al_hash_block(al_hash(AL_HASH_EMPTY, &at, sizeof(at)), result, kept->bytes);
}

static bool fail(const struct al_kept *kept, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", kept->path, strerror(errno));
}

static int64_t place_of(const struct al_kept *kept, size_t number)
{
	return (int64_t)(sizeof(struct head) + number * (kept->bytes + sizeof(uint64_t)));
}

static bool read_result(const struct al_kept *kept, size_t number, void *out)
{
	const off_t at = (off_t)place_of(kept, number);
	uint64_t hash;

	return pread(kept->file, out, kept->bytes, at) == (ssize_t)kept->bytes
		&& pread(kept->file, &hash, sizeof(hash), at + (off_t)kept->bytes) == sizeof(hash)
		&& hash == hash_of(kept, out, number);
}

static struct head head_of(const struct al_kept *kept)
{
	struct head head = {.of = kept->of};

	memcpy(head.magic, MAGIC, sizeof(MAGIC));
	return head;
}

/* Of other work, or cut: what can't be used goes. */
static bool read_all(struct al_kept *kept, struct al_error *err)
{
	const struct head own = head_of(kept);
	struct head head = {.of = 0};
	AL_FREED void *result = al_alloc(kept->bytes, 1);

	kept->is_found = pread(kept->file, &head, sizeof(head), 0) == sizeof(head)
		&& memcmp(&head, &own, sizeof(head)) == 0;
	while (kept->is_found && read_result(kept, kept->n, result))
		kept->n++;
	kept->n_found = kept->n;
	return ftruncate(kept->file, kept->is_found ? (off_t)place_of(kept, kept->n) : 0) == 0
		|| fail(kept, err);
}

bool al_kept_open(struct al_kept *kept, const char *path, uint64_t of, size_t bytes,
	struct al_error *err)
{
	*kept = (struct al_kept){.path = path,
		.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600),
		.of = of,
		.bytes = bytes};
	if (kept->file < 0) {
		fail(kept, err);
		kept->path = NULL;
		return false;
	}
	if (flock(kept->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		close(kept->file);
		kept->path = NULL;
		return al_fail(err, AL_EINPUT, "%s: another process is writing it", path);
	}
	return read_all(kept, err);
}

void al_kept_close(struct al_kept *kept, bool is_complete)
{
	if (!kept->path)
		return;
	if (is_complete || kept->n == 0)
		(void)unlink(kept->path);
	close(kept->file);
	*kept = (struct al_kept){0};
}

bool al_kept_begin(struct al_kept *kept, struct al_error *err)
{
	const struct head head = head_of(kept);

	return !kept->path || al_temporary_write(kept->file, 0, &head, sizeof(head))
		|| fail(kept, err);
}

bool al_kept_next(struct al_kept *kept, void *out)
{
	if (kept->n_used >= kept->n_found || !read_result(kept, kept->n_used, out))
		return false;
	kept->n_used++;
	return true;
}

bool al_kept_add(struct al_kept *kept, const void *result, struct al_error *err)
{
	const int64_t at = place_of(kept, kept->n);
	const uint64_t hash = hash_of(kept, result, kept->n);

	if (kept->n == 0 && !al_kept_begin(kept, err))
		return false;
	if (!al_temporary_write(kept->file, at, result, kept->bytes)
		|| !al_temporary_write(kept->file, at + (int64_t)kept->bytes, &hash, sizeof(hash)))
		return fail(kept, err);
	kept->n++;
	return true;
}
