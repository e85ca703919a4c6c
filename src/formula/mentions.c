/* Which symbols a formula mentions, and how. */
#include "formula/tree.h"

#include <string.h>

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

/* ---- along a variable ---- */

static bool is_bare(const struct al_node *node, const char *symbol)
{
	return node->op == AL_OP_SYMBOL && node->n_args == 0 && strcmp(node->text, symbol) == 0;
}

static bool is_bound(const struct al_node *node, const char *variable, const char *symbol)
{
	return node->op >= AL_OP_EQUAL && node->op <= AL_OP_GREATER_EQUAL
		&& ((is_bare(node->args[0], variable) && is_bare(node->args[1], symbol))
			|| (is_bare(node->args[0], symbol) && is_bare(node->args[1], variable)));
}

static enum al_along node_along(const struct al_node *node, const char *variable,
	const char *symbol)
{
	enum al_along along = AL_ALONG_NOWHERE;

	if (is_bound(node, variable, symbol))
		return AL_ALONG_BOUND;
	if (node->op == AL_OP_SYMBOL && strcmp(node->text, symbol) == 0)
		return node->n_args == 1 && is_bare(node->args[0], variable) ? AL_ALONG_INDEX
									     : AL_ALONG_ALL;
	for (size_t i = 0; i < node->n_args; i++) {
		enum al_along of = node_along(node->args[i], variable, symbol);
		if (along != AL_ALONG_NOWHERE && of != AL_ALONG_NOWHERE && of != along)
			return AL_ALONG_ALL;
		along = of != AL_ALONG_NOWHERE ? of : along;
	}
	return along;
}

enum al_along al_formula_along(const struct al_formula *formula, const char *variable,
	const char *symbol)
{
	return formula ? node_along(formula->root, variable, symbol) : AL_ALONG_NOWHERE;
}
