/* What labels keep off, counted. */
#include "unit.h"

#include <math.h>

#include "figure/obstacles.h"

static void counts_boxes_and_segments(void **state)
{
	struct al_box boxes[] = {{0, 0, 10, 10}, {20, 0, 30, 10}, {5, 5, 25, 8}};
	struct al_segment segments[] = {{0, 20, 30, 20}, {0, 0, 0, 30}};
	const struct al_obstacles obstacles = {.boxes = boxes,
		.n_boxes = 3,
		.segments = segments,
		.n_segments = 2};
	const struct al_box in_two = {6, 6, 8, 7}, free = {40, 0, 50, 10},
			    on_line = {12, 15, 14, 25}, over_all = {-1, -1, 31, 31};

	(void)state;
	assert_int_equal(al_obstacles_count(&obstacles, &in_two), 2);
	assert_int_equal(al_obstacles_count(&obstacles, &free), 0);
	assert_int_equal(al_obstacles_count(&obstacles, &on_line), 1);
	assert_int_equal(al_obstacles_count(&obstacles, &over_all), 5);
}

/* Each time where it stood before is taken: all eight places. */
static void labels_stand_beside_their_point(void **state)
{
	const double x = 100, y = 80;
	const struct al_size size = {20, 8};
	struct al_box frame = {10, 10, 190, 150}, taken[8];
	struct al_label label = al_tick_label("label");
	struct al_scene scene = {.frames = &frame};
	struct al_obstacles obstacles = {.scene = &scene, .boxes = taken};
	size_t n = 0;

	(void)state;
	while (al_label_put_near(&obstacles, &label, size, x, y)) {
		const struct al_box *box = &label.box;
		const double across = fmax(0, fmax(box->left - x, x - box->right));
		const double down = fmax(0, fmax(box->top - y, y - box->bottom));
		assert_true(fabs(hypot(across, down) - 4.2) < 0.1);
		assert_true(n < 8);
		/* the next one may overlap it, but not stand where it stood */
		taken[n++] = (struct al_box){(box->left + box->right) / 2 - 0.1,
			(box->top + box->bottom) / 2 - 0.1, (box->left + box->right) / 2 + 0.1,
			(box->top + box->bottom) / 2 + 0.1};
		obstacles.n_boxes = n;
	}
	assert_int_equal(n, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_boxes_and_segments),
		cmocka_unit_test(labels_stand_beside_their_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
