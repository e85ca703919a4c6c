/* Macros of a paper's own, \newcommand{\ours}[2][default]{...} and \def\ours#1{...}, in place of
 * which the lines get what they stand for. */

#include "paper/paper.h"

enum {
	MOST_ARGUMENTS = 9,
	MOST_MACROS = 4000,
	MOST_DEPTH = 100,
	MOST_ARGUMENT_BYTES = 4096,
	MOST_BYTES = 1 << 16 /* of a line or a macro */
};

struct macro {
	const char *name;
	const char *body; /* from its first use on with no macro in it */
	const char *fallback; /* of the first argument, which is then in "[...]"; or NULL */
	size_t n_arguments;
	bool is_open, is_expanded, is_told;
};

struct expansion {
	struct al_paper *paper;
	struct macro *macros;
	size_t n_macros, room;
	size_t line; /* from 1 */
	size_t n_bytes, depth;
};

struct piece {
	const char *text;
	size_t length;
};

static void expand(struct expansion *x, struct piece text, struct al_text *out);

/* Of "\name", without the backslash. */
static size_t name_length(struct piece text, size_t at)
{
	size_t n = 0;

	while (at + 1 + n < text.length && al_is_letter(text.text[at + 1 + n]))
		n++;
	return n;
}

static bool is_name(const char *name, struct piece piece)
{
	return strncmp(name, piece.text, piece.length) == 0 && !name[piece.length];
}

static size_t skip_spaces(struct piece text, size_t at)
{
	while (at < text.length && text.text[at] == ' ')
		at++;
	return at;
}

/* What is within the braces that begin here; moves behind them. */
static bool take_group(struct al_arena *arena, struct piece text, size_t *at, const char **out)
{
	const size_t begin = skip_spaces(text, *at), left = text.length - begin;
	const size_t n = al_paper_group_length(text.text + begin,
		al_least(left, MOST_ARGUMENT_BYTES));

	if (n == 0)
		return false;
	*out = al_strndup(arena, text.text + begin + 1, n - 2);
	*at = begin + n;
	return true;
}

/* Named once for each macro. */
static void tell(struct expansion *x, struct macro *macro, const char *why)
{
	struct al_paper *paper = x->paper;

	if (!macro->is_told)
		*AL_APPEND(&paper->arena, paper->unread, paper->n_unread,
			paper->unread_room) = (struct al_paper_unread){x->line,
			al_format(&paper->arena, "\\%s", macro->name), why, false};
	macro->is_told = true;
}

/* ---- definitions ---- */

static const char *const words[] = {"newcommand", "renewcommand", "providecommand",
	"DeclareRobustCommand", "def", "gdef"};
enum { N_WORDS = sizeof(words) / sizeof(*words) };

/* "{\ours}" or "\ours". */
static const char *take_name(struct expansion *x, struct piece text, size_t *at)
{
	const bool has_braces = *at < text.length && text.text[*at] == '{';
	const size_t begin = *at + has_braces;
	const size_t n = begin < text.length && text.text[begin] == '\\' ? name_length(text, begin)
									 : 0;

	*at = begin + 1 + n + has_braces;
	return n > 0 && *at <= text.length ? al_strndup(&x->paper->arena, text.text + begin + 1, n)
					   : NULL;
}

/* "[2]" or "#1#2"; the digit of the last. */
static size_t take_count(struct piece text, size_t *at)
{
	size_t n = 0;

	while (*at + 1 < text.length && strchr("[#", text.text[*at]) && text.text[*at + 1] >= '1'
		&& text.text[*at + 1] <= '9') {
		n = (size_t)(text.text[*at + 1] - '0');
		*at += 2;
		if (*at < text.length && text.text[*at] == ']') {
			++*at;
			break; /* what comes next is a default */
		}
	}
	return n;
}

/* "[...]", within which braces are balanced; moves behind it. */
static bool take_option(struct al_arena *arena, struct piece text, size_t *at, const char **out)
{
	int depth = 0;

	if (*at >= text.length || text.text[*at] != '[')
		return false;
	for (size_t end = *at + 1; end < text.length && end - *at < MOST_ARGUMENT_BYTES; end++) {
		depth += (text.text[end] == '{') - (text.text[end] == '}');
		if (depth > 0 || text.text[end] != ']')
			continue;
		*out = al_strndup(arena, text.text + *at + 1, end - *at - 1);
		*at = end + 1;
		return true;
	}
	return false;
}

/* Where a definition ends that is here; 0: there is none, or one that isn't simple. The macros of
 * this program stay what they are. */
static size_t define(struct expansion *x, struct piece text, size_t at)
{
	static const char *const own[] = {"claim", "ledger"};
	const size_t n = name_length(text, at);
	struct macro macro = {0};
	bool is_definition = false;

	for (size_t i = 0; i < N_WORDS && !is_definition; i++)
		is_definition = is_name(words[i], (struct piece){text.text + at + 1, n});
	if (!is_definition || x->n_macros == MOST_MACROS)
		return 0;
	at += 1 + n;
	at = skip_spaces(text, at + (at < text.length && text.text[at] == '*'));
	macro.name = take_name(x, text, &at);
	if (!macro.name || al_find_name(macro.name, own, 2) >= 0)
		return 0;
	macro.n_arguments = take_count(text, &at);
	if (macro.n_arguments > 0)
		take_option(&x->paper->arena, text, &at, &macro.fallback);
	if (!take_group(&x->paper->arena, text, &at, &macro.body))
		return 0;
	*AL_APPEND(&x->paper->arena, x->macros, x->n_macros, x->room) = macro;
	return at;
}

/* ---- use ---- */

