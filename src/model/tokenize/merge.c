/* Byte-pair encoding: of all neighbors that can be joined those with the lowest rank are, the
 * first of them, until none can. A heap holds the pairs; one whose parts have become something else
 * meanwhile is passed over. */
#include "model/tokenize/internal.h"

#define NONE UINT32_MAX

/* A list of tokens. */
struct symbol {
	int32_t token; /* -1: it was joined to the one on its left */
	uint32_t before, after; /* or NONE */
};

struct candidate {
	double rank;
	int32_t token;
	uint32_t at; /* the left one */
};

struct joining {
	struct symbol *symbols;
	struct candidate *heap;
	size_t n_heap;
	al_merge_find *find;
	const void *context;
};

static bool is_sooner(const struct candidate *a, const struct candidate *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->at < b->at);
}

static void push(struct joining *j, struct candidate item)
{
	size_t i = j->n_heap++;

	for (; i > 0 && is_sooner(&item, &j->heap[(i - 1) / 2]); i = (i - 1) / 2)
		j->heap[i] = j->heap[(i - 1) / 2];
	j->heap[i] = item;
}

static struct candidate pop(struct joining *j)
{
	const struct candidate first = j->heap[0], last = j->heap[--j->n_heap];
	size_t i = 0;

	for (size_t child = 1; child < j->n_heap; child = 2 * i + 1) {
		if (child + 1 < j->n_heap && is_sooner(&j->heap[child + 1], &j->heap[child]))
			child++;
		if (!is_sooner(&j->heap[child], &last))
			break;
		j->heap[i] = j->heap[child];
		i = child;
	}
	j->heap[i] = last;
	return first;
}

/* The token that `at` and its successor can merge into. */
static void consider(struct joining *j, uint32_t at)
{
	struct al_bpe_merge merge;

	if (at == NONE || j->symbols[at].after == NONE)
		return;
	if (j->find(j->context, j->symbols[at].token, j->symbols[j->symbols[at].after].token,
		    &merge))
		push(j, (struct candidate){merge.rank, merge.token, at});
}

static bool still_holds(const struct joining *j, const struct candidate *item)
{
	const struct symbol *left = &j->symbols[item->at];
	struct al_bpe_merge now;

	return left->token >= 0 && left->after != NONE
		&& j->find(j->context, left->token, j->symbols[left->after].token, &now)
		&& now.token == item->token;
}

static void join(struct joining *j, const struct candidate *item)
{
	struct symbol *left = &j->symbols[item->at], *right = &j->symbols[left->after];

	left->token = item->token;
	left->after = right->after;
	right->token = -1;
	if (right->after != NONE)
		j->symbols[right->after].before = item->at;
	consider(j, left->before);
	consider(j, item->at);
}

static struct joining begin(struct al_arena *memory, const int32_t *tokens, uint32_t n)
{
	/* each joining takes a pair and adds two, and there are fewer than n */
	struct joining j = {.symbols = al_new_array(memory, struct symbol, n),
		.heap = al_new_array(memory, struct candidate, 2 * (size_t)n)};

	for (uint32_t i = 0; i < n; i++)
		j.symbols[i] = (struct symbol){tokens[i], i ? i - 1 : NONE,
			i + 1 < n ? i + 1 : NONE};
	return j;
}

bool al_merge_all(struct al_arena *memory, int32_t *tokens, size_t *n, al_merge_find *find,
	const void *context, struct al_error *err)
{
	const size_t bytes = sizeof(struct symbol) + 2 * sizeof(struct candidate);
	uint32_t left = 0;

	if (!al_budget_check(memory->budget, *n * bytes, err))
		return false;
	if (*n >= NONE)
		return al_fail(err, AL_EINPUT, "%zu characters without a split", *n);
	struct joining j = begin(memory, tokens, (uint32_t)*n);
	j.find = find;
	j.context = context;
	for (uint32_t i = 0; i < *n; i++)
		consider(&j, i);
	while (j.n_heap > 0) {
		const struct candidate item = pop(&j);
		if (still_holds(&j, &item))
			join(&j, &item);
	}
	for (uint32_t i = 0; i < *n; i++)
		if (j.symbols[i].token >= 0)
			tokens[left++] = j.symbols[i].token;
	*n = left;
	return al_budget_take(memory->budget, 0, err);
}
