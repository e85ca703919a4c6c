/* Outputs: whole or not at all, whoever interrupts; and sources that shrink. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/output.h"
#include "base/temporary.h"
#include "base/text.h"
#include "support/folder.h"

struct place {
	struct test_folder folder;
	char file[256];
};

static int make_place(void **state)
{
	static struct place place;

	test_folder_make(&place.folder);
	test_path(place.file, &place.folder, "answer");
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	test_folder_remove(&place->folder);
	return 0;
}

static void put(const char *path, const char *text)
{
	struct al_error err;

	if (!al_file_write(path, text, strlen(text), &err))
		fail_msg("%s", err.message);
}

static void expect(const char *path, const char *expected)
{
	struct al_error err;

	AL_TEXT(text);
	if (!al_file_read(&text, path, 1 << 20, &err))
		fail_msg("%s", err.message);
	assert_string_equal(text.data, expected);
}

static void keeps_the_mode_and_follows_links(void **state)
{
	const struct place *place = *state;
	char link_path[256];
	struct stat info;

	put(place->file, "old");
	assert_int_equal(chmod(place->file, 0640), 0);
	test_path(link_path, &place->folder, "link");
	assert_int_equal(symlink("answer", link_path), 0);
	put(link_path, "new");
	expect(place->file, "new");
	assert_int_equal(lstat(link_path, &info), 0);
	assert_true(S_ISLNK(info.st_mode));
	assert_int_equal(stat(place->file, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0640);
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(test_folder_count(place->folder.path), 1);
}

/* By a folder's link, by a link to the file, by way of another folder. */
static void finds_two_names_of_one_file(void **state)
{
	static const char *const names[] = {"by/new", "link", "no/../new", "./new"};
	const struct place *place = *state;
	char path[256], new[256];

	assert_int_equal(symlink(".", test_path(path, &place->folder, "by")), 0);
	assert_int_equal(symlink("by/new", test_path(path, &place->folder, "link")), 0);
	assert_int_equal(mkdir(test_path(path, &place->folder, "no"), 0700), 0);
	for (int i = 0; i < 4; i++) {
		al_overwrite_begin();
		put(test_path(new, &place->folder, "new"), "one");
		assert_false(
			al_file_write(test_path(path, &place->folder, names[i]), "two", 3, NULL));
		expect(new, "one");
		al_overwrite_end();
		assert_int_equal(unlink(new), 0);
	}
	assert_int_equal(rmdir(test_path(path, &place->folder, "no")), 0);
}

/* The file that isn't there yet is made where the links lead, and the links stay. */
static void follows_links_to_what_is_not_there(void **state)
{
	const struct place *place = *state;
	char first[256], second[256];
	struct stat info;

	test_path(first, &place->folder, "first");
	test_path(second, &place->folder, "second");
	assert_int_equal(symlink("second", first), 0);
	assert_int_equal(symlink(place->file, second), 0);
	put(first, "new");
	expect(place->file, "new");
	assert_true(lstat(first, &info) == 0 && S_ISLNK(info.st_mode));
	assert_true(lstat(second, &info) == 0 && S_ISLNK(info.st_mode));
	assert_int_equal(test_folder_count(place->folder.path), 3);
}

