/* Readings: the conventions under which a table's numbers may be printed, and the one that fits. */
#include "paper/readings.h"

#include "scenario/printed.h"

static bool is_of_bytes(const struct al_paper_cell *cell)
{
	return cell->unit
		&& ((strchr(cell->unit, 'B') && strcmp(cell->unit, "B") != 0)
			|| strcmp(cell->unit, "bytes") == 0);
}

/* Of the printed unit: 10^9 of GB, or 2^30; and the power of ten. */
static double factor_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	const int found = cell->unit ? al_find_name(cell->unit, units, 4) : -1;

	return cell->scale
		* (found >= 0 && reading->is_binary ? exp2(10 * (found + 1))
						    : (double)al_unit_factor(cell->unit));
}

double al_paper_tokens_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading)
{
	const bool is_power = cell->tokens < 1.02 * cell->round_tokens;

	if (cell->tokens == 0)
		return reading->tokens;
	return reading->k == AL_K_IS_ROUND || (reading->k == AL_K_IS_1000 && !is_power)
		? cell->round_tokens
		: cell->tokens;
}

static double per_token(const struct al_paper_cell *cell, double bytes)
{
	double sum = 0;

	for (size_t i = 0; i < cell->subject->n_cached; i++)
		sum += cell->subject->cached[i].elements * bytes;
	return sum;
}

/* Of which kind isn't said. */
static bool is_total(const struct al_paper_cell *cell)
{
	return cell->meaning == AL_MEANS_TOTAL
		&& (cell->size == AL_TOTAL_PARAMETERS || cell->size == AL_TOTAL_OF_ROW);
}

double al_paper_total_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading)
{
	const struct al_paper_subject *s = cell->subject;
	const double total = s->totals[is_total(cell) ? reading->total : cell->size];

	return total > 0 && reading->is_gated ? total + s->gates : total;
}

double al_paper_bytes_of(const struct al_paper_cell *cell, const struct al_paper_reading *reading)
{
	if (reading->is_elements && !is_of_bytes(cell))
		return 0;
	return cell->bytes > 0 ? cell->bytes : reading->bytes;
}

double al_paper_value(const struct al_paper_cell *cell, const struct al_paper_reading *reading)
{
	const struct al_paper_subject *s = cell->subject;
	const double bytes = al_paper_bytes_of(cell, reading);

	switch (cell->meaning) {
	case AL_MEANS_SIZE:
		return s->sizes[cell->size] / cell->scale;
	case AL_MEANS_TOTAL:
		return al_paper_total_of(cell, reading) / factor_of(cell, reading);
	case AL_MEANS_WEIGHTS:
		return is_of_bytes(cell)
			? s->totals[AL_TOTAL_PARAMETERS] * bytes / factor_of(cell, reading)
			: 0;
	case AL_MEANS_CACHE:
		return is_of_bytes(cell)
			? al_paper_cache_bytes(s, al_paper_tokens_of(cell, reading),
				  cell->batch > 0 ? cell->batch : 1, bytes, cell->is_whole,
				  !cell->has_no_states)
				/ factor_of(cell, reading)
			: 0;
	case AL_MEANS_CACHE_OF_TOKEN:
		return per_token(cell, bytes > 0 ? bytes : 1) / factor_of(cell, reading);
	default:
		return 0;
	}
}

/* Papers disagree on whether a window's layers keep all tokens, and whether states are a cache. */
void al_paper_read_cell(struct al_paper_cell *cell, const struct al_paper_reading *reading)
{
	double first = 0;

	for (int i = 0; i < 4; i++) {
		cell->is_whole = (i & 1) != 0;
		cell->has_no_states = (i & 2) != 0;
		cell->right = al_paper_value(cell, reading);
		cell->holds = cell->right > 0
			&& al_paper_rounds_to(cell->right, cell->value, cell->half);
		if (cell->holds || cell->meaning != AL_MEANS_CACHE)
			return;
		first = i == 0 ? cell->right : first;
	}
	cell->is_whole = false;
	cell->has_no_states = cell->subject->state_bytes > 0;
	cell->right = cell->has_no_states ? al_paper_value(cell, reading) : first;
}

/* How much evidence a cell that fits is: the digits that chance would have had to hit. */
static double weight_of(const struct al_paper_cell *cell)
{
	const double digits = log10(cell->value / (2 * cell->half));

	return al_most(0.3, al_least(4, digits));
}

/* Half or twice of it: of readings that fit no cell, the one that most cells are so near to. */
static bool is_near(const struct al_paper_cell *cell)
{
	return fabs(2 * cell->value - cell->right) <= 2 * cell->half
		|| fabs(cell->value - 2 * cell->right) <= cell->half;
}

