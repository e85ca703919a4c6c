/* Attention blocks on small random weights. */
#include "proof/proof.h"

#include <math.h>
#include <string.h>

#include "ledger/ledger.h"

enum { T = AL_PROOF_TOKENS, D = AL_PROOF_D_MODEL, H = AL_PROOF_HEADS, W = AL_PROOF_D_HEAD };

/* ---- grids ---- */

struct al_grid al_grid_new(struct al_arena *arena, size_t rows, size_t cols)
{
	return (struct al_grid){al_new_array(arena, double, rows *cols), rows, cols};
}

double al_grid_difference(struct al_grid a, struct al_grid b)
{
	double most = a.rows == b.rows && a.cols == b.cols ? 0 : INFINITY;

	for (size_t i = 0; most < INFINITY && i < a.rows * a.cols; i++)
		most = fmax(most, fabs(a.items[i] - b.items[i]));
	return most;
}

static struct al_grid product(struct al_arena *arena, struct al_grid a, struct al_grid b)
{
	struct al_grid c = al_grid_new(arena, a.rows, b.cols);

	for (size_t i = 0; i < a.rows; i++)
		for (size_t k = 0; k < a.cols; k++)
			for (size_t j = 0; j < b.cols; j++)
				*al_grid_at(c, i, j) += *al_grid_at(a, i, k) * *al_grid_at(b, k, j);
	return c;
}

/* ---- tensors ---- */

struct al_grid al_proof_take(struct al_proof_block *block, const char *name, size_t rows,
	size_t cols)
{
	for (size_t i = 0; i < block->n_tensors; i++) {
		struct al_proof_tensor *tensor = &block->tensors[i];
		if (strcmp(tensor->name, name) != 0)
			continue;
		tensor->is_taken = true;
		if (tensor->grid.rows == rows && tensor->grid.cols == cols)
			return tensor->grid;
		block->problem = al_format(block->arena,
			"%s is %zu x %zu, the pass needs %zu x %zu", name, tensor->grid.rows,
			tensor->grid.cols, rows, cols);
		return al_grid_new(block->arena, rows, cols);
	}
	block->problem = al_format(block->arena, "%s isn't declared", name);
	return al_grid_new(block->arena, rows, cols);
}

/* x W + b */
static struct al_grid project(struct al_proof_block *block, struct al_grid x, const char *weight,
	const char *bias, size_t width)
{
	struct al_grid y = product(block->arena, x, al_proof_take(block, weight, x.cols, width));
	const struct al_grid b = bias && block->has_biases ? al_proof_take(block, bias, width, 1)
							   : al_grid_new(block->arena, width, 1);

	for (size_t i = 0; i < y.rows; i++)
		for (size_t j = 0; j < width; j++)
			*al_grid_at(y, i, j) += b.items[j];
	return y;
}

/* ---- what a pass is made of ---- */

/* Queries, keys and values of all heads side by side; `content` is added to the score of a head and
 * a key token; without items: nothing is. */
struct heads {
	struct al_grid q, k, v; /* [tokens][heads*width] */
	struct al_grid content; /* [tokens][heads] */
};

static double score(const struct heads *h, size_t head, size_t i, size_t j)
{
	const size_t width = h->q.cols / H;
	double sum = h->content.items ? *al_grid_at(h->content, j, head) : 0;

	for (size_t c = 0; c < width; c++)
		sum += *al_grid_at(h->q, i, head * width + c)
			* *al_grid_at(h->k, j, head * width + c);
	return sum / sqrt(W);
}

/* Softmax over the tokens up to each, then its mix of values. */
static struct al_grid attend(struct al_arena *arena, const struct heads *h)
{
	const size_t width = h->v.cols / H;
	struct al_grid o = al_grid_new(arena, T, h->v.cols);

	for (size_t head = 0; head < H; head++)
		for (size_t i = 0; i < T; i++) {
			double sum = 0, weights[T];
			for (size_t j = 0; j <= i; j++)
				sum += weights[j] = exp(score(h, head, i, j));
			for (size_t j = 0; j <= i; j++)
				for (size_t c = head * width; c < (head + 1) * width; c++)
					*al_grid_at(o, i, c) += weights[j] / sum
						* *al_grid_at(h->v, j, c);
		}
	return o;
}

