/* Ticks: linear ones by extended Wilkinson, logarithmic ones by patterns. */
#include "figure/ticks.h"

#include "base/base.h"

static const double epsilon = 1e-10;

/* Steps within a power of the base, the nicest first (Talbot et al., section 4). */
static const double decimal_steps[] = {1, 5, 2, 2.5, 4, 3};
static const double binary_steps[] = {1};

/* The second bounds the search where no choice is legible. */
enum { MOST_SKIPPED = 10, MOST_TRIED = 2000 };

struct search {
	const struct al_tick_request *request;
	const double *steps;
	int n_steps;
	double base;
	double wished; /* number of ticks */
	double best; /* score */
	int n_tried;
	struct al_ticks *out;
};

/* One choice of the search: every `skip`-th multiple of a nice number, `n` ticks. */
struct choice {
	int step_index, skip, n;
	double step; /* from tick to tick */
};

static double weigh(double simplicity, double coverage, double density, double legibility)
{
	return 0.25 * simplicity + 0.2 * coverage + 0.5 * density + 0.05 * legibility;
}

static double simplicity(const struct search *s, const struct choice *c, bool has_zero)
{
	double rank = s->n_steps > 1 ? (double)c->step_index / (s->n_steps - 1) : 0;

	return 1 - rank - c->skip + has_zero;
}

static double coverage(const struct search *s, double low, double high)
{
	double range = s->request->axis.max - s->request->axis.min;
	double above = s->request->axis.max - high, below = s->request->axis.min - low;

	return 1 - 0.5 * (above * above + below * below) / (0.01 * range * range);
}

static double density(const struct search *s, int n, double low, double high)
{
	double covered = fmax(high, s->request->axis.max) - fmin(low, s->request->axis.min);
	double found = (n - 1) / (high - low);
	double wished = (s->wished - 1) / covered;

	return 2 - fmax(found / wished, wished / found);
}

static double most_density(const struct search *s, int n)
{
	return n >= s->wished ? 2 - (n - 1) / (s->wished - 1) : 1;
}

static bool is_whole(double value)
{
	return fabs(value - round(value)) < epsilon * fmax(1, fabs(value));
}

static bool is_allowed(const struct search *s, const struct choice *c, double low, double high)
{
	const struct al_tick_request *r = s->request;
	double slack = epsilon * c->step;

	if (r->axis.is_whole && (!is_whole(c->step) || !is_whole(low)))
		return false;
	if ((r->axis.is_min_fixed || r->axis.min >= 0) && low < fmin(r->axis.min, 0) - slack)
		return false;
	if (r->axis.is_min_fixed && low < r->axis.min - slack)
		return false;
	return !r->axis.is_max_fixed || high <= r->axis.max + slack;
}

/* 1 where labels are an em apart, falling to 0 where they touch the least gap. */
static double legibility(double least_gap_pt)
{
	return fmin(1, fmax(0, least_gap_pt / 7));
}

static void consider(struct search *s, const struct choice *c, double start)
{
	double unit = c->step / c->skip;
	double low = start * unit, high = low + c->step * (c->n - 1);
	bool has_zero = low <= 0 && high >= 0 && fmod(start, c->skip) == 0;
	double rest = weigh(simplicity(s, c, has_zero), coverage(s, low, high),
		density(s, c->n, low, high), 0);

	if (rest + weigh(0, 0, 0, 1) <= s->best || !is_allowed(s, c, low, high)
		|| s->n_tried >= MOST_TRIED)
		return;
	struct al_ticks ticks = {.n = (size_t)c->n};
	double least;
	s->n_tried++;
	for (int i = 0; i < c->n; i++)
		ticks.items[i].value = (start + (double)i * c->skip) * unit;
	al_ticks_label(&ticks, s->request->axis.quantity, false);
	if (!al_ticks_are_legible(s->request, &ticks, &least))
		return;
	double score = rest + weigh(0, 0, 0, legibility(least));
	if (score > s->best) {
		s->best = score;
		*s->out = ticks;
	}
}

static void try_starts(struct search *s, const struct choice *c)
{
	double first = floor(s->request->axis.max / c->step) * c->skip
		- (double)(c->n - 1) * c->skip;
	double last = ceil(s->request->axis.min / c->step) * c->skip;

	for (double start = first; start <= last; start++)
		consider(s, c, start);
}

/* Steps of which `n` reach from a part of the range to some times of it: of no others the coverage
 * lets a score be the best. */
static void try_powers(struct search *s, struct choice *c)
{
	enum { MOST_POWERS = 3 };
	const double nice = s->steps[c->step_index];
	const double range = s->request->axis.max - s->request->axis.min;
	const double least = ceil(
		log(range / (c->n + 1) / c->skip / nice) / log(s->base) - epsilon);

	for (int i = 0; i < MOST_POWERS; i++) {
		c->step = c->skip * nice * pow(s->base, least + i);
		try_starts(s, c);
	}
}

/* `best` in the bounds: what no choice below can reach. */
static void try_counts(struct search *s, struct choice *c)
{
	for (c->n = 2; c->n <= AL_MOST_TICKS; c->n++) {
		if (weigh(simplicity(s, c, true), 1, most_density(s, c->n), 1) <= s->best)
			return;
		try_powers(s, c);
	}
}

