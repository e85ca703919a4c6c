/* The lists of a variant's file: a list that it leaves out is not known, and not empty. */

#include "ledger/entries.h"

/* What the file calls the list, and a message one of its lines. */
static const struct {
	const char *key, *noun;
	size_t offset;
} lists[AL_N_LISTS] = {
	[AL_LIST_TENSORS] = {"tensors", "tensor", offsetof(struct al_variant, tensors)},
	[AL_LIST_STORED] = {"tensors", "tensor", offsetof(struct al_variant, tensors)},
	[AL_LIST_CACHE] = {"cache", "cache", offsetof(struct al_variant, cache)},
	[AL_LIST_EAGER] = {"activations", "activation", offsetof(struct al_variant, activations)},
	[AL_LIST_FLASH] = {"activations", "activation", offsetof(struct al_variant, activations)},
	[AL_LIST_PRODUCTS] = {"products", "product", offsetof(struct al_variant, products)},
	[AL_LIST_ABSORBED] = {"products", "product", offsetof(struct al_variant, products)},
};

const struct al_entries *al_lines_of(const struct al_variant *variant, enum al_list list)
{
	return (const void *)((const char *)variant + lists[list].offset);
}

bool al_line_in(enum al_list list, const struct al_entry *entry, struct al_error *err)
{
	return al_in(err, "%s %s", lists[list].noun, entry->name);
}

bool al_ledger_declares_list(const struct al_ledger *ledger, enum al_list list,
	struct al_undeclared *out)
{
	for (size_t i = 0; i < ledger->n_modules; i++) {
		const struct al_configured_variant *configured = &ledger->modules[i].configured;
		if (!ledger->modules[i].sees_text
			|| al_lines_of(configured->variant, list)->is_declared)
			continue;
		if (out)
			*out = (struct al_undeclared){configured->name, lists[list].key};
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
