/* Inside the list of what is saved: lines, and those of feed-forward blocks. */
#pragma once

#include "ledger/saved.h"

struct al_saved_build {
	struct al_ledger *ledger;
	const struct al_saving *saving;
	struct al_arena *arena;
	struct al_saved_entries *out;
	const struct al_ledger_entry **matrices; /* of feed-forward blocks, in the tensors' order */
	size_t n_matrices;
	int64_t d_model, tp;
	bool has_dropout, has_norm_bias;
	const char *activation; /* "gelu_new"; NULL: not known */
	bool has_unit_offset, has_score_cap, has_logit_cap;
	struct al_error *err; /* of the first rule that can't be evaluated */
	bool has_failed;
};

/* Who reads a tensor: matrices, of adapted weights those with an adapter. */
struct al_saved_reading {
	int64_t readers;
	bool is_gated, is_expert;
};

/* The two sides of a matrix: [out, in], or the other way round. */
struct al_sides {
	int64_t out, in;
};

struct al_saved_entry *al_saved_add(struct al_saved_build *b, struct al_saved_entry line);

/* A line of so many numbers per token, on each device. */
struct al_saved_entry *al_saved_add_tokens(struct al_saved_build *b, struct al_saved_entry line,
	int64_t width, int64_t copies);

/* ... of what a tensor outside of attention reads. */
struct al_saved_entry *al_saved_add_width(struct al_saved_build *b, const char *what,
	const struct al_ledger_entry *t, int64_t width, int64_t copies, int64_t bytes);

/* What the recipe's rule for such a tensor makes of the line. */
void al_saved_rule(struct al_saved_build *b, struct al_saved_entry *line, enum al_saved_of of,
	const struct al_saved_reading *by);

bool al_saved_has_adapter(const struct al_saved_build *b, enum al_adapted adapted);

struct al_sides al_saved_sides(const struct al_ledger_entry *t);

/* Is it a matrix of a feed-forward block? */
bool al_saved_is_feed_forward(const struct al_ledger_entry *t);

void al_saved_add_feed_forward(struct al_saved_build *b, const struct al_ledger_entry *t);
