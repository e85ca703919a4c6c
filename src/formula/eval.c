/* Exact evaluation of a formula's tree. */

#include "formula/tree.h"

struct run {
	const char *source;
	const struct al_scope *scope;
	struct al_error *err;
};

static bool evaluate(const struct run *run, const struct al_node *node, struct al_value *out);

/* ---- symbols ---- */

static bool fail_unknown(const struct run *run, const struct al_node *node)
{
	const struct al_scope *scope = run->scope;
	const char *const *names = NULL;

	while (!scope->known && scope->outer)
		scope = scope->outer;
	size_t n = scope->known ? scope->known(scope->context, &names) : 0;
	if (node->end - node->begin > strlen(node->text) && al_find_name(node->text, names, n) >= 0)
		return al_formula_fail_at(run->source, node->begin, run->err,
			"\"%.*s\" has no value", (int)(node->end - node->begin),
			run->source + node->begin);
	if (n == 0)
		return al_formula_fail_at(run->source, node->begin, run->err,
			"unknown symbol \"%s\"", node->text);

	struct al_error unknown;
	al_fail_unknown(&unknown, "symbol", node->text, names, n);
	return al_formula_fail_at(run->source, node->begin, run->err, "%s", unknown.message);
}

static bool fail_word(const struct run *run, const struct al_node *node, const char *word)
{
	return al_formula_fail_at(run->source, node->begin, run->err,
		"found the word '%s', expected a number", word);
}

static bool evaluate_number(const struct run *run, const struct al_node *node, struct al_value *out)
{
	if (!evaluate(run, node, out))
		return false;
	return out->kind != AL_VALUE_WORD || fail_word(run, node, out->word);
}

static bool evaluate_index(const struct run *run, const struct al_node *node, int64_t *index)
{
	AL_VALUE(value);
	if (!evaluate_number(run, node, &value))
		return false;
	*index = value.integer;
	return value.kind == AL_VALUE_INTEGER
		|| al_formula_fail_at(run->source, node->begin, run->err,
			"the index is not a whole number");
}

/* Leaves *found false if the symbol is unknown. */
static bool look_up(const struct run *run, const struct al_node *node, bool *found,
	struct al_value *out)
{
	struct al_reference reference = {.symbol = node->text,
		.row = node->row,
		.has_index = node->n_args > 0};

	*found = false;
	if (reference.has_index && !evaluate_index(run, node->args[0], &reference.index))
		return false;
	for (const struct al_scope *s = run->scope; s && !*found; s = s->outer)
		if (!s->lookup(s->context, &reference, found, out, run->err))
			return false;
	return true;
}

static bool evaluate_symbol(const struct run *run, const struct al_node *node, struct al_value *out)
{
	bool found;

	return look_up(run, node, &found, out) && (found || fail_unknown(run, node));
}

/* ---- operators ---- */

static bool evaluate_literal(const struct al_node *node, struct al_value *out)
{
	if (node->op == AL_OP_WORD)
		al_value_set_word(out, node->text);
	else if (node->exact)
		al_value_set_exact(out, node->exact);
	else
		al_value_set_int(out, node->integer);
	return true;
}

static bool evaluate_truth(const struct run *run, const struct al_node *node, bool *out)
{
	AL_VALUE(value);
	bool ok = evaluate_number(run, node, &value);
	*out = value.kind == AL_VALUE_EXACT || value.integer != 0;
	return ok;
}

static bool apply(const struct run *run, const struct al_node *node, enum al_operator op,
	const struct al_value *left, const struct al_value *right, struct al_value *out)
{
	const char *wrong = al_value_apply(op, left, right, out);

	return !wrong
		|| al_formula_fail_at(run->source, node->begin, run->err, "%s in \"%s\"", wrong,
			run->source);
}

static bool evaluate_negation(const struct run *run, const struct al_node *node,
	struct al_value *out)
{
	struct al_value zero;

	al_value_init(&zero);
	return evaluate_number(run, node->args[0], out)
		&& apply(run, node, AL_OP_SUBTRACT, &zero, out, out);
}

static bool evaluate_arithmetic(const struct run *run, const struct al_node *node,
	struct al_value *out)
{
	AL_VALUE(right);
	return evaluate_number(run, node->args[0], out)
		&& evaluate_number(run, node->args[1], &right)
		&& apply(run, node, node->op, out, &right, out);
}

