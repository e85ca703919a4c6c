/* The steps of a tokenizer, applied to a text. */
#include "model/tokenize/internal.h"

struct al_pipeline *al_pipeline_init(struct al_tokenizer *tokenizer, uint64_t n_input)
{
	*tokenizer = (struct al_tokenizer){.budget.n_input = n_input,
		.arena.budget = &tokenizer->budget};
	struct al_pipeline *p = tokenizer->pipeline = al_new(&tokenizer->arena, struct al_pipeline);

	p->budget = &tokenizer->budget;
	p->matcher = al_matcher_create(&tokenizer->arena);
	return p;
}

struct al_stepping al_pipeline_begin(const struct al_pipeline *p, struct al_error *err)
{
	const struct al_arena none = {.budget = p->budget};

	return (struct al_stepping){p->matcher, p->budget, .texts = none, .lists = none,
		.texts_before = none, .lists_before = none, .err = err};
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

bool al_pipeline_finish(struct al_pipeline *p, struct al_arena *arena, struct al_error *err)
{
	al_added_step(p, arena, false, &p->all);
	add_all(&p->all, &p->normalizer, arena);
	al_added_step(p, arena, true, &p->all);
	add_all(&p->all, &p->pre_tokenizer, arena);
	return al_budget_take(p->budget, 0, err);
}

void al_ids_add(struct al_ids *ids, struct al_arena *arena, int32_t token)
{
	ids->items = al_grow(arena, ids->items, ids->n, &ids->room, sizeof(*ids->items));
	ids->items[ids->n++] = token;
}

/* ---- text ---- */

static bool encode_pieces(const struct al_pipeline *p, const struct al_text_pieces *pieces,
	struct al_tokens *tokens, struct al_error *err)
{
	AL_ENDS(al_arena_finish) struct al_arena memory = {.budget = p->budget};

	for (size_t i = 0; i < pieces->n; i++) {
		const struct al_piece *piece = &pieces->items[i];
		if (piece->token >= 0)
			al_tokens_add(tokens, piece->token);
		else if (!p->model.encode(&p->model, &memory, piece->text, tokens, err))
			return false;
		al_arena_clear(&memory);
	}
	return true;
}

static bool encode(const struct al_pipeline *p, struct al_span text, struct al_tokens *tokens,
	struct al_error *err)
{
	AL_ENDS(al_stepping_finish) struct al_stepping made = al_pipeline_begin(p, err);

	if (!al_steps_run(&p->all, text, &made))
		return false;
	al_tokens_add_all(tokens, p->before.items, p->before.n);
	if (!encode_pieces(p, &made.pieces, tokens, err))
		return false;
	al_tokens_add_all(tokens, p->after.items, p->after.n);
	return true;
}

/* The tokens of this sequence are held as well. */
static bool take_tokens(struct al_budget *budget, const struct al_tokens *tokens,
	struct al_error *err)
{
	const size_t *begin = &tokens->begin[tokens->n_sequences - 1];

	budget->bytes += (begin[1] - begin[0]) * sizeof(*tokens->items) + sizeof(*begin);
	return al_budget_take(budget, begin[1] - begin[0], err);
}

bool al_tokenizer_encode(struct al_tokenizer *tokenizer, const char *text, size_t length,
	struct al_tokens *tokens, struct al_error *err)
{
	const size_t valid = al_utf8_valid(text, length);

	if (valid < length)
		return al_fail(err, AL_EINPUT, "byte %zu is not UTF-8", valid);
	tokenizer->budget.n_input += length;
	if (!encode(tokenizer->pipeline, (struct al_span){text, length}, tokens, err))
		return false;
	al_tokens_end_sequence(tokens);
	return take_tokens(&tokenizer->budget, tokens, err);
}