static bool find_linear(const struct al_tick_request *request, struct al_ticks *out)
{
	struct search s = {.request = request, .best = -2, .out = out};
	struct choice c = {0};

	s.steps = request->axis.is_binary ? binary_steps : decimal_steps;
	s.n_steps = request->axis.is_binary ? 1
					    : (int)(sizeof(decimal_steps) / sizeof(*decimal_steps));
	s.base = request->axis.is_binary ? 2 : 10;
	s.wished = fmax(2, request->length_pt / request->spacing_pt + 1);
	*out = (struct al_ticks){0};
	for (c.skip = 1; c.skip <= (request->axis.is_binary ? 1 : MOST_SKIPPED); c.skip++)
		for (c.step_index = 0; c.step_index < s.n_steps; c.step_index++) {
			if (weigh(simplicity(&s, &c, true), 1, 1, 1) <= s.best)
				return true;
			try_counts(&s, &c);
		}
	return out->n >= 2;
}

struct al_scale al_scale_of(const struct al_dimension *d, double start_pt, double end_pt)
{
	return (struct al_scale){d->is_log, d->min, d->max, start_pt, end_pt};
}

double al_scale_at(const struct al_scale *scale, double value)
{
	double low = scale->min, high = scale->max;
	const double span = scale->end_pt - scale->start_pt;

	if (scale->is_log) {
		low = log(low);
		high = log(high);
		value = log(value);
	}
	return scale->start_pt + span * (value - low) / (high - low);
}

/* On an axis that has grown to its ticks. */
bool al_ticks_are_legible(const struct al_tick_request *request, const struct al_ticks *ticks,
	double *least_pt)
{
	struct al_scale scale = al_scale_of(&request->axis, 0, request->length_pt);
	double previous_end = -INFINITY;

	scale.min = fmin(scale.min, ticks->items[0].value);
	scale.max = fmax(scale.max, ticks->items[ticks->n - 1].value);
	*least_pt = INFINITY;
	for (size_t i = 0; i < ticks->n; i++) {
		double middle = al_scale_at(&scale, ticks->items[i].value);
		double half = request->extent_pt(request->context, ticks->items[i].label) / 2;
		*least_pt = fmin(*least_pt, middle - half - previous_end);
		previous_end = middle + half;
	}
	return *least_pt >= request->gap_pt;
}

/* ---- logarithmic ticks: decades, with 2 and 5 (or 3) where there is room; powers of two for what
 * grows so ---- */

/* Multiples within every `stride`-th power of the base. */
struct pattern {
	double base;
	int stride;
	double multiples[3];
	size_t n_multiples;
};

static const struct pattern patterns[] = {
	{10, 1, {1, 2, 5}, 3},
	{10, 1, {1, 3}, 2},
	{10, 1, {1}, 1},
	{10, 2, {1}, 1},
	{10, 3, {1}, 1},
	{10, 4, {1}, 1},
	{10, 6, {1}, 1},
	{10, 12, {1}, 1},
	{2, 1, {1}, 1},
	{2, 2, {1}, 1},
	{2, 3, {1}, 1},
	{2, 4, {1}, 1},
	{2, 5, {1}, 1},
	{2, 10, {1}, 1},
	{2, 20, {1}, 1},
};

static const double slack = 1e-9;

static bool lies_within(const struct al_tick_request *r, double value)
{
	return value >= r->axis.min * (1 - slack) && value <= r->axis.max * (1 + slack);
}

/* False where there are more ticks than anyone could read. */
static bool fill(const struct al_tick_request *r, const struct pattern *p, struct al_ticks *ticks)
{
	double first = floor(log(r->axis.min) / log(p->base) / p->stride) * p->stride;

	*ticks = (struct al_ticks){0};
	for (double power = first; pow(p->base, power) <= r->axis.max * (1 + slack);
		power += p->stride)
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
	double decade_pt = r->length_pt / log10(r->axis.max / r->axis.min);
	int most = decade_pt >= 25 ? 9 : 1;

	if (r->axis.is_binary || decade_pt < 3)
		return;
	for (double power = floor(log10(r->axis.min)); pow(10, power) <= r->axis.max; power++)
		for (int i = 1; i <= most; i++)
			if (lies_within(r, i * pow(10, power)))
				add_minor(ticks, i * pow(10, power));
}

/* Less than a decade: linear ticks read better, none of them outside. */
static bool find_within_decade(const struct al_tick_request *request, struct al_ticks *out)
{
	struct al_tick_request within = *request;

	within.axis.is_min_fixed = within.axis.is_max_fixed = true;
	return find_linear(&within, out);
}

static bool find_log(const struct al_tick_request *request, struct al_ticks *out)
{
	const double base = request->axis.is_binary ? 2 : 10;
	double best = INFINITY;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		struct al_ticks ticks;
		double least;
		if (patterns[i].base != base || !fill(request, &patterns[i], &ticks)
			|| mismatch(request, &ticks) >= best)
			continue;
		al_ticks_label(&ticks, request->axis.quantity, true);
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
	if (request->axis.is_date)
		return al_ticks_find_dates(request, out);
	return request->axis.is_log ? find_log(request, out) : find_linear(request, out);
}
