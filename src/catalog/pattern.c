/* Patterns of module names, as lists of what a quantization converts or leaves alone hold them. */
#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>

#include "base/budget.h"
#include "catalog/scheme.h"

enum { MOST_REGEX_LENGTH = 256, MOST_NAME_LENGTH = 512 };
enum { FEW_RUNS = 16, STEPS_OF_RUNS = 4 };
/* Characters of an expression times those of a name that the C library matches in a step, about. */
enum { CHARACTERS_A_STEP = 8 };

struct pattern {
	enum { GLOB, REGEX } kind;
	const char *text;
	size_t length;
	regex_t compiled;
	struct pattern *next;
};

struct al_patterns {
	struct al_arena *arena;
	struct al_budget *budget;
	const char **runs; /* [n_runs] of whole words of a name */
	size_t n_runs, runs_room;
	bool are_sorted;
	struct pattern *first;
};

struct al_patterns *al_patterns_create(struct al_arena *arena, struct al_budget *budget)
{
	struct al_patterns *patterns = al_new(arena, struct al_patterns);

	patterns->arena = arena;
	patterns->budget = budget;
	return patterns;
}

void al_patterns_finish(struct al_patterns *patterns)
{
	for (struct pattern *p = patterns ? patterns->first : NULL; p; p = p->next)
		if (p->kind == REGEX)
			regfree(&p->compiled);
	if (patterns)
		*patterns = (struct al_patterns){.arena = patterns->arena,
			.budget = patterns->budget};
}

bool al_patterns_are_empty(const struct al_patterns *patterns)
{
	return !patterns->first && !patterns->n_runs;
}

/* ---- regular expressions ---- */

/* Is there a repetition in a group that ends at `end` and is repeated? The C library may take any
 * amount of time to compile that. */
static bool repeats_within(const char *text, const char *end)
{
	int depth = 0;
	bool found = false;

	if (end[1] != '*' && end[1] != '+')
		return false;
	for (const char *p = end; p >= text; p--) {
		const bool is_escaped = p > text && p[-1] == '\\';
		depth += is_escaped ? 0 : (*p == ')') - (*p == '(');
		if (depth == 0)
			return found;
		found = found || (!is_escaped && strchr("*+?", *p) && p[-1] != '(');
	}
	return found;
}

static bool is_supported(const char *text, const char *p)
{
	const bool is_group = strncmp(p, "(?:", 3) == 0;

	return *p != '{' && !(*p == '(' && p[1] == '?' && !is_group)
		&& !(*p == '\\' && isalnum((unsigned char)p[1]) && !strchr("dws", p[1]))
		&& !(*p == ')' && repeats_within(text, p));
}

/* Lists are written in Python's expressions; of these, those that an extended regular expression
 * can express too. A bound on repetitions could take any amount of memory, and a back reference any
 * amount of time. */
static bool translate(const char *text, struct al_text *out, struct al_error *err)
{
	al_text_add(out, "^(");
	for (const char *p = text; *p; p++) {
		const bool is_group = strncmp(p, "(?:", 3) == 0;
		if (!is_supported(text, p))
			return al_fail(err, AL_EINPUT,
				"re:%s: column %d: \"%.2s\" isn't supported; use only groups, "
				"classes and repetitions%s",
				text, (int)(p - text) + 4, p,
				*p == ')' ? ", none within another" : "");
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

/* Of optional groups it takes the cube of the length, at worst. */
static size_t steps_to_compile(size_t length)
{
	return 100 * length + length * length * length / 16;
}

static bool add_regex(struct al_patterns *patterns, const char *text, struct al_error *err)
{
	struct pattern *pattern = al_new(patterns->arena, struct pattern);

	pattern->length = strlen(text);
	if (!compile(&pattern->compiled, text, err))
		return false;
	pattern->kind = REGEX;
	pattern->next = patterns->first;
	patterns->first = pattern;
	return al_budget_take(patterns->budget, steps_to_compile(pattern->length), err);
}

static void add_glob(struct al_patterns *patterns, const char *text)
{
	struct pattern *pattern = al_new(patterns->arena, struct pattern);

	*pattern = (struct pattern){.kind = GLOB, .text = text, .next = patterns->first};
	patterns->first = pattern;
}

bool al_patterns_add(struct al_patterns *patterns, const char *text, struct al_error *err)
{
	size_t length = strlen(text);

	if (strncmp(text, "re:", 3) == 0)
		return add_regex(patterns, text + 3, err);
	while (length > 0 && text[length - 1] == '.')
		length--;
	const char *kept = al_strndup(patterns->arena, text, length);
	if (strchr(kept, '*'))
		add_glob(patterns, kept);
	else
		*AL_APPEND(patterns->arena, patterns->runs, patterns->n_runs,
			patterns->runs_room) = kept;
	patterns->are_sorted = false;
	return true;
}

/* ---- matching ---- */

static int compare_runs(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_listed(struct al_patterns *patterns, const char *run)
{
	if (!patterns->are_sorted && patterns->n_runs > 0)
		qsort(patterns->runs, patterns->n_runs, sizeof(*patterns->runs), compare_runs);
	patterns->are_sorted = true;
	return *run && patterns->n_runs > 0
		&& bsearch(&run, patterns->runs, patterns->n_runs, sizeof(run), compare_runs);
}

static const char *next_word(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot + 1 : NULL;
}

/* Are these whole words in the name? */
static bool has_words(const char *name, const char *run)
{
	const size_t length = strlen(run);

	for (const char *p = name; length && (p = strstr(p, run)); p++)
		if ((p == name || p[-1] == '.') && (p[length] == '.' || !p[length]))
			return true;
	return false;
}

/* Each run of the name's words is looked up. */
static bool has_listed_words(struct al_patterns *patterns, const char *name)
{
	char run[MOST_NAME_LENGTH];

	for (const char *begin = name; begin; begin = next_word(begin)) {
		strcpy(run, begin);
		if (is_listed(patterns, run))
			return true;
		for (char *end; (end = strrchr(run, '.'));) {
			*end = '\0';
			if (is_listed(patterns, run))
				return true;
		}
	}
	return false;
}

/* A long list isn't gone through: there may be as many names as it has entries. */
static bool has_run_of(struct al_patterns *patterns, const char *name)
{
	if (patterns->n_runs > FEW_RUNS)
		return has_listed_words(patterns, name);
	for (size_t i = 0; i < patterns->n_runs; i++)
		if (has_words(name, patterns->runs[i]))
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

	return pattern->kind == GLOB ? has_glob(pattern->text, strcpy(copy, name))
				     : regexec(&pattern->compiled, name, 0, NULL, 0) == 0;
}

bool al_patterns_match(struct al_patterns *patterns, const char *name)
{
	const size_t n = strlen(name);

	if (n >= MOST_NAME_LENGTH || !al_budget_take(patterns->budget, STEPS_OF_RUNS, NULL))
		return false;
	if (has_run_of(patterns, name))
		return true;
	for (const struct pattern *p = patterns->first; p; p = p->next)
		if (!al_budget_take(patterns->budget, n + n * p->length / CHARACTERS_A_STEP, NULL))
			return false;
		else if (matches(p, name))
			return true;
	return false;
}