static void links_in_a_circle_are_an_error(void **state)
{
	const struct place *place = *state;
	struct al_error err;

	assert_int_equal(symlink("answer", place->file), 0);
	assert_false(al_file_write(place->file, "new", 3, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_non_null(strstr(err.message, "answer: can't write: "));
	assert_non_null(strstr(err.message, strerror(ELOOP)));
	assert_int_equal(test_folder_count(place->folder.path), 1);
}

static void a_name_may_be_as_long_as_a_name_can_be(void **state)
{
	const struct place *place = *state;
	char name[256], path[512];

	memset(name, 'n', 255);
	name[255] = '\0';
	snprintf(path, sizeof(path), "%s/%s", place->folder.path, name);
	put(path, "new");
	expect(path, "new");
	assert_int_equal(unlink(path), 0);
}

static void an_abandoned_output_leaves_the_old_file(void **state)
{
	const struct place *place = *state;
	struct al_output *output;

	put(place->file, "old");
	assert_true(al_output_open(&output, place->file, NULL));
	assert_true(al_output_append(output, "new", 3, NULL));
	assert_int_equal(test_folder_count(place->folder.path), 2);
	al_output_abandon(output);
	al_output_abandon(NULL);
	expect(place->file, "old");
	assert_int_equal(test_folder_count(place->folder.path), 1);
}

static void pieces_come_out_in_order(void **state)
{
	const struct place *place = *state;
	struct al_output *output;

	assert_true(al_output_open(&output, place->file, NULL));
	assert_true(al_output_append(output, "one ", 4, NULL));
	assert_true(al_output_append(output, "two", 3, NULL));
	assert_true(al_output_commit(output, NULL));
	expect(place->file, "one two");
}

static void what_was_read_or_written_is_not_written_over(void **state)
{
	const struct place *place = *state;
	char link_path[256], other[256];
	struct al_error err;

	put(place->file, "old");
	put(test_path(other, &place->folder, "other"), "old");
	assert_int_equal(symlink("answer", test_path(link_path, &place->folder, "link")), 0);
	al_overwrite_begin();
	expect(place->file, "old");
	assert_false(al_file_write(link_path, "new", 3, &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_non_null(strstr(err.message, "link: is a file of the input, expected another one"));
	assert_true(al_file_write(other, "one", 3, &err));
	assert_false(al_file_write(other, "two", 3, &err));
	assert_non_null(strstr(err.message, "other would be written twice: use two names"));
	assert_false(al_overwrite_check(place->file, &err));
	assert_true(al_overwrite_check("/nowhere/one", &err));
	assert_true(al_file_write("/dev/null", "x", 1, &err)
		&& al_file_write("/dev/null", "x", 1, &err));
	al_overwrite_end();
	put(place->file, "new");
	expect(other, "one");
}

static void refuses_what_is_no_place_for_a_file(void **state)
{
	const struct place *place = *state;
	struct al_output *output;
	struct al_error err;

	assert_false(al_output_open(&output, place->folder.path, &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_non_null(strstr(err.message, "is a directory, expected a file's name"));
	assert_null(output);
	assert_false(al_output_open(&output, "/nowhere/", &err));
	assert_non_null(strstr(err.message, "is a directory, expected a file's name"));
	assert_false(al_output_open(&output, "/nowhere/at/all", &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_true(al_file_write("/dev/null", "x", 1, &err));
}

static void a_folder_has_each_name_once(void **state)
{
	static const char *const names[] = {"b", "a", "c", "a"};
	const struct place *place = *state;
	struct al_output *output;
	struct al_error err;

	assert_true(al_output_open_folder(&output, place->file, names, 3, &err));
	al_output_abandon(output);
	assert_false(al_output_open_folder(&output, place->file, names, 4, &err));
	assert_true(al_ends_with(err.message, "answer/a would be written twice: use two names"));
	assert_null(output);
}

/* What isn't finished is of one process, which goes on where the last one stopped. */
static void unfinished_output_is_of_one_process(void **state)
{
	const struct place *place = *state;
	struct al_output *output, *other;
	struct al_error err;

	assert_true(al_output_open_kept(&output, place->file, 0, &err));
	assert_true(al_output_append(output, "abcd", 4, &err) && al_output_keep(output, &err));
	assert_false(al_output_open_kept(&other, place->file, 0, &err));
	assert_true(al_ends_with(err.message, "answer: another process is writing it"));
	assert_null(other);
	al_output_abandon(output);
	assert_false(al_output_open_kept(&output, place->file, 5, &err));
	assert_true(al_output_open_kept(&output, place->file, 3, &err));
	assert_true(al_output_append(output, "xyz", 3, &err) && al_output_commit(output, &err));
	expect(place->file, "abcxyz");
}

static void makes_folders_of_any_length(void **state)
{
	static char name[PATH_MAX + 1];
	const struct place *place = *state;
	const size_t length = (size_t)snprintf(name, sizeof(name), "%s/a/b/", place->folder.path);
	struct al_error err;

	assert_true(al_folder_make(name, &err));
	name[length - 1] = '\0';
	assert_int_equal(rmdir(name), 0);
	memset(name + length - 1, '/', PATH_MAX - length + 1);
	assert_false(al_folder_make(name, &err));
	assert_string_equal(err.message, "a folder's name of 4096 bytes, expected 1 to 4095");
	name[PATH_MAX - 1] = '\0';
	assert_true(al_folder_make(name, &err));
	assert_int_equal(rmdir(name), 0);
	name[length - 3] = '\0';
	assert_int_equal(rmdir(name), 0);
	assert_false(al_folder_make("", &err));
	assert_string_equal(err.message, "a folder's name of 0 bytes, expected 1 to 4095");
	put(place->file, "");
	assert_false(al_folder_make(place->file, &err));
	assert_true(al_ends_with(err.message, "answer: is not a folder"));
	assert_false(al_folder_make(strcat(strcpy(name, place->file), "/a"), &err));
	assert_int_equal(err.status, AL_ESYSTEM);
}

/* The child: an output half written, then wait. */
static void write_and_wait(const char *path, int number, int ready, bool is_ignored)
{
	struct al_output *output;

	/* whoever runs the tests in the background may have had the signal ignored */
	signal(number, is_ignored ? SIG_IGN : SIG_DFL);
	if (!al_output_open(&output, path, NULL) || !al_output_append(output, "new", 3, NULL))
		_exit(10);
	if (write(ready, "r", 1) != 1)
		_exit(11);
	if (is_ignored)
		raise(number);
	else
		sleep(10);
	_exit(al_output_commit(output, NULL) ? 0 : 12);
}

static int interrupt_a_writer(const char *path, int number, bool is_ignored)
{
	int ready[2], status;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		write_and_wait(path, number, ready[1], is_ignored);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(child, number);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(ready[0]);
	close(ready[1]);
	return status;
}

static void a_signal_removes_the_temporary_file(void **state)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	const struct place *place = *state;

	put(place->file, "old");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int status = interrupt_a_writer(place->file, numbers[i], false);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), numbers[i]);
		expect(place->file, "old");
		assert_int_equal(test_folder_count(place->folder.path), 1);
	}
}

/* What a killed program left is removed by the next, but not what one has that still writes. */
static void the_next_run_tidies_up(void **state)
{
	const struct place *place = *state;
	struct al_output *output;
	int status = interrupt_a_writer(place->file, SIGKILL, false);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(test_folder_count(place->folder.path), 1);
	put(place->file, "new");
	expect(place->file, "new");
	assert_int_equal(test_folder_count(place->folder.path), 1);
	assert_true(al_output_open(&output, place->file, NULL));
	status = interrupt_a_writer(place->file, SIGKILL, false);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(test_folder_count(place->folder.path), 3);
	al_temporary_tidy(place->folder.path); /* another folder in between */
	al_temporary_tidy(place->file);
	assert_int_equal(test_folder_count(place->folder.path), 2);
	assert_true(al_output_append(output, "newer", 5, NULL));
	assert_true(al_output_commit(output, NULL));
	expect(place->file, "newer");
	assert_int_equal(test_folder_count(place->folder.path), 1);
}

static void an_ignored_signal_stays_ignored(void **state)
{
	const struct place *place = *state;
	int status = interrupt_a_writer(place->file, SIGHUP, true);

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	expect(place->file, "new");
	assert_int_equal(test_folder_count(place->folder.path), 1);
}

static void handlers_are_put_back(void **state)
{
	const struct place *place = *state;
	struct al_output *a, *b;
	struct sigaction action;

	signal(SIGINT, SIG_DFL);
	assert_true(al_output_open(&a, place->file, NULL));
	assert_true(al_output_open(&b, place->file, NULL));
	al_output_abandon(a);
	sigaction(SIGINT, NULL, &action);
	assert_false(action.sa_handler == SIG_DFL);
	al_output_abandon(b);
	sigaction(SIGINT, NULL, &action);
	assert_true(action.sa_handler == SIG_DFL);
	assert_int_equal(test_folder_count(place->folder.path), 0);
}

static void a_source_that_shrinks_is_an_error(void **state)
{
	const struct place *place = *state;
	struct al_source source;
	struct al_error err;
	char bytes[8];

	put(place->file, "12345678");
	assert_true(al_source_open(&source, place->file, NULL));
	assert_int_equal(source.bytes, 8);
	assert_true(al_source_read(&source, 3, bytes, 5, NULL));
	assert_memory_equal(bytes, "45678", 5);
	assert_int_equal(truncate(place->file, 6), 0);
	assert_false(al_source_read(&source, 3, bytes, 5, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_non_null(strstr(err.message,
		"ends at byte 6, 2 bytes too early: it shrank while being read"));
	al_source_close(&source);
}

static void refuses_what_is_no_file(void **state)
{
	const struct place *place = *state;
	struct al_source source;
	struct al_error err;

	assert_false(al_source_open(&source, place->folder.path, &err));
	assert_non_null(strstr(err.message, "is a directory, expected a file"));
	assert_int_equal(mkfifo(place->file, 0600), 0);
	assert_false(al_source_open(&source, place->file, &err));
	assert_non_null(strstr(err.message, "is a pipe, expected a file"));
	assert_false(al_source_open(&source, "/dev/null", &err));
	assert_string_equal(err.message, "/dev/null: is a device, expected a file");
	assert_int_equal(err.status, AL_EINPUT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(keeps_the_mode_and_follows_links),
		CASE(finds_two_names_of_one_file),
		CASE(follows_links_to_what_is_not_there),
		CASE(links_in_a_circle_are_an_error),
		CASE(a_name_may_be_as_long_as_a_name_can_be),
		CASE(an_abandoned_output_leaves_the_old_file),
		CASE(pieces_come_out_in_order),
		CASE(what_was_read_or_written_is_not_written_over),
		CASE(refuses_what_is_no_place_for_a_file),
		CASE(a_folder_has_each_name_once),
		CASE(unfinished_output_is_of_one_process),
		CASE(makes_folders_of_any_length),
		CASE(a_signal_removes_the_temporary_file),
		CASE(the_next_run_tidies_up),
		CASE(an_ignored_signal_stays_ignored),
		CASE(handlers_are_put_back),
		CASE(a_source_that_shrinks_is_an_error),
		CASE(refuses_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
