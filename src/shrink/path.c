/* The order in which tensors get smaller formats, and modules fewer heads: cheapest first, for the
 * bytes that a step saves. */
#include "shrink/shrink.h"

struct al_path_step {
	size_t choice, rung;
	double slope; /* cost for a byte */
	uint64_t bytes; /* saved */
	double cost; /* added */
};

/* A choice's slopes rise with its rungs, so that its steps stay in order. */
static int compare_steps(const void *a, const void *b)
{
	const struct al_path_step *x = a, *y = b;

	if (x->slope != y->slope)
		return x->slope < y->slope ? -1 : 1;
	if (x->choice != y->choice)
		return x->choice < y->choice ? -1 : 1;
	return x->rung < y->rung ? -1 : 1;
}

static void add_steps(struct al_path *path, const struct al_choice *c, size_t choice)
{
	for (size_t i = 1; i < c->n_rungs; i++) {
		const struct al_rung *from = &c->rungs[i - 1], *to = &c->rungs[i];
		path->steps[path->n++] = (struct al_path_step){.choice = choice,
			.rung = i,
			.bytes = from->bytes - to->bytes,
			.cost = to->cost - from->cost,
			.slope = (to->cost - from->cost) / (double)(from->bytes - to->bytes)};
	}
}

void al_path_make(struct al_path *path, struct al_arena *arena, const struct al_choice *choices,
	size_t n_choices, uint64_t bytes)
{
	size_t n = 1;

	for (size_t i = 0; i < n_choices; i++)
		n += choices[i].n_rungs;
	*path = (struct al_path){.steps = al_new_array(arena, struct al_path_step, n),
		.bytes = al_new_array(arena, uint64_t, n),
		.costs = al_new_array(arena, double, n)};
	for (size_t i = 0; i < n_choices; i++)
		add_steps(path, &choices[i], i);
	qsort(path->steps, path->n, sizeof(*path->steps), compare_steps);
	path->bytes[0] = bytes;
	for (size_t i = 0; i < path->n; i++) {
		path->bytes[i + 1] = path->bytes[i] - path->steps[i].bytes;
		path->costs[i + 1] = path->costs[i] + path->steps[i].cost;
	}
}

void al_path_rungs(const struct al_path *path, size_t k, size_t *rungs)
{
	for (size_t i = 0; i < k; i++)
		rungs[path->steps[i].choice] = path->steps[i].rung;
}

bool al_path_apply(const struct al_path *path, struct al_draft *draft, size_t k,
	struct al_error *err)
{
	AL_FREED size_t *rungs = al_calloc(draft->n_choices + 1, sizeof(*rungs));

	al_path_rungs(path, k, rungs);
	for (size_t i = 0; i < draft->n_choices; i++) {
		const struct al_choice *choice = &draft->choices[i];
		for (size_t j = 0; j < choice->n; j++)
			if (!al_recoding_set(&draft->recoding, choice->tensors[j],
				    choice->rungs[rungs[i]].dtype, err))
				return false;
	}
	return true;
}

size_t al_path_within(const struct al_path *path, double cost)
{
	size_t k = path->n;

	while (k > 0 && path->costs[k] > cost)
		k--;
	return k;
}
