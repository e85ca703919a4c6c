/* A number that is NaN or infinite never passes without a count and the name of its tensor: in the
 * tensors of tiny models of every layout that families have, under every command that reads them.
 *
 * A command that stops says which tensor it is and how many of its numbers; one that answers says
 * so beside its answer. Commands that read headers alone say that. */
#include "command_line.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "formats/checkpoint.h"
#include "support/state_dict.h"

static struct test_folder folder; /* what commands read and write */
static int output; /* all that a command prints and says */

/* ---- commands ---- */

enum { MOST_SAID = 1 << 16 };

/* In a line "@" is the folder, "#" the model in it that is asked about. */
#define CONFIG " @/config.json --threads 1 "
static const char sound_model[] = "model.safetensors", spoilt_model[] = "spoilt.safetensors";

/* Its exit status, and the beginning of its whole text. */
static int run(const char *line, const char *model, char said[MOST_SAID])
{
	char detailed[512];

	snprintf(detailed, sizeof(detailed), "%s --details", line);
	assert_int_equal(ftruncate(output, 0), 0);
	const int status = test_command_line_into(detailed, &folder, model, output, output);
	const ssize_t n = pread(output, said, MOST_SAID - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	return status;
}

/* A status that is an answer or a refusal, and the tensor beside a count. */
static bool is_named(int status, const char *said, const char *tensor)
{
	char refused[512], inspected[512];

	snprintf(refused, sizeof(refused), "numbers of %s are NaN or infinite", tensor);
	snprintf(inspected, sizeof(inspected), "in 1 tensor: %s\n", tensor);
	return status <= AL_EINPUT && (strstr(said, refused) || strstr(said, inspected));
}

/* ---- a sound checkpoint ---- */

struct sound {
	struct al_checkpoint checkpoint;
	unsigned char *bytes; /* of its file */
	size_t n_bytes;
};

static void open_sound(struct sound *sound, const char *name)
{
	struct al_error err;
	char path[256];

	if (!al_checkpoint_open(&sound->checkpoint, test_path(path, &folder, name), &err))
		fail_msg("%s", err.message);
	sound->n_bytes = (size_t)sound->checkpoint.bytes;
	sound->bytes = al_alloc(sound->n_bytes, 1);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(sound->bytes, 1, sound->n_bytes, file), sound->n_bytes);
	fclose(file);
}

static void close_sound(struct sound *sound)
{
	al_checkpoint_close(&sound->checkpoint);
	free(sound->bytes);
}

static bool is_fp8(const struct al_tensor *tensor)
{
	return strcmp(tensor->dtype->stored, "F8_E4M3") == 0;
}

/* What has a scale for each block beside it is stored in FP8. */
static void store_in_fp8(struct state_dict *dict)
{
	for (size_t i = 0; i < dict->n; i++) {
		char scale[256];
		snprintf(scale, sizeof(scale), "%s_scale_inv", dict->weights[i].name);
		if (state_dict_find(dict, scale))
			dict->weights[i].dtype = "F8_E4M3";
	}
}

/* The support's bytes 0, 1, 2 ... come to NaN at 127. */
static void mend_fp8(struct sound *sound)
{
	for (size_t i = 0; i < sound->checkpoint.n_tensors; i++) {
		const struct al_tensor *tensor = &sound->checkpoint.tensors[i];
		for (size_t k = 0; is_fp8(tensor) && k < tensor->bytes; k++)
			sound->bytes[tensor->offset + k] = (unsigned char)(32 + k * 7 % 64);
	}
}

/* @/model.safetensors and @/config.json. */
static void make_model(struct sound *model, const char *name)
{
	struct state_dict *dict = state_dict_read(name);
	char path[256];

	store_in_fp8(dict);
	state_dict_write(dict, &folder, true);
	state_dict_finish(dict);
	open_sound(model, sound_model);
	mend_fp8(model);
	test_write(test_path(path, &folder, sound_model), model->bytes, model->n_bytes);
}

/* ---- with one number that isn't finite ---- */

enum { N_PLACES = 3 };

/* Writes the spoilt model: NaN at the begin, an infinity in the middle and at the end, which in
 * a fused tensor are queries, keys and values. FP8 (E4M3) has no infinities. */
