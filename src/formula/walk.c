/* Walks over a formula's tree: the symbols that it mentions, and its postfix form. */
#include <string.h>

#include "formula/tree.h"

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

/* ---- postfix ---- */

static void add_node(struct al_text *out, const struct al_node *node)
{
	for (size_t i = 0; i < node->n_args; i++) {
		add_node(out, node->args[i]);
		al_text_add(out, " ");
	}
	switch (node->op) {
	case AL_OP_INTEGER:
		if (node->exact)
			al_text_add_exact(out, node->exact);
		else
			al_text_addf(out, "%lld", (long long)node->integer);
		break;
	case AL_OP_WORD:
		al_text_addf(out, "'%s'", node->text);
		break;
	case AL_OP_SYMBOL:
		al_text_addf(out, "%s%s", node->text, node->n_args ? "[]" : "");
		break;
	case AL_OP_MIN:
	case AL_OP_MAX:
		al_text_addf(out, "%s:%zu", al_operators[node->op].text, node->n_args);
		break;
	default:
		al_text_add(out, node->op == AL_OP_NOT ? "!" : al_operators[node->op].text);
	}
}

void al_formula_postfix(const struct al_formula *formula, struct al_text *out)
{
	add_node(out, formula->root);
}
