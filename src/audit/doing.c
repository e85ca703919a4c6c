/* What heads do on tokens. */
#include "audit/doing.h"

#include "base/base.h"

/* A score stands out that is MUCH of a query's attention, whatever other heads do; or LEAST and
 * TIMES the median of all heads. What repeats in text is often near the query, so there it takes
 * MUCH to call it more than chance. */
static const double MUCH = .4, LEAST = .1, TIMES = 2;

enum { ITSELF, PREVIOUS, FIRST, SAME, INDUCTION };
const char *const al_doing_names[AL_N_DOINGS] = {"itself", "previous token", "first token",
	"same token", "induction"};

static const struct score {
	enum al_statistic_kind kind;
	int doing;
	bool takes_much;
} scores[] = {
	{AL_STATISTIC_SELF, ITSELF, false},
	{AL_STATISTIC_PREVIOUS, PREVIOUS, false},
	{AL_STATISTIC_FIRST, FIRST, false},
	{AL_STATISTIC_DUPLICATES, SAME, true},
	{AL_STATISTIC_SUCCESSORS, INDUCTION, true},
	{AL_STATISTIC_RANDOM_DUPLICATES, SAME, false},
	{AL_STATISTIC_RANDOM_SUCCESSORS, INDUCTION, false},
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
				: al_format(arena, "%s %.2f", al_doing_names[scores[best].doing],
					s->of[best][head]);
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
