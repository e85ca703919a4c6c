/* Prints the tokens of each line of a text, as a tokenizer.json, a tokenizer.bin of llama2.c or a
 * checkpoint gives them: ids TOKENIZER TEXT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "model/tokenize/tokenizer.h"

static void must(bool ok, const struct al_error *err)
{
	if (!ok) {
		fprintf(stderr, "ids: %s\n", err->message);
		exit(2);
	}
}

static bool ends_in(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void open_tokenizer(struct al_tokenizer *tokenizer, const char *path)
{
	struct al_checkpoint checkpoint;
	struct al_text file;
	struct al_error err;

	if (ends_in(path, ".gguf")) {
		must(al_checkpoint_open(&checkpoint, path, &err), &err);
		must(al_tokenizer_open(tokenizer, &checkpoint, 0, &err), &err);
		al_checkpoint_close(&checkpoint);
		return;
	}
	bool (*parse)(struct al_tokenizer *, const char *, const char *, size_t,
		struct al_error *) = ends_in(path, ".json") ? al_tokenizer_parse_json
							    : al_tokenizer_parse_bin;
	al_text_init(&file);
	must(al_file_read(&file, path, 1 << 26, &err), &err);
	must(parse(tokenizer, path, file.data, file.length, &err), &err);
	al_text_finish(&file);
}

static void print_ids(struct al_tokenizer *tokenizer, const char *line)
{
	struct al_tokens tokens;
	struct al_error err;

	al_tokens_init(&tokens);
	must(al_tokenizer_encode(tokenizer, line, strcspn(line, "\n"), &tokens, &err), &err);
	for (size_t i = 0; i < tokens.begin[1]; i++)
		printf("%s%d", i ? " " : "", tokens.items[i]);
	printf("\n");
	al_tokens_finish(&tokens);
}

int main(int argc, char **argv)
{
	struct al_tokenizer tokenizer;
	struct al_text text;
	struct al_error err;

	if (argc != 3)
		return 2;
	al_text_init(&text);
	must(al_file_read(&text, argv[2], 1 << 26, &err), &err);
	open_tokenizer(&tokenizer, argv[1]);
	for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
		print_ids(&tokenizer, line);
	al_tokenizer_finish(&tokenizer);
	al_text_finish(&text);
	return 0;
}
