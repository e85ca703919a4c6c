/* Calibrations in memory. */
#include "model/calibration/calibration.h"

#include "base/hash.h"
#include "model/heads/views.h"

const char *const al_queries_names[AL_N_QUERIES] = {"queries", "queries.later", "queries.repeated",
	"queries.turned", "queries.random_later", "queries.random_repeated"};

const struct al_recorded_statistic al_statistics[AL_N_STATISTICS] = {
	[AL_STATISTIC_INPUTS] = {"inputs", AL_SIZE_INPUTS, true, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_HEADS] = {"heads", AL_SIZE_OUTPUTS, true, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_SUMS] = {"sums", AL_SIZE_OUTPUTS, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_NORMS] = {"norms", AL_SIZE_HEADS, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_ENTROPIES] = {"entropies", AL_SIZE_HEADS, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_DISTANCES] = {"distances", AL_SIZE_HEADS, true, .over = AL_QUERIES_SAMPLED},
	[AL_STATISTIC_LOGITS] = {"logits", AL_SIZE_HEADS, true, .over = AL_QUERIES_SAMPLED},
	[AL_STATISTIC_SELF] = {"self", AL_SIZE_HEADS, .most = 1, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_PREVIOUS] = {"previous", AL_SIZE_HEADS, .most = 1, .over = AL_QUERIES_LATER},
	[AL_STATISTIC_FIRST] = {"first", AL_SIZE_HEADS, .most = 1, .over = AL_QUERIES_LATER},
	[AL_STATISTIC_DUPLICATES] = {"duplicates", AL_SIZE_HEADS, .most = 1,
		.over = AL_QUERIES_REPEATED},
	[AL_STATISTIC_SUCCESSORS] = {"successors", AL_SIZE_HEADS, .most = 1,
		.over = AL_QUERIES_REPEATED},
	[AL_STATISTIC_SPANS] = {"spans", AL_SIZE_HEADS, .over = AL_QUERIES_ALL},
	[AL_STATISTIC_TURNS] = {"turns", AL_SIZE_HEADS, .most = 180, .over = AL_QUERIES_TURNED},
	[AL_STATISTIC_RANDOM_PREVIOUS] = {"random_previous", AL_SIZE_HEADS, .most = 1,
		.over = AL_QUERIES_RANDOM_LATER},
	[AL_STATISTIC_RANDOM_DUPLICATES] = {"random_duplicates", AL_SIZE_HEADS, .most = 1,
		.over = AL_QUERIES_RANDOM_REPEATED},
	[AL_STATISTIC_RANDOM_SUCCESSORS] = {"random_successors", AL_SIZE_HEADS, .most = 1,
		.over = AL_QUERIES_RANDOM_REPEATED},
};

void al_calibration_finish(void *object)
{
	struct al_calibration *calibration = object;

	for (size_t i = 0; i < calibration->n_modules; i++)
		for (int kind = 0; kind < AL_N_STATISTICS; kind++)
			al_matrix_finish(&calibration->modules[i].of[kind]);
	free(calibration->sequences);
	for (int kind = 0; kind < AL_N_QUERIES; kind++)
		free(calibration->n_queries[kind]);
	al_arena_finish(&calibration->arena);
	*calibration = (struct al_calibration){0};
}

/* ---- folds ---- */

bool al_statistics_sum(const struct al_module_statistics *statistics, enum al_statistic_kind kind,
	al_folds folds, struct al_matrix *out, struct al_error *err)
{
	const struct al_matrix of = statistics->of[kind];

	return al_statistics[kind].is_square ? al_packed_sum(of, folds, out, err)
					     : al_columns_sum(of, folds, out, err);
}

bool al_statistics_mean(const struct al_calibration *calibration,
	const struct al_module_statistics *statistics, enum al_statistic_kind kind,
	struct al_matrix *out, struct al_error *err)
{
	const enum al_queries over = al_statistics[kind].over;
	const double n = over == AL_QUERIES_ALL ? al_statistics_tokens(statistics)
						: (double)al_calibration_queries(calibration, over);

	if (!al_statistics_sum(statistics, kind, AL_ALL_FOLDS, out, err))
		return false;
	for (size_t i = 0; i < out->rows * out->cols; i++)
		out->data[i] /= n;
	return true;
}

