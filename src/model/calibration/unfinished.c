/* Recordings that go on where they were ended. */
#include <unistd.h>

#include "base/hash.h"
#include "model/calibration/calibration.h"

static const double SECONDS = 5; /* so that keeping costs nothing that can be measured */

/* Of all that its numbers hang on. */
static uint64_t fingerprint(const struct al_calibration *calibration,
	const struct al_network *network, const struct al_batch *all)
{
	const uint64_t numbers[] = {calibration->source, calibration->n_folds,
		al_calibration_has(calibration, AL_STATISTIC_RANDOM_SUCCESSORS)};

	return al_hash(al_network_fingerprint(network, all), numbers, sizeof(numbers));
}

static void add(struct al_unfinished *u, struct al_kept_memory *own, void *data, size_t length)
{
	if (data)
		own[u->state.n_own++] = (struct al_kept_memory){data, length};
}

static void add_module(struct al_unfinished *u, struct al_kept_memory *own,
	const struct al_calibration *calibration, const struct al_module_statistics *module)
{
	add(u, own, module->tokens, calibration->n_folds * sizeof(double));
	for (int kind = 0; kind < AL_N_STATISTICS; kind++)
		add(u, own, module->of[kind].data,
			module->of[kind].rows * module->of[kind].cols * sizeof(double));
}

/* Where a module is complete behind its layer, its moments are taken; else they are kept, too. */
static bool list_own(struct al_unfinished *u, const struct al_calibration *calibration,
	const struct al_network *network, const struct al_kept_memory *taken, struct al_error *err)
{
	const bool is_taken = al_calibration_is_by_layer(network);
	struct al_kept_memory *own = al_new_array(&u->arena, struct al_kept_memory,
		2 + calibration->n_modules * (1 + AL_N_STATISTICS));

	u->state.own = own;
	add(u, own, &u->written, sizeof(u->written));
	if (taken)
		add(u, own, taken->data, taken->length);
	for (size_t i = 0; i < calibration->n_modules; i++) {
		if (!is_taken
			&& !al_statistics_make_room(calibration, &calibration->modules[i], err))
			return false;
		add_module(u, own, calibration, &calibration->modules[i]);
	}
	return true;
}

static bool keep_file(void *context, struct al_error *err)
{
	struct al_unfinished *u = context;

	return !u->writer || al_calibration_writer_keep(u->writer, &u->written, err);
}

bool al_unfinished_find(struct al_unfinished *u, const struct al_calibration *calibration,
	const struct al_network *network, const struct al_batch *all, const char *path,
	const struct al_kept_memory *taken, struct al_error *err)
{
	*u = (struct al_unfinished){.state = {.of = fingerprint(calibration, network, all),
					    .seconds = SECONDS,
					    .before = keep_file,
					    .context = u}};
	al_arena_init(&u->arena);
	u->state.path = al_format(&u->arena, "%s.state", path);
	if (!list_own(u, calibration, network, taken, err))
		return false;
	al_pass_state_find(&u->state, network, all);
	return true;
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
