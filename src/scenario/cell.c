/* A cell's value: a number, a polynomial, an order, or nothing. */
#include "scenario/cell.h"

#include "base/number.h"

void al_scenario_cell_init(struct cell *cell)
{
	*cell = (struct cell){.kind = CELL_MISSING};
	mpq_init(cell->number);
}

void al_scenario_cell_finish(struct cell *cell)
{
	mpq_clear(cell->number);
}

bool al_scenario_cell_set_missing(struct cell *cell)
{
	cell->kind = CELL_MISSING;
	return true;
}

bool al_scenario_cell_set_number(struct cell *cell, mpq_srcptr number)
{
	mpq_set(cell->number, number);
	cell->kind = CELL_NUMBER;
	return true;
}

bool al_scenario_cell_set_int(struct cell *cell, int64_t number)
{
	al_exact_set(cell->number, number);
	cell->kind = CELL_NUMBER;
	return true;
}

static size_t find_used(const struct box *box, const struct datum *datum)
{
	size_t i = 0;

	while (i < box->n && box->used[i] != datum)
		i++;
	return i;
}

static bool use(struct box *box, const struct datum *datum, struct al_error *err)
{
	if (find_used(box, datum) < box->n)
		return true;
	if (box->n == MOST_DATA)
		return al_fail(err, AL_EINPUT, "the value uses more than %d data", MOST_DATA);
	box->used[box->n++] = datum;
	return true;
}

bool al_scenario_cell_set_datum(struct cell *cell, struct box *box, const struct datum *datum,
	struct al_error *err)
{
	if (!datum || !datum->printed)
		return al_scenario_cell_set_missing(cell);
	cell->datum = datum;
	if (!box || mpq_equal(datum->low, datum->high))
		return al_scenario_cell_set_number(cell, datum->value);
	if (!box->at)
		return use(box, datum, err) && al_scenario_cell_set_number(cell, datum->value);
	size_t i = find_used(box, datum);
	return al_scenario_cell_set_number(cell, i < box->n ? box->at[i] : datum->value);
}

/* ---- regions ---- */

/* The region's range of each datum that is used; all of it where the region's box has it not. */
static void ranges_of(const struct box *used, const struct region *region, mpq_srcptr *low,
	mpq_srcptr *high)
{
	for (size_t i = 0; i < used->n; i++) {
		size_t j = find_used(region->box, used->used[i]);
		bool is_known = j < region->box->n;
		low[i] = is_known ? region->low[j] : used->used[i]->low;
		high[i] = is_known ? region->high[j] : used->used[i]->high;
	}
}

static bool holds_zero(const mpq_srcptr *low, const mpq_srcptr *high, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (mpq_sgn(low[i]) <= 0 && mpq_sgn(high[i]) >= 0)
			return true;
	return false;
}

/* `at` is the box's own. */
static bool include_corners(point_function *value, void *context, struct box *box, mpq_srcptr *at,
	const mpq_srcptr *low, const mpq_srcptr *high, struct cell *cell, struct al_interval *out,
	struct al_error *err)
{
	for (unsigned corner = 0; corner < 1u << box->n; corner++) {
		for (size_t i = 0; i < box->n; i++)
			at[i] = corner >> i & 1 ? high[i] : low[i];
		if (!value(context, box, cell, err))
			return false;
		if (cell->kind != CELL_NUMBER) {
			al_interval_set_any(out);
			return true;
		}
		if (corner == 0)
			al_interval_set(out, cell->number, cell->number);
		al_interval_include(out, cell->number);
	}
	return true;
}

bool al_enclose_by_corners(point_function *value, void *context, const struct region *region,
	struct al_interval *out, struct al_error *err)
{
	mpq_srcptr low[MOST_DATA], high[MOST_DATA], at[MOST_DATA];
	struct box used = {0};
	struct cell cell;

	al_scenario_cell_init(&cell);
	bool ok = value(context, &used, &cell, err);
	ranges_of(&used, region, low, high);
	if (ok && (cell.kind != CELL_NUMBER || (!cell.datum && holds_zero(low, high, used.n)))) {
		al_interval_set_any(out);
	} else if (ok) {
		used.at = at;
		ok = include_corners(value, context, &used, at, low, high, &cell, out, err);
	}
	al_scenario_cell_finish(&cell);
	return ok;
}
