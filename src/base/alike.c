#include "base/alike.h"

#include <ctype.h>

/* The next character that counts, in small letters: '-' between two digits; '\0' at the end. */
static char next(const char **at, char before)
{
	const char *from = *at + strspn(*at, "-_ ");

	if (from > *at && isdigit((unsigned char)before) && isdigit((unsigned char)*from)) {
		*at = from;
		return '-';
	}
	*at = *from ? from + 1 : from;
	return (char)tolower((unsigned char)*from);
}

/* Goes along both as far as they are the same: what comes next in each, and what was last. */
static char compare(const char *a, const char *b, char rest[2])
{
	char last;

	rest[0] = '\0';
	do {
		last = rest[0];
		rest[0] = next(&a, last);
		rest[1] = next(&b, last);
	} while (rest[0] && rest[0] == rest[1]);
	return last;
}

bool al_is_alike(const char *a, const char *b)
{
	char rest[2];

	compare(a, b, rest);
	return rest[0] == rest[1];
}

bool al_begins_alike(const char *word, const char *name)
{
	char rest[2];
	const char last = compare(word, name, rest);
	const bool is_size = rest[1] == '-'
		|| (isdigit((unsigned char)rest[1]) && !isdigit((unsigned char)last));

	return !rest[0] && (is_size || !strpbrk(word, "0123456789"));
}
