/* What the two readers of JSON share, json.c (a tree) and json_reader.c (in order); nobody else
 * needs it. */
#ifndef ATTNLEDGER_BASE_JSON_SCAN_H
#define ATTNLEDGER_BASE_JSON_SCAN_H

#include "base/json.h"

struct al_json_scan {
	const char *p, *end;
	const char *wrong; /* what is wrong at p */
	int depth;
	bool takes_python; /* NaN, Infinity and -Infinity are numbers */
	const char *not_finite; /* the first of them */
};

/* Each moves p after what it names, or says what is wrong there. */
bool al_json_scan_document(struct al_json_scan *scan);
bool al_json_scan_value(struct al_json_scan *scan);
bool al_json_scan_string(struct al_json_scan *scan);
void al_json_skip_space(struct al_json_scan *scan);

/* Moves after `c` where it stands there. */
bool al_json_take(struct al_json_scan *scan, char c);

/* Fails with "name:line:column: message". */
bool al_json_fail_at(const char *name, const char *text, const char *place, struct al_error *err,
	const char *message);

/* "a number" */
const char *al_json_kind_name(enum al_json_kind kind);

#endif
