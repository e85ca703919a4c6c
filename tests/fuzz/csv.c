/* CSV: every record, every cell. */
#include "fuzz.h"
#include "scenario/csv.h"

enum { MOST_CELLS = 8 };

/* At most so many records end before the last one. */
static size_t count_line_ends(const char *text)
{
	size_t n = 0;

	for (const char *p = text; *(p += strcspn(p, "\r\n")); p++)
		n++;
	return n;
}

int fuzz_input(const uint8_t *data, size_t size)
{
	const char *cells[MOST_CELLS];
	struct al_error err = {0};
	char *text = malloc(size + 1), *p;
	size_t n, n_records = 0;

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (al_csv_check(text, size, &p, &err)) {
		size_t most = count_line_ends(p) + 1;
		while (*p && al_csv_next_record(&p, cells, MOST_CELLS, &n, &err)) {
			FUZZ_CHECK(p <= text + size && n > 0 && n <= MOST_CELLS);
			for (size_t i = 0; i < n; i++)
				FUZZ_CHECK(!cells[i]
					|| (*cells[i]
						&& cells[i] + strlen(cells[i]) <= text + size));
			n_records++;
		}
		FUZZ_CHECK(n_records <= most);
	}
	FUZZ_CHECK(!*err.message || err.status == AL_EINPUT);
	free(text);
	return 0;
}
