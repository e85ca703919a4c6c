/* HTML as text. */
#include "report/page/html.h"

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void al_html_add(struct al_text *out, const char *text)
{
	char piece[AL_ESCAPE_BYTES];

	while (*text) {
		const char *escaped = entity(*text);
		if (escaped) {
			al_text_add(out, escaped);
			text++;
		} else {
			const size_t length = al_escape_control(&text, piece);
			al_text_add_bytes(out, piece, length);
		}
	}
}

void al_html_add_attribute(struct al_text *out, const char *name, const char *text)
{
	al_text_addf(out, " %s=\"", name);
	al_html_add(out, text);
	al_text_add(out, "\"");
}

void al_html_add_element(struct al_text *out, const char *name, const char *text)
{
	al_text_addf(out, "<%s>", name);
	al_html_add(out, text);
	al_text_addf(out, "</%s>", name);
}
