/* What is claimed, and how both sides are made. */
#include "proof/proof.h"

#include <string.h>

enum { T = AL_PROOF_TOKENS, D = AL_PROOF_D_MODEL, H = AL_PROOF_HEADS, W = AL_PROOF_D_HEAD };

struct proving {
	struct al_proofs *proofs;
	struct al_arena *arena;
	struct al_catalog *catalog;
	struct al_random *random;
	struct al_grid x; /* [tokens][d_model] */
};

/* ---- two sides ---- */

static bool open_block(struct proving *p, struct al_proof_block *block, const char *name,
	struct al_error *err)
{
	return al_proof_block_open(block, p->arena, p->catalog, name, p->random, err);
}

/* A tensor to be read or set: of the claim's own making, so it is there. */
static struct al_grid of(struct al_proof_block *block, const char *name)
{
	for (size_t i = 0; i < block->n_tensors; i++)
		if (strcmp(block->tensors[i].name, name) == 0)
			return block->tensors[i].grid;
	block->problem = al_format(block->arena, "%s isn't declared", name);
	return al_grid_new(block->arena, 0, 0);
}

static void copy(struct al_grid from, struct al_grid to)
{
	if (from.rows * from.cols == to.rows * to.cols && from.items)
		memcpy(to.items, from.items, from.rows * from.cols * sizeof(*to.items));
}

static void copy_named(struct al_proof_block *from, struct al_proof_block *to,
	const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		copy(of(from, names[i]), of(to, names[i]));
}

static void fill(struct al_grid grid, double value)
{
	for (size_t i = 0; i < grid.rows * grid.cols; i++)
		grid.items[i] = value;
}

/* 1 where a column belongs to the row: every row has the same number of them, side by side. */
static void select_columns(struct al_grid grid)
{
	for (size_t i = 0; i < grid.rows; i++)
		for (size_t j = 0; j < grid.cols; j++)
			*al_grid_at(grid, i, j) = j * grid.rows / grid.cols == i;
}

static struct al_proof *add(struct proving *p, const char *id, const char *claim)
{
	struct al_proofs *proofs = p->proofs;

	proofs->items = al_grow(p->arena, proofs->items, proofs->n, &proofs->room,
		sizeof(*proofs->items));
	proofs->items[proofs->n] = (struct al_proof){.id = id, .claim = claim};
	return &proofs->items[proofs->n++];
}

static bool compare(struct proving *p, const char *id, const char *claim,
	struct al_proof_block *left, struct al_proof_block *right, struct al_error *err)
{
	struct al_grid a, b;

	if (!al_proof_run(left, p->x, &a, err) || !al_proof_run(right, p->x, &b, err))
		return false;
	struct al_proof *proof = add(p, id, claim);
	proof->is_compared = true;
	proof->difference = al_grid_difference(a, b);
	proof->problem = left->problem ? left->problem : right->problem;
	return true;
}

/* ---- the tensors that a pass takes ---- */

static bool prove_tensors(struct proving *p, const char *name, struct al_error *err)
{
	const char *configured = al_format(p->arena, "%s%cbiases=true", name,
		strchr(name, ':') ? ',' : ':');
	struct al_proof_block block;
	struct al_grid y;

	if (!open_block(p, &block, configured, err) || !al_proof_run(&block, p->x, &y, err))
		return false;
	struct al_proof *proof = add(p, al_format(p->arena, "tensors-%s", block.variant->name),
		"a pass takes what is declared");
	proof->problem = block.problem;
	for (size_t i = 0; i < block.n_tensors; i++)
		if (!proof->problem && !block.tensors[i].is_taken)
			proof->problem = al_format(p->arena, "%s is declared, no pass takes it",
				block.tensors[i].name);
	return true;
}

static bool prove_all_tensors(struct proving *p, struct al_error *err)
{
	static const char *const names[] = {"mha", "gqa:n_kv_heads=2", "mqa", "skv", "el-att",
		"mhe-add", "mhe-mul", "collab", "deacon-direct", "deacon-average",
		"deacon-nonlinear"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!prove_tensors(p, names[i], err))
			return false;
	return true;
}

