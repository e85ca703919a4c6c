/* Engines that run a model: what each holds in addition to the ideal. One JSON file an engine, in
 * engines/, with its rules from version "since" (NULL: the newest alone) to "version", the newest
 * one that they were read in: a key may have other values in other versions (history.h).
 *
 * * "heads" are what a device has of key/value heads where there are fewer than tensor-parallel
 * devices: "divided", as if a head could be split, or "replicated". "latents" are divided,
 * "replicated" on every device, there "twice", as keys and as values, or "expanded" to the keys and
 * values of all heads; "expands" are the kinds of latents that are, however others are held.
 * "window" is how many tokens a layer with a window holds of a sequence of `seq`, "peak_window"
 * while prompts are processed, which `memory` and `fit` ask about, "windows" what answers about
 * models with such layers note of it, "windowed" the families whose windows it uses (without it:
 * all), "no_windows" what answers about others note, "block" what numbers of tokens are rounded up
 * to, "chunk" how many tokens a step processes (0: all), "sequences" how many it samples. With
 * "one_format" all
 * that is cached of a token has the cache's format, whatever an entry's own is. "states" is the
 * format of what is cached once for a sequence and has no format of its own; without it, that of
 * the cache, or bf16 where the cache's is narrower. "more_inputs" are kept of a convolution beyond
 * the width less one that it needs, "fp8" is the scheme by which it loads weights in FP8.
 * "declared" are the schemes of quantization whose declared format of the cache it takes, with that
 * format: "modelopt fp8". "tile_rows" and "tile_columns" are what numbers of rows and columns its
 * kernels fill up where experts are stored packed (MXFP4); of their scales, rows alone. "beyond" is
 * what it does where a context is longer than the model was made for. "whole" are the attention
 * variants of which every tensor-parallel device has all, though their files cut them.
 *
 * * "state_dtypes" are formats of the recurrent states of variants, where neither the asker nor the
 * model's config sets one; else they are the variant's.
 *
 * * Of a device's memory the engine takes "utilization", for all it holds, where "covers" is
 * "static" for weights and cache alone, where it is "cache" of what all else leaves, where it is
 * "free" of what all but activations leaves, for the cache; of what is free after "before" bytes,
 * where these are gone before it loads. Recurrent states have a "pool" of so much of the cache.
 * "overhead" are bytes of the runtime and its graphs, "with_attention" and "with_feed_forward"
 * those held with the tensors of such a block (masks), "sampling" those of choosing the next
 * tokens, held instead of a block's where they are more. "activation_bytes" are those of a number;
 * experts have no copies of tokens with "shared_inputs". With "quantizes_by_flash" a cache in
 * blocks needs flash attention.
 *
 * * "group_spread" is set where layers share blocks in groups (ledger/groups.h): groups have as
 * many layers as the rarest kind, but as many as the most frequent one if that has fewer than this
 * percentage of the rarest. "state_pages" are what a sequence takes of a group of recurrent states,
 * "prefix_caching" whether it keeps states for common prefixes. "line" is the number of tokens that
 * its log prints: "blocks" over all groups, by the smallest block, or "sequences" that fit, times
 * their tokens.
 *
 * * "pages" are of layers whose caches lie side by side in a block (ledger/packed.h), of so many
 * tokens each, in multiples of "alignment" bytes; "packing" is how large such a block is: as the
 * "widest" group of layers, a place for each layer of a group and size of pages ("slots"), or as
 * many "tuples" of pages of all sizes as a group has layers. Their caches are in "page_dtype" where
 * none is asked for.
 *
 * * Where the share hangs on what graphs take, "captured" are the sequences of the largest graph of
 * decoding, "captured_sizes" how many numbers of prompt tokens have a graph, "prompt_graphs" the
 * bytes kept for these, and "reserved" the bytes kept for activations and all graphs: each may be
 * used by those after it, and by the utilization.
 *
 * * "offload" are bytes of the host's memory for a block of the cache that all devices offload.
 *
 * * Formulas may use seq, batch, window, whole_windows (0 or 1), block, chunk, sequences, tp,
 * devices, vocab, d_model, n_heads, eager (0 or 1: without flash attention), speculated, caching
 * (of prefixes: 0 or 1), memory (of a device, in bytes; 0: not known), reported (the same as its
 * driver says it), small (the place in "small" of the device, from 1; 0: not there), fp8 (1 where
 * the cache is in FP8), latents (1 where a layer caches them), page (bytes of a block of the cache
 * on one device) and replicated (1 where all devices have the same in it). */
#pragma once

#include "catalog/catalog.h"
#include "catalog/engine_log.h"

enum al_engine_heads { AL_HEADS_DIVIDED, AL_HEADS_REPLICATED };
enum al_engine_latents {
	AL_LATENTS_DIVIDED,
	AL_LATENTS_REPLICATED,
	AL_LATENTS_TWICE,
	AL_LATENTS_EXPANDED
};
enum al_engine_covers { AL_COVERS_ALL, AL_COVERS_STATIC, AL_COVERS_CACHE, AL_COVERS_FREE };
enum al_engine_packing { AL_PACKING_WIDEST, AL_PACKING_SLOTS, AL_PACKING_TUPLES };
/* "captured", "captured_sizes", "prompt_graphs", "reserved" */
enum { AL_N_RESERVES = 4 };
enum al_engine_line { AL_LINE_NONE, AL_LINE_BLOCKS, AL_LINE_SEQUENCES };

