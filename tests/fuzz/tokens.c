/* A file of tokens, text or .npy: sequences, none of them empty, or a one-line refusal. */
#include "fuzz.h"
#include "model/tokenize/tokens.h"

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_tokens tokens;
	struct al_error err = {0};

	if (!al_tokens_parse(&tokens, "fuzz", (const char *)data, size, &err)) {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz", 4) == 0);
		return 0;
	}
	FUZZ_CHECK(tokens.n_sequences > 0 && tokens.begin[0] == 0);
	for (size_t i = 0; i < tokens.n_sequences; i++) {
		FUZZ_CHECK(tokens.begin[i + 1] > tokens.begin[i]);
		for (size_t j = tokens.begin[i]; j < tokens.begin[i + 1]; j++)
			FUZZ_CHECK(tokens.items[j] >= 0);
	}
	al_tokens_finish(&tokens);
	return 0;
}
