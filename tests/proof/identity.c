/* The identity case of every method. */
#include "proof/identity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include "compress/compress.h"

const struct al_identity al_identities[] = {
	{"compress-collab", "collab at full rank is the original", AL_METHOD_COLLAB, false},
	{"compress-tucker", "tucker at full rank is the original", AL_METHOD_TUCKER, false},
	{"compress-qk", "qk at full rank is the original", AL_METHOD_QK, false},
	{"compress-drop", "a head that W_O doesn't read can be dropped", AL_METHOD_DROP, false},
	{"compress-merge", "a head goes into one that it is a map of", AL_METHOD_MERGE, false},
	{"compress-ov", "ov at full rank is the original", AL_METHOD_OV, false},
	{"compress-kv-latent", "values of a full latent are the original's", AL_METHOD_LATENT,
		false},
	{"compress-kv-latent-keys", "keys of a full latent are the original's", AL_METHOD_LATENT,
		true},
	{"compress-gqa", "gqa with values alone for every head is the original", AL_METHOD_GQA,
		false},
	{"compress-gqa-keys", "gqa with keys and values for every head is the original",
		AL_METHOD_GQA, true},
	{"compress-mhe-mul", "mhe-mul of one head is the original", AL_METHOD_MHE_MUL, false},
};
const size_t al_n_identities = sizeof(al_identities) / sizeof(*al_identities);

/* T5's encoder: no rotary positions, no biases, which every method treats. */
enum { D_MODEL = 12, HEADS = 4, WIDTH = D_MODEL / HEADS, TOKENS = 5, LAST_HEAD = HEADS - 1 };

static const char *const names[] = {"encoder.block.0.layer.0.SelfAttention.q.weight",
	"encoder.block.0.layer.0.SelfAttention.k.weight",
	"encoder.block.0.layer.0.SelfAttention.v.weight",
	"encoder.block.0.layer.0.SelfAttention.o.weight"};
enum { N_TENSORS = sizeof(names) / sizeof(*names), OUTPUT = N_TENSORS - 1, VALUE = OUTPUT - 1 };

/* ---- the original ---- */

/* W_O is stored [out][in]: the last head's inputs. */
static void forget_last_head(double *output)
{
	for (size_t i = 0; i < D_MODEL; i++)
		for (size_t j = LAST_HEAD * WIDTH; j < D_MODEL; j++)
			output[i * D_MODEL + j] = 0;
}

/* Queries, keys and values are stored [out][in] too: the last head's outputs are the first one's,
 * its values twice those, in the other order. */
static void repeat_first_head(double *projection, bool is_value)
{
	for (size_t i = 0; i < WIDTH; i++)
		for (size_t j = 0; j < D_MODEL; j++)
			projection[(LAST_HEAD * WIDTH + i) * D_MODEL + j] = is_value
				? 2 * projection[(WIDTH - 1 - i) * D_MODEL + j]
				: projection[i * D_MODEL + j];
}

static bool append(struct al_tensor_writer *writer, const struct al_dtype *dtype,
	struct al_random *random, enum al_method method, struct al_error *err)
{
	double values[D_MODEL * D_MODEL];

	for (size_t i = 0; i < N_TENSORS; i++) {
		al_random_gaussian(random, values, sizeof(values) / sizeof(*values));
		if (i == OUTPUT && method == AL_METHOD_DROP)
			forget_last_head(values);
		if (i != OUTPUT && method == AL_METHOD_MERGE)
			repeat_first_head(values, i == VALUE);
		if (!al_tensor_writer_append_doubles(writer, dtype, values,
			    sizeof(values) / sizeof(*values), err))
			return false;
	}
	return true;
}

static bool write_original(const char *path, uint64_t seed, enum al_method method,
	struct al_error *err)
{
	const struct al_dtype *dtype = al_dtype_stored("F64");
	int64_t shape[] = {D_MODEL, D_MODEL};
	struct al_tensor tensors[N_TENSORS] = {{0}};
	struct al_tensor_writer *writer;

