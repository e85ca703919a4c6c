/* Searching the box of a claim's data: corners, and a way between two of them.
 *
 * A number is reached only where data were found that give it; it is missed only where interval
 * arithmetic shows that no data give it. */
#include "scenario/search.h"

enum { MOST_STEPS = 64 }; /* between two corners */

/* ---- deriving ---- */

static const char *path_of(const struct al_scenario_claim *claim, const char *name)
{
	const struct al_named_path *found = AL_FIND(claim->with, claim->n_with, name);

	return found ? found->path : NULL;
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *value, struct al_error *err)
{
	struct al_derivation *d = context;
	const char *path = path_of(d->claim, reference->symbol);
	const struct al_column *column;
	AL_SCENARIO_CELL(cell);

	*found = path != NULL;
	return !path
		|| (al_path_value(d->evaluator, path, &d->box, &cell, &column, err)
			&& al_scenario_cell_take(&cell, path, &d->is_missing, value, err));
}

static size_t known_names(void *context, const char *const **out)
{
	const struct al_derivation *d = context;
	const char **list = al_new_array(d->evaluator->arena, const char *, d->claim->n_with + 1);

	for (size_t i = 0; i < d->claim->n_with; i++)
		list[i] = d->claim->with[i].name;
	*out = list;
	return d->claim->n_with;
}

bool al_derive_point(struct al_derivation *d, struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scope scope = {.lookup = look_up, .known = known_names, .context = d};

	if (d->claim->formula)
		return al_scenario_cell_evaluate(out, d->claim->formula, &scope, &d->is_missing,
			err);
	return al_path_value(d->evaluator, d->claim->path, &d->box, out, &d->column, err);
}

static bool look_up_range(void *context, const struct al_reference *reference,
	struct al_interval *out, struct al_error *err)
{
	struct al_derivation *d = context;
	const char *path = path_of(d->claim, reference->symbol);

	if (path)
		return al_path_enclose(d->evaluator, path, out, err);
	al_interval_set_any(out);
	return true;
}

/* ---- the printed number ---- */

/* "About" a fraction p/q is what has it as a convergent: within 1/(2q^2) of it (Legendre). */
static void allow_fraction(bool is_about, struct al_printed *printed)
{
	mpq_ptr width = al_exact_new(printed->arena);

	mpq_set(printed->low, printed->first);
	mpq_set(printed->high, printed->last);
	if (!is_about)
		return;
	mpz_set_ui(mpq_numref(width), 1);
	mpz_mul(mpq_denref(width), mpq_denref(printed->first), mpq_denref(printed->first));
	mpz_mul_ui(mpq_denref(width), mpq_denref(width), 2);
	mpq_sub(printed->low, printed->first, width);
	mpq_add(printed->high, printed->last, width);
}

void al_claim_allow_rounding(const struct al_scenario_claim *claim, struct al_printed *printed)
{
	bool is_about = claim->is_approximate || claim->rounding == AL_ROUNDING_ABOUT
		|| printed->is_about;
	mpq_ptr below = al_exact_new(printed->arena), above = al_exact_new(printed->arena),
		unit = al_exact_new(printed->arena);

	if (printed->is_fraction) {
		allow_fraction(is_about, printed);
		return;
	}
	al_exact_unit(unit, printed->digits, 1);
	al_exact_unit(below, printed->digits, 2);
	mpq_set(above, below);
	if (claim->rounding == AL_ROUNDING_TRUNCATED) {
		mpq_set_ui(mpq_sgn(printed->first) < 0 ? above : below, 0, 1);
		mpq_set(mpq_sgn(printed->first) < 0 ? below : above, unit);
	}
	if (is_about) {
		mpq_add(below, below, unit);
		mpq_add(above, above, unit);
	}
	if (claim->within) {
		mpq_mul(below, claim->within, printed->first);
		mpq_abs(below, below);
		mpq_set(above, below);
	}
	mpq_sub(printed->low, printed->first, below);
	mpq_add(printed->high, printed->last, above);
}

/* ---- what it asks of a value ---- */

/* Would the point be printed so? */
static bool prints_as(const struct al_scenario_claim *claim, mpq_srcptr point,
	const struct al_printed *printed)
{
	mpq_ptr shown = al_exact_new(printed->arena);

	if (printed->is_fraction)
		return mpq_equal(point, printed->first);
	if (claim->rounding == AL_ROUNDING_TRUNCATED)
		al_exact_truncate(shown, point, printed->digits);
	else
		al_exact_round(shown, point, printed->digits);
	return mpq_equal(shown, printed->first);
}

enum request { EQUAL, WITHIN, GREATER, LESS };

static enum request request_of(const struct al_scenario_claim *claim)
{
	if (claim->relation == AL_RELATION_IN || claim->rounding == AL_ROUNDING_RANGE)
		return WITHIN;
	if (claim->relation == AL_RELATION_GREATER || claim->rounding == AL_ROUNDING_MORE_THAN)
		return GREATER;
	if (claim->relation == AL_RELATION_LESS || claim->rounding == AL_ROUNDING_LESS_THAN)
		return LESS;
	return EQUAL;
}

bool al_claim_is_equality(const struct al_scenario_claim *claim)
{
	return request_of(claim) == EQUAL;
}

