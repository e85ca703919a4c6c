/* Inside the ledger: what a block's parts ask of it. Errors do not name the variant yet
 * (al_block_in does). */
#ifndef ATTNLEDGER_LEDGER_BLOCK_H
#define ATTNLEDGER_LEDGER_BLOCK_H

#include "ledger/ledger.h"

/* Puts "variant gqa-4 (gqa, built-in): " before an error; returns false. */
bool al_block_in(const struct al_block *block, struct al_error *err);

/* A scope over the block's settings. */
struct al_scope al_block_scope(struct al_block *block);

/* What the use fixes a symbol or an option to, or NULL. */
const struct al_binding *al_block_fixed(const struct al_block *block, const char *symbol);

/* Is the symbol given, not only a default? */
bool al_block_gives(const struct al_block *block, const char *symbol);

/* The value of a symbol, at least `least`. */
bool al_block_read(struct al_block *block, const char *symbol, int64_t least, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses per=layer for an encoder-decoder. */
bool al_block_check_per(const struct al_block *block, struct al_error *err) AL_MUST_CHECK;

/* How many the basis covers, as a formula; NULL: one. */
const struct al_formula *al_block_times_formula(const struct al_block *block, enum al_per shared);

/* How many of what is shared over `shared` the basis covers. */
bool al_block_times(struct al_block *block, enum al_per shared, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Does the basis cover the model of an encoder-decoder? */
bool al_block_is_two_sided(const struct al_block *block);

/* How many modules cache what a token adds: all, but in an encoder-decoder the decoder's
 * self-attentions, as many as its cross-attentions, which cache the source's tokens. */
bool al_block_cached_times(struct al_block *block, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- one line of a block ---- */

enum al_list { AL_LIST_TENSORS, AL_LIST_CACHE, AL_LIST_ACTIVATIONS, AL_LIST_PRODUCTS };

/* Which lines are wanted. */
struct al_lines {
	enum al_list list;
	bool with_buffers; /* tensors */
	bool is_flash; /* activations: of a flash kernel, not an eager one */
};

const struct al_entries *al_lines_of(const struct al_block *block, enum al_list list);

/* The formulas of a line: the tensor's own shape and count, or one d_model x d_model under the
 * basis `full`; of a product m, k, n. */
struct al_line_shape {
	const struct al_formula *dims[AL_MOST_DIMS];
	size_t n_dims;
	const struct al_formula *count, *active; /* NULL: 1, and as many as count */
};

struct al_line_shape al_line_shape_of(const struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry);

/* "tensor W_Q: " before an error; returns false. */
bool al_line_in(const struct al_lines *lines, const struct al_entry *entry, struct al_error *err);

/* Do the basis, the kernel and the kind leave the line in? `when` is not asked. */
bool al_line_is_wanted(const struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry);

/* Evaluates one line: all of `out` but its number of elements and its texts. *counts is false where
 * it is not wanted or its `when` does not hold. Errors name the entry. */
bool al_line_evaluate(struct al_block *block, const struct al_lines *lines,
	const struct al_entry *entry, bool *counts, struct al_ledger_entry *out,
	struct al_error *err) AL_MUST_CHECK;

/* out = product of dims and count. */
void al_line_elements(mpz_t out, const struct al_ledger_entry *line);

#endif
