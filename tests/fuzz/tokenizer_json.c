/* tokenizer.json: refused in one line that says where, or any text becomes tokens or is refused. */
#include "fuzz.h"
#include "model/tokenize/tokenizer.h"

static void encode(struct al_tokenizer *tokenizer, const char *text)
{
	struct al_tokens tokens;
	struct al_error err = {0};

	al_tokens_init(&tokens);
	if (al_tokenizer_encode(tokenizer, text, strlen(text), &tokens, &err)) {
		FUZZ_CHECK(tokens.n_sequences == 1);
		for (size_t i = 0; i < tokens.begin[1]; i++)
			FUZZ_CHECK(tokens.items[i] >= 0);
	} else {
		FUZZ_CHECK(err.status == AL_EINPUT && err.message[0] != '\0');
	}
	al_tokens_finish(&tokens);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_tokenizer tokenizer;
	struct al_error err = {0};

	if (!al_tokenizer_parse_json(&tokenizer, "fuzz", (const char *)data, size, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
		return 0;
	}
	encode(&tokenizer, "");
	encode(&tokenizer,
		"a  Banana's 12345 <s> [MASK]\t\xc3\xa9"
		"e\xcc\x81\xe4\xbd\xa0\xf0\x9f\x98\x80 ");
	al_tokenizer_finish(&tokenizer);
	return 0;
}
