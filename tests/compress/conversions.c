/* Conversions of tiny models, from the command line: what `compress` and `verify` say against an
 * independent program in float64 (reference.py), which makes every conversion by its definition.
 *
 * A case is a file of tests/data/compress: a tiny model as tests/forward/tiny.c takes it, sequences
 * of tokens, how many of them calibrate (the others judge), and conversions, each with its options
 * and what comes of it: the relative error of each module, loss and KL divergence on the judging
 * sequences; and a tolerance, where sweeps end before they have found the last digits. What is made
 * "alone" is made without the config.json, and run without one. */
#include "tests/unit/command_line.h"

#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/forward/tiny.h"

#define FOLDER "tests/data/compress"

enum { MOST_CASES = 16 };

/* Sums of the calibration are of float32 products. */
static const double TOLERANCE = 2e-4;

/* ---- commands ---- */

/* Runs a command; its tables as JSON. */
static void run(const char *line, const struct test_folder *folder, struct al_json *answer)
{
	char path[256];
	struct al_error err;

	const int file = open(test_path(path, folder, "answer"), O_WRONLY | O_CREAT | O_TRUNC,
		0600);
	const int status = test_command_line_into(line, folder, "", file, STDERR_FILENO);
	close(file);
	if (status != 0)
		fail_msg("%s: status %d", line, status);
	if (!al_json_read(answer, path, &err))
		fail_msg("%s: %s", line, err.message);
}

/* Row number i of a table, the answer's own where it has but one. */
static const struct al_item *find_row(const struct al_json *answer, const char *id, size_t i)
{
	const struct al_item *tables = al_json_get(answer->root, "tables");
	const struct al_item *found = tables ? NULL : answer->root;
	struct al_error err;
	const char *name;

	if (tables)
		al_json_each (table, tables)
			if (al_json_get_text(answer, table, "id", true, &name, &err)
				&& strcmp(name, id) == 0)
				found = table;
	assert_non_null(found);
	const struct al_item *row = al_json_at(al_json_get(found, "rows"), i);
	assert_non_null(row);
	return row;
}

static double number(const struct al_json *doc, const struct al_item *row, const char *key)
{
	double out = NAN;
	struct al_error err;

	if (!al_json_get(row, key) || !al_json_real(doc, al_json_get(row, key), &out, &err))
		fail_msg("%s: no number %s", doc->name, key);
	return out;
}

/* ---- a case ---- */

struct test_case {
	const char *path;
	struct al_json doc;
	struct test_folder folder;
	size_t n_calibrating, n_sequences;
	double tolerance;
};

static void assert_near(const struct test_case *c, const char *options, const char *what,
	double found, double expected)
{
	if (!(fabs(found - expected) <= c->tolerance * (0.01 + fabs(expected))))
		fail_msg("%s: %s: %s is %.8g, expected %.8g", c->path, options, what, found,
			expected);
}

/* One sequence a line. */
static void write_tokens(const struct test_case *c)
{
	struct al_text text;
	char path[256];
	struct al_error err;
	int64_t value;

	al_text_init(&text);
	al_json_each (sequence, al_json_get(c->doc.root, "tokens")) {
		al_json_each (token, sequence) {
			assert_true(al_json_whole(&c->doc, token, &value, &err));
			al_text_addf(&text, "%lld ", (long long)value);
		}
		al_text_add(&text, "\n");
	}
	test_write(test_path(path, &c->folder, "tokens"), text.data, text.length);
	al_text_finish(&text);
}

static void check_compressed(const struct test_case *c, const struct al_item *conversion,
	const char *options)
{
	struct al_json answer;
	char line[512];
	size_t i = 0;

	snprintf(line, sizeof(line), "compress @ --force --seed 1 -q -f json -o @/out %s", options);
	run(line, &c->folder, &answer);
	al_json_each (error, al_json_get(conversion, "errors")) {
		double expected = NAN;
		struct al_error err;
		assert_true(al_json_real(&c->doc, error, &expected, &err));
		assert_near(c, options, "a relative error",
			number(&answer, find_row(&answer, "compress", i++), "relative_error"),
			expected);
	}
	al_json_finish(&answer);
}

static void check_verified(const struct test_case *c, const struct al_item *conversion,
	const char *options)
{
	static const char *const keys[] = {"original", "compressed", "kl"};
	struct al_json answer;
	char line[256];

	snprintf(line, sizeof(line), "verify @ @/out -f json --tokens @/tokens --sequences %zu:%zu",
		c->n_calibrating, c->n_sequences);
	run(line, &c->folder, &answer);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_near(c, options, keys[i],
			number(&answer, find_row(&answer, "loss", 0), keys[i]),
			number(&c->doc, conversion, keys[i]));
	al_json_finish(&answer);
}

/* The copy by itself: as it stands, it is the model that was verified. */
static void check_evaluated(const struct test_case *c, const struct al_item *conversion,
	const char *options)
{
	struct al_json answer;
	char line[256];

	snprintf(line, sizeof(line), "evaluate @/out -f json --tokens @/tokens --sequences %zu:%zu",
		c->n_calibrating, c->n_sequences);
	run(line, &c->folder, &answer);
	assert_near(c, options, "the copy's loss",
		number(&answer, find_row(&answer, "loss", 0), "loss"),
		number(&c->doc, conversion, "compressed"));
	al_json_finish(&answer);
}

static void calibrate(const struct test_case *c)
{
	struct al_json answer;
	char line[256];

	snprintf(line, sizeof(line),
		"calibrate @ --tokens @/tokens --sequences 0:%zu -o @/calibration -f json",
		c->n_calibrating);
	run(line, &c->folder, &answer);
	al_json_finish(&answer);
}

