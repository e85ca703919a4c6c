/* Steps: what normalises and splits a text, a list of pieces that each step makes anew. */
#include "model/tokenize/internal.h"

#include <string.h>

/* So long may a line become, for steps can make it longer, and so much may they all go through. */
static const size_t longest_text = (size_t)1 << 23, most_bytes = (size_t)1 << 26;

static bool check_length(size_t n, struct al_error *err)
{
	return n <= longest_text
		|| al_fail(err, AL_EINPUT,
			"normalised, the text has %zu bytes, expected at most %zu", n,
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
				"normalised step by step, the text has %zu bytes in all, expected "
				"at most %zu",
				*n_bytes, most_bytes));
}

void al_pieces_add(struct al_text_pieces *pieces, struct al_arena *memory, struct al_piece piece)
{
	if (piece.text.n == 0)
		return;
	pieces->items = al_grow(memory, pieces->items, pieces->n, &pieces->room,
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

bool al_steps_run(const struct al_text_steps *steps, struct al_arena *memory,
	struct al_text_pieces *pieces, struct al_error *err)
{
	size_t n_bytes = 0;

	for (size_t i = 0; i < steps->n; i++) {
		struct al_text_pieces next = {0};
		if (!count_bytes(pieces, &n_bytes, err))
			return false;
		for (size_t j = 0; j < pieces->n; j++)
			if (pieces->items[j].token >= 0)
				al_pieces_add(&next, memory, pieces->items[j]);
			else if (!steps->items[i].run(&steps->items[i], memory, &pieces->items[j],
					 &next, err))
				return false;
		*pieces = next;
	}
	return true;
}

/* ---- the same piece with another text ---- */

static void add_text(struct al_text_pieces *out, struct al_arena *memory,
	const struct al_piece *piece, char *text, size_t n)
{
	al_pieces_add(out, memory, (struct al_piece){{text, n}, piece->token, piece->is_first});
}

bool al_step_replace(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err)
{
	const struct al_span by = al_span_of(step->text);
	struct al_matches matches;
	size_t n = 0;

	if (!al_pattern_find(step->pattern, memory, piece->text, &matches, err))
		return false;
	for (size_t i = 0; i < matches.n; i++)
		n += matches.items[i].is_match ? by.n
					       : matches.items[i].end - matches.items[i].first;
	if (!check_length(n, err))
		return false;
	char *text = al_arena_alloc(memory, n, 1), *p = text;
	for (size_t i = 0; i < matches.n; i++) {
		const struct al_span part = matches.items[i].is_match
			? by
			: al_span_part(piece->text, matches.items[i].first, matches.items[i].end);
		memcpy(p, part.data, part.n);
		p += part.n;
	}
	add_text(out, memory, piece, text, n);
	return true;
}

bool al_step_prefix(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err)
{
	const struct al_span prefix = al_span_of(step->text);
	const bool has_it = piece->text.n >= prefix.n
		&& memcmp(piece->text.data, prefix.data, prefix.n) == 0;

	(void)err;
	if ((has_it && !step->is_inverted) || (step->only_first && !piece->is_first)) {
		al_pieces_add(out, memory, *piece);
		return true;
	}
	char *text = al_arena_alloc(memory, prefix.n + piece->text.n, 1);
	memcpy(text, prefix.data, prefix.n);
	memcpy(text + prefix.n, piece->text.data, piece->text.n);
	add_text(out, memory, piece, text, prefix.n + piece->text.n);
	return true;
}

/* Bytes that are printed in Latin-1 are themselves, the others U+0100 and on
 *= openai/gpt-2, src/encoder.py, bytes_to_unicode */
static bool is_itself(unsigned byte)
{
	return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
}

bool al_step_bytes(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err)
{
	char *text = al_arena_alloc(memory, 2 * piece->text.n, 1);
	unsigned codes[256], next = 0x100;
	size_t n = 0;

	(void)step;
	(void)err;
	for (unsigned byte = 0; byte < 256; byte++)
		codes[byte] = is_itself(byte) ? byte : next++;
	for (size_t i = 0; i < piece->text.n; i++) {
		const unsigned code = codes[(unsigned char)piece->text.data[i]];
		if (code >= 0x80)
			text[n++] = (char)(0xc0 | code >> 6);
		text[n++] = (char)(code < 0x80 ? code : 0x80 | (code & 0x3f));
	}
	add_text(out, memory, piece, text, n);
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

bool al_step_split(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err)
{
	struct al_matches all;

	if (!al_pattern_find(step->pattern, memory, piece->text, &all, err))
		return false;
	for (size_t i = 0; i < all.n; i++)
		all.items[i].is_match ^= step->is_inverted;
	for (size_t i = 0, end; i < all.n; i = end) {
		for (end = i + 1; end < all.n && belongs_to_previous(step->behavior, &all, end);)
			end++;
		if (step->behavior == AL_SPLIT_REMOVED && all.items[i].is_match)
			continue;
		al_pieces_add(out, memory,
			(struct al_piece){al_span_part(piece->text, all.items[i].first,
						  all.items[end - 1].end),
				-1, piece->is_first && all.items[i].first == 0});
	}
	return true;
}
