/* Options: rows of every kind, read, refused and explained. */
#include "unit.h"

#include <string.h>

#include "answer/options.h"

struct shared {
	const char *file;
	bool is_quiet;
};

struct example {
	int64_t first; /* so that a group doesn't begin at 0 */
	struct shared shared;
	struct al_texts sets;
	const char *name;
	int64_t n_draws, n_devices;
	int color;
	uint64_t tables;
};

static const char *const colors[] = {"auto", "always", "never"};
static const char *const tables[] = {"heads", "layers", "pairs"};

static const struct al_option_row shared_rows[] = {
	OPTION_TEXT(struct shared, file, "output", "FILE", "write there", .letter = 'o'),
	OPTION_FLAG(struct shared, is_quiet, "quiet", "no notices", .letter = 'q'),
	OPTION_END,
};

static const struct al_option_row rows[] = {
	OPTION_LIST(struct example, sets, "set", "KEY=VALUE", "give a symbol a value"),
	OPTION_TEXT(struct example, name, "name", "NAME", "a name", .text = "nobody"),
	OPTION_COUNT(struct example, n_draws, "draws", "N", "how many draws", .fallback = 4,
		.most = 1000),
	OPTION_COUNT(struct example, n_devices, "devices", "N", "how many devices", .fallback = 1,
		.least = 1),
	OPTION_CHOICE(struct example, color, "color", "WHEN", "when", .words = colors, .n_words = 3,
		.fallback = -1, .noun = "color"),
	OPTION_SET(struct example, tables, "only", "A,B", "only these tables", .words = tables,
		.n_words = 3, .noun = "table"),
	OPTION_END,
};

static const struct al_option_group groups[] = {{shared_rows, offsetof(struct example, shared)},
	{rows, 0}, {NULL, 0}};

/* A command line of words that single spaces part. */
struct fixture {
	struct al_arena arena;
	struct al_command_line line;
	struct example example;
	struct al_error err;
};

static bool read_line(struct fixture *f, const char *text)
{
	char *argv[32], *rest;
	int argc = 0;

	f->err = (struct al_error){0};
	rest = al_strdup(&f->arena, text);
	for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	f->example = (struct example){0};
	return al_command_line_split(&f->line, &f->arena, argc, argv, groups, &f->err)
		&& al_command_line_read(&f->line, &f->arena, groups, &f->example, &f->err);
}

static void setup(struct fixture *f)
{
	al_arena_init(&f->arena);
}

static void finish(struct fixture *f)
{
	al_arena_finish(&f->arena);
}

static void reads_every_kind(void **state)
{
	struct fixture f;
	struct example *e = &f.example;

	(void)state;
	setup(&f);
	assert_true(read_line(&f,
		"one --set a=1 -q -ofile --name=me --draws 1000 two --devices=7 --set=b=2 "
		"--color never --only pairs,heads -- --name -"));
	assert_int_equal(f.line.n_words, 4);
	assert_string_equal(f.line.words[1], "two");
	assert_string_equal(f.line.words[2], "--name");
	assert_string_equal(f.line.words[3], "-");
	assert_int_equal(e->sets.n, 2);
	assert_string_equal(e->sets.items[0], "a=1");
	assert_string_equal(e->sets.items[1], "b=2");
	assert_true(e->shared.is_quiet);
	assert_string_equal(e->shared.file, "file");
	assert_string_equal(e->name, "me");
	assert_int_equal(e->n_draws, 1000);
	assert_int_equal(e->n_devices, 7);
	assert_int_equal(e->color, 2);
	assert_int_equal(e->tables, 5);
	finish(&f);
}

static void falls_back(void **state)
{
	struct fixture f;
	struct example *e = &f.example;

	(void)state;
	setup(&f);
	assert_true(read_line(&f, ""));
	assert_int_equal(f.line.n_words, 0);
	assert_false(e->shared.is_quiet);
	assert_null(e->shared.file);
	assert_int_equal(e->sets.n, 0);
	assert_string_equal(e->name, "nobody");
	assert_int_equal(e->n_draws, 4);
	assert_int_equal(e->n_devices, 1);
	assert_int_equal(e->color, -1);
	assert_int_equal(e->tables, 0);
	finish(&f);
}

