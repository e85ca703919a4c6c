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
