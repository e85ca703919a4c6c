/* Bases: conventions on which papers differ, printed with every number. */
#pragma once

#include "base/table.h"
#include "catalog/catalog.h"

/* Which output projection counts as a parameter. A tensor that is `fixed` stays as the variant
 * declares it under every basis, `none` included: its shape is what defines the variant. */
enum al_output_projection {
	AL_OUTPUT_OWN, /* as the variant declares */
	AL_OUTPUT_FULL, /* a weight of role output is one d_model x d_model */
	AL_OUTPUT_NONE, /* no tensor of role output, weight or bias */
};

/* The scope of a number. */
enum al_basis_per {
	AL_BASIS_MODULE, /* one attention block; "block" is a synonym */
	AL_BASIS_LAYER, /* the same where all layers are alike; refused for an encoder-decoder */
	AL_BASIS_MODEL,
	AL_BASIS_WHOLE, /* the model with all its parts, which its family must specify; of measures
			   only */
};

/* Output projection and roles are about tensors; cache, activations and products are not
 * touched. */
struct al_basis {
	enum al_output_projection output_projection;
	enum al_basis_per per;
	unsigned roles; /* bit per enum al_role; all by default */
	bool has_biases, biases; /* has_biases false: each variant's own default */
	bool only_matrices; /* no vectors: neither biases nor norms */
};

void al_basis_init(struct al_basis *basis);

/* "output_projection", "full"; "roles", "query,key" (or "all"). An unknown key or value names the
 * nearest. */
bool al_basis_set(struct al_basis *basis, const char *key, const char *value,
	struct al_error *err) AL_MUST_CHECK;

/* What a basis counts, where it isn't the whole model with all its tensors: "one attention block,
 * output projection d_model x d_model, without biases"; else "". */
const char *al_basis_text(const struct al_basis *basis, struct al_arena *arena);

/* Warns of it: "counted: one attention block". */
void al_basis_note(const struct al_basis *basis, struct al_table *table);
