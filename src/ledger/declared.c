/* What variants declare: a list that a file leaves out is not known, and not empty. */
#include "ledger/entries.h"

static const char *const list_keys[AL_N_LISTS] = {
	[AL_LIST_TENSORS] = "tensors",
	[AL_LIST_STORED] = "tensors",
	[AL_LIST_CACHE] = "cache",
	[AL_LIST_EAGER] = "activations",
	[AL_LIST_FLASH] = "activations",
	[AL_LIST_PRODUCTS] = "products",
	[AL_LIST_ABSORBED] = "products",
};

bool al_ledger_declares_list(const struct al_ledger *ledger, enum al_list list,
	struct al_undeclared *out)
{
	for (size_t i = 0; i < ledger->n_modules; i++) {
		const struct al_configured_variant *configured = &ledger->modules[i].configured;
		if (!ledger->modules[i].sees_text
			|| al_lines_of(configured->variant, list)->is_declared)
			continue;
		if (out)
			*out = (struct al_undeclared){configured->name, list_keys[list]};
		return false;
	}
	return true;
}

bool al_ledger_declares(const struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, struct al_undeclared *out)
{
	switch (measure) {
	case AL_ACTIVATIONS:
	case AL_TOTAL:
		return (recipe && recipe->activations_per_token)
			|| al_ledger_declares_list(ledger, AL_LIST_EAGER, out);
	case AL_CACHE:
	case AL_CACHE_BYTES:
		return al_ledger_declares_list(ledger, AL_LIST_CACHE, out);
	case AL_FLOPS:
		return al_ledger_declares_list(ledger, AL_LIST_PRODUCTS, out);
	default:
		return true;
	}
}

void al_note_undeclared(const struct al_undeclared *undeclared, struct al_table *table)
{
	al_table_note(table,
		"%s: its file has no list \"%s\", so what that sums up to is unknown, not zero",
		undeclared->variant, undeclared->list);
}
