/* A scene: a plot laid out on a canvas. */
#pragma once

#include "figure/canvas.h"
#include "figure/plot.h"
#include "figure/ticks.h"

struct al_obstacles;

/* ---- distances that several parts of the layout use ---- */

#define AL_EDGE_PT 2.0 /* from the canvas to any ink */
#define AL_TICK_PT 2.5 /* a tick's length */
#define AL_TICK_GAP_PT 2.0 /* from a tick to its label */
#define AL_TITLE_GAP_PT 3.0 /* from labels to the title beyond them */
#define AL_INSET_PT 4.5 /* from the frame to the outermost value: a marker has room */
#define AL_PANEL_GAP_PT 10.0 /* between two frames */
#define AL_LINE_GAP_PT 2.0 /* between rows of a legend */
#define AL_AXIS_WIDTH_PT 0.6

/* The largest side of a square frame. */
#define AL_SQUARE_PT 150.0

/* An axis on the page. */
struct al_ruler {
	struct al_scale scale;
	struct al_ticks ticks; /* none where x has slots */
};

/* How the names of the slots along x are written. */
struct al_slot_names {
	bool is_vertical;
	double wrap_pt;
	size_t stride; /* every so many-th is written */
	double height_pt; /* of horizontal bars, their width */
};

/* Of a ratio: along the leg, from the level of the greater value to that of the less; a thin line
 * at that level leads to the greater one. */
struct al_arrow {
	struct al_segment leg, level;
	struct al_box label; /* cuts the leg where it is upon it */
};

struct al_scene {
	struct al_canvas *canvas;
	const struct al_plot *plot;
	struct al_arena *arena; /* the plot's */
	double least_height_pt; /* of a frame */
	struct al_box *frames; /* [n_panels] */
	struct al_ruler *x, *y; /* [n_panels]; x from where a frame begins, y as on the first one */
	size_t least_asked_ticks; /* fewer of those that the figure asks for aren't taken */
	struct al_slot_names slot_names; /* instead of ticks along x where it has slots */
	struct al_label *labels; /* all text */
	size_t n_labels, labels_room;
	struct al_segment *leaders; /* from a mark to its label */
	size_t n_leaders, leaders_room;
	struct al_box *keys; /* of the legend, [n_keys], one a series */
	size_t n_keys;
	bool has_end_labels; /* instead of a legend */
	struct al_box color_bar; /* of a heat map */
	struct al_scene *inset; /* the same plot within narrower axes; NULL: there is none */
	struct al_box inset_page; /* the place that it takes, with its ticks */
	struct al_arrow *arrows; /* of ratios, [n_arrows] */
	size_t n_arrows;
};

/* Panels are side by side, or in rows (al_figure.panels_a_row). */
size_t al_scene_columns(const struct al_scene *scene);
bool al_scene_is_lowest(const struct al_scene *scene, size_t panel);

/* Where a value is along its axis: from the left of the page or, for y, from the top; of
 * horizontal bars the other way round. */
double al_scene_x(const struct al_scene *scene, size_t panel, double x);
double al_scene_y(const struct al_scene *scene, size_t panel, double y);
/* The same, at the frame where y is beyond it: a logarithm has no value below zero. */
double al_scene_clamped_y(const struct al_scene *scene, size_t panel, double y);

struct al_spot {
	double x, y;
};

struct al_spot al_scene_at(const struct al_scene *scene, const struct al_point *point);

/* The width of the slot of one value of x, where x has slots. */
double al_scene_slot_pt(const struct al_scene *scene);

/* Is the point inside the fixed limits of the axes? */
bool al_scene_holds(const struct al_scene *scene, const struct al_point *point);

/* Adds a label whose place is set. */
void al_scene_add_label(struct al_scene *scene, const struct al_label *label);

/* Adds a label, unless it is empty, whose point (across, down) lies at (x, y); its box. */
struct al_box al_scene_write(struct al_scene *scene, struct al_label label, double x, double y,
	double across, double down);
void al_scene_add_leader(struct al_scene *scene, struct al_segment leader);

/* Margins, ticks, frames, legend and all text but callouts (layout.c). */
bool al_scene_lay_out(struct al_scene *scene, struct al_error *err) AL_MUST_CHECK;

/* Ticks of an axis with these limits; their labels, at the frame of a scene but among the labels of
 * `out`; how wide these are (axisticks.c). */
void al_scene_find_ticks(struct al_scene *scene, size_t panel, bool is_x,
	const struct al_dimension *d);
void al_scene_add_tick_labels(const struct al_scene *scene, size_t panel, bool is_x,
	struct al_scene *out);
double al_ticks_width(struct al_canvas *canvas, const struct al_ticks *ticks);

/* Names of the slots along x (slots.c): how they fit the slots; their places. */
void al_scene_fit_slot_names(struct al_scene *scene);
void al_scene_add_slot_names(struct al_scene *scene, size_t panel);

/* The values at the ends of bars (values.c): the room that the widest takes along y; 0: there are
 * none. */
double al_scene_values_pt(const struct al_scene *scene);
void al_scene_add_values(struct al_scene *scene);

/* Lines beneath panels, at the bottom of the page: how high they are with what keeps them apart
 * (0: there are none), and their places (beneath.c). */
double al_scene_beneath_height(const struct al_scene *scene);
void al_scene_add_beneath(struct al_scene *scene, size_t panel);

/* Rows of keys and names from `top` downwards; the bottom in *bottom (legend.c). */
bool al_scene_add_legend(struct al_scene *scene, double top, double *bottom,
	struct al_error *err) AL_MUST_CHECK;

/* The colors' range, from `top` downwards (colorbar.c). */
bool al_scene_add_color_bar(struct al_scene *scene, double top, double *bottom,
	struct al_error *err) AL_MUST_CHECK;
void al_scene_draw_color_bar(struct al_scene *scene);

/* Names at the ends of lines (ends.c): how much room they take to the right, and whether they fit
 * next to the frame; then their places. A line that ends early is named where it ends: false where
 * no place is free there. */
double al_scene_end_labels_width(struct al_scene *scene);
bool al_scene_end_labels_fit(struct al_scene *scene);
bool al_scene_add_end_labels(struct al_scene *scene);

/* Labels at points and at reference lines, off marks and other text (callouts.c). */
bool al_scene_add_callouts(struct al_scene *scene, struct al_error *err) AL_MUST_CHECK;

/* Areas around lines and between them, below the lines (band.c). */
void al_scene_draw_bands(const struct al_scene *scene, size_t panel);
void al_scene_draw_strand_band(const struct al_scene *scene, size_t panel, size_t series);

/* A part of the plot once more, where the frame is free (inset.c). */
bool al_scene_add_inset(struct al_obstacles *obstacles, struct al_error *err) AL_MUST_CHECK;
void al_scene_draw_inset(struct al_scene *scene);

/* Arrows between two points, and how many times one is the other (ratio.c). */
bool al_scene_add_ratios(struct al_scene *scene, struct al_obstacles *obstacles,
	struct al_error *err) AL_MUST_CHECK;
void al_scene_draw_ratios(const struct al_scene *scene);

/* Grid, axes and ticks (axes.c). */
void al_scene_draw_back(const struct al_scene *scene, size_t panel);
void al_scene_draw_axes(const struct al_scene *scene, size_t panel);
