/* Inside the quantization: what a scheme's formulas may ask of a tensor. */
#pragma once

#include "catalog/stored.h"
#include "ledger/ledger.h"
#include "ledger/quantize_group.h"

struct al_facts {
	struct al_quantization *q;
	struct al_ledger *ledger;
	struct al_quantization_group *group; /* whose settings formulas use */
	int64_t values[AL_N_FACTS];
	struct al_scope read, model; /* what is asked after the facts, once there is a scope */
};

/* `stored` is what a checkpoint has of the tensor, NULL: the same. */
void al_facts_set(struct al_facts *f, const struct al_ledger_entry *t,
	const struct al_stored_tensor *stored);

/* Its rows and columns alone, into values [AL_N_FACTS]. */
void al_facts_set_shape(const struct al_ledger_entry *t, const struct al_stored_tensor *stored,
	int64_t *values);

/* Is the table the head, too? */
bool al_entry_is_tied_table(const struct al_ledger *ledger, const struct al_ledger_entry *table);

/* The facts, what the scheme read, the model's symbols. */
struct al_scope al_facts_scope(struct al_facts *f);
