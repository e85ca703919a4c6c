/* Fingerprints as texts. */
#include "base/fingerprint.h"

#include "base/base.h"

enum { N_DIGITS = 16 };

char *al_fingerprint_text(struct al_arena *arena, uint64_t fingerprint)
{
	return al_format(arena, "%0*" PRIx64, N_DIGITS, fingerprint);
}

bool al_fingerprint_read(const char *text, uint64_t *out)
{
	if (strspn(text, "0123456789abcdef") != N_DIGITS || text[N_DIGITS] != '\0')
		return false;
	*out = strtoull(text, NULL, 16);
	return true;
}
