/* Annotated numbers: \claim{PRINTED}{VALUE} of LaTeX. */
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
	paper->claims = al_grow(&paper->arena, paper->claims, paper->n_claims, &paper->claims_room,
		sizeof(*paper->claims));
	paper->claims[paper->n_claims++] = (struct al_paper_claim){.line = line + 1,
		.printed = al_paper_plain(&paper->arena, text + 1, n - 2),
		.value = al_strndup(&paper->arena, text + n + 1, m - 2)};
}

void al_paper_find_claims(struct al_paper *paper)
{
	static const char word[] = "\\claim{";
	const size_t n = strlen(word);

	for (size_t i = 0; i < paper->n_lines; i++) {
		const struct al_paper_line *line = &paper->lines[i];
		for (size_t at = 0; at + n <= line->length; at++)
			if (memcmp(line->text + at, word, n) == 0)
				add_claim(paper, i, line->text + at + n - 1,
					line->length - at - n + 1);
	}
}
