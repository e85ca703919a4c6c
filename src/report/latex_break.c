/* Heads in several lines; words that are wider than their place may be broken anywhere. */
#include "report/latex_layout.h"

/* ---- heads ---- */

/* The line of a head that begins at `head`, no wider than `limit` if it can be; its length. */
static size_t line_of_head(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, double limit)
{
	size_t n = al_latex_piece(head);

	while (head[n]) {
		const size_t more = al_latex_piece(head + n);
		if (al_latex_width(type, al_strndup(arena, head, n + more)) > limit)
			break;
		n += more;
	}
	return n;
}

double al_latex_head_width(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, double limit, size_t *n_lines)
{
	double widest = 0;

	for (*n_lines = 0; *head; ++*n_lines) {
		const size_t n = line_of_head(type, arena, head, limit);
		widest = fmax(widest, al_latex_width(type, al_strndup(arena, head, n)));
		head += n;
	}
	return widest;
}

double al_latex_head_narrow(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, double body, double whole)
{
	enum { MOST_LINES = 3 };
	const double first = fmax(body, al_latex_widest_piece(type, head));
	size_t n_lines;

	for (double limit = first; limit < whole; limit += 4) {
		const double width = al_latex_head_width(type, arena, head, limit, &n_lines);
		if (n_lines <= MOST_LINES)
			return width;
	}
	return whole;
}

const char *al_latex_head_stack(const struct al_latex_type *type, struct al_arena *arena,
	const char *head, char alignment, double limit)
{
	AL_TEXT(out);
	al_text_addf(&out, "\\shortstack[%c]{", alignment);
	while (*head) {
		const size_t n = line_of_head(type, arena, head, limit);
		al_text_add_bytes(&out, head, n - (head[n - 1] == ' '));
		head += n;
		al_text_add(&out, *head ? "\\\\" : "}");
	}
	return al_strdup(arena, out.data);
}

/* ---- words ---- */

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

	while (al_is_letter(p[n]))
		n++;
	if (n == 1)
		return p + (p[1] ? 2 : 1);
	p += n;
	while (al_is_digit(*p)) /* \char34 */
		p++;
	while (*p == '{')
		p = after_group(p);
	return p;
}

/* Unbreakable pieces: a character, a command with its groups, a group, a formula. */
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
	if (al_latex_widest_piece(type, latex) <= limit_pt)
		return latex;
	AL_TEXT(out);
	while (*latex) {
		const size_t n = al_latex_piece(latex);
		if (al_latex_width(type, al_strndup(arena, latex, n)) > limit_pt)
			add_parted(&out, latex, n);
		else
			al_text_add_bytes(&out, latex, n);
		latex += n;
	}
	return al_strdup(arena, out.data);
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
