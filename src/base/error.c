/* Errors: one line of text and an exit status. */

#include <stdarg.h>

#include "base/base.h"

/* Copies `raw` into the error's message, control characters escaped, cut with "..." where too
 * long. */
static void store(struct al_error *err, const char *raw)
{
	size_t room = sizeof(err->message);
	size_t used = 0;

	for (const char *p = raw; *p;) {
		char piece[AL_ESCAPE_BYTES];
		size_t n = al_escape_control(&p, piece);
		if (used + n + 4 > room) {
			memcpy(err->message + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(err->message + used, piece, n);
		used += n;
	}
	err->message[used] = '\0';
}

bool al_fail(struct al_error *err, enum al_status status, const char *format, ...)
{
	if (!err)
		return false;

	char raw[sizeof(err->message) + 64];
	va_list args;
	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);

	err->status = status;
	store(err, raw);
	return false;
}

bool al_in(struct al_error *err, const char *format, ...)
{
	if (!err)
		return false;

	char context[256];
	va_list args;
	va_start(args, format);
	vsnprintf(context, sizeof(context), format, args);
	va_end(args);

	char raw[sizeof(err->message) + sizeof(context) + 3];
	snprintf(raw, sizeof(raw), "%s: %s", context, err->message);
	store(err, raw);
	return false;
}
