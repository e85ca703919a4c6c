/* Formulas bound to places. */
#include "formula/bound.h"

#include <string.h>

#include "formula/tree.h"

struct al_bound {
	enum al_operator op;
	int64_t integer; /* AL_OP_INTEGER */
	const char *word; /* AL_OP_WORD */
	size_t place; /* AL_OP_SYMBOL */
	const struct al_bound **args;
	size_t n_args;
	bool is_beyond; /* AL_OP_INTEGER: it doesn't fit */
};

struct binding {
	struct al_arena *arena;
	size_t (*find)(void *context, const char *symbol);
	void *context;
};

static const struct al_bound *bind(const struct binding *binding, const struct al_node *node)
{
	struct al_bound *bound = al_new(binding->arena, struct al_bound);

	*bound = (struct al_bound){.op = node->op,
		.integer = node->integer,
		.is_beyond = node->exact != NULL,
		.n_args = node->n_args};
	if (node->op == AL_OP_WORD)
		bound->word = node->text;
	if (node->op == AL_OP_SYMBOL)
		bound->place = binding->find(binding->context, node->text);
	bound->args = al_new_array(binding->arena, const struct al_bound *, node->n_args);
	for (size_t i = 0; i < node->n_args; i++)
		bound->args[i] = bind(binding, node->args[i]);
	return bound;
}

const struct al_bound *al_formula_bind(struct al_arena *arena, const struct al_formula *formula,
	size_t (*find)(void *context, const char *symbol), void *context)
{
	const struct binding binding = {arena, find, context};

	return bind(&binding, formula->root);
}

/* ---- evaluation ---- */

struct result {
	int64_t number;
	const char *word; /* NULL: a number */
};

static bool evaluate(const struct al_bound *b, const struct al_place *places, struct result *out);

static bool number(const struct al_bound *b, const struct al_place *places, int64_t *out)
{
	struct result result;

	if (!evaluate(b, places, &result) || result.word)
		return false;
	*out = result.number;
	return true;
}

static bool item(const struct al_place *place, int64_t index, struct result *out)
{
	if (!place->list || index < 0 || (uint64_t)index >= place->n_list)
		return false;
	const struct al_value *value = &place->list[index];
	*out = (struct result){.number = value->integer,
		.word = value->kind == AL_VALUE_WORD ? value->word : NULL};
	return true;
}

static bool symbol(const struct al_bound *b, const struct al_place *places, struct result *out)
{
	const struct al_place *place = &places[b->place];
	int64_t index;

	if (!place->is_known)
		return false;
	if (b->n_args > 0)
		return number(b->args[0], places, &index) && item(place, index, out);
	*out = (struct result){place->number, place->word};
	return !place->list;
}

static bool compare(const struct al_bound *b, const struct al_place *places, int64_t *out)
{
	struct result left, right;

	if (!evaluate(b->args[0], places, &left) || !evaluate(b->args[1], places, &right)
		|| !left.word != !right.word)
		return false;
	int order = left.word ? strcmp(left.word, right.word)
			      : (left.number > right.number) - (left.number < right.number);
	*out = al_op_accepts(b->op, order);
	return !left.word || b->op == AL_OP_EQUAL || b->op == AL_OP_NOT_EQUAL;
}

/* The second operand only where the first does not decide. */
static bool logic(const struct al_bound *b, const struct al_place *places, int64_t *out)
{
	if (!number(b->args[0], places, out))
		return false;
	*out = b->op == AL_OP_NOT ? *out == 0 : *out != 0;
	if (b->op == AL_OP_NOT || (*out != 0) != (b->op == AL_OP_AND))
		return true;
	if (!number(b->args[1], places, out))
		return false;
	*out = *out != 0;
	return true;
}

static bool extreme(const struct al_bound *b, const struct al_place *places, int64_t *out)
{
	int64_t other;

	if (!number(b->args[0], places, out))
		return false;
	for (size_t i = 1; i < b->n_args; i++) {
		if (!number(b->args[i], places, &other))
			return false;
		if (b->op == AL_OP_MIN ? other < *out : other > *out)
			*out = other;
	}
	return true;
}

static bool negate(const struct al_bound *b, const struct al_place *places, int64_t *out)
{
	return number(b->args[0], places, out) && !__builtin_sub_overflow((int64_t)0, *out, out);
}

static bool binary(const struct al_bound *b, const struct al_place *places, int64_t *out)
{
	int64_t left, right;

	return number(b->args[0], places, &left) && number(b->args[1], places, &right)
		&& al_integer_apply(b->op, left, right, out);
}

static bool evaluate(const struct al_bound *b, const struct al_place *places, struct result *out)
{
	out->word = NULL;
	switch (b->op) {
	case AL_OP_INTEGER:
		out->number = b->integer;
		return !b->is_beyond;
	case AL_OP_WORD:
		out->word = b->word;
		return true;
	case AL_OP_SYMBOL:
		return symbol(b, places, out);
	case AL_OP_NEGATE:
		return negate(b, places, &out->number);
	case AL_OP_EQUAL:
	case AL_OP_NOT_EQUAL:
	case AL_OP_LESS:
	case AL_OP_LESS_EQUAL:
	case AL_OP_GREATER:
	case AL_OP_GREATER_EQUAL:
		return compare(b, places, &out->number);
	case AL_OP_NOT:
	case AL_OP_AND:
	case AL_OP_OR:
		return logic(b, places, &out->number);
	case AL_OP_IF:
		return number(b->args[0], places, &out->number)
			&& evaluate(b->args[out->number ? 1 : 2], places, out);
	case AL_OP_MIN:
	case AL_OP_MAX:
		return extreme(b, places, &out->number);
	default:
		return binary(b, places, &out->number);
	}
}

bool al_bound_whole(const struct al_bound *bound, const struct al_place *places, int64_t least,
	int64_t *out)
{
	return number(bound, places, out) && *out >= least && *out < INT64_C(1) << 53;
}