static void try(struct al_paper_fit *best, struct al_paper_cell *const *cells, size_t n,
	const struct al_paper_reading *reading)
{
	struct al_paper_fit fit = {.reading = *reading, .score = -reading->penalty};

	for (size_t i = 0; i < n; i++) {
		struct al_paper_cell cell = *cells[i];
		al_paper_read_cell(&cell, reading);
		const bool fits = cell.holds;
		fit.n_fit += fits;
		fit.n_other += cell.right > 0 && !fits;
		fit.score += fits ? weight_of(cells[i]) : is_near(&cell) ? 0.1 : 0;
		fit.evidence += fits ? weight_of(cells[i]) : 0;
	}
	if (best->n_fit + best->n_other == 0 || fit.score > best->score + 1e-9)
		*best = fit;
}

static bool any(struct al_paper_cell *const *cells, size_t n,
	bool (*is)(const struct al_paper_cell *cell))
{
	for (size_t i = 0; i < n; i++)
		if (is(cells[i]))
			return true;
	return false;
}

static bool may_have_gates(const struct al_paper_cell *cell)
{
	return cell->meaning == AL_MEANS_TOTAL && cell->subject->gates > 0;
}

static bool lacks_tokens(const struct al_paper_cell *cell)
{
	return cell->tokens == 0 && cell->meaning == AL_MEANS_CACHE;
}

static bool has_round(const struct al_paper_cell *cell)
{
	return cell->tokens > 0 && cell->tokens != cell->round_tokens;
}

static bool has_open_unit(const struct al_paper_cell *cell)
{
	return is_of_bytes(cell) && strchr(cell->unit, 'B') && !strchr(cell->unit, 'i');
}

/* A choice, and what it costs to make it unasked, in digits. */
struct choice {
	double value, penalty;
};
static const struct choice bytes[] = {{2, 0}, {1, 0.6}, {4, 1}, {0.5, 1.2}},
			   totals[] = {{AL_TOTAL_PARAMETERS, 0}, {AL_TOTAL_WITHOUT_EMBEDDING, 0.8},
				   {AL_TOTAL_NON_EMBEDDING, 0.8}},
			   flags[] = {{0, 0}, {1, 0.2}};
static const double contexts[] = {4096, 8192, 2048, 1024, 16384, 32768, 65536, 131072, 1000, 128000,
	262144, 1048576, 512, 1};
static const double unstated_context = 1; /* penalty */

#define N_OF(list) (sizeof(list) / sizeof(*(list)))

static void try_units(struct al_paper_fit *best, struct al_paper_cell *const *cells, size_t n,
	struct al_paper_reading reading, enum al_paper_gb gb)
{
	const double penalty = reading.penalty;
	const size_t most = any(cells, n, has_open_unit) ? 2 : 1;

	for (size_t i = 0; i < most; i++) {
		if (gb != AL_GB_ANY && most > 1 && (gb == AL_GB_BINARY) != (i == 1))
			continue;
		reading.is_binary = i == 1;
		reading.penalty = penalty + 0.1 * (double)i;
		try(best, cells, n, &reading);
	}
}

static void try_tokens(struct al_paper_fit *best, struct al_paper_cell *const *cells, size_t n,
	struct al_paper_reading reading, enum al_paper_gb gb)
{
	const double penalty = reading.penalty;
	const bool lacks = any(cells, n, lacks_tokens);

	for (size_t i = 0; i < (lacks ? N_OF(contexts) : 1); i++)
		for (int k = 0; k < (any(cells, n, has_round) ? AL_N_THOUSANDS : 1); k++) {
			reading.tokens = lacks ? contexts[i] : 0;
			reading.k = (enum al_paper_thousand)k;
			reading.penalty = penalty + (lacks ? unstated_context : 0)
				+ flags[k > 0].penalty;
			try_units(best, cells, n, reading, gb);
		}
}

struct al_paper_fit al_paper_best_reading(struct al_paper_cell *const *cells, size_t n,
	enum al_paper_gb gb)
{
	struct al_paper_fit best = {0};
	const size_t n_totals = any(cells, n, is_total) ? N_OF(totals) : 1;
	const bool is_of_token = cells[0]->meaning == AL_MEANS_CACHE_OF_TOKEN
		&& !is_of_bytes(cells[0]);
	const bool has_flag = is_of_token || any(cells, n, may_have_gates);

	for (size_t i = 0; i < N_OF(bytes); i++)
		for (size_t k = 0; k < n_totals; k++)
			for (size_t e = 0; e < (has_flag ? N_OF(flags) : 1); e++)
				try_tokens(&best, cells, n,
					(struct al_paper_reading){.bytes = bytes[i].value,
						.total = (int)totals[k].value,
						.is_gated = !is_of_token && e == 1,
						.is_elements = is_of_token && e == 1,
						.penalty = bytes[i].penalty + totals[k].penalty
							+ flags[e].penalty},
					gb);
	return best;
}
