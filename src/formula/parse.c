/* Formula text to tree: recursive descent by levels of precedence.
 *
 *   or < and < not < comparison < + - < * / < unary - < ^ */

#include "formula/tree.h"

struct parser {
	struct al_lexer lexer;
	struct al_arena *arena;
	struct al_error *err;
	int depth;
};

/* A parsing function returns the tree, or NULL once the error is set. */
static const struct al_node *parse_level(struct parser *p, enum al_precedence level);

static bool next(struct parser *p)
{
	return al_lex_next(&p->lexer, p->err);
}

static bool is_at(const struct parser *p, enum al_token kind)
{
	return p->lexer.kind == kind;
}

static bool is_at_operator(const struct parser *p, enum al_operator op)
{
	return is_at(p, AL_TOKEN_OPERATOR) && p->lexer.op == op;
}

static const struct al_node *expected(const struct parser *p, const char *what)
{
	al_lex_expected(&p->lexer, what, p->err);
	return NULL;
}

static const struct al_node *fail_at(const struct parser *p, size_t offset, const char *message)
{
	al_formula_fail_at(p->lexer.source, offset, p->err, "%s", message);
	return NULL;
}

/* Every recursion passes here. */
static bool descend(struct parser *p)
{
	if (++p->depth <= AL_FORMULA_DEPTH)
		return true;
	return al_formula_fail_at(p->lexer.source, p->lexer.begin, p->err,
		"nested deeper than %d levels", AL_FORMULA_DEPTH);
}

/* ---- nodes ---- */

/* Where messages about a node point, taken before its token is passed. */
struct place {
	size_t begin, end;
};

static struct place here(const struct parser *p)
{
	return (struct place){p->lexer.begin, p->lexer.end};
}

static bool check_words(const struct parser *p, enum al_operator op,
	const struct al_node *const *args, size_t n)
{
	if (op == AL_OP_EQUAL || op == AL_OP_NOT_EQUAL)
		return true;
	for (size_t i = 0; i < n; i++)
		if (args[i]->op == AL_OP_WORD)
			return al_formula_fail_at(p->lexer.source, args[i]->begin, p->err,
				"a word can only be compared with == or !=");
	return true;
}

static struct al_node *make_leaf(struct parser *p, enum al_operator op, struct place place)
{
	struct al_node *node = al_new(p->arena, struct al_node);

	node->op = op;
	node->begin = place.begin;
	node->end = place.end;
	return node;
}

static const struct al_node *make(struct parser *p, enum al_operator op, struct place place,
	const struct al_node *const *args, size_t n)
{
	if (!check_words(p, op, args, n))
		return NULL;
	struct al_node *node = make_leaf(p, op, place);
	node->args = al_new_array(p->arena, const struct al_node *, n);
	memcpy(node->args, args, n * sizeof(*args));
	node->n_args = n;
	return node;
}

static const struct al_node *make_pair(struct parser *p, enum al_operator op, struct place place,
	const struct al_node *left, const struct al_node *right)
{
	return left && right ? make(p, op, place, (const struct al_node *[]){left, right}, 2)
			     : NULL;
}

static char *token_text(struct parser *p, size_t begin, size_t end)
{
	return al_strndup(p->arena, p->lexer.source + begin, end - begin);
}

/* ---- operands ---- */

static const struct al_node *parse_integer(struct parser *p)
{
	struct al_node *node = make_leaf(p, AL_OP_INTEGER, here(p));
	const char *digits = token_text(p, node->begin, node->end);

	AL_EXACT(value);
	mpq_set_str(value, digits, 10);
	if (!al_integer_get(mpq_numref(value), &node->integer))
		node->exact = al_exact_copy(p->arena, value);
	return next(p) ? node : NULL;
}

static const struct al_node *parse_word(struct parser *p)
{
	struct al_node *node = make_leaf(p, AL_OP_WORD, here(p));

	node->text = token_text(p, node->begin + 1, node->end - 1);
	return next(p) ? node : NULL;
}

static const struct al_node *parse_brackets(struct parser *p)
{
	if (!descend(p) || !next(p))
		return NULL;
	const struct al_node *inner = parse_level(p, AL_BINDS_OR);
	if (!inner)
		return NULL;
	if (!is_at(p, AL_TOKEN_CLOSE))
		return expected(p, "\")\"");
	p->depth--;
	return next(p) ? inner : NULL;
}

static const struct al_operator_info *function_named(const char *name)
{
	for (size_t i = 0; i < AL_N_OPERATORS; i++)
		if (al_operators[i].most > 0 && strcmp(name, al_operators[i].text) == 0)
			return &al_operators[i];
	return NULL;
}

