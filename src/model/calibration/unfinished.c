/* Recordings that go on where they were ended. */
#include <unistd.h>

#include "base/hash.h"
#include "linalg/kernel.h"
#include "model/calibration/calibration.h"

static const double SECONDS = 5; /* so that keeping costs nothing that can be measured */

static uint64_t add_text(uint64_t hash, const char *text)
{
	return al_hash(hash, text, strlen(text) + 1);
}

/* Of all that its numbers hang on. */
static uint64_t fingerprint(const struct al_calibration *calibration, const struct al_batch *all)
{
	const uint64_t numbers[] = {calibration->source, calibration->n_folds, all->first_sequence,
		al_calibration_has(calibration, AL_STATISTIC_RANDOM_SUCCESSORS)};
	uint64_t hash = add_text(AL_HASH_EMPTY, al_version());

	hash = add_text(hash, al_blas_kernel());
	hash = al_hash_block(hash, (const unsigned char *)numbers, sizeof(numbers));
	hash = al_hash_block(hash, (const unsigned char *)all->begin,
		(all->n_sequences + 1) * sizeof(*all->begin));
	return al_hash_block(hash, (const unsigned char *)all->tokens,
		al_batch_tokens(all) * sizeof(*all->tokens));
}

static void add(struct al_unfinished *u, struct al_kept_memory *own, void *data, size_t length)
{
	if (data)
		own[u->state.n_own++] = (struct al_kept_memory){data, length};
}

/* All but moments, which are in the file. */
static void list_own(struct al_unfinished *u, const struct al_calibration *calibration)
{
	struct al_kept_memory *own = al_new_array(&u->arena, struct al_kept_memory,
		1 + calibration->n_modules * (1 + AL_N_STATISTICS));

	u->state.own = own;
	add(u, own, &u->written, sizeof(u->written));
	for (size_t i = 0; i < calibration->n_modules; i++) {
		struct al_module_statistics *module = &calibration->modules[i];
		add(u, own, module->tokens, calibration->n_folds * sizeof(double));
		for (int kind = AL_N_LARGE; kind < AL_N_STATISTICS; kind++)
			add(u, own, module->of[kind].data,
				module->of[kind].rows * module->of[kind].cols * sizeof(double));
	}
}

static bool keep_file(void *context, struct al_error *err)
{
	struct al_unfinished *u = context;

	return al_calibration_writer_keep(u->writer, &u->written, err);
}

void al_unfinished_find(struct al_unfinished *u, const struct al_calibration *calibration,
	const struct al_network *network, const struct al_batch *all, const char *path)
{
	*u = (struct al_unfinished){.state = {.of = fingerprint(calibration, all),
					    .seconds = SECONDS,
					    .before = keep_file,
					    .context = u}};
	al_arena_init(&u->arena);
	u->state.path = al_format(&u->arena, "%s.state", path);
	list_own(u, calibration);
	al_pass_state_find(&u->state, network, all);
}

void al_unfinished_finish(struct al_unfinished *u, bool is_complete)
{
	if (!u->state.path)
		return;
	if (is_complete)
		(void)unlink(u->state.path);
	al_arena_finish(&u->arena);
	*u = (struct al_unfinished){0};
}
