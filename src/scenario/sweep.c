/* Sweeps: ledger columns over the product of some symbols' values. */
#include "scenario/sweep.h"

/* ---- axes ---- */

/* A whole number of at least 0 and below 2^53. */
static bool parse_value(const char **p, const char *symbol, int64_t *out, struct al_error *err)
{
	int64_t value;
	const size_t n_digits = strcmp(symbol, "seq") == 0 ? al_read_tokens(*p, &value)
							   : al_read_digits(*p, &value);

	if (n_digits == 0)
		return al_fail(err, AL_EINPUT, "%s: found \"%s\", expected a whole number", symbol,
			*p);
	if (value < 0 || value >= INT64_C(1) << 53)
		return al_fail(err, AL_EINPUT, "%s: the number is 2^53 or beyond", symbol);
	*p += n_digits;
	*out = value;
	return true;
}

static bool check_range(const struct al_sweep_axis *axis, struct al_error *err)
{
	if (axis->step < 1)
		return al_fail(err, AL_EINPUT, "%s: a step of %lld, expected 1 or more",
			axis->symbol, (long long)axis->step);
	if (axis->to < axis->from)
		return al_fail(err, AL_EINPUT, "%s: the range %lld to %lld is empty", axis->symbol,
			(long long)axis->from, (long long)axis->to);
	return true;
}

static bool fail_form(const struct al_sweep_axis *axis, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: expected FROM:TO, FROM:TO:STEP or A,B,C", axis->symbol);
}

static bool parse_range(const char *p, struct al_sweep_axis *out, struct al_error *err)
{
	out->step = 1;
	if (!parse_value(&p, out->symbol, &out->from, err))
		return false;
	if (*p++ != ':' || !parse_value(&p, out->symbol, &out->to, err))
		return fail_form(out, err);
	if (*p == ':' && (p++, !parse_value(&p, out->symbol, &out->step, err)))
		return false;
	if (*p)
		return al_fail(err, AL_EINPUT, "%s: found \"%s\" after the range", out->symbol, p);
	return check_range(out, err);
}

static bool parse_list(struct al_arena *arena, const char *p, struct al_sweep_axis *out,
	struct al_error *err)
{
	int64_t *list = al_new_array(arena, int64_t, strlen(p) / 2 + 1);

	out->list = list;
	for (char c = ','; c; c = *p ? *p++ : '\0') {
		if (c != ',')
			return fail_form(out, err);
		if (!parse_value(&p, out->symbol, &list[out->n_list++], err))
			return false;
	}
	return true;
}

bool al_sweep_axis_parse(struct al_arena *arena, const char *symbol, const char *text,
	struct al_sweep_axis *out, struct al_error *err)
{
	*out = (struct al_sweep_axis){.symbol = symbol};
	return strchr(text, ':') ? parse_range(text, out, err) : parse_list(arena, text, out, err);
}

struct al_column al_measure_column(enum al_measure measure)
{
	const struct al_measure_info *info = &al_measures[measure];

	return (struct al_column){.key = info->key,
		.title = info->title,
		.unit = info->unit,
		.quantity = (enum al_quantity)info->quantity,
		.digits = AL_DIGITS_ALL};
}

bool al_sweep_add_measure(struct al_ledger_sweep *sweep, const char *key, struct al_error *err)
{
	const struct al_measure_info *found = AL_FIND_KNOWN(al_measures, AL_N_MEASURES, "measure",
		key, err);

	for (size_t i = 0; found && i < sweep->n_measures; i++)
		if (&al_measures[sweep->measures[i]] == found)
			return al_fail(err, AL_EINPUT, "measure \"%s\" is given twice", key);
	if (found)
		sweep->measures[sweep->n_measures++] = (enum al_measure)(found - al_measures);
	return found != NULL;
}

static int64_t axis_size(const struct al_sweep_axis *axis)
{
	return axis->list ? (int64_t)axis->n_list : (axis->to - axis->from) / axis->step + 1;
}

static int64_t axis_value(const struct al_sweep_axis *axis, int64_t index)
{
	return axis->list ? axis->list[index] : axis->from + index * axis->step;
}

/* A symbol that goes over values doesn't follow others, nor goes twice. */
static bool check_once(const struct al_ledger_sweep *sweep, struct al_error *err)
{
	for (size_t i = 0; i < sweep->n_axes; i++) {
		const char *symbol = sweep->axes[i].symbol;
		if (AL_FIND(sweep->axes, i, symbol))
			return al_fail(err, AL_EINPUT, "the sweep goes over %s twice", symbol);
		if (AL_FIND(sweep->ties, sweep->n_ties, symbol))
			return al_fail(err, AL_EINPUT, "the sweep goes over %s, which is also tied",
				symbol);
	}
	return true;
}

