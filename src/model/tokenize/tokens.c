/* Sequences of tokens from a file. */
#include "model/tokenize/tokens.h"

#include "base/file.h"
#include "formats/npy.h"

enum { SHOWN = 20 };

static const size_t largest_file = (size_t)1 << 32;

void al_tokens_init(struct al_tokens *tokens)
{
	*tokens = (struct al_tokens){.begin = al_calloc(2, sizeof(size_t)), .begin_room = 2};
}

void al_tokens_finish(struct al_tokens *tokens)
{
	free(tokens->items);
	free(tokens->begin);
	*tokens = (struct al_tokens){0};
}

/* begin[n_sequences + 1] is how many there are while a sequence is at hand. */
void al_tokens_add(struct al_tokens *tokens, int32_t token)
{
	size_t *n = &tokens->begin[tokens->n_sequences + 1];

	if (*n == tokens->items_room) {
		tokens->items_room = 2 * tokens->items_room + 64;
		tokens->items = al_realloc(tokens->items, tokens->items_room,
			sizeof(*tokens->items));
	}
	tokens->items[(*n)++] = token;
}

void al_tokens_add_all(struct al_tokens *tokens, const int32_t *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_tokens_add(tokens, items[i]);
}

void al_tokens_end_sequence(struct al_tokens *tokens)
{
	const size_t end = tokens->begin[++tokens->n_sequences];

	if (tokens->n_sequences + 2 > tokens->begin_room) {
		tokens->begin_room *= 2;
		tokens->begin = al_realloc(tokens->begin, tokens->begin_room,
			sizeof(*tokens->begin));
	}
	tokens->begin[tokens->n_sequences + 1] = end;
}

static bool has_tokens(const struct al_tokens *tokens)
{
	return tokens->begin[tokens->n_sequences + 1] > tokens->begin[tokens->n_sequences];
}

/* ---- text ---- */

/* The position in the text, and its line. */
struct cursor {
	const char *at, *end, *path;
	size_t line;
};

static bool fail_at(const struct cursor *c, struct al_error *err)
{
	const size_t left = (size_t)(c->end - c->at);
	const char *line_end = memchr(c->at, '\n', left);
	const size_t found = line_end ? (size_t)(line_end - c->at) : left;

	return al_fail(err, AL_EINPUT, "%s:%zu: found \"%.*s\", expected a token's number", c->path,
		c->line, (int)al_least(found, SHOWN), c->at);
}

static bool read_number(struct cursor *c, struct al_tokens *tokens, struct al_error *err)
{
	const struct cursor before = *c;
	int64_t value = 0;

	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
		if ((value = 10 * value + (*c->at - '0')) > INT32_MAX)
			return fail_at(&before, err);
	if (c->at == before.at || (c->at < c->end && !strchr(" \t\r\n,", *c->at)))
		return fail_at(&before, err);
	al_tokens_add(tokens, (int32_t)value);
	return true;
}

static bool parse_text(struct al_tokens *tokens, struct cursor *c, struct al_error *err)
{
	for (; c->at < c->end; c->line += *c->at == '\n', c->at++) {
		if (*c->at == '\n' && has_tokens(tokens))
			al_tokens_end_sequence(tokens);
		if (*c->at && strchr(" \t\r\n,", *c->at))
			continue;
		if (!read_number(c, tokens, err))
			return false;
		c->at--;
	}
	if (has_tokens(tokens))
		al_tokens_end_sequence(tokens);
	return true;
}

/* ---- arrays ---- */

static bool take_array(struct al_tokens *tokens, const struct al_npy *array, const char *path,
	struct al_error *err)
{
	for (size_t i = 0; i < array->rows; i++) {
		for (size_t j = 0; j < array->cols; j++) {
			const double value = array->data[i + j * array->rows];
			if (value < 0 || value > INT32_MAX)
				return al_fail(err, AL_EINPUT,
					"%s: sequence %zu has %.0f at %zu (both counted from 0), "
					"expected a token's number",
					path, i, value, j);
			al_tokens_add(tokens, (int32_t)value);
		}
		if (has_tokens(tokens))
			al_tokens_end_sequence(tokens);
	}
	return true;
}

static bool parse_array(struct al_tokens *tokens, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	struct al_npy array;

	if (!al_npy_parse(&array, path, bytes, n, true, err))
		return false;
	bool ok = take_array(tokens, &array, path, err);
	al_npy_finish(&array);
	return ok;
}

bool al_tokens_parse(struct al_tokens *tokens, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	struct cursor cursor = {bytes, bytes + n, path, 1};

	al_tokens_init(tokens);
	const bool is_array = n >= AL_NPY_MAGIC && memcmp(bytes, al_npy_magic, AL_NPY_MAGIC) == 0;
	bool ok = is_array ? parse_array(tokens, path, bytes, n, err)
			   : parse_text(tokens, &cursor, err);
	if (ok && tokens->n_sequences == 0)
		ok = al_fail(err, AL_EINPUT, "%s: contains no tokens", path);
	if (!ok)
		al_tokens_finish(tokens);
	return ok;
}

bool al_tokens_read(struct al_tokens *tokens, const char *path, struct al_error *err)
{
	AL_TEXT(text);

	return al_file_read_stream(&text, path, largest_file, err)
		&& al_tokens_parse(tokens, path, text.data, text.length, err);
}
