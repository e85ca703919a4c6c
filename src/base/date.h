/* Dates: YYYY-MM or YYYY-MM-DD, the beginning of the month or the day. */
#pragma once

#include "base/base.h"

/* As if all months had 31 days. */
enum { AL_DAYS_A_MONTH = 31, AL_DAYS_A_YEAR = 12 * AL_DAYS_A_MONTH };

/* Days since the beginning of the year 0, and how many the text covers: a month or a day. */
bool al_date_parse(const char *text, int64_t *days, int64_t *length);