static void spoil(const struct sound *sound, const struct al_tensor *tensor, int place)
{
	static const double numbers[N_PLACES] = {NAN, INFINITY, -INFINITY};
	const float single = (float)numbers[place];
	const size_t each = (size_t)tensor->dtype->block_bytes;
	unsigned char *at = sound->bytes + tensor->offset
		+ (size_t)(place * (tensor->n_elements - 1) / (N_PLACES - 1)) * each;
	unsigned char kept[sizeof(double)];
	char path[256];

	memcpy(kept, at, each);
	if (is_fp8(tensor))
		*at = 0x7F;
	else
		memcpy(at, each == sizeof(single) ? (const void *)&single : &numbers[place], each);
	test_write(test_path(path, &folder, spoilt_model), sound->bytes, sound->n_bytes);
	memcpy(at, kept, each);
}

/* Layers, experts and stacks are all alike: those that aren't the first are left out. */
static bool is_first(const struct al_tensor *tensor)
{
	for (const char *p = strchr(tensor->name, '.'); p; p = strchr(p + 1, '.'))
		if (p[1] >= '1' && p[1] <= '9')
			return false;
	return tensor->n_elements > 0;
}

enum { MOST_LINES = 8 };

struct lines {
	const char *items[MOST_LINES];
	size_t n;
};

/* Commands read alike: each has another place. */
static size_t check_tensor(const struct sound *sound, const struct al_tensor *tensor,
	const struct lines *lines)
{
	char said[MOST_SAID];
	size_t n_wrong = 0;

	for (size_t i = 0; i < lines->n; i++) {
		spoil(sound, tensor, (int)((i + (size_t)tensor->n_elements) % N_PLACES));
		const int status = run(lines->items[i], spoilt_model, said);
		if (is_named(status, said, tensor->name))
			continue;
		print_error("%s: %s: status %d: %s\n", tensor->name, lines->items[i], status, said);
		n_wrong++;
	}
	return n_wrong;
}

static size_t check_tensors(const struct sound *sound, const struct lines *lines)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < sound->checkpoint.n_tensors; i++)
		if (is_first(&sound->checkpoint.tensors[i]))
			n_wrong += check_tensor(sound, &sound->checkpoint.tensors[i], lines);
	return n_wrong;
}

/* ---- a model under every command ---- */

static const char *const all[] = {
	"audit #" CONFIG "--null 0 --across --only similarity",
	"audit #" CONFIG "--null 0 --fold-norms --only heads",
	"audit @/model.safetensors" CONFIG "--null 0 --against #",
	"evaluate #" CONFIG "--tokens @/tokens",
	"calibrate #" CONFIG "--tokens @/tokens -o @/measured",
	"inspect #" CONFIG "--only tensors --values",
	"compress #" CONFIG "--method qk --rank 1 -o @/truncated.safetensors",
	"compress #" CONFIG "--method drop --drop 0:1 -o @/dropped.safetensors",
};
enum { N_COMMANDS = sizeof(all) / sizeof(*all) };

/* Those that answer for the sound model. */
static void find_lines(struct lines *lines, size_t n_answers[N_COMMANDS])
{
	char said[MOST_SAID];

	*lines = (struct lines){.n = 0};
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (run(all[i], sound_model, said) == AL_OK) {
			lines->items[lines->n++] = all[i];
			n_answers[i]++;
		}
}

/* With the number in the original and, tensor by tensor of its own, in the copy. */
static size_t check_copy(const struct sound *model, const char *name, const char *original)
{
	static const struct lines copied = {{"verify @/model.safetensors #" CONFIG}, 1};
	const struct lines copies = {{original}, 1};
	char path[256];
	struct sound copy;

	if (access(test_path(path, &folder, name), F_OK) != 0)
		return 0;
	open_sound(&copy, name);
	const size_t n_wrong = check_tensors(model, &copies) + check_tensors(&copy, &copied);
	close_sound(&copy);
	return n_wrong;
}

static size_t check_model(const char *name, size_t n_answers[N_COMMANDS])
{
	struct lines lines;
	struct sound model;
	char path[256];

	make_model(&model, name);
	find_lines(&lines, n_answers);
	size_t n_wrong = check_copy(&model, "truncated.safetensors",
		"verify # @/truncated.safetensors" CONFIG);
	n_wrong += check_copy(&model, "dropped.safetensors",
		"verify # @/dropped.safetensors" CONFIG);
	n_wrong += check_tensors(&model, &lines);
	unlink(test_path(path, &folder, "truncated.safetensors"));
	unlink(test_path(path, &folder, "dropped.safetensors"));
	close_sound(&model);
	return n_wrong;
}

static void one_number_is_named(void **state)
{
	/* fused by projection, interleaved, with one key, with gates; MLA with biases, MLA in FP8;
	 * two stacks; norms of queries and keys; sinks beside packed experts */
	static const char *const names[] = {"gpt2", "bloom", "falcon-7b", "phi3", "deepseek_v2",
		"deepseek_v3-fp8", "t5", "qwen3", "gpt_oss-mxfp4", "bert"};
	size_t n_wrong = 0, n_answers[N_COMMANDS] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		n_wrong += check_model(names[i], n_answers);
	assert_int_equal(n_wrong, 0);
	for (size_t i = 0; i < N_COMMANDS; i++)
		assert_int_not_equal(n_answers[i], 0);
}

