/* Results that outlive the program that made them. */
#include "unit.h"

#include <unistd.h>

#include "base/kept.h"
#include "support/one_folder.h"

static char path[256];

static int make_place(void **state)
{
	make_folder(state);
	test_path(path, &folder, "trials");
	return 0;
}

static struct al_kept open_kept(uint64_t of)
{
	struct al_kept kept;
	struct al_error err;

	if (!al_kept_open(&kept, path, of, sizeof(double), &err))
		fail_msg("%s", err.message);
	return kept;
}

/* As if the program were killed: nothing is tidied. */
static void die(struct al_kept *kept)
{
	close(kept->file);
}

static void add(struct al_kept *kept, double result)
{
	assert_true(al_kept_add(kept, &result, NULL));
}

static void check_next(struct al_kept *kept, double result)
{
	double found = 0;

	assert_true(al_kept_next(kept, &found));
	assert_true(found == result);
}

static void results_come_again_in_order(void **state)
{
	double none;
	struct al_kept kept = open_kept(1);

	(void)state;
	assert_false(kept.is_found);
	for (int i = 0; i < 3; i++)
		add(&kept, i);
	die(&kept);
	kept = open_kept(1);
	assert_true(kept.is_found);
	assert_int_equal(kept.n_found, 3);
	for (int i = 0; i < 3; i++)
		check_next(&kept, i);
	assert_false(al_kept_next(&kept, &none));
	add(&kept, 3);
	assert_false(al_kept_next(&kept, &none)); /* what this run made isn't found */
	die(&kept);
	kept = open_kept(1);
	assert_int_equal(kept.n_found, 4);
	al_kept_close(&kept, true);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void a_result_that_is_cut_is_made_again(void **state)
{
	struct al_kept kept = open_kept(1);

	(void)state;
	add(&kept, 1);
	add(&kept, 2);
	assert_int_equal(ftruncate(kept.file, lseek(kept.file, 0, SEEK_END) - 1), 0);
	die(&kept);
	kept = open_kept(1);
	assert_int_equal(kept.n_found, 1);
	check_next(&kept, 1);
	al_kept_close(&kept, true);
}

/* Work that has made nothing yet isn't found begun, whoever left the file: what lies next to it may
 * be of other work. */
static void work_begins_when_it_says_so(void **state)
{
	struct al_kept kept = open_kept(1);

	(void)state;
	add(&kept, 1);
	die(&kept);
	for (int i = 0; i < 2; i++) {
		kept = open_kept(2);
		assert_false(kept.is_found);
		die(&kept);
	}
	kept = open_kept(2);
	assert_true(al_kept_begin(&kept, NULL));
	die(&kept);
	for (int i = 0; i < 2; i++) {
		kept = open_kept(2);
		assert_true(kept.is_found);
		assert_int_equal(kept.n_found, 0);
		die(&kept);
	}
	kept = open_kept(2);
	al_kept_close(&kept, false); /* it has no result */
	assert_int_not_equal(access(path, F_OK), 0);
}

static void two_processes_do_not_mix(void **state)
{
	struct al_kept kept = open_kept(1), other;
	struct al_error err;

	(void)state;
	assert_false(al_kept_open(&other, path, 1, sizeof(double), &err));
	assert_non_null(strstr(err.message, "another process is writing it"));
	al_kept_close(&other, true);
	add(&kept, 1);
	al_kept_close(&kept, false);
	kept = open_kept(1);
	check_next(&kept, 1);
	al_kept_close(&kept, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_come_again_in_order),
		cmocka_unit_test(a_result_that_is_cut_is_made_again),
		cmocka_unit_test(work_begins_when_it_says_so),
		cmocka_unit_test(two_processes_do_not_mix),
	};

	return cmocka_run_group_tests(tests, make_place, remove_folder);
}
