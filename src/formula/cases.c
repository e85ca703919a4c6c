/* Decision trees over conditions, with polynomials as leaves.
 *
 * On every path conditions are in the order of their texts and none comes twice, and the branches
 * of a condition differ: so a piecewise polynomial has one tree, equal conditions of two operands
 * meet, and contradictions never arise (the idea of ordered decision diagrams, Bryant 1986). */

#include "formula/cases.h"

const struct al_cases *al_cases_leaf(struct al_pool *pool, const struct al_terms *terms)
{
	if (!terms)
		return NULL;
	struct al_cases *leaf = al_new(&pool->arena, struct al_cases);
	leaf->terms = terms;
	leaf->n_leaves = 1;
	return leaf;
}

const struct al_cases *al_cases_number(struct al_pool *pool, int64_t value)
{
	return al_cases_leaf(pool, al_terms_from_int(pool, value));
}

bool al_cases_equal(const struct al_cases *a, const struct al_cases *b)
{
	if (!a->condition || !b->condition)
		return !a->condition && !b->condition && al_terms_equal(a->terms, b->terms);
	return strcmp(a->condition->text, b->condition->text) == 0
		&& al_cases_equal(a->then, b->then) && al_cases_equal(a->otherwise, b->otherwise);
}

/* Both branches' conditions come after `condition`. */
static const struct al_cases *branch(struct al_pool *pool, const struct al_condition *condition,
	const struct al_cases *then, const struct al_cases *otherwise)
{
	if (!then || !otherwise)
		return NULL;
	if (al_cases_equal(then, otherwise))
		return then;

	struct al_cases *cases = al_new(&pool->arena, struct al_cases);
	*cases = (struct al_cases){.condition = condition,
		.then = then,
		.otherwise = otherwise,
		.n_leaves = then->n_leaves + otherwise->n_leaves};
	if (cases->n_leaves <= AL_POLYNOMIAL_CASES)
		return cases;
	al_fail(pool->err, AL_EINPUT, "has more than %d cases", AL_POLYNOMIAL_CASES);
	return NULL;
}

/* The condition that comes first; either may be NULL. */
static const struct al_condition *first(const struct al_condition *a, const struct al_condition *b)
{
	if (!a || !b)
		return a ? a : b;
	return strcmp(a->text, b->text) <= 0 ? a : b;
}

/* The cases that remain once `condition`, which nothing in `cases` precedes, is known. */
static const struct al_cases *given(const struct al_cases *cases,
	const struct al_condition *condition, bool holds)
{
	if (!cases->condition || strcmp(cases->condition->text, condition->text) != 0)
		return cases;
	return holds ? cases->then : cases->otherwise;
}

const struct al_cases *al_cases_choose(struct al_pool *pool, const struct al_cases *truth,
	const struct al_cases *then, const struct al_cases *otherwise)
{
	if (!truth || !then || !otherwise)
		return NULL;
	if (!truth->condition)
		return al_terms_is_int(truth->terms, 0) ? otherwise : then;

	const struct al_condition *top = first(truth->condition,
		first(then->condition, otherwise->condition));
	return branch(pool, top,
		al_cases_choose(pool, given(truth, top, true), given(then, top, true),
			given(otherwise, top, true)),
		al_cases_choose(pool, given(truth, top, false), given(then, top, false),
			given(otherwise, top, false)));
}

/* ---- conditions ---- */

const struct al_cases *al_cases_indicator(struct al_pool *pool,
	const struct al_condition *condition, bool holds)
{
	return branch(pool, condition, al_cases_number(pool, holds), al_cases_number(pool, !holds));
}

/* The indicator of a new condition, without text so far. */
static const struct al_cases *when(struct al_pool *pool, struct al_condition condition, bool holds)
{
	struct al_condition *kept = al_new(&pool->arena, struct al_condition);
	struct al_text text;

	*kept = condition;
	kept->word = condition.word ? al_strdup(&pool->arena, condition.word) : NULL;
	al_text_init(&text);
	al_condition_text(kept, true, &text, AL_OPAQUE_TEXT);
	kept->text = al_pool_keep_text(pool, &text, "a condition that stays open");
	return kept->text ? al_cases_indicator(pool, kept, holds) : NULL;
}

