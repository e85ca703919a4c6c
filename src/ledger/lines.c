/* Lines as formulas. */
#include "ledger/lines.h"

#include <string.h>

#include "ledger/entries.h"

static bool reads_the_same(const struct al_formula *a, const struct al_formula *b)
{
	return strcmp(al_formula_source(a), al_formula_source(b)) == 0;
}

static struct al_line line_of(const struct al_block *block, enum al_list list,
	const struct al_entry *entry)
{
	const struct al_line_shape shape = al_line_shape_of(block, list, entry);
	struct al_line line = {.entry = entry, .n_dims = shape.n_dims, .count = shape.count};

	memcpy(line.dims, shape.dims, sizeof(line.dims));
	if (list >= AL_LIST_PRODUCTS && !reads_the_same(entry->left.dims[1], entry->right.dims[0]))
		line.inner = entry->right.dims[0];
	return line;
}

struct al_lines al_ledger_lines(const struct al_ledger *ledger, enum al_list list,
	struct al_arena *arena)
{
	const struct al_block *block = &ledger->block;
	const struct al_entries *entries = al_lines_of(block->configured->variant, list);
	struct al_lines lines = {.items = al_new_array(arena, struct al_line, entries->n + 1),
		.is_declared = entries->is_declared};

	for (size_t i = 0; i < entries->n; i++)
		if (al_entry_is_wanted(block, list, &entries->items[i]))
			lines.items[lines.n++] = line_of(block, list, &entries->items[i]);
	return lines;
}

const struct al_formula *al_ledger_times(const struct al_ledger *ledger, enum al_per shared)
{
	return al_block_times_formula(&ledger->block, shared);
}
