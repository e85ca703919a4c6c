/* Ticks: where axes are labeled and how the labels are written. */
#include "unit.h"

#include <math.h>

#include "figure/ticks.h"

/* Labels of 4 pt a character along the axis. */
static double extent(void *context, const char *label)
{
	(void)context;
	return 4 * (double)strlen(label);
}

static double no_extent(void *context, const char *label)
{
	(void)context;
	(void)label;
	return 0;
}

#define PLAIN \
	{ \
		.axis.quantity = AL_QUANTITY_PLAIN \
	}

#define DATES(is_fixed) \
	{ \
		.axis = {.is_date = true, .is_min_fixed = is_fixed, .is_max_fixed = is_fixed } \
	}

/* An axis of 100 pt with a wish for n ticks, and what its labels are. */
static const struct tick_case {
	double min, max, wished;
	struct al_tick_request how;
	const char *labels;
} cases[] = {
	/* as the reference implementation of Talbot et al. answers (R package labeling) */
	{0, 100, 5, PLAIN, "0 25 50 75 100"},
	{8.1, 14.1, 4, PLAIN, "8 10 12 14"},
	{0, 10, 3, PLAIN, "0 5 10"},
	{-100, 100, 5, PLAIN, "\u2212100 \u221250 0 50 100"},
	{-8.1, -2.3, 4, PLAIN, "\u22128 \u22126 \u22124 \u22122"},
	{1024, 65536, 3, {.axis.is_log = true, .axis.is_binary = true},
		"1,024 4,096 16,384 65,536"},
	{0, 1, 6, PLAIN, "0 0.2 0.4 0.6 0.8 1.0"},
	{25.5, 27.8, 5, PLAIN, "25.5 26.0 26.5 27.0 27.5 28.0"},
	{0, 201326592, 5, {.axis.quantity = AL_QUANTITY_COUNT}, "0 50M 100M 150M 200M"},
	{0, 2415919104, 6, {.axis.quantity = AL_QUANTITY_COUNT}, "0 0.5B 1.0B 1.5B 2.0B 2.5B"},
	{0, 72351744, 5, {.axis.quantity = AL_QUANTITY_BYTES, .axis.is_binary = true},
		"0 16 MiB 32 MiB 48 MiB 64 MiB"},
	{0, 1.2e9, 5, {.axis.quantity = AL_QUANTITY_BYTES, .axis.is_binary = true},
		"0 256 MiB 512 MiB 768 MiB 1 GiB"},
	{0, 3, 7, {.axis.is_whole = true}, "0 1 2 3"},
	{0, 12, 5, {.axis.is_max_fixed = true, .axis.is_min_fixed = true}, "0 3 6 9 12"},
	{1e-7, 4e-7, 4, PLAIN,
		"10\u207b\u2077 2\u00d710\u207b\u2077 3\u00d710\u207b\u2077 4\u00d710\u207b\u2077"},
	{1, 2e8, 5, {.axis.is_log = true, .axis.quantity = AL_QUANTITY_COUNT}, "1 100 10k 1M 100M"},
	{1, 2e8, 9, {.axis.is_log = true, .axis.quantity = AL_QUANTITY_COUNT},
		"1 10 100 1k 10k 100k 1M 10M 100M"},
	{1, 1e12, 5, {.axis.is_log = true, .axis.quantity = AL_QUANTITY_COUNT}, "1 1k 1M 1B 1T"},
	{1, 1e12, 4, {.axis.is_log = true, .axis.quantity = AL_QUANTITY_COUNT}, "1 10k 100M 1T"},
	{1, 1e12, 3, {.axis.is_log = true, .axis.quantity = AL_QUANTITY_COUNT}, "1 1M 1T"},
	{1, 128, 7, {.axis.is_log = true}, "1 2 5 10 20 50 100"},
	{32, 1024, 6, {.axis.is_log = true, .axis.is_binary = true}, "32 64 128 256 512 1024"},
	{0x1p20, 0x1p40, 5,
		{.axis.is_log = true, .axis.is_binary = true, .axis.quantity = AL_QUANTITY_BYTES},
		"1 MiB 32 MiB 1 GiB 32 GiB 1 TiB"},
	{20, 28, 5, {.axis.is_log = true}, "20 22 24 26 28"},
	{20, 50, 5, {.axis.is_log = true}, "20 50"},
	{0.001, 10, 5, {.axis.is_log = true}, "0.001 0.01 0.1 1 10"},
	/* dates: no tick beyond a whole year, one beyond an end within a step unless it is fixed */
	{2020, 2024, 5, DATES(false), "2020 2021 2022 2023 2024"},
	{2020.5, 2023.5, 5, DATES(false), "2020 2021 2022 2023 2024"},
	{2020.5, 2023.5, 4, DATES(true), "2021 2022 2023"},
	{2020, 2024, 5, DATES(true), "2020 2021 2022 2023 2024"},
	{2020, 2020.25, 4, DATES(true), "2020 Feb Mar Apr"},
	{2019.75, 2021, 6, DATES(true), "Oct 2019 2020 Apr Jul Oct 2021"},
	{1900, 2100, 3, DATES(true), "1900 2000 2100"},
};

