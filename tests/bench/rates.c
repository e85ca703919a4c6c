/* The library's kernel and the rates of its products: bench-rates. With files of counts that
 * count-flops wrote, a line for each: the seconds that those operations would take as products. */
#include <stdio.h>

#include "bench.h"

static bool read_counts(const char *path, struct flops *counts)
{
	FILE *file = fopen(path, "r");
	const bool read = file
		&& fscanf(file, "%lf %lf", &counts->in_double, &counts->in_single) == 2;

	if (file)
		fclose(file);
	return read;
}

int main(int argc, char **argv)
{
	struct flops counts;

	if (argc == 1)
		bench_report_rates();
	for (int i = 1; i < argc; i++) {
		if (!read_counts(argv[i], &counts))
			return 1;
		printf("%.4f\n", bench_as_products(counts));
	}
	return 0;
}