static void headers_alone_are_said_to_be(void **state)
{
	char said[MOST_SAID];
	struct sound model;

	(void)state;
	make_model(&model, "gpt2");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run(i ? "reconcile #" : "inspect #", sound_model, said), AL_OK);
		assert_non_null(strstr(said, "values not read"));
	}
	close_sound(&model);
}

/* The folder's file is a link to the spoilt one. */
static void numbers_of_calibrations_are_counted(void **state)
{
	static const struct lines lines = {{"audit @/model.safetensors" CONFIG
					    "--calibration @/measured",
						   "merge @/measured @/other -o @/merged"},
		2};
	struct sound model, calibration;
	char said[MOST_SAID], path[256];

	(void)state;
	make_model(&model, "gpt2");
	assert_int_equal(run("calibrate #" CONFIG "--tokens @/tokens --sequences 0:1 -o @/measured",
				 sound_model, said),
		AL_OK);
	assert_int_equal(run("calibrate #" CONFIG "--tokens @/tokens --sequences 1:2 -o @/other",
				 sound_model, said),
		AL_OK);
	open_sound(&calibration, "measured/calibration.safetensors");
	unlink(test_path(path, &folder, "measured/calibration.safetensors"));
	assert_int_equal(symlink("../spoilt.safetensors", path), 0);
	for (size_t i = 0; i < calibration.checkpoint.n_tensors; i++) {
		const struct al_tensor *tensor = &calibration.checkpoint.tensors[i];
		if (tensor->dtype->stored[0] == 'F' && is_first(tensor))
			assert_int_equal(check_tensor(&calibration, tensor, &lines), 0);
	}
	unlink(path);
	rmdir(test_path(path, &folder, "measured"));
	unlink(test_path(path, &folder, "other/calibration.safetensors"));
	rmdir(test_path(path, &folder, "other"));
	close_sound(&calibration);
	close_sound(&model);
}

/* ---- arrays ---- */

enum { N_TOKENS = 40, WIDTH = 6 };

/* Random but for one number, if `at` says where. */
static void write_array(const char *name, size_t rows, ptrdiff_t at, double number)
{
	double values[N_TOKENS * WIDTH];
	char path[256];

	fill_normal(values, rows * WIDTH, rows);
	if (at >= 0)
		values[at] = number;
	write_npy(test_path(path, &folder, name), values, rows, WIDTH, false);
}

static void check_said(const char *line, int expected, const char *text)
{
	char said[MOST_SAID];
	const int status = run(line, sound_model, said);

	if (status != expected || !strstr(said, text))
		fail_msg("%s: status %d: %s", line, status, said);
}

static void numbers_of_arrays_are_counted(void **state)
{
	(void)state;
	write_array("sound.npy", N_TOKENS, -1, 0);
	write_array("spoilt.npy", N_TOKENS, 7, NAN);
	write_array("weights.npy", 3, 7, INFINITY);
	write_array("moment.npy", WIDTH, 7, NAN);
	check_said("pca @/spoilt.npy --heads 3", AL_OK, "1 token is left out");
	check_said("pca @/sound.npy --heads 3 --target @/spoilt.npy", AL_OK,
		"1 token is left out of the target's errors");
	check_said("pca --weights @/weights.npy", AL_EINPUT,
		"1 of 18 numbers of weights are NaN or infinite");
	check_said("audit tests/data/small-bert.safetensors --heads 3 --calibration @/moment.npy",
		AL_EINPUT, "1 of 36 numbers are NaN or infinite");
}

/* ---- both ---- */

static int set_up(void **state)
{
	static const char tokens[] = "1 2 3\n4 5 6 7\n";
	char path[256];

	(void)state;
	setenv("OMP_WAIT_POLICY", "passive", 1); /* else a command starts itself once more */
	test_folder_make(&folder);
	test_write(test_path(path, &folder, "tokens"), tokens, sizeof(tokens) - 1);
	output = open(test_path(path, &folder, "output"), O_RDWR | O_CREAT | O_APPEND, 0600);
	return output >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	close(output);
	test_folder_remove(&folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_number_is_named),
		cmocka_unit_test(headers_alone_are_said_to_be),
		cmocka_unit_test(numbers_of_calibrations_are_counted),
		cmocka_unit_test(numbers_of_arrays_are_counted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