static void join(const struct al_ticks *ticks, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ticks->n; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "",
			ticks->items[i].label);
}

static void finds_the_ticks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_tick_request request = cases[i].how;
		struct al_ticks ticks;
		char labels[512];
		request.axis.min = cases[i].min;
		request.axis.max = cases[i].max;
		request.length_pt = 100;
		request.spacing_pt = 100 / (cases[i].wished - 1);
		request.extent_pt = no_extent;
		assert_true(al_ticks_find(&request, &ticks));
		join(&ticks, labels, sizeof(labels));
		assert_string_equal(labels, cases[i].labels);
	}
}

/* Whatever is wished, labels keep their gap; a shorter axis has fewer of them, down to none. */
static void thins_out_where_there_is_no_room(void **state)
{
	size_t before = AL_MOST_TICKS;

	(void)state;
	for (double length = 300; length >= 10; length -= 10) {
		struct al_tick_request request = {.axis.min = 0,
			.axis.max = 201326592,
			.length_pt = length,
			.spacing_pt = 10,
			.gap_pt = 4,
			.axis.quantity = AL_QUANTITY_COUNT,
			.extent_pt = extent};
		struct al_ticks ticks;
		double least;
		if (!al_ticks_find(&request, &ticks)) {
			before = 0;
			continue;
		}
		assert_true(al_ticks_are_legible(&request, &ticks, &least));
		assert_true(least >= 4);
		assert_true(ticks.n <= before);
		before = ticks.n;
	}
	assert_int_equal(before, 0);
}

/* Ticks are ascending and distinct, and so are their labels, over many orders of magnitude. */
/* The ends of a heat map's colors: three digits, in the unit that people read. */
static void rounds_what_stands_alone(void **state)
{
	static const struct {
		double value;
		enum al_quantity quantity;
		const char *label;
	} alone[] = {
		{1277952, AL_QUANTITY_COUNT, "1.28M"},
		{999600, AL_QUANTITY_COUNT, "1M"},
		{7077888, AL_QUANTITY_PLAIN, "7,080,000"},
		{65000, AL_QUANTITY_PLAIN, "65,000"},
		{1500 * 1048576.0, AL_QUANTITY_BYTES, "1.46 GiB"},
		{0.0123456, AL_QUANTITY_PLAIN, "0.0123"},
		{-1, AL_QUANTITY_PLAIN, "\u22121"},
		{0, AL_QUANTITY_COUNT, "0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++) {
		char label[AL_TICK_LABEL_SIZE];
		al_tick_label_rounded(label, alone[i].value, alone[i].quantity);
		assert_string_equal(label, alone[i].label);
	}
}

static void labels_tell_ticks_apart(void **state)
{
	(void)state;
	for (int power = -6; power <= 15; power++)
		for (double factor = 1; factor < 10; factor += 0.37)
			for (int quantity = AL_QUANTITY_PLAIN; quantity <= AL_QUANTITY_FLOPS;
				quantity++) {
				struct al_tick_request request = {.axis.min = -0.3 * pow(10, power),
					.axis.max = factor * pow(10, power),
					.length_pt = 200,
					.spacing_pt = 40,
					.axis.quantity = (enum al_quantity)quantity,
					.extent_pt = no_extent};
				struct al_ticks ticks;
				assert_true(al_ticks_find(&request, &ticks));
				for (size_t i = 1; i < ticks.n; i++) {
					assert_true(
						ticks.items[i].value > ticks.items[i - 1].value);
					assert_string_not_equal(ticks.items[i].label,
						ticks.items[i - 1].label);
				}
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_ticks),
		cmocka_unit_test(thins_out_where_there_is_no_room),
		cmocka_unit_test(rounds_what_stands_alone),
		cmocka_unit_test(labels_tell_ticks_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
