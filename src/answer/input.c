/* What a model reads, wherever a command runs one. */
#include "answer/input.h"

#include "answer/progress.h"
#include "model/forward/generate.h"
#include "model/tokenize/tokenizer.h"

const struct al_option_row al_input_rows[] = {
	OPTION_TEXT(struct al_input_options, tokens, "tokens", "FILE",
		"sequences of tokens: an .npy of integers, or their numbers as text, a sequence a "
		"line"),
	OPTION_TEXT(struct al_input_options, text, "text", "FILE",
		"UTF-8 text, a sequence a line, split by the tokenizer in a GGUF file, the "
		"tokenizer.json beside the model, or llama2.c's tokenizer.bin"),
	OPTION_TEXT(struct al_input_options, sequences, "sequences", "FIRST:END",
		"of these only FIRST to END - 1, counted from 0"),
	OPTION_TEXT(struct al_input_options, sample, "sample", "N[:SEED]",
		"N tokens that the model writes itself, in sequences of up to 256, drawn with seed "
		"SEED (default 1); N:greedy: one sequence of the likeliest tokens"),
	OPTION_END,
};

/* "N", "N:SEED" or "N:greedy" */
static bool read_sample(const char *text, struct al_sampling *out, struct al_error *err)
{
	enum { LEAST = 2, MOST = 1 << 28 };
	int64_t n_tokens = 0, seed = 1;
	const size_t n = al_read_digits(text, &n_tokens);
	const char *after = text + n;
	const bool is_greedy = strcmp(after, ":greedy") == 0;
	const size_t m = *after == ':' ? al_read_digits(after + 1, &seed) : 0;

	*out = (struct al_sampling){(size_t)n_tokens, (uint64_t)seed, is_greedy};
	if (n > 0 && n_tokens >= LEAST && n_tokens <= MOST && seed >= 0
		&& (!*after || is_greedy || (m > 0 && !after[1 + m])))
		return true;
	return al_fail(err, AL_EINPUT,
		"--sample %s: use N, N:SEED or N:greedy, with N from %d to %d", text, LEAST, MOST);
}

bool al_input_is_given(const struct al_input_options *o)
{
	return o->tokens || o->text || o->sample;
}

bool al_input_check(const struct al_input_options *o, struct al_error *err)
{
	const int n = (o->tokens != NULL) + (o->text != NULL) + (o->sample != NULL);
	struct al_sampling ignored;

	if (n != 1)
		return al_fail(err, AL_EINPUT,
			"expected one of --tokens FILE, --text FILE and --sample N");
	return !o->sample || read_sample(o->sample, &ignored, err);
}

static bool read_text(const struct al_network *network, const char *path, struct al_tokens *out,
	struct al_error *err)
{
	AL_ENDS(al_tokenizer_finish) struct al_tokenizer tokenizer = {0};

	return al_tokenizer_open(&tokenizer, network->view->checkpoint, network->vocab, err)
		&& al_tokenizer_encode_file(&tokenizer, path, out, err);
}

static bool sample(const char *text, struct al_network *network, struct al_tokens *out,
	struct al_error *err)
{
	struct al_sampling how;
	struct al_sample sample;

	if (!read_sample(text, &how, err))
		return false;
	if (!al_network_sample(network, &how, &sample, err))
		return al_in(err, "--sample");
	al_tokens_init(out);
	for (size_t i = 0; i < sample.n_sequences; i++) {
		for (size_t j = sample.begin[i]; j < sample.begin[i + 1]; j++)
			al_tokens_add(out, sample.tokens[j]);
		al_tokens_end_sequence(out);
	}
	al_sample_finish(&sample);
	return true;
}

static bool read_input(const struct al_input_options *o, struct al_network *network,
	struct al_tokens *out, struct al_error *err)
{
	if (o->sample)
		return sample(o->sample, network, out, err);
	return o->tokens ? al_tokens_read(out, o->tokens, err)
			 : read_text(network, o->text, out, err);
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

static void close(void *running)
{
	al_tokens_finish(&((struct al_running *)running)->tokens);
	al_network_close(&((struct al_running *)running)->network);
}

struct al_running *al_session_running(struct al_session *session, struct al_model_view *view,
	const struct al_input_options *o, struct al_error *err)
{
	struct al_running *running = al_new(&session->arena, struct al_running);
	const struct al_tokens *tokens = &running->tokens;

	if (!al_network_open(&running->network, view, err))
		return NULL;
	al_arena_defer(&session->arena, close, running);
	if (!read_input(o, &running->network, &running->tokens, err)
		|| (o->sequences && !select_sequences(&running->tokens, o->sequences, err)))
		return NULL;
	running->all = (struct al_batch){tokens->items, tokens->begin, tokens->n_sequences, 0};
	return running;
}

bool al_opened_model_init(struct al_opened_model *m, struct al_session *session,
	const struct al_layout_options *layout, const struct al_input_options *input,
	struct al_error *err)
{
	*m = (struct al_opened_model){0};
	if (!al_input_check(input, err))
		return false;
	m->file = al_session_checkpoint(session, layout, al_session_word(session, 0),
		al_session_word(session, 1), true, err);
	m->running = m->file ? al_session_running(session, &m->file->view, input, err) : NULL;
	if (!m->running)
		return false;
	m->watch = (struct al_watch){al_progress_show,
		al_progress_begin(session, m->file->checkpoint->path)};
	return true;
}
