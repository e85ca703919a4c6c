/* Numbers in running text. Only numbers of parameters and bytes are looked at, of four digits and
 * more: shorter ones are near to too many others. */
#include <ctype.h>

#include "paper/lint.h"
#include "paper/words.h"
#include "scenario/scenario.h"

enum { LEAST_DIGITS = 4, MOST_LENGTH = 32 };

bool al_paper_is_slip(const char *a, const char *b)
{
	const size_t n = strlen(a);
	size_t first = 0, last = n;

	if (n != strlen(b) || strcmp(a, b) == 0)
		return false;
	while (a[first] == b[first])
		first++;
	while (a[last - 1] == b[last - 1])
		last--;
	for (size_t i = first; i < last; i++)
		if (!isdigit((unsigned char)a[i]) || !isdigit((unsigned char)b[i]))
			return false;
	return last - first == 1
		|| (last - first == 2 && a[first] == b[first + 1] && a[first + 1] == b[first]);
}

static bool is_word(char c)
{
	return al_is_digit(c) || al_is_letter(c) || c == '_' || c == '.' || c == '/';
}

static size_t count_digits(const char *text, size_t n)
{
	size_t digits = 0;

	for (size_t i = 0; i < n; i++)
		digits += isdigit((unsigned char)text[i]) != 0;
	return digits;
}

/* "M", "B", "k" right behind it, perhaps after LaTeX's thin space; "" for a count with commas. */
static const char *unit_behind(const char *text, size_t left, const char *number, size_t n)
{
	static const char *const units[] = {"M", "B", "K", "k"};
	size_t at = left >= 2 && memcmp(text, "\\,", 2) == 0 ? 2 : 0;

	at += at == 0 && left >= 2 && text[0] == ' ';
	for (size_t i = 0; i < 4; i++)
		if (left > at && text[at] == units[i][0]
			&& (left == at + 1 || !is_word(text[at + 1]) || text[at + 1] == '.'))
			return units[i];
	return memchr(number, ',', n) && !memchr(number, '.', n) ? "" : NULL;
}

struct prose {
	const struct al_paper_truth *truths;
	size_t n_truths;
	struct al_arena *arena;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
};

static void add_slip(struct prose *p, size_t line, const char *number, const char *unit,
	const struct al_paper_truth *truth, const char *note)
{
	al_paper_findings_add(p->out,
		(struct al_paper_finding){.line = line,
			.printed = al_format(p->arena, "%s%s", number, unit),
			.expected = truth->expected,
			.note = note,
			.verdict = al_verdict_names[AL_INCONSISTENT]});
	p->counts->slips++;
}

/* Printed again, rightly or not; else a slip for one that nothing else looks like. */
static void judge(struct prose *p, size_t line, const char *number, const char *unit)
{
	const struct al_paper_truth *near = NULL;
	bool has_several = false;

	for (size_t i = 0; i < p->n_truths; i++) {
		const struct al_paper_truth *t = &p->truths[i];
		if (strcmp(t->unit, unit) != 0)
			continue;
		if (strcmp(t->right, number) == 0) {
			p->counts->in_prose++;
			return;
		}
		if (strcmp(t->printed, number) == 0) {
			p->counts->in_prose++;
			if (t->is_contradicted)
				add_slip(p, line, number, unit, t, "as in the table");
			return;
		}
		if (!al_paper_is_slip(number, t->right))
			continue;
		has_several = has_several || (near && strcmp(near->right, t->right) != 0);
		near = t;
	}
	if (near && !has_several)
		add_slip(p, line, number, unit, near,
			al_format(p->arena, "erratum? a slip for %s%s", near->right, unit));
}

/* "6160.803169.75": cells of a table whose borders are lost. */
static bool is_run_together(const char *number, size_t n)
{
	enum { LEAST_RUN = 10 };
	size_t points = 0;

	for (size_t i = 0; i < n; i++)
		points += number[i] == '.';
	return points > 1 && n >= LEAST_RUN;
}

static void add_run(struct prose *p, size_t line, const char *number, size_t n)
{
	al_paper_findings_add(p->out,
		(struct al_paper_finding){.line = line,
			.printed = al_strndup(p->arena, number, n),
			.note = "numbers of several cells without a separator"});
	p->counts->gaps++;
}

static void read_line(struct prose *p, const struct al_paper_line *line, size_t number)
{
	for (size_t i = 0; i < line->length;) {
		const size_t n = al_number_length(line->text + i);
		const bool is_alone = i == 0 || !is_word(line->text[i - 1]);
		if (is_run_together(line->text + i, n))
			add_run(p, number, line->text + i, n);
		else if (n > 0 && is_alone && n < MOST_LENGTH
			&& count_digits(line->text + i, n) >= LEAST_DIGITS) {
			const char *unit = unit_behind(line->text + i + n, line->length - i - n,
				line->text + i, n);
			if (unit)
				judge(p, number, al_strndup(p->arena, line->text + i, n), unit);
		}
		i += n ? n : 1;
	}
}

void al_paper_read_prose(const struct al_paper *paper, const struct al_paper_truth *truths,
	size_t n_truths, struct al_paper_findings *out, struct al_lint_counts *counts)
{
	struct prose p = {truths, n_truths, out->arena, out, counts};

	for (size_t i = 0; i < paper->n_lines; i++)
		if (!paper->lines[i].is_of_table)
			read_line(&p, &paper->lines[i], i + 1);
}