static bool compare(const struct run *run, const struct al_node *node, const struct al_value *left,
	const struct al_value *right, bool *out)
{
	bool is_word = left->kind == AL_VALUE_WORD;
	bool is_ordered = node->op != AL_OP_EQUAL && node->op != AL_OP_NOT_EQUAL;

	if (is_word != (right->kind == AL_VALUE_WORD) || (is_word && is_ordered))
		return fail_word(run, node->args[is_word ? 0 : 1],
			is_word ? left->word : right->word);
	int order = is_word ? strcmp(left->word, right->word) : al_value_compare(left, right);
	*out = al_op_accepts(node->op, order);
	return true;
}

static bool evaluate_comparison(const struct run *run, const struct al_node *node,
	struct al_value *out)
{
	bool holds = false;

	AL_VALUE(right);
	bool ok = evaluate(run, node->args[0], out) && evaluate(run, node->args[1], &right)
		&& compare(run, node, out, &right, &holds);
	al_value_set_int(out, holds);
	return ok;
}

/* not, and, or: the second operand only where the first does not decide. */
static bool evaluate_logic(const struct run *run, const struct al_node *node, struct al_value *out)
{
	bool holds;

	if (!evaluate_truth(run, node->args[0], &holds))
		return false;
	if (node->op == AL_OP_NOT)
		holds = !holds;
	else if (holds == (node->op == AL_OP_AND) && !evaluate_truth(run, node->args[1], &holds))
		return false;
	al_value_set_int(out, holds);
	return true;
}

static bool evaluate_if(const struct run *run, const struct al_node *node, struct al_value *out)
{
	bool holds;

	return evaluate_truth(run, node->args[0], &holds)
		&& evaluate(run, node->args[holds ? 1 : 2], out);
}

static bool evaluate_extreme(const struct run *run, const struct al_node *node,
	struct al_value *out)
{
	enum al_operator keeps = node->op == AL_OP_MIN ? AL_OP_LESS : AL_OP_GREATER;

	AL_VALUE(other);
	if (!evaluate_number(run, node->args[0], out))
		return false;
	for (size_t i = 1; i < node->n_args; i++) {
		if (!evaluate_number(run, node->args[i], &other))
			return false;
		if (al_op_accepts(keeps, al_value_compare(&other, out)))
			al_value_copy(out, &other);
	}
	return true;
}

static bool evaluate(const struct run *run, const struct al_node *node, struct al_value *out)
{
	switch (node->op) {
	case AL_OP_INTEGER:
	case AL_OP_WORD:
		return evaluate_literal(node, out);
	case AL_OP_SYMBOL:
		return evaluate_symbol(run, node, out);
	case AL_OP_NEGATE:
		return evaluate_negation(run, node, out);
	case AL_OP_EQUAL:
	case AL_OP_NOT_EQUAL:
	case AL_OP_LESS:
	case AL_OP_LESS_EQUAL:
	case AL_OP_GREATER:
	case AL_OP_GREATER_EQUAL:
		return evaluate_comparison(run, node, out);
	case AL_OP_NOT:
	case AL_OP_AND:
	case AL_OP_OR:
		return evaluate_logic(run, node, out);
	case AL_OP_IF:
		return evaluate_if(run, node, out);
	case AL_OP_MIN:
	case AL_OP_MAX:
		return evaluate_extreme(run, node, out);
	default:
		return evaluate_arithmetic(run, node, out);
	}
}

/* ---- what callers ask ---- */

bool al_formula_eval(const struct al_formula *formula, const struct al_scope *scope,
	struct al_value *out, struct al_error *err)
{
	struct run run = {.source = formula->source, .scope = scope, .err = err};

	return evaluate(&run, formula->root, out);
}

bool al_formula_holds(const struct al_formula *formula, const struct al_scope *scope, bool *out,
	struct al_error *err)
{
	struct run run = {.source = formula->source, .scope = scope, .err = err};

	return evaluate_truth(&run, formula->root, out);
}

/* A number for a message: long ones by their length. */
static void describe(const struct al_value *value, char *out, size_t room)
{
	AL_EXACT(number);
	al_value_get(value, number);
	size_t n = mpz_sizeinbase(mpq_numref(number), 10) + mpz_sizeinbase(mpq_denref(number), 10)
		+ 3;
	if (n <= room)
		mpq_get_str(out, 10, number);
	else
		snprintf(out, room, "a number of %zu digits",
			mpz_sizeinbase(mpq_numref(number), 10));
}

