/* How numbers are stored. Blocks as in ggml-common.h; what a row falls back to and which tensors a
 * file type treats apart as in llama.cpp's quantisation (llama-quant.cpp). */
#include "base/storage.h"

#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/text.h"

static const struct al_storage storages[] = {
	{"f64", 1, 8, NULL},
	{"f32", 1, 4, NULL},
	{"f16", 1, 2, NULL},
	{"bf16", 1, 2, NULL},
	{"fp8", 1, 1, NULL},
	{"int8", 1, 1, NULL},
	{"u8", 1, 1, NULL},
	{"bool", 1, 1, NULL},
	{"i16", 1, 2, NULL},
	{"i32", 1, 4, NULL},
	{"i64", 1, 8, NULL},
	{"q1_0", 128, 18, "q4_0"},
	{"q2_0", 64, 18, "q4_0"},
	{"q4_0", 32, 18, "f16"},
	{"q4_1", 32, 20, "f16"},
	{"q5_0", 32, 22, "f16"},
	{"q5_1", 32, 24, "f16"},
	{"q8_0", 32, 34, "f16"},
	{"q8_1", 32, 36, "f16"},
	{"q2_k", 256, 84, "iq4_nl"},
	{"q3_k", 256, 110, "iq4_nl"},
	{"q4_k", 256, 144, "q5_0"},
	{"q5_k", 256, 176, "q5_1"},
	{"q6_k", 256, 210, "q8_0"},
	{"q8_k", 256, 292, "q8_0"},
	{"iq1_s", 256, 50, "iq4_nl"},
	{"iq1_m", 256, 56, "iq4_nl"},
	{"iq2_xxs", 256, 66, "iq4_nl"},
	{"iq2_xs", 256, 74, "iq4_nl"},
	{"iq2_s", 256, 82, "iq4_nl"},
	{"iq3_xxs", 256, 98, "iq4_nl"},
	{"iq3_s", 256, 110, "iq4_nl"},
	{"iq4_nl", 32, 18, "f16"},
	{"iq4_xs", 256, 136, "iq4_nl"},
	{"tq1_0", 256, 54, "q4_0"},
	{"tq2_0", 256, 66, "q4_0"},
	{"mxfp4", 32, 17, "f16"},
	{"nvfp4", 64, 36, "f16"},
};
enum { N_STORAGES = sizeof(storages) / sizeof(*storages) };

static const struct alias {
	const char *name, *meant;
} aliases[] = {
	{"fp64", "f64"},
	{"fp32", "f32"},
	{"fp16", "f16"},
	{"f8", "fp8"},
	{"f8_e4m3", "fp8"},
	{"f8_e5m2", "fp8"},
	{"i8", "int8"},
};
enum { N_ALIASES = sizeof(aliases) / sizeof(*aliases) };

static const struct al_file_type file_types[] = {
	{"q4_k_m", "q4_k", "q4_k", "q6_k", "q6_k", "f32"},
	{"q5_k_m", "q5_k", "q5_k", "q6_k", "q6_k", "f32"},
	{"mxfp4", "q8_0", "mxfp4", "q8_0", NULL, "f32"},
};
enum { N_FILE_TYPES = sizeof(file_types) / sizeof(*file_types) };

static const struct al_storage *find(const char *name)
{
	for (int i = 0; i < N_ALIASES; i++)
		if (strcasecmp(aliases[i].name, name) == 0)
			return find(aliases[i].meant);
	for (int i = 0; i < N_STORAGES; i++)
		if (strcasecmp(storages[i].name, name) == 0)
			return &storages[i];
	return NULL;
}

static bool fail_unknown(const char *name, struct al_error *err)
{
	const char *names[N_STORAGES + N_ALIASES + N_FILE_TYPES];
	size_t n = 0;

	for (int i = 0; i < N_STORAGES; i++)
		names[n++] = storages[i].name;
	for (int i = 0; i < N_ALIASES; i++)
		names[n++] = aliases[i].name;
	for (int i = 0; i < N_FILE_TYPES; i++)
		names[n++] = file_types[i].name;
	return al_fail_unknown(err, "dtype", name, names, n);
}

bool al_storage_find(const char *name, const struct al_storage **out, struct al_error *err)
{
	*out = find(name);
	return *out || fail_unknown(name, err);
}

const struct al_storage *al_storage_of_row(const struct al_storage *storage, int64_t row)
{
	while (storage->fallback && row % storage->elements != 0)
		storage = find(storage->fallback);
	return storage;
}

void al_storage_bytes(const struct al_storage *storage, mpq_srcptr elements, mpq_t out)
{
	mpq_set(out, elements);
	al_exact_multiply(out, storage->bytes);
	al_exact_divide(out, storage->elements);
}

bool al_file_type_find(const char *name, struct al_file_type *out, struct al_error *err)
{
	const struct al_storage *storage;

	for (int i = 0; i < N_FILE_TYPES; i++)
		if (strcasecmp(file_types[i].name, name) == 0) {
			*out = file_types[i];
			return true;
		}
	if (!al_storage_find(name, &storage, err))
		return false;
	const char *one = storage->name;
	*out = (struct al_file_type){one, one, one, one, NULL, storage->elements > 1 ? "f32" : one};
	return true;
}

bool al_file_type_gives_more(int64_t layer, int64_t n_layers)
{
	return layer < n_layers / 8 || layer >= 7 * n_layers / 8 || (layer - n_layers / 8) % 3 == 2;
}
