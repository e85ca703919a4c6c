/* Writes the figures of tests/unit/figure_cases.c, heat maps and the palette into a folder, as SVG:
 * every mark, style, overlay and place of a text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/figure_cases.h"
#include "figure/palette.h"

static bool write_file(const char *folder, const char *id, const char *variant,
	const struct al_text *svg)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s%s.svg", folder, id, variant);
	FILE *file = fopen(path, "wb");
	if (!file)
		return false;
	const bool is_whole = fwrite(svg->data, 1, svg->length, file) == svg->length
		&& putc('\n', file) != EOF;
	return fclose(file) == 0 && is_whole;
}

static bool draw(const char *folder, const struct al_figure *figure, const struct al_table *table,
	const char *variant)
{
	AL_TEXT(svg);
	struct al_error err = {0};

	if (!al_figure_draw(figure, table, AL_FIGURE_SVG, &svg, &err)) {
		fprintf(stderr, "%s%s: %s\n", figure->id, variant, err.message);
		return false;
	}
	return write_file(folder, figure->id, variant, &svg);
}

/* As it is; and larger, with a legend, in larger type. */
static bool draw_case(const char *folder, const char *id)
{
	struct al_table table;
	struct al_figure figure = figure_case_open(id, &table)->figure;

	figure.id = id;
	bool is_drawn = draw(folder, &figure, &table, "");
	figure.width_pt = AL_FIGURE_PAGE_PT;
	figure.height_pt = 360;
	figure.legend = true;
	figure.title = "A title";
	figure.lettering.tick_pt = 8;
	figure.lettering.title_pt = 9.5;
	is_drawn = draw(folder, &figure, &table, "-large") && is_drawn;
	al_table_finish(&table);
	return is_drawn;
}

/* ---- heat maps ---- */

/* 12 x 7 from -1 to 2.5, apart from what isn't measured. */
static void fill_map(struct al_table *table)
{
	al_table_init(table, "map", "");
	al_table_add_column(table, (struct al_column){.key = "x", .title = "Head"});
	al_table_add_column(table, (struct al_column){.key = "y", .title = "Layer"});
	al_table_add_column(table, (struct al_column){.key = "v", .title = "Score"});
	for (int i = 0; i < 12 * 7; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_int(table, &row[0], i % 12);
		al_cell_set_int(table, &row[1], i / 12);
		if (i % 12 != i / 12 + 2)
			al_cell_set_real(&row[2], 3.5 * i / (12 * 7 - 1) - 1);
	}
}

static bool draw_maps(const char *folder)
{
	struct al_figure figure = {.id = "map",
		.mark = "heatmap",
		.x = {.column = "x"},
		.y = {.column = "y"},
		.color = {.column = "v"}};
	struct al_table table;

	fill_map(&table);
	bool is_drawn = draw(folder, &figure, &table, "");
	figure.is_diverging = figure.writes_values = figure.leaves_diagonal = true;
	figure.width_pt = AL_FIGURE_PAGE_PT;
	is_drawn = draw(folder, &figure, &table, "-diverging") && is_drawn;
	al_table_finish(&table);
	return is_drawn;
}

/* ---- the palette ---- */

enum { N_SERIES = 64, N_SHARES = 33 };

static void draw_series(struct al_canvas *canvas, size_t series)
{
	const double x = 10 + 170. * (double)(series / 16), y = 10 + 22. * (double)(series % 16);
	const struct al_box bar = {x, y, x + 30, y + 16}, faint = {x + 130, y, x + 138, y + 16},
			    ink = {x + 140, y, x + 148, y + 16},
			    glass = {x + 145, y, x + 155, y + 10};

	al_series_draw_bar(canvas, series, &bar);
	cairo_move_to(canvas->cr, x + 36, y + 8);
	cairo_line_to(canvas->cr, x + 90, y + 8);
	al_canvas_color(canvas, al_series_color(series));
	al_series_set_dash(canvas, series);
	cairo_set_line_width(canvas->cr, al_series_coverage(series));
	al_canvas_stroke(canvas);
	al_series_draw_marker(canvas, series, x + 100, y + 8, 9);
	al_series_draw_open_marker(canvas, series, x + 116, y + 8, 9);
	al_canvas_color(canvas, al_series_tint(series));
	al_canvas_fill_box(canvas, &faint);
	al_canvas_color(canvas, al_series_ink(series));
	al_canvas_fill_box(canvas, &ink);
	al_series_set_glass(canvas, series);
	al_canvas_fill_box(canvas, &glass);
}

static void draw_ramp(struct al_canvas *canvas, bool is_diverging)
{
	const double y = is_diverging ? 385 : 365;

	for (int i = 0; i < N_SHARES; i++) {
		const struct al_box box = {10 + 20. * i, y, 28 + 20. * i, y + 16};
		al_canvas_color(canvas, al_ramp_color(i / (N_SHARES - 1.), is_diverging));
		al_canvas_fill_box(canvas, &box);
	}
}

/* No text: the same with any font. */
static bool draw_palette(const char *folder)
{
	const struct al_figure figure = {.id = "palette", .mark = "bar", .width_pt = 690};
	AL_TEXT(svg);
	AL_ENDS(al_canvas_finish) struct al_canvas canvas;

	if (!al_canvas_begin(&canvas, &figure, 410, AL_FIGURE_SVG, &svg, NULL))
		return false;
	al_canvas_make_fonts(&canvas, &figure.lettering);
	for (size_t i = 0; i < N_SERIES; i++)
		draw_series(&canvas, i);
	draw_ramp(&canvas, false);
	draw_ramp(&canvas, true);
	return al_canvas_end(&canvas, NULL) && write_file(folder, figure.id, "", &svg);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return EXIT_FAILURE;
	bool is_drawn = draw_palette(argv[1]) && draw_maps(argv[1]);
	for (size_t i = 0; i < n_figure_cases; i++)
		is_drawn = draw_case(argv[1], figure_cases[i].id) && is_drawn;
	return is_drawn ? EXIT_SUCCESS : EXIT_FAILURE;
}
