/* The order in which formats of tensors become smaller. */
#include "unit.h"

#include <math.h>

#include "shrink/shrink.h"

static const struct al_dtype formats[5];

/* Which rungs are left, by the formats' places: "0 2 4". */
static void describe(const struct al_choice *choice, char *out)
{
	for (size_t i = 0; i < choice->n_rungs; i++)
		out += sprintf(out, i > 0 ? " %td" : "%td", choice->rungs[i].dtype - formats);
}

/* Of what costs as much or more than something smaller, or more than the line between its
 * neighbours, nothing is left. */
static void the_lower_hull_is_left(void **state)
{
	static const struct {
		double costs[4]; /* of 80, 60, 40 and 20 bytes; 100 cost nothing */
		const char *left;
	} cases[] = {
		{{1, 2, 3, 4}, "0 4"}, /* one line */
		{{1, 3, 6, 10}, "0 1 2 3 4"},
		{{1, 1, 5, 10}, "0 2 3 4"},
		{{1, 3, 2, 10}, "0 3 4"},
		{{1, 4, 6, 10}, "0 1 3 4"}, /* the second lies above 1 to 6 */
		{{3, 5, 6, 6}, "0 4"},
		{{1, 2.5, 5, 9}, "0 1 2 3 4"},
		{{2, 5, 7.9, 10}, "0 1 4"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const double *costs = cases[i].costs;
		/* the first is where it starts; the others come in any order */
		struct al_rung rungs[] = {{.dtype = &formats[0], .bytes = 100},
			{.dtype = &formats[3], .bytes = 40, .cost = costs[2]},
			{.dtype = &formats[1], .bytes = 80, .cost = costs[0]},
			{.dtype = &formats[4], .bytes = 20, .cost = costs[3]},
			{.dtype = &formats[2], .bytes = 60, .cost = costs[1]}};
		struct al_choice choice = {.rungs = rungs, .n_rungs = 5};
		char left[40];
		al_choice_keep_hull(&choice);
		describe(&choice, left);
		assert_string_equal(left, cases[i].left);
	}
}

/* The step that costs least for its bytes comes first; of equal ones the earlier choice's. */
static void steps_come_by_cost_for_bytes(void **state)
{
	struct al_rung first[] = {{.bytes = 100, .cost = 1}, {.bytes = 60, .cost = 2},
		{.bytes = 50, .cost = 4}};
	struct al_rung second[] = {{.bytes = 300, .cost = 8}, {.bytes = 200, .cost = 8.5},
		{.bytes = 180, .cost = 12.5}};
	const struct al_choice choices[] = {{.rungs = first, .n_rungs = 3},
		{.rungs = second, .n_rungs = 3}};
	static const uint64_t bytes[] = {400, 300, 260, 250, 230};
	static const double costs[] = {0, 0.5, 1.5, 3.5, 7.5};
	struct al_path path;
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	al_path_make(&path, &arena, choices, 2, 400);
	assert_int_equal(path.n, 4);
	for (size_t k = 0; k <= path.n; k++) {
		assert_int_equal(path.bytes[k], bytes[k]);
		assert_true(fabs(path.costs[k] - costs[k]) < 1e-12);
	}
	for (size_t k = 0; k <= path.n; k++) {
		size_t rungs[2] = {0, 0};
		al_path_rungs(&path, k, rungs);
		assert_int_equal(rungs[0], k < 2 ? 0 : k < 3 ? 1 : 2);
		assert_int_equal(rungs[1], k < 1 ? 0 : k < 4 ? 1 : 2);
	}
	assert_int_equal(al_path_within(&path, 0), 0);
	assert_int_equal(al_path_within(&path, 1.5), 2);
	assert_int_equal(al_path_within(&path, 7), 3);
	assert_int_equal(al_path_within(&path, 8), 4);
	al_arena_finish(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_lower_hull_is_left),
		cmocka_unit_test(steps_come_by_cost_for_bytes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
