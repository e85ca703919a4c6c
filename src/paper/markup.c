/* Markup: what a reader sees of a piece of LaTeX, Markdown or HTML. */

#include "paper/paper.h"

/* Replacements; the longer ones first. A macro that isn't listed is dropped, its argument kept. */
static const struct stand_in {
	const char *markup, *plain;
} stand_ins[] = {
	{"{,}", ","},
	{"_{\\pm", "\u00b1"},
	{"\\pm", "\u00b1"},
	{"\\times", "x"},
	{"\\%", "%"},
	{"\\#", "#"},
	{"\\_", "_"},
	{"\\|", "|"},
	{"\\&", "&"},
	{"\\,", ""},
	{"\\;", " "},
	{"\\ ", " "},
	{"~", " "},
	{"**", ""},
	{"<b>", ""},
	{"</b>", ""},
	{"<sup>", " "},
	{"</sup>", " "},
	{"$", ""},
	{"{", ""},
	{"}", ""},
};

static const struct stand_in *stand_in_at(const char *text, size_t left)
{
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(*stand_ins); i++) {
		const size_t n = strlen(stand_ins[i].markup);
		if (n <= left && memcmp(text, stand_ins[i].markup, n) == 0)
			return &stand_ins[i];
	}
	return NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "\textbf" and the spaces behind it. */
static size_t macro_length(const char *text, size_t left)
{
	size_t n = 1;

	while (n < left && is_letter(text[n]))
		n++;
	if (n == 1)
		return left > 1 ? 2 : 1;
	while (n < left && text[n] == ' ')
		n++;
	return n;
}

/* The text up to the next possible markup. */
static size_t plain_length(const char *text, size_t left)
{
	size_t n = 0;

	while (n < left && (is_letter(text[n]) || text[n] == ' ' || !strchr("{}_\\~*<$", text[n])))
		n++;
	return n;
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
		if (stand_in) {
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
	char *out = al_strdup(arena, plain), *to = out;

	for (const char *p = plain; *p; p++)
		if (is_letter(*p) || (*p >= '0' && *p <= '9'))
			*to++ = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	*to = '\0';
	return out;
}