static const struct al_node *wrong_count(const struct parser *p, const struct al_operator_info *f,
	struct place place, size_t n)
{
	if (f->least == f->most)
		al_formula_fail_at(p->lexer.source, place.begin, p->err,
			"%s has %zu arguments, expected %zu", f->text, n, f->least);
	else
		al_formula_fail_at(p->lexer.source, place.begin, p->err,
			"%s has more than %zu arguments", f->text, f->most);
	return NULL;
}

/* At the "(" after the function's name. */
static const struct al_node *parse_call(struct parser *p, const struct al_operator_info *f,
	struct place place)
{
	const struct al_node *args[AL_FORMULA_ARGS];
	size_t n = 0;

	if (!is_at(p, AL_TOKEN_OPEN))
		return expected(p, "\"(\" after a function");
	if (!descend(p))
		return NULL;
	do {
		if (n == AL_FORMULA_ARGS)
			return wrong_count(p, f, place, n + 1);
		if (!next(p) || !(args[n++] = parse_level(p, AL_BINDS_OR)))
			return NULL;
	} while (is_at(p, AL_TOKEN_COMMA));
	if (!is_at(p, AL_TOKEN_CLOSE))
		return expected(p, "\",\" or \")\"");
	if (n < f->least || n > f->most)
		return wrong_count(p, f, place, n);
	p->depth--;
	return next(p) ? make(p, (enum al_operator)(f - al_operators), place, args, n) : NULL;
}

/* At the "[" after a symbol. */
static bool parse_index(struct parser *p, struct al_node *symbol)
{
	if (p->lexer.dialect == AL_DIALECT_CELLS) {
		size_t begin, end;
		if (!al_lex_row(&p->lexer, &begin, &end, p->err))
			return false;
		symbol->row = token_text(p, begin, end);
	} else {
		symbol->args = al_new_array(p->arena, const struct al_node *, 1);
		symbol->n_args = 1;
		if (!descend(p) || !next(p) || !(symbol->args[0] = parse_level(p, AL_BINDS_OR))
			|| !check_words(p, AL_OP_SYMBOL, symbol->args, 1))
			return false;
		p->depth--;
	}
	if (!is_at(p, AL_TOKEN_CLOSE_INDEX))
		return al_lex_expected(&p->lexer, "\"]\"", p->err);
	symbol->end = p->lexer.end;
	return next(p);
}

static const struct al_node *parse_name(struct parser *p)
{
	struct place place = here(p);
	const char *name = token_text(p, place.begin, place.end);
	const struct al_operator_info *f = function_named(name);

	if (!next(p))
		return NULL;
	if (f)
		return parse_call(p, f, place);
	struct al_node *symbol = make_leaf(p, AL_OP_SYMBOL, place);
	symbol->text = name;
	return is_at(p, AL_TOKEN_OPEN_INDEX) && !parse_index(p, symbol) ? NULL : symbol;
}

static const struct al_node *parse_operand(struct parser *p)
{
	switch (p->lexer.kind) {
	case AL_TOKEN_INTEGER:
		return parse_integer(p);
	case AL_TOKEN_WORD:
		return parse_word(p);
	case AL_TOKEN_NAME:
		return parse_name(p);
	case AL_TOKEN_OPEN:
		return parse_brackets(p);
	default:
		return expected(p, "a number, a symbol or \"(\"");
	}
}

/* ---- operators ---- */

static const struct al_node *parse_power(struct parser *p)
{
	const struct al_node *base = parse_operand(p);
	struct place place = here(p);

	if (!base || !is_at_operator(p, AL_OP_POWER))
		return base;
	if (!descend(p) || !next(p))
		return NULL;
	const struct al_node *exponent = parse_level(p, AL_BINDS_SIGN);
	if (exponent && exponent->op == AL_OP_INTEGER
		&& (exponent->exact || exponent->integer > AL_FORMULA_EXPONENT)) {
		al_formula_fail_at(p->lexer.source, exponent->begin, p->err,
			"the exponent is beyond %d", AL_FORMULA_EXPONENT);
		return NULL;
	}
	p->depth--;
	return make_pair(p, AL_OP_POWER, place, base, exponent);
}

/* An operator before its only operand. */
static const struct al_node *parse_prefix(struct parser *p, enum al_operator op,
	enum al_precedence level)
{
	struct place place = here(p);

	if (!descend(p) || !next(p))
		return NULL;
	const struct al_node *operand = parse_level(p, level);
	p->depth--;
	return operand ? make(p, op, place, &operand, 1) : NULL;
}

/* In print a symbol or a bracket multiplies what comes before it. */
static bool is_at_factor(const struct parser *p)
{
	return p->lexer.dialect == AL_DIALECT_PRINTED
		&& (is_at(p, AL_TOKEN_NAME) || is_at(p, AL_TOKEN_OPEN));
}

