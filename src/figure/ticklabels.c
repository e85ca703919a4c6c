/* How the labels of ticks are written. */
#include "base/base.h"
#include "figure/ticks.h"

struct unit {
	double size;
	const char *name;
};

static const struct unit count_units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
static const struct unit flops_units[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"},
	{1e6, "M"}, {1e3, "k"}, {1, ""}};
static const struct unit byte_units[] = {{0x1p60, " EiB"}, {0x1p50, " PiB"}, {0x1p40, " TiB"},
	{0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}, {1, " B"}};
/* That a column may ask for by name, besides those above. */
static const struct unit decimal_bytes[] = {{1e12, " TB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"},
	{1, ""}};
static const struct unit plain_units[] = {{1, ""}};

static const struct unit *const units_of[] = {
	[AL_QUANTITY_PLAIN] = plain_units,
	[AL_QUANTITY_COUNT] = count_units,
	[AL_QUANTITY_BYTES] = byte_units,
	[AL_QUANTITY_FLOPS] = flops_units,
};

enum { MOST_DECIMALS = 16 };

static const char minus[] = "\u2212";

/* The largest unit that isn't larger than the value; the list ends in 1. */
static const struct unit *unit_for(enum al_quantity quantity, double value)
{
	const struct unit *unit = units_of[quantity];

	while (unit->size > 1 && fabs(value) < unit->size * (1 - 1e-9))
		unit++;
	return unit;
}

/* Decimals that a value needs to be written exactly (to 9 digits of its own). */
static int decimals_of(double value)
{
	double scaled = fabs(value);

	for (int decimals = 0; decimals < MOST_DECIMALS; decimals++, scaled *= 10)
		if (fabs(scaled - round(scaled)) <= 1e-9 * fmax(scaled, 1e-3))
			return decimals;
	return MOST_DECIMALS;
}

static void write_label(char label[AL_TICK_LABEL_SIZE], double value, const struct unit *unit,
	int decimals, bool has_commas)
{
	char digits[AL_TICK_LABEL_SIZE - 12];
	AL_ARENA(arena);

	snprintf(digits, sizeof(digits), "%.*f", decimals, fabs(value) / unit->size);
	snprintf(label, AL_TICK_LABEL_SIZE, "%s%s%s", value < 0 ? minus : "",
		has_commas ? al_exact_grouped(&arena, digits) : digits, unit->name);
	if (value == 0)
		strcpy(label, "0");
}

/* 10^-5 or 2x10^8, with a raised exponent. */
static void write_power(char label[AL_TICK_LABEL_SIZE], double value)
{
	static const char *const raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
		"\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
	double power = floor(log10(fabs(value)) + 1e-9);
	double mantissa = fabs(value) / pow(10, power);
	char digits[12], exponent[16] = "";

	if (fabs(mantissa - 1) > 1e-9)
		snprintf(exponent, sizeof(exponent), "%.3g\u00d7", mantissa);
	snprintf(label, AL_TICK_LABEL_SIZE, "%s%s10%s", value < 0 ? minus : "", exponent,
		power < 0 ? "\u207b" : "");
	snprintf(digits, sizeof(digits), "%d", (int)fabs(power));
	for (const char *p = digits; *p; p++)
		strcat(label, raised[*p - '0']);
}

static double largest(const struct al_ticks *ticks)
{
	double most = 0;

	for (size_t i = 0; i < ticks->n; i++)
		most = fmax(most, fabs(ticks->items[i].value));
	return most;
}

static int decimals_in(const struct al_ticks *ticks, const struct unit *unit)
{
	int most = 0;

	for (size_t i = 0; i < ticks->n; i++) {
		int decimals = decimals_of(ticks->items[i].value / unit->size);
		most = al_most(decimals, most);
	}
	return most;
}

