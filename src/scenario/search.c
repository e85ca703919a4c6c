/* Searching the box of a claim's data: corners, a way between two of them, then regions that are
 * halved until each either gives a wanted number or can't.
 *
 * A number is reached only where data were found that give it; it is missed only where interval
 * arithmetic shows that no data give it. */
#include "scenario/search.h"

#include "base/number.h"

enum {
	MOST_STEPS = 64, /* between two corners */
	MOST_HALVINGS = 24, /* along one datum */
};

void al_search_init(struct al_search *search, struct al_derivation *derivation, mpq_srcptr point)
{
	const struct al_data_box *box = &derivation->box;

	*search = (struct al_search){.derivation = derivation};
	mpq_inits(search->low, search->high, search->least.value, search->greatest.value, NULL);
	mpq_set(search->low, point);
	mpq_set(search->high, point);
	mpq_set(search->least.value, point);
	mpq_set(search->greatest.value, point);
	for (size_t i = 0; i < box->n; i++)
		search->least.at[i] = search->greatest.at[i] = box->used[i]->value;
}

void al_search_finish(struct al_search *search)
{
	mpq_clears(search->low, search->high, search->least.value, search->greatest.value, NULL);
}

/* ---- points ---- */

/* -1: the number lies below what is wanted, 0: it is wanted, 1: it lies above. */
static int compare(const struct al_target *target, mpq_srcptr q)
{
	int low = target->has_low ? mpq_cmp(q, target->low) : 1;
	int high = target->has_high ? mpq_cmp(q, target->high) : -1;

	if (low < 0 || (low == 0 && target->is_open))
		return -1;
	return high > 0 || (high == 0 && target->is_open);
}

/* The value at a point; false in *has_value where it has none (a division by zero). */
static bool look_at(struct al_search *search, const mpq_srcptr *at, struct al_scenario_cell *cell,
	bool *has_value, struct al_error *err)
{
	struct al_derivation *d = search->derivation;
	struct al_error unseen = {0};

	d->box.at = at;
	*has_value = al_derive_point(d, cell, &unseen) && cell->kind == AL_SCENARIO_NUMBER;
	d->box.at = NULL;
	if (*has_value) {
		al_exact_keep_least(search->low, cell->number);
		al_exact_keep_most(search->high, cell->number);
	}
	return al_evaluator_spend(d->evaluator, 0, err);
}

/* Which side of what is wanted the value lies on; -2 where it has none. */
static bool try_at(struct al_search *search, const mpq_srcptr *at, int *side, struct al_error *err)
{
	struct al_scenario_cell cell;
	bool has_value;

	al_scenario_cell_init(&cell);
	bool ok = look_at(search, at, &cell, &has_value, err);
	*side = has_value ? compare(search->target, cell.number) : -2;
	search->is_reached = search->is_reached || *side == 0;
	al_scenario_cell_finish(&cell);
	return ok;
}

static void move_to(struct al_extreme *extreme, mpq_srcptr value, const mpq_srcptr *at, size_t n)
{
	mpq_set(extreme->value, value);
	for (size_t i = 0; i < n; i++)
		extreme->at[i] = at[i];
}

bool al_search_corners(struct al_search *search, struct al_error *err)
{
	const struct al_data_box *box = &search->derivation->box;
	mpq_srcptr at[AL_MOST_DATA];
	struct al_scenario_cell cell;
	bool ok = true, has_value;

	al_scenario_cell_init(&cell);
	for (int corner = 0; ok && box->n > 0 && corner < 1 << box->n; corner++) {
		for (size_t i = 0; i < box->n; i++)
			at[i] = corner >> i & 1 ? box->used[i]->high : box->used[i]->low;
		ok = look_at(search, at, &cell, &has_value, err);
		if (has_value && mpq_cmp(cell.number, search->least.value) < 0)
			move_to(&search->least, cell.number, at, box->n);
		if (has_value && mpq_cmp(cell.number, search->greatest.value) > 0)
			move_to(&search->greatest, cell.number, at, box->n);
	}
	al_scenario_cell_finish(&cell);
	return ok;
}

/* Room for a point of one's own. */
struct point {
	mpq_t numbers[AL_MOST_DATA];
	mpq_srcptr at[AL_MOST_DATA];
};

static void point_init(struct point *point, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mpq_init(point->numbers[i]);
		point->at[i] = point->numbers[i];
	}
}

static void point_finish(struct point *point, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mpq_clear(point->numbers[i]);
}

/* out = from + share * (to - from) */
static void between(mpq_t out, mpq_srcptr from, mpq_srcptr to, mpq_srcptr share)
{
	mpq_sub(out, to, from);
	mpq_mul(out, out, share);
	mpq_add(out, out, from);
}

/* Halves the way from the least value to the greatest. */
static bool walk(struct al_search *search, struct point *point, struct al_error *err)
{
	size_t n_data = search->derivation->box.n;
	mpq_t from, to, middle;
	bool ok = true;
	int side = 0;

	mpq_inits(from, to, middle, NULL);
	mpq_set_ui(to, 1, 1);
	for (int step = 0; ok && !search->is_reached && step < MOST_STEPS && side != -2; step++) {
		mpq_add(middle, from, to);
		al_exact_divide(middle, 2);
		for (size_t i = 0; i < n_data; i++)
			between(point->numbers[i], search->least.at[i], search->greatest.at[i],
				middle);
		ok = try_at(search, point->at, &side, err);
		mpq_set(side < 0 ? from : to, middle);
	}
	mpq_clears(from, to, middle, NULL);
	return ok;
}

