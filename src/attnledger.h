/* attnledger: exact books of attention. The public library.
 *
 * Functions that can fail return bool and fill `struct al_error`; the library never prints and
 * never exits. Strings are UTF-8. */
#ifndef ATTNLEDGER_H
#define ATTNLEDGER_H

#ifdef __cplusplus
extern "C" {
#endif

/* How an operation ended; the values are the exit statuses of the command line. */
enum al_status {
	AL_OK = 0,
	AL_ENO = 1,      /* the answer is no: an inconsistent claim, nothing fits */
	AL_EINPUT = 2,   /* wrong input or usage */
	AL_ESYSTEM = 3,  /* the system or the numerics failed */
};

/* One line that says where, what was found and what was expected. */
struct al_error {
	enum al_status status;
	char message[1024];
};

/* The version, "0.1.0". */
const char *al_version(void);

#ifdef __cplusplus
}
#endif

#endif
