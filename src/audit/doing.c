/* What heads do on tokens. */
#include "audit/doing.h"

#include "base/base.h"

/* ---- alike ---- */

/* tr of C_ij^T C_ij, C the covariance of two heads' outputs: of their moment less what their means
 * make. */
static double shared(struct al_matrix moment, const double *sums, double tokens, size_t width,
	size_t i, size_t j)
{
	double squares = 0;

	for (size_t b = j * width; b < (j + 1) * width; b++)
		for (size_t a = i * width; a < (i + 1) * width; a++) {
			const double c = moment.data[a + b * moment.ld]
				- sums[a] * sums[b] / tokens;
			squares += c * c;
		}
	return squares;
}

static double ratio(double both, double a, double b)
{
	return a > 0 && b > 0 ? both / sqrt(a * b) : 0;
}

/* outputs[n_heads][n_heads] */
static bool compare_outputs(const struct al_module_statistics *statistics, struct al_matrix outputs,
	struct al_error *err)
{
	const double tokens = al_statistics_tokens(statistics);
	AL_OWNED struct al_matrix moment = {0}, sums = {0};

	if (!al_statistics_sum(statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &moment, err)
		|| !al_statistics_sum(statistics, AL_STATISTIC_SUMS, AL_ALL_FOLDS, &sums, err))
		return false;
	const size_t width = moment.rows / outputs.rows;
	for (size_t j = 0; j < outputs.rows; j++)
		for (size_t i = 0; i < outputs.rows; i++)
			outputs.data[i + j * outputs.ld] = shared(moment, sums.data, tokens, width,
				i, j);
	return true;
}

static double of_pair(struct al_matrix m, size_t i, size_t j)
{
	return ratio(m.data[i + j * m.ld], m.data[i + i * m.ld], m.data[j + j * m.ld]);
}

bool al_heads_alike(const struct al_module_statistics *statistics, struct al_alike_head *out,
	struct al_error *err)
{
	const size_t n = al_statistics_heads(statistics);
	AL_SCRATCH(scratch);
	AL_OWNED struct al_matrix logits = {0};
	struct al_matrix outputs;

	if (!al_take(&scratch, &outputs, n, n, err) || !compare_outputs(statistics, outputs, err)
		|| !al_statistics_sum(statistics, AL_STATISTIC_LOGITS, AL_ALL_FOLDS, &logits, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct al_alike_head){INT64_MIN, NAN, NAN};
		for (size_t j = 0; j < n; j++) {
			const struct al_alike_head other = {(int64_t)j, of_pair(logits, i, j),
				of_pair(outputs, i, j)};
			if (j != i
				&& (out[i].head < 0
					|| other.logits + other.outputs
						> out[i].logits + out[i].outputs))
				out[i] = other;
		}
	}
	return true;
}

/* ---- in a word ---- */

/* A score stands out that is MUCH of a query's attention, whatever other heads do; or LEAST and
 * TIMES the median of all heads. What repeats in text is often near the query, so there it takes
 * MUCH to call it more than chance. */
static const double MUCH = .4, LEAST = .1, TIMES = 2;

static const struct score {
	enum al_statistic_kind kind;
	const char *name;
	bool takes_much;
} scores[] = {
	{AL_STATISTIC_SELF, "itself", false},
	{AL_STATISTIC_PREVIOUS, "previous token", false},
	{AL_STATISTIC_FIRST, "first token", false},
	{AL_STATISTIC_DUPLICATES, "same token", true},
	{AL_STATISTIC_SUCCESSORS, "induction", true},
	{AL_STATISTIC_RANDOM_DUPLICATES, "same token", false},
	{AL_STATISTIC_RANDOM_SUCCESSORS, "induction", false},
};
enum { N_SCORES = sizeof(scores) / sizeof(*scores) };

/* All heads of all modules, one after the other. */
struct scored {
	struct al_scratch scratch;
	double *of[N_SCORES], median[N_SCORES]; /* of NULL: not recorded */
	size_t n;
};

static void scored_finish(struct scored *s)
{
	al_scratch_finish(&s->scratch);
}

static double median(const double *values, size_t n, double *room)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			room[known++] = values[i];
	al_sort_falling(room, known);
	return known ? (room[(known - 1) / 2] + room[known / 2]) / 2 : 0;
}

static bool find_score(struct scored *s, const struct al_calibration *calibration, size_t score,
	struct al_error *err)
{
	AL_SCRATCH(room);
	double *sorted = al_take_array(&room, s->n, sizeof(*sorted), err);
	size_t n = 0;

	s->of[score] = al_take_array(&s->scratch, s->n, sizeof(double), err);
	if (!sorted || !s->of[score])
		return false;
	for (size_t i = 0; i < calibration->n_modules; i++) {
		AL_OWNED struct al_matrix means = {0};
		if (!al_statistics_mean(calibration, &calibration->modules[i], scores[score].kind,
			    &means, err))
			return false;
		memcpy(s->of[score] + n, means.data, means.rows * sizeof(double));
		n += means.rows;
	}
	s->median[score] = median(s->of[score], s->n, sorted);
	return true;
}

static bool score_all(struct scored *s, const struct al_calibration *calibration,
	struct al_error *err)
{
	for (size_t i = 0; i < calibration->n_modules; i++)
		s->n += al_statistics_heads(&calibration->modules[i]);
	for (size_t score = 0; score < N_SCORES; score++)
		if (al_calibration_has(calibration, scores[score].kind)
			&& !find_score(s, calibration, score, err))
			return false;
	return true;
}

/* NULL: nothing stands out. */
static const char *say(struct al_arena *arena, const struct scored *s, size_t head)
{
	size_t best = N_SCORES;

	for (size_t score = 0; score < N_SCORES; score++) {
		const double own = s->of[score] ? s->of[score][head] : 0;
		const bool is_relative = !scores[score].takes_much && own >= LEAST
			&& own >= TIMES * s->median[score];
		if ((own >= MUCH || is_relative) && (best == N_SCORES || own > s->of[best][head]))
			best = score;
	}
	return best == N_SCORES ? NULL
				: al_format(arena, "%s %.2f", scores[best].name, s->of[best][head]);
}

/* The number of the module's first head among all; false: it isn't in the calibration. */
static bool find_module(const struct al_calibration *calibration, const char *name, size_t *first)
{
	*first = 0;
	for (size_t i = 0; i < calibration->n_modules; i++) {
		if (strcmp(calibration->modules[i].name, name) == 0)
			return true;
		*first += al_statistics_heads(&calibration->modules[i]);
	}
	return false;
}

bool al_doing_fill(const struct al_calibration *calibration, struct al_table *table, const char *to,
	struct al_error *err)
{
	AL_ENDS(scored_finish) struct scored s = {0};
	const int column = al_table_find_column(table, to);

	if (!score_all(&s, calibration, err))
		return false;
	for (size_t row = 0; row < table->n_rows; row++) {
		size_t first;
		double head;
		if (!find_module(calibration, al_table_text(table, row, "module"), &first)
			|| !al_table_number(table, row, "head", &head))
			continue;
		const char *doing = say(&table->arena, &s, first + (size_t)head);
		if (doing)
			al_cell_set_text(table, &table->rows[row][column], doing);
	}
	return true;
}
