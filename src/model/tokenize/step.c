/* Steps: what normalizes and splits a text, a list of pieces that each step makes anew. */
#include "model/tokenize/internal.h"

enum { STEPS_A_BYTE = 8 }; /* of a text that a step goes through */

void al_pieces_add(struct al_stepping *to, struct al_piece piece)
{
	struct al_text_pieces *pieces = &to->pieces;

	if (piece.text.n == 0)
		return;
	*AL_APPEND(&to->lists, pieces->items, pieces->n, pieces->room) = piece;
}

void al_steps_add(struct al_text_steps *steps, struct al_arena *arena, struct al_step step)
{
	steps->items = al_grow(arena, steps->items, steps->n, &steps->room, sizeof(*steps->items));
	if (step.regex && !step.pattern)
		step.pattern = al_pattern_of(arena, step.regex);
	steps->items[steps->n++] = step;
}

static bool run_pieces(const struct al_step *step, const struct al_text_pieces *before,
	struct al_stepping *to)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct al_piece *piece = &before->items[i];
		if (!al_budget_take(to->budget, 1 + STEPS_A_BYTE * piece->text.n, to->err))
			return false;
		if (piece->token >= 0)
			al_pieces_add(to, *piece);
		else if (!step->run(step, piece, to))
			return false;
	}
	return true;
}

static void swap(struct al_arena *a, struct al_arena *b)
{
	const struct al_arena was = *a;

	*a = *b;
	*b = was;
}

/* The pieces that the step was given go at once, and their texts if it made others. (Those of
 * tokens go too: only their tokens are asked for from then on.) */
static bool run_step(const struct al_step *step, struct al_stepping *made)
{
	const struct al_text_pieces before = made->pieces;

	swap(&made->lists, &made->lists_before);
	swap(&made->texts, &made->texts_before);
	made->pieces = (struct al_text_pieces){0};
	made->has_texts = false;
	const bool ok = run_pieces(step, &before, made);
	if (!made->has_texts)
		swap(&made->texts, &made->texts_before);
	al_arena_clear(&made->lists_before);
	al_arena_clear(&made->texts_before);
	return ok;
}

bool al_steps_run(const struct al_text_steps *steps, struct al_span text, struct al_stepping *made)
{
	al_pieces_add(made, (struct al_piece){text, -1, true});
	for (size_t i = 0; i < steps->n; i++)
		if (!run_step(&steps->items[i], made))
			return false;
	return true;
}

void al_stepping_finish(struct al_stepping *made)
{
	al_arena_finish(&made->texts);
	al_arena_finish(&made->lists);
	al_arena_finish(&made->texts_before);
	al_arena_finish(&made->lists_before);
}

/* ---- the same piece with another text ---- */

void al_pieces_take(struct al_stepping *to, const struct al_piece *piece, struct al_text *text)
{
	const struct al_span copy = {al_strndup(&to->texts, text->data, text->length),
		text->length};

	to->has_texts = true;
	al_pieces_add(to, (struct al_piece){copy, piece->token, piece->is_first});
	al_text_finish(text);
}

bool al_step_replace(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const struct al_span by = al_span_of(step->text);
	struct al_scan search = al_scan_in(to, step->pattern, piece->text);
	struct al_match match;
	struct al_text text;

	al_text_init(&text);
	while (al_scan_next(&search, &match)) {
		const struct al_span part = match.is_match
			? by
			: al_span_part(piece->text, match.first, match.end);
		al_text_add_bytes(&text, part.data, part.n);
		search.failed = !al_budget_check(to->budget, text.length, to->err);
	}
	al_pieces_take(to, piece, &text);
	return !search.failed;
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

/* Bytes that are printed in Latin-1 are themselves, the others in turn U+0100 and on
 *= openai/gpt-2, src/encoder.py, bytes_to_unicode */
static unsigned code_of(unsigned byte)
{
	if (byte <= ' ')
		return 0x100 + byte;
	if (byte == 0xad)
		return 0x143;
	return byte < 0x7f || byte > 0xa0 ? byte : 0x121 + byte - 0x7f;
}

bool al_step_bytes(const struct al_step *step, const struct al_piece *piece, struct al_stepping *to)
{
	struct al_text text;

	(void)step;
	al_text_init(&text);
	for (size_t i = 0; i < piece->text.n; i++) {
		const unsigned code = code_of((unsigned char)piece->text.data[i]);
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

/* Does a part belong to the one before it? */
static bool belongs_to_previous(enum al_behavior behavior, bool before, bool now)
{
	/* of matches in a row only one is taken along */
	if (behavior == AL_SPLIT_WITH_PREVIOUS)
		return now && !before;
	if (behavior == AL_SPLIT_WITH_NEXT)
		return before && !now;
	return behavior == AL_SPLIT_CONTIGUOUS && before == now;
}

static void add_part(const struct al_step *step, const struct al_piece *piece,
	const struct al_match *part, struct al_stepping *to)
{
	if (step->behavior != AL_SPLIT_REMOVED || !part->is_match)
		al_pieces_add(to,
			(struct al_piece){al_span_part(piece->text, part->first, part->end), -1,
				piece->is_first && part->first == 0});
}

bool al_step_split(const struct al_step *step, const struct al_piece *piece, struct al_stepping *to)
{
	struct al_scan search = al_scan_in(to, step->pattern, piece->text);
	struct al_match part, whole = {0}; /* of the parts that belong together: none yet */

	while (al_scan_next(&search, &part)) {
		part.is_match ^= step->is_inverted;
		if (belongs_to_previous(step->behavior, whole.is_match, part.is_match))
			part.first = whole.first;
		else
			add_part(step, piece, &whole, to);
		whole = part;
	}
	add_part(step, piece, &whole, to);
	return !search.failed;
}
