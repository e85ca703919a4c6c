/* What a tokenizer is made of, and a text on its way through it. */
#include "model/tokenize/internal.h"

enum { MOST_LINE = 1 << 20 };

struct al_pipeline *al_pipeline_init(struct al_tokenizer *tokenizer)
{
	*tokenizer = (struct al_tokenizer){0};
	al_arena_init(&tokenizer->arena);
	return tokenizer->pipeline = al_new(&tokenizer->arena, struct al_pipeline);
}

void al_tokenizer_finish(struct al_tokenizer *tokenizer)
{
	al_arena_finish(&tokenizer->arena);
	*tokenizer = (struct al_tokenizer){0};
}

static void add_all(struct al_text_steps *to, const struct al_text_steps *steps,
	struct al_arena *arena)
{
	for (size_t i = 0; i < steps->n; i++)
		al_steps_add(to, arena, steps->items[i]);
}

void al_pipeline_finish(struct al_pipeline *p, struct al_arena *arena)
{
	al_added_step(p, arena, false, &p->all);
	add_all(&p->all, &p->normalizer, arena);
	al_added_step(p, arena, true, &p->all);
	add_all(&p->all, &p->pre_tokenizer, arena);
}

void al_ids_add(struct al_ids *ids, struct al_arena *arena, int32_t token)
{
	ids->items = al_grow(arena, ids->items, ids->n, &ids->room, sizeof(*ids->items));
	ids->items[ids->n++] = token;
}

/* ---- text ---- */

static bool encode(const struct al_pipeline *p, struct al_arena *memory, struct al_span text,
	struct al_tokens *tokens, struct al_error *err)
{
	struct al_stepping made = {.memory = memory, .err = err};

	if (!al_steps_run(&p->all, text, &made))
		return false;
	al_tokens_add_all(tokens, p->before.items, p->before.n);
	for (size_t i = 0; i < made.pieces.n; i++) {
		const struct al_piece *piece = &made.pieces.items[i];
		if (piece->token >= 0)
			al_tokens_add(tokens, piece->token);
		else if (!p->model.encode(&p->model, memory, piece->text, tokens, err))
			return false;
	}
	al_tokens_add_all(tokens, p->after.items, p->after.n);
	return true;
}

bool al_tokenizer_encode(const struct al_tokenizer *tokenizer, const char *text, size_t length,
	struct al_tokens *tokens, struct al_error *err)
{
	AL_ARENA(memory);

	if (length > MOST_LINE)
		return al_fail(err, AL_EINPUT, "%zu bytes, expected at most %d", length, MOST_LINE);
	const size_t valid = al_utf8_valid(text, length);
	if (valid < length)
		return al_fail(err, AL_EINPUT, "byte %zu is not UTF-8", valid);
	if (!encode(tokenizer->pipeline, &memory, (struct al_span){text, length}, tokens, err))
		return false;
	al_tokens_end_sequence(tokens);
	return true;
}
