/* Which number format each of a model's tensors is stored in, and its additional tensors: by the
 * scheme that the model's files name, by a scheme or a number format that was asked for. */
#pragma once

#include "base/budget.h"
#include "base/format.h"
#include "base/table.h"
#include "catalog/scheme.h"

struct al_ledger;
struct al_ledger_entry;
struct al_quantization_group;

/* The format of an entry's numbers. `rule` is that of the scheme, NULL: it stays in `base`. */
struct al_stored_format {
	struct al_dtype dtype; /* a name of NULL: bits */
	int64_t bits; /* of a number, where the rule sets bits; else 0 */
	const struct al_scheme_rule *rule;
	bool is_found;
};

struct al_quantization {
	const char *name; /* "fp8-linear (config.json: fp8)", "bf16" */
	const struct al_scheme *scheme; /* NULL: one format, `dtype` */
	const struct al_dtype *dtype; /* of matrices, where there is no scheme; blocks leave
					 vectors in `base` */
	const struct al_dtype *base; /* of what isn't converted */
	bool is_file; /* everything is packed anew: nothing that a checkpoint packs stays */
	bool is_config; /* the model's files name the scheme */
	bool is_of_text; /* towers stay as they are */
	bool is_base_default; /* they don't specify `base`: bf16 */
	bool is_by_layer; /* needs AL_TENSORS_BY_LAYER */
	struct al_arena *arena;
	struct al_catalog *catalog;
	struct al_budget budget; /* of the lists, and the names that are held against them */
	struct al_patterns *kept;
	struct al_quantization_group *groups;
	size_t n_groups;
	const struct al_ledger *ledger; /* that was asked about last, and of it: */
	struct al_stored_module *modules;
	size_t n_modules;
	struct al_stored_format *formats; /* of its list of tensors; NULL: none yet */
	struct al_arena stored; /* of these two */
};

/* `name` is a scheme or a number format; NULL: that of the model's files, or else bf16. The arena
 * and the catalog must outlive the quantization; on failure there is nothing to finish. */
bool al_quantization_init(struct al_quantization *q, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_model *model, const char *name,
	struct al_error *err) AL_MUST_CHECK;
void al_quantization_finish(void *quantization);

bool al_quantized_format(struct al_quantization *q, struct al_ledger *ledger,
	const struct al_ledger_entry *entry, struct al_stored_format *out,
	struct al_error *err) AL_MUST_CHECK;

/* Adds to a model's list of tensors the additional ones of those that the scheme converts, unless
 * the family itself lists its scales. */
bool al_quantization_add_beside(struct al_quantization *q, struct al_ledger *ledger,
	struct al_error *err) AL_MUST_CHECK;

/* Notes what isn't converted; where it `explains`, also all that was read, with every default that
 * was taken. */
void al_note_quantization(const struct al_quantization *q, bool explains, struct al_table *table);