static void check_texts(struct fixture *f, const char *line, const char *expected)
{
	struct al_text joined;

	assert_true(read_line(f, line));
	const struct al_texts texts = al_options_texts(groups, &f->example, &f->arena);
	al_text_init(&joined);
	for (size_t i = 0; i < texts.n; i++)
		al_text_addf(&joined, "%s%s", i ? " " : "", texts.items[i]);
	assert_string_equal(joined.data, expected);
	al_text_finish(&joined);
}

/* However it was typed: in the order of the rows, without what is as it were anyway. */
static void gives_a_line_again(void **state)
{
	static const char line[] =
		"--output=file --quiet --set=a=1 --set=b=2 --name=me --draws=1000 "
		"--devices=7 --color=never --only=heads,pairs";
	struct fixture f;

	(void)state;
	setup(&f);
	check_texts(&f, "", "");
	check_texts(&f, "--draws 4 --devices 1", "");
	check_texts(&f,
		"--only pairs,heads --color never --devices=7 --set a=1 -q -ofile --name=me "
		"--draws 1000 --set=b=2",
		line);
	check_texts(&f, line, line);
	finish(&f);
}

static void says_what_is_given(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	assert_true(read_line(&f, "--draws 4 --name me -q"));
	assert_true(al_command_line_has(&f.line, &shared_rows[1]));
	assert_false(al_command_line_has(&f.line, &shared_rows[0]));
	assert_string_equal(al_command_line_first_of(&f.line, rows), "name");
	assert_true(read_line(&f, "-q"));
	assert_null(al_command_line_first_of(&f.line, rows));
	finish(&f);
}

static void refuses(void **state)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{"--nam me", "unknown option \"nam\" (did you mean \"name\"?)"},
		{"--names=me", "unknown option \"names\" (did you mean \"name\"?)"},
		{"-x",
			"unknown option \"x\" (known: output, quiet, set, name, draws, devices, "
			"color, only)"},
		{"--name", "option --name needs a value: NAME"},
		{"-o", "option --output needs a value: FILE"},
		{"--quiet=yes", "option --quiet takes no value"},
		{"-qo", "option --quiet takes no value"},
		{"-q -q", "option --quiet is given twice"},
		{"--name a --name=b", "option --name is given twice"},
		{"--draws 1001", "--draws 1001: expected a whole number from 0 to 1000"},
		{"--draws -1", "--draws -1: expected a whole number from 0 to 1000"},
		{"--devices 0", "--devices 0: expected a whole number of at least 1"},
		{"--devices=", "--devices : expected a whole number of at least 1"},
		{"--devices 1.5", "--devices 1.5: expected a whole number of at least 1"},
		{"--devices 9007199254740993",
			"--devices 9007199254740993: expected a whole number of at least 1"},
		{"--devices 99999999999999999999",
			"--devices 99999999999999999999: expected a whole number of at least 1"},
		{"--color alway", "unknown color \"alway\" (did you mean \"always\"?)"},
		{"--only heads,layrs", "unknown table \"layrs\" (did you mean \"layers\"?)"},
		{"--only ,", "unknown table \",\" (known: heads, layers, pairs)"},
	};
	struct fixture f;

	(void)state;
	setup(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_false(read_line(&f, cases[i].line));
		assert_string_equal(f.err.message, cases[i].message);
		assert_int_equal(f.err.status, AL_EINPUT);
	}
	finish(&f);
}

static void takes_the_largest_count(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	assert_true(read_line(&f, "--devices 9007199254740992"));
	assert_true(f.example.n_devices == INT64_C(1) << 53);
	finish(&f);
}