bool al_sweep_points(const struct al_ledger_sweep *sweep, int64_t *out, struct al_error *err)
{
	int64_t points = (int64_t)sweep->n_variants;

	if (!check_once(sweep, err))
		return false;
	for (size_t i = 0; i < sweep->n_axes; i++) {
		if (!sweep->axes[i].list && !check_range(&sweep->axes[i], err))
			return false;
		if (__builtin_mul_overflow(points, axis_size(&sweep->axes[i]), &points)
			|| points > AL_SWEEP_MOST_POINTS)
			return al_fail(err, AL_EINPUT,
				"the sweep has more than the maximum of %d points",
				AL_SWEEP_MOST_POINTS);
	}
	*out = points;
	return true;
}

/* ---- ties ---- */

/* Settings for evaluating the tie at `index`: symbols tied there or later have no value yet, nor
 * have defaults that depend on them. */
struct tie_scope {
	const struct al_ledger_sweep *sweep;
	struct al_settings *settings;
	size_t index;
};

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const struct tie_scope *tie = context;
	struct al_settings *settings = tie->settings;
	const struct al_scope given = al_settings_scope(settings),
			      scope = {.lookup = look_up, .context = context, .outer = &given};
	const struct al_symbol *symbol = AL_FIND(settings->symbols, settings->n_symbols,
		reference->symbol);
	int64_t value;

	if (AL_FIND(tie->sweep->ties + tie->index, tie->sweep->n_ties - tie->index,
		    reference->symbol))
		return al_fail(err, AL_EINPUT,
			"%s is tied but has no value yet: tie it first, or set it",
			reference->symbol);
	*found = symbol && symbol->fallback && !al_settings_gives(settings, symbol->name);
	if (!*found)
		return true;
	if (!al_formula_whole(symbol->fallback, &scope, 0, &value, err))
		return al_in(err, "default of %s", symbol->name);
	al_value_set_int(out, value);
	return true;
}

static bool follow_tie(const struct al_ledger_sweep *sweep, size_t index, struct al_ledger *ledger,
	struct al_error *err)
{
	const struct al_substitution *tie = &sweep->ties[index];
	struct tie_scope context = {sweep, al_ledger_settings(ledger), index};
	const struct al_scope given = al_settings_scope(context.settings),
			      scope = {.lookup = look_up, .context = &context, .outer = &given};
	int64_t value;

	if (!al_formula_whole(tie->formula, &scope, 0, &value, err))
		return al_in(err, "%s", tie->symbol);
	al_ledger_set(ledger, tie->symbol, value);
	return true;
}

/* ---- points ---- */

/* The symbols of a point, then those that follow them. */
static bool go_to(const struct al_ledger_sweep *sweep, struct al_ledger *ledger,
	const int64_t *values, struct al_error *err)
{
	for (size_t i = 0; i < sweep->n_axes; i++)
		al_ledger_set(ledger, sweep->axes[i].symbol, values[i]);
	for (size_t i = 0; i < sweep->n_ties; i++)
		if (!follow_tie(sweep, i, ledger, err))
			return false;
	return true;
}

static void next_point(const struct al_ledger_sweep *sweep, int64_t *indices)
{
	for (size_t i = sweep->n_axes; i-- > 0;) {
		if (++indices[i] < axis_size(&sweep->axes[i]))
			return;
		indices[i] = 0;
	}
}

static bool add_point(const struct al_ledger_sweep *sweep,
	const struct al_configured_variant *variant, struct al_ledger *ledger,
	const int64_t *values, struct al_table *out, struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(out);
	AL_EXACT(number);

	if (!go_to(sweep, ledger, values, err))
		return false;
	for (size_t i = 0; i < sweep->n_axes; i++)
		al_cell_set_int(out, cell++, values[i]);
	al_cell_set_titled(out, cell++, variant->name, variant->title);
	for (size_t i = 0; i < sweep->n_measures; i++) {
		if (!al_ledger_measure(ledger, sweep->measures[i], sweep->request->recipe, number,
			    err))
			return false;
		struct al_undeclared undeclared;
		if (al_ledger_declares(ledger, sweep->measures[i], sweep->request->recipe,
			    &undeclared))
			al_cell_set_exact(out, cell, number);
		else
			al_note_undeclared(&undeclared, out);
		cell++;
	}
	return true;
}

/* A model of many tensors has fewer points than a small block; a measure's sum and its cell cost as
 * much as some entries, and twice that in a file, whose tables are written in several formats. */
