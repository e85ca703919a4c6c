/* Groups of heads that share a key and a value. */
#include "audit/grouping.h"

/* ---- pairs ---- */

struct pairs {
	const struct al_group_cost *cost;
	struct al_matrix costs;
};

static bool find_pair(void *context, size_t index, struct al_error *err)
{
	const struct pairs *x = context;
	const size_t i = index % x->costs.rows, j = index / x->costs.rows;
	const size_t heads[] = {i, j};
	double cost;

	if (i >= j)
		return true;
	if (!x->cost->find(x->cost->context, heads, 2, &cost, err))
		return false;
	x->costs.data[i + j * x->costs.ld] = x->costs.data[j + i * x->costs.ld] = cost;
	return true;
}

bool al_pair_costs(struct al_scratch *scratch, const struct al_group_cost *cost, size_t n,
	struct al_matrix *costs, struct al_error *err)
{
	struct pairs x = {.cost = cost};

	if (!al_take(scratch, costs, n, n, err))
		return false;
	x.costs = *costs;
	return al_parallel(n * n, find_pair, &x, err);
}

static double pair_cost(struct al_matrix pairs, size_t i, size_t j)
{
	return pairs.data[i + j * pairs.ld];
}

/* least[set]: the cost of a set's heads, matched; its first head goes with each other one. */
static void match_exactly(struct al_matrix pairs, size_t *order)
{
	const size_t n = pairs.rows, n_sets = (size_t)1 << n;
	AL_FREED double *least = al_alloc(n_sets, sizeof(*least));
	AL_FREED uint8_t *partner = al_calloc(n_sets, sizeof(*partner));
	least[0] = 0;
	for (size_t set = 1; set < n_sets; set++) {
		const size_t first = (size_t)__builtin_ctzl(set);
		least[set] = INFINITY;
		for (size_t j = first + 1; j < n; j++) {
			const size_t rest = set & ~((size_t)1 << first | (size_t)1 << j);
			if ((set >> j & 1)
				&& least[rest] + pair_cost(pairs, first, j) < least[set]) {
				least[set] = least[rest] + pair_cost(pairs, first, j);
				partner[set] = (uint8_t)j;
			}
		}
	}
	for (size_t set = n_sets - 1; set; order += 2) {
		order[0] = (size_t)__builtin_ctzl(set);
		order[1] = partner[set];
		set &= ~((size_t)1 << order[0] | (size_t)1 << order[1]);
	}
}

/* ---- exchanges ---- */

/* The cost of a head's pairs with the group of place `at`, except with the head at that place. */
static double cost_with(struct al_matrix pairs, const size_t *order, size_t size, size_t head,
	size_t at)
{
	size_t first = at / size * size;
	double sum = 0;

	for (size_t i = first; i < first + size; i++)
		if (i != at)
			sum += pair_cost(pairs, head, order[i]);
	return sum;
}

/* The saving of an exchange of two heads, by the costs of pairs within groups. */
static double gain_of(struct al_matrix pairs, const size_t *order, size_t size, size_t a, size_t b)
{
	return cost_with(pairs, order, size, order[a], a)
		+ cost_with(pairs, order, size, order[b], b)
		- cost_with(pairs, order, size, order[a], b)
		- cost_with(pairs, order, size, order[b], a);
}

struct exchange {
	size_t a, b;
	double gain;
};

static void swap(size_t *order, struct exchange e)
{
	size_t t = order[e.a];

	order[e.a] = order[e.b];
	order[e.b] = t;
}

/* The exchanges that save most, the best first. */
static size_t list_exchanges(struct al_matrix pairs, const size_t *order, size_t size,
	struct exchange *best, size_t most)
{
	size_t n_best = 0;

	for (size_t a = 0; a < pairs.rows; a++)
		for (size_t b = (a / size + 1) * size; b < pairs.rows; b++) {
			struct exchange e = {a, b, gain_of(pairs, order, size, a, b)};
			size_t at = n_best;
			while (at > 0 && best[at - 1].gain < e.gain)
				at--;
			if (at == most)
				continue;
			n_best += n_best < most;
			memmove(best + at + 1, best + at, (n_best - at - 1) * sizeof(*best));
			best[at] = e;
		}
	return n_best;
}

