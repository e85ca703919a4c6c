/* attnledger: exact books of attention. The public library.
 *
 * Functions that can fail return bool and fill `struct al_error`; the library never prints and
 * never exits. Strings are UTF-8. */
#ifndef ATTNLEDGER_H
#define ATTNLEDGER_H

#include <stdbool.h>
#include <stddef.h>

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

/* How many parameters a model, or one attention block, has: an exact decimal without separators.
 *
 *     char text[64];
 *     al_count_parameters("gpt3-175b", NULL, NULL, 0, text, sizeof(text), &err);
 *     al_count_parameters("gpt3-175b", "gqa:n_kv_heads=8", NULL, 0, text, sizeof(text), &err);
 *     al_count_parameters(NULL, "mhe-mul", block, 3, text, sizeof(text), &err);
 *
 * `model`: a preset, a config.json, or a folder that holds one; NULL for one block alone. All parts
 * that are known count: a preset that gives no vocabulary is its attention modules.
 * `variant`: attention to put in place of the model's own, as the command line writes it; NULL for
 * the model's own. One of the two may be NULL.
 * `settings`: `n_settings` texts "SYMBOL=NUMBER" over the model's symbols ("n_layers=24").
 * `out`: receives the decimal and its NUL; nothing is written on failure.
 *
 * False, and *err, where a name is unknown (the nearest is named), a symbol is missing, a quotient
 * isn't whole, or the decimal doesn't fit into `size`. `err` may be NULL. */
bool al_count_parameters(const char *model, const char *variant, const char *const *settings,
	size_t n_settings, char *out, size_t size, struct al_error *err);

#ifdef __cplusplus
}
#endif

#endif
