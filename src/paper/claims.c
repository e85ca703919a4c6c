/* Annotated numbers of LaTeX: \claim{PRINTED}{VALUE}, \ledger{PATH}, and \input{FILE}, which may
 * define the latter. */
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

typedef void macro_adder(struct al_paper *paper, size_t line, const char *text, size_t left);

static void add_claim(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	const size_t n = group_length(text, left), m = n ? group_length(text + n, left - n) : 0;

	if (m == 0)
		return;
	paper->claims = al_grow(&paper->arena, paper->claims, paper->n_claims, &paper->claims_room,
		sizeof(*paper->claims));
	paper->claims[paper->n_claims++] = (struct al_paper_claim){.line = line,
		.printed = al_paper_plain(&paper->arena, text + 1, n - 2),
		.value = al_strndup(&paper->arena, text + n + 1, m - 2)};
}

static void add_macro(struct al_paper *paper, struct al_paper_macros *macros, size_t line,
	const char *text, size_t left)
{
	const size_t n = group_length(text, left);

	if (n == 0)
		return;
	macros->items = al_grow(&paper->arena, macros->items, macros->n, &macros->room,
		sizeof(*macros->items));
	macros->items[macros->n++] = (struct al_paper_macro){line,
		al_strndup(&paper->arena, text + 1, n - 2)};
}

static void add_ledger(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	add_macro(paper, &paper->ledgers, line, text, left);
}

static void add_input(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	add_macro(paper, &paper->inputs, line, text, left);
}

static const struct macro {
	const char *word;
	macro_adder *add;
} macros[] = {{"\\claim{", add_claim}, {"\\ledger{", add_ledger}, {"\\input{", add_input}};

/* A comment ends what is read of a line. */
static void find_in_line(struct al_paper *paper, size_t number, const struct al_paper_line *line)
{
	for (size_t at = 0; at < line->length && line->text[at] != '%'; at++) {
		if (line->text[at] != '\\')
			continue;
		for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++) {
			const size_t n = strlen(macros[i].word);
			if (at + n <= line->length
				&& memcmp(line->text + at, macros[i].word, n) == 0)
				macros[i].add(paper, number, line->text + at + n - 1,
					line->length - at - n + 1);
		}
		at += at + 1 < line->length && strchr("\\%", line->text[at + 1]);
	}
}

void al_paper_find_claims(struct al_paper *paper)
{
	for (size_t i = 0; i < paper->n_lines; i++)
		find_in_line(paper, i + 1, &paper->lines[i]);
}
