/* Dates. */
#include "base/date.h"

/* Exactly `n` digits, of a number from 1 to `most`. */
static bool read_part(const char **text, size_t n, int64_t most, int64_t *out)
{
	const size_t n_read = al_read_digits(*text, out);

	*text += n_read;
	return n_read == n && *out >= 1 && *out <= most;
}

bool al_date_parse(const char *text, int64_t *days, int64_t *length)
{
	int64_t year, month, day = 1;

	*length = AL_DAYS_A_MONTH;
	if (!read_part(&text, 4, 9999, &year) || *text++ != '-' || !read_part(&text, 2, 12, &month))
		return false;
	if (*text == '-') {
		*length = 1;
		text++;
		if (!read_part(&text, 2, AL_DAYS_A_MONTH, &day))
			return false;
	}
	*days = year * AL_DAYS_A_YEAR + (month - 1) * AL_DAYS_A_MONTH + day - 1;
	return *text == '\0';
}
