/* Markup: what a reader sees of a piece of LaTeX, Markdown or HTML. */

#include "paper/paper.h"

/* Replacements; the longer ones first. A macro that isn't listed is dropped, its argument kept. */
static const struct stand_in {
	const char *markup, *plain;
} stand_ins[] = {{"\\\\", " "}, {"{,}", ","}, {"_{\\pm", "\u00b1"}, {"\\pm", "\u00b1"},
	{"\\times", "x"}, {"\\texttimes", "x"}, {"\\cdot", "x"}, {"\\footnote", " "},
	{"\\simeq", "~"}, {"\\sim", "~"}, {"\\approx", "~"}, {"\\kibi", "Ki"}, {"\\mebi", "Mi"},
	{"\\gibi", "Gi"}, {"\\tebi", "Ti"}, {"\\kilo", "k"}, {"\\milli", "m"}, {"\\micro", "u"},
	{"\\second", "s"}, {"\\mega", "M"}, {"\\giga", "G"}, {"\\tera", "T"}, {"\\byte", "B"},
	{"\\percent", "%"}, {"\\textsuperscript", "^"}, {"\\textsubscript", "_"}, {"\\%", "%"},
	{"\\#", "#"}, {"\\_", "_"}, {"\\|", "|"}, {"\\&", "&"}, {"\\,", ""}, {"\\;", " "},
	{"\\ ", " "}, {"~", " "}, {"**", ""}, {"<b>", ""}, {"</b>", ""}, {"<sup>", " "},
	{"</sup>", " "}, {"---", " \u2014 "}, {"\u2014", " \u2014 "}, {"$", ""}, {"{", ""},
	{"}", ""}};

static const struct stand_in *stand_in_at(const char *text, size_t left)
{
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(*stand_ins); i++) {
		const size_t n = strlen(stand_ins[i].markup);
		const char first = *stand_ins[i].plain;
		const bool is_unit = al_is_letter(first) && first != 'x'; /* \second{3.1} is none */
		const bool is_named = n > 2 && n < left && al_is_letter(stand_ins[i].markup[n - 1])
			&& (al_is_letter(text[n]) || (is_unit && text[n] == '{'));
		if (n <= left && memcmp(text, stand_ins[i].markup, n) == 0 && !is_named)
			return &stand_ins[i];
	}
	return NULL;
}

/* "\textbf" and the spaces behind it. */
static size_t macro_length(const char *text, size_t left)
{
	size_t n = 1;

	while (n < left && al_is_letter(text[n]))
		n++;
	if (n == 1)
		return left > 1 ? 2 : 1;
	while (n < left && text[n] == ' ')
		n++;
	return n;
}

size_t al_paper_group_length(const char *text, size_t left)
{
	int depth = 0;

	for (size_t i = 0; i < left; i++) {
		depth += (text[i] == '{') - (text[i] == '}');
		if (depth == 0)
			return text[i] == '}' ? i + 1 : 0;
	}
	return 0;
}

/* What a formula has names for stays a name, so that "2\\alpha" is no 2; a root is no number. NULL:
 * any other macro. */
static const char *named_macro(const char *text, size_t left, size_t *length)
{
	static const struct stand_in names[] = {{"alpha", "alpha"}, {"beta", "beta"},
		{"gamma", "gamma"}, {"delta", "delta"}, {"Delta", "Delta "}, {"epsilon", "epsilon"},
		{"varepsilon", "epsilon"}, {"eta", "eta"}, {"theta", "theta"}, {"kappa", "kappa"},
		{"lambda", "lambda"}, {"mu", "mu"}, {"nu", "nu"}, {"pi", "pi"}, {"rho", "rho"},
		{"sigma", "sigma"}, {"tau", "tau"}, {"phi", "phi"}, {"varphi", "phi"},
		{"psi", "psi"}, {"omega", "omega"}, {"ell", "ell"}, {"sqrt", "sqrt"},
		{"frac", "frac"}, {"dfrac", "frac"}, {"tfrac", "frac"}, {"nicefrac", "frac"},
		{"log", "log"}, {"ln", "ln"}, {"exp", "exp"}, {"max", "max"}, {"min", "min"},
		{"sum", "sum"}, {"prod", "prod"}, {"to", "\u2192"}, {"rightarrow", "\u2192"},
		{"Rightarrow", "\u2192"}, {"implies", "\u2192"}, {"div", "/"}, {"le", "<"},
		{"leq", "<"}, {"ge", ">"}, {"geq", ">"}};
	size_t n = 1;

	while (n < left && al_is_letter(text[n]))
		n++;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].markup) == n - 1
			&& memcmp(text + 1, names[i].markup, n - 1) == 0) {
			*length = n;
			return names[i].plain;
		}
	return NULL;
}

/* "[...]" if it is here. */
static size_t option_length(const char *text, size_t left)
{
	const char *end = left > 0 && *text == '[' ? memchr(text, ']', left) : NULL;

	return end ? (size_t)(end - text) + 1 : 0;
}

