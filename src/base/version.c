/* The version, from meson.build. */
#include "attnledger.h"

const char *al_version(void)
{
	return AL_VERSION;
}
