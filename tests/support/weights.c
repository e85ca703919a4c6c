/* Checkpoints of known numbers. */
#include "support/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "support/folder.h"

static struct al_error err;

static void must(bool ok)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", err.message);
	abort();
}

size_t weight_elements(const struct weight *weight)
{
	size_t n = 1;

	for (size_t i = 0; i < weight->n_dims; i++)
		n *= (size_t)weight->shape[i];
	return n;
}

/* splitmix64 (Steele, Lea and Flood 2014), to (0, 1] */
static double next_uniform(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return ((double)((z ^ (z >> 31)) >> 11) + 1) * 0x1p-53;
}

/* Box and Muller 1958 */
void fill_normal(double *values, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		double radius = sqrt(-2 * log(next_uniform(&seed)));
		values[i] = radius * cos(2 * acos(-1.0) * next_uniform(&seed));
	}
}

/* Bytes 0, 1, 2, ... for what has no numbers. */
static void append_bytes(struct al_tensor_writer *writer, const struct al_dtype *dtype, size_t n)
{
	for (size_t i = 0; i < n / dtype->block_elements * dtype->block_bytes; i++)
		must(al_tensor_writer_append(writer, &(unsigned char){(unsigned char)i}, 1, &err));
}

static void append(struct al_tensor_writer *writer, const struct weight *weight,
	const struct al_dtype *dtype)
{
	size_t n = weight_elements(weight);

	if (!dtype->from_double) {
		append_bytes(writer, dtype, n);
		return;
	}
	if (weight->values) {
		must(al_tensor_writer_append_doubles(writer, dtype, weight->values, n, &err));
		return;
	}
	double *values = al_alloc(n, sizeof(*values));
	fill_normal(values, n, al_hash(AL_HASH_EMPTY, weight->name, strlen(weight->name)));
	must(al_tensor_writer_append_doubles(writer, dtype, values, n, &err));
	free(values);
}

void write_weights(const char *path, const struct weight *weights, size_t n_weights)
{
	const struct al_metadata metadata = {.key = "format", .value = "pt"};
	struct al_tensor *tensors = al_calloc(n_weights, sizeof(*tensors));
	struct al_tensor_writer *writer;

	for (size_t i = 0; i < n_weights; i++) {
		tensors[i] = (struct al_tensor){.name = weights[i].name,
			.shape = weights[i].shape,
			.n_dims = weights[i].n_dims,
			.dtype = al_dtype_stored(weights[i].dtype)};
		if (!tensors[i].dtype)
			abort();
	}
	must(al_safetensors_create(&writer, path, tensors, n_weights, &metadata, 1, &err));
	for (size_t i = 0; i < n_weights; i++)
		append(writer, &weights[i], tensors[i].dtype);
	must(al_tensor_writer_commit(writer, &err));
	free(tensors);
}

void write_header(const char *path, const char *header, size_t data_bytes)
{
	uint64_t length = strlen(header);
	unsigned char *bytes = al_alloc(8 + length + data_bytes, 1);

	memcpy(bytes, &length, 8);
	memcpy(bytes + 8, header, length);
	for (size_t i = 0; i < data_bytes; i++)
		bytes[8 + length + i] = (unsigned char)i;
	test_write(path, bytes, 8 + length + data_bytes);
	free(bytes);
}

void write_npy(const char *path, const double *values, size_t rows, size_t cols, bool transposes)
{
	struct al_text text;

	al_text_init(&text);
	al_npy_add(&text, values, rows, cols, transposes);
	test_write(path, text.data, text.length);
	al_text_finish(&text);
}
