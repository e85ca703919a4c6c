/* A plot: what a figure draws, taken out of its table. Knows no canvas. */
#pragma once

#include "figure/figure.h"
#include "figure/ticks.h"

struct al_mark;

enum { AL_MOST_SERIES = 64, AL_MOST_PANELS = 96, AL_MOST_CATEGORIES = 256 };

struct al_point {
	size_t panel, series;
	double x; /* a number, or the index of a category */
	double y; /* NAN where missing: a line has a gap there */
	double color; /* heatmap: NAN where missing */
	double low, high; /* what strands reach, whose mean is y; or the spread of y */
	double band_low, band_high; /* of the area around a line; NAN where there is none */
	size_t strand;
	size_t row;
	bool is_dominated; /* another point is better, whatever their spreads */
	const char *label; /* NULL for none */
};

/* Points side by side. */
struct al_points {
	struct al_point *items;
	size_t n;
};

/* Lines beneath a panel. */
struct al_beneath {
	const char **lines;
	size_t n_lines;
};

/* The points of a panel that none is better than as printed, in the order of x. */
struct al_front {
	const struct al_point **points;
	size_t n;
};

/* An area between the lines of two series. */
struct al_between {
	size_t one, other;
};

/* A ratio mark: from one point to another of its panel, and its text. */
struct al_plot_ratio {
	const struct al_point *points[2];
	const char *label;
};

/* The columns that a figure names, as indices; -1: none. */
struct al_plot_columns {
	int x, series, panel, label, color, strand, band_low, band_high;
	int y[AL_FIGURE_MOST_STACKED];
	size_t n_y;
	int *beneath; /* [n_beneath] */
};

struct al_plot {
	struct al_arena arena;
	const struct al_figure *figure;
	const struct al_table *table;
	struct al_plot_columns columns; /* of the table */
	const struct al_mark *mark;
	struct al_dimension x, y, color;
	struct al_dimension *panel_x, *panel_y; /* [n_panels]: x and y, or their own limits */
	const char **categories; /* along x, NULL where x is a number */
	size_t n_categories;
	const char *series[AL_MOST_SERIES]; /* as they are shown */
	const char *series_texts[AL_MOST_SERIES]; /* as the table, which outlives the plot, holds
						     them; NULL: numbers */
	size_t n_series;
	bool names_series; /* labels or the names of slots do: a legend would repeat them */
	size_t looks[AL_MOST_SERIES]; /* each series' place in the palette */
	const char *panels[AL_MOST_PANELS]; /* their titles; one "" without a panel column */
	size_t n_panels;
	struct al_beneath beneath[AL_MOST_PANELS];
	struct al_points points; /* panel by panel, in it series by series, in the order of x for
				    a mark that joins them */
	size_t points_room;
	struct al_points strands; /* where the figure has some: the same, strand by strand */
	size_t n_strands;
	struct al_front *fronts; /* [n_panels]; NULL: none is drawn */
	struct al_between *between; /* [n_between] */
	size_t n_between;
	struct al_plot_ratio *ratios; /* [n_ratios of the figure] */
	struct al_inset inset; /* with its limits along y */
};

/* Its arena must be finished either way. */
bool al_plot_init(struct al_plot *plot, const struct al_figure *figure,
	const struct al_table *table, struct al_error *err) AL_MUST_CHECK;

/* Of a panel; of one series in it: a part of plot->points or plot->strands. */
struct al_points al_points_of_panel(const struct al_points *all, size_t panel);
struct al_points al_points_of_series(const struct al_points *all, size_t panel, size_t series);

/* Is it one of the series whose strands make an area? */
bool al_plot_is_band(const struct al_plot *plot, size_t series);

/* Sorts by panel, series, and strand and x or, as they come, row. */
void al_points_sort(struct al_points *points, bool by_their_x);

/* The points become strands, and the means of those the points (points.c). */
void al_plot_part_strands(struct al_plot *plot);

/* Marks dominated points (front.c). */
void al_plot_find_fronts(struct al_plot *plot);

/* Makes the lines beneath a panel of its first row (beneath.c). */
void al_plot_add_beneath(struct al_plot *plot, size_t row, size_t panel);

/* Which columns a figure names, or draws where it names none (columns.c). */
bool al_plot_find_columns(struct al_plot *plot, struct al_error *err) AL_MUST_CHECK;
/* Dates are numbers, too: a column of nothing else, but years. */
bool al_plot_has_numbers(const struct al_table *table, int column);
bool al_plot_has_dates(const struct al_table *table, int column);
bool al_plot_read_date(const struct al_cell *cell, double *years);

/* Finds the series that areas lie between (band.c). */
bool al_plot_find_bands(struct al_plot *plot, struct al_error *err) AL_MUST_CHECK;

/* Finds the points of ratios, and divides what the table holds there (ratio.c). */
bool al_plot_find_ratios(struct al_plot *plot, struct al_error *err) AL_MUST_CHECK;

/* Sets the limits of the inset: it must lie on the axes and hold a point (inset.c). */
bool al_plot_bound_inset(struct al_plot *plot, struct al_error *err) AL_MUST_CHECK;

/* Adds a cell's number: a stack of bars is their sum (ratio.c); false: it has none. */
bool al_plot_add_value(struct al_arena *arena, mpq_t sum, const struct al_cell *cell);

/* A cell as text; the name of a row's panel or series, as it is shown. */
const char *al_plot_cell_text(struct al_arena *arena, const struct al_cell *cell);
const char *al_plot_name(struct al_plot *plot, size_t row, int column);

/* Sets the limits of both axes (domain.c). */
bool al_plot_bound(struct al_plot *plot, struct al_error *err) AL_MUST_CHECK;
