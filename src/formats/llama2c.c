/* llama2.c's .bin files, version 0 (karpathy/llama2.c, export.py, legacy_export; run.c,
 * memory_map_weights): seven int32 and float32 tensors, nothing else.
 *
 *     dim  hidden_dim  n_layers  n_heads  n_kv_heads  vocab_size  max_seq_len
 *
 * A negative vocab_size says that the head is stored, behind the rotary tables; else it is the
 * embedding. Of the tensors of layers each kind stands for all layers at once. They are listed
 * under Meta's names, and the header is the config.json that the file doesn't have beside it. */
#include <inttypes.h>

#include "base/hash.h"
#include "formats/format.h"

enum { LARGEST = 1 << 24, MOST_LAYERS = 1 << 12 };

enum { DIM, HIDDEN_DIM, N_LAYERS, N_HEADS, N_KV_HEADS, VOCAB_SIZE, MAX_SEQ_LEN, N_HEADER };

static const char *const keys[N_HEADER] = {"dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads",
	"vocab_size", "max_seq_len"};

struct header {
	int32_t values[N_HEADER];
	bool is_tied;
	int64_t kv_dim, rotary_dim;
};

static bool check_value(const struct header *h, int key, struct al_error *err)
{
	const int32_t most = key == N_LAYERS ? MOST_LAYERS : LARGEST;

	return (h->values[key] >= 1 && h->values[key] <= most)
		|| al_fail(err, AL_EINPUT, "%s is %" PRId32 ", expected 1 to %" PRId32, keys[key],
			h->values[key], most);
}

static bool check_multiple(const struct header *h, int key, int of, struct al_error *err)
{
	return h->values[key] % h->values[of] == 0
		|| al_fail(err, AL_EINPUT, "%s (%" PRId32 ") is not a multiple of %s (%" PRId32 ")",
			keys[key], h->values[key], keys[of], h->values[of]);
}

static bool check_header(struct header *h, struct al_error *err)
{
	h->is_tied = h->values[VOCAB_SIZE] > 0;
	if (!h->is_tied && h->values[VOCAB_SIZE] > -LARGEST)
		h->values[VOCAB_SIZE] = -h->values[VOCAB_SIZE];
	for (int key = 0; key < N_HEADER; key++)
		if (!check_value(h, key, err))
			return false;
	if (!check_multiple(h, DIM, N_HEADS, err) || !check_multiple(h, N_HEADS, N_KV_HEADS, err))
		return false;
	const int32_t d_head = h->values[DIM] / h->values[N_HEADS];
	h->kv_dim = (int64_t)d_head * h->values[N_KV_HEADS];
	h->rotary_dim = d_head / 2;
	return d_head % 2 == 0
		|| al_fail(err, AL_EINPUT,
			"heads of %" PRId32 " dimensions, expected an even number", d_head);
}

/* ---- the tensors, in their order ---- */

struct place {
	struct al_listing *listing;
	uint64_t offset;
};

static bool add(struct place *place, const char *name, int64_t rows, int64_t cols,
	struct al_error *err)
{
	const int64_t shape[2] = {rows, cols};
	const size_t n_dims = cols ? 2 : 1; /* 0 columns: a vector */
	const uint64_t bytes = 4 * (uint64_t)(rows * (cols ? cols : 1));
	const struct al_claim claim = {.name = name,
		.dtype = al_dtype_stored("F32"),
		.shape = shape,
		.n_dims = n_dims,
		.begin = place->offset,
		.end = place->offset + bytes};

	place->offset += bytes;
	return al_listing_add(place->listing, &claim, err);
}

static bool add_layers(struct place *place, int32_t n_layers, const char *name, int64_t rows,
	int64_t cols, struct al_error *err)
{
	struct al_arena *arena = &place->listing->checkpoint->arena;

	for (int32_t layer = 0; layer < n_layers; layer++)
		if (!add(place, al_format(arena, "layers.%" PRId32 ".%s.weight", layer, name), rows,
			    cols, err))
			return false;
	return true;
}

static bool add_all(struct place *place, const struct header *h, struct al_error *err)
{
	const int64_t dim = h->values[DIM], hidden = h->values[HIDDEN_DIM];
	const int64_t vocab = h->values[VOCAB_SIZE], positions = h->values[MAX_SEQ_LEN];
	const int32_t n = h->values[N_LAYERS];

	return add(place, "tok_embeddings.weight", vocab, dim, err)
		&& add_layers(place, n, "attention_norm", dim, 0, err)
		&& add_layers(place, n, "attention.wq", dim, dim, err)
		&& add_layers(place, n, "attention.wk", h->kv_dim, dim, err)
		&& add_layers(place, n, "attention.wv", h->kv_dim, dim, err)
		&& add_layers(place, n, "attention.wo", dim, dim, err)
		&& add_layers(place, n, "ffn_norm", dim, 0, err)
		&& add_layers(place, n, "feed_forward.w1", hidden, dim, err)
		&& add_layers(place, n, "feed_forward.w2", dim, hidden, err)
		&& add_layers(place, n, "feed_forward.w3", hidden, dim, err)
		&& add(place, "norm.weight", dim, 0, err)
		&& add(place, "freqs_cos", positions, h->rotary_dim, err)
		&& add(place, "freqs_sin", positions, h->rotary_dim, err)
		&& (h->is_tied || add(place, "output.weight", vocab, dim, err));
}

/* ---- the file ---- */

static const char *config_text(struct al_arena *arena, const struct header *h)
{
	const char *text = "{\"model_type\": \"meta_llama\"";

	for (int key = 0; key < N_HEADER; key++)
		text = al_format(arena, "%s, \"%s\": %" PRId32, text, keys[key], h->values[key]);
	/* the tokens that run.c begins and ends texts with */
	return al_format(arena,
		"%s, \"bos_token_id\": 1, \"eos_token_id\": 2, \"tie_word_embeddings\": %s}", text,
		h->is_tied ? "true" : "false");
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;
	const struct al_source *source = &shard->source;
	struct place place = {.listing = listing};
	struct header h = {0};

	if (source->bytes < sizeof(h.values))
		return al_fail(err, AL_EINPUT,
			"%s: has %" PRIu64 " bytes, expected at least %zu (the header of llama2.c)",
			source->path, source->bytes, sizeof(h.values));
	if (!al_source_read(source, 0, h.values, sizeof(h.values), err))
		return false;
	shard->header_bytes = listing->data_offset = sizeof(h.values);
	shard->header_hash = al_hash(AL_HASH_EMPTY, h.values, sizeof(h.values));
	if (!check_header(&h, err))
		return al_in(err, "%s: the header of llama2.c", source->path);
	listing->checkpoint->header_config = config_text(&listing->checkpoint->arena, &h);
	return add_all(&place, &h, err);
}

const struct al_format al_format_llama2c = {
	.name = "llama2.c",
	.ending = ".bin",
	.is_packed = true,
	.is_alone = true,
	.list = list,
};
