/* Writes an .npy file of float32 head outputs, N tokens of WIDTH numbers: write-heads FILE N WIDTH
 *
 * One block of random numbers, again and again: what a bench reads needs no better ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, HEADER = 128 };

static void write_header(FILE *file, long n, long width)
{
	char header[HEADER];
	const int length = snprintf(header + 10, HEADER - 10,
		"{'descr': '<f4', 'fortran_order': False, 'shape': (%ld, %ld), }", n, width);

	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = HEADER - 10;
	header[9] = 0;
	memset(header + 10 + length, ' ', (size_t)(HEADER - 10 - length));
	header[HEADER - 1] = '\n';
	fwrite(header, 1, HEADER, file);
}

int main(int argc, char **argv)
{
	const long n = argc > 3 ? atol(argv[2]) : 0, width = argc > 3 ? atol(argv[3]) : 0;
	FILE *file = n > 0 && width > 0 ? fopen(argv[1], "wb") : NULL;
	unsigned long state = 1;

	if (!file) {
		fprintf(stderr, "usage: write-heads FILE N WIDTH\n");
		return 2;
	}
	float *block = malloc(sizeof(*block) * BLOCK * (size_t)width);
	if (!block)
		return 1;
	for (size_t i = 0; i < BLOCK * (size_t)width; i++) {
		state = state * 6364136223846793005UL + 1442695040888963407UL;
		block[i] = (float)(state >> 40) / 16777216.0F - 0.5F;
	}
	write_header(file, n, width);
	for (long t = 0; t < n; t += BLOCK)
		fwrite(block, sizeof(*block) * (size_t)width,
			(size_t)(n - t < BLOCK ? n - t : BLOCK), file);
	free(block);
	return fclose(file) == 0 ? 0 : 1;
}
