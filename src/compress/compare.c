/* What a compressed file has copied from the original, held against it. */
#include "compress/plan.h"

enum { BLOCK_BYTES = 512 << 10, MOST_NAMES = 8 };

struct comparison {
	const struct al_checkpoint *original, *compressed;
	struct al_table *table;
	const struct al_tensor *found; /* the tensor at hand, in the compressed file */
	uint64_t at; /* byte of it */
	uint64_t n_different, first_different; /* bytes of it that were copied */
	unsigned char *blocks[2];
	size_t n_tensors; /* that differ */
	double rounds; /* by how many times the distance of a format's largest numbers */
};

static const char *describe(struct comparison *c, const struct al_tensor *tensor)
{
	return al_format(&c->table->arena, "%s of %s",
		al_shape_text(&c->table->arena, tensor->shape, tensor->n_dims),
		al_dtype_title(tensor->dtype));
}

/* The first few by name; al_copies_compare counts the others. */
static void note(struct comparison *c, const char *tensor, const char *what)
{
	if (c->n_tensors++ < MOST_NAMES)
		al_table_warn(c->table, "%s: tensor %s %s", c->compressed->path, tensor, what);
}

/* ---- bytes ---- */

static void compare_blocks(struct comparison *c, size_t n)
{
	if (memcmp(c->blocks[0], c->blocks[1], n) == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (c->blocks[0][i] == c->blocks[1][i])
			continue;
		if (c->n_different++ == 0)
			c->first_different = c->at + i;
	}
}

/* Numbers [first, +n) of the new tensor are in blocks[1], which begins with the block of the first
 * one, those that they are copies of in blocks[0]. A format rounds by at most the distance of its
 * two largest numbers in a block, or a few of them where other numbers weigh more. */
static void compare_rounded(struct comparison *c, const struct al_dtype *dtype, size_t within,
	size_t n)
{
	const float *copied = (void *)c->blocks[0], *found = (void *)c->blocks[1];
	const size_t block = dtype->block_elements;

	for (size_t begin = 0; begin < within + n; begin += block) {
		float most = 0x1p-14F; /* smaller ones F16 rounds as it does this one */
		for (size_t i = begin; i < begin + block; i++)
			most = fmaxf(most, fabsf(found[i]));
		for (size_t i = al_most(begin, within); i < begin + block && i < within + n; i++)
			if (!(fabs((double)found[i] - (double)copied[i - within])
				    <= c->rounds * dtype->epsilon * (double)most))
				c->n_different++;
	}
}

static bool compare_numbers(struct comparison *c, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err)
{
	enum { NUMBERS = BLOCK_BYTES / sizeof(float) - 2 * AL_MOST_BLOCK_ELEMENTS };
	const int64_t block = (int64_t)tensor->recoded->block_elements;

	for (uint64_t done = 0, now; done < run->bytes; done += now * sizeof(float)) {
		const uint64_t left = (run->bytes - done) / sizeof(float);
		const int64_t first = (int64_t)(c->at / sizeof(float)), within = first % block;
		now = al_least(left, NUMBERS);
		const int64_t n = (int64_t)now, blocks = (within + n + block - 1) / block;
		const struct al_selection copied = {.first = (int64_t)((run->from + done)
							    / sizeof(float)),
						  .run = n,
						  .n_runs = 1},
					  found = {.first = first - within,
						  .run = blocks * block,
						  .n_runs = 1};
		if (!al_tensor_read_float(c->original, tensor->source, &copied,
			    (void *)c->blocks[0], (size_t)n, err)
			|| !al_tensor_read_float(c->compressed, c->found, &found,
				(void *)c->blocks[1], (size_t)found.run, err))
			return false;
		compare_rounded(c, tensor->recoded, (size_t)within, (size_t)n);
		c->at += now * sizeof(float);
	}
	return true;
}