/* ---- regions ---- */

/* Along each datum the `index`-th of 2^level equal parts. */
struct part {
	struct {
		unsigned index, level;
	} along[AL_MOST_DATA];
};

struct regions {
	struct part *parts; /* those from `next` on are still to be looked at */
	size_t n, room, next;
	struct al_arena arena;
	bool is_left; /* one was too small to be halved again */
	struct point low, high, middle;
};

static void part_end(mpq_t out, const struct al_datum *datum, unsigned index, unsigned level)
{
	mpq_t share;

	mpq_init(share);
	mpq_set_ui(share, index, 1u << level);
	mpq_canonicalize(share);
	between(out, datum->low, datum->high, share);
	mpq_clear(share);
}

static void set_region(struct regions *regions, const struct part *part,
	struct al_data_region *region)
{
	const struct al_data_box *box = region->box;

	for (size_t i = 0; i < box->n; i++) {
		unsigned index = part->along[i].index, level = part->along[i].level;
		part_end(regions->low.numbers[i], box->used[i], index, level);
		part_end(regions->high.numbers[i], box->used[i], index + 1, level);
		part_end(regions->middle.numbers[i], box->used[i], 2 * index + 1, level + 1);
		region->low[i] = regions->low.at[i];
		region->high[i] = regions->high.at[i];
	}
}

/* No number of the interval is wanted. */
static bool misses(const struct al_target *target, const struct al_interval *interval)
{
	switch (interval->kind) {
	case AL_INTERVAL_BETWEEN:
		return compare(target, interval->high) < 0 || compare(target, interval->low) > 0;
	case AL_INTERVAL_OUTSIDE:
		return (!interval->has_low
			       || (target->has_low && mpq_cmp(interval->low, target->low) < 0))
			&& (!interval->has_high
				|| (target->has_high && mpq_cmp(interval->high, target->high) > 0));
	case AL_INTERVAL_ANY:
		break;
	}
	return false;
}

static void add_part(struct regions *regions, const struct part *part)
{
	regions->parts = al_grow(&regions->arena, regions->parts, regions->n, &regions->room,
		sizeof(*regions->parts));
	regions->parts[regions->n++] = *part;
}

/* The two halves along the datum that was halved least. */
static void halve(struct regions *regions, const struct part *part, size_t n_data)
{
	struct part half = *part;
	size_t along = 0;

	for (size_t i = 1; i < n_data; i++)
		if (part->along[i].level < part->along[along].level)
			along = i;
	if (part->along[along].level == MOST_HALVINGS) {
		regions->is_left = true;
		return;
	}
	half.along[along].level++;
	half.along[along].index *= 2;
	add_part(regions, &half);
	half.along[along].index++;
	add_part(regions, &half);
}

static bool look_into(struct al_search *search, struct regions *regions, struct al_error *err)
{
	struct al_derivation *d = search->derivation;
	struct al_data_region region = {.box = &d->box};
	const struct part part = regions->parts[regions->next++];
	struct al_interval interval;
	struct al_error unseen = {0};
	int side;

	set_region(regions, &part, &region);
	al_interval_init(&interval);
	if (!al_derive_range(d, &region, &interval, &unseen))
		al_interval_set_any(&interval);
	bool is_missed = misses(search->target, &interval);
	al_interval_finish(&interval);
	if (is_missed)
		return al_evaluator_spend(d->evaluator, 0, err);
	halve(regions, &part, d->box.n);
	return try_at(search, regions->middle.at, &side, err);
}

static bool search_regions(struct al_search *search, size_t most, enum al_reach *reach,
	struct al_error *err)
{
	size_t n_data = search->derivation->box.n;
	const struct part all = {0};
	struct regions regions = {0};
	bool ok = true;

	al_arena_init(&regions.arena);
	add_part(&regions, &all);
	point_init(&regions.low, n_data);
	point_init(&regions.high, n_data);
	point_init(&regions.middle, n_data);
	while (ok && !search->is_reached && regions.next < regions.n && regions.next < most)
		ok = look_into(search, &regions, err);
	*reach = search->is_reached				? AL_REACHED
		: regions.next == regions.n && !regions.is_left ? AL_MISSED
								: AL_UNDECIDED;
	point_finish(&regions.low, n_data);
	point_finish(&regions.high, n_data);
	point_finish(&regions.middle, n_data);
	al_arena_finish(&regions.arena);
	return ok;
}

bool al_search_box(struct al_search *search, const struct al_target *target, size_t most,
	enum al_reach *reach, struct al_error *err)
{
	size_t n_data = search->derivation->box.n;
	int least = compare(target, search->least.value);
	int greatest = compare(target, search->greatest.value);
	struct point point;

	search->target = target;
	search->is_reached = least == 0 || greatest == 0;
	*reach = search->is_reached ? AL_REACHED : AL_MISSED;
	if (n_data == 0 || search->is_reached)
		return true;
	point_init(&point, n_data);
	bool ok = least != -1 || greatest != 1 || walk(search, &point, err);
	point_finish(&point, n_data);
	*reach = AL_REACHED;
	return ok && (search->is_reached || search_regions(search, most, reach, err));
}
