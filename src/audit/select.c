/* Selecting modules by name. */
#include "audit/select.h"

/* The length of the part at p: up to a dot, a comma or the end. */
static size_t part_length(const char *p)
{
	return strcspn(p, ".,");
}

static bool is_number(const char *p, size_t n)
{
	return n > 0 && strspn(p, "0123456789") >= n;
}

/* "2-5" holds "3". */
static bool in_range(const char *range, size_t n_range, const char *part, size_t n_part)
{
	const char *dash = memchr(range, '-', n_range);

	if (!dash || !is_number(range, (size_t)(dash - range))
		|| !is_number(dash + 1, n_range - (size_t)(dash - range) - 1)
		|| !is_number(part, n_part))
		return false;
	long value = strtol(part, NULL, 10);
	return value >= strtol(range, NULL, 10) && value <= strtol(dash + 1, NULL, 10);
}

static bool part_matches(const char *pattern, size_t n, const char *part, size_t n_part)
{
	return (n == 1 && *pattern == '*') || (n == n_part && memcmp(pattern, part, n) == 0)
		|| in_range(pattern, n, part, n_part);
}

static bool matches(const char *pattern, const char *name)
{
	for (;;) {
		size_t n = part_length(pattern), n_part = part_length(name);
		if (!part_matches(pattern, n, name, n_part))
			return false;
		pattern += n;
		name += n_part;
		if (*pattern != '.')
			return true;
		if (*name != '.')
			return false;
		pattern++;
		name++;
	}
}

bool al_select_module(const char *patterns, const char *name)
{
	for (const char *p = patterns; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (matches(p, name))
			return true;
	}
	return false;
}
