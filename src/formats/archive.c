/* Zip archives, read by libzip.
 *
 * libzip reads through a function of ours, which reads the file as everything else does, and which
 * sees where libzip reads: the first byte of a stored member is read where the member lies, which
 * libzip doesn't report. From there on its bytes are read from the file, by any thread. */
#include "formats/archive.h"

#include <zip.h>

#include "formats/format.h"

/* Deflate makes at most 1032 bytes of one. */
enum { MOST_RATIO = 1032, MOST_MEMBERS = 1 << 20, MOST_ENDS = 8, ROOM = 1 << 16, COMPARED = 64 };

static const uint64_t UNSEEN = UINT64_MAX;

struct reader {
	struct al_archive base; /* the first: an archive is a reader */
	struct al_arena *arena;
	const struct al_source *source;
	zip_t *zip;
	uint64_t at; /* where libzip reads next */
	uint64_t seen; /* where it read first since this was UNSEEN */
	bool failed; /* the file can't be read: `err` has the reason */
	struct al_error err;
};

/* ---- what libzip reads through ---- */

static zip_int64_t read_source(struct reader *r, void *data, uint64_t length)
{
	const uint64_t left = r->source->bytes - r->at, n = al_least(length, left);

	if (r->seen == UNSEEN)
		r->seen = r->at;
	if (!al_source_read(r->source, r->at, data, (size_t)n, &r->err)) {
		r->failed = true;
		return -1;
	}
	r->at += n;
	return (zip_int64_t)n;
}

static zip_int64_t seek_source(struct reader *r, void *data, uint64_t length)
{
	zip_error_t unused;
	const zip_int64_t to = zip_source_seek_compute_offset(r->at, r->source->bytes, data, length,
		&unused);

	if (to < 0)
		return -1;
	r->at = (uint64_t)to;
	return 0;
}

static zip_int64_t tell_status(const struct reader *r, void *data)
{
	zip_stat_t *status = data;

	zip_stat_init(status);
	status->size = r->source->bytes;
	status->valid |= ZIP_STAT_SIZE;
	return sizeof(*status);
}

static zip_int64_t serve(void *context, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
	struct reader *r = context;

	switch (command) {
	case ZIP_SOURCE_OPEN:
		r->at = 0;
		return 0;
	case ZIP_SOURCE_READ:
		return read_source(r, data, length);
	case ZIP_SOURCE_SEEK:
		return seek_source(r, data, length);
	case ZIP_SOURCE_TELL:
		return (zip_int64_t)r->at;
	case ZIP_SOURCE_STAT:
		return tell_status(r, data);
	case ZIP_SOURCE_ERROR: {
		zip_error_t error;
		zip_error_init(&error);
		zip_error_set(&error, ZIP_ER_READ, 0);
		return zip_error_to_data(&error, data, length);
	}
	case ZIP_SOURCE_SUPPORTS:
		return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ,
			ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
			ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
	default: /* close, free */
		return 0;
	}
}

/* libzip's word for what is wrong, or what kept it from reading. */
static bool fail_zip(const struct reader *r, const char *member, zip_error_t *error,
	struct al_error *err)
{
	if (r->failed)
		return al_fail(err, r->err.status, "%s", r->err.message);
	return al_fail(err, AL_EINPUT, "%s: %s%.120s%scan't be read as a zip archive: %s",
		r->source->path, member ? "member \"" : "", member ? member : "",
		member ? "\" " : "", error ? zip_error_strerror(error) : "it ends early");
}

/* ---- the list of members ---- */

/* How often an archive's end is found in the file's last bytes: libzip tries each of them, and
 * reads the list of members as often. Also where the list is, by the last one found. */
