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

static int32_t likeliest(const struct al_matrix_f *logits)
{
	size_t best = 0;

	for (size_t i = 1; i < logits->rows; i++)
		best = logits->data[i] > logits->data[best] ? i : best;
	return (int32_t)best;
}

/* The likeliest token after each, in the place of all but the first. */
static void continue_greedily(struct al_network *network, int32_t *tokens, size_t n)
{
	struct al_error err;
	struct al_generator *generator = al_generator_create(network, 1, n, &err);

	must(generator != NULL, &err);
	for (size_t i = 0; i + 1 < n; i++) {
		struct al_matrix_f logits = {0};
		must(al_generator_step(generator, &tokens[i], &logits, &err), &err);
		tokens[i + 1] = likeliest(&logits);
		al_matrix_finish_f(&logits);
	}
	al_generator_destroy(generator);
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
	continue_greedily(&network, tokens.items, tokens.begin[1]);
	print(tokens.items, tokens.begin[1]);
	al_tokens_finish(&tokens);
	al_tokenizer_finish(&tokenizer);
	al_network_close(&network);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	al_catalog_destroy(catalog);
	return EXIT_SUCCESS;
}
