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

int main(int argc, char **argv)
{
	struct al_tokenizer tokenizer;
	struct al_checkpoint checkpoint;
	struct al_text text, file;
	struct al_error err;

	if (argc != 3)
		return 2;
	al_text_init(&text);
	al_text_init(&file);
	must(al_file_read(&text, argv[2], 1 << 26, &err), &err);
	if (ends_in(argv[1], ".gguf")) {
		must(al_checkpoint_open(&checkpoint, argv[1], &err), &err);
		must(al_tokenizer_open(&tokenizer, &checkpoint, 0, &err), &err);
	} else {
		bool (*parse)(struct al_tokenizer *, const char *, const char *, size_t,
			struct al_error *) = ends_in(argv[1], ".json") ? al_tokenizer_parse_json
								       : al_tokenizer_parse_bin;
		must(al_file_read(&file, argv[1], 1 << 26, &err), &err);
		must(parse(&tokenizer, argv[1], file.data, file.length, &err), &err);
	}
	for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1) {
		struct al_tokens tokens;
		al_tokens_init(&tokens);
		must(al_tokenizer_encode(&tokenizer, line, strcspn(line, "\n"), &tokens, &err),
			&err);
		for (size_t i = 0; i < tokens.begin[1]; i++)
			printf("%s%d", i ? " " : "", tokens.items[i]);
		printf("\n");
		al_tokens_finish(&tokens);
	}
	return 0;
}
