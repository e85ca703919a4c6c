/* Pools: the arena of one computation, and what is made in it. */
#include "formula/cases.h"

void al_pool_init(struct al_pool *pool, struct al_error *err)
{
	al_arena_init(&pool->arena);
	pool->err = err;
}

void al_pool_finish(struct al_pool *pool)
{
	al_arena_finish(&pool->arena);
}

const char *al_pool_keep_text(struct al_pool *pool, struct al_text *text, const char *what)
{
	const char *kept = NULL;

	if (text->length <= AL_OPAQUE_TEXT)
		kept = al_strdup(&pool->arena, text->data);
	else
		al_fail(pool->err, AL_EINPUT, "%s has more than %d characters", what,
			AL_OPAQUE_TEXT);
	al_text_finish(text);
	return kept;
}

const struct al_polynomial_factor *al_factor_create(struct al_pool *pool, enum al_operator op,
	const char *symbol, const struct al_terms *left, const struct al_terms *right)
{
	struct al_polynomial_factor *factor = al_new(&pool->arena, struct al_polynomial_factor);
	struct al_text name;

	*factor = (struct al_polynomial_factor){.op = op,
		.symbol = symbol ? al_strdup(&pool->arena, symbol) : NULL,
		.left = left,
		.right = right};
	al_text_init(&name);
	al_factor_text(factor, &name, AL_OPAQUE_TEXT);
	factor->name = al_pool_keep_text(pool, &name, "a factor that stays whole");
	return factor->name ? factor : NULL;
}
