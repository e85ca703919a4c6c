/* Fingerprints as texts. */
#include "base/fingerprint.h"

#include "base/base.h"

static const char METHOD[] = "fnv1a ";
enum { N_METHOD = sizeof(METHOD) - 1, N_DIGITS = 16 };

char *al_fingerprint_text(struct al_arena *arena, uint64_t fingerprint)
{
	return al_format(arena, "%s%016" PRIx64, METHOD, fingerprint);
}

bool al_fingerprint_read(const char *text, uint64_t *out)
{
	if (strncmp(text, METHOD, N_METHOD) != 0
		|| strspn(text + N_METHOD, "0123456789abcdef") != N_DIGITS
		|| text[N_METHOD + N_DIGITS] != '\0')
		return false;
	*out = strtoull(text + N_METHOD, NULL, 16);
	return true;
}
