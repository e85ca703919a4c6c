/* Patterns of module names, as lists of what a quantization converts or leaves alone hold them. */
#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>

#include "catalog/scheme.h"

enum { MOST_REGEX_LENGTH = 256, MOST_NAME_LENGTH = 512 };

struct pattern {
	enum { RUN, GLOB, REGEX } kind;
	const char *text;
	regex_t compiled;
	struct pattern *next;
};

struct al_patterns {
	struct al_arena *arena;
	struct pattern *first;
};

struct al_patterns *al_patterns_create(struct al_arena *arena)
{
	struct al_patterns *patterns = al_new(arena, struct al_patterns);

	patterns->arena = arena;
	return patterns;
}

void al_patterns_finish(struct al_patterns *patterns)
{
	for (struct pattern *p = patterns ? patterns->first : NULL; p; p = p->next)
		if (p->kind == REGEX)
			regfree(&p->compiled);
	if (patterns)
		patterns->first = NULL;
}

bool al_patterns_are_empty(const struct al_patterns *patterns)
{
	return !patterns->first;
}

/* ---- regular expressions ---- */

/* What lists are written in is Python's; of it, what an extended regular expression can express
 * too. A bound on repetitions could take any amount of memory, and a back reference any amount of
 * time. */
static bool translate(const char *text, struct al_text *out, struct al_error *err)
{
	al_text_add(out, "^(");
	for (const char *p = text; *p; p++) {
		const bool is_group = strncmp(p, "(?:", 3) == 0;
		if (*p == '{' || (*p == '(' && p[1] == '?' && !is_group)
			|| (*p == '\\' && isalnum((unsigned char)p[1]) && !strchr("dws", p[1])))
			return al_fail(err, AL_EINPUT,
				"re:%s: column %d: \"%.2s\" isn't supported; use only groups, "
				"classes and repetitions",
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

static bool compile(regex_t *compiled, const char *text, struct al_error *err)
{
	if (strlen(text) > MOST_REGEX_LENGTH)
		return al_fail(err, AL_EINPUT,
			"the regular expression has %zu characters; the maximum is %d",
			strlen(text), MOST_REGEX_LENGTH);
	AL_TEXT(translated);
	return translate(text, &translated, err)
		&& (regcomp(compiled, translated.data, REG_EXTENDED | REG_NOSUB) == 0
			|| al_fail(err, AL_EINPUT, "re:%s is not a valid regular expression",
				text));
}

/* ---- lists ---- */

bool al_patterns_add(struct al_patterns *patterns, const char *text, struct al_error *err)
{
	struct pattern *pattern = al_new(patterns->arena, struct pattern);
	const bool is_regex = strncmp(text, "re:", 3) == 0;
	size_t length = strlen(text);

	if (is_regex && !compile(&pattern->compiled, text + 3, err))
		return false;
	while (length > 0 && text[length - 1] == '.')
		length--;
	pattern->text = al_strndup(patterns->arena, text, length);
	pattern->kind = is_regex ? REGEX : strchr(pattern->text, '*') ? GLOB : RUN;
	pattern->next = patterns->first;
	patterns->first = pattern;
	return true;
}

/* ---- matching ---- */

/* Are these whole words in the name? */
static bool has_run(const char *run, const char *name)
{
	const size_t length = strlen(run);

	for (const char *p = name; (p = strstr(p, run)); p++)
		if ((p == name || p[-1] == '.') && (p[length] == '.' || !p[length]))
			return true;
	return false;
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

static bool matches(const struct pattern *pattern, const char *name)
{
	char copy[MOST_NAME_LENGTH];

	switch (pattern->kind) {
	case RUN:
		return *pattern->text && has_run(pattern->text, name);
	case GLOB:
		return has_glob(pattern->text, strcpy(copy, name));
	case REGEX:
		break;
	}
	return regexec(&pattern->compiled, name, 0, NULL, 0) == 0;
}

bool al_patterns_match(const struct al_patterns *patterns, const char *name)
{
	if (strlen(name) >= MOST_NAME_LENGTH)
		return false;
	for (const struct pattern *p = patterns->first; p; p = p->next)
		if (matches(p, name))
			return true;
	return false;
}
