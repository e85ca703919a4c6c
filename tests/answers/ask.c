/* Prints what al_ask answers to the words of its command line, as JSON. Where ASK_FILES is set, the
 * answer's files are written as ASK_FILES0, ASK_FILES1 ..., their names as ASK_FILES0.name ... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attnledger.h"

static void write_file(const char *prefix, size_t number, const char *ending, const void *bytes,
	size_t length)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%zu%s", prefix, number, ending);
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
		abort();
}

static void write_files(const struct al_answer *answer, const char *prefix)
{
	const char *name;
	const void *bytes;
	size_t length;

	for (size_t i = 0; al_answer_file(answer, i, &name, &bytes, &length); i++) {
		write_file(prefix, i, "", bytes, length);
		write_file(prefix, i, ".name", name, strlen(name));
	}
}

int main(int argc, char **argv)
{
	struct al_answer *answer;
	struct al_error err;

	if (!al_ask((size_t)argc - 1, (const char *const *)argv + 1, &answer, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return (int)err.status;
	}
	fputs(al_answer_json(answer), stdout);
	if (getenv("ASK_FILES"))
		write_files(answer, getenv("ASK_FILES"));
	const int status = al_answer_is_no(answer) ? 1 : 0;
	al_answer_free(answer);
	return status;
}
