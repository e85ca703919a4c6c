/* Regular expressions of tokenizer.json. The reference implementation reads them with Oniguruma, we
 * with PCRE2 (GLib's own, so it is there): both know Unicode's properties, and differ where names
 * are short. \s, \w and \d are therefore written as properties, and what Oniguruma alone knows
 * (sets in sets, \h as a hexadecimal digit, (?m) as what others call s) is refused.
 *
 * A pattern is a stranger's, and what it costs grows with the text: all searches of one text
 * together may take a fixed number of steps a byte. A step is counted before each item of the
 * pattern, with the bytes passed over since the last one, back or forth. Only what reads many bytes
 * and is then given up would escape that, a long count or a group's text again: both are
 * refused. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenize/internal.h"

#include <pcre2.h>

/* So many steps may the searches of a text take, one search so much memory. */
enum { MOST_STEPS = 100 * 1000, STEPS_A_BYTE = 300, MOST_KIB = 64 * 1024, MOST_REPEATS = 1000 };

struct al_pattern {
	pcre2_code *code;
	const char *text;
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
		return memchr(t->at + 2, 'm', strspn(t->at + 2, "imx-")) != NULL;
	return strncmp(t->at, "(*", 2) == 0;
}

/* {1,2000} */
static bool repeats_too_often(const char *at)
{
	if (*at != '{')
		return false;
	const char *second = at + 1 + strspn(at + 1, "0123456789");
	return strtoul(at + 1, NULL, 10) > MOST_REPEATS
		|| (*second == ',' && strtoul(second + 1, NULL, 10) > MOST_REPEATS);
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
		if (!t->in_set && repeats_too_often(t->at))
			return al_fail(err, AL_EINPUT,
				"regular expression: \"%.10s\" repeats more than %d times", t->at,
				MOST_REPEATS);
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

static bool compile(struct al_arena *arena, const char *text, uint32_t options,
	const struct al_pattern **out, struct al_error *err)
{
	struct al_pattern *pattern = al_new(arena, struct al_pattern);
	int code;
	size_t at;

	pattern->text = al_strdup(arena, text);
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options | PCRE2_UTF,
		&code, &at, pcre2_compile_context_create(context_of(arena)));
	*out = pattern;
	if (pattern->code)
		return true;
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
		&& compile(arena, t.out.data, PCRE2_UCP | PCRE2_MULTILINE | PCRE2_AUTO_CALLOUT, out,
			err);
	al_text_finish(&t.out);
	return ok;
}

const struct al_pattern *al_pattern_of(struct al_arena *arena, const char *text)
{
	const struct al_pattern *pattern;

	return compile(arena, text, PCRE2_UCP, &pattern, NULL) ? pattern : NULL;
}

const struct al_pattern *al_pattern_literal(struct al_arena *arena, const char *text)
{
	const struct al_pattern *pattern;

	return compile(arena, text, PCRE2_LITERAL, &pattern, NULL) ? pattern : NULL;
}

/* ---- searches ---- */

struct search {
	const struct al_pattern *pattern;
	struct al_span text;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	size_t at, steps, most_steps; /* where the last step was, and how many there were */
};

/* Ends the search where there were too many. */
static int count_step(pcre2_callout_block *block, void *context)
{
	struct search *search = context;
	const size_t at = block->current_position;

	search->steps += 1 + (at > search->at ? at - search->at : search->at - at);
	search->at = at;
	return search->steps > search->most_steps ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static void begin(struct search *search, const struct al_pattern *pattern, struct al_arena *memory,
	struct al_span text)
{
	pcre2_general_context *context = context_of(memory);

	*search = (struct search){.pattern = pattern,
		.text = text,
		.data = pcre2_match_data_create_from_pattern(pattern->code, context),
		.limits = pcre2_match_context_create(context),
		.most_steps = MOST_STEPS + STEPS_A_BYTE * text.n};
	pcre2_set_callout(search->limits, count_step, search);
	pcre2_set_heap_limit(search->limits, MOST_KIB);
}

/* The next match from `at` on; `*found` is true if there is one. */
static bool find_next(const struct search *search, size_t at, struct al_match *match, bool *found,
	struct al_error *err)
{
	const int code = pcre2_match(search->pattern->code, (PCRE2_SPTR)search->text.data,
		search->text.n, at, PCRE2_NO_UTF_CHECK, search->data, search->limits);

	*found = code >= 0;
	if (code == PCRE2_ERROR_NOMATCH)
		return true;
	if (code < 0)
		return al_fail(err, AL_EINPUT,
			"regular expression \"%.60s\" takes too many steps on this text",
			search->pattern->text);
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(search->data);
	*match = (struct al_match){ends[0], ends[1], true};
	return true;
}

static void add_match(struct al_matches *out, struct al_arena *memory, size_t *room,
	struct al_match match)
{
	out->items = al_grow(memory, out->items, out->n, room, sizeof(*out->items));
	out->items[out->n++] = match;
}

static size_t next_character(struct al_span text, size_t at)
{
	const size_t n = at < text.n ? al_utf8_length(text.data + at, text.n - at) : 1;

	return at + (n ? n : 1);
}

bool al_pattern_find(const struct al_pattern *pattern, struct al_arena *memory, struct al_span text,
	struct al_matches *out, struct al_error *err)
{
	struct search search;
	size_t room = 0, covered = 0;
	struct al_match match;
	bool found = true;

	begin(&search, pattern, memory, text);
	*out = (struct al_matches){0};
	for (size_t at = 0; at <= text.n;) {
		if (!find_next(&search, at, &match, &found, err))
			return false;
		if (!found)
			break;
		if (match.first > covered)
			add_match(out, memory, &room,
				(struct al_match){covered, match.first, false});
		add_match(out, memory, &room, match);
		covered = match.end;
		at = match.end > match.first ? match.end : next_character(text, match.end);
	}
	if (covered < text.n)
		add_match(out, memory, &room, (struct al_match){covered, text.n, false});
	return true;
}

bool al_pattern_is_in(const struct al_pattern *pattern, struct al_arena *memory,
	struct al_span text)
{
	struct search search;
	struct al_match match;
	bool found;

	begin(&search, pattern, memory, text);
	return find_next(&search, 0, &match, &found, NULL) && found;
}
