/* The tokenizer in a checkpoint's folder, and the lines of a file as sequences of tokens. */
#include "model/tokenize/internal.h"

#include "base/file.h"

static const size_t largest_file = (size_t)1 << 30;

/* ---- next to a checkpoint ---- */

static const char *beside(struct al_arena *arena, const char *checkpoint, const char *name)
{
	const char *slash = strrchr(checkpoint, '/');

	if (al_path_kind(checkpoint) == AL_PATH_FOLDER)
		return al_path_join(arena, checkpoint, name);
	return slash ? al_format(arena, "%.*s/%s", (int)(slash - checkpoint), checkpoint, name)
		     : al_strdup(arena, name);
}

/* tokenizer.bin is without names: only its number of pieces shows whether it is the model's. */
static bool check_size(struct al_tokenizer *tokenizer, const char *path, int64_t n_tokens,
	struct al_error *err)
{
	if (tokenizer->n_tokens == 0 || tokenizer->n_tokens == n_tokens)
		return true;
	al_fail(err, AL_EINPUT, "%s: has %lld pieces, but the model has %lld tokens", path,
		(long long)tokenizer->n_tokens, (long long)n_tokens);
	al_tokenizer_finish(tokenizer);
	return false;
}

static bool read_tokenizer(struct al_tokenizer *tokenizer, const char *path, bool is_json,
	int64_t n_tokens, struct al_error *err)
{
	AL_TEXT(text);

	return al_file_read(&text, path, largest_file, err)
		&& (is_json ? al_tokenizer_parse_json : al_tokenizer_parse_bin)(tokenizer, path,
			text.data, text.length, err)
		&& check_size(tokenizer, path, n_tokens, err);
}

static bool fail_missing(const struct al_checkpoint *checkpoint, const char *json,
	struct al_error *err)
{
	static const char needs[] = "text needs the model's tokenizer, --tokens needs none";

	if (checkpoint->shards[0].n_pairs > 0)
		return al_fail(err, AL_EINPUT,
			"%s: no tokenizer in its metadata (tokenizer.ggml.model), and no %s or "
			"tokenizer.bin next to it: %s",
			checkpoint->path, json, needs);
	return al_fail(err, AL_EINPUT, "no %s or tokenizer.bin: %s", json, needs);
}

bool al_tokenizer_open(struct al_tokenizer *tokenizer, const struct al_checkpoint *checkpoint,
	int64_t n_tokens, struct al_error *err)
{
	AL_ARENA(arena);

	if (al_gguf_has_tokenizer(checkpoint))
		return al_gguf_tokenizer_open(tokenizer, checkpoint, err);
	if (checkpoint->of) /* translated: the tokenizer is where it was */
		return al_tokenizer_open(tokenizer, checkpoint->of, n_tokens, err);
	const char *json = beside(&arena, checkpoint->path, "tokenizer.json");
	const char *bin = beside(&arena, checkpoint->path, "tokenizer.bin");

	if (al_path_kind(json) != AL_PATH_NONE)
		return read_tokenizer(tokenizer, json, true, n_tokens, err);
	return al_path_kind(bin) != AL_PATH_NONE
		? read_tokenizer(tokenizer, bin, false, n_tokens, err)
		: fail_missing(checkpoint, json, err);
}

/* ---- a file ---- */

static bool encode_lines(struct al_tokenizer *tokenizer, const struct al_text *text,
	struct al_tokens *tokens, struct al_error *err)
{
	const char *end = text->data + text->length;
	size_t line = 1;

	for (const char *at = text->data; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((stop ? stop : end) - at);
		const bool has_return = length > 0 && at[length - 1] == '\r';
		if (length > (size_t)has_return
			&& !al_tokenizer_encode(tokenizer, at, length - (size_t)has_return, tokens,
				err))
			return al_in(err, "line %zu", line);
		at += length + 1;
	}
	return tokens->n_sequences > 0 || al_fail(err, AL_EINPUT, "is empty");
}

bool al_tokenizer_encode_file(struct al_tokenizer *tokenizer, const char *path,
	struct al_tokens *tokens, struct al_error *err)
{
	AL_TEXT(text);

	if (!al_file_read_stream(&text, path, largest_file, err))
		return false;
	al_tokens_init(tokens);
	if (encode_lines(tokenizer, &text, tokens, err))
		return true;
	al_tokens_finish(tokens);
	return al_in(err, "%s", path);
}
