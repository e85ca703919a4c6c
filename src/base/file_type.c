/* File types. Which tensors are treated apart as in llama.cpp's quantisation (llama-quant.cpp). */
#include "base/file_type.h"

#include <strings.h>

static const struct al_file_type file_types[] = {
	{"q4_k_m", "q4_k", "q4_k", "q6_k", "q6_k", "f32"},
	{"q5_k_m", "q5_k", "q5_k", "q6_k", "q6_k", "f32"},
	{"mxfp4", "q8_0", "mxfp4", "q8_0", NULL, "f32"},
};
enum { N_FILE_TYPES = sizeof(file_types) / sizeof(*file_types) };

static bool fail_unknown(const char *name, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	al_dtype_add_names(&names);
	for (int i = 0; i < N_FILE_TYPES; i++)
		al_names_add(&names, file_types[i].name);
	return al_names_fail(&names, "dtype", name, err);
}

bool al_file_type_find(const char *name, struct al_file_type *out, struct al_error *err)
{
	for (int i = 0; i < N_FILE_TYPES; i++)
		if (strcasecmp(file_types[i].name, name) == 0) {
			*out = file_types[i];
			return true;
		}
	const struct al_dtype *dtype = al_dtype_named(name);
	if (!dtype)
		return fail_unknown(name, err);
	const char *one = dtype->name;
	*out = (struct al_file_type){one, one, one, one, NULL,
		dtype->block_elements > 1 ? "f32" : one};
	return true;
}

bool al_file_type_gives_more(int64_t layer, int64_t n_layers)
{
	return layer < n_layers / 8 || layer >= 7 * n_layers / 8 || (layer - n_layers / 8) % 3 == 2;
}