/* Each row once, in the order of the groups, as wide as a terminal. */
static void helps(void **state)
{
	struct al_text help;

	(void)state;
	al_text_init(&help);
	al_each_option (group, row, groups)
		al_option_add_help(row, &help);
	assert_string_equal(help.data,
		"  -o, --output FILE       write there\n"
		"  -q, --quiet             no notices\n"
		"  --set KEY=VALUE         give a symbol a value\n"
		"  --name NAME             a name\n"
		"  --draws N               how many draws\n"
		"  --devices N             how many devices\n"
		"  --color WHEN            when\n"
		"  --only A,B              only these tables: heads, layers, pairs\n");
	al_text_finish(&help);
}

/* ---- values that options share ---- */

static void shares_are_between_0_and_1(void **state)
{
	static const struct {
		const char *text;
		double share;
		const char *end; /* NULL: it is no share */
	} cases[] = {
		{"0.5", .5, ""},
		{"50%", .5, ""},
		{"99.9%-", .999, "-"},
		{".25x", .25, "x"},
		{"0", 0, NULL},
		{"0%", 0, NULL},
		{"1", 0, NULL},
		{"100%", 0, NULL},
		{"-0.1", 0, NULL},
		{"%", 0, NULL},
		{"", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *end;
		double share;
		const bool is_share = al_option_share(cases[i].text, &share, &end);
		assert_int_equal(is_share, cases[i].end != NULL);
		if (!is_share)
			continue;
		assert_float_equal(share, cases[i].share, 1e-15);
		assert_string_equal(end, cases[i].end);
	}
}

static void reals_have_a_least(void **state)
{
	static const struct {
		const char *text;
		double value; /* 0: refused */
	} cases[] = {
		{NULL, 7},
		{"1.5", 1.5},
		{"1", 1},
		{"0.99", 0},
		{"1e300", 1e300},
		{"1.1e300", 0},
		{"1x", 0},
		{"", 0},
		{"nan", 0},
		{"inf", 0},
	};
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double value;
		const bool ok = al_option_real("size", cases[i].text, 7, 1, &value, &err);
		assert_int_equal(ok, cases[i].value > 0);
		if (ok)
			assert_true(value == cases[i].value);
	}
	assert_string_equal(err.message, "--size inf: expected a number of at least 1");
}

static void heads_are_named(void **state)
{
	static const char *const wrong[] = {"a", ":1", "a:", "a:1b", "a:1,", "a:*", ""};
	struct al_named_head *heads;
	struct al_error err;
	size_t n;
	AL_ARENA(arena);

	(void)state;
	char **items = al_option_split(&arena, "a,,b,", &n);
	assert_int_equal(n, 4);
	assert_string_equal(items[0], "a");
	assert_string_equal(items[1], "");
	assert_string_equal(items[2], "b");
	assert_string_equal(items[3], "");
	assert_true(al_option_heads(&arena, "drop", "a:3,b:c:10", false, &heads, &n, &err));
	assert_int_equal(n, 2);
	assert_string_equal(heads[0].module, "a");
	assert_int_equal(heads[0].head, 3);
	assert_string_equal(heads[1].module, "b:c");
	assert_int_equal(heads[1].head, 10);
	assert_true(al_option_heads(&arena, "drop", "a:*,b:0", true, &heads, &n, &err));
	assert_int_equal(heads[0].head, -1);
	assert_int_equal(heads[1].head, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(al_option_heads(&arena, "drop", wrong[i], false, &heads, &n, &err));
	assert_false(al_option_heads(&arena, "drop", "a:1,b:1*", true, &heads, &n, &err));
	assert_string_equal(err.message, "--drop b:1*: expected LAYER:HEAD");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind),
		cmocka_unit_test(falls_back),
		cmocka_unit_test(gives_a_line_again),
		cmocka_unit_test(says_what_is_given),
		cmocka_unit_test(refuses),
		cmocka_unit_test(takes_the_largest_count),
		cmocka_unit_test(helps),
		cmocka_unit_test(shares_are_between_0_and_1),
		cmocka_unit_test(reals_have_a_least),
		cmocka_unit_test(heads_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
