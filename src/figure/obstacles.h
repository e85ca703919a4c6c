/* Obstacles: what labels keep off besides other text: markers, bars, lines, leaders. */
#pragma once

#include "figure/scene.h"

/* A panel's obstacles, in the scene's arena. */
struct al_obstacles {
	struct al_scene *scene;
	size_t panel;
	struct al_box *boxes;
	size_t n_boxes, boxes_room;
	struct al_segment *segments;
	size_t n_segments, segments_room;
};

/* The mark and the reference lines of a panel. */
struct al_obstacles al_scene_obstacles(struct al_scene *scene, size_t panel);

void al_obstacles_add_box(struct al_obstacles *obstacles, struct al_box box);
void al_obstacles_add_segment(struct al_obstacles *obstacles, struct al_segment segment);

/* How many the box meets. */
size_t al_obstacles_count(const struct al_obstacles *o, const struct al_box *box);

/* The bar of a datum with a spread, at `x_pt`, and what labels keep off it; nothing where the datum
 * has none (errorbars.c). */
void al_scene_draw_error_bar(const struct al_scene *scene, const struct al_point *point,
	double x_pt, struct al_color color);
void al_scene_avoid_error_bar(struct al_obstacles *obstacles, const struct al_point *point,
	double x_pt);

/* Is the box within the panel's frame and off text; and off obstacles? */
bool al_scene_has_room(const struct al_scene *scene, size_t panel, const struct al_box *box);
bool al_obstacles_leave(const struct al_obstacles *obstacles, const struct al_box *box);

/* Puts a label of this size next to (x, y) where it meets nothing; false where all eight places are
 * taken. */
bool al_label_put_near(const struct al_obstacles *obstacles, struct al_label *label,
	struct al_size size, double x, double y);

bool al_segment_crosses(const struct al_segment *s, const struct al_box *box);
bool al_segments_cross(const struct al_segment *a, const struct al_segment *b);
