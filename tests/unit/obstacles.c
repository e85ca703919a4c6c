/* What labels keep off, counted. */
#include "unit.h"

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
	assert_true(
		al_obstacles_hit(&obstacles, &in_two) && al_obstacles_hit(&obstacles, &on_line));
	assert_false(al_obstacles_hit(&obstacles, &free));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_boxes_and_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
