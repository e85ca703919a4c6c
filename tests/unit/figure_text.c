/* Figures: no text meets another, whatever the size of the page and the table. */
#include "unit.h"

#include <math.h>

#include "drawing.h"

/* ---- text ---- */

static void check_text(const struct svg *svg)
{
	const struct svg_box page = {0, 0, svg->width, svg->height};

	for (size_t i = 0; i < svg->n_texts; i++) {
		assert_true(lies_within(&svg->texts[i].box, &page));
		for (size_t j = 0; j < i; j++)
			assert_false(svg_boxes_meet(&svg->texts[i].box, &svg->texts[j].box));
	}
}

static void no_text_meets_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_figure_cases; i++) {
		struct drawing d;
		open_drawing(&d, figure_cases[i].id);
		assert_true(d.svg.n_texts >= 8);
		check_text(&d.svg);
		close_drawing(&d);
	}
}

/* Names of slots stand beneath the ticks, 2.5 pt long. */
static void names_keep_off_the_ticks(void **state)
{
	static const char *const ids[] = {"names", "log-powers", "negative"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct drawing d;
		size_t n = 0;
		open_drawing(&d, ids[i]);
		for (size_t k = 0; k < d.svg.n_texts; k++) {
			const struct svg_box *box = &d.svg.texts[k].box;
			if (svg_center(box).y < d.frames[0].bottom || box->right < d.frames[0].left)
				continue;
			assert_true(box->top > d.frames[0].bottom + 3.5);
			n++;
		}
		assert_true(n >= 3);
		close_drawing(&d);
	}
}

/* Whatever the size: a figure, or an error, never a muddle. Returns whether it was drawn. */
static bool holds_at(const struct figure_case *c, const struct al_table *table, double width,
	double height)
{
	struct al_figure figure = c->figure;
	struct al_error err = {0};
	struct al_text text;
	struct svg svg;

	figure.id = c->id;
	figure.width_pt = width;
	figure.height_pt = height;
	al_text_init(&text);
	bool is_drawn = al_figure_draw(&figure, table, AL_FIGURE_SVG, &text, &err);
	if (is_drawn) {
		assert_true(svg_read(&svg, text.data));
		check_text(&svg);
		svg_finish(&svg);
	} else {
		assert_int_equal(err.status, AL_EINPUT);
		assert_int_equal(text.length, 0);
	}
	al_text_finish(&text);
	return is_drawn;
}

static void any_size_holds(void **state)
{
	static const double widths[] = {72, 96, 120, 160, 200, 320, 504, 1000};

	(void)state;
	for (size_t i = 0; i < n_figure_cases; i++) {
		struct al_table table;
		const struct figure_case *c = figure_case_open(figure_cases[i].id, &table);
		for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
			bool is_drawn = holds_at(c, &table, widths[w], 0.7 * widths[w]);
			if (!is_drawn && widths[w] >= 200 && !c->is_hard)
				fail_msg("%s has no room in %g pt", c->id, widths[w]);
			(void)holds_at(c, &table, widths[w], 72);
			if (widths[w] != 72)
				(void)holds_at(c, &table, 72, widths[w]);
		}
		al_table_finish(&table);
	}
}

/* ---- any table ---- */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static double random_value(uint64_t *random)
{
	switch (next_random(random) % 12) {
	case 0:
		return 0;
	case 1:
		return -(double)(next_random(random) % 1000);
	case 2:
		return ldexp(1, (int)(next_random(random) % 80) - 20);
	case 3:
		return 1e6 + next_random(random) % 100 * 1e-4;
	case 4:
		return next_random(random) % 2 ? -1e99 : 5e-324;
	default:
		return next_random(random) % 100000 / (1.0 + next_random(random) % 100);
	}
}

static void fill_random(struct al_table *table, uint64_t *random)
{
	static const char *const names[] = {"", "MHA", "grouped-query attention",
		"\xff is no UTF-8", "\u6ce8\u610f", "0123456789012345678901234567890123456789",
		"tab\tand\nline"};
	size_t n_rows = next_random(random) % 40;

	al_table_init(table, "random", "random");
	al_table_add_column(table,
		(struct al_column){.key = "name", .title = names[next_random(random) % 7]});
	al_table_add_column(table, (struct al_column){.key = "x", .quantity = AL_QUANTITY_PLAIN});
	al_table_add_column(table,
		(struct al_column){.key = "y",
			.unit = "tokens",
			.quantity = (enum al_quantity)(next_random(random) % 4)});
	for (size_t row = 0; row < n_rows; row++) {
		struct al_cell *cells = al_table_add_row(table);
		al_cell_set_text(table, &cells[0], names[next_random(random) % 7]);
		al_cell_set_real(&cells[1], (double)row);
		if (next_random(random) % 8)
			al_cell_set_real(&cells[2], random_value(random));
	}
}

static void any_table_holds(void **state)
{
	size_t n_drawn = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct al_reference_line line = {1000, "budget"};
		struct figure_case c = {.id = "random"};
		struct al_table table;
		uint64_t random = seed * 7919;
		fill_random(&table, &random);
		c.figure.mark = al_figure_marks[next_random(&random) % 3];
		c.figure.x.column = "x";
		c.figure.y = (struct al_axis){.column = "y",
			.scale = next_random(&random) % 4 ? AL_AXIS_LINEAR : AL_AXIS_LOG,
			.has_max = next_random(&random) % 4 == 0,
			.max = 5000};
		c.figure.series = next_random(&random) % 2 ? "name" : NULL;
		c.figure.label = strcmp(c.figure.mark, "point") == 0 ? "name" : NULL;
		c.figure.references = &line;
		c.figure.n_references = next_random(&random) % 2;
		n_drawn += holds_at(&c, &table, 120 + next_random(&random) % 400, 0);
		al_table_finish(&table);
	}
	assert_true(n_drawn >= 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_meets_another),
		cmocka_unit_test(names_keep_off_the_ticks),
		cmocka_unit_test(any_size_holds),
		cmocka_unit_test(any_table_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
