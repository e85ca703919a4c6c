/* Folders that appear with all their files or not at all. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/output.h"
#include "support/folder.h"

static const char *const names[] = {"one", "two"};
enum { N = sizeof(names) / sizeof(*names) };

struct place {
	struct test_folder around;
	char target[256], file[256];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	test_folder_make(&place->around);
	test_path(place->target, &place->around, "out");
	test_path(place->file, &place->around, "out/one");
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;
	char path[256];

	unlink(place->file);
	unlink(test_path(path, &place->around, "out/two"));
	rmdir(place->target);
	test_folder_remove(&place->around);
	free(place);
	return 0;
}

static void must_begin(const struct place *place, struct al_output **folder)
{
	assert_true(al_output_open_folder(folder, place->target, names, N, NULL));
	for (size_t i = 0; i < N; i++)
		assert_true(al_file_write(al_output_file(*folder, i), "new", 3, NULL));
}

static void appears_with_all_its_files(void **state)
{
	const struct place *place = *state;
	struct al_output *folder;
	struct stat info;

	must_begin(place, &folder);
	assert_int_equal(access(place->target, F_OK), -1);
	assert_int_equal(test_folder_count(al_output_written(folder)), N);
	assert_true(al_output_commit(folder, NULL));
	assert_int_equal(test_folder_count(place->target), N);
	assert_int_equal(test_folder_count(place->around.path), 1);
	const mode_t mask = umask(0);
	umask(mask);
	assert_int_equal(stat(place->target, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0777 & ~mask);
}

/* An empty folder is as good as none; a slash at the end is none of the name. */
static void takes_an_empty_folder(void **state)
{
	const struct place *place = *state;
	struct al_output *folder;
	char path[300];

	assert_int_equal(mkdir(place->target, 0700), 0);
	snprintf(path, sizeof(path), "%s//", place->target);
	assert_true(al_output_open_folder(&folder, path, names, N, NULL));
	assert_true(al_file_write(al_output_file(folder, 0), "new", 3, NULL));
	assert_true(al_output_commit(folder, NULL));
	assert_int_equal(access(place->file, F_OK), 0);
}

static void abandoned_leaves_nothing(void **state)
{
	const struct place *place = *state;
	struct al_output *folder;

	must_begin(place, &folder);
	al_output_abandon(folder);
	al_output_abandon(NULL);
	assert_int_equal(test_folder_count(place->around.path), 0);
}

static void assert_refused(const char *path, const char *const *files, const char *message)
{
	struct al_output *folder;
	struct al_error err;

	assert_false(al_output_open_folder(&folder, path, files, 2, &err));
	assert_null(folder);
	if (!strstr(err.message, message))
		fail_msg("\"%s\", expected \"%s\"", err.message, message);
}

static void refuses_what_it_would_have_to_replace(void **state)
{
	static const char *const twice[] = {"one", "one"};
	const struct place *place = *state;
	char path[256];

	assert_refused(place->target, twice, "out/one would be written twice: use two names");
	assert_int_equal(mkdir(place->target, 0700), 0);
	test_write(place->file, "old", 3);
	assert_refused(place->target, names, "the folder isn't empty, expected a new or an empty");
	assert_refused(place->file, names, "is a file, expected a new or empty folder");
	assert_refused(test_path(path, &place->around, "no/where"), names, "can't write");
	assert_int_equal(test_folder_count(place->around.path), 1);
}

/* The child: a folder half written, then wait. */
static void write_and_wait(const struct place *place, int number, int ready)
{
	struct al_output *folder;

	signal(number, SIG_DFL);
	if (!al_output_open_folder(&folder, place->target, names, N, NULL)
		|| !al_file_write(al_output_file(folder, 0), "new", 3, NULL)
		|| write(ready, "r", 1) != 1)
		_exit(10);
	sleep(10);
	_exit(11);
}

static void interrupt_a_writer(const struct place *place, int number)
{
	int ready[2], status;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		write_and_wait(place, number, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(child, number);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
	close(ready[0]);
	close(ready[1]);
}

static void a_signal_removes_it(void **state)
{
	const struct place *place = *state;

	interrupt_a_writer(place, SIGINT);
	assert_int_equal(test_folder_count(place->around.path), 0);
}

/* What a killed program left is removed by the next. */
static void the_next_run_tidies_up(void **state)
{
	const struct place *place = *state;
	struct al_output *folder;

	interrupt_a_writer(place, SIGKILL);
	assert_int_equal(test_folder_count(place->around.path), 1);
	must_begin(place, &folder);
	assert_int_equal(test_folder_count(place->around.path), 1);
	assert_true(al_output_commit(folder, NULL));
	assert_int_equal(test_folder_count(place->around.path), 1);
}

int main(void)
{
#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		PLACED(appears_with_all_its_files),
		PLACED(takes_an_empty_folder),
		PLACED(abandoned_leaves_nothing),
		PLACED(refuses_what_it_would_have_to_replace),
		PLACED(a_signal_removes_it),
		PLACED(the_next_run_tidies_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
