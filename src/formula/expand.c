/* A formula's tree to a polynomial by cases. */

#include "formula/cases.h"

struct expansion {
	struct al_pool *pool;
	const char *source;
	const struct al_substitution *substitutions;
	const struct al_cases **substituted; /* each expanded when it is first met */
	size_t n_substitutions;
};

static const struct al_cases *expand(struct expansion *e, const struct al_node *node);

/* Puts the column before an error of this very operation, not of its operands. */
static const struct al_cases *located(const struct expansion *e, const struct al_node *node,
	const struct al_cases *result)
{
	if (!result && e->pool->err) {
		struct al_error inner = *e->pool->err;
		al_formula_fail_at(e->source, node->begin, e->pool->err, "%s", inner.message);
	}
	return result;
}

/* A node that was made true or false: its value where nothing is left to decide. */
static bool is_decided(const struct al_cases *truth, bool *holds)
{
	*holds = !truth->condition && !al_terms_is_int(truth->terms, 0);
	return !truth->condition;
}

/* ---- symbols ---- */

static const struct al_cases *symbol_with(struct expansion *e, const struct al_node *node,
	const char *name, const struct al_terms *index)
{
	const struct al_polynomial_factor *factor = al_factor_create(e->pool, AL_OP_SYMBOL, name,
		index, NULL);

	return located(e, node,
		factor ? al_cases_leaf(e->pool, al_terms_from_factor(e->pool, factor)) : NULL);
}

/* NAME[index]: one symbol for each case of the index. */
static const struct al_cases *index_by(struct expansion *e, const struct al_node *node,
	const struct al_cases *index)
{
	if (!index)
		return NULL;
	if (!index->condition)
		return symbol_with(e, node, node->text, index->terms);

	const struct al_cases *then = index_by(e, node, index->then);
	const struct al_cases *otherwise = index_by(e, node, index->otherwise);
	return al_cases_choose(e->pool, al_cases_indicator(e->pool, index->condition, true), then,
		otherwise);
}

static const struct al_cases *substitution(struct expansion *e, size_t i)
{
	const struct al_substitution *s = &e->substitutions[i];

	if (!e->substituted[i]) {
		e->substituted[i] = al_cases_of(e->pool, s->formula,
			s->within ? s->within->items : NULL, s->within ? s->within->n : 0);
		if (!e->substituted[i])
			al_in(e->pool->err, "%s = %s", s->symbol, al_formula_source(s->formula));
	}
	return e->substituted[i];
}

static const struct al_cases *expand_symbol(struct expansion *e, const struct al_node *node)
{
	if (node->row)
		return symbol_with(e, node,
			al_format(&e->pool->arena, "%s[%s]", node->text, node->row), NULL);
	if (node->n_args)
		return index_by(e, node, expand(e, node->args[0]));
	for (size_t i = 0; i < e->n_substitutions; i++)
		if (strcmp(node->text, e->substitutions[i].symbol) == 0)
			return substitution(e, i);
	return symbol_with(e, node, node->text, NULL);
}

/* ---- operators ---- */

static const struct al_cases *expand_truth(struct expansion *e, const struct al_node *node)
{
	const struct al_cases *cases = expand(e, node);

	return cases ? located(e, node, al_cases_truth(e->pool, cases)) : NULL;
}

static const struct al_cases *expand_pair(struct expansion *e, const struct al_node *node)
{
	const struct al_cases *left = expand(e, node->args[0]);
	const struct al_cases *right = left ? expand(e, node->args[1]) : NULL;

	return right ? located(e, node, al_cases_apply(e->pool, node->op, left, right)) : NULL;
}

static const struct al_cases *expand_comparison(struct expansion *e, const struct al_node *node)
{
	const struct al_node *left = node->args[0], *right = node->args[1];
	const struct al_cases *truth;

	if (left->op != AL_OP_WORD && right->op != AL_OP_WORD)
		return expand_pair(e, node);
	if (left->op == AL_OP_WORD && right->op == AL_OP_WORD) {
		truth = al_cases_number(e->pool, strcmp(left->text, right->text) == 0);
	} else {
		const struct al_node *symbol = left->op == AL_OP_WORD ? right : left;
		const struct al_node *word = left->op == AL_OP_WORD ? left : right;
		const struct al_cases *symbols = expand(e, symbol);
		if (!symbols)
			return NULL;
		truth = located(e, word, al_cases_is_word(e->pool, symbols, word->text));
	}
	if (node->op == AL_OP_EQUAL)
		return truth;
	return al_cases_choose(e->pool, truth, al_cases_number(e->pool, 0),
		al_cases_number(e->pool, 1));
}

