/* Runs every file of a corpus folder through a fuzz target: the corpus as an ordinary test. */
#include <dirent.h>
#include <stdio.h>

#include "fuzz.h"

enum { INPUT_BYTES = 1 << 20 };

static void replay(const char *path)
{
	uint8_t *data = malloc(INPUT_BYTES);
	FILE *file = fopen(path, "rb");

	if (!data || !file) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	size_t size = fread(data, 1, INPUT_BYTES, file);
	fclose(file);

	/* Exactly as large as the input, so that a sanitizer sees what is read behind it. */
	uint8_t *input = malloc(size ? size : 1);
	if (!input)
		exit(EXIT_FAILURE);
	memcpy(input, data, size);
	free(data);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(input, size);
	free(input);
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	int n_inputs = 0;

	if (!folder) {
		fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return EXIT_FAILURE;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		replay(path);
		n_inputs++;
	}
	closedir(folder);
	if (!n_inputs)
		fprintf(stderr, "%s: no inputs\n", argv[1]);
	return n_inputs ? EXIT_SUCCESS : EXIT_FAILURE;
}
