/* Annotated numbers of LaTeX: \claim{PRINTED}{VALUE}, \ledger{PATH}, and \input{FILE}, which may
 * define the latter. */
#include <stddef.h>
#include <string.h>

#include "paper/paper.h"

/* The length of "{...}", which may hold others; 0 where it doesn't end on the line. */
static size_t group_length(const char *text, size_t left)
{
	int depth = 0;

	for (size_t i = 0; i < left; i++) {
		depth += (text[i] == '{') - (text[i] == '}');
		if (depth == 0)
			return text[i] == '}' ? i + 1 : 0;
	}
	return 0;
}

static void add_claim(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	const size_t n = group_length(text, left), m = n ? group_length(text + n, left - n) : 0;

	if (m == 0)
		return;
	*AL_APPEND(&paper->arena, paper->claims, paper->n_claims,
		paper->claims_room) = (struct al_paper_claim){.line = line,
		.printed = al_paper_plain(&paper->arena, text + 1, n - 2),
		.value = al_strndup(&paper->arena, text + n + 1, m - 2)};
}

static void add_macro(struct al_paper *paper, struct al_paper_macros *macros, size_t line,
	const char *text, size_t left)
{
	const size_t n = group_length(text, left);

	if (n == 0)
		return;
	*AL_APPEND(&paper->arena, macros->items, macros->n,
		macros->room) = (struct al_paper_macro){line,
		al_strndup(&paper->arena, text + 1, n - 2)};
}

static const struct macro {
	const char *word;
	size_t offset; /* in the paper: of the list */
} macros[] = {{"\\ledger{", offsetof(struct al_paper, ledgers)},
	{"\\input{", offsetof(struct al_paper, inputs)}};

static bool begins(const char *text, size_t left, const char *word)
{
	return left >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

/* What the macro at this backslash says. */
static void read_macro(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	static const char claim[] = "\\claim{";

	if (begins(text, left, claim))
		add_claim(paper, line, text + strlen(claim) - 1, left - strlen(claim) + 1);
	for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++) {
		const size_t n = strlen(macros[i].word) - 1;
		if (begins(text, left, macros[i].word))
			add_macro(paper, (void *)((char *)paper + macros[i].offset), line, text + n,
				left - n);
	}
}

/* A comment ends what is read of a line. */
static void find_in_line(struct al_paper *paper, size_t number, const struct al_paper_line *line)
{
	for (size_t at = 0; at < line->length && line->text[at] != '%'; at++) {
		if (line->text[at] != '\\')
			continue;
		read_macro(paper, number, line->text + at, line->length - at);
		at += at + 1 < line->length && strchr("\\%", line->text[at + 1]);
	}
}

void al_paper_find_claims(struct al_paper *paper)
{
	for (size_t i = 0; i < paper->n_lines; i++)
		find_in_line(paper, i + 1, &paper->lines[i]);
}
