/* Recordings that are ended at each of their steps: the same one goes on behind the last layer and
 * writes the same bytes. */
#include "tests/unit/unit.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/file.h"
#include "linalg/linalg.h"
#include "model/calibration/imatrix_write.h"
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

static void open_network(struct opened *o)
{
	const struct al_view_options options = {.runs = true};
	struct al_error err;

	o->catalog = al_catalog_create();
	must(al_checkpoint_open(&o->checkpoint, o->folder.path, &err), &err);
	must(al_model_view_open(&o->view, o->catalog, &o->checkpoint, &options, &err), &err);
	must(al_network_open(&o->network, &o->view, &err), &err);
}

static void close_network(struct opened *o)
{
	al_network_close(&o->network);
	al_model_view_close(&o->view);
	al_checkpoint_close(&o->checkpoint);
	al_catalog_destroy(o->catalog);
}

static void open_case(struct opened *o, const char *path)
{
	o->tiny = tiny_read(path);
	test_folder_make(&o->folder);
	tiny_write(o->tiny->state_dict, o->tiny->more, &o->folder);
	open_network(o);
}

static void close_case(struct opened *o)
{
	close_network(o);
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

/* Of a recording that may be ended. */
struct recording {
	struct opened *o;
	const char *path;
	bool has_behavior;
	struct al_watch watch;
	struct al_calibration calibration;
	struct al_unfinished unfinished;
	int64_t n_passed; /* layers that an earlier one is behind */
};

static bool pass(struct recording *r, const struct al_statistics_taker *taker)
{
	struct al_network *network = &r->o->network;
	struct al_error err;

	return (!r->has_behavior || r->n_passed > 0
		       || al_calibration_record_behavior(&r->calibration, network, &r->watch, &err))
		&& al_calibration_record(&r->calibration, network, &r->o->tiny->batch, taker,
			&r->watch, &r->unfinished.state, &err);
}

static void find(struct recording *r, const struct al_kept_memory *taken)
{
	struct al_error err;

	must(al_unfinished_find(&r->unfinished, &r->calibration, &r->o->network, &r->o->tiny->batch,
		     r->path, taken, &err),
		&err);
	r->unfinished.state.seconds = 0;
	r->n_passed = r->unfinished.state.n_passed;
}

static bool record_imatrix(struct recording *r)
{
	struct al_imatrix_writer *writer = al_imatrix_writer_create(&r->o->view, &r->calibration);
	struct al_error err;

	find(r, al_imatrix_writer_taken(writer));
	const bool ok = pass(r, &(struct al_statistics_taker){al_imatrix_writer_put, writer});
	if (ok)
		must(al_imatrix_writer_write(writer, "tokens", r->path, &err), &err);
	al_imatrix_writer_destroy(writer);
	return ok;
}

static bool record_file(struct recording *r)
{
	struct al_calibration_writer *writer;
	struct al_error err;

	find(r, NULL);
	must(al_calibration_writer_create_kept(&writer, &r->calibration, r->path,
		     r->unfinished.written, &err),
		&err);
	r->unfinished.writer = writer;
	const bool ok = pass(r, &(struct al_statistics_taker){al_calibration_writer_put, writer});
	if (ok)
		must(al_calibration_writer_commit(writer, &err), &err);
	else
		al_calibration_writer_abandon(writer);
	return ok;
}

static void begin(struct recording *r)
{
	struct al_network *network = &r->o->network;
	struct al_error err;

	must(al_calibration_begin(&r->calibration, network, &r->o->tiny->batch, 2, &err), &err);
	if (r->has_behavior)
		must(al_calibration_begin_behavior(&r->calibration, network, &err), &err);
}

/* How many layers it went on behind. */
static int64_t record(struct opened *o, const char *path, bool has_behavior, struct steps *steps)
{
	struct recording r = {.o = o,
		.path = path,
		.has_behavior = has_behavior,
		.watch = {count, steps}};

	begin(&r);
	const bool ok = al_ends_with(path, ".imatrix") ? record_imatrix(&r) : record_file(&r);
	const int64_t n_passed = r.n_passed;
	assert_int_equal(ok, steps->n <= steps->most);
	al_unfinished_finish(&r.unfinished, ok);
	al_calibration_finish(&r.calibration);
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
static void check(const char *name, const char *file, bool has_behavior)
{
	char whole[256], ended[256];
	struct steps steps = {0, NEVER};
	struct opened o;
	struct test_folder folder;
	AL_TEXT(expected);
	struct al_error err;

	open_case(&o, name);
	test_folder_make(&folder);
	test_path(whole, &folder, al_format(&o.view.arena, "whole%s", file));
	test_path(ended, &folder, al_format(&o.view.arena, "ended%s", file));
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
	check("tests/data/forward/llama.json", ".safetensors", false);
	check("tests/data/forward/llama.json", ".safetensors", true);
	check("tests/data/forward/llama.json", ".imatrix", false);
	check("tests/data/forward/bert.json", ".safetensors", false);
}

/* Layers that share weights are one module, complete behind the last of them. */
static void shared_weights(void **state)
{
	(void)state;
	check("tests/data/forward/albert.json", ".safetensors", false);
	check("tests/data/forward/albert.json", ".imatrix", false);
}

/* How many layers a recording would go on behind. */
static int64_t found(struct opened *o, const char *path)
{
	struct recording r = {.o = o, .path = path};

	begin(&r);
	find(&r, NULL);
	al_unfinished_finish(&r.unfinished, false);
	al_calibration_finish(&r.calibration);
	return r.n_passed;
}

/* The file's head: its magic, what it is of, how many layers the rest is behind. */
static void layers_that_were_passed(void **state)
{
	char path[256], kept[256];
	struct opened o;
	struct recording r = {.o = &o, .path = path, .watch = {count, &(struct steps){0, NEVER}}};
	AL_TEXT(bytes);
	struct al_error err;

	(void)state;
	open_case(&o, "tests/data/forward/llama.json");
	const int64_t n_layers = o.network.n_layers;
	test_path(path, &o.folder, "a.safetensors");
	test_path(kept, &o.folder, "a.safetensors.state");
	record(&o, path, false, &(struct steps){0, 1});
	must(al_file_read(&bytes, kept, 1 << 30, &err), &err);
	for (int64_t n = 0; n <= n_layers; n++) {
		memcpy(bytes.data + 16, &n, sizeof(n));
		test_write(kept, bytes.data, bytes.length);
		assert_int_equal(found(&o, path), n < n_layers ? n : 0);
	}
	memcpy(bytes.data + 16, &(int64_t){1}, sizeof(int64_t));
	bytes.data[bytes.length - 1] ^= 1; /* of the stream */
	test_write(kept, bytes.data, bytes.length);
	begin(&r);
	find(&r, NULL);
	assert_int_equal(r.n_passed, 1);
	assert_false(al_calibration_record(&r.calibration, &o.network, &o.tiny->batch, NULL,
		&r.watch, &r.unfinished.state, &err));
	assert_string_equal(err.message,
		al_format(&o.view.arena, "%s: is damaged: remove it to begin again", kept));
	al_unfinished_finish(&r.unfinished, false);
	al_calibration_finish(&r.calibration);
	close_case(&o);
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
		bytes.data[i] ^= 1;
		test_write(kept, bytes.data, i % 2 ? bytes.length : i);
		const int64_t n_passed = found(&o, path);
		if (i % 2 == 0)
			assert_int_equal(n_passed, 0);
		bytes.data[i] ^= 1;
	}
	test_write(kept, bytes.data, bytes.length);
	assert_int_equal(record(&o, path, true, &(struct steps){0, NEVER}), 0);
	close_case(&o);
}

/* Of the same tensors by another config. */
static void other_configs(void **state)
{
	char path[256], config[256];
	struct opened o;
	AL_TEXT(text);
	struct al_error err;

	(void)state;
	open_case(&o, "tests/data/forward/llama.json");
	test_path(path, &o.folder, "a.safetensors");
	test_path(config, &o.folder, "config.json");
	record(&o, path, false, &(struct steps){0, 1});
	assert_int_equal(found(&o, path), 1);
	must(al_file_read(&text, config, 1 << 20, &err), &err);
	char *activation = strstr(text.data, "silu");
	assert_non_null(activation);
	memcpy(activation, "relu", 4);
	test_write(config, text.data, text.length);
	close_network(&o);
	open_network(&o);
	assert_int_equal(found(&o, path), 0);
	close_case(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended_recordings),
		cmocka_unit_test(shared_weights),
		cmocka_unit_test(layers_that_were_passed),
		cmocka_unit_test(states_that_are_wrong),
		cmocka_unit_test(other_configs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
