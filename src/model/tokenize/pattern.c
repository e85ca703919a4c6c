/* Regular expressions of tokenizer.json. The reference implementation reads them with Oniguruma, we
 * with PCRE2 (GLib's own, so it is there): both know Unicode's properties, and differ where names
 * are short. \s, \w and \d are therefore written as properties, and what Oniguruma alone knows
 * (sets in sets, \h as a hexadecimal digit, (?m) as what others call s) is refused.
 *
 * A pattern is a stranger's: what its searches cost is taken from the tokenizer's budget. Steps are
 * counted before each item of the pattern, with the bytes passed over since the last one, back or
 * forth, and with those that the item may read and then give up: where it is counted ("{1000}"), or
 * goes back. Patterns of our own read no byte often, and are not counted. */
#define _GNU_SOURCE /* memmem */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenize/internal.h"

#include <pcre2.h>

struct al_pattern {
	pcre2_code *code; /* NULL: the text itself is what it matches */
	const char *text;
	size_t n_back; /* bytes that one item may go back */
};

static void *take(PCRE2_SIZE size, void *arena)
{
	return al_arena_alloc(arena, size, 1);
}

/* What hangs on an arena dies with it. */
static void leave(void *memory, void *arena)
{
	(void)memory;
	(void)arena;
}

static pcre2_general_context *context_of(struct al_arena *arena)
{
	return pcre2_general_context_create(take, leave, arena);
}

/* ---- from Oniguruma's to PCRE2's ---- */

struct translation {
	const char *at;
	struct al_text out;
	bool in_set;
};

static bool refuse(const struct translation *t, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"regular expression: \"%.10s\" means different things to different libraries",
		t->at);
}

/* A backslash and what follows it. */
static bool translate_escape(struct translation *t, struct al_error *err)
{
	static const char word[] = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
	const char c = t->at[1];

	if (c == '\0' || strchr("hHbBGKkgRXyYOC", c) || (c == 'W' && t->in_set))
		return refuse(t, err);
	if (c >= '1' && c <= '9')
		return al_fail(err, AL_EINPUT,
			"regular expression: \"%.10s\" is a back reference, which isn't supported",
			t->at);
	if (c == 's' || c == 'S')
		al_text_addf(&t->out, "\\%c{White_Space}", c == 's' ? 'p' : 'P');
	else if (c == 'w' || c == 'W')
		al_text_addf(&t->out, t->in_set ? "%s%s" : "[%s%s]", c == 'W' ? "^" : "", word);
	else
		al_text_add_bytes(&t->out, t->at, 2);
	t->at += 2;
	return true;
}

static bool is_refused(const struct translation *t)
{
	if (t->in_set)
		return *t->at == '[' || strncmp(t->at, "&&", 2) == 0;
	if (strncmp(t->at, "(?", 2) == 0)
		return t->at[2] == 'P' || memchr(t->at + 2, 'm', strspn(t->at + 2, "imx-")) != NULL;
	return strncmp(t->at, "(*", 2) == 0;
}

static bool translate(struct translation *t, struct al_error *err)
{
	while (*t->at) {
		if (*t->at == '\\') {
			if (!translate_escape(t, err))
				return false;
			continue;
		}
		if (is_refused(t))
			return refuse(t, err);
		if (!t->in_set && *t->at == '[') {
			t->in_set = true;
			al_text_add_bytes(&t->out, t->at++, 1);
			if (*t->at == '^')
				al_text_add_bytes(&t->out, t->at++, 1);
			continue;
		}
		t->in_set = t->in_set && *t->at != ']';
		al_text_add_bytes(&t->out, t->at++, 1);
	}
	return true;
}

/* ---- patterns ---- */

/* The longest look behind, in each of its branches. */
static size_t bytes_back(const struct al_pattern *pattern)
{
	enum { MOST_CHARACTER = 4 };
	uint32_t n_back = 0;
	size_t n_branches = 1;

	pcre2_pattern_info(pattern->code, PCRE2_INFO_MAXLOOKBEHIND, &n_back);
	for (const char *p = pattern->text; *p; p++)
		n_branches += *p == '|';
	return MOST_CHARACTER * n_back * n_branches;
}

static bool compile(struct al_arena *arena, const char *text, uint32_t options,
	const struct al_pattern **out, struct al_error *err)
{
	struct al_pattern *pattern = al_new(arena, struct al_pattern);
	size_t at, n_bytes = 0;
	int code;

	pattern->text = al_strdup(arena, text);
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
		options | PCRE2_UTF | PCRE2_UCP, &code, &at,
		pcre2_compile_context_create(context_of(arena)));
	*out = pattern;
	if (pattern->code) {
		pattern->n_back = bytes_back(pattern);
		pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &n_bytes);
		return al_budget_take(arena->budget, n_bytes, err);
	}
	PCRE2_UCHAR message[128];
	pcre2_get_error_message(code, message, sizeof(message));
	return al_fail(err, AL_EINPUT, "regular expression: %s", (const char *)message);
}

bool al_pattern_compile(struct al_arena *arena, const char *text, const struct al_pattern **out,
	struct al_error *err)
{
	struct translation t = {.at = text};

	al_text_init(&t.out);
	/* ^ and $ are at every line's ends, as Oniguruma has them */
	bool ok = translate(&t, err)
		&& compile(arena, t.out.data, PCRE2_MULTILINE | PCRE2_AUTO_CALLOUT, out, err);
	al_text_finish(&t.out);
	return ok;
}

const struct al_pattern *al_pattern_of(struct al_arena *arena, const char *text)
{
	const struct al_pattern *pattern;

	(void)compile(arena, text, 0, &pattern, NULL); /* where it fails the budget is exceeded */
	return pattern;
}