/* What of a variant's cache shares blocks with other layers' (ledger/packed.h). */
struct al_engine_page {
	const char *variant, *cached;
	int64_t block; /* tokens of a page */
};

/* The format of a variant's states. */
struct al_engine_state {
	const char *variant, *dtype;
};

struct al_engine {
	const char *name, *title, *version, *since, *source; /* version: that was asked for */
	const char *windows, *beyond; /* NULL: there is nothing to note */
	const char *no_windows; /* NULL: as windows */
	enum al_engine_heads heads;
	enum al_engine_latents latents;
	enum al_engine_covers covers;
	const struct al_formula *window, *utilization;
	const struct al_formula *peak_window; /* NULL: the window */
	const struct al_formula *overhead, *sampling, *before, *pool; /* NULL: none */
	const struct al_formula *with_attention, *with_feed_forward; /* NULL: none */
	const struct al_formula *offload; /* NULL: none */
	const struct al_formula *state_pages, *more_inputs; /* NULL: none */
	const struct al_formula *chunk, *sequences; /* sequences NULL: 1 */
	const struct al_formula *reserves[AL_N_RESERVES]; /* NULL: 0 */
	struct al_texts small; /* devices' names */
	int64_t block, tile_rows, tile_columns, activation_bytes;
	int64_t scale_bytes; /* of each scale and zero point, in a cache of integers */
	int64_t scale_group; /* numbers that have one; 0: a head's keys, and its values */
	bool caches_prefixes; /* of models with recurrent states */
	bool has_one_format, has_shared_inputs;
	bool quantizes_by_flash; /* a cache in blocks needs flash attention */
	int64_t group_spread; /* 0: layers aren't grouped */
	const struct al_engine_page *pages;
	size_t n_pages;
	enum al_engine_packing packing;
	const struct al_formula *alignment; /* of pages; NULL: 1 */
	const char *page_dtype; /* of their caches, where none is asked for; or NULL */
	enum al_engine_line line;
	const struct al_engine_state *state_dtypes;
	size_t n_state_dtypes;
	const char *states, *fp8; /* NULL: the cache's; NULL: plain */
	struct al_texts declared, whole; /* "modelopt fp8"; "mamba" */
	struct al_texts expands; /* "selected" */
	struct al_texts windowed; /* "gpt_oss" */
	struct al_texts causes; /* "--mtp": settings that a log may not have */
	struct al_texts versions; /* in which a rule changed */
	const struct al_log_line *log; /* engine_log.h */
	size_t n_log;
};

bool al_catalog_engine(struct al_catalog *catalog, const char *name, const struct al_engine **out,
	struct al_error *err) AL_MUST_CHECK;

/* An engine as it was asked for. */
struct al_engine_choice {
	const struct al_engine *engine;
	int64_t asked_chunk, asked_sequences; /* 0: the engine's own */
	int64_t block, chunk, sequences; /* chunk: tokens of a step, 0: all; sequences: that a step
					    samples at most */
	int64_t small; /* the device's place in the list, from 1; 0: it isn't there */
	int64_t memory, reported; /* of the device; 0: not known */
	int64_t max_model_len; /* 0: the model's context */
	const char *utilization; /* a decimal; NULL: the engine's own */
	const char *state_dtype; /* of recurrent states; NULL: the model's or the engine's */
	bool has_mtp; /* what predicts further tokens is loaded, and caches too */
	bool caches_prefixes;
	bool is_at_peak; /* asked for what is held while prompts are processed */
	bool holds_windows_whole;
	const char *kernel; /* "eager": without flash attention, "flash"; NULL: not asked */
	int64_t speculated; /* tokens in each step */
};

static inline bool al_engine_is_eager(const struct al_engine_choice *choice)
{
	return choice->kernel && strcmp(choice->kernel, "eager") == 0;
}

/* Sets what a step takes on a device; NULL: on a large one. */
struct al_gpu;
bool al_engine_settle(struct al_engine_choice *choice, const struct al_gpu *gpu,
	struct al_error *err) AL_MUST_CHECK;

/* NULL: the variant's own. */
const char *al_engine_state_dtype(const struct al_engine *engine, const char *variant);

/* Has it pages for what the variant caches? */
bool al_engine_has_pages(const struct al_engine *engine, const char *variant);

/* Symbols for the engine's formulas; unknown ones may be 0. */
struct al_engine_scope {
	const struct al_engine_choice *choice;
	int64_t seq, window, batch, tp, devices, vocab, d_model, n_heads;
	bool is_fp8; /* the cache */
	bool has_latents; /* in the cache */
	int64_t page; /* bytes of a block of the cache on one device */
	bool is_replicated; /* all devices have the same in it */
	int64_t reserves[AL_N_RESERVES]; /* the utilization's alone */
};

/* Tokens that are held of a sequence, in whole blocks; `window` 0: the layer has none. */
bool al_engine_tokens(const struct al_engine_scope *scope, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;
/* Bytes; 0 where the engine has no such formula. */
bool al_engine_bytes(const struct al_engine_scope *scope, const struct al_formula *formula,
	int64_t *out, struct al_error *err) AL_MUST_CHECK;
/* States' pool as a part of the cache; 0: they have none of their own. */
bool al_engine_pool(const struct al_engine_scope *scope, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;
/* The share of a device's memory that it takes. */
bool al_engine_utilization(const struct al_engine_scope *scope, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;
