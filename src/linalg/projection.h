/* The four projections of an attention module. */
#pragma once

enum al_projection {
	AL_QUERY,
	AL_KEY,
	AL_VALUE,
	AL_OUTPUT,
	AL_N_PROJECTIONS,
};
