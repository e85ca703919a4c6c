/* What a model reads, wherever a command runs one. */
#include "commands/input.h"

#include "tokenize/tokenizer.h"

const struct al_option_row al_input_rows[] = {
	OPTION_TEXT(struct al_input_options, tokens, "tokens", "FILE",
		"sequences of tokens: an .npy of integers, or their numbers as text, a sequence a "
		"line"),
	OPTION_TEXT(struct al_input_options, text, "text", "FILE",
		"UTF-8 text, a sequence a line, split by llama2.c's tokenizer.bin beside the "
		"model"),
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

bool al_input_read(const struct al_input_options *o, const struct al_network *network,
	struct al_tokens *out, struct al_error *err)
{
	return o->tokens ? al_tokens_read(out, o->tokens, err)
			 : read_text(network, o->text, out, err);
}
