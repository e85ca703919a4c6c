/* The residual stream, in memory or in a file; and what is kept of it for a pass that goes on. */
#include "model/forward/stream.h"

#include <errno.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/temporary.h"

bool al_stream_init(struct al_stream *s, struct al_network *network, const struct al_batch *all,
	struct al_error *err)
{
	const uint64_t bytes = (uint64_t)al_batch_tokens(all) * (uint64_t)network->d_model * 4;

	*s = (struct al_stream){.network = network,
		.all = *all,
		.parts = al_calloc(all->n_sequences, sizeof(*s->parts)),
		.kept = al_calloc(all->n_sequences, sizeof(*s->kept))};
	for (size_t first = 0; first < all->n_sequences; s->n++) {
		al_batch_part_init(&s->parts[s->n], all, first);
		first += s->parts[s->n].batch.n_sequences;
	}
	return bytes <= network->most_kept || al_spill_open(&s->file, NULL, err);
}

void al_stream_finish(struct al_stream *s)
{
	for (size_t i = 0; i < s->n; i++) {
		al_batch_part_finish(&s->parts[i]);
		al_matrix_finish_f(&s->kept[i]);
	}
	free(s->parts);
	free(s->kept);
	al_spill_close(&s->file);
}

/* Where a part is in the file, as two numbers of bytes. */
static void find_place(const struct al_stream *s, size_t part, uint64_t *at, size_t *length)
{
	const struct al_batch *batch = &s->parts[part].batch;
	const size_t first = (size_t)(batch->tokens - s->parts[0].batch.tokens);
	const size_t column = (size_t)s->network->d_model * sizeof(float);

	*at = (uint64_t)first * column;
	*length = al_batch_tokens(batch) * column;
}

bool al_stream_take(struct al_stream *s, size_t part, struct al_error *err)
{
	const struct al_batch *batch = &s->parts[part].batch;
	struct al_matrix_f *x = &s->kept[part];
	uint64_t at;
	size_t length;

	if (!s->is_embedded)
		return al_network_embed(s->network, batch, 0, x, err);
	find_place(s, part, &at, &length);
	return !s->file.is_open
		|| (al_matrix_init_f(x, (size_t)s->network->d_model, al_batch_tokens(batch), err)
			&& al_spill_get(&s->file, at, x->data, length, err));
}

bool al_stream_put_back(struct al_stream *s, size_t part, struct al_error *err)
{
	struct al_matrix_f *x = &s->kept[part];
	uint64_t at;
	size_t length;

	if (!s->file.is_open)
		return true;
	find_place(s, part, &at, &length);
	if (!al_spill_put_at(&s->file, at, x->data, length, err))
		return false;
	al_matrix_finish_f(x);
	return true;
}

/* ---- states: a head, the visitor's memory, the stream ---- */

struct head {
	char magic[8];
	uint64_t of;
	int64_t n_passed;
	uint64_t own_bytes, stream_bytes;
	uint64_t own_hash, stream_hash;
};
static const char MAGIC[] = "al-pass1"; /* without its end */

static uint64_t own_bytes(const struct al_pass_state *state)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < state->n_own; i++)
		bytes += state->own[i].length;
	return bytes;
}

static uint64_t hash_own(const struct al_pass_state *state)
{
	uint64_t hash = AL_HASH_EMPTY;

	for (size_t i = 0; i < state->n_own; i++)
		hash = al_hash_block(hash, state->own[i].data, state->own[i].length);
	return hash;
}

static struct head head_of(const struct al_pass_state *state, const struct al_network *network,
	const struct al_batch *all)
{
	struct head head = {.of = state->of,
		.n_passed = state->n_passed,
		.own_bytes = own_bytes(state),
		.stream_bytes = (uint64_t)al_batch_tokens(all) * (uint64_t)network->d_model * 4};

	memcpy(head.magic, MAGIC, sizeof(head.magic));
	return head;
}

/* ---- keeping ---- */

static bool fail_write(const char *path, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "%s: can't write: %s", path, strerror(errno));
}

