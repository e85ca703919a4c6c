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
	for (size_t i = 0; i < calibration->n_parts; i++) {
		al_checkpoint_close(calibration->parts[i].file);
		free(calibration->parts[i].file);
	}
	free(calibration->parts);
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

size_t al_statistics_length(const struct al_module_statistics *statistics,
	enum al_statistic_kind kind)
{
	const size_t sizes[] = {[AL_SIZE_INPUTS] = statistics->n_inputs + 1,
		[AL_SIZE_OUTPUTS] = al_statistics_outputs(statistics),
		[AL_SIZE_HEADS] = al_statistics_heads(statistics)};
	const size_t n = sizes[al_statistics[kind].size];

	return al_statistics[kind].is_square ? n * (n + 1) / 2 : n;
}

double al_statistics_tokens_of(const struct al_module_statistics *statistics, al_folds folds)
{
	const size_t n_folds = statistics->of[AL_STATISTIC_SUMS].cols;
	double n = 0;

	for (size_t fold = 0; fold < n_folds; fold++)
		if (folds & al_fold(fold))
			n += statistics->tokens[fold];
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

	return al_compare(x, y);
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

/* Behavior counts once. */
static bool adds(const struct al_calibration *other, enum al_statistic_kind kind, bool is_there)
{
	return al_calibration_has(other, kind)
		&& !(is_there && al_queries_are_random(al_statistics[kind].over));
}

static void add_tokens(struct al_calibration *calibration, struct al_module_statistics *to,
	size_t n_folds, const struct al_calibration *other, const struct al_module_statistics *from)
{
	double *sums = al_new_array(&calibration->arena, double, calibration->n_folds);

	memcpy(sums, to->tokens, n_folds * sizeof(*sums));
	for (size_t fold = 0; fold < other->n_folds; fold++)
		sums[(calibration->n_sequences + fold) % calibration->n_folds] +=
			from->tokens[fold];
	to->tokens = sums;
}

static bool add_kind(const struct al_calibration *calibration, struct al_module_statistics *to,
	const struct al_calibration *other, const struct al_module_statistics *from,
	enum al_statistic_kind kind, struct al_error *err)
{
	struct al_matrix *own = &to->of[kind];
	const struct al_matrix more = from->of[kind];
	const bool is_more = adds(other, kind, own->rows > 0);

	if (own->rows == 0 && is_more && !al_matrix_init(own, more.rows, calibration->n_folds, err))
		return false;
	if (!widen(own, calibration->n_folds, err))
		return false;
	if (is_more)
		al_folds_add(*own, more, calibration->n_sequences, calibration->n_folds);
	return true;
}

/* Moments wait for al_calibration_find. */
static bool add_module(struct al_calibration *calibration, struct al_module_statistics *to,
	const struct al_calibration *other, struct al_error *err)
{
	const struct al_module_statistics *from = al_calibration_module(other, to->name, err);

	if (!from)
		return false;
	for (int kind = 0; kind < AL_N_STATISTICS; kind++)
		if (al_calibration_has(calibration, (enum al_statistic_kind)kind)
			&& al_statistics_length(from, (enum al_statistic_kind)kind)
				!= al_statistics_length(to, (enum al_statistic_kind)kind))
			return al_fail(err, AL_EINPUT, "%s: %s.%s has %zu numbers, expected %zu",
				other->path, to->name, al_statistics[kind].name,
				al_statistics_length(from, (enum al_statistic_kind)kind),
				al_statistics_length(to, (enum al_statistic_kind)kind));
	add_tokens(calibration, to, to->of[AL_STATISTIC_SUMS].cols, other, from);
	for (int kind = AL_N_LARGE; kind < AL_N_STATISTICS; kind++)
		if (!add_kind(calibration, to, other, from, (enum al_statistic_kind)kind, err))
			return false;
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

static void take_parts(struct al_calibration *calibration, struct al_calibration *other)
{
	const size_t n = calibration->n_parts + other->n_parts;
	struct al_calibration_part *parts = al_alloc(n, sizeof(*parts));

	memcpy(parts, calibration->parts, calibration->n_parts * sizeof(*parts));
	for (size_t i = 0; i < other->n_parts; i++) {
		struct al_calibration_part *part = &parts[calibration->n_parts + i];
		*part = other->parts[i];
		part->first += calibration->n_sequences;
		part->n_folds = calibration->n_folds;
	}
	free(calibration->parts);
	calibration->parts = parts;
	calibration->n_parts = n;
	other->n_parts = 0;
}

bool al_calibration_add(struct al_calibration *calibration, struct al_calibration *other,
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
		al_most(al_most(calibration->n_folds, other->n_folds), al_least(both, AL_FOLDS)));
	for (size_t i = 0; i < calibration->n_modules; i++)
		if (!add_module(calibration, &calibration->modules[i], other, err))
			return false;
	take_parts(calibration, other);
	calibration->most_tokens += other->most_tokens;
	add_sequences(calibration, other);
	return true;
}
