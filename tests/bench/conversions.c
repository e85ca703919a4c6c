/* Stored numbers into floats, in turn with memcpy, so that what else the machine does meets both:
 * GB/s of stored bytes and of the floats that they become, the best of several runs on one core,
 * and the bytes read and written as a share of those that memcpy reads and writes in that time. The
 * numbers are more than caches hold. */
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
	double start = now();

	for (size_t i = 0; i < NUMBERS; i += AT_ONCE)
		memcpy(out + i, bytes + i * sizeof(*out), AT_ONCE * sizeof(*out));
	return now() - start;
}

/* A window at a time, as numbers of a checkpoint are read. */
static double time_conversion(const struct al_dtype *dtype, const unsigned char *bytes, float *out)
{
	const size_t window = AT_ONCE / dtype->block_elements * dtype->block_bytes;
	double start = now();

	for (size_t i = 0; i < NUMBERS / AT_ONCE; i++)
		dtype->to_float(bytes + i * window, AT_ONCE, out + i * AT_ONCE);
	return now() - start;
}

static void print_rate(const struct goal *goal, const unsigned char *bytes, float *out)
{
	const struct al_dtype *dtype = al_dtype_named(goal->dtype);
	const double stored = 1e-9 * NUMBERS / (double)dtype->block_elements
		* (double)dtype->block_bytes;
	const double floats = 1e-9 * NUMBERS * sizeof(*out);
	double seconds = 1e9, copying = 1e9;

	for (int run = 0; run < RUNS; run++) {
		seconds = smaller(seconds, time_conversion(dtype, bytes, out));
		copying = smaller(copying, time_copy(bytes, out));
	}
	printf("%-7s to float: %6.2f GB/s stored, %6.2f GB/s of floats; goal %.0f GB/s %s; memcpy "
	       "%.2f GB/s, moves %.0f %% of its bytes\n",
		goal->dtype, stored / seconds, floats / seconds,
		goal->stored > 0 ? goal->stored : goal->floats,
		goal->stored > 0 ? "stored" : "of floats", floats / copying,
		100 * (stored + floats) / seconds / (2 * floats / copying));
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
	for (size_t i = 0; i < sizeof(goals) / sizeof(*goals); i++)
		print_rate(&goals[i], bytes, out);
	free(out);
	free(bytes);
	return EXIT_SUCCESS;
}