static const struct al_node *parse_product(struct parser *p)
{
	const struct al_node *left = parse_level(p, AL_BINDS_SIGN);
	bool is_quotient = false;

	while (left) {
		struct place place = here(p);
		bool is_factor = is_at_factor(p), is_over = is_at_operator(p, AL_OP_DIVIDE);
		if (!is_factor && !is_over && !is_at_operator(p, AL_OP_MULTIPLY))
			break;
		if (is_factor && is_quotient)
			return fail_at(p, place.begin,
				"a factor after a quotient is ambiguous, expected brackets");
		if (!is_factor && !next(p))
			return NULL;
		left = make_pair(p, is_over ? AL_OP_DIVIDE : AL_OP_MULTIPLY, place, left,
			is_factor ? parse_power(p) : parse_level(p, AL_BINDS_SIGN));
		is_quotient = is_over;
	}
	return left;
}

static bool is_at_level(const struct parser *p, enum al_precedence level)
{
	return is_at(p, AL_TOKEN_OPERATOR) && al_operators[p->lexer.op].level == level;
}

/* Operands from left to right. */
static const struct al_node *parse_pairs(struct parser *p, enum al_precedence level)
{
	const struct al_node *left = parse_level(p, level + 1);

	while (left && is_at_level(p, level)) {
		const enum al_operator op = p->lexer.op;
		struct place place = here(p);
		if (!next(p))
			return NULL;
		left = make_pair(p, op, place, left, parse_level(p, level + 1));
		if (left && level == AL_BINDS_COMPARISON && is_at_level(p, level))
			return expected(p, "\"and\" between two comparisons");
	}
	return left;
}

static const struct al_node *parse_level(struct parser *p, enum al_precedence level)
{
	switch (level) {
	case AL_BINDS_NOT:
		if (is_at_operator(p, AL_OP_NOT))
			return parse_prefix(p, AL_OP_NOT, level);
		return parse_level(p, AL_BINDS_COMPARISON);
	case AL_BINDS_PRODUCT:
		return parse_product(p);
	case AL_BINDS_SIGN:
		if (is_at_operator(p, AL_OP_SUBTRACT))
			return parse_prefix(p, AL_OP_NEGATE, level);
		return parse_power(p);
	default:
		return parse_pairs(p, level);
	}
}

static const struct al_node *parse_all(struct parser *p)
{
	if (!next(p))
		return NULL;
	if (is_at(p, AL_TOKEN_END)) {
		al_fail(p->err, AL_EINPUT, "the formula is empty");
		return NULL;
	}
	const struct al_node *root = parse_level(p, AL_BINDS_OR);
	if (root && !is_at(p, AL_TOKEN_END))
		return expected(p, "an operator");
	return root && check_words(p, AL_OP_IF, &root, 1) ? root : NULL;
}

bool al_formula_parse(struct al_arena *arena, const char *text, enum al_dialect dialect,
	const struct al_formula **out, struct al_error *err)
{
	size_t length = strlen(text);
	if (length > AL_FORMULA_LENGTH)
		return al_fail(err, AL_EINPUT,
			"the formula has %zu characters, expected at most %d", length,
			AL_FORMULA_LENGTH);

	struct al_formula *formula = al_new(arena, struct al_formula);
	formula->source = al_strdup(arena, text);
	struct parser parser = {.lexer = {.source = formula->source, .dialect = dialect},
		.arena = arena,
		.err = err};
	formula->root = parse_all(&parser);
	*out = formula;
	return formula->root != NULL;
}

const char *al_formula_source(const struct al_formula *formula)
{
	return formula->source;
}

bool al_formula_is_integer(const struct al_formula *formula, int64_t *value)
{
	const struct al_node *root = formula->root;
	bool is_negative = root->op == AL_OP_NEGATE;
	const struct al_node *literal = is_negative ? root->args[0] : root;

	if (literal->op != AL_OP_INTEGER || literal->exact)
		return false;
	*value = is_negative ? -literal->integer : literal->integer;
	return true;
}

/* ---- the symbols that it mentions ---- */

static void visit_symbols(const struct al_node *node,
	void (*visit)(void *context, const char *symbol), void *context)
{
	if (node->op == AL_OP_SYMBOL)
		visit(context, node->text);
	for (size_t i = 0; i < node->n_args; i++)
		visit_symbols(node->args[i], visit, context);
}

void al_formula_each_symbol(const struct al_formula *formula,
	void (*visit)(void *context, const char *symbol), void *context)
{
	visit_symbols(formula->root, visit, context);
}

static bool node_mentions(const struct al_node *node, const char *symbol)
{
	if (node->op == AL_OP_SYMBOL && strcmp(node->text, symbol) == 0)
		return true;
	for (size_t i = 0; i < node->n_args; i++)
		if (node_mentions(node->args[i], symbol))
			return true;
	return false;
}

bool al_formula_mentions(const struct al_formula *formula, const char *symbol)
{
	return formula && node_mentions(formula->root, symbol);
}
