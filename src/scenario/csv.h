/* CSV (RFC 4180) with a header: records cut into cells, in place. */
#pragma once

#include "base/base.h"

/* Refuses what is not UTF-8 text and an empty file. `*rest` is the text after the byte-order mark
 * that spreadsheets write. text[length] is NUL. */
bool al_csv_check(char *text, size_t length, char **rest, struct al_error *err) AL_MUST_CHECK;

/* Cuts the next record of `*p`, which moves past the record, into at most `most` cells; an empty
 * one is NULL. A line ends in CR LF, LF or CR. There is no next record where **p is NUL. */
bool al_csv_next_record(char **p, const char **cells, size_t most, size_t *n,
	struct al_error *err) AL_MUST_CHECK;
