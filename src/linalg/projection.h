/* The four projections of an attention module. */
#ifndef ATTNLEDGER_LINALG_PROJECTION_H
#define ATTNLEDGER_LINALG_PROJECTION_H

enum al_projection {
	AL_QUERY,
	AL_KEY,
	AL_VALUE,
	AL_OUTPUT,
	AL_N_PROJECTIONS,
};

#endif