static bool spend(const struct al_ledger_sweep *sweep, const struct al_ledger *ledger,
	size_t *n_evaluated, struct al_error *err)
{
	const int most = sweep->take_rows ? AL_SWEEP_MOST_HANDED_ON : AL_SWEEP_MOST_ENTRIES;

	*n_evaluated += (sweep->n_evaluated ? 16 : 8) * sweep->n_measures;
	for (int i = 0; i < AL_N_LISTS; i++)
		*n_evaluated += ledger->lists[i].n;
	return *n_evaluated <= (size_t)most
		|| al_fail(err, AL_EINPUT,
			"more than %d tensors, activations and products to evaluate: use fewer "
			"points or measures",
			most);
}

static bool fail_at(const struct al_ledger_sweep *sweep, const int64_t *values,
	struct al_error *err)
{
	for (size_t i = sweep->n_axes; i-- > 0;)
		al_in(err, "%s = %lld", sweep->axes[i].symbol, (long long)values[i]);
	return al_in(err, "sweep \"%s\"", sweep->id);
}

static void add_columns(const struct al_ledger_sweep *sweep, struct al_table *out)
{
	const struct al_settings *settings = &sweep->request->settings;

	/* What people read for a symbol; the symbol itself where it is a variant's own. */
	for (size_t i = 0; i < sweep->n_axes; i++) {
		const char *symbol = sweep->axes[i].symbol;
		const struct al_symbol *known = AL_FIND(settings->symbols, settings->n_symbols,
			symbol);
		al_table_add_column(out,
			(struct al_column){.key = symbol,
				.title = known ? known->title : NULL,
				.digits = AL_DIGITS_ALL,
				.is_key = true});
	}
	al_table_add_column(out,
		(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	for (size_t i = 0; i < sweep->n_measures; i++)
		al_table_add_column(out, al_measure_column(sweep->measures[i]));
}

/* So many rows are handed on at once. */
enum { ROWS_AT_ONCE = 512 };

static void begin_table(const struct al_ledger_sweep *sweep, struct al_table *out)
{
	al_table_init(out, sweep->id, sweep->title);
	add_columns(sweep, out);
}

/* Forgets the point once it is handed on. */
static void hand_on(const struct al_ledger_sweep *sweep, size_t least, struct al_table *out)
{
	if (!sweep->take_rows || out->n_rows < least)
		return;
	sweep->take_rows(sweep->context, out);
	al_table_finish(out);
	begin_table(sweep, out);
}

/* The variant at `index`. */
static bool run_variant(const struct al_ledger_sweep *sweep, size_t index, int64_t n_points,
	size_t *n_evaluated, struct al_table *out, struct al_error *err)
{
	const struct al_configured_variant *variant = sweep->variants[index];
	const size_t done = index * (size_t)n_points;
	int64_t indices[AL_SWEEP_MOST_AXES] = {0}, values[AL_SWEEP_MOST_AXES];
	const struct al_ledger_ask ask = al_request_ask(sweep->request, variant, false);
	struct al_ledger ledger;

	if (!al_ledger_open(&ledger, &ask, err))
		return al_in(err, "sweep \"%s\"", sweep->id);
	bool ok = true;
	for (int64_t n = 0; ok && n < n_points; n++, next_point(sweep, indices)) {
		for (size_t i = 0; i < sweep->n_axes; i++)
			values[i] = axis_value(&sweep->axes[i], indices[i]);
		ok = al_watch_show(sweep->watch, variant->name, done + (size_t)n,
			     (size_t)n_points * sweep->n_variants, err)
			&& ((add_point(sweep, variant, &ledger, values, out, err)
				    && spend(sweep, &ledger, n_evaluated, err))
				|| fail_at(sweep, values, err));
		hand_on(sweep, ROWS_AT_ONCE, out);
	}
	al_ledger_close(&ledger);
	return ok;
}

static void add_notes(const struct al_ledger_sweep *sweep, struct al_table *out)
{
	al_basis_note(&sweep->request->basis, out);
	for (size_t i = 0; i < sweep->n_ties; i++)
		al_table_note(out, "%s = %s", sweep->ties[i].symbol,
			al_formula_source(sweep->ties[i].formula));
}

bool al_sweep_run(const struct al_ledger_sweep *sweep, struct al_table *out, struct al_error *err)
{
	size_t alone = 0, *n_evaluated = sweep->n_evaluated ? sweep->n_evaluated : &alone;
	int64_t points;

	if (!al_sweep_points(sweep, &points, err))
		return false;
	begin_table(sweep, out);
	for (size_t i = 0; i < sweep->n_variants; i++)
		if (!run_variant(sweep, i, points / (int64_t)sweep->n_variants, n_evaluated, out,
			    err)) {
			al_table_finish(out);
			return false;
		}
	hand_on(sweep, 0, out);
	add_notes(sweep, out);
	return true;
}
