/* Between the files of the conversions: a module on its way through them, and a row of each. */
#pragma once

#include <gmp.h>

#include "audit/losses.h"

enum { AL_MOST_CHANGES = 16 };

/* One module on its way through the conversions. */
struct al_converter {
	struct al_audit *audit;
	struct al_audit_module *module;
	struct al_table *table;
	const struct al_losses *losses;
	mpq_t parameters, cache; /* of the module as it is */
};

/* What a module can become: a variant of the catalog, and its symbol for the width of a head's
 * queries and keys (of MLA, of the part that positions don't rotate). */
struct al_conversion_target {
	const char *variant, *width;
};

/* A row: the ledger's variant with what is changed in it, and what the conversion costs. */
struct al_conversion {
	const struct al_conversion_target *to;
	const char *name; /* what the row calls it */
	const char *setting, *gauge;
	const char *groups; /* which heads share, are merged or dropped; NULL: none */
	struct al_binding changes[AL_MOST_CHANGES];
	size_t n_changes;
	struct al_conversion_loss loss;
};

/* In place of what it was. */
void al_conversion_change(struct al_conversion *c, const char *symbol, size_t value);

/* A row within what the module is: heads' number and widths are kept. */
struct al_conversion al_conversion_begin_same(const struct al_converter *x,
	struct al_conversion_loss loss);

/* Counted as its variant, or as given. */
bool al_conversion_add_row(struct al_converter *x, struct al_conversion *c,
	struct al_error *err) AL_MUST_CHECK;
void al_conversion_set_row(const struct al_converter *x, const struct al_conversion *c,
	mpq_srcptr parameters, mpq_srcptr cache);

/* conversion_fewer.c: without redundant heads, with narrower ones, without the lightest. */
bool al_convert_redundant(struct al_converter *x, struct al_error *err) AL_MUST_CHECK;
bool al_convert_widths(struct al_converter *x, struct al_error *err) AL_MUST_CHECK;
void al_conversions_leave_out_nothing(struct al_table *table);
