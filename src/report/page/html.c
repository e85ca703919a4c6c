/* HTML as text. */
#include "report/page/html.h"

#include <assert.h>

void al_html_add(struct al_text *out, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
	char piece[AL_ESCAPE_BYTES];

	while (*text) {
		const char *found = strchr(special, *text);
		if (found) {
			al_text_add(out, entities[found - special]);
			text++;
		} else {
			const size_t length = al_escape_control(&text, piece);
			al_text_add_bytes(out, piece, length);
		}
	}
}

void al_html_add_prose(struct al_text *out, const char *text)
{
	AL_ARENA(arena);
	for (const char *open, *close;
		(open = strchr(text, '`')) && (close = strchr(open + 1, '`')); text = close + 1) {
		al_html_add(out, al_strndup(&arena, text, (size_t)(open - text)));
		al_html_addf(out, "<code>%s</code>",
			al_strndup(&arena, open + 1, (size_t)(close - open - 1)));
	}
	al_html_add(out, text);
}

/* The argument that a conversion stands for; where the conversion ends. */
static const char *add_argument(struct al_text *out, const char *p, va_list *args)
{
	const int digits = *p == '.' ? p[1] - '0' : 6;

	p += *p == '.' ? 2 : *p == 'z' ? 1 : 0;
	switch (*p) {
	case 's':
		al_html_add(out, va_arg(*args, const char *));
		break;
	case 'd':
		al_text_addf(out, "%d", va_arg(*args, int));
		break;
	case 'u':
		al_text_addf(out, "%zu", va_arg(*args, size_t));
		break;
	case 'f':
		al_text_addf(out, "%.*f", digits, va_arg(*args, double));
		break;
	case 'g':
		al_text_addf(out, "%.*g", digits, va_arg(*args, double));
		break;
	default:
		assert(*p == '%');
		al_text_add(out, "%");
	}
	return p + 1;
}

void al_html_addf(struct al_text *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format) {
		const size_t n = strcspn(format, "%");
		al_text_add_bytes(out, format, n);
		format += n;
		if (*format)
			format = add_argument(out, format + 1, &args);
	}
	va_end(args);
}
