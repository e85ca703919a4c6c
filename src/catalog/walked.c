/* Which loops of a family's item are walked: whether anything of the item depends on their
 * variables. The others only multiply. */
#include <string.h>

#include "catalog/tensor_list.h"

static bool is_extra_by(const struct al_family *family, const char *variable)
{
	for (size_t i = 0; i < family->n_extras; i++)
		if (strcmp(family->extras[i].variable, variable) == 0)
			return true;
	return false;
}

static bool loops_mention(const struct al_loops *loops, const char *variable)
{
	for (size_t i = 0; i < loops->n; i++)
		if (al_formula_mentions(loops->items[i].count, variable)
			|| al_formula_mentions(loops->items[i].active, variable))
			return true;
	return false;
}

static bool entry_mentions(const struct al_entry *entry, const char *variable)
{
	return al_shape_mentions(&entry->shape, variable)
		|| al_formula_mentions(entry->count, variable)
		|| al_formula_mentions(entry->active, variable)
		|| al_formula_mentions(entry->when, variable);
}

static bool module_mentions(const struct al_family_module *module, const char *variable)
{
	for (size_t i = 0; i < module->n_set; i++)
		if (al_formula_mentions(module->set[i].value, variable))
			return true;
	return al_formula_mentions(module->when, variable)
		|| al_formula_mentions(module->uses, variable);
}

bool al_tensor_list_walks(const struct al_family *family, const struct al_family_tensor *tensor,
	const struct al_family_module *module, enum al_tensor_list_detail detail, size_t loop)
{
	const struct al_loops *loops = tensor ? &tensor->loops : &module->loops;
	const char *variable = loops->items[loop].variable;

	return detail == AL_TENSORS_BY_NAME || (detail == AL_TENSORS_BY_LAYER && loop == 0)
		|| is_extra_by(family, variable) || loops_mention(loops, variable)
		|| (tensor ? entry_mentions(&tensor->entry, variable)
			   : module_mentions(module, variable));
}
