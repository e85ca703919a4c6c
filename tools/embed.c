/* Writes files as C arrays: embed SYMBOL FOLDER OUT.c FILE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *name)
{
	fprintf(stderr, "embed: can't %s %s\n", what, name);
	exit(1);
}

static void write_bytes(FILE *out, const char *path, size_t *length)
{
	FILE *in = fopen(path, "rb");
	int c;

	if (!in)
		die("read", path);
	*length = 0;
	while ((c = fgetc(in)) != EOF)
		fprintf(out, "%d,%s", c > 127 ? c - 256 : c, ++*length % 20 ? "" : "\n");
	fprintf(out, "0");
	fclose(in);
}

/* "a/b/gqa.json" -> "gqa" */
static const char *stem(const char *path)
{
	static char name[256];
	const char *slash = strrchr(path, '/');

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	char *dot = strrchr(name, '.');
	if (dot)
		*dot = '\0';
	return name;
}

static int by_stem(const void *a, const void *b)
{
	char left[256];

	snprintf(left, sizeof(left), "%s", stem(*(const char *const *)a));
	return strcmp(left, stem(*(const char *const *)b));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		die("run without", "SYMBOL FOLDER OUT.c FILE...");
	FILE *out = fopen(argv[3], "w");
	if (!out)
		die("write", argv[3]);
	char **files = argv + 4;
	int n = argc - 4;
	size_t *lengths = calloc((size_t)n + 1, sizeof(*lengths));
	if (!lengths)
		die("allocate", "lengths");
	qsort(files, (size_t)n, sizeof(*files), by_stem);

	fprintf(out, "#include \"base/embedded.h\"\n");
	fprintf(out, "extern const struct al_embedded_list %s;\n", argv[1]);
	for (int i = 0; i < n; i++) {
		fprintf(out, "static const char file_%d[] = {\n", i);
		write_bytes(out, files[i], &lengths[i]);
		fprintf(out, "};\n");
	}
	fprintf(out, "static const struct al_embedded files[] = {\n");
	for (int i = 0; i < n; i++)
		fprintf(out, "\t{\"%s\", file_%d, %zu},\n", stem(files[i]), i, lengths[i]);
	fprintf(out, "\t{0, 0, 0},\n};\n");
	fprintf(out, "const struct al_embedded_list %s = {\"%s\", files, %d};\n", argv[1], argv[2],
		n);
	free(lengths);
	if (fclose(out) != 0)
		die("write", argv[3]);
	return 0;
}
