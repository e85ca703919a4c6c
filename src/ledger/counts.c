/* What a ledger counts of its tensors. */
#include "ledger/ledger.h"

#include "base/number.h"
#include "ledger/entries.h"

const struct al_count_info al_counts[AL_N_COUNTS] = {
	[AL_COUNT_PARAMETERS] = {"parameters", "Parameters"},
	[AL_COUNT_ACTIVE] = {"active", "Active for one token"},
	[AL_COUNT_ACTIVE_WITHOUT_EMBEDDING] = {"active_without_embedding",
		"Active for one token, without embeddings"},
	[AL_COUNT_WITHOUT_EMBEDDING] = {"without_embedding", "Without embeddings"},
	[AL_COUNT_NON_EMBEDDING] = {"without_embedding_and_head", "Without embeddings and head"},
	[AL_COUNT_TIED] = {"tied", "Tied tensors, where stored again"},
	[AL_COUNT_BUFFERS] = {"buffers", "Buffers"},
	[AL_COUNT_SCALES] = {"scales", "Scales of a quantisation"},
	[AL_COUNT_EXTRA] = {"apart", "Not part of the model"},
	[AL_COUNT_STORED] = {"stored", "Stored, without what is optional"},
};

bool al_entry_is_own(const struct al_ledger_entry *entry)
{
	return entry->extra ? entry->entry->kind != AL_TENSOR_SCALE && !entry->tied_to
			    : entry->is_parameter;
}

bool al_entry_is_stored(const struct al_ledger_entry *entry)
{
	return (!entry->tied_to || entry->extra)
		&& !(entry->stored && entry->stored->tensor->is_optional);
}

static bool is_counted(const struct al_ledger_entry *t, enum al_count count)
{
	switch (count) {
	case AL_COUNT_PARAMETERS:
	case AL_COUNT_ACTIVE:
		return t->is_parameter;
	case AL_COUNT_ACTIVE_WITHOUT_EMBEDDING:
	case AL_COUNT_WITHOUT_EMBEDDING:
		return t->is_parameter && t->part != AL_PART_EMBEDDING;
	case AL_COUNT_NON_EMBEDDING:
		return t->is_parameter && t->part != AL_PART_EMBEDDING && t->part != AL_PART_HEAD;
	case AL_COUNT_TIED:
		return t->tied_to && !t->extra;
	case AL_COUNT_BUFFERS:
		return t->entry->kind == AL_TENSOR_BUFFER && !t->extra
			&& !(t->stored && t->stored->tensor->is_old);
	case AL_COUNT_SCALES:
		return t->entry->kind == AL_TENSOR_SCALE;
	case AL_COUNT_EXTRA:
		return t->extra && t->entry->kind != AL_TENSOR_SCALE;
	case AL_COUNT_STORED:
		return al_entry_is_stored(t);
	case AL_N_COUNTS:
		break;
	}
	return false;
}

bool al_ledger_count(struct al_ledger *ledger, enum al_count count, mpq_t out, struct al_error *err)
{
	bool is_active = count == AL_COUNT_ACTIVE || count == AL_COUNT_ACTIVE_WITHOUT_EMBEDDING;
	const struct al_ledger_list *tensors;

	mpq_set_ui(out, 0, 1);
	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (is_counted(t, count))
			al_exact_add(out, is_active ? t->active : t->elements);
	}
	return true;
}
