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
	free(calibration->n_queries);
	al_arena_finish(&calibration->arena);
	*calibration = (struct al_calibration){0};
}

/* ---- folds ---- */

bool al_statistic_is_square(enum al_statistic_kind kind)
{
	return kind == AL_STATISTIC_INPUTS || kind == AL_STATISTIC_HEADS
		|| kind == AL_STATISTIC_DISTANCES;
}

bool al_statistics_sum(const struct al_module_statistics *statistics, enum al_statistic_kind kind,
	al_folds folds, struct al_matrix *out, struct al_error *err)
{
	return (al_statistic_is_square(kind) ? al_packed_sum : al_columns_sum)(statistics->of[kind],
		folds, out, err);
}

bool al_statistics_check(const struct al_module_statistics *statistics, struct al_error *err)
{
	for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
		const struct al_matrix m = statistics->of[kind];
		int64_t bad = 0;
		for (size_t i = 0; i < m.rows; i++) {
			double sum = 0;
			for (size_t fold = 0; fold < m.cols; fold++)
				sum += m.data[i + fold * m.ld];
			bad += !isfinite(sum);
		}
		if (!al_check_not_finite(bad, (int64_t)m.rows, al_statistic_names[kind], err))
			return false;
	}
	return true;
}

double al_statistics_tokens(const struct al_module_statistics *statistics)
{
	const struct al_matrix inputs = statistics->of[AL_STATISTIC_INPUTS];
	double n = 0;

	for (size_t fold = 0; fold < inputs.cols; fold++)
		n += inputs.data[inputs.rows - 1 + fold * inputs.ld];
	return n;
}

int64_t al_calibration_queries(const struct al_calibration *calibration)
{
	int64_t n = 0;

	for (size_t fold = 0; fold < calibration->n_folds; fold++)
		n += calibration->n_queries[fold];
	return n;
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

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Folds of zeros behind those that are there. */
static bool widen(struct al_matrix *m, size_t n_folds, struct al_error *err)
{
	AL_OWNED struct al_matrix narrow = *m;

	if (!al_matrix_init(m, narrow.rows, n_folds, err))
		return false;
	memcpy(m->data, narrow.data, narrow.rows * narrow.cols * sizeof(*narrow.data));
	return true;
}

/* Fold f to fold first + f, modulo their number. */
static void add_folds(struct al_matrix to, struct al_matrix from, size_t first)
{
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + (first + j) % to.cols * to.ld] += from.data[i + j * from.ld];
}

static bool add_module(struct al_calibration *calibration, struct al_module_statistics *to,
	const struct al_calibration *other, struct al_error *err)
{
	const struct al_module_statistics *from;

	if (!al_calibration_find(other, to->name, &from, err))
		return false;
	for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
		const char *name = al_statistic_names[kind];
		if (to->of[kind].rows != from->of[kind].rows)
			return al_fail(err, AL_EINPUT, "%s: %s.%s has %zu numbers, expected %zu",
				other->path, to->name, name, from->of[kind].rows,
				to->of[kind].rows);
		if (!widen(&to->of[kind], calibration->n_folds, err))
			return false;
		add_folds(to->of[kind], from->of[kind], calibration->n_sequences);
	}
	return al_statistics_check(to, err) || al_in(err, "%s: %s: with it", other->path, to->name);
}

static void widen_queries(struct al_calibration *calibration, size_t n_folds)
{
	int64_t *queries = al_calloc(n_folds, sizeof(*queries));

	memcpy(queries, calibration->n_queries, calibration->n_folds * sizeof(*queries));
	free(calibration->n_queries);
	calibration->n_queries = queries;
	calibration->n_folds = n_folds;
}

static void add_sequences(struct al_calibration *calibration, const struct al_calibration *other)
{
	const size_t n = calibration->n_sequences + other->n_sequences;
	uint64_t *sequences = al_alloc(n, sizeof(*sequences));

	memcpy(sequences, calibration->sequences, calibration->n_sequences * sizeof(*sequences));
	memcpy(sequences + calibration->n_sequences, other->sequences,
		other->n_sequences * sizeof(*sequences));
	free(calibration->sequences);
	calibration->sequences = sequences;
	calibration->n_sequences = n;
	al_calibration_sort(calibration);
}

bool al_calibration_add(struct al_calibration *calibration, const struct al_calibration *other,
	struct al_error *err)
{
	const size_t both = calibration->n_folds + other->n_folds;

	if (!check_alike(calibration, other, err))
		return false;
	if (al_calibration_queries(other) > INT64_MAX - al_calibration_queries(calibration))
		return al_fail(err, AL_EINPUT, "%s: has too many queries to add", other->path);
	widen_queries(calibration,
		larger(larger(calibration->n_folds, other->n_folds), al_least(both, AL_FOLDS)));
	for (size_t fold = 0; fold < other->n_folds; fold++)
		calibration->n_queries[(calibration->n_sequences + fold) % calibration->n_folds] +=
			other->n_queries[fold];
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (!add_module(calibration, &calibration->modules[i], other, err))
			return false;
	add_sequences(calibration, other);
	return true;
}
