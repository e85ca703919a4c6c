/* Options: one row each, in the file of the command that takes it. Reading, the help and the
 * messages about unknown names are all derived from the rows. Rows that several commands share are
 * arrays, which a command includes by name (a group). Nothing here knows any command.
 *
 *     struct example_options {
 *             struct al_output_options output;
 *             bool shows_tensors;
 *             int64_t seed;
 *     };
 *
 *     static const struct al_option_row rows[] = {
 *             OPTION_FLAG(struct example_options, shows_tensors, "tensors", "a row each tensor"),
 *             OPTION_COUNT(struct example_options, seed, "seed", "N", "seed of the random draws",
 *                     .fallback = 1),
 *             OPTION_END,
 *     };
 */
#pragma once

#include "base/base.h"

/* How a value is read, and the type of its field. */
enum al_option_kind {
	OPTION_IS_FLAG, /* bool */
	OPTION_IS_TEXT, /* const char *: NULL or `text` where it isn't given */
	OPTION_IS_LIST, /* struct al_texts: may be given several times, and keeps that order */
	OPTION_IS_COUNT, /* int64_t: a whole number from `least` to `most` */
	OPTION_IS_CHOICE, /* int: the place of the word in `words` */
	OPTION_IS_SET, /* uint64_t: of "A,B" a bit for the place of each in `words`; 0: not given */
};

struct al_option_row {
	enum al_option_kind kind;
	char letter; /* '\0': none */
	const char *name, *argument, *help; /* argument: "FILE", as the help calls the value */
	size_t field; /* the field's place in the struct of its group */
	int64_t fallback; /* of a count or a choice that isn't given */
	const char *text; /* of a text that isn't given */
	int64_t least, most; /* of a count; most 0: as many as a double holds exactly */
	const char *const *words; /* of a choice or a set; the help lists those of a set */
	size_t n_words;
	const char *noun; /* what an unknown word isn't; NULL: the name */
	bool shows_all; /* with it a text isn't cut to a screen */
	bool is_advanced; /* `help COMMAND advanced` lists it, not `help COMMAND` */
	bool is_required; /* there is no answer without it; it has a letter */
};

/* The place of a field whose type is checked: comparing pointers to different types doesn't
 * compile. */
#define OPTION_FIELD(struct_type, field_name, field_type) \
	(offsetof(struct_type, field_name) \
		+ 0 * sizeof((field_type *)0 == &((struct_type *)0)->field_name))

/* The last argument is the help; what follows it sets further members. */
#define OPTION_OF(kind_of, field_type, type, at, long_name, word, ...) \
	{ \
		.kind = kind_of, .field = OPTION_FIELD(type, at, field_type), .name = long_name, \
		.argument = word, .help = __VA_ARGS__ \
	}
#define OPTION_FLAG(type, at, long_name, ...) \
	OPTION_OF(OPTION_IS_FLAG, bool, type, at, long_name, NULL, __VA_ARGS__)
#define OPTION_TEXT(type, at, ...) OPTION_OF(OPTION_IS_TEXT, const char *, type, at, __VA_ARGS__)
#define OPTION_LIST(type, at, ...) OPTION_OF(OPTION_IS_LIST, struct al_texts, type, at, __VA_ARGS__)
#define OPTION_COUNT(type, at, ...) OPTION_OF(OPTION_IS_COUNT, int64_t, type, at, __VA_ARGS__)
#define OPTION_CHOICE(type, at, ...) OPTION_OF(OPTION_IS_CHOICE, int, type, at, __VA_ARGS__)
#define OPTION_SET(type, at, ...) OPTION_OF(OPTION_IS_SET, uint64_t, type, at, __VA_ARGS__)
#define OPTION_END \
	{ \
		.name = NULL \
	}

/* Rows and where their struct lies in that of the command. A list of groups ends with rows NULL. */
struct al_option_group {
	const struct al_option_row *rows;
	size_t at;
};

#define al_each_option(group, row, groups) \
	for (const struct al_option_group *group = (groups); group->rows; group++) \
		for (const struct al_option_row *row = group->rows; row->name; row++)

/* An option as it is on the command line. */
struct al_given_option {
	const struct al_option_row *row;
	size_t at; /* of its group */
	const char *value; /* NULL: a flag */
};

struct al_command_line {
	const char **words; /* that aren't options */
	size_t n_words;
	struct al_given_option *given; /* in their order */
	size_t n_given, room;
};

/* Takes argv[0..argc) apart, values unread. An unknown option names the nearest; one that comes
 * twice and may not is refused. */
bool al_command_line_split(struct al_command_line *line, struct al_arena *arena, int argc,
	char **argv, const struct al_option_group *groups, struct al_error *err) AL_MUST_CHECK;

/* Fills the command's struct, which is zeros: what is given and, for the rest, the fallbacks. */
bool al_command_line_read(const struct al_command_line *line, struct al_arena *arena,
	const struct al_option_group *groups, void *options, struct al_error *err) AL_MUST_CHECK;

/* Is the option given? */
bool al_command_line_has(const struct al_command_line *line, const struct al_option_row *row);

/* The text of an option as a number of at least `least`; NULL: `fallback`. */
bool al_option_real(const char *name, const char *text, double fallback, double least, double *out,
	struct al_error *err) AL_MUST_CHECK;

/* The share that a text begins with, "20%" or ".2", and what is behind it; false: none. */
bool al_option_share(const char *text, double *out, const char **end);

/* The text of an option, "3:5,decoder.3.cross:0", as heads; nothing is known of the model yet.
 * `takes_all`: "3:*" is all heads of layer 3. */
struct al_named_head {
	const char *module; /* a name, or a layer's number */
	int64_t head; /* -1: all */
};
bool al_option_heads(struct al_arena *arena, const char *name, const char *text, bool takes_all,
	struct al_named_head **out, size_t *n, struct al_error *err) AL_MUST_CHECK;

/* The items of "a,b,c"; an empty one is an item. */
char **al_option_split(struct al_arena *arena, const char *list, size_t *n);

/* The name of the first of these rows that is given; NULL: none is. */
const char *al_command_line_first_of(const struct al_command_line *line,
	const struct al_option_row *rows);

/* What was given, as a command line would give it again: "--seed=2", one text an option, in the
 * order of the rows; what is as it were without is left out. */
struct al_texts al_options_texts(const struct al_option_group *groups, const void *options,
	struct al_arena *arena);

/* Adds words of the help up to the last column; further lines begin at column `first`, where the
 * text is already. */
void al_help_add_wrapped(struct al_text *out, const char *text, size_t first);

/* Adds what an option does, with the words of a set. */
void al_option_help(const struct al_option_row *row, struct al_text *out);

/* Adds an option's lines of the help. */
void al_option_add_help(const struct al_option_row *row, struct al_text *out);
