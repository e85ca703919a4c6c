/* Options: a command line read by rows, and the help that is made of them. */
#include "answer/options.h"

/* Largest whole number that a double, and so JSON, represents exactly. */
#define MOST (INT64_C(1) << 53)

/* ---- finding a row ---- */

struct reader {
	struct al_arena *arena;
	struct al_command_line *line;
	const struct al_option_group *groups;
	int argc, next;
	char **argv;
};

/* By name, or by letter. */
static bool find(const struct reader *r, bool is_long, const char *name, size_t length,
	struct al_given_option *out)
{
	al_each_option (group, row, r->groups)
		if (is_long ? strncmp(row->name, name, length) == 0 && !row->name[length]
			    : row->letter == *name) {
			*out = (struct al_given_option){.row = row, .at = group->at};
			return true;
		}
	return false;
}

static bool fail_unknown(const struct reader *r, const char *name, struct al_error *err)
{
	const char **names = NULL;
	size_t n = 0, room = 0;

	al_each_option (group, row, r->groups)
		*AL_APPEND(r->arena, names, n, room) = row->name;
	return al_fail_unknown(err, "option", name, names, n);
}

/* ---- taking the line apart ---- */

bool al_command_line_has(const struct al_command_line *line, const struct al_option_row *row)
{
	for (size_t i = 0; i < line->n_given; i++)
		if (line->given[i].row == row)
			return true;
	return false;
}

static bool add(struct reader *r, const struct al_given_option *option, struct al_error *err)
{
	struct al_command_line *line = r->line;

	if (option->row->kind != OPTION_IS_LIST && al_command_line_has(line, option->row))
		return al_fail(err, AL_EINPUT, "option --%s is given twice", option->row->name);
	*AL_APPEND(r->arena, line->given, line->n_given, line->room) = *option;
	return true;
}

/* `value`: the text after "=" or the letter, or NULL. */
static bool take(struct reader *r, struct al_given_option option, const char *value,
	struct al_error *err)
{
	const struct al_option_row *row = option.row;

	if (row->kind == OPTION_IS_FLAG && value)
		return al_fail(err, AL_EINPUT, "option --%s takes no value", row->name);
	if (row->kind != OPTION_IS_FLAG && !value) {
		if (r->next == r->argc)
			return al_fail(err, AL_EINPUT, "option --%s needs a value: %s", row->name,
				row->argument);
		value = r->argv[r->next++];
	}
	option.value = value;
	return add(r, &option, err);
}

/* "--name", "--name=value", "-n" or "-nvalue" */
static bool take_option(struct reader *r, const char *text, struct al_error *err)
{
	const bool is_long = text[1] == '-';
	const char *name = text + 1 + is_long;
	const size_t length = is_long ? strcspn(name, "=") : 1;
	struct al_given_option option;

	if (!find(r, is_long, name, length, &option))
		return fail_unknown(r, al_strndup(r->arena, name, length), err);
	return take(r, option, name[length] ? name + length + is_long : NULL, err);
}

bool al_command_line_split(struct al_command_line *line, struct al_arena *arena, int argc,
	char **argv, const struct al_option_group *groups, struct al_error *err)
{
	struct reader r = {
		.arena = arena,
		.line = line,
		.groups = groups,
		.argc = argc,
		.argv = argv,
	};
	bool only_words = false;

	*line = (struct al_command_line){
		.words = al_new_array(arena, const char *, (size_t)argc + 1)};
	while (r.next < argc) {
		const char *text = argv[r.next++];
		if (!only_words && strcmp(text, "--") == 0)
			only_words = true;
		else if (only_words || text[0] != '-' || text[1] == '\0')
			line->words[line->n_words++] = text;
		else if (!take_option(&r, text, err))
			return false;
	}
	return true;
}

const char *al_command_line_first_of(const struct al_command_line *line,
	const struct al_option_row *rows)
{
	for (; rows->name; rows++)
		if (al_command_line_has(line, rows))
			return rows->name;
	return NULL;
}

/* ---- values ---- */

static bool read_count(const struct al_option_row *row, const char *text, int64_t *out,
	struct al_error *err)
{
	const size_t n = al_read_digits(text, out);

	if (n > 0 && !text[n] && *out >= row->least && *out <= (row->most ? row->most : MOST))
		return true;
	return row->most
		? al_fail(err, AL_EINPUT, "--%s %s: expected a whole number from %lld to %lld",
			row->name, text, (long long)row->least, (long long)row->most)
		: al_fail(err, AL_EINPUT, "--%s %s: expected a whole number of at least %lld",
			row->name, text, (long long)row->least);
}

