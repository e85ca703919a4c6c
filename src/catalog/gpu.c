/* Devices by name, or by the size of their memory. */
#include "catalog/gpu.h"

#include <strings.h>

#include "base/alike.h"
#include "base/embedded.h"
#include "base/number.h"
#include "base/record.h"

extern const struct al_embedded_list al_embedded_gpus;

#define AT(member) offsetof(struct al_gpu, member)
static const struct al_field gpu_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("also", TEXT, AT(also))},
	{AL_KEY("memory", WHOLE, AT(memory)), .is_required = true, .least = 1},
	{AL_KEY("reported", WHOLE, AT(reported))},
	{AL_KEY("usable", WHOLE, AT(usable))},
	{AL_KEY("bandwidth", WHOLE, AT(bandwidth)), .is_required = true, .least = 1},
	{AL_KEY("bf16", WHOLE, AT(bf16)), .is_required = true, .least = 1},
	{AL_KEY("fp8", WHOLE, AT(fp8))},
	{AL_KEY("source", TEXT, AT(source)), .is_required = true},
};
#undef AT
static const struct al_record gpu_record = {
	.fields = AL_FIELDS(gpu_fields),
	.size = sizeof(struct al_gpu),
};
static const struct al_field gpus_field = {
	.type = AL_FIELD_LIST,
	.record = &gpu_record,
	.offset = offsetof(struct al_gpus, items),
	.n_offset = offsetof(struct al_gpus, n),
};

bool al_gpus_load(struct al_arena *arena, struct al_gpus *out, struct al_error *err)
{
	const struct al_embedded *file = &al_embedded_gpus.files[0];
	AL_JSON(doc);

	*out = (struct al_gpus){0};
	if (!al_json_parse(&doc, "gpus.json", file->text, file->length, err))
		return false;
	const struct al_record_source source = {.arena = arena, .doc = &doc};
	bool ok = al_record_read_items(&source, &gpus_field, doc.root, out, err);
	for (size_t i = 0; i < out->n; i++) {
		struct al_gpu *gpu = &out->items[i];
		gpu->is_nominal = !gpu->usable;
		gpu->usable = gpu->usable ? gpu->usable : gpu->memory;
		gpu->reported = gpu->reported ? gpu->reported : gpu->memory;
	}
	return ok;
}

static const struct al_gpu *find(const struct al_gpus *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (al_is_alike(list->items[i].name, name)
			|| (list->items[i].also && al_is_alike(list->items[i].also, name)))
			return &list->items[i];
	return NULL;
}

bool al_gpu_is_name(struct al_arena *arena, const char *name)
{
	struct al_gpus list;

	return al_gpus_load(arena, &list, NULL) && find(&list, name);
}

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

bool al_memory_parse(struct al_arena *arena, const char *text, int64_t *out, struct al_error *err)
{
	const size_t n = strspn(text, "0123456789.");
	const char *unit = text + n + strspn(text + n, " ");
	int digits, found = 0;

	if (n == 0)
		return al_fail(err, AL_EINPUT, "%s: use a size such as 80GB", text);
	if (!*unit)
		return al_fail(err, AL_EINPUT, "%s what? use a unit, such as %sGB", text, text);
	while (found < N_UNITS && strcasecmp(unit, units[found].name) != 0)
		found++;
	if (found == N_UNITS)
		return al_fail_unknown_item(err, "unit", unit, units, N_UNITS, sizeof(*units));
	AL_EXACT(bytes);
	bool ok = al_exact_parse(al_strndup(arena, text, n), bytes, &digits);
	al_exact_multiply(bytes, units[found].bytes);
	al_exact_truncate(bytes, bytes, 0);
	if (!ok || !al_integer_get(mpq_numref(bytes), out) || *out <= 0)
		return al_fail(err, AL_EINPUT, "%s: use a size such as 80GB", text);
	return true;
}

/* An unknown name names the nearest. */
static bool find_gpu(struct al_arena *arena, const char *name, struct al_gpu *out,
	struct al_error *err)
{
	struct al_gpus list;

	if (strchr("0123456789.", *name) && *name) {
		*out = (struct al_gpu){.name = name};
		if (!al_memory_parse(arena, name, &out->memory, err))
			return false;
		out->usable = out->reported = out->memory;
		return true;
	}
	if (!al_gpus_load(arena, &list, err))
		return false;
	const struct al_gpu *found = find(&list, name);
	if (found) {
		*out = *found;
		return true;
	}
	return al_fail_unknown_item(err, "device", name, list.items, list.n, sizeof(*list.items));
}

bool al_gpu_parse(struct al_arena *arena, const char *text, struct al_gpu *out, int64_t *n,
	struct al_error *err)
{
	const char *x = strrchr(text, 'x');
	char *end = NULL;
	long number = x && x > text ? strtol(x + 1, &end, 10) : 0;

	*n = 0;
	if (!x || !end || end == x + 1 || *end || al_gpu_is_name(arena, text))
		return find_gpu(arena, text, out, err);
	if (number < 1 || number > 1000000)
		return al_fail(err, AL_EINPUT, "%s: expected from 1 to 1000000 devices", text);
	*n = number;
	return find_gpu(arena, al_strndup(arena, text, (size_t)(x - text)), out, err);
}
