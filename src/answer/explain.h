/* --explain: formula, substitution, result and source of each number. */
#pragma once

#include "answer/session.h"
#include "ledger/infer.h"

#define EXPLAIN_ROW(type, at) \
	OPTION_FLAG(type, at, "explain", \
		"show formula, substitution, result and source of each number", .shows_all = true)

/* How one number comes about. */
struct al_explanation {
	const char *model, *variant;
	const char *of, *name; /* "parameters", "W_Q" */
	const char *formula, *substituted; /* "d_model * n_heads*d_head", "768 * 12*64"; or NULL */
	mpq_srcptr result; /* once */
	int64_t times; /* how often it is there */
	const char *source;
};

/* A table of such records. */
struct al_table *al_explain_table(struct al_session *session);

/* A row for an entry. */
void al_explain_entry(struct al_table *table, const char *model, const char *variant,
	const struct al_ledger_entry *entry, const char *of);

/* A row for what is cached: bytes of the sequences where their length is given, else of a token. */
void al_explain_cached(struct al_table *table, const char *model, const struct al_cache_entry *line,
	int64_t batch, bool has_tokens);

/* Bytes of a number: "2", "34/32". */
const char *al_explain_bytes(struct al_arena *arena, const struct al_dtype *storage);

/* Tokens that are cached: "seq", "min(seq, window)"; "" of a state. */
const char *al_explain_tokens(const struct al_cache_entry *line);
