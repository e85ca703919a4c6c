/* Annotated numbers of LaTeX: \claim{PRINTED}{VALUE}, \ledger{PATH}, and what defines the
 * latter. */

#include "paper/paper.h"

/* The length of the group behind a macro's word; 0 where that macro isn't here. */
static size_t find_argument(const char *text, size_t left, const char *word, const char **group)
{
	const size_t n = strlen(word);

	*group = text;
	if (left <= n || memcmp(text, word, n) != 0)
		return 0;
	*group += n;
	return al_paper_group_length(*group, left - n);
}

static void add_macro(struct al_paper *paper, struct al_paper_macros *macros, size_t line,
	const char *argument, size_t length)
{
	*AL_APPEND(&paper->arena, macros->items, macros->n,
		macros->room) = (struct al_paper_macro){line,
		al_strndup(&paper->arena, argument, length)};
}

static void read_ledger(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	const char *group;
	const size_t n = find_argument(text, left, "\\ledger", &group);

	if (n > 0)
		add_macro(paper, &paper->ledgers, line, group + 1, n - 2);
}

static void read_claim(struct al_paper *paper, size_t line, const char *text, size_t left)
{
	const char *group;
	const size_t n = find_argument(text, left, "\\claim", &group);
	const size_t m = n ? al_paper_group_length(group + n, left - (size_t)(group + n - text))
			   : 0;

	if (m > 0)
		*AL_APPEND(&paper->arena, paper->claims, paper->n_claims,
			paper->claims_room) = (struct al_paper_claim){.line = line,
			.printed = al_paper_plain(&paper->arena, group + 1, n - 2),
			.value = al_strndup(&paper->arena, group + n + 1, m - 2)};
}

static void find_in_line(struct al_paper *paper, size_t number, const struct al_paper_line *line)
{
	for (size_t at = 0; at < line->length; at++) {
		if (line->text[at] != '\\')
			continue;
		const char *text = line->text + at;
		const size_t left = line->length - at;
		read_claim(paper, number, text, left);
		read_ledger(paper, number, text, left);
		at += at + 1 < line->length && strchr("\\%", line->text[at + 1]);
	}
}

/* A definition is no running text. */
void al_paper_find_claims(struct al_paper *paper)
{
	static const char definition[] = "\\expandafter\\def\\csname ledger@";

	for (size_t i = 0; i < paper->n_lines; i++) {
		struct al_paper_line *line = &paper->lines[i];
		if (line->length > strlen(definition)
			&& memcmp(line->text, definition, strlen(definition)) == 0) {
			add_macro(paper, &paper->definitions, i + 1, line->text, line->length);
			line->length = 0;
		} else
			find_in_line(paper, i + 1, line);
	}
}
