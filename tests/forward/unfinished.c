/* Recordings that are ended at each of their steps: the same one goes on behind the last layer and
 * writes the same bytes. */
#include "tests/unit/unit.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/file.h"
#include "linalg/linalg.h"
#include "model/calibration/calibration.h"
#include "tests/forward/tiny.h"

enum { NEVER = 1 << 20 };

struct opened {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_network network;
	struct tiny *tiny;
};

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

static void open_case(struct opened *o, const char *path)
{
	const struct al_view_options options = {.runs = true};
	struct al_error err;

	o->tiny = tiny_read(path);
	test_folder_make(&o->folder);
	tiny_write(o->tiny->state_dict, o->tiny->more, &o->folder);
	o->catalog = al_catalog_create();
	must(al_checkpoint_open(&o->checkpoint, o->folder.path, &err), &err);
	must(al_model_view_open(&o->view, o->catalog, &o->checkpoint, &options, &err), &err);
	must(al_network_open(&o->network, &o->view, &err), &err);
}

static void close_case(struct opened *o)
{
	al_network_close(&o->network);
	al_model_view_close(&o->view);
	al_checkpoint_close(&o->checkpoint);
	al_catalog_destroy(o->catalog);
	test_folder_remove(&o->folder);
	tiny_finish(o->tiny);
}

struct steps {
	size_t n, most;
};

static bool count(void *context, const char *part, size_t done, size_t n)
{
	struct steps *steps = context;

	(void)part;
	(void)done;
	(void)n;
	return steps->n++ < steps->most;
}

/* How many layers it went on behind. */
static int64_t record(struct opened *o, const char *path, bool has_behavior, struct steps *steps)
{
	const struct al_watch watch = {count, steps};
	const struct al_batch *all = &o->tiny->batch;
	struct al_calibration calibration;
	struct al_calibration_writer *writer;
	struct al_unfinished unfinished;
	struct al_error err;

	must(al_calibration_begin(&calibration, &o->network, all, 2, &err), &err);
	if (has_behavior)
		must(al_calibration_begin_behavior(&calibration, &o->network, &err), &err);
	al_unfinished_find(&unfinished, &calibration, &o->network, all, path);
	unfinished.state.seconds = 0;
	const int64_t n_passed = unfinished.state.n_passed;
	must(al_calibration_writer_create_kept(&writer, &calibration, path, unfinished.written,
		     &err),
		&err);
	unfinished.writer = writer;
	bool ok = !has_behavior || n_passed > 0
		|| al_calibration_record_behavior(&calibration, &o->network, &watch, &err);
	ok = ok
		&& al_calibration_record(&calibration, &o->network, all,
			&(struct al_statistics_taker){al_calibration_writer_put, writer}, &watch,
			&unfinished.state, &err);
	if (ok)
		must(al_calibration_writer_commit(writer, &err), &err);
	else
		al_calibration_writer_abandon(writer);
	assert_int_equal(ok, steps->n <= steps->most);
	al_unfinished_finish(&unfinished, ok);
	al_calibration_finish(&calibration);
	return n_passed;
}

static void compare(const char *path, const struct al_text *expected)
{
	AL_TEXT(found);
	struct al_error err;

	must(al_file_read(&found, path, 1 << 30, &err), &err);
	assert_int_equal(found.length, expected->length);
	assert_memory_equal(found.data, expected->data, found.length);
}

/* Ended before each step, and a second time in the run that goes on. */
static void check(const char *name, bool has_behavior)
{
	char whole[256], ended[256];
	struct steps steps = {0, NEVER};
	struct opened o;
	struct test_folder folder;
	AL_TEXT(expected);
	struct al_error err;

	open_case(&o, name);
	test_folder_make(&folder);
	test_path(whole, &folder, "whole.safetensors");
	test_path(ended, &folder, "ended.safetensors");
	assert_int_equal(record(&o, whole, has_behavior, &steps), 0);
	must(al_file_read(&expected, whole, 1 << 30, &err), &err);
	const size_t n_layers = (size_t)o.network.n_layers;
	const size_t n = steps.n, n_before = has_behavior ? n / 2 : 0;
	for (size_t most = 0; most < n; most++) {
		const size_t passed = most < n_before ? 0 : most - n_before;
		const int64_t behind = (int64_t)(passed * n_layers / (n - n_before));
		assert_int_equal(record(&o, ended, has_behavior, &(struct steps){0, most}), 0);
		assert_int_equal(record(&o, ended, has_behavior, &(struct steps){0, 0}), behind);
		assert_int_equal(record(&o, ended, has_behavior, &(struct steps){0, NEVER}),
			behind);
		compare(ended, &expected);
		assert_int_equal(test_folder_count(folder.path), 2);
		assert_int_equal(remove(ended), 0);
	}
	test_folder_remove(&folder);
	close_case(&o);
}

static void ended_recordings(void **state)
{
	(void)state;
	check("tests/data/forward/llama.json", false);
	check("tests/data/forward/llama.json", true);
	check("tests/data/forward/bert.json", false);
}

/* Of another recording, cut, or with a byte that changed: it begins again, or says so. */
static void states_that_are_wrong(void **state)
{
	char path[256], kept[256];
	struct opened o;
	AL_TEXT(bytes);
	struct al_error err;

	(void)state;
	open_case(&o, "tests/data/forward/llama.json");
	test_path(path, &o.folder, "a.safetensors");
	test_path(kept, &o.folder, "a.safetensors.state");
	record(&o, path, false, &(struct steps){0, 1});
	must(al_file_read(&bytes, kept, 1 << 30, &err), &err);
	for (size_t i = 0; i < bytes.length; i += 37) {
		struct al_calibration calibration;
		struct al_unfinished unfinished;
		bytes.data[i] ^= 1;
		test_write(kept, bytes.data, i % 2 ? bytes.length : i);
		must(al_calibration_begin(&calibration, &o.network, &o.tiny->batch, 2, &err), &err);
		al_unfinished_find(&unfinished, &calibration, &o.network, &o.tiny->batch, path);
		if (i % 2 == 0)
			assert_int_equal(unfinished.state.n_passed, 0);
		al_unfinished_finish(&unfinished, false);
		al_calibration_finish(&calibration);
		bytes.data[i] ^= 1;
	}
	test_write(kept, bytes.data, bytes.length);
	assert_int_equal(record(&o, path, true, &(struct steps){0, NEVER}), 0);
	close_case(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended_recordings),
		cmocka_unit_test(states_that_are_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
