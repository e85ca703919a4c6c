/* llama2.c's tokenizer.bin: refused in one line, or any text becomes tokens that it holds. */
#include "fuzz.h"
#include "model/tokenize/tokenizer.h"

static void encode(struct al_tokenizer *tokenizer, const char *text)
{
	struct al_tokens tokens;
	struct al_error err;

	al_tokens_init(&tokens);
	FUZZ_CHECK(al_tokenizer_encode(tokenizer, text, strlen(text), &tokens, &err));
	FUZZ_CHECK(tokens.n_sequences == 1 && tokens.items[0] == 1);
	for (size_t i = 0; i < tokens.begin[1]; i++)
		FUZZ_CHECK(tokens.items[i] >= 0 && tokens.items[i] < tokenizer->n_tokens);
	FUZZ_CHECK(!al_tokenizer_encode(tokenizer, "a\xff", 2, &tokens, &err));
	al_tokens_finish(&tokens);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_tokenizer tokenizer;
	struct al_error err = {0};

	if (!al_tokenizer_parse_bin(&tokenizer, "fuzz", (const char *)data, size, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz: ", 6) == 0);
		return 0;
	}
	encode(&tokenizer, "");
	encode(&tokenizer, "a banana \xc3\xa9\xe2\x82\xac");
	al_tokenizer_finish(&tokenizer);
	return 0;
}
