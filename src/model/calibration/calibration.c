/* Calibrations in memory. */
#include "model/calibration/calibration.h"

#include "base/hash.h"
#include "model/heads/views.h"

const char *const al_statistic_names[AL_N_STATISTICS] = {"inputs", "heads", "sums", "norms",
	"entropies", "distances"};

void al_calibration_finish(void *object)
{
	struct al_calibration *calibration = object;

	for (size_t i = 0; i < calibration->n_modules; i++)
		for (int kind = 0; kind < AL_N_STATISTICS; kind++)
			al_matrix_finish(&calibration->modules[i].of[kind]);
	free(calibration->sequences);
	al_arena_finish(&calibration->arena);
	*calibration = (struct al_calibration){0};
}

double al_statistics_tokens(const struct al_module_statistics *statistics)
{
	const struct al_matrix inputs = statistics->of[AL_STATISTIC_INPUTS];

	return inputs.data[inputs.rows - 1 + (inputs.cols - 1) * inputs.ld];
}

bool al_calibration_find(const struct al_calibration *calibration, const char *name,
	const struct al_module_statistics **out, struct al_error *err)
{
	for (size_t i = 0; i < calibration->n_modules; i++) {
		*out = &calibration->modules[i];
		if (strcmp((*out)->name, name) == 0)
			return true;
	}
	return al_fail(err, AL_EINPUT, "%s: has no statistics of module %s", calibration->path,
		name);
}

/* ---- sequences ---- */

/* Of the tokens as they lie in memory, little-endian on this program's machines. */
uint64_t al_sequence_fingerprint(const struct al_batch *all, size_t i)
{
	return al_hash(AL_HASH_EMPTY, all->tokens + all->begin[i],
		(all->begin[i + 1] - all->begin[i]) * sizeof(*all->tokens));
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void al_calibration_sort(struct al_calibration *calibration)
{
	qsort(calibration->sequences, calibration->n_sequences, sizeof(uint64_t), compare);
}

static bool has_seen(const struct al_calibration *calibration, uint64_t sequence)
{
	return bsearch(&sequence, calibration->sequences, calibration->n_sequences,
		sizeof(sequence), compare);
}

size_t al_calibration_count_seen(const struct al_calibration *calibration,
	const struct al_batch *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n_sequences; i++)
		n += has_seen(calibration, al_sequence_fingerprint(all, i));
	return n;
}

/* ---- sums of sums ---- */

static bool check_alike(const struct al_calibration *a, const struct al_calibration *b,
	struct al_error *err)
{
	if (a->source != b->source)
		return al_fail(err, AL_EINPUT, "%s: belongs to a different model than %s", b->path,
			a->path);
	if (a->n_modules != b->n_modules)
		return al_fail(err, AL_EINPUT, "%s: has %zu modules, %s has %zu", b->path,
			b->n_modules, a->path, a->n_modules);
	for (size_t i = 0; i < b->n_sequences; i++)
		if (!has_seen(a, b->sequences[i]))
			return true;
	return al_fail(err, AL_EINPUT, "%s: all its sequences are already counted", b->path);
}

static void add_matrix(struct al_matrix to, struct al_matrix from)
{
	for (size_t j = 0; j < to.cols; j++)
		for (size_t i = 0; i < to.rows; i++)
			to.data[i + j * to.ld] += from.data[i + j * from.ld];
}

static bool add_module(struct al_module_statistics *to, const struct al_calibration *other,
	struct al_error *err)
{
	const struct al_module_statistics *from;

	if (!al_calibration_find(other, to->name, &from, err))
		return false;
	for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
		if (to->of[kind].rows != from->of[kind].rows)
			return al_fail(err, AL_EINPUT, "%s: %s.%s is %zu wide, expected %zu",
				other->path, to->name, al_statistic_names[kind],
				from->of[kind].rows, to->of[kind].rows);
		add_matrix(to->of[kind], from->of[kind]);
		const int64_t bad = al_matrix_count_not_finite(al_view(to->of[kind]));
		if (!al_check_not_finite(bad, (int64_t)(to->of[kind].rows * to->of[kind].cols),
			    al_statistic_names[kind], err))
			return al_in(err, "%s: %s: with it", other->path, to->name);
	}
	return true;
}

bool al_calibration_add(struct al_calibration *calibration, const struct al_calibration *other,
	struct al_error *err)
{
	const size_t n = calibration->n_sequences + other->n_sequences;
	int64_t n_queries;

	if (!check_alike(calibration, other, err))
		return false;
	if (__builtin_add_overflow(calibration->n_queries, other->n_queries, &n_queries))
		return al_fail(err, AL_EINPUT, "%s: has too many queries to add", other->path);
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (!add_module(&calibration->modules[i], other, err))
			return false;
	uint64_t *sequences = al_alloc(n, sizeof(*sequences));
	memcpy(sequences, calibration->sequences, calibration->n_sequences * sizeof(*sequences));
	memcpy(sequences + calibration->n_sequences, other->sequences,
		other->n_sequences * sizeof(*sequences));
	free(calibration->sequences);
	calibration->sequences = sequences;
	calibration->n_sequences = n;
	al_calibration_sort(calibration);
	calibration->n_queries = n_queries;
	return true;
}
