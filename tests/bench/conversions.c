/* Stored numbers into floats, in turn with memcpy, so that what else the machine does meets both:
 * GB/s of floats, the best of several runs on one core, and of 16-bit formats the bytes read and
 * written as a share of those that memcpy reads and writes in that time. The numbers are more than
 * caches hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "bench.h"

enum { RUNS = 9, NUMBERS = 16 << 20, AT_ONCE = 64 << 10 };

static const char *const dtypes[] = {"f16", "bf16", "q8_0", "q4_0", "q5_0", "q2_k", "q3_k", "q4_k",
	"q5_k", "q6_k", "iq2_xxs", "iq4_nl", "mxfp4"};

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double time_copy(const unsigned char *bytes, float *out)
{
	double start = bench_now();

	for (size_t i = 0; i < NUMBERS; i += AT_ONCE)
		memcpy(out + i, bytes + i * sizeof(*out), AT_ONCE * sizeof(*out));
	return bench_now() - start;
}

/* A window at a time, as numbers of a checkpoint are read. */
static double time_conversion(const struct al_dtype *dtype, const unsigned char *bytes, float *out)
{
	const size_t window = AT_ONCE / dtype->block_elements * dtype->block_bytes;
	double start = bench_now();

	for (size_t i = 0; i < NUMBERS / AT_ONCE; i++)
		dtype->to_float(bytes + i * window, AT_ONCE, out + i * AT_ONCE);
	return bench_now() - start;
}

static void report(const char *name, const unsigned char *bytes, float *out)
{
	const struct al_dtype *dtype = al_dtype_named(name);
	const double stored = 1e-9 * NUMBERS / (double)dtype->block_elements
		* (double)dtype->block_bytes;
	const double floats = 1e-9 * NUMBERS * sizeof(*out);
	double seconds = 1e9, copying = 1e9;

	for (int run = 0; run < RUNS; run++) {
		seconds = smaller(seconds, time_conversion(dtype, bytes, out));
		copying = smaller(copying, time_copy(bytes, out));
	}
	bench_report_least(name, floats / seconds, "GB/s", 1);
	if (dtype->block_elements == 1)
		bench_report_least("  bytes moved by memcpy's",
			(stored + floats) / seconds / (2 * floats / copying), "x", 0.6);
}

int main(void)
{
	const size_t size = NUMBERS * sizeof(float);
	unsigned char *bytes = malloc(size);
	float *out = malloc(size);

	if (!bytes || !out)
		return EXIT_FAILURE;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(i * 2654435761U >> 16);
	memset(out, 0, size);
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		report(dtypes[i], bytes, out);
	free(out);
	free(bytes);
	return EXIT_SUCCESS;
}