/* By the costs of pairs alone: each exchange lowers their sum by more than rounding. */
static void exchange_pairs(struct al_matrix pairs, size_t size, size_t *order)
{
	struct exchange best;

	for (size_t k = 0; k < 4 * pairs.rows; k++) {
		if (list_exchanges(pairs, order, size, &best, 1) == 0 || best.gain <= 1e-12)
			return;
		swap(order, best);
	}
}

/* The costs of the groups as they are. */
struct groups {
	const struct al_group_cost *cost;
	size_t *order, n, size;
	double *costs; /* [n/size] */
};

static bool find_cost(const struct groups *g, size_t group, double *cost, struct al_error *err)
{
	return g->cost->find(g->cost->context, g->order + group * g->size, g->size, cost, err);
}

/* Makes the exchange if it lowers the cost of its two groups. */
static bool try_exchange(struct groups *g, struct exchange e, bool *is_better, struct al_error *err)
{
	const size_t a = e.a / g->size, b = e.b / g->size;
	double cost_a, cost_b;

	swap(g->order, e);
	if (!find_cost(g, a, &cost_a, err) || !find_cost(g, b, &cost_b, err))
		return false;
	*is_better = cost_a + cost_b < (g->costs[a] + g->costs[b]) * (1 - 1e-6);
	if (*is_better) {
		g->costs[a] = cost_a;
		g->costs[b] = cost_b;
	} else
		swap(g->order, e);
	return true;
}

enum { TRIES = 2 };

/* Repeats as long as one of the most promising exchanges lowers the cost; what the last one did
 * isn't undone. */
static bool exchange_all(struct groups *g, struct al_matrix pairs, struct al_error *err)
{
	struct exchange best[TRIES + 1], last = {0};
	bool is_better = true;

	for (size_t round = 0; round < g->n && is_better; round++) {
		const size_t n = list_exchanges(pairs, g->order, g->size, best, TRIES);
		is_better = false;
		for (size_t k = 0; k < n && !is_better; k++) {
			const bool is_undone = best[k].a == last.a && best[k].b == last.b;
			if (!is_undone && !try_exchange(g, best[k], &is_better, err))
				return false;
			if (is_better)
				last = best[k];
		}
	}
	return true;
}

/* ---- groups ---- */

static int compare(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return al_compare(*x, *y);
}

static void put_in_order(size_t *order, size_t n, size_t size)
{
	for (size_t first = 0; first < n; first += size)
		qsort(order + first, size, sizeof(*order), compare);
	qsort(order, n / size, size * sizeof(*order), compare);
}

/* The costs of all groups, and their sum. */
static bool find_costs(struct groups *g, double *sum, struct al_error *err)
{
	*sum = 0;
	for (size_t group = 0; group < g->n / g->size; group++) {
		if (!find_cost(g, group, &g->costs[group], err))
			return false;
		*sum += g->costs[group];
	}
	return true;
}

static void set_neighbors(size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
}

/* From neighbors, which stay where nothing better is found. */
static bool search(struct groups *g, struct al_matrix pairs, double neighbors, struct al_error *err)
{
	double found;

	set_neighbors(g->order, g->n);
	if (isnan(neighbors) && !find_costs(g, &neighbors, err))
		return false;
	exchange_pairs(pairs, g->size, g->order);
	if (!find_costs(g, &found, err) || (g->size > 2 && !exchange_all(g, pairs, err)))
		return false;
	found = 0;
	for (size_t group = 0; group < g->n / g->size; group++)
		found += g->costs[group];
	if (!(found < neighbors))
		set_neighbors(g->order, g->n);
	return true;
}

bool al_group_heads(const struct al_group_cost *cost, struct al_matrix pairs, size_t size,
	double neighbors, size_t *order, struct al_error *err)
{
	const size_t n = pairs.rows;
	AL_FREED double *costs = al_calloc(n / size, sizeof(*costs));
	struct groups g = {cost, order, n, size, costs};
	bool ok = true;

	if (size == 2 && n <= AL_MOST_MATCHED)
		match_exactly(pairs, order);
	else
		ok = search(&g, pairs, neighbors, err);
	put_in_order(order, n, size);
	return ok;
}

void al_group_print(const size_t *order, size_t n, size_t size, struct al_text *out)
{
	for (size_t i = 0; i < n; i++)
		al_text_addf(out, "%s%zu", i == 0 ? "" : i % size == 0 ? ", " : " ", order[i]);
}