/* The last one of the name. */
static struct macro *find(const struct expansion *x, struct piece name)
{
	for (size_t i = x->n_macros; i-- > 0;)
		if (is_name(x->macros[i].name, name))
			return &x->macros[i];
	return NULL;
}

static void expand_body(struct expansion *x, size_t index)
{
	AL_TEXT(out);
	const char *body = x->macros[index].body;

	x->macros[index].is_open = true;
	expand(x, (struct piece){body, strlen(body)}, &out);
	x->macros[index].body = al_strdup(&x->paper->arena, out.data);
	x->macros[index].is_open = false;
	x->macros[index].is_expanded = true;
}

static void add_body(struct expansion *x, const struct macro *macro, const char **arguments,
	struct al_text *out)
{
	for (const char *p = macro->body; *p; p++) {
		const size_t k = *p == '#' && p[1] >= '1' && p[1] <= '9' ? (size_t)(p[1] - '1')
									 : MOST_ARGUMENTS;
		if (k >= macro->n_arguments) {
			al_text_add_bytes(out, p, 1);
			continue;
		}
		if (out->length < MOST_BYTES)
			expand(x, (struct piece){arguments[k], strlen(arguments[k])}, out);
		p++;
	}
}

/* What a macro stands for; returns where the text goes on, `at` where it stays as it is. */
static size_t use(struct expansion *x, size_t index, struct piece text, size_t at,
	struct al_text *out)
{
	AL_ARENA(scratch);
	const char *arguments[MOST_ARGUMENTS] = {x->macros[index].fallback};
	size_t end = at + 1 + strlen(x->macros[index].name);

	if (arguments[0])
		take_option(&scratch, text, &end, &arguments[0]);
	for (size_t i = arguments[0] != NULL; i < x->macros[index].n_arguments; i++)
		if (!take_group(&scratch, text, &end, &arguments[i]))
			return at;
	if (x->macros[index].is_open) {
		tell(x, &x->macros[index], "the macro calls itself");
		return end;
	}
	if (x->depth >= MOST_DEPTH || out->length >= MOST_BYTES || x->n_bytes >= AL_PAPER_LIMIT) {
		tell(x, &x->macros[index], "the macro expands to too much text");
		return end;
	}
	if (!x->macros[index].is_expanded)
		expand_body(x, index);
	const struct macro macro = x->macros[index];
	add_body(x, &macro, arguments, out);
	return macro.n_arguments > 0 ? end : skip_spaces(text, end);
}

static void expand(struct expansion *x, struct piece text, struct al_text *out)
{
	x->depth++;
	for (size_t at = 0; at < text.length;) {
		const char *slash = memchr(text.text + at, '\\', text.length - at);
		const size_t next = slash ? (size_t)(slash - text.text) : text.length;
		al_text_add_bytes(out, text.text + at, next - at);
		at = next;
		if (!slash)
			break;
		size_t n = name_length(text, at);
		const size_t end = n > 0 ? define(x, text, at) : 0;
		const struct macro *macro = n > 0 && end == 0
			? find(x, (struct piece){text.text + at + 1, n})
			: NULL;
		const size_t behind = macro ? use(x, (size_t)(macro - x->macros), text, at, out)
					    : end;
		if (behind > at) {
			at = behind;
			continue;
		}
		n = n > 0 ? n + 1 : at + 1 < text.length ? 2 : 1;
		al_text_add_bytes(out, text.text + at, n);
		at += n;
	}
	x->depth--;
}

/* ---- lines ---- */

static int depth_of(const struct al_paper_line *line)
{
	int depth = 0;

	for (size_t i = 0; i < line->length; i++)
		if (line->text[i] == '\\')
			i++;
		else
			depth += (line->text[i] == '{') - (line->text[i] == '}');
	return depth;
}

static bool begins_definition(const struct al_paper_line *line)
{
	for (size_t i = 0; i < N_WORDS; i++) {
		const size_t n = strlen(words[i]);
		if (line->length > n && line->text[0] == '\\'
			&& memcmp(line->text + 1, words[i], n) == 0)
			return true;
	}
	return false;
}

/* A definition that goes on in the next lines is one line. */
static void join_definition(struct al_paper *paper, size_t first)
{
	enum { MOST_LINES = 60 };
	struct al_paper_line *line = &paper->lines[first];
	int depth = begins_definition(line) ? depth_of(line) : 0;
	size_t end = first + 1;
	AL_TEXT(text);

	if (depth <= 0)
		return;
	al_text_add_bytes(&text, line->text, line->length);
	for (; depth > 0 && end < paper->n_lines && end < first + MOST_LINES; end++) {
		al_text_add(&text, " ");
		al_text_add_bytes(&text, paper->lines[end].text, paper->lines[end].length);
		depth += depth_of(&paper->lines[end]);
	}
	if (depth != 0 || text.length > MOST_BYTES)
		return;
	for (size_t i = first + 1; i < end; i++) {
		paper->lines[i].length = 0;
		paper->lines[i].is_part = true;
	}
	line->text = al_strndup(&paper->arena, text.data, text.length);
	line->length = text.length;
}

void al_paper_expand(struct al_paper *paper)
{
	struct expansion x = {.paper = paper};

	for (size_t i = 0; i < paper->n_lines; i++) {
		struct al_paper_line *line = &paper->lines[i];
		AL_TEXT(out);
		join_definition(paper, i);
		x.line = i + 1;
		expand(&x, (struct piece){line->text, line->length}, &out);
		if (out.length == line->length && memcmp(out.data, line->text, out.length) == 0)
			continue;
		x.n_bytes += out.length;
		line->text = al_strndup(&paper->arena, out.data, out.length);
		line->length = out.length;
		line->is_part = true; /* a definition ends no paragraph */
	}
}
