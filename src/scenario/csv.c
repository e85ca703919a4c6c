/* CSV (RFC 4180) with a header. */
#include "scenario/csv.h"

bool al_csv_check(char *text, size_t length, char **rest, struct al_error *err)
{
	const size_t n_valid = al_utf8_valid(text, length);
	const char *nul = memchr(text, '\0', n_valid);

	if (length == 0)
		return al_fail(err, AL_EINPUT, "the file is empty, expected a header");
	if (nul || n_valid < length)
		return al_fail(err, AL_EINPUT, "byte %zu is not UTF-8 text",
			(nul ? (size_t)(nul - text) : n_valid) + 1);
	*rest = text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
	return true;
}

/* Copies one cell to its own beginning, unquoted, and steps over what ended it, which is `*end`;
 * false where a quote isn't closed or something follows the closing quote. */
static bool next_cell(char **p, char *end)
{
	char *in = *p, *out = *p;

	if (*in == '"') {
		for (in++; *in && !(in[0] == '"' && in[1] != '"'); *out++ = *in++)
			in += in[0] == '"';
		if (!*in || (*++in && !strchr(",\r\n", *in)))
			return false;
	}
	while (*in && !strchr(",\r\n", *in))
		*out++ = *in++;
	*end = *in;
	in += *end != '\0';
	in += *end == '\r' && *in == '\n';
	*out = '\0';
	*p = in;
	return true;
}

bool al_csv_next_record(char **p, const char **cells, size_t most, size_t *n, struct al_error *err)
{
	char end = ',';

	for (*n = 0; end == ','; ++*n) {
		char *begin = *p;
		if (*n == most)
			return al_fail(err, AL_EINPUT, "more than %zu columns", most);
		if (!next_cell(p, &end))
			return al_fail(err, AL_EINPUT, "unterminated or badly closed quoted cell");
		cells[*n] = *begin ? begin : NULL;
	}
	return true;
}