/* Head i of all reads group i*n/H of a grid of n groups. */
static struct al_grid spread(struct al_arena *arena, struct al_grid x, size_t n)
{
	const size_t width = x.cols / n;
	struct al_grid all = al_grid_new(arena, x.rows, H * width);

	for (size_t i = 0; i < x.rows; i++)
		for (size_t head = 0; head < H; head++)
			for (size_t c = 0; c < width; c++)
				*al_grid_at(all, i, head * width + c) = *al_grid_at(x, i,
					head * n / H * width + c);
	return all;
}

static struct al_grid end(struct al_proof_block *block, const struct heads *h)
{
	return project(block, attend(block->arena, h), "W_O", "b_O", D);
}

/* ---- variants ---- */

/* Multi-head attention with keys and values of n heads. */
static struct heads grouped(struct al_proof_block *block, struct al_grid x, size_t n)
{
	return (struct heads){.q = project(block, x, "W_Q", "b_Q", H * W),
		.k = spread(block->arena, project(block, x, "W_K", "b_K", n * W), n),
		.v = spread(block->arena, project(block, x, "W_V", "b_V", n * W), n)};
}

static struct al_grid run_mha(struct al_proof_block *block, struct al_grid x)
{
	const struct heads h = grouped(block, x, H);

	return end(block, &h);
}

static struct al_grid run_gqa(struct al_proof_block *block, struct al_grid x)
{
	const struct heads h = grouped(block, x, block->n_kv_heads);

	return end(block, &h);
}

static struct al_grid run_mqa(struct al_proof_block *block, struct al_grid x)
{
	const struct heads h = grouped(block, x, 1);

	return end(block, &h);
}

static struct al_grid run_skv(struct al_proof_block *block, struct al_grid x)
{
	const struct al_grid kv = project(block, x, "W_KV", "b_KV", H * W);
	const struct heads h = {.q = project(block, x, "W_Q", "b_Q", H * W), .k = kv, .v = kv};

	return end(block, &h);
}

/* Head i reads slice i of the hidden states. */
static struct al_grid run_el_att(struct al_proof_block *block, struct al_grid x)
{
	const struct heads h = {.q = project(block, x, "W_Q", "b_Q", H * W), .k = x, .v = x};

	return end(block, &h);
}

/* Each head adds its embedding to the shared projection, or scales it by that + 1. */
static struct al_grid embed(struct al_proof_block *block, struct al_grid x, const char *weight,
	const char *bias, const char *embedding, bool multiplies)
{
	struct al_grid all = spread(block->arena, project(block, x, weight, bias, W), 1);
	const struct al_grid e = al_proof_take(block, embedding, H, W);

	for (size_t i = 0; i < all.rows; i++)
		for (size_t j = 0; j < all.cols; j++) {
			double *value = al_grid_at(all, i, j);
			*value = multiplies ? *value * (1 + e.items[j]) : *value + e.items[j];
		}
	return all;
}

static struct al_grid run_mhe(struct al_proof_block *block, struct al_grid x, bool multiplies)
{
	const struct heads h = {.q = embed(block, x, "W_Q", "b_Q", "e_Q", multiplies),
		.k = embed(block, x, "W_K", "b_K", "e_K", multiplies),
		.v = embed(block, x, "W_V", "b_V", "e_V", multiplies)};

	return end(block, &h);
}

static struct al_grid run_mhe_add(struct al_proof_block *block, struct al_grid x)
{
	return run_mhe(block, x, false);
}

static struct al_grid run_mhe_mul(struct al_proof_block *block, struct al_grid x)
{
	return run_mhe(block, x, true);
}

