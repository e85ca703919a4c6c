/* Captions: the text of the float that a table is in; of Markdown the paragraph before it. */
#include "paper/derive.h"

static bool has(const struct al_paper_line *line, const char *word, size_t *at)
{
	const size_t n = strlen(word);

	for (size_t i = 0; i + n <= line->length; i++)
		if (memcmp(line->text + i, word, n) == 0) {
			*at = i;
			return true;
		}
	return false;
}

/* Adds the group that begins behind `at` of a line, and goes on in the next ones; what is in
 * square brackets before it is passed over. */
static void add_group(const struct al_paper *paper, size_t line, size_t at, struct al_text *out)
{
	enum { MOST_LINES = 40, MOST_BYTES = 8000 };
	const size_t last = line + MOST_LINES;
	int depth = 0, square = 0;

	for (; line < paper->n_lines && line < last && out->length < MOST_BYTES; line++, at = 0) {
		const struct al_paper_line *l = &paper->lines[line];
		for (; at < l->length; at++) {
			const char c = l->text[at];
			square += depth == 0 ? (c == '[') - (c == ']') : 0;
			depth += square == 0 ? (c == '{') - (c == '}') : 0;
			if (depth > 1 || (depth == 1 && c != '{'))
				al_text_add_bytes(out, &c, 1);
			if (depth == 0 && square == 0 && c == '}')
				return;
		}
		al_text_add(out, " ");
	}
}

static bool is_edge(const struct al_paper_line *line, const char *word)
{
	static const char *const floats[] = {"table}", "table*}", "wraptable}", "longtable}",
		"sidewaystable}", "figure}", "figure*}", "document}"};
	size_t at;

	for (size_t i = 0; i < sizeof(floats) / sizeof(*floats); i++) {
		char edge[40];
		snprintf(edge, sizeof(edge), "%s{%s", word, floats[i]);
		if (has(line, edge, &at))
			return true;
	}
	return false;
}

static const char *caption_of_float(const struct al_paper *paper, struct al_arena *arena,
	size_t first)
{
	enum { MOST_LINES = 400 };
	size_t begin = first, at;
	AL_TEXT(out);

	while (begin > 0 && first - begin < MOST_LINES
		&& !is_edge(&paper->lines[begin], "\\begin")) {
		if (begin < first && is_edge(&paper->lines[begin], "\\end"))
			return "";
		begin--;
	}
	for (size_t i = begin; i < paper->n_lines && i < first + MOST_LINES; i++) {
		const struct al_paper_line *line = &paper->lines[i];
		if (has(line, "\\captionof", &at))
			add_group(paper, i, at + strlen("\\captionof{table}"), &out);
		else if (has(line, "\\caption", &at))
			add_group(paper, i, at + strlen("\\caption"), &out);
		if (is_edge(line, "\\end"))
			break;
	}
	return al_paper_plain(arena, out.data, out.length);
}

/* "Table 2: ..." in the paragraph before, or behind. */
static const char *caption_beside(const struct al_paper *paper, struct al_arena *arena,
	size_t first)
{
	for (size_t i = first; i-- > 0 && first - i < 4;) {
		const struct al_paper_line *line = &paper->lines[i];
		const char *text = al_paper_plain(arena, line->text, line->length);
		if (strncmp(text, "Table", 5) == 0)
			return text;
	}
	return "";
}

const char *al_paper_caption(const struct al_paper *paper, struct al_arena *arena, size_t table)
{
	const struct al_paper_table *t = &paper->tables[table];
	const size_t first = t->rows[0].line - 1;

	return paper->kind == AL_PAPER_TEX ? caption_of_float(paper, arena, first)
					   : caption_beside(paper, arena, first);
}