static bool check_whole(const struct al_formula *formula, const struct al_value *value,
	int64_t least, struct al_error *err)
{
	char text[80];

	if (value->kind == AL_VALUE_INTEGER && value->integer >= least
		&& value->integer < INT64_C(1) << 53)
		return true;
	describe(value, text, sizeof(text));
	if (value->kind == AL_VALUE_EXACT && mpz_cmp_ui(mpq_denref(value->exact), 1) != 0)
		return al_fail(err, AL_EINPUT, "%s = %s is not a whole number", formula->source,
			text);
	if (al_value_compare(value, &(struct al_value){.integer = least}) < 0)
		return al_fail(err, AL_EINPUT, "%s = %s, expected %lld or more", formula->source,
			text, (long long)least);
	if (al_value_compare(value, &(struct al_value){.integer = INT64_C(1) << 53}) >= 0)
		return al_fail(err, AL_EINPUT, "%s = %s, expected less than 2^53", formula->source,
			text);
	return true;
}

bool al_formula_whole(const struct al_formula *formula, const struct al_scope *scope, int64_t least,
	int64_t *out, struct al_error *err)
{
	struct run run = {.source = formula->source, .scope = scope, .err = err};

	AL_VALUE(value);
	bool ok = evaluate_number(&run, formula->root, &value)
		&& check_whole(formula, &value, least, err);
	*out = value.integer;
	return ok;
}

/* ---- what a value hangs on ---- */

static bool has_value(const struct run *run, const struct al_node *node)
{
	AL_VALUE(value);
	return evaluate(run, node, &value);
}

/* The branch that a decided `if` takes. */
static const struct al_node *decided(const struct run *run, const struct al_node *node)
{
	bool holds;

	while (node->op == AL_OP_IF && evaluate_truth(run, node->args[0], &holds))
		node = node->args[holds ? 1 : 2];
	return node;
}

static bool node_depends(const struct run *run, const struct al_node *node, const char *symbol)
{
	node = decided(run, node);
	if (node->op == AL_OP_SYMBOL && strcmp(node->text, symbol) == 0)
		return true;
	if (has_value(run, node))
		return false;
	for (size_t i = 0; i < node->n_args; i++)
		if (node_depends(run, node->args[i], symbol))
			return true;
	return false;
}

bool al_formula_depends(const struct al_formula *formula, const char *symbol,
	const struct al_scope *known)
{
	const struct run run = {.source = formula ? formula->source : "", .scope = known};

	return al_formula_mentions(formula, symbol) && node_depends(&run, formula->root, symbol);
}

/* ---- substitution in the text ---- */

static void add_value(struct al_text *out, const struct al_value *value)
{
	if (value->kind == AL_VALUE_WORD) {
		al_text_addf(out, "'%s'", value->word);
	} else if (value->kind == AL_VALUE_INTEGER) {
		al_text_addf(out, value->integer < 0 ? "(%lld)" : "%lld",
			(long long)value->integer);
	} else {
		al_text_add(out, "(");
		al_text_add_exact(out, value->exact);
		al_text_add(out, ")");
	}
}

/* Adds the source from `*done` on up to the symbol, then its value; leaves an unknown symbol as it
 * is. Operands come in the order of the text. */
static bool substitute(const struct run *run, const struct al_node *node, size_t *done,
	struct al_text *out)
{
	if (node->op != AL_OP_SYMBOL) {
		for (size_t i = 0; i < node->n_args; i++)
			if (!substitute(run, node->args[i], done, out))
				return false;
		return true;
	}

	bool found;
	AL_VALUE(value);
	if (!look_up(run, node, &found, &value))
		return false;
	if (found) {
		al_text_add_bytes(out, run->source + *done, node->begin - *done);
		add_value(out, &value);
		*done = node->end;
	}
	return true;
}

bool al_formula_substituted(const struct al_formula *formula, const struct al_scope *scope,
	struct al_arena *arena, const char **out, struct al_error *err)
{
	struct run run = {.source = formula->source, .scope = scope, .err = err};
	size_t done = 0;

	AL_TEXT(text);
	if (!substitute(&run, formula->root, &done, &text))
		return false;
	al_text_add(&text, formula->source + done);
	*out = al_strdup(arena, text.data);
	return true;
}