const struct al_pattern *al_pattern_literal(struct al_arena *arena, const char *text)
{
	struct al_pattern *pattern = al_new(arena, struct al_pattern);

	pattern->text = al_strdup(arena, text);
	return pattern;
}

/* ---- searches ---- */

struct al_matcher {
	struct al_arena *arena;
	pcre2_match_data *data;
	pcre2_match_context *context;
	const struct al_scan *search; /* the one under way */
	size_t at; /* where its last step was */
	size_t wanted; /* the bytes of memory that were refused last */
};

/* Where too much is wanted the search ends. */
static void *take_frames(PCRE2_SIZE size, void *context)
{
	struct al_matcher *matcher = context;

	if (al_budget_holds(matcher->arena->budget, size))
		return al_arena_alloc(matcher->arena, size, 1);
	matcher->wanted = size;
	return NULL;
}

/* How much an item may read without another step: forward, and behind. */
static size_t bytes_at_once(const struct al_scan *search, const char *item, size_t n, size_t at)
{
	const size_t left = search->text.n - at, back = search->pattern->n_back;
	size_t begin = n;

	if (n > 3 && strncmp(item, "(?<", 3) == 0)
		return al_least(back, at);
	if (n < 4 || item[n - 1] == ']' || !memchr(item + n - 2, '}', 2))
		return 0;
	while (begin > 0 && item[begin - 1] != '{')
		begin--;
	/* \x{61} isn't a count */
	const size_t count = begin == 3 && strchr("xo", item[1]) ? 0
								 : strtoul(item + begin, NULL, 10);
	return al_least(count, left);
}

/* Ends the search where there were too many. */
static int count_step(pcre2_callout_block *block, void *context)
{
	enum { STEPS_AN_ITEM = 4, READ_IN_A_STEP = 4 };
	struct al_matcher *m = context;
	const size_t at = block->current_position;
	const char *item = m->search->pattern->text + block->pattern_position;

	const size_t passed = at > m->at ? at - m->at : m->at - at;

	m->arena->budget->steps += STEPS_AN_ITEM
		+ (passed + bytes_at_once(m->search, item, block->next_item_length, at))
			/ READ_IN_A_STEP;
	m->at = at;
	return al_budget_holds(m->arena->budget, 0) ? 0 : PCRE2_ERROR_CALLOUT;
}

struct al_matcher *al_matcher_create(struct al_arena *arena)
{
	struct al_matcher *matcher = al_new(arena, struct al_matcher);

	matcher->arena = arena;
	pcre2_general_context *general = pcre2_general_context_create(take_frames, leave, matcher);

	matcher->data = pcre2_match_data_create(1, general);
	matcher->context = pcre2_match_context_create(general);
	pcre2_set_callout(matcher->context, count_step, matcher);
	pcre2_set_match_limit(matcher->context, UINT32_MAX);
	pcre2_set_depth_limit(matcher->context, UINT32_MAX);
	return matcher;
}

static bool fail_search(struct al_scan *search, int code)
{
	struct al_matcher *m = search->matcher;

	search->failed = true;
	if (al_budget_check(m->arena->budget, code == PCRE2_ERROR_NOMEMORY ? m->wanted : 0,
		    search->err))
		return al_fail(search->err, AL_EINPUT, "regular expression \"%.60s\" fails (%d)",
			search->pattern->text, code);
	return al_in(search->err, "regular expression \"%.60s\"", search->pattern->text);
}

static bool find_literal(const struct al_scan *search, struct al_match *match)
{
	const struct al_span text = search->text, by = al_span_of(search->pattern->text);
	const char *at = memmem(text.data + search->at, text.n - search->at, by.data, by.n);

	if (at)
		*match = (struct al_match){(size_t)(at - text.data),
			(size_t)(at - text.data) + by.n, true};
	return at != NULL;
}

/* The next match from `at` on, if there is one. */
static bool find_next(struct al_scan *search, struct al_match *match)
{
	struct al_matcher *m = search->matcher;

	if (search->at > search->text.n)
		return false;
	if (!search->pattern->code)
		return find_literal(search, match);
	m->search = search;
	m->at = search->at;
	const int code = pcre2_match(search->pattern->code, (PCRE2_SPTR)search->text.data,
		search->text.n, search->at, PCRE2_NO_UTF_CHECK, m->data, m->context);
	if (code < 0)
		return code != PCRE2_ERROR_NOMATCH && fail_search(search, code);
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->data);
	*match = (struct al_match){ends[0], ends[1], true};
	return true;
}

static size_t next_character(struct al_span text, size_t at)
{
	const size_t n = at < text.n ? al_utf8_length(text.data + at, text.n - at) : 1;

	return at + (n ? n : 1);
}

bool al_scan_next(struct al_scan *search, struct al_match *part)
{
	struct al_match match = search->waits;
	const size_t n = search->text.n, covered = search->covered;

	search->waits.is_match = false;
	if (search->failed)
		return false;
	if (!match.is_match && !find_next(search, &match)) {
		search->at = n + 1;
		search->covered = n;
		*part = (struct al_match){covered, n, false};
		return !search->failed && covered < n;
	}
	search->at = match.end > match.first ? match.end : next_character(search->text, match.end);
	if (match.first > covered) {
		search->waits = match;
		search->covered = match.first;
		*part = (struct al_match){covered, match.first, false};
		return true;
	}
	search->covered = match.end;
	*part = match;
	return true;
}

bool al_pattern_is_in(const struct al_pattern *pattern, struct al_matcher *matcher,
	struct al_span text)
{
	struct al_scan search = {.matcher = matcher, .pattern = pattern, .text = text};
	struct al_match match;

	return find_next(&search, &match);
}