/* Shared queries, weighed by each head's mixing vector, and shared keys. */
static struct al_grid run_collab(struct al_proof_block *block, struct al_grid x)
{
	const size_t n = block->d_shared;
	const struct al_grid mixing = al_proof_take(block, "M", H, n);
	struct heads h = {
		.q = spread(block->arena, project(block, x, "W_Q", NULL, n), 1),
		.k = spread(block->arena, project(block, x, "W_K", NULL, n), 1),
		.v = project(block, x, "W_V", "b_V", H * W),
		.content = project(block, x, "W_content", NULL, H),
	};

	for (size_t i = 0; i < T; i++)
		for (size_t j = 0; j < H * n; j++)
			*al_grid_at(h.q, i, j) *= mixing.items[j];
	return end(block, &h);
}

/* Batch normalization with kept statistics: column j of x is of feature j/width. */
static void normalize(struct al_proof_block *block, struct al_grid x, size_t width)
{
	const size_t n = x.cols / width;
	const struct al_grid g = al_proof_take(block, "g_norm", n, 1);
	const struct al_grid b = al_proof_take(block, "b_norm", n, 1);
	const struct al_grid mean = al_proof_take(block, "mean_norm", n, 1);
	const struct al_grid var = al_proof_take(block, "var_norm", n, 1);

	for (size_t i = 0; i < x.rows; i++)
		for (size_t j = 0; j < x.cols; j++) {
			const size_t f = j / width;
			double *value = al_grid_at(x, i, j);
			*value = (*value - mean.items[f]) / sqrt(fabs(var.items[f]) + 1e-5)
					* g.items[f]
				+ b.items[f];
		}
}

/* DEACON's layer as inference has it: n features of `width` numbers become n_pca, and W_O reads
 * them. */
static struct al_grid reduce(struct al_proof_block *block, struct al_grid x, size_t width)
{
	const size_t n = x.cols / width, kept = block->n_pca;
	const struct al_grid w = al_proof_take(block, "W_PCA", n, kept);
	const struct al_grid b = al_proof_take(block, "b_PCA", kept, 1);
	struct al_grid y = al_grid_new(block->arena, T, kept * width);

	for (size_t i = 0; i < T; i++)
		for (size_t p = 0; p < kept; p++)
			for (size_t c = 0; c < width; c++) {
				double *value = al_grid_at(y, i, p * width + c);
				*value = b.items[p];
				for (size_t f = 0; f < n; f++)
					*value += *al_grid_at(w, f, p)
						* *al_grid_at(x, i, f * width + c);
			}
	return project(block, y, "W_O", "b_O", D);
}

static struct al_grid head_outputs(struct al_proof_block *block, struct al_grid x)
{
	const struct heads h = grouped(block, x, H);

	return attend(block->arena, &h);
}

static struct al_grid run_direct(struct al_proof_block *block, struct al_grid x)
{
	const struct al_grid o = head_outputs(block, x);

	normalize(block, o, 1);
	return reduce(block, o, W);
}

/* A head is the mean of its numbers. */
static struct al_grid run_average(struct al_proof_block *block, struct al_grid x)
{
	const struct al_grid o = head_outputs(block, x);
	struct al_grid means = al_grid_new(block->arena, T, H);

	normalize(block, o, 1);
	for (size_t i = 0; i < T; i++)
		for (size_t j = 0; j < H * W; j++)
			*al_grid_at(means, i, j / W) += *al_grid_at(o, i, j) / W;
	return reduce(block, means, 1);
}

/* Heads, and the products of each two of them, itself included. */
static struct al_grid run_nonlinear(struct al_proof_block *block, struct al_grid x)
{
	const struct al_grid o = head_outputs(block, x);
	struct al_grid all = al_grid_new(block->arena, T, (H + H * (H + 1) / 2) * W);

	for (size_t i = 0; i < T; i++) {
		size_t at = 0;
		for (; at < H * W; at++)
			*al_grid_at(all, i, at) = *al_grid_at(o, i, at);
		for (size_t a = 0; a < H; a++)
			for (size_t b = a; b < H; b++)
				for (size_t c = 0; c < W; c++)
					*al_grid_at(all, i, at++) = *al_grid_at(o, i, a * W + c)
						* *al_grid_at(o, i, b * W + c);
	}
	normalize(block, all, W);
	return reduce(block, all, W);
}