/* The text of the first comes after that of the second. */
static bool comes_after(const struct al_terms *a, const struct al_terms *b)
{
	AL_TEXT(x);
	AL_TEXT(y);
	al_terms_text(a, &x, AL_OPAQUE_TEXT);
	al_terms_text(b, &y, AL_OPAQUE_TEXT);
	return strcmp(x.data, y.data) > 0;
}

/* Of a condition and its opposite only one is kept: > and < rather than <= and >=, == rather than
 * != except against zero, constants on the right. */
static const struct al_cases *undecided(struct al_pool *pool, enum al_operator op,
	const struct al_terms *left, const struct al_terms *right)
{
	bool swaps = al_terms_is_constant(left)
		|| (!al_terms_is_constant(right) && comes_after(left, right));
	struct al_condition condition = {.op = swaps ? al_operators[op].mirrored : op,
		.left = swaps ? right : left,
		.right = swaps ? left : right};
	bool is_zero = al_terms_is_int(condition.right, 0);
	bool is_kept = condition.op == AL_OP_LESS || condition.op == AL_OP_GREATER
		|| condition.op == (is_zero ? AL_OP_NOT_EQUAL : AL_OP_EQUAL);

	if (!is_kept)
		condition.op = al_operators[condition.op].opposite;
	return when(pool, condition, is_kept);
}

static const struct al_cases *compare(struct al_pool *pool, enum al_operator op,
	const struct al_terms *left, const struct al_terms *right)
{
	const struct al_terms *difference = al_terms_apply(pool, AL_OP_SUBTRACT, left, right);

	if (!difference)
		return NULL;
	if (!al_terms_is_constant(difference))
		return undecided(pool, op, left, right);
	return al_cases_number(pool, al_op_accepts(op, mpq_sgn(difference->content)));
}

const struct al_cases *al_cases_truth(struct al_pool *pool, const struct al_cases *cases)
{
	const struct al_cases *zero = al_cases_number(pool, 0);

	return al_cases_apply(pool, AL_OP_NOT_EQUAL, cases, zero);
}

/* Is the symbol that each leaf must be this word? */
const struct al_cases *al_cases_is_word(struct al_pool *pool, const struct al_cases *symbols,
	const char *word)
{
	if (!symbols)
		return NULL;
	if (symbols->condition)
		return al_cases_choose(pool, al_cases_indicator(pool, symbols->condition, true),
			al_cases_is_word(pool, symbols->then, word),
			al_cases_is_word(pool, symbols->otherwise, word));

	const struct al_terms *terms = symbols->terms;
	if (!al_terms_is_factor(terms) || terms->factors[0]->op != AL_OP_SYMBOL) {
		al_fail(pool->err, AL_EINPUT, "found the word '%s', expected a number", word);
		return NULL;
	}
	return when(pool, (struct al_condition){.op = AL_OP_EQUAL, .left = terms, .word = word},
		true);
}

/* ---- arithmetic, leaf by leaf ---- */

static const struct al_cases *apply_to_leaves(struct al_pool *pool, enum al_operator op,
	const struct al_terms *a, const struct al_terms *b)
{
	if (op >= AL_OP_EQUAL && op <= AL_OP_GREATER_EQUAL)
		return compare(pool, op, a, b);
	return al_cases_leaf(pool, al_terms_apply(pool, op, a, b));
}

const struct al_cases *al_cases_apply(struct al_pool *pool, enum al_operator op,
	const struct al_cases *a, const struct al_cases *b)
{
	if (!a || !b)
		return NULL;

	const struct al_condition *top = first(a->condition, b->condition);
	if (!top)
		return apply_to_leaves(pool, op, a->terms, b->terms);
	/* A comparison of leaves may bring conditions that come before `top`: choose sorts them
	 * in. */
	return al_cases_choose(pool, al_cases_indicator(pool, top, true),
		al_cases_apply(pool, op, given(a, top, true), given(b, top, true)),
		al_cases_apply(pool, op, given(a, top, false), given(b, top, false)));
}