struct al_turns al_statistics_turns(const struct al_calibration *calibration,
	const struct al_module_statistics *statistics)
{
	const int64_t *n = calibration->n_queries[AL_QUERIES_TURNED];

	for (size_t fold = 0; n && fold < calibration->n_folds; fold++)
		if (n[fold] < 1)
			n = NULL;
	return n ? (struct al_turns){statistics->of[AL_STATISTIC_TURNS], n} : (struct al_turns){0};
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
		if (!al_check_not_finite(bad, (int64_t)m.rows, al_statistics[kind].name, err))
			return false;
	}
	return true;
}

double al_statistics_tokens_of(const struct al_module_statistics *statistics, al_folds folds)
{
	const struct al_matrix inputs = statistics->of[AL_STATISTIC_INPUTS];
	double n = 0;

	for (size_t fold = 0; fold < inputs.cols; fold++)
		if (folds & al_fold(fold))
			n += inputs.data[inputs.rows - 1 + fold * inputs.ld];
	return n;
}

double al_statistics_tokens(const struct al_module_statistics *statistics)
{
	return al_statistics_tokens_of(statistics, AL_ALL_FOLDS);
}

int64_t al_calibration_queries(const struct al_calibration *calibration, enum al_queries queries)
{
	int64_t n = 0;

	for (size_t fold = 0; calibration->n_queries[queries] && fold < calibration->n_folds;
		fold++)
		n += calibration->n_queries[queries][fold];
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
	if (m->rows == 0) /* not recorded */
		return true;
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

/* Behavior counts once. */
static bool adds(const struct al_calibration *other, enum al_statistic_kind kind, bool is_there)
{
	return al_calibration_has(other, kind)
		&& !(is_there && al_queries_are_random(al_statistics[kind].over));
}

static bool add_module(struct al_calibration *calibration, struct al_module_statistics *to,
	const struct al_calibration *other, struct al_error *err)
{
	const struct al_module_statistics *from;

	if (!al_calibration_find(other, to->name, &from, err))
		return false;
	for (int kind = 0; kind < AL_N_STATISTICS; kind++) {
		const char *name = al_statistics[kind].name;
		struct al_matrix *own = &to->of[kind];
		const struct al_matrix more = from->of[kind];
		const bool is_more = adds(other, (enum al_statistic_kind)kind, own->rows > 0);
		if (own->rows == 0 && is_more
			&& !al_matrix_init(own, more.rows, calibration->n_folds, err))
			return false;
		if (is_more && own->rows != more.rows)
			return al_fail(err, AL_EINPUT, "%s: %s.%s has %zu numbers, expected %zu",
				other->path, to->name, name, more.rows, own->rows);
		if (!widen(own, calibration->n_folds, err))
			return false;
		if (is_more)
			add_folds(*own, more, calibration->n_sequences);
	}
	return al_statistics_check(to, err) || al_in(err, "%s: %s: with it", other->path, to->name);
}

/* Counts that are checked to fit. */
static void add_queries(struct al_calibration *calibration, const struct al_calibration *other,
	size_t n_folds)
{
	for (int kind = 0; kind < AL_N_QUERIES; kind++) {
		int64_t *own = calibration->n_queries[kind], *more = other->n_queries[kind];
		if (!own && !more)
			continue;
		calibration->n_queries[kind] = al_calloc(n_folds, sizeof(*own));
		for (size_t i = 0; own && i < calibration->n_folds; i++)
			calibration->n_queries[kind][i] += own[i];
		for (size_t i = 0; more && !(own && al_queries_are_random((enum al_queries)kind))
			&& i < other->n_folds;
			i++)
			calibration->n_queries[kind][(calibration->n_sequences + i) % n_folds] +=
				more[i];
		free(own);
	}
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
	for (int i = 0; i < AL_N_QUERIES; i++)
		if (al_calibration_queries(other, (enum al_queries)i)
			> INT64_MAX - al_calibration_queries(calibration, (enum al_queries)i))
			return al_fail(err, AL_EINPUT, "%s: has too many queries to add",
				other->path);
	add_queries(calibration, other,
		larger(larger(calibration->n_folds, other->n_folds), al_least(both, AL_FOLDS)));
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (!add_module(calibration, &calibration->modules[i], other, err))
			return false;
	add_sequences(calibration, other);
	return true;
}
