/* Byte-pair encoding: of all neighbors that can be joined those with the lowest rank are, the
 * first of them, until none can. A heap holds the pairs; one whose parts have become something else
 * meanwhile is passed over. */
#include "model/tokenize/internal.h"

/* A list of tokens; what was joined to the one on its left has length 0. */
struct symbol {
	int32_t token;
	size_t before, after; /* SIZE_MAX: none */
	bool is_gone;
};

struct candidate {
	size_t at; /* the left one */
	struct al_bpe_merge merge;
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
	return a->merge.rank < b->merge.rank || (a->merge.rank == b->merge.rank && a->at < b->at);
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

/* What `at` and the one after it can become. */
static void consider(struct joining *j, size_t at)
{
	struct candidate item = {.at = at};

	if (at == SIZE_MAX || j->symbols[at].after == SIZE_MAX)
		return;
	if (j->find(j->context, j->symbols[at].token, j->symbols[j->symbols[at].after].token,
		    &item.merge))
		push(j, item);
}

static bool still_holds(const struct joining *j, const struct candidate *item)
{
	const struct symbol *left = &j->symbols[item->at];
	struct al_bpe_merge now;

	return !left->is_gone && left->after != SIZE_MAX
		&& j->find(j->context, left->token, j->symbols[left->after].token, &now)
		&& now.token == item->merge.token;
}

static void join(struct joining *j, const struct candidate *item)
{
	struct symbol *left = &j->symbols[item->at], *right = &j->symbols[left->after];

	left->token = item->merge.token;
	left->after = right->after;
	right->is_gone = true;
	if (right->after != SIZE_MAX)
		j->symbols[right->after].before = item->at;
	consider(j, left->before);
	consider(j, item->at);
}

size_t al_merge_all(struct al_arena *memory, int32_t *tokens, size_t n, al_merge_find *find,
	const void *context)
{
	/* each joining adds two pairs and there are fewer than n */
	struct joining j = {.symbols = al_new_array(memory, struct symbol, n),
		.heap = al_new_array(memory, struct candidate, 3 * n),
		.find = find,
		.context = context};
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		j.symbols[i] = (struct symbol){tokens[i], i ? i - 1 : SIZE_MAX,
			i + 1 < n ? i + 1 : SIZE_MAX, false};
	for (size_t i = 0; i < n; i++)
		consider(&j, i);
	while (j.n_heap > 0) {
		const struct candidate item = pop(&j);
		if (still_holds(&j, &item))
			join(&j, &item);
	}
	for (size_t i = 0; i < n; i++)
		if (!j.symbols[i].is_gone)
			tokens[left++] = j.symbols[i].token;
	return left;
}
