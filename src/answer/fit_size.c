/* Sizes of memory, as people write them. */
#include <strings.h>

#include "catalog/gpu.h"
#include "answer/fit.h"

/* Without a "B", powers of 1024. */
static const struct unit {
	const char *name;
	int64_t bytes;
} units[] = {
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"TB", 1000000000000},
	{"KiB", INT64_C(1) << 10},
	{"MiB", INT64_C(1) << 20},
	{"GiB", INT64_C(1) << 30},
	{"TiB", INT64_C(1) << 40},
	{"K", INT64_C(1) << 10},
	{"M", INT64_C(1) << 20},
	{"G", INT64_C(1) << 30},
	{"T", INT64_C(1) << 40},
};
enum { N_UNITS = sizeof(units) / sizeof(*units) };

bool al_parse_device(struct al_arena *arena, const char *text, mpq_t out, struct al_error *err)
{
	struct al_gpu gpu;
	int64_t n;

	if (!al_gpu_parse(arena, text, &gpu, &n, err))
		return al_in(err, "--device");
	al_exact_set(out, gpu.usable);
	return true;
}

bool al_parse_size(struct al_arena *arena, const char *text, mpq_t out, struct al_error *err)
{
	size_t n = strspn(text, "0123456789.");
	const char *unit = text + n + strspn(text + n, " ");
	int digits, found = 0;

	if (al_gpu_is_name(arena, text))
		return al_parse_device(arena, text, out, err);
	while (*unit && found < N_UNITS && strcasecmp(unit, units[found].name) != 0)
		found++;
	if (!al_exact_parse(al_strndup(arena, text, n), out, &digits))
		return al_fail(err, AL_EINPUT,
			"--memory %s: expected a size such as 80GiB, or a device such as H100",
			text);
	if (found == N_UNITS) {
		al_fail_unknown_item(err, "unit", unit, units, N_UNITS, sizeof(*units));
		return al_in(err, "--memory %s", text);
	}
	al_exact_multiply(out, units[found].bytes);
	al_exact_truncate(out, out, 0);
	return true;
}
