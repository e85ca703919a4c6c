/* Steps: what normalizes and splits a text, a list of pieces that each step makes anew. */
#include "model/tokenize/internal.h"

/* So long may a line become, for steps can make it longer, and so much may they all go through. */
static const size_t longest_text = (size_t)1 << 23, most_bytes = (size_t)1 << 26;

static bool check_length(size_t n, struct al_error *err)
{
	return n <= longest_text
		|| al_fail(err, AL_EINPUT,
			"normalized, the text has %zu bytes, expected at most %zu", n,
			longest_text);
}

/* Adds what the next step goes through. */
static bool count_bytes(const struct al_text_pieces *pieces, size_t *n_bytes, struct al_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < pieces->n; i++)
		n += pieces->items[i].text.n;
	*n_bytes += n;
	return check_length(n, err)
		&& (*n_bytes <= most_bytes
			|| al_fail(err, AL_EINPUT,
				"normalized step by step, the text has %zu bytes in all, expected "
				"at most %zu",
				*n_bytes, most_bytes));
}

void al_pieces_add(struct al_stepping *to, struct al_piece piece)
{
	struct al_text_pieces *pieces = &to->pieces;

	if (piece.text.n == 0)
		return;
	pieces->items = al_grow(to->memory, pieces->items, pieces->n, &pieces->room,
		sizeof(*pieces->items));
	pieces->items[pieces->n++] = piece;
}

void al_steps_add(struct al_text_steps *steps, struct al_arena *arena, struct al_step step)
{
	steps->items = al_grow(arena, steps->items, steps->n, &steps->room, sizeof(*steps->items));
	if (step.regex && !step.pattern)
		step.pattern = al_pattern_of(arena, step.regex);
	steps->items[steps->n++] = step;
}

bool al_steps_run(const struct al_text_steps *steps, struct al_span text, struct al_stepping *made)
{
	size_t n_bytes = 0;

	al_pieces_add(made, (struct al_piece){text, -1, true});
	for (size_t i = 0; i < steps->n; i++) {
		const struct al_text_pieces before = made->pieces;
		const struct al_step *step = &steps->items[i];
		if (!count_bytes(&before, &n_bytes, made->err))
			return false;
		made->pieces = (struct al_text_pieces){0};
		for (size_t j = 0; j < before.n; j++)
			if (before.items[j].token >= 0)
				al_pieces_add(made, before.items[j]);
			else if (!step->run(step, &before.items[j], made))
				return false;
	}
	return true;
}

/* ---- the same piece with another text ---- */

void al_pieces_take(struct al_stepping *to, const struct al_piece *piece, struct al_text *text)
{
	const struct al_span copy = {al_strndup(to->memory, text->data, text->length),
		text->length};

	al_pieces_add(to, (struct al_piece){copy, piece->token, piece->is_first});
	al_text_finish(text);
}

bool al_step_replace(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const struct al_span by = al_span_of(step->text);
	struct al_matches matches;
	struct al_text text;
	bool ok = true;

	if (!al_pattern_find(step->pattern, to->memory, piece->text, &matches, to->err))
		return false;
	al_text_init(&text);
	for (size_t i = 0; ok && i < matches.n; i++) {
		const struct al_match *match = &matches.items[i];
		const struct al_span part = match->is_match
			? by
			: al_span_part(piece->text, match->first, match->end);
		al_text_add_bytes(&text, part.data, part.n);
		ok = check_length(text.length, to->err);
	}
	al_pieces_take(to, piece, &text);
	return ok;
}

bool al_step_prefix(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const struct al_span prefix = al_span_of(step->text);
	const bool has_it = piece->text.n >= prefix.n
		&& memcmp(piece->text.data, prefix.data, prefix.n) == 0;
	struct al_text text;

	al_text_init(&text);
	if ((!has_it || step->is_inverted) && (!step->only_first || piece->is_first))
		al_text_add(&text, step->text);
	al_text_add_bytes(&text, piece->text.data, piece->text.n);
	al_pieces_take(to, piece, &text);
	return true;
}

/* Bytes that are printed in Latin-1 are themselves, the others U+0100 and on
 *= openai/gpt-2, src/encoder.py, bytes_to_unicode */
static bool is_itself(unsigned byte)
{
	return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
}

bool al_step_bytes(const struct al_step *step, const struct al_piece *piece, struct al_stepping *to)
{
	unsigned codes[256], next = 0x100;
	struct al_text text;

	(void)step;
	for (unsigned byte = 0; byte < 256; byte++)
		codes[byte] = is_itself(byte) ? byte : next++;
	al_text_init(&text);
	for (size_t i = 0; i < piece->text.n; i++) {
		const unsigned code = codes[(unsigned char)piece->text.data[i]];
		const char bytes[] = {(char)(0xc0 | code >> 6),
			(char)(code < 0x80 ? code : 0x80 | (code & 0x3f))};
		al_text_add_bytes(&text, bytes + (code < 0x80), code < 0x80 ? 1 : 2);
	}
	al_pieces_take(to, piece, &text);
	return true;
}

/* ---- many pieces of one ---- */

const char *const al_behavior_names[AL_N_BEHAVIORS] = {
	[AL_SPLIT_REMOVED] = "Removed",
	[AL_SPLIT_ISOLATED] = "Isolated",
	[AL_SPLIT_WITH_PREVIOUS] = "MergedWithPrevious",
	[AL_SPLIT_WITH_NEXT] = "MergedWithNext",
	[AL_SPLIT_CONTIGUOUS] = "Contiguous",
};

/* Does part i belong to the one before it? */
static bool belongs_to_previous(enum al_behavior behavior, const struct al_matches *all, size_t i)
{
	const bool before = all->items[i - 1].is_match, now = all->items[i].is_match;

	/* of matches in a row only one is taken along */
	if (behavior == AL_SPLIT_WITH_PREVIOUS)
		return now && !before;
	if (behavior == AL_SPLIT_WITH_NEXT)
		return before && !now;
	return behavior == AL_SPLIT_CONTIGUOUS && before == now;
}

bool al_step_split(const struct al_step *step, const struct al_piece *piece, struct al_stepping *to)
{
	struct al_matches all;

	if (!al_pattern_find(step->pattern, to->memory, piece->text, &all, to->err))
		return false;
	for (size_t i = 0; i < all.n; i++)
		all.items[i].is_match ^= step->is_inverted;
	for (size_t i = 0, end; i < all.n; i = end) {
		for (end = i + 1; end < all.n && belongs_to_previous(step->behavior, &all, end);)
			end++;
		if (step->behavior == AL_SPLIT_REMOVED && all.items[i].is_match)
			continue;
		al_pieces_add(to,
			(struct al_piece){al_span_part(piece->text, all.items[i].first,
						  all.items[end - 1].end),
				-1, piece->is_first && all.items[i].first == 0});
	}
	return true;
}