static const struct {
	const char *variant;
	struct al_grid (*run)(struct al_proof_block *block, struct al_grid x);
} passes[] = {
	{"mha", run_mha},
	{"gqa", run_gqa},
	{"mqa", run_mqa},
	{"skv", run_skv},
	{"el-att", run_el_att},
	{"mhe-add", run_mhe_add},
	{"mhe-mul", run_mhe_mul},
	{"collab", run_collab},
	{"deacon-direct", run_direct},
	{"deacon-average", run_average},
	{"deacon-nonlinear", run_nonlinear},
};

bool al_proof_run(struct al_proof_block *block, struct al_grid x, struct al_grid *y,
	struct al_error *err)
{
	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++)
		if (strcmp(passes[i].variant, block->variant->name) == 0) {
			*y = passes[i].run(block, x);
			return true;
		}
	return al_fail(err, AL_EINPUT, "variant %s has no pass", block->name);
}

/* ---- opening ---- */

static bool add_tensors(struct al_proof_block *block, struct al_ledger *ledger,
	struct al_random *random, struct al_error *err)
{
	const struct al_ledger_list *list;

	if (!al_ledger_list(ledger, AL_LIST_STORED, &list, err))
		return false;
	block->tensors = al_new_array(block->arena, struct al_proof_tensor, list->n);
	for (size_t i = 0; i < list->n; i++) {
		const struct al_ledger_entry *entry = &list->items[i];
		struct al_proof_tensor *tensor = &block->tensors[block->n_tensors++];
		tensor->name = al_strdup(block->arena, entry->name);
		tensor->grid = al_grid_new(block->arena, (size_t)entry->dims[0],
			entry->n_dims > 1 ? (size_t)entry->dims[1] : 1);
		al_random_gaussian(random, tensor->grid.items,
			tensor->grid.rows * tensor->grid.cols);
	}
	return true;
}

/* What the variant holds of its symbols. */
static void read_sizes(struct al_proof_block *block, const struct al_configured_variant *configured)
{
	block->n_kv_heads = H;
	block->d_shared = AL_PROOF_SHARED;
	block->n_pca = AL_PROOF_PCA;
	for (size_t i = 0; i < configured->n_with; i++) {
		const struct al_binding *with = &configured->with[i];
		size_t *const size = strcmp(with->symbol, "n_kv_heads") == 0 ? &block->n_kv_heads
			: strcmp(with->symbol, "d_shared") == 0		     ? &block->d_shared
			: strcmp(with->symbol, "n_pca") == 0		     ? &block->n_pca
									     : NULL;
		if (size)
			*size = (size_t)with->value;
		else if (strcmp(with->symbol, "biases") == 0)
			block->has_biases = with->value != 0;
	}
}

static void set_sizes(struct al_settings *settings, const struct al_proof_block *block)
{
	al_settings_set(settings, "d_model", D, "the proof");
	al_settings_set(settings, "n_heads", H, "the proof");
	al_settings_set(settings, "d_head", W, "the proof");
	al_settings_set(settings, "d_shared", (int64_t)block->d_shared, "the proof");
	al_settings_set(settings, "n_pca", (int64_t)block->n_pca, "the proof");
}

bool al_proof_block_open(struct al_proof_block *block, struct al_arena *arena,
	struct al_catalog *catalog, const char *name, struct al_random *random,
	struct al_error *err)
{
	struct al_configured_variant configured;
	struct al_settings settings;
	struct al_basis basis;
	struct al_ledger ledger;

	*block = (struct al_proof_block){.arena = arena, .name = name};
	if (!al_configured_variant_parse(arena, catalog, name, &configured, err))
		return false;
	block->variant = configured.variant;
	read_sizes(block, &configured);
	al_basis_init(&basis);
	al_settings_init(&settings, catalog);
	set_sizes(&settings, block);
	bool ok = al_ledger_open_module(&ledger, &configured, &settings, &basis, err);
	if (ok) {
		ok = add_tensors(block, &ledger, random, err);
		al_ledger_close(&ledger);
	}
	al_settings_finish(&settings);
	return ok;
}