static bool find_directory(struct reader *r, struct al_error *err)
{
	enum { LAST = ROOM + 22 };
	const uint64_t size = r->source->bytes, n = al_least(size, LAST);
	AL_FREED unsigned char *tail = al_alloc(LAST, 1);
	unsigned char *end = NULL;
	uint32_t offset = UINT32_MAX;
	size_t n_ends = 0;

	if (!al_source_read(r->source, size - n, tail, (size_t)n, err))
		return false;
	for (uint64_t i = 0; i + 22 <= n; i++)
		if (memcmp(tail + i, "PK\5\6", 4) == 0) {
			end = tail + i;
			n_ends++;
		}
	if (end)
		memcpy(&offset, end + 16, sizeof(offset));
	r->base.directory = offset;
	if (offset >= size || size - offset > MOST_MEMBERS * UINT64_C(256))
		r->base.directory = size - n;
	r->base.directory_bytes = size - r->base.directory;
	return n_ends <= MOST_ENDS
		|| al_fail(err, AL_EINPUT, "%s: corrupt zip archive: %zu end records",
			r->source->path, n_ends);
}

static bool fail_member(const struct reader *r, const char *name, const char *what,
	struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: member \"%.120s\" %s", r->source->path, name, what);
}

static bool check_member(const struct reader *r, const zip_stat_t *s, struct al_error *err)
{
	const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE
		| ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;

	if ((s->valid & needed) != needed)
		return fail_member(r, "", "has no header", err);
	if (s->encryption_method != ZIP_EM_NONE)
		return fail_member(r, s->name, "is encrypted", err);
	if (s->comp_method != ZIP_CM_STORE && s->comp_method != ZIP_CM_DEFLATE)
		return al_fail(err, AL_EINPUT,
			"%s: member \"%.120s\" uses compression method %u; only none and deflate "
			"are supported",
			r->source->path, s->name, (unsigned)s->comp_method);
	if (s->comp_method == ZIP_CM_STORE && s->size != s->comp_size)
		return fail_member(r, s->name, "isn't compressed, but its two sizes differ", err);
	return s->size / MOST_RATIO <= s->comp_size
		|| fail_member(r, s->name, "claims to unpack to more than deflate can encode", err);
}

/* Members that lie on each other would unpack one byte many times. */
static bool add_member(struct reader *r, size_t i, uint64_t *left, struct al_error *err)
{
	struct al_member *member = &r->base.members[i];
	zip_stat_t s;

	zip_stat_init(&s);
	if (zip_stat_index(r->zip, i, ZIP_FL_ENC_RAW, &s) != 0)
		return fail_zip(r, NULL, zip_get_error(r->zip), err);
	if (!check_member(r, &s, err))
		return false;
	if (s.comp_size > *left)
		return al_fail(err, AL_EINPUT, "%s: corrupt archive: members overlap",
			r->source->path);
	*left -= s.comp_size;
	*member = (struct al_member){.name = al_strdup(r->arena, s.name),
		.bytes = s.size,
		.is_packed = s.comp_method == ZIP_CM_DEFLATE};
	return true;
}

static bool add_members(struct reader *r, struct al_error *err)
{
	const zip_int64_t n = zip_get_num_entries(r->zip, 0);
	uint64_t left = r->source->bytes;

	if (n < 0 || n > MOST_MEMBERS)
		return al_fail(err, AL_EINPUT, "%s: a zip archive of %" PRId64 " members",
			r->source->path, (int64_t)n);
	r->base.members = al_new_array(r->arena, struct al_member, (size_t)n + 1);
	r->base.n_members = (size_t)n;
	for (size_t i = 0; i < r->base.n_members; i++)
		if (!add_member(r, i, &left, err))
			return false;
	return true;
}

/* ---- a member ---- */

static zip_file_t *open_member(struct reader *r, size_t member, struct al_error *err)
{
	zip_file_t *file = zip_fopen_index(r->zip, member, 0);

	if (!file)
		fail_zip(r, r->base.members[member].name, zip_get_error(r->zip), err);
	return file;
}

static bool read_member(struct reader *r, size_t member, zip_file_t *file, void *out, size_t length,
	struct al_error *err)
{
	char *next = out;

