/* What to draw: the columns of a table, and as which marks. Plain data, so that the code that knows
 * a table's meaning describes its figure without drawing it. */
#pragma once

#include "base/base.h"

/* The one list of marks, and their names. */
#define AL_FIGURE_MARKS(X) X(line) X(bar) X(point) X(heatmap)
enum { AL_FIGURE_N_MARKS = 4 };
extern const char *const al_figure_marks[AL_FIGURE_N_MARKS];

/* The palette's colors, by which a scenario names them, in the order of series. */
enum { AL_FIGURE_N_COLORS = 8 };
extern const char *const al_figure_colors[AL_FIGURE_N_COLORS];

enum al_axis_scale { AL_AXIS_LINEAR, AL_AXIS_LOG };

/* The tick labels of an axis, in base units. */
struct al_wished_tick {
	double value;
	const char *name; /* NULL: its value */
};

struct al_axis {
	const char *column; /* the table's column; NULL: the default axis */
	const char *title; /* NULL: the column's title and unit */
	enum al_axis_scale scale;
	bool is_free; /* each panel has its own limits and ticks */
	bool has_min, has_max; /* fixed limits, in the column's base units */
	double min, max;
	const struct al_wished_tick *ticks; /* rising; NULL: those that read best */
	size_t n_ticks;
};

struct al_reference_line {
	double value; /* on the y axis, base units */
	const char *label;
};

enum { AL_FIGURE_COLUMN_PT = 240, AL_FIGURE_PAGE_PT = 504, AL_FIGURE_MOST_STACKED = 8 };

/* Widths and heights, also of what a stranger's scenario asks for: 20 inches make 6000 x 6000
 * pixels. */
enum { AL_FIGURE_LEAST_PT = 72, AL_FIGURE_MOST_PT = 1440 };

/* Ticks that an axis may ask for, and the bytes of a name with its end. */
enum { AL_FIGURE_MOST_TICKS = 32, AL_FIGURE_TICK_NAME = 40 };

/* Lines: a series as many faint strands (heads, layers, draws) below their mean. */
struct al_strands {
	const char *column; /* one value a strand, whose rows follow each other; NULL: none */
	const char *const
		*bands; /* names of series of which the area that strands cover is drawn */
	size_t n_bands;
};

/* Lines: an area between two columns around each line, or between the lines of two series; the
 * other two are NULL. */
struct al_band {
	const char *low, *high; /* columns */
	const char *one, *other; /* series */
};

/* A part of the axes that is drawn once more, enlarged. */
struct al_inset {
	bool is_drawn;
	double x_min, x_max;
	bool has_y; /* else what the points have between x_min and x_max */
	double y_min, y_max;
};

/* A point (the end of a bar, a stack of bars) by what its row holds. */
struct al_end {
	const char *x; /* a text; NULL: x_value */
	double x_value;
	const char *series,
		*panel; /* as their columns hold or show them; NULL where there is one */
};

/* "4.0x" at an arrow between two points: how many times `of` is `to`. */
struct al_ratio {
	struct al_end of, to;
	int digits; /* after the point */
};

/* Points: the best ones are joined; those that another one is better than by more than both spreads
 * are open. */
struct al_pareto {
	bool is_drawn;
	unsigned better_x, better_y; /* 1: the higher value, 0: the lower */
};

enum { AL_FIGURE_MOST_BANDS = 16, AL_FIGURE_MOST_RATIOS = 16, AL_FIGURE_MOST_DIGITS = 6 };

/* A series that has the same color and mark in whatever figure it is drawn. */
struct al_look {
	const char *name; /* as people read it */
	size_t place; /* in the palette */
};

/* The font of a figure. */
struct al_lettering {
	const char *const *families; /* the first that is installed; none: DejaVu Sans */
	size_t n_families;
	double tick_pt, title_pt; /* 0: 7 and 8 pt */
};

struct al_figure {
	const char *id, *title; /* title: NULL for none */
	bool is_captioned; /* the title is in a caption, not in the picture */
	const char *mark; /* "line", "bar", "point", "heatmap" */
	struct al_axis x, y;
	struct al_axis color; /* heatmap: what cells at (x, y) hold; x and y are whole numbers */
	bool is_diverging; /* heatmap: two hues about zero */
	bool writes_values; /* heatmap: in each cell, with two decimals; bar: at its end */
	bool is_horizontal; /* bars: x runs down the page, y to the right */
	bool leaves_diagonal; /* heatmap: of things with themselves; not drawn, and not in the
				 colors' range */
	const char *const *stacked; /* bar: columns stacked instead of y.column, at most
				       AL_FIGURE_MOST_STACKED */
	size_t n_stacked;
	const char *series; /* column whose values make the series, or NULL */
	const struct al_look *looks; /* series that aren't among them come after them */
	size_t n_looks;
	struct al_strands strands;
	const char *panel; /* column whose values make panels side by side, or NULL; lines of a
	                      value are lines of the title */
	size_t panels_a_row; /* 0: all side by side; else rows of so many, of square frames
	                        unless the height is given or an axis is free */
	const char *const *beneath; /* columns shown beneath each panel, as its first row has
				       them; those of one group on one line */
	size_t n_beneath;
	const char *label; /* point: column that labels each point, or NULL */
	struct al_reference_line *references;
	size_t n_references;
	const struct al_band *bands;
	size_t n_bands;
	const struct al_ratio *ratios;
	size_t n_ratios;
	struct al_inset inset;
	struct al_pareto frontier;
	struct al_lettering lettering;
	double width_pt, height_pt; /* 0: AL_FIGURE_COLUMN_PT, and 0.68 of the width or more, as
	                               the text needs */
	bool legend; /* lines: a legend instead of direct labels at the line ends */
};