/* The head comes last: only then the stream's hash is known. */
static bool write_state(struct al_stream *s, const struct al_pass_state *state, struct head head,
	int file, struct al_error *err)
{
	uint64_t at = sizeof(head);

	for (size_t i = 0; i < state->n_own; at += state->own[i++].length)
		if (!al_temporary_write(file, (int64_t)at, state->own[i].data,
			    state->own[i].length))
			return fail_write(state->path, err);
	head.own_hash = hash_own(state);
	head.stream_hash = AL_HASH_EMPTY;
	for (size_t i = 0; i < s->n; i++) {
		uint64_t place;
		size_t length;
		find_place(s, i, &place, &length);
		if (!al_stream_take(s, i, err))
			return false;
		const void *x = s->kept[i].data;
		head.stream_hash = al_hash_block(head.stream_hash, x, length);
		if (!al_temporary_write(file, (int64_t)(at + place), x, length))
			return fail_write(state->path, err);
		if (!al_stream_put_back(s, i, err))
			return false;
	}
	return al_temporary_write(file, 0, &head, sizeof(head)) || fail_write(state->path, err);
}

bool al_stream_keep(struct al_stream *s, const struct al_pass_state *state, struct al_error *err)
{
	AL_ARENA(arena);
	char *name = al_temporary_name(&arena, state->path);

	al_temporary_tidy(state->path);
	const int file = al_temporary_make(name, false);
	if (file < 0)
		return fail_write(state->path, err);
	const struct head head = head_of(state, s->network, &s->all);
	bool ok = write_state(s, state, head, file, err)
		&& ((fsync(file) == 0 && rename(name, state->path) == 0)
			|| fail_write(state->path, err));
	if (!ok)
		unlink(name);
	close(file);
	return ok;
}

/* ---- finding ---- */

static bool read_own(const struct al_pass_state *state, const struct al_source *file,
	const struct head *head)
{
	uint64_t at = sizeof(*head);
	bool ok = true;

	for (size_t i = 0; ok && i < state->n_own; at += state->own[i++].length)
		ok = al_source_read(file, at, state->own[i].data, state->own[i].length, NULL);
	return ok && hash_own(state) == head->own_hash;
}

static bool is_of(const struct al_pass_state *state, const struct al_network *network,
	const struct al_batch *all, const struct al_source *file, struct head *head)
{
	const struct head own = head_of(state, network, all);

	return al_source_read(file, 0, head, sizeof(*head), NULL)
		&& memcmp(head->magic, MAGIC, sizeof(head->magic)) == 0 && head->of == own.of
		&& head->own_bytes == own.own_bytes && head->stream_bytes == own.stream_bytes
		&& head->n_passed > 0 && head->n_passed < network->n_layers
		&& file->bytes == sizeof(*head) + own.own_bytes + own.stream_bytes;
}

void al_pass_state_find(struct al_pass_state *state, const struct al_network *network,
	const struct al_batch *all)
{
	struct al_source file;
	struct head head;

	state->n_passed = 0;
	if (!al_source_open(&file, state->path, NULL))
		return;
	if (is_of(state, network, all, &file, &head)) {
		if (read_own(state, &file, &head))
			state->n_passed = head.n_passed;
		else
			for (size_t i = 0; i < state->n_own; i++)
				memset(state->own[i].data, 0, state->own[i].length);
	}
	al_source_close(&file);
}

static bool read_stream(struct al_stream *s, const struct al_pass_state *state,
	const struct al_source *file, struct al_error *err)
{
	const uint64_t first = sizeof(struct head) + own_bytes(state);
	uint64_t hash = AL_HASH_EMPTY, at;
	struct head head;
	size_t length;

	for (size_t i = 0; i < s->n; i++) {
		struct al_matrix_f *x = &s->kept[i];
		find_place(s, i, &at, &length);
		if (!al_matrix_init_f(x, (size_t)s->network->d_model,
			    al_batch_tokens(&s->parts[i].batch), err)
			|| !al_source_read(file, first + at, x->data, length, err))
			return false;
		hash = al_hash_block(hash, (const unsigned char *)x->data, length);
		if (!al_stream_put_back(s, i, err))
			return false;
	}
	s->is_embedded = true;
	return al_source_read(file, 0, &head, sizeof(head), err)
		&& (head.stream_hash == hash
			|| al_fail(err, AL_EINPUT, "%s: is damaged: remove it to begin again",
				state->path));
}

bool al_stream_restore(struct al_stream *s, const struct al_pass_state *state, struct al_error *err)
{
	struct al_source file;

	if (!al_source_open(&file, state->path, err))
		return false;
	const bool ok = read_stream(s, state, &file, err);
	al_source_close(&file);
	return ok;
}
