/* The version, as meson.build says it. */
#include "attnledger.h"

const char *al_version(void)
{
	return AL_VERSION;
}
