/* A cell's value: a number, a polynomial, an order, or nothing. */
#include "scenario/cell.h"

#include "base/number.h"

void cell_init(struct cell *cell)
{
	*cell = (struct cell){.kind = CELL_MISSING};
	mpq_init(cell->number);
}

void cell_finish(struct cell *cell)
{
	mpq_clear(cell->number);
}

bool cell_set_missing(struct cell *cell)
{
	cell->kind = CELL_MISSING;
	return true;
}

bool cell_set_number(struct cell *cell, mpq_srcptr number)
{
	mpq_set(cell->number, number);
	cell->kind = CELL_NUMBER;
	return true;
}

bool cell_set_int(struct cell *cell, int64_t number)
{
	al_exact_set(cell->number, number);
	cell->kind = CELL_NUMBER;
	return true;
}

/* Where the datum stands in the box; it is taken in at the point evaluation. */
static bool place_in_box(struct box *box, const struct datum *datum, size_t *place,
	struct al_error *err)
{
	for (*place = 0; *place < box->n; ++*place)
		if (box->used[*place] == datum)
			return true;
	if (box->n == MOST_DATA)
		return al_fail(err, AL_EINPUT, "the value uses more than %d data", MOST_DATA);
	box->used[box->n++] = datum;
	return true;
}

bool cell_set_datum(struct cell *cell, struct box *box, const struct datum *datum,
	struct al_error *err)
{
	size_t place;

	if (!datum || !datum->printed)
		return cell_set_missing(cell);
	cell->datum = datum;
	if (!box || mpq_equal(datum->low, datum->high))
		return cell_set_number(cell, datum->value);
	if (!place_in_box(box, datum, &place, err))
		return false;
	if (!box->is_corner)
		return cell_set_number(cell, datum->value);
	return cell_set_number(cell, (box->corner >> place) & 1 ? datum->high : datum->low);
}