	for (size_t done = 0; done < length;) {
		const zip_int64_t n = zip_fread(file, next + done, length - done);
		if (n <= 0)
			return fail_zip(r, r->base.members[member].name,
				n < 0 ? zip_file_get_error(file) : NULL, err);
		done += (size_t)n;
	}
	return true;
}

static bool read_first(struct al_archive *archive, size_t member, void *out, size_t length,
	struct al_error *err)
{
	struct reader *r = (struct reader *)archive;
	zip_file_t *file = open_member(r, member, err);
	const bool ok = file && read_member(r, member, file, out, length, err);

	if (file)
		zip_fclose(file);
	return ok;
}

static bool place(struct al_archive *archive, size_t member, struct al_error *err)
{
	struct reader *r = (struct reader *)archive;
	struct al_member *found = &archive->members[member];
	const size_t n = (size_t)al_least(found->bytes, COMPARED);
	zip_file_t *file = open_member(r, member, err);
	char first[COMPARED], there[COMPARED];

	if (!file)
		return false;
	r->seen = UNSEEN;
	const bool ok = read_member(r, member, file, first, n, err);
	zip_fclose(file);
	found->offset = found->bytes ? r->seen : 0;
	if (!ok)
		return false;
	if (found->offset >= r->source->bytes || found->bytes > r->source->bytes - found->offset)
		return fail_member(r, found->name, "goes beyond the end of the file", err);
	return al_source_read(r->source, found->offset, there, n, err)
		&& (memcmp(there, first, n) == 0
			|| fail_member(r, found->name, "isn't at its recorded position", err));
}

static bool copy_member(struct reader *r, size_t member, zip_file_t *file, struct al_spill *out,
	struct al_error *err)
{
	AL_FREED char *block = al_alloc(ROOM, 1);
	uint64_t at;
	size_t now;
	char more;

	for (uint64_t left = r->base.members[member].bytes; left > 0; left -= now) {
		now = (size_t)al_least(left, ROOM);
		if (!read_member(r, member, file, block, now, err)
			|| !al_spill_put(out, block, now, &at, err))
			return false;
	}
	/* the last read compares the checksum */
	return zip_fread(file, &more, 1) == 0
		|| fail_zip(r, r->base.members[member].name, zip_file_get_error(file), err);
}

static bool unpack(struct al_archive *archive, size_t member, struct al_spill *out, uint64_t *at,
	struct al_error *err)
{
	struct reader *r = (struct reader *)archive;
	zip_file_t *file = open_member(r, member, err);

	*at = out->source.bytes;
	const bool ok = file && copy_member(r, member, file, out, err);
	if (file)
		zip_fclose(file);
	return ok;
}

/* ---- the archive ---- */

static void close_archive(struct al_archive *archive)
{
	struct reader *r = (struct reader *)archive;

	if (r->zip)
		zip_discard(r->zip);
	r->zip = NULL;
}

static bool open_zip(struct reader *r, struct al_error *err)
{
	zip_error_t error;

	zip_error_init(&error);
	zip_source_t *source = zip_source_function_create(serve, r, &error);
	r->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
	if (!r->zip) {
		fail_zip(r, NULL, &error, err);
		zip_source_free(source);
	}
	zip_error_fini(&error);
	return r->zip != NULL;
}

/* The list of members is read and checked, no byte is unpacked. All are stored or deflated, none is
 * encrypted; together they don't hold more than the file can. */
bool al_archive_open_shard(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;
	struct reader *r = al_new(&listing->checkpoint->arena, struct reader);

	*r = (struct reader){.base = {.read = read_first,
				     .place = place,
				     .unpack = unpack,
				     .close = close_archive},
		.arena = &listing->checkpoint->arena,
		.source = &shard->source};
	shard->archive = &r->base; /* closed with the checkpoint */
	if (!find_directory(r, err) || !open_zip(r, err) || !add_members(r, err))
		return false;
	shard->header_text = r->base.directory;
	shard->header_bytes = shard->header_text_bytes = r->base.directory_bytes;
	return true;
}