static bool compare_run(void *context, const struct al_planned_tensor *tensor,
	const struct al_planned_run *run, struct al_error *err)
{
	struct comparison *c = context;

	if (!run->is_copied) {
		c->at += run->bytes;
		return true;
	}
	if (tensor->recoded)
		return compare_numbers(c, tensor, run, err);
	for (uint64_t done = 0; done < run->bytes;) {
		const uint64_t left = run->bytes - done;
		const size_t now = (size_t)al_least(left, BLOCK_BYTES);
		if (!al_tensor_read_bytes(c->original, tensor->source, run->from + done,
			    c->blocks[0], now, err)
			|| !al_tensor_read_bytes(c->compressed, c->found, c->at, c->blocks[1], now,
				err))
			return false;
		compare_blocks(c, now);
		done += now;
		c->at += now;
	}
	return true;
}

/* ---- tensors ---- */

static bool same_form(const struct al_tensor *a, const struct al_tensor *b)
{
	return a->dtype == b->dtype && a->n_dims == b->n_dims
		&& memcmp(a->shape, b->shape, a->n_dims * sizeof(*a->shape)) == 0;
}

static bool compare_tensor(struct comparison *c, const struct al_tensor *header,
	const struct al_planned_tensor *planned, struct al_error *err)
{
	struct al_arena *arena = &c->table->arena;

	c->found = al_checkpoint_find(c->compressed, header->name);
	c->at = c->n_different = 0;
	if (!c->found)
		note(c, header->name, "is missing");
	else if (!same_form(header, c->found))
		note(c, header->name,
			al_format(arena, "is %s, expected %s", describe(c, c->found),
				describe(c, header)));
	else if (!al_planned_tensor_visit(planned, compare_run, c, err))
		return false;
	if (c->n_different > 0 && planned->recoded)
		note(c, header->name,
			al_format(arena,
				"is not the original's: %" PRIu64
				" of its numbers differ by more than %s rounds",
				c->n_different, al_dtype_title(planned->recoded)));
	else if (c->n_different > 0)
		note(c, header->name,
			al_format(arena,
				"is not the original's: %" PRIu64 " of its %" PRIu64
				" bytes differ, the first at %" PRIu64,
				c->n_different, c->found->bytes, c->first_different));
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Tensors that nothing in the plan asks for. */
static void find_strangers(struct comparison *c, const struct al_plan *plan)
{
	AL_FREED const char **names = al_alloc(plan->n + 1, sizeof(*names));

	for (size_t i = 0; i < plan->n; i++)
		names[i] = plan->headers[i].name;
	qsort(names, plan->n, sizeof(*names), compare_names);
	for (size_t i = 0; i < c->compressed->n_tensors; i++) {
		const char *name = c->compressed->tensors[i].name;
		if (!bsearch(&name, names, plan->n, sizeof(*names), compare_names))
			note(c, name, "doesn't exist in the original");
	}
}

static bool compare_tensors(struct comparison *c, const struct al_plan *plan, struct al_error *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (!compare_tensor(c, &plan->headers[i], &plan->tensors[i], err))
			return false;
	find_strangers(c, plan);
	return true;
}

bool al_copies_compare(struct al_job *job, struct al_table *table, bool *is_same,
	struct al_error *err)
{
	struct comparison c = {.original = job->view->checkpoint,
		.compressed = job->compressed,
		.table = table,
		.rounds = job->is_weighted ? 6 : 2};
	struct al_plan plan;

	al_plan_make(&plan, job);
	for (int i = 0; i < 2; i++)
		c.blocks[i] = al_alloc(BLOCK_BYTES, 1);
	bool ok = compare_tensors(&c, &plan, err);
	for (int i = 0; i < 2; i++)
		free(c.blocks[i]);
	if (ok && c.n_tensors > MOST_NAMES)
		al_table_warn(table, "%s: %zu more tensors differ", job->compressed->path,
			c.n_tensors - MOST_NAMES);
	*is_same = c.n_tensors == 0;
	return ok;
}