	for (size_t i = 0; i < N_TENSORS; i++) {
		tensors[i].name = names[i];
		tensors[i].dtype = dtype;
		tensors[i].n_dims = 2;
		tensors[i].shape = shape;
	}
	if (!al_safetensors_create(&writer, path, tensors, N_TENSORS, NULL, 0, err))
		return false;
	struct al_random *random = al_random_create(seed, 0, 0, 0);
	const bool ok = append(writer, dtype, random, method, err);
	al_random_destroy(random);
	if (ok)
		return al_tensor_writer_commit(writer, err);
	al_tensor_writer_abandon(writer);
	return false;
}

/* ---- both sides ---- */

static double largest(const struct al_table *table)
{
	double most = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		for (size_t i = 0; i < table->n_columns; i++) {
			const struct al_cell *cell = &table->rows[row][i];
			if (cell->kind == AL_CELL_REAL)
				most = fmax(most, cell->real);
		}
	return most;
}

static bool compare(struct al_model_view *view, const char *path, uint64_t seed, double *difference,
	struct al_error *err)
{
	const struct al_verify_options options = {.n_tokens = TOKENS, .seed = seed};
	struct al_checkpoint compressed;
	struct al_table table;
	bool holds = false;

	if (!al_checkpoint_open(&compressed, path, err))
		return false;
	al_table_init(&table, "verify", "");
	al_verify_add_columns(&table);
	const bool ok = al_verify(view, &compressed, &options, &table, &holds, err);
	*difference = holds ? largest(&table) : INFINITY;
	al_table_finish(&table);
	al_checkpoint_close(&compressed);
	return ok;
}

static bool compress(const struct al_identity *identity, struct al_model_view *view,
	const char *path, struct al_error *err)
{
	const struct al_dropped dropped = {"0", LAST_HEAD};
	const bool drops = al_method_drops(identity->method);
	const bool has_rank = !drops && identity->method != AL_METHOD_MHE_MUL;
	const int64_t rank = al_method_bound(&view->modules[0], identity->method);
	struct al_compress_options options = {.method = identity->method,
		.of_keys = identity->of_keys,
		.ranks = has_rank ? &rank : NULL,
		.n_ranks = has_rank,
		.dropped = &dropped,
		.n_dropped = drops ? 1 : 0,
		.effort = {.seed = 1, .n_sweeps = 1}};
	struct al_table table;

	al_table_init(&table, "compress", "");
	al_compress_add_columns(&table);
	const bool ok = al_compress(view, &options, path, &table, NULL, err);
	al_table_finish(&table);
	return ok;
}

static bool run_files(const struct al_identity *identity, struct al_catalog *catalog, uint64_t seed,
	const char *original, const char *compressed, double *difference, struct al_error *err)
{
	const struct al_view_options options = {
		.n_heads = identity->method == AL_METHOD_MHE_MUL ? 1 : HEADS};
	struct al_checkpoint checkpoint;
	struct al_model_view view;

	if (!write_original(original, seed, identity->method, err)
		|| !al_checkpoint_open(&checkpoint, original, err))
		return false;
	bool ok = al_model_view_open(&view, catalog, &checkpoint, &options, err);
	if (ok) {
		ok = compress(identity, &view, compressed, err)
			&& compare(&view, compressed, seed, difference, err);
		al_model_view_close(&view);
	}
	al_checkpoint_close(&checkpoint);
	return ok;
}

bool al_identity_run(const struct al_identity *identity, struct al_catalog *catalog, uint64_t seed,
	double *difference, struct al_error *err)
{
	static const char *const files[] = {"original.safetensors", "compressed.safetensors"};
	const char *temporary = getenv("TMPDIR");
	struct al_output *folder;
	struct al_arena arena;

	al_arena_init(&arena);
	bool ok = al_output_open_folder(&folder,
		al_format(&arena, "%s/attnledger-prove",
			temporary && *temporary ? temporary : P_tmpdir),
		files, sizeof(files) / sizeof(*files), err);
	if (ok) {
		ok = run_files(identity, catalog, seed, al_output_file(folder, 0),
			     al_output_file(folder, 1), difference, err)
			|| al_in(err, "%s", identity->id);
		al_output_abandon(folder);
	}
	al_arena_finish(&arena);
	return ok;
}
