/* llama2.c's .bin files, version 0 (karpathy/llama2.c, export.py, legacy_export; run.c,
 * memory_map_weights): seven int32 and float32 tensors, nothing else.
 *
 *     dim  hidden_dim  n_layers  n_heads  n_kv_heads  vocab_size  max_seq_len
 *
 * A negative vocab_size means that the head is stored, behind the rotary tables; else it is the
 * embedding. Of the tensors of layers each kind holds all layers at once. They are listed
 * under Meta's names, and the header is the config.json that the file lacks. */

#include "formats/format.h"

enum { LARGEST = 1 << 24, MOST_LAYERS = 1 << 12 };

enum { DIM, HIDDEN_DIM, N_LAYERS, N_HEADS, N_KV_HEADS, VOCAB_SIZE, MAX_SEQ_LEN, N_HEADER };
enum { KV_DIM = N_HEADER, ROTARY_DIM, ONE, N_SIZES }; /* what follows from them */

static const char *const keys[N_HEADER] = {"dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads",
	"vocab_size", "max_seq_len"};

struct header {
	int32_t values[N_HEADER];
	bool is_tied;
	int64_t sizes[N_SIZES];
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
	for (int key = 0; key < N_HEADER; key++)
		h->sizes[key] = h->values[key];
	h->sizes[KV_DIM] = (int64_t)d_head * h->values[N_KV_HEADS];
	h->sizes[ROTARY_DIM] = d_head / 2;
	h->sizes[ONE] = 1;
	return d_head % 2 == 0
		|| al_fail(err, AL_EINPUT,
			"heads of %" PRId32 " dimensions, expected an even number", d_head);
}

/* ---- the tensors, in their order ---- */

static const struct row {
	const char *name;
	bool is_of_layers; /* "layers.N.NAME.weight" */
	int rows, cols; /* ONE column: a vector */
} tensors[] = {
	{"tok_embeddings.weight", false, VOCAB_SIZE, DIM}, {"attention_norm", true, DIM, ONE},
	{"attention.wq", true, DIM, DIM}, {"attention.wk", true, KV_DIM, DIM},
	{"attention.wv", true, KV_DIM, DIM}, {"attention.wo", true, DIM, DIM},
	{"ffn_norm", true, DIM, ONE}, {"feed_forward.w1", true, HIDDEN_DIM, DIM},
	{"feed_forward.w2", true, DIM, HIDDEN_DIM}, {"feed_forward.w3", true, HIDDEN_DIM, DIM},
	{"norm.weight", false, DIM, ONE}, {"freqs_cos", false, MAX_SEQ_LEN, ROTARY_DIM},
	{"freqs_sin", false, MAX_SEQ_LEN, ROTARY_DIM},
	{"output.weight", false, VOCAB_SIZE, DIM}, /* unless it is tied */
};
enum { N_TENSORS = sizeof(tensors) / sizeof(*tensors) };

static bool add(struct al_listing *listing, const struct header *h, const struct row *row,
	int64_t layer, uint64_t *offset, struct al_error *err)
{
	const int64_t shape[2] = {h->sizes[row->rows], h->sizes[row->cols]};
	const uint64_t begin = *offset, bytes = 4 * (uint64_t)(shape[0] * shape[1]);

	*offset += bytes;
	return al_listing_add(listing,
		&(struct al_tensor){.name = row->is_of_layers
				? al_format(&listing->checkpoint->arena,
					"layers.%" PRId64 ".%s.weight", layer, row->name)
				: row->name,
			.dtype = al_dtype_stored("F32"),
			.shape = shape,
			.n_dims = row->cols == ONE ? 1 : 2,
			.offset = begin,
			.bytes = bytes},
		err);
}

static bool add_all(struct al_listing *listing, const struct header *h, struct al_error *err)
{
	const size_t n_tensors = h->is_tied ? N_TENSORS - 1 : N_TENSORS;
	uint64_t offset = 0;

	for (size_t i = 0; i < n_tensors; i++) {
		const int64_t n = tensors[i].is_of_layers ? h->values[N_LAYERS] : 1;
		for (int64_t layer = 0; layer < n; layer++)
			if (!add(listing, h, &tensors[i], layer, &offset, err))
				return false;
	}
	return true;
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
	struct header h = {0};

	if (source->bytes < sizeof(h.values))
		return al_fail(err, AL_EINPUT,
			"%s: has %" PRIu64 " bytes, expected at least %zu (the header of llama2.c)",
			source->path, source->bytes, sizeof(h.values));
	if (!al_source_read(source, 0, h.values, sizeof(h.values), err))
		return false;
	shard->header_bytes = listing->data_offset = sizeof(h.values);
	if (!check_header(&h, err))
		return al_in(err, "%s: the header of llama2.c", source->path);
	listing->checkpoint->header_config = config_text(&listing->checkpoint->arena, &h);
	return add_all(listing, &h, err);
}

const struct al_format al_format_llama2c = {
	.name = "llama2.c",
	.ending = ".bin",
	.is_packed = true,
	.is_alone = true,
	.list = list,
};