/* The second operand is ignored if the first decides, as in evaluation. */
static const struct al_cases *expand_logic(struct expansion *e, const struct al_node *node)
{
	const struct al_cases *left = expand_truth(e, node->args[0]);
	bool holds, is_and = node->op == AL_OP_AND;

	if (!left)
		return NULL;
	if (is_decided(left, &holds) && holds != is_and)
		return left;
	const struct al_cases *right = expand_truth(e, node->args[1]);
	if (!right)
		return NULL;
	return located(e, node,
		is_and ? al_cases_choose(e->pool, left, right, al_cases_number(e->pool, 0))
		       : al_cases_choose(e->pool, left, al_cases_number(e->pool, 1), right));
}

static const struct al_cases *expand_if(struct expansion *e, const struct al_node *node)
{
	const struct al_cases *truth = expand_truth(e, node->args[0]);
	bool holds;

	if (!truth)
		return NULL;
	if (is_decided(truth, &holds))
		return expand(e, node->args[holds ? 1 : 2]);
	const struct al_cases *then = expand(e, node->args[1]);
	const struct al_cases *otherwise = then ? expand(e, node->args[2]) : NULL;
	return otherwise ? located(e, node, al_cases_choose(e->pool, truth, then, otherwise))
			 : NULL;
}

static const struct al_cases *expand_extreme(struct expansion *e, const struct al_node *node)
{
	enum al_operator keeps = node->op == AL_OP_MIN ? AL_OP_LESS_EQUAL : AL_OP_GREATER_EQUAL;
	const struct al_cases *best = expand(e, node->args[0]);

	for (size_t i = 1; best && i < node->n_args; i++) {
		const struct al_cases *other = expand(e, node->args[i]);
		if (!other)
			return NULL;
		const struct al_cases *is_best = al_cases_apply(e->pool, keeps, best, other);
		best = located(e, node, al_cases_choose(e->pool, is_best, best, other));
	}
	return best;
}

static const struct al_cases *expand_integer(struct expansion *e, const struct al_node *node)
{
	return node->exact ? al_cases_leaf(e->pool, al_terms_from_exact(e->pool, node->exact))
			   : al_cases_number(e->pool, node->integer);
}

static const struct al_cases *expand_prefix(struct expansion *e, const struct al_node *node)
{
	const struct al_cases *zero = al_cases_number(e->pool, 0);
	const struct al_cases *operand = node->op == AL_OP_NOT ? expand_truth(e, node->args[0])
							       : expand(e, node->args[0]);

	if (!operand || node->op == AL_OP_NEGATE)
		return al_cases_apply(e->pool, AL_OP_SUBTRACT, zero, operand);
	return al_cases_choose(e->pool, operand, zero, al_cases_number(e->pool, 1));
}

static const struct al_cases *expand(struct expansion *e, const struct al_node *node)
{
	switch (node->op) {
	case AL_OP_INTEGER:
		return expand_integer(e, node);
	case AL_OP_SYMBOL:
		return expand_symbol(e, node);
	case AL_OP_NEGATE:
	case AL_OP_NOT:
		return expand_prefix(e, node);
	case AL_OP_EQUAL:
	case AL_OP_NOT_EQUAL:
		return expand_comparison(e, node);
	case AL_OP_AND:
	case AL_OP_OR:
		return expand_logic(e, node);
	case AL_OP_IF:
		return expand_if(e, node);
	case AL_OP_MIN:
	case AL_OP_MAX:
		return expand_extreme(e, node);
	default:
		return expand_pair(e, node);
	}
}

const struct al_cases *al_cases_of(struct al_pool *pool, const struct al_formula *formula,
	const struct al_substitution *substitutions, size_t n_substitutions)
{
	struct expansion e = {.pool = pool,
		.source = formula->source,
		.substitutions = substitutions,
		.substituted = al_new_array(&pool->arena, const struct al_cases *,
			n_substitutions + 1),
		.n_substitutions = n_substitutions};

	return expand(&e, formula->root);
}
