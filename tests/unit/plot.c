/* What a plot knows of its data before anything is drawn. */
#include "unit.h"

#include <math.h>

#include "figure/mark.h"

static const struct al_figure lines = {.id = "lines",
	.mark = "line",
	.x = {.column = "x"},
	.y = {.column = "y"}};

/* Points (i x_step, i y_step), i from 1 to 4. */
static void fill(struct al_table *table, double x_step, double y_step)
{
	al_table_init(table, "points", "");
	al_table_add_column(table, (struct al_column){.key = "x"});
	al_table_add_column(table, (struct al_column){.key = "y"});
	for (int i = 1; i <= 4; i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_real(&cell[0], i * x_step);
		al_cell_set_real(&cell[1], i * y_step);
	}
}

/* Between whole numbers an axis has no tick; between others it has. */
static void whole_numbers_are_known(void **state)
{
	static const double steps[][2] = {{1, 1}, {0.25, 3}, {2, 0.5}, {0.125, 0.75}};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct al_table table;
		struct al_plot plot;
		fill(&table, steps[i][0], steps[i][1]);
		assert_true(al_plot_init(&plot, &lines, &table, NULL));
		assert_int_equal(plot.x.is_whole, steps[i][0] >= 1);
		assert_int_equal(plot.y.is_whole, steps[i][1] >= 1);
		al_arena_finish(&plot.arena);
		al_table_finish(&table);
	}
}

/* Of points at 1 to 4 those at 3 and 4, with 6 % of their distance around, but no farther than the
 * axis goes. */
static void an_inset_has_air_as_far_as_the_axis_goes(void **state)
{
	static const struct {
		enum al_axis_scale scale;
		double max, low, high;
	} cases[] = {{AL_AXIS_LINEAR, 4, 2.94, 4}, {AL_AXIS_LINEAR, 4.5, 2.94, 4.06},
		{AL_AXIS_LOG, 4, 3 / 1.06, 4}, {true, 4.5, 3 / 1.06, 4 * 1.06}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_figure figure = lines;
		struct al_table table;
		struct al_plot plot;
		figure.y.scale = cases[i].scale;
		figure.y.has_max = true;
		figure.y.max = cases[i].max;
		figure.inset = (struct al_inset){.is_drawn = true, .x_min = 2.5, .x_max = 5};
		fill(&table, 1, 1);
		assert_true(al_plot_init(&plot, &figure, &table, NULL));
		assert_true(fabs(plot.inset.y_min - cases[i].low) < 1e-9);
		assert_true(fabs(plot.inset.y_max - cases[i].high) < 1e-9);
		al_arena_finish(&plot.arena);
		al_table_finish(&table);
	}
}

/* An error bar down to 0, or beyond, ends where a logarithmic axis does. */
static void error_bars_leave_a_log_axis(void **state)
{
	(void)state;
	for (int spread = 1; spread <= 3; spread++) {
		struct al_figure figure = lines;
		struct al_table table;
		struct al_plot plot;
		struct al_error err;
		figure.y.scale = AL_AXIS_LOG;
		fill(&table, 1, 2);
		mpq_ptr deviation = al_exact_new(&table.arena);
		mpq_set_si(deviation, spread, 1);
		table.rows[0][1].spread = deviation;
		assert_true(al_plot_init(&plot, &figure, &table, &err));
		assert_true(plot.y.min == (spread == 1 ? 1 : 2));
		al_arena_finish(&plot.arena);
		al_table_finish(&table);
	}
}

/* A band between the first column and the second. */
static void a_band_begins_in_any_column(void **state)
{
	static const struct al_band band[] = {{.low = "x", .high = "y"}};
	struct al_figure figure = lines;
	struct al_table table;
	struct al_plot plot;
	struct al_error err;

	(void)state;
	figure.bands = band;
	figure.n_bands = 1;
	fill(&table, 1, 2);
	assert_true(al_plot_init(&plot, &figure, &table, &err));
	assert_true(plot.points.items[0].band_low == 1 && plot.points.items[0].band_high == 2);
	al_arena_finish(&plot.arena);
	al_table_finish(&table);
}

/* Words begin with a capital; a key is no word, and bytes say their unit at each tick. */
static void an_axis_is_named_as_its_column(void **state)
{
	static const struct {
		struct al_column column;
		const char *title;
	} cases[] = {
		{{.title = "tokens"}, "Tokens"},
		{{.title = "x"}, "x"},
		{{.title = "Latency", .unit = "ms"}, "Latency (ms)"},
		{{.title = "weights", .unit = "B", .quantity = AL_QUANTITY_BYTES}, "Weights"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_table table;
		struct al_plot plot;
		fill(&table, 1, 1);
		table.columns[0].title = cases[i].column.title;
		table.columns[0].unit = cases[i].column.unit ? cases[i].column.unit : "";
		table.columns[0].quantity = cases[i].column.quantity;
		assert_true(al_plot_init(&plot, &lines, &table, NULL));
		assert_string_equal(plot.x.title, cases[i].title);
		al_arena_finish(&plot.arena);
		al_table_finish(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_axis_is_named_as_its_column),
		cmocka_unit_test(whole_numbers_are_known),
		cmocka_unit_test(error_bars_leave_a_log_axis),
		cmocka_unit_test(a_band_begins_in_any_column),
		cmocka_unit_test(an_inset_has_air_as_far_as_the_axis_goes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