bool al_claim_is_reproduced(const struct al_scenario_claim *claim, mpq_srcptr value,
	const struct al_printed *printed)
{
	value = al_exact_scaled(printed->arena, value, 1, printed->scale);
	switch (request_of(claim)) {
	case WITHIN:
		return mpq_cmp(value, printed->first) >= 0 && mpq_cmp(value, printed->last) <= 0;
	case GREATER:
		return mpq_cmp(value, printed->first) > 0;
	case LESS:
		return mpq_cmp(value, printed->first) < 0;
	case EQUAL:
		break;
	}
	return prints_as(claim, value, printed);
}

static mpq_srcptr times(const struct al_printed *printed, mpq_srcptr q, int64_t factor)
{
	return al_exact_scaled(printed->arena,
		al_exact_scaled(printed->arena, q, printed->scale, 1), factor, 1);
}

struct al_target al_target_of(const struct al_scenario_claim *claim,
	const struct al_printed *printed, int64_t factor)
{
	const enum request request = request_of(claim);
	const bool is_order = request == GREATER || request == LESS;

	return (struct al_target){
		.low = times(printed, is_order ? printed->first : printed->low, factor),
		.high = times(printed, is_order ? printed->first : printed->high, factor),
		.has_low = request != LESS,
		.has_high = request != GREATER,
		.is_open = is_order,
	};
}

/* ---- searching ---- */

static mpq_ptr copy_of(struct al_arena *arena, mpq_srcptr q)
{
	mpq_ptr copy = al_exact_new(arena);

	mpq_set(copy, q);
	return copy;
}

void al_search_init(struct al_search *search, struct al_derivation *derivation, mpq_srcptr point)
{
	const struct al_data_box *box = &derivation->box;
	struct al_arena *arena = derivation->arena;

	*search = (struct al_search){.derivation = derivation,
		.point = point,
		.low = copy_of(arena, point),
		.high = copy_of(arena, point),
		.least.value = copy_of(arena, point),
		.greatest.value = copy_of(arena, point)};
	for (size_t i = 0; i < box->n; i++)
		search->least.at[i] = search->greatest.at[i] = box->used[i]->value;
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
	AL_SCENARIO_CELL(cell);
	bool has_value;

	const bool ok = look_at(search, at, &cell, &has_value, err);
	*side = has_value ? compare(search->target, cell.number) : -2;
	search->is_reached = search->is_reached || *side == 0;
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
	bool has_value;
	AL_SCENARIO_CELL(cell);

	for (unsigned corner = 0; box->n > 0 && corner < 1u << box->n; corner++) {
		al_data_box_corner(box, corner, at);
		if (!look_at(search, at, &cell, &has_value, err))
			return false;
		if (has_value && mpq_cmp(cell.number, search->least.value) < 0)
			move_to(&search->least, cell.number, at, box->n);
		if (has_value && mpq_cmp(cell.number, search->greatest.value) > 0)
			move_to(&search->greatest, cell.number, at, box->n);
	}
	return true;
}

/* out = from + share * (to - from) */
static void between(mpq_t out, mpq_srcptr from, mpq_srcptr to, mpq_srcptr share)
{
	mpq_sub(out, to, from);
	mpq_mul(out, out, share);
	mpq_add(out, out, from);
}

/* Halves the way from the least value to the greatest. */
static bool search_way(struct al_search *search, struct al_error *err)
{
	struct al_arena *arena = search->derivation->arena;
	const size_t n_data = search->derivation->box.n;
	mpq_ptr numbers[AL_MOST_DATA], from = al_exact_new(arena), to = al_exact_new(arena),
				       middle = al_exact_new(arena);
	mpq_srcptr at[AL_MOST_DATA];
	int side = 0;

	for (size_t i = 0; i < n_data; i++)
		at[i] = numbers[i] = al_exact_new(arena);
	mpq_set_ui(to, 1, 1);
	for (int step = 0; !search->is_reached && step < MOST_STEPS && side != -2; step++) {
		mpq_add(middle, from, to);
		al_exact_divide(middle, 2);
		for (size_t i = 0; i < n_data; i++)
			between(numbers[i], search->least.at[i], search->greatest.at[i], middle);
		if (!try_at(search, at, &side, err))
			return false;
		mpq_set(side < 0 ? from : to, middle);
	}
	return true;
}

/* ---- the whole box ---- */

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

static bool is_missed(const struct al_search *search)
{
	struct al_derivation *d = search->derivation;
	struct al_interval_scope scope = {.lookup = look_up_range, .context = d};
	struct al_error unseen = {0};
	AL_INTERVAL(interval);

	return (d->claim->formula
			       ? al_formula_enclose(d->claim->formula, &scope, &interval, &unseen)
			       : al_path_enclose(d->evaluator, d->claim->path, &interval, &unseen))
		&& misses(search->target, &interval);
}

bool al_search_box(struct al_search *search, const struct al_target *target, enum al_reach *reach,
	struct al_error *err)
{
	int least = compare(target, search->least.value);
	int greatest = compare(target, search->greatest.value);

	search->target = target;
	search->is_reached = least == 0 || greatest == 0 || compare(target, search->point) == 0;
	if (search->derivation->box.n == 0) {
		*reach = search->is_reached ? AL_REACHED : AL_MISSED;
		return true;
	}
	if (!search->is_reached && least == -1 && greatest == 1 && !search_way(search, err))
		return false;
	*reach = search->is_reached ? AL_REACHED : is_missed(search) ? AL_MISSED : AL_UNDECIDED;
	return al_evaluator_spend(search->derivation->evaluator, 0, err);
}
