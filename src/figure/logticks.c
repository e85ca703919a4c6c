/* Log ticks: decades, with 2 and 5 (or 3) where there is room; powers of two for what grows so. */
#include "figure/ticks.h"

#include <math.h>

/* Multiples within every `stride`-th power of the base. */
struct pattern {
	double base;
	int stride;
	double multiples[3];
	size_t n_multiples;
};

static const struct pattern decimal_patterns[] = {
	{10, 1, {1, 2, 5}, 3},
	{10, 1, {1, 3}, 2},
	{10, 1, {1}, 1},
	{10, 2, {1}, 1},
	{10, 3, {1}, 1},
	{10, 4, {1}, 1},
	{10, 6, {1}, 1},
	{10, 12, {1}, 1},
};

static const struct pattern binary_patterns[] = {
	{2, 1, {1}, 1},
	{2, 2, {1}, 1},
	{2, 3, {1}, 1},
	{2, 4, {1}, 1},
	{2, 5, {1}, 1},
	{2, 10, {1}, 1},
	{2, 20, {1}, 1},
};

#define N_PATTERNS(list) (sizeof(list) / sizeof(*(list)))

static const double slack = 1e-9;

static bool lies_within(const struct al_tick_request *r, double value)
{
	return value >= r->min * (1 - slack) && value <= r->max * (1 + slack);
}

/* False where there are more ticks than anyone could read. */
static bool fill(const struct al_tick_request *r, const struct pattern *p, struct al_ticks *ticks)
{
	double first = floor(log(r->min) / log(p->base) / p->stride) * p->stride;

	*ticks = (struct al_ticks){0};
	for (double power = first; pow(p->base, power) <= r->max * (1 + slack); power += p->stride)
		for (size_t i = 0; i < p->n_multiples; i++) {
			double value = p->multiples[i] * pow(p->base, power);
			if (!lies_within(r, value))
				continue;
			if (ticks->n == AL_MOST_TICKS)
				return false;
			ticks->items[ticks->n++].value = value;
		}
	return ticks->n >= 2;
}

/* How far from the wished number: 1 is exact. */
static double mismatch(const struct al_tick_request *r, const struct al_ticks *ticks)
{
	double wished = fmax(2, r->length_pt / r->spacing_pt + 1);
	double n = (double)ticks->n;

	return fmax(n / wished, wished / n);
}

static void add_minor(struct al_ticks *ticks, double value)
{
	for (size_t i = 0; i < ticks->n; i++)
		if (fabs(ticks->items[i].value / value - 1) < slack)
			return;
	if (ticks->n_minor < AL_MOST_MINOR_TICKS)
		ticks->minor[ticks->n_minor++] = value;
}

/* 2 to 9 of each decade where that leaves air between them, else the decades. */
static void fill_minor(const struct al_tick_request *r, struct al_ticks *ticks)
{
	double decade_pt = r->length_pt / log10(r->max / r->min);
	int most = decade_pt >= 25 ? 9 : 1;

	if (r->is_binary || decade_pt < 3)
		return;
	for (double power = floor(log10(r->min)); pow(10, power) <= r->max; power++)
		for (int i = 1; i <= most; i++)
			if (lies_within(r, i * pow(10, power)))
				add_minor(ticks, i * pow(10, power));
}

/* Less than a decade: linear ticks read better, none of them outside. */
static bool find_within_decade(const struct al_tick_request *request, struct al_ticks *out)
{
	struct al_tick_request within = *request;

	within.is_min_fixed = within.is_max_fixed = true;
	return al_ticks_find_linear(&within, out);
}

static bool find_log(const struct al_tick_request *request, struct al_ticks *out)
{
	const struct pattern *patterns = request->is_binary ? binary_patterns : decimal_patterns;
	size_t n = request->is_binary ? N_PATTERNS(binary_patterns) : N_PATTERNS(decimal_patterns);
	double best = INFINITY;

	for (size_t i = 0; i < n; i++) {
		struct al_ticks ticks;
		double least;
		if (!fill(request, &patterns[i], &ticks) || mismatch(request, &ticks) >= best)
			continue;
		al_ticks_label(&ticks, request->quantity, true);
		if (!al_ticks_are_legible(request, &ticks, &least))
			continue;
		best = mismatch(request, &ticks);
		*out = ticks;
	}
	if (best > 2.5)
		return find_within_decade(request, out);
	fill_minor(request, out);
	return true;
}

bool al_ticks_find(const struct al_tick_request *request, struct al_ticks *out)
{
	return request->is_log ? find_log(request, out) : al_ticks_find_linear(request, out);
}
