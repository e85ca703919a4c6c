/* Widths of LaTeX. */
#include "report/latex_width.h"

#include <ctype.h>

/* What is set at the position of a scan. */
struct scan {
	const struct al_latex_type *type;
	bool is_bold, is_math;
	int n_lowered; /* levels of sub- and superscripts */
	double width;
};

static const char *measure_group(struct scan *scan, const char *p);

static double size_of(const struct scan *scan)
{
	return scan->type->pt * (scan->n_lowered > 0 ? 0.75 : 1);
}

/* Letters of mathematics are italics of another font, and operators have space around them. */
static double math_advance(const struct scan *scan, unsigned char c)
{
	const double pt = size_of(scan),
		     plain = al_typeface_advance(scan->type->typeface, pt, false, c);

	if (c == ' ')
		return 0;
	if (c == '+' || c == '-' || c == '=' || c == '<' || c == '>')
		return (scan->n_lowered > 0 ? 0.80 : 1.34) * pt;
	if (c == '*')
		return 0.8 * pt;
	if (c == 'm' || c == 'w' || isupper(c))
		return fmax(plain, 0.93 * pt);
	if (islower(c))
		return fmax(plain, 0.62 * pt);
	return fmax(plain, isdigit(c) ? 0.54 * pt : 0);
}

static void add_character(struct scan *scan, unsigned char c)
{
	if ((c & 0xC0) == 0x80) /* the rest of a character of several bytes */
		return;
	scan->width += scan->is_math
		? math_advance(scan, c)
		: al_typeface_advance(scan->type->typeface, size_of(scan), scan->is_bold, c);
}

/* Commands that the writer prints; any other sets one symbol. */
static const struct command {
	const char *name;
	double em; /* of the symbol */
	bool is_bold;
} commands[] = {
	{"textbf", 0, true},
	{"mathbf", 0, true},
	{"bfseries", 0, true},
	{"textbackslash", 0.55, false},
	{"textasciitilde", 0.55, false},
	{"textasciicircum", 0.55, false},
	{"textless", 0.8, false},
	{"textgreater", 0.8, false},
	{"textbar", 0.3, false},
	{"underline", 0, false},
	{"frac", 0.25, false},
	{"ensuremath", 0, false},
	{"mathrm", 0, false},
	{"char34", 0.55, false},
	{"log", 1.3, false},
	{"pm", 1.3, false},
	{"times", 1.34, false},
	{"allowbreak", 0, false},
};

static const struct command *command_at(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strlen(commands[i].name) == n && memcmp(commands[i].name, name, n) == 0)
			return &commands[i];
	return NULL;
}

/* \name, \name{...}, \frac{...}{...}, or \ and the character that it escapes. */
static const char *measure_command(struct scan *scan, const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]))
		n++;
	if (n == 0) {
		if (*p)
			add_character(scan, (unsigned char)*p);
		return *p ? p + 1 : p;
	}
	const struct command *command = command_at(p, n);
	const bool was_bold = scan->is_bold;
	scan->width += (command ? command->em : 1) * size_of(scan);
	scan->is_bold = was_bold || (command && command->is_bold);
	p += n;
	p += *p == ' ';
	if (command && strcmp(command->name, "bfseries") == 0)
		return p;
	while (*p == '{')
		p = measure_group(scan, p);
	scan->is_bold = was_bold;
	return p;
}

/* The argument of ^ or _: a group, a command or a character. */
static const char *measure_level(struct scan *scan, const char *p)
{
	scan->n_lowered++;
	if (*p == '{')
		p = measure_group(scan, p);
	else if (*p == '\\')
		p = measure_command(scan, p + 1);
	else if (*p)
		add_character(scan, (unsigned char)*p++);
	scan->n_lowered--;
	return p;
}

static const char *measure_one(struct scan *scan, const char *p)
{
	if (strncmp(p, "$-$", 3) == 0) { /* of a number: no operator */
		scan->width += 0.78 * size_of(scan);
		return p + 3;
	}
	if (*p == '{')
		return measure_group(scan, p);
	if (*p == '\\')
		return measure_command(scan, p + 1);
	if (*p == '$')
		scan->is_math = !scan->is_math;
	else if (scan->is_math && (*p == '_' || *p == '^'))
		return measure_level(scan, p + 1);
	else
		add_character(scan, (unsigned char)*p);
	return p + 1;
}

static const char *measure_group(struct scan *scan, const char *p)
{
	const bool was_bold = scan->is_bold;

	for (p++; *p && *p != '}';)
		p = measure_one(scan, p);
	scan->is_bold = was_bold;
	return *p ? p + 1 : p;
}

static double measure(const struct al_latex_type *type, const char *latex, size_t n, bool is_math)
{
	struct scan scan = {.type = type, .is_math = is_math};
	const char *p = latex;

	while (*p && p < latex + n)
		p = measure_one(&scan, p);
	return scan.width;
}

double al_latex_width(const struct al_latex_type *type, const char *latex)
{
	return measure(type, latex, strlen(latex), false);
}

static size_t piece_of(const char *latex, bool *is_math)
{
	int depth = 0;

	for (const char *p = latex; *p; p++) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		if (strncmp(p, "\\allowbreak{}", strlen("\\allowbreak{}")) == 0)
			return (size_t)(p - latex) + strlen("\\allowbreak{}");
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '$')
			*is_math = !*is_math;
		else if (depth == 0 && p > latex && (*is_math ? *p == '+' || *p == '-' : *p == ' '))
			return (size_t)(p - latex) + 1;
	}
	return strlen(latex);
}

size_t al_latex_piece(const char *latex)
{
	bool is_math = false;

	return piece_of(latex, &is_math);
}

double al_latex_widest_piece(const struct al_latex_type *type, const char *latex)
{
	double widest = 0;
	bool is_math = false;

	while (*latex) {
		const bool begins_in_math = is_math;
		const size_t n = piece_of(latex, &is_math);
		widest = fmax(widest, measure(type, latex, n, begins_in_math));
		latex += n;
	}
	return widest;
}
