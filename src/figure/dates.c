/* Ticks of an axis of dates, whose values are years: every so many months, and how they are
 * labeled. */

#include "base/base.h"
#include "figure/ticks.h"

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
	"Oct", "Nov", "Dec"};

enum { A_YEAR = 12 };

static double months_of(double years)
{
	return round(years * A_YEAR);
}

/* "2024" in January; "Apr" else, with its year at the first tick. */
void al_ticks_label_dates(struct al_ticks *ticks)
{
	for (size_t i = 0; i < ticks->n; i++) {
		char *label = ticks->items[i].label;
		const double all = months_of(ticks->items[i].value), year = floor(all / A_YEAR);
		const int month = (int)(all - year * A_YEAR);
		if (month == 0)
			snprintf(label, AL_TICK_LABEL_SIZE, "%.0f", year);
		else if (i == 0)
			snprintf(label, AL_TICK_LABEL_SIZE, "%s %.0f", months[month], year);
		else
			snprintf(label, AL_TICK_LABEL_SIZE, "%s", months[month]);
	}
}

/* Every `step`-th month that the axis has, and one beyond each end that isn't fixed. */
static bool fill(const struct al_tick_request *request, double step, struct al_ticks *ticks)
{
	const struct al_dimension *axis = &request->axis;
	const double slack = 1e-6;
	const double low = axis->min * A_YEAR / step, high = axis->max * A_YEAR / step;
	const double first = axis->is_min_fixed ? ceil(low - slack) : floor(low + slack);
	const double last = axis->is_max_fixed ? floor(high + slack) : ceil(high - slack);

	*ticks = (struct al_ticks){0};
	if (last - first >= AL_MOST_TICKS)
		return false;
	for (double i = first; i <= last; i++)
		ticks->items[ticks->n++].value = i * step / A_YEAR;
	al_ticks_label_dates(ticks);
	return ticks->n >= 2;
}

bool al_ticks_find_dates(const struct al_tick_request *request, struct al_ticks *out)
{
	static const double steps[] = {1, 3, 6, 12, 24, 60, 120, 240, 600, 1200};
	const double wished = fmax(2, request->length_pt / request->spacing_pt + 1);
	double best = INFINITY;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct al_ticks ticks;
		double least;
		if (!fill(request, steps[i], &ticks)
			|| !al_ticks_are_legible(request, &ticks, &least))
			continue;
		const double n = (double)ticks.n, mismatch = fmax(n / wished, wished / n);
		if (mismatch < best) {
			best = mismatch;
			*out = ticks;
		}
	}
	return isfinite(best);
}