/* ---- ends of a scale ---- */

static const char *const all_of_mha[] = {"W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"};

static bool prove_groups(struct proving *p, int n_kv_heads, const char *id, const char *claim,
	const char *other, struct al_error *err)
{
	struct al_proof_block gqa, end;

	if (!open_block(p, &gqa, al_format(p->arena, "gqa:n_kv_heads=%d,biases=true", n_kv_heads),
		    err)
		|| !open_block(p, &end, al_format(p->arena, "%s:biases=true", other), err))
		return false;
	copy_named(&gqa, &end, all_of_mha, 8);
	return compare(p, id, claim, &gqa, &end, err);
}

static bool prove_full_rank(struct proving *p, struct al_error *err)
{
	struct al_proof_block mha, collab;

	if (!open_block(p, &mha, "mha", err)
		|| !open_block(p, &collab, al_format(p->arena, "collab:d_shared=%d", H * W), err))
		return false;
	copy_named(&mha, &collab, all_of_mha, 4);
	select_columns(of(&collab, "M"));
	fill(of(&collab, "W_content"), 0);
	return compare(p, "collab-mha", "collab as wide as all heads is mha", &collab, &mha, err);
}

/* ---- special cases ---- */

static bool prove_shared_values(struct proving *p, struct al_error *err)
{
	struct al_proof_block mha, skv;

	if (!open_block(p, &mha, "mha", err) || !open_block(p, &skv, "skv", err))
		return false;
	copy(of(&mha, "W_Q"), of(&skv, "W_Q"));
	copy(of(&mha, "W_O"), of(&skv, "W_O"));
	copy(of(&skv, "W_KV"), of(&mha, "W_K"));
	copy(of(&skv, "W_KV"), of(&mha, "W_V"));
	return compare(p, "skv-mha", "mha with W_K = W_V is skv", &mha, &skv, err);
}

static bool prove_slices(struct proving *p, struct al_error *err)
{
	struct al_proof_block mha, el_att;

	if (!open_block(p, &mha, "mha", err) || !open_block(p, &el_att, "el-att", err))
		return false;
	copy(of(&mha, "W_Q"), of(&el_att, "W_Q"));
	copy(of(&mha, "W_O"), of(&el_att, "W_O"));
	select_columns(of(&mha, "W_K"));
	select_columns(of(&mha, "W_V"));
	return compare(p, "el-att-mha", "mha with W_K = W_V = 1 is el-att", &mha, &el_att, err);
}

static bool prove_identity(struct proving *p, struct al_error *err)
{
	struct al_proof_block mha, deacon;

	if (!open_block(p, &mha, "mha", err)
		|| !open_block(p, &deacon, al_format(p->arena, "deacon-direct:n_pca=%d", H), err))
		return false;
	copy_named(&mha, &deacon, all_of_mha, 4);
	select_columns(of(&deacon, "W_PCA"));
	fill(of(&deacon, "b_PCA"), 0);
	fill(of(&deacon, "g_norm"), 1);
	fill(of(&deacon, "b_norm"), 0);
	fill(of(&deacon, "mean_norm"), 0);
	fill(of(&deacon, "var_norm"), 1 - 1e-5); /* less the epsilon that is added to it */
	return compare(p, "deacon-mha", "deacon-direct that keeps all is mha", &deacon, &mha, err);
}

/* ---- embeddings of heads ---- */

static bool prove_key_embedding(struct proving *p, struct al_error *err)
{
	struct al_proof_block with, without;

	if (!open_block(p, &with, "mhe-add:biases=true", err))
		return false;
	without = with;
	without.tensors = al_new_array(p->arena, struct al_proof_tensor, with.n_tensors);
	for (size_t i = 0; i < with.n_tensors; i++) {
		const struct al_grid grid = with.tensors[i].grid;
		without.tensors[i].name = with.tensors[i].name;
		without.tensors[i].grid = al_grid_new(p->arena, grid.rows, grid.cols);
		copy(grid, without.tensors[i].grid);
	}
	fill(of(&without, "e_K"), 0);
	return compare(p, "mhe-add-key", "e_K changes no output", &with, &without, err);
}

