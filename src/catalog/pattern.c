/* Patterns of module names, as lists of what a quantisation converts or leaves alone hold them. */
#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalog/scheme.h"

enum { MOST_REGEX_LENGTH = 256, MOST_NAME_LENGTH = 512 };

struct regex {
	regex_t compiled;
	struct regex *next;
};

struct al_patterns {
	struct al_arena *arena;
	const char **runs, **globs; /* runs are sorted when they are first looked for */
	size_t n_runs, runs_room, n_globs, globs_room;
	bool is_sorted;
	struct regex *regexes;
};

struct al_patterns *al_patterns_create(struct al_arena *arena)
{
	struct al_patterns *patterns = al_new(arena, struct al_patterns);

	patterns->arena = arena;
	return patterns;
}

void al_patterns_finish(struct al_patterns *patterns)
{
	for (struct regex *r = patterns ? patterns->regexes : NULL; r; r = r->next)
		regfree(&r->compiled);
	if (patterns)
		patterns->regexes = NULL;
}

size_t al_patterns_count(const struct al_patterns *patterns)
{
	return patterns->n_runs + patterns->n_globs + (patterns->regexes != NULL);
}

/* ---- regular expressions ---- */

/* What lists are written in is Python's; of it, what an extended regular expression can say too. A
 * bound on repetitions could take any amount of memory, and a back reference any amount of time. */
static bool translate(const char *text, struct al_text *out, struct al_error *err)
{
	al_text_add(out, "^(");
	for (const char *p = text; *p; p++) {
		const bool is_group = strncmp(p, "(?:", 3) == 0;
		if (*p == '{' || (*p == '(' && p[1] == '?' && !is_group)
			|| (*p == '\\' && isalnum((unsigned char)p[1]) && !strchr("dws", p[1])))
			return al_fail(err, AL_EINPUT,
				"re:%s: column %d: \"%.2s\" isn't known here, expected plain "
				"groups, classes and repetitions",
				text, (int)(p - text) + 4, p);
		if (*p == '\\' && p[1] == 'd')
			al_text_add(out, "[0-9]");
		else if (*p == '\\' && p[1])
			al_text_addf(out, "\\%c", p[1]);
		else
			al_text_addf(out, "%c", *p);
		p += is_group ? 2 : *p == '\\' && p[1];
	}
	al_text_add(out, ")");
	return true;
}

static bool add_regex(struct al_patterns *patterns, const char *text, struct al_error *err)
{
	struct regex *regex = al_new(patterns->arena, struct regex);
	struct al_text translated;

	if (strlen(text) > MOST_REGEX_LENGTH)
		return al_fail(err, AL_EINPUT,
			"a regular expression of %zu characters, expected at most %d", strlen(text),
			MOST_REGEX_LENGTH);
	al_text_init(&translated);
	bool ok = translate(text, &translated, err);
	if (ok && regcomp(&regex->compiled, translated.data, REG_EXTENDED | REG_NOSUB) != 0)
		ok = al_fail(err, AL_EINPUT, "re:%s is no regular expression", text);
	al_text_finish(&translated);
	if (!ok)
		return false;
	regex->next = patterns->regexes;
	patterns->regexes = regex;
	return true;
}

/* ---- lists ---- */

static void add_text(struct al_patterns *patterns, const char ***items, size_t *n, size_t *room,
	const char *text)
{
	*items = al_grow(patterns->arena, *items, *n, room, sizeof(**items));
	(*items)[(*n)++] = text;
}

bool al_patterns_add(struct al_patterns *patterns, const char *text, struct al_error *err)
{
	size_t length = strlen(text);

	if (strncmp(text, "re:", 3) == 0)
		return add_regex(patterns, text + 3, err);
	while (length > 0 && text[length - 1] == '.')
		length--;
	const char *copy = al_strndup(patterns->arena, text, length);
	if (strchr(copy, '*')) {
		add_text(patterns, &patterns->globs, &patterns->n_globs, &patterns->globs_room,
			copy);
		return true;
	}
	add_text(patterns, &patterns->runs, &patterns->n_runs, &patterns->runs_room, copy);
	patterns->is_sorted = false;
	return true;
}

/* ---- matching ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_listed(struct al_patterns *patterns, const char *run)
{
	return bsearch(&run, patterns->runs, patterns->n_runs, sizeof(*patterns->runs), compare);
}

/* Is a run of words that begins here one of the list? */
static bool begins_run(struct al_patterns *patterns, char *from)
{
	for (char *dot = strchr(from, '.'); dot; dot = strchr(dot + 1, '.')) {
		*dot = '\0';
		bool found = is_listed(patterns, from);
		*dot = '.';
		if (found)
			return true;
	}
	return is_listed(patterns, from);
}

/* Is a run of whole words of the name one of the list? */
static bool has_run(struct al_patterns *patterns, char *name)
{
	if (patterns->n_runs == 0)
		return false;
	if (!patterns->is_sorted)
		qsort(patterns->runs, patterns->n_runs, sizeof(*patterns->runs), compare);
	patterns->is_sorted = true;
	for (char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		if (begins_run(patterns, dot + 1))
			return true;
	return begins_run(patterns, name);
}

/* Does a glob cover the name, or a module that it is in? */
static bool has_glob(const char *glob, char *name)
{
	const size_t head = strcspn(glob, "*?[");

	if (strncmp(glob, name, head) != 0)
		return false;
	if (fnmatch(glob, name, 0) == 0)
		return true;
	for (char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		*dot = '\0';
		bool found = fnmatch(glob, name, 0) == 0;
		*dot = '.';
		if (found)
			return true;
	}
	return false;
}

bool al_patterns_match(struct al_patterns *patterns, const char *name)
{
	char copy[MOST_NAME_LENGTH];

	if (strlen(name) >= sizeof(copy))
		return false;
	strcpy(copy, name);
	if (has_run(patterns, copy))
		return true;
	for (size_t i = 0; i < patterns->n_globs; i++)
		if (has_glob(patterns->globs[i], copy))
			return true;
	for (const struct regex *r = patterns->regexes; r; r = r->next)
		if (regexec(&r->compiled, name, 0, NULL, 0) == 0)
			return true;
	return false;
}
