/* Words that are wider than their place may be broken anywhere. */
#include "report/latex_layout.h"

#include <string.h>

#define BREAK "\\allowbreak{}"

static const char *after_group(const char *p)
{
	int depth = 0;

	do {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		p += *p == '\\' && p[1] ? 2 : 1;
	} while (*p && depth > 0);
	return p;
}

static const char *after_command(const char *p)
{
	size_t n = 1;

	while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z'))
		n++;
	if (n == 1)
		return p + (p[1] ? 2 : 1);
	p += n;
	while (*p >= '0' && *p <= '9') /* \char34 */
		p++;
	while (*p == '{')
		p = after_group(p);
	return p;
}

/* What can't be parted: a character, a command with its groups, a group, a formula. */
static const char *after_unit(const char *p)
{
	if (*p == '\\')
		return after_command(p);
	if (*p == '{')
		return after_group(p);
	if (*p == '$') {
		const char *close = strchr(p + 1, '$');
		return close ? close + 1 : p + strlen(p);
	}
	for (p++; ((unsigned char)*p & 0xC0) == 0x80;)
		p++;
	return p;
}

/* After what parts names ("self.query", "a/b"), and after so many units without it. */
static void add_parted(struct al_text *out, const char *word, size_t n)
{
	enum { MOST_UNITS = 6 };
	int n_units = 0;

	for (const char *p = word; p < word + n;) {
		const char *next = after_unit(p);
		const bool ends_name = strchr("./-:", *p) || strncmp(p, "\\_", 2) == 0;
		al_text_add_bytes(out, p, (size_t)(next - p));
		p = next;
		if ((ends_name || ++n_units == MOST_UNITS) && p < word + n && *p != ' ') {
			al_text_add(out, BREAK);
			n_units = 0;
		}
	}
}

static const char *break_words(struct al_arena *arena, const struct al_latex_type *type,
	const char *latex, double limit_pt)
{
	struct al_text out;

	if (al_latex_widest_piece(type, latex) <= limit_pt)
		return latex;
	al_text_init(&out);
	while (*latex) {
		const size_t n = al_latex_piece(latex);
		if (al_latex_width(type, al_strndup(arena, latex, n)) > limit_pt)
			add_parted(&out, latex, n);
		else
			al_text_add_bytes(&out, latex, n);
		latex += n;
	}
	const char *broken = al_strdup(arena, out.data);
	al_text_finish(&out);
	return broken;
}

void al_latex_grid_break_words(const struct al_latex_grid *grid, struct al_arena *arena,
	const struct al_latex_type *type, double limit_pt, struct al_latex_grid *out)
{
	*out = *grid;
	out->columns = al_new_array(arena, struct al_latex_column, grid->n_columns);
	out->rows = al_new_array(arena, const char **, grid->n_rows);
	for (size_t i = 0; i < grid->n_columns; i++) {
		out->columns[i] = grid->columns[i];
		out->columns[i].head = break_words(arena, type, grid->columns[i].head, limit_pt);
	}
	for (size_t row = 0; row < grid->n_rows; row++) {
		out->rows[row] = al_new_array(arena, const char *, grid->n_columns);
		for (size_t i = 0; i < grid->n_columns; i++)
			out->rows[row][i] = *grid->columns[i].spec == 'l'
				? break_words(arena, type, grid->rows[row][i], limit_pt)
				: grid->rows[row][i];
	}
}