/* Is the value its first three digits and a power of ten? */
static bool is_short(double value)
{
	double digits = fabs(value) / pow(10, floor(log10(fabs(value)) + 1e-9) - 2);

	return value == 0 || fabs(digits - round(digits)) < 1e-6;
}

static bool are_short(const struct al_ticks *ticks)
{
	for (size_t i = 0; i < ticks->n; i++)
		if (!is_short(ticks->items[i].value))
			return false;
	return true;
}

static bool needs_powers(const struct al_ticks *ticks, enum al_quantity quantity)
{
	double most = largest(ticks);

	if (quantity != AL_QUANTITY_PLAIN)
		return most >= 1e4 * units_of[quantity]->size;
	return are_short(ticks) && (most >= 1e7 || decimals_in(ticks, plain_units) > 5);
}

void al_ticks_label(struct al_ticks *ticks, enum al_quantity quantity, bool is_log)
{
	const struct unit *unit = unit_for(quantity, largest(ticks));
	int decimals = decimals_in(ticks, unit);

	const bool has_powers = needs_powers(ticks, quantity);
	const bool has_own_units = is_log || (quantity != AL_QUANTITY_PLAIN && decimals > 1);

	for (size_t i = 0; i < ticks->n; i++) {
		struct al_tick *tick = &ticks->items[i];
		if (has_powers && tick->value != 0) {
			write_power(tick->label, tick->value);
			continue;
		}
		if (has_own_units) {
			unit = unit_for(quantity, tick->value);
			decimals = decimals_of(tick->value / unit->size);
		}
		/* Commas from five digits on, and then in the shorter numbers of the axis, too. */
		write_label(tick->label, tick->value, unit, decimals,
			largest(ticks) >= 10000 * unit->size);
	}
}

void al_tick_label_rounded(char label[AL_TICK_LABEL_SIZE], double value, enum al_quantity quantity)
{
	const struct unit *unit = unit_for(quantity, value);
	struct al_ticks ticks = {.n = 1};

	if (value != 0) {
		double scaled = value / unit->size;
		double last_digit = pow(10, floor(log10(fabs(scaled))) - 2);
		ticks.items[0].value = round(scaled / last_digit) * last_digit * unit->size;
	}
	al_ticks_label(&ticks, quantity, true);
	strcpy(label, ticks.items[0].label);
}

/* The unit of that name, or the list's last. */
static const struct unit *unit_named(const struct unit *unit, const char *name)
{
	while (unit->size > 1 && strcmp(unit->name + (*unit->name == ' '), name) != 0)
		unit++;
	return unit;
}

/* As tables do: in the column's unit, or in the base unit. */
static const struct unit *unit_of(const struct al_column *column)
{
	static const struct unit one = {1, ""};

	if (!column->scale)
		return &one;
	const struct unit *unit = unit_named(units_of[column->quantity], column->scale);
	return unit->size == 1 && column->quantity == AL_QUANTITY_BYTES
		? unit_named(decimal_bytes, column->scale)
		: unit;
}

void al_value_label(char label[AL_TICK_LABEL_SIZE], mpq_srcptr value,
	const struct al_column *column, int digits)
{
	const struct unit *unit = unit_of(column);
	const double scaled = fabs(mpq_get_d(value)) / unit->size;
	AL_ARENA(arena);

	if (digits == AL_DIGITS_ALL && !column->scale) {
		al_tick_label_rounded(label, mpq_get_d(value), column->quantity);
		return;
	}
	if (digits == AL_DIGITS_ALL)
		digits = scaled > 0 ? (int)fmin(9, fmax(0, 2 - floor(log10(scaled)))) : 0;
	const char *decimal = al_exact_decimal(&arena,
		al_exact_scaled(&arena, value, 1, (int64_t)unit->size), digits);
	const bool is_negative = *decimal == '-';
	snprintf(label, AL_TICK_LABEL_SIZE, "%s%s%s", is_negative ? minus : "",
		al_exact_grouped(&arena, decimal + is_negative), unit->name);
}