/* Moves config.json out of the way and back, where a conversion is made alone. */
static void hide_config(const struct test_case *c, const struct al_item *conversion, bool hide)
{
	char here[256], away[256];

	if (!al_json_get(conversion, "alone"))
		return;
	test_path(here, &c->folder, "config.json");
	test_path(away, &c->folder, "hidden.json");
	assert_int_equal(rename(hide ? here : away, hide ? away : here), 0);
}

/* And the names of copies, which stay files as they are files already. */
static void write_model(struct test_case *c)
{
	static const char *const copies[] = {"out", "one", "two"};
	struct tiny *tiny = tiny_read(c->path);
	char path[256];

	tiny_write(tiny->state_dict, tiny->more, &c->folder);
	tiny_finish(tiny);
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		test_write(test_path(path, &c->folder, copies[i]), "", 0);
}

static void remove_calibration(const struct test_case *c)
{
	char path[256];

	unlink(test_path(path, &c->folder, "calibration/calibration.safetensors"));
	rmdir(test_path(path, &c->folder, "calibration"));
}

static void a_case(void **state)
{
	struct test_case c = {.path = *state};
	struct al_error err;
	const char *options = "";

	if (!al_json_read(&c.doc, c.path, &err))
		fail_msg("%s", err.message);
	test_folder_make(&c.folder);
	write_model(&c);
	c.n_calibrating = (size_t)number(&c.doc, c.doc.root, "calibrating");
	c.n_sequences = al_json_size(al_json_get(c.doc.root, "tokens"));
	write_tokens(&c);
	calibrate(&c);
	al_json_each (conversion, al_json_get(c.doc.root, "conversions")) {
		assert_true(al_json_get_text(&c.doc, conversion, "options", true, &options, &err));
		c.tolerance = al_json_get(conversion, "tolerance")
			? number(&c.doc, conversion, "tolerance")
			: TOLERANCE;
		hide_config(&c, conversion, true);
		check_compressed(&c, conversion, options);
		check_evaluated(&c, conversion, options);
		hide_config(&c, conversion, false);
		check_verified(&c, conversion, options);
	}
	remove_calibration(&c);
	test_folder_remove(&c.folder);
	al_json_finish(&c.doc);
}

/* ---- one conversion after another ---- */

static double loss_of(const struct test_case *c, const char *line, const char *key)
{
	struct al_json answer;

	run(line, &c->folder, &answer);
	const double loss = number(&answer, find_row(&answer, "loss", 0), key);
	al_json_finish(&answer);
	return loss;
}

static void compress_from(const struct test_case *c, const char *from, const char *options,
	const char *to)
{
	struct al_json answer;
	char line[256];

	snprintf(line, sizeof(line), "compress @%s --force -q -f json -o @/%s %s", from, to,
		options);
	run(line, &c->folder, &answer);
	al_json_finish(&answer);
}

/* A copy is a model like any other: what verify says of it and of its copy is what they are. */
static void check_chain(const struct test_case *c, const char *first, const char *second)
{
	static const char verify[] = "verify @/one @/two -f json --tokens @/tokens";

	compress_from(c, "", first, "one");
	compress_from(c, "/one", second, "two");
	assert_near(c, second, first, loss_of(c, verify, "original"),
		loss_of(c, "evaluate @/one -f json --tokens @/tokens", "loss"));
	assert_near(c, second, "the second copy's loss", loss_of(c, verify, "compressed"),
		loss_of(c, "evaluate @/two -f json --tokens @/tokens", "loss"));
}

static void after_another(void **state)
{
	static const struct {
		const char *model, *first, *second;
	} chains[] = {
		{"gpt2", "--method drop --drop 0:1", "--method ov --rank 2"},
		{"gpt2", "--method ov --rank 3", "--method drop --drop 1:2"},
		{"gpt2", "--method merge --drop 0:2", "--method gqa --rank 1"},
		{"gpt2", "--method qk --rank 3", "--method kv-latent --rank 5"},
		{"llama", "--method gqa --rank 1", "--method kv-latent --rank 3"},
		{"llama", "--method ov --rank 3", "--method ov --rank 1"},
		{"qwen3", "--method drop --drop 0:0,0:1,0:2", "--method gqa --of values --rank 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++) {
		struct test_case c = {.tolerance = 1e-6};
		struct al_error err;
		char path[256];
		snprintf(path, sizeof(path), FOLDER "/%s.json", chains[i].model);
		c.path = path;
		if (!al_json_read(&c.doc, c.path, &err))
			fail_msg("%s", err.message);
		test_folder_make(&c.folder);
		write_model(&c);
		write_tokens(&c);
		check_chain(&c, chains[i].first, chains[i].second);
		test_folder_remove(&c.folder);
		al_json_finish(&c.doc);
	}
}

int main(void)
{
	static struct CMUnitTest tests[MOST_CASES];
	glob_t found;

	setenv("OMP_WAIT_POLICY", "passive", 1); /* else a command starts itself once more */
	if (glob(FOLDER "/*.json", 0, NULL, &found) != 0 || found.gl_pathc >= MOST_CASES)
		return EXIT_FAILURE;
	for (size_t i = 0; i < found.gl_pathc; i++)
		tests[i] = (struct CMUnitTest){found.gl_pathv[i], a_case, NULL, NULL,
			found.gl_pathv[i]};
	tests[found.gl_pathc] = (struct CMUnitTest)cmocka_unit_test(after_another);
	const int n_failed = _cmocka_run_group_tests("conversions", tests, found.gl_pathc + 1, NULL,
		NULL);
	globfree(&found);
	return n_failed;
}
