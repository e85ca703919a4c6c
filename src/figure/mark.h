/* Marks: how a plot's points are drawn. A mark is one file with one descriptor, and its name in the
 * list of spec.h. */
#pragma once

#include "figure/obstacles.h"

struct al_mark {
	bool has_slots; /* x: one slot for each distinct value, not a number */
	bool stands_on_zero; /* the y axis begins at the mark */
	bool joins; /* points are joined in the order of x; series may end in labels */
	bool takes_labels; /* each point may have a label */
	bool can_stack;
	bool has_cells; /* at whole numbers of x and y, colored by a third column */
	double key_pt; /* the width of a series' sample in a legend */
	void (*draw)(struct al_scene *scene, size_t panel);
	/* What labels must keep off; a mark with cells has no labels. */
	void (*avoid)(struct al_obstacles *obstacles);
	/* The end of a point's bar or stack, where that is another place than the point's; NULL:
	 * it never is. */
	struct al_spot (*find_end)(const struct al_scene *scene, const struct al_point *point);
	/* The sample of a series in a legend; a mark with cells has no series. */
	void (*draw_key)(const struct al_scene *scene, size_t series, const struct al_box *box);
};

/* The lines of a panel's front, as far as the frame doesn't cut them; 0: it has none. */
size_t al_front_lines(const struct al_scene *scene, size_t panel, struct al_segment **out);

#define AL_DECLARE_MARK(name) extern const struct al_mark al_mark_##name;
AL_FIGURE_MARKS(AL_DECLARE_MARK)