static bool read_choice(const struct al_option_row *row, const char *word, int *out,
	struct al_error *err)
{
	*out = al_find_name(word, row->words, row->n_words);
	return *out >= 0
		|| al_fail_unknown(err, row->noun ? row->noun : row->name, word, row->words,
			row->n_words);
}

static bool read_set(const struct al_option_row *row, struct al_arena *arena, const char *text,
	uint64_t *out, struct al_error *err)
{
	char *rest = al_strdup(arena, text);
	int found;

	for (char *word = strtok_r(rest, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (!read_choice(row, word, &found, err))
			return false;
		*out |= UINT64_C(1) << found;
	}
	return *out || read_choice(row, text, &found, err);
}

/* All values of one option. */
static void gather(const struct al_command_line *line, const struct al_option_row *row,
	struct al_arena *arena, struct al_texts *out)
{
	const char **items = al_new_array(arena, const char *, line->n_given);

	out->n = 0;
	for (size_t i = 0; i < line->n_given; i++)
		if (line->given[i].row == row)
			items[out->n++] = line->given[i].value;
	out->items = items;
}

/* A page is FILE.html: another ending would promise another format. */
static bool check_ending(const struct al_option_row *row, const char *value, struct al_error *err)
{
	static const char page[] = ".html";

	return !al_ends_with(row->argument, page) || al_ends_with(value, page)
		|| al_fail(err, AL_EINPUT, "--%s %s: use %s", row->name, value, row->argument);
}

static bool set_value(const struct al_command_line *line, const struct al_given_option *option,
	struct al_arena *arena, void *field, struct al_error *err)
{
	const struct al_option_row *row = option->row;

	switch (row->kind) {
	case OPTION_IS_FLAG:
		*(bool *)field = true;
		return true;
	case OPTION_IS_TEXT:
		*(const char **)field = option->value;
		return check_ending(row, option->value, err);
	case OPTION_IS_LIST:
		if (((const struct al_texts *)field)->n == 0)
			gather(line, row, arena, field);
		return true;
	case OPTION_IS_COUNT:
		return read_count(row, option->value, field, err);
	case OPTION_IS_CHOICE:
		return read_choice(row, option->value, field, err);
	case OPTION_IS_SET:
		return read_set(row, arena, option->value, field, err);
	}
	return true;
}

static void set_fallback(const struct al_option_row *row, void *field)
{
	if (row->kind == OPTION_IS_TEXT)
		*(const char **)field = row->text;
	else if (row->kind == OPTION_IS_COUNT)
		*(int64_t *)field = row->fallback;
	else if (row->kind == OPTION_IS_CHOICE)
		*(int *)field = (int)row->fallback;
}

bool al_command_line_read(const struct al_command_line *line, struct al_arena *arena,
	const struct al_option_group *groups, void *options, struct al_error *err)
{
	char *base = options;

	al_each_option (group, row, groups)
		set_fallback(row, base + group->at + row->field);
	for (size_t i = 0; i < line->n_given; i++) {
		const struct al_given_option *option = &line->given[i];
		if (!set_value(line, option, arena, base + option->at + option->row->field, err))
			return false;
	}
	return true;
}

bool al_option_share(const char *text, double *out, const char **end)
{
	char *behind;

	*out = strtod(text, &behind);
	if (behind == text)
		return false;
	if (*behind == '%')
		*out /= 100;
	*end = behind + (*behind == '%');
	return *out > 0 && *out < 1;
}

bool al_option_real(const char *name, const char *text, double fallback, double least, double *out,
	struct al_error *err)
{
	char *end;

	*out = fallback;
	if (!text)
		return true;
	*out = strtod(text, &end);
	return (end != text && !*end && *out >= least && *out <= 1e300)
		|| al_fail(err, AL_EINPUT, "--%s %s: expected a number of at least %g", name, text,
			least);
}

char **al_option_split(struct al_arena *arena, const char *list, size_t *n)
{
	char **items = al_new_array(arena, char *, strlen(list) + 1);

	*n = 0;
	for (char *item = al_strdup(arena, list); item; (*n)++) {
		items[*n] = item;
		item = strchr(item, ',');
		if (item)
			*item++ = '\0';
	}
	return items;
}

static bool read_head(char *item, bool takes_all, struct al_named_head *out)
{
	char *colon = strrchr(item, ':');

	if (!colon || colon == item)
		return false;
	*colon = '\0';
	out->module = item;
	out->head = -1;
	if (takes_all && strcmp(colon + 1, "*") == 0)
		return true;
	const size_t n = al_read_digits(colon + 1, &out->head);
	return n > 0 && !colon[1 + n];
}

bool al_option_heads(struct al_arena *arena, const char *name, const char *text, bool takes_all,
	struct al_named_head **out, size_t *n, struct al_error *err)
{
	char **items = al_option_split(arena, text, n);

	*out = al_new_array(arena, struct al_named_head, *n);
	for (size_t i = 0; i < *n; i++) {
		const char *whole = al_strdup(arena, items[i]);
		if (!read_head(items[i], takes_all, &(*out)[i]))
			return al_fail(err, AL_EINPUT, "--%s %s: expected LAYER:HEAD", name, whole);
	}
	return true;
}

/* ---- values as texts ---- */

/* "a,b" */
static const char *words_of(struct al_arena *arena, const struct al_option_row *row, uint64_t set)
{
	const char *words = "";

	for (size_t i = 0; i < row->n_words; i++)
		if (set >> i & 1)
			words = al_format(arena, "%s%s%s", words, *words ? "," : "", row->words[i]);
	return words;
}

/* A field's value as typed on the command line; NULL: the default. */
static const char *text_of(const struct al_option_row *row, const void *field,
	struct al_arena *arena)
{
	switch (row->kind) {
	case OPTION_IS_FLAG:
		return *(const bool *)field ? "" : NULL;
	case OPTION_IS_TEXT:
		return *(const char *const *)field == row->text ? NULL
								: *(const char *const *)field;
	case OPTION_IS_COUNT:
		return *(const int64_t *)field == row->fallback
			? NULL
			: al_format(arena, "%lld", (long long)*(const int64_t *)field);
	case OPTION_IS_CHOICE:
		return *(const int *)field == row->fallback ? NULL
							    : row->words[*(const int *)field];
	case OPTION_IS_SET:
		return *(const uint64_t *)field ? words_of(arena, row, *(const uint64_t *)field)
						: NULL;
	case OPTION_IS_LIST:
		break;
	}
	return NULL;
}

struct al_texts al_options_texts(const struct al_option_group *groups, const void *options,
	struct al_arena *arena)
{
	const char **items = NULL;
	size_t n = 0, room = 0;

	al_each_option (group, row, groups) {
		const void *field = (const char *)options + group->at + row->field;
		const char *one = text_of(row, field, arena);
		const struct al_texts values = row->kind == OPTION_IS_LIST
			? *(const struct al_texts *)field
			: (struct al_texts){&one, one ? 1 : 0};
		for (size_t i = 0; i < values.n; i++)
			*AL_APPEND(arena, items, n, room) = al_format(arena, "--%s%s%s", row->name,
				row->kind == OPTION_IS_FLAG ? "" : "=", values.items[i]);
	}
	return (struct al_texts){items, n};
}

/* ---- help ---- */

enum { HELP_COLUMN = 26, LAST_COLUMN = 79 };

void al_help_add_wrapped(struct al_text *out, const char *text, size_t first)
{
	al_text_add_wrapped(out, text, first, first, LAST_COLUMN);
	al_text_add(out, "\n");
}

void al_option_help(const struct al_option_row *row, struct al_text *out)
{
	al_text_add(out, row->help);
	for (size_t i = 0; row->kind == OPTION_IS_SET && i < row->n_words; i++)
		al_text_addf(out, "%s%s", i ? ", " : ": ", row->words[i]);
}

void al_option_add_help(const struct al_option_row *row, struct al_text *out)
{
	const size_t before = out->length;

	AL_TEXT(help);
	al_option_help(row, &help);
	al_text_add(out, "  ");
	if (row->letter)
		al_text_addf(out, "-%c, ", row->letter);
	al_text_addf(out, "--%s", row->name);
	if (row->argument)
		al_text_addf(out, " %s", row->argument);
	size_t column = out->length - before;
	if (column + 2 > HELP_COLUMN) {
		al_text_add(out, "\n");
		column = 0;
	}
	al_text_add_repeated(out, ' ', HELP_COLUMN - column);
	al_help_add_wrapped(out, help.data, HELP_COLUMN);
}