/* The value embeddings as W_O sees them. */
static void add_constant(struct al_grid embedding, struct al_grid output, struct al_grid bias)
{
	for (size_t j = 0; j < D; j++)
		for (size_t i = 0; i < H * W; i++)
			bias.items[j] += embedding.items[i] * *al_grid_at(output, i, j);
}

static bool prove_value_embedding(struct proving *p, struct al_error *err)
{
	struct al_proof_block mhe, mqa;

	if (!open_block(p, &mhe, "mhe-add", err) || !open_block(p, &mqa, "mqa:biases=true", err))
		return false;
	copy_named(&mhe, &mqa, all_of_mha, 1);
	for (size_t i = 0; i < D; i++) /* one query projection for all heads */
		for (size_t j = 0; j < H * W; j++)
			*al_grid_at(of(&mqa, "W_Q"), i, j) = *al_grid_at(of(&mhe, "W_Q"), i, j % W);
	copy_named(&mhe, &mqa, all_of_mha + 1, 3);
	copy(of(&mhe, "e_Q"), of(&mqa, "b_Q"));
	fill(of(&mqa, "b_K"), 0);
	fill(of(&mqa, "b_V"), 0);
	fill(of(&mqa, "b_O"), 0);
	add_constant(of(&mhe, "e_V"), of(&mhe, "W_O"), of(&mqa, "b_O"));
	return compare(p, "mhe-add-value", "mqa but for biases: e_V adds a constant", &mhe, &mqa,
		err);
}

/* (1 + a)(1 + b), element by element. */
static void scale_both(struct al_grid a, struct al_grid b, struct al_grid out)
{
	for (size_t i = 0; i < out.rows * out.cols; i++)
		out.items[i] = (1 + a.items[i]) * (1 + b.items[i]);
}

static bool prove_collaborative(struct proving *p, struct al_error *err)
{
	struct al_proof_block mhe, collab;

	if (!open_block(p, &mhe, "mhe-mul", err)
		|| !open_block(p, &collab, al_format(p->arena, "collab:d_shared=%d", W), err))
		return false;
	copy_named(&mhe, &collab, all_of_mha, 2);
	copy(of(&mhe, "W_O"), of(&collab, "W_O"));
	scale_both(of(&mhe, "e_Q"), of(&mhe, "e_K"), of(&collab, "M"));
	fill(of(&collab, "W_content"), 0);
	for (size_t i = 0; i < D; i++)
		for (size_t j = 0; j < H * W; j++)
			*al_grid_at(of(&collab, "W_V"), i, j) = *al_grid_at(of(&mhe, "W_V"), i,
									j % W)
				* (1 + of(&mhe, "e_V").items[j]);
	return compare(p, "mhe-mul-collab", "collab of width d_head", &mhe, &collab, err);
}

bool al_proofs_run(struct al_proofs *proofs, struct al_arena *arena, struct al_catalog *catalog,
	uint64_t seed, struct al_error *err)
{
	struct proving p = {proofs, arena, catalog, al_random_create(seed, 0, 0, 0),
		al_grid_new(arena, T, D)};

	*proofs = (struct al_proofs){0};
	al_random_gaussian(p.random, p.x.items, (size_t)T * D);
	bool ok = prove_all_tensors(&p, err)
		&& prove_groups(&p, H, "gqa-mha", "gqa with n_kv_heads = n_heads is mha", "mha",
			err)
		&& prove_groups(&p, 1, "gqa-mqa", "gqa with n_kv_heads = 1 is mqa", "mqa", err)
		&& prove_shared_values(&p, err) && prove_slices(&p, err)
		&& prove_key_embedding(&p, err) && prove_value_embedding(&p, err)
		&& prove_collaborative(&p, err) && prove_full_rank(&p, err)
		&& prove_identity(&p, err);
	al_random_destroy(p.random);
	return ok;
}
