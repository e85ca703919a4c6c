/* Stored numbers into floats, beside memcpy in the same run: GB/s of stored bytes and of the floats
 * that they become, the best of several runs on one core. The numbers are more than caches hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/format.h"

enum { RUNS = 9, NUMBERS = 16 << 20, AT_ONCE = 64 << 10 };

/* What is expected of a core: of stored bytes, or of floats. */
struct goal {
	const char *dtype;
	double stored, floats;
};

static const struct goal goals[] = {{"f16", .stored = 4}, {"bf16", .stored = 4},
	{"q8_0", .floats = 1}, {"q4_0", .floats = 1}, {"q5_0", .floats = 1}, {"q2_k", .floats = 1},
	{"q3_k", .floats = 1}, {"q4_k", .floats = 1}, {"q5_k", .floats = 1}, {"q6_k", .floats = 1},
	{"iq2_xxs", .floats = 1}, {"iq4_nl", .floats = 1}, {"mxfp4", .floats = 1}};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double time_copy(const unsigned char *bytes, float *out)
{
	double best = 1e9;

	for (int run = 0; run < RUNS; run++) {
		double start = now();
		for (size_t i = 0; i < NUMBERS; i += AT_ONCE)
			memcpy(out + i, bytes + i * sizeof(*out), AT_ONCE * sizeof(*out));
		best = smaller(best, now() - start);
	}
	return best;
}

/* A window at a time, as numbers of a checkpoint are read. */
static double time_conversion(const struct al_dtype *dtype, const unsigned char *bytes, float *out)
{
	const size_t window = AT_ONCE / dtype->block_elements * dtype->block_bytes;
	double best = 1e9;

	for (int run = 0; run < RUNS; run++) {
		double start = now();
		for (size_t i = 0; i < NUMBERS / AT_ONCE; i++)
			dtype->to_float(bytes + i * window, AT_ONCE, out + i * AT_ONCE);
		best = smaller(best, now() - start);
	}
	return best;
}

static void print_rate(const struct goal *goal, const unsigned char *bytes, float *out)
{
	const struct al_dtype *dtype = al_dtype_named(goal->dtype);
	const double stored = 1e-9 * NUMBERS / (double)dtype->block_elements
		* (double)dtype->block_bytes;
	const double floats = 1e-9 * NUMBERS * sizeof(*out);
	const double seconds = time_conversion(dtype, bytes, out);

	printf("%-7s to float: %6.2f GB/s stored, %6.2f GB/s of floats; goal %.0f GB/s %s\n",
		goal->dtype, stored / seconds, floats / seconds,
		goal->stored > 0 ? goal->stored : goal->floats,
		goal->stored > 0 ? "stored" : "of floats");
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
	printf("memcpy:           %6.2f GB/s copied\n",
		1e-9 * (double)size / time_copy(bytes, out));
	for (size_t i = 0; i < sizeof(goals) / sizeof(*goals); i++)
		print_rate(&goals[i], bytes, out);
	free(out);
	free(bytes);
	return EXIT_SUCCESS;
}
