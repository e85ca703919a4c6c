/* A formula in postfix form. */
#include <string.h>

#include "base/text.h"
#include "formula/tree.h"

static const char *const operators[] = {
	[AL_OP_NEGATE] = "~",
	[AL_OP_NOT] = "!",
	[AL_OP_ADD] = "+",
	[AL_OP_SUBTRACT] = "-",
	[AL_OP_MULTIPLY] = "*",
	[AL_OP_DIVIDE] = "/",
	[AL_OP_POWER] = "^",
	[AL_OP_CEIL_DIV] = "ceil_div",
	[AL_OP_MOD] = "mod",
	[AL_OP_EQUAL] = "==",
	[AL_OP_NOT_EQUAL] = "!=",
	[AL_OP_LESS] = "<",
	[AL_OP_LESS_EQUAL] = "<=",
	[AL_OP_GREATER] = ">",
	[AL_OP_GREATER_EQUAL] = ">=",
	[AL_OP_AND] = "and",
	[AL_OP_OR] = "or",
	[AL_OP_IF] = "if",
	[AL_OP_MIN] = "min",
	[AL_OP_MAX] = "max",
};

static void add_integer(struct al_text *out, const struct al_node *node)
{
	if (!node->exact) {
		al_text_addf(out, "%lld", (long long)node->integer);
		return;
	}
	char *number = mpq_get_str(NULL, 10, node->exact);
	al_text_add(out, number);
	void (*release)(void *, size_t);
	mp_get_memory_functions(NULL, NULL, &release);
	release(number, strlen(number) + 1);
}

static void add_node(struct al_text *out, const struct al_node *node)
{
	for (size_t i = 0; i < node->n_args; i++) {
		add_node(out, node->args[i]);
		al_text_add(out, " ");
	}
	switch (node->op) {
	case AL_OP_INTEGER:
		add_integer(out, node);
		break;
	case AL_OP_WORD:
		al_text_addf(out, "'%s'", node->text);
		break;
	case AL_OP_SYMBOL:
		al_text_addf(out, "%s%s", node->text, node->n_args ? "[]" : "");
		break;
	case AL_OP_MIN:
	case AL_OP_MAX:
		al_text_addf(out, "%s:%zu", operators[node->op], node->n_args);
		break;
	default:
		al_text_add(out, operators[node->op]);
	}
}

void al_formula_postfix(const struct al_formula *formula, struct al_text *out)
{
	add_node(out, formula->root);
}