/* Macros whose first arguments are not what a reader sees, options between them. */
static size_t unseen_length(const char *text, size_t left)
{
	static const struct {
		const char *macro;
		int n_unseen;
	} macros[] = {{"\\multirow", 2}, {"\\multicolumn", 2}, {"\\tnote", 1}, {"\\cite", 1},
		{"\\citep", 1}, {"\\citet", 1}, {"\\citealp", 1}, {"\\begin", 1}, {"\\end", 1},
		{"\\ref", 1}, {"\\eqref", 1}, {"\\cref", 1}, {"\\Cref", 1}, {"\\autoref", 1},
		{"\\label", 1}, {"\\href", 1}, {"\\url", 1}, {"\\footnotemark", 0},
		{"\\textcolor", 1}, {"\\color", 1}, {"\\colorbox", 1}, {"\\fcolorbox", 2},
		{"\\cellcolor", 1}, {"\\rowcolor", 1}, {"\\fontsize", 2}, {"\\setlength", 2},
		{"\\addtolength", 2}, {"\\rule", 2}, {"\\includegraphics", 1}, {"\\rotatebox", 1},
		{"\\raisebox", 1}, {"\\hspace", 1}, {"\\vspace", 1}, {"\\resizebox", 2},
		{"\\scalebox", 1}, {"\\adjustbox", 1}, {"\\parbox", 1}, {"\\ding", 1},
		{"\\phantom", 1}, {"\\hphantom", 1}, {"\\makecell", 0}, {"\\makebox", 0},
		{"\\SetCell", 1}, {"\\SetRow", 1}, {"\\shortstack", 0}, {"\\num", 0}, {"\\qty", 0},
		{"\\SI", 0}};

	enum { MOST_BYTES = 4096 };

	left = al_least(left, MOST_BYTES);
	for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++) {
		size_t n = strlen(macros[i].macro), group = 1;
		if (left < n || memcmp(text, macros[i].macro, n) != 0
			|| (left > n && al_is_letter(text[n])))
			continue;
		n += left > n && text[n] == '*';
		n += option_length(text + n, left - n);
		for (int k = 0; k < macros[i].n_unseen && group > 0; k++) {
			n += group = al_paper_group_length(text + n, left - n);
			n += option_length(text + n, left - n);
		}
		return n;
	}
	return 0;
}

/* The text up to the next possible markup. */
static size_t plain_length(const char *text, size_t left)
{
	size_t n = 0;

	while (n < left
		&& (al_is_letter(text[n]) || text[n] == ' ' || !strchr("{}_\\~*<$-\xe2", text[n])))
		n++;
	return n;
}

/* "{16}{3.1}" as "((16)/(3.1))"; its length, 0: it is none. */
static size_t add_fraction(struct al_arena *arena, const char *text, size_t left,
	struct al_text *out)
{
	const size_t above = al_paper_group_length(text, left);
	const size_t below = al_paper_group_length(text + above, left - above);

	if (above < 3 || below < 3)
		return 0;
	al_text_addf(out, "((%s)/(%s))", al_paper_plain(arena, text + 1, above - 2),
		al_paper_plain(arena, text + above + 1, below - 2));
	return above + below;
}

const char *al_paper_plain(struct al_arena *arena, const char *text, size_t length)
{
	AL_TEXT(out);

	for (size_t i = 0; i < length;) {
		const size_t n_plain = plain_length(text + i, length - i);
		al_text_add_bytes(&out, text + i, n_plain);
		i += n_plain;
		if (i == length)
			break;
		const struct stand_in *stand_in = stand_in_at(text + i, length - i);
		const size_t n_unseen = unseen_length(text + i, length - i);
		size_t n_name = 0;
		const char *name = text[i] == '\\' ? named_macro(text + i, length - i, &n_name)
						   : NULL;
		/* "a~b" is a space, "~190" is about 190 */
		if (text[i] == '~' && (i == 0 || strchr(" (", text[i - 1])) && i + 1 < length
			&& strchr("0123456789", text[i + 1]))
			al_text_add_bytes(&out, &text[i++], 1);
		else if (name) {
			const size_t n_fraction = strcmp(name, "frac") == 0
				? add_fraction(arena, text + i + n_name, length - i - n_name, &out)
				: 0;
			al_text_add(&out, n_fraction > 0 ? "" : name);
			i += n_name + n_fraction;
		} else if (n_unseen)
			i += n_unseen;
		else if (i + 2 < length && memcmp(text + i, "\\,", 2) == 0
			&& al_is_letter(text[i + 2])) {
			al_text_add(&out, " "); /* "12.9\,tok/s", not "16\,384" */
			i += 2;
		} else if (stand_in) {
			al_text_add(&out, stand_in->plain);
			i += strlen(stand_in->markup);
		} else if (text[i] == '\\')
			i += macro_length(text + i, length - i);
		else
			al_text_add_bytes(&out, &text[i++], 1);
	}
	const char *begin = out.data + strspn(out.data, " \t");
	size_t n = strlen(begin);
	while (n > 0 && (begin[n - 1] == ' ' || begin[n - 1] == '\t'))
		n--;
	return al_strndup(arena, begin, n);
}

const char *al_paper_normal(struct al_arena *arena, const char *plain)
{
	static const char *const deltas[] = {"\u0394", "\u2206"};
	AL_TEXT(out);

	for (const char *p = plain; *p; p++) {
		const char c = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
		if (al_is_letter(c) || al_is_digit(c))
			al_text_add_bytes(&out, &c, 1);
		for (size_t i = 0; i < sizeof(deltas) / sizeof(*deltas); i++)
			if (strncmp(p, deltas[i], strlen(deltas[i])) == 0)
				al_text_add(&out, "DELTA");
	}
	return al_strdup(arena, out.data);
}
