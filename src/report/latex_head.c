/* Heads of columns in several lines. */
#include "report/latex_head.h"

#include <math.h>

#include "base/text.h"

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
	struct al_text out;

	al_text_init(&out);
	al_text_addf(&out, "\\shortstack[%c]{", alignment);
	while (*head) {
		const size_t n = line_of_head(type, arena, head, limit);
		al_text_add_bytes(&out, head, n - (head[n - 1] == ' '));
		head += n;
		al_text_add(&out, *head ? "\\\\" : "}");
	}
	const char *stacked = al_strdup(arena, out.data);
	al_text_finish(&out);
	return stacked;
}
