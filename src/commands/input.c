/* What a model reads, wherever a command runs one. */
#include "commands/input.h"

#include <string.h>

#include "base/number.h"
#include "tokenize/tokenizer.h"

const struct al_option_row al_input_rows[] = {
	OPTION_TEXT(struct al_input_options, tokens, "tokens", "FILE",
		"sequences of tokens: an .npy of integers, or their numbers as text, a sequence a "
		"line"),
	OPTION_TEXT(struct al_input_options, text, "text", "FILE",
		"UTF-8 text, a sequence a line, split by the tokenizer.json beside the model, or "
		"llama2.c's tokenizer.bin"),
	OPTION_TEXT(struct al_input_options, sequences, "sequences", "FIRST:END",
		"of these only FIRST to END - 1, counted from 0"),
	OPTION_END,
};

bool al_input_check(const struct al_input_options *o, struct al_error *err)
{
	return !o->tokens != !o->text
		|| al_fail(err, AL_EINPUT, "expected either --tokens FILE or --text FILE");
}

static bool read_text(const struct al_network *network, const char *path, struct al_tokens *out,
	struct al_error *err)
{
	struct al_tokenizer tokenizer;

	if (!al_tokenizer_open(&tokenizer, network->view->checkpoint->path, network->vocab, err))
		return false;
	bool ok = al_tokenizer_encode_file(&tokenizer, path, out, err);
	al_tokenizer_finish(&tokenizer);
	return ok;
}

/* Sequences [first, end) move to the front. */
static void keep_sequences(struct al_tokens *tokens, size_t first, size_t end)
{
	const size_t from = tokens->begin[first];

	memmove(tokens->items, tokens->items + from,
		(tokens->begin[end] - from) * sizeof(*tokens->items));
	for (size_t i = first; i <= end; i++)
		tokens->begin[i - first] = tokens->begin[i] - from;
	tokens->n_sequences = end - first;
}

static bool select_sequences(struct al_tokens *tokens, const char *range, struct al_error *err)
{
	int64_t first, end;
	const size_t n = al_read_digits(range, &first);
	const size_t m = n && range[n] == ':' ? al_read_digits(range + n + 1, &end) : 0;

	if (m == 0 || range[n + 1 + m])
		return al_fail(err, AL_EINPUT, "--sequences %s: expected FIRST:END, as 0:16",
			range);
	if (first < 0 || end <= first || end > (int64_t)tokens->n_sequences)
		return al_fail(err, AL_EINPUT,
			"--sequences %s: expected numbers from 0 to %zu, the "
			"second larger than the first",
			range, tokens->n_sequences);
	keep_sequences(tokens, (size_t)first, (size_t)end);
	return true;
}

bool al_input_read(const struct al_input_options *o, const struct al_network *network,
	struct al_tokens *out, struct al_error *err)
{
	if (!(o->tokens ? al_tokens_read(out, o->tokens, err)
			: read_text(network, o->text, out, err)))
		return false;
	if (!o->sequences || select_sequences(out, o->sequences, err))
		return true;
	al_tokens_finish(out);
	return false;
}
