/* The tokenizer in a GGUF file: tokens of a text within the vocabulary, or a refusal that names the
 * file. */
#include "checkpoint.h"
#include "model/tokenize/tokenizer.h"

static void visit(const struct al_checkpoint *checkpoint)
{
	static const char text[] = "a b\xc3\xa9 1234 a's <s>  \xe4\xb8\x96";
	const char *path = checkpoint->shards[0].source.path;
	struct al_tokenizer tokenizer;
	struct al_tokens tokens;
	struct al_error err = {0};

	if (!al_tokenizer_open(&tokenizer, checkpoint, 0, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && !strchr(err.message, '\n'));
		FUZZ_CHECK(strstr(err.message, path) || strstr(err.message, "tokenizer.json"));
		return;
	}
	al_tokens_init(&tokens);
	if (al_tokenizer_encode(&tokenizer, text, sizeof(text) - 1, &tokens, &err))
		for (size_t i = 0; i < tokens.begin[1]; i++)
			FUZZ_CHECK(tokens.items[i] >= 0);
	al_tokens_finish(&tokens);
	al_tokenizer_finish(&tokenizer);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	fuzz_checkpoint(data, size, "fuzz.gguf", "GGUF", visit);
	return 0;
}
