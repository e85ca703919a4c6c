/* greedy MODEL.bin TEXT: the tokens of a text, and as many that the model itself puts behind BOS,
 * each the likeliest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/forward/generate.h"
#include "model/tokenize/tokenizer.h"

static void must(bool ok, const struct al_error *err)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(EXIT_FAILURE);
}

static void print(const int32_t *tokens, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%d%c", tokens[i], i + 1 < n ? ' ' : '\n');
}

int main(int argc, char **argv)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_network network;
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err;

	if (argc != 3)
		return EXIT_FAILURE;
	must(al_checkpoint_open(&checkpoint, argv[1], &err), &err);
	must(al_model_view_open(&view, catalog, &checkpoint, &(struct al_view_options){0}, &err),
		&err);
	must(al_network_open(&network, &view, &err), &err);
	must(al_tokenizer_open(&tokenizer, &checkpoint, network.vocab, &err), &err);
	al_tokens_init(&tokens);
	must(al_tokenizer_encode(&tokenizer, argv[2], strlen(argv[2]), &tokens, &err), &err);
	print(tokens.items, tokens.begin[1]);
	must(al_continue_greedily(&network, tokens.items, 1, tokens.begin[1] - 1, &err), &err);
	print(tokens.items, tokens.begin[1]);
	al_tokens_finish(&tokens);
	al_tokenizer_finish(&tokenizer);
	al_network_close(&network);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	al_catalog_destroy(catalog);
	return EXIT_SUCCESS;
}
