/* Points of paths: measured on the second part of the tokens. */
#include "shrink/shrink.h"

/* How many points of a path are measured at most, and for which share of the original's bytes
 * another one is worth it. */
enum { MOST_MEASURED = 8 };
static const double LEAST_SHARE = .002;

uint64_t al_shrink_size(const struct al_shrink *s, uint64_t bytes, uint64_t cached)
{
	return (s->goal->of_file ? bytes : 0) + (s->goal->of_cache ? cached : 0);
}

static bool is_same(const struct al_shrink *s, const struct al_fewer_heads *a,
	const struct al_fewer_heads *b)
{
	bool same = !a == !b;

	for (size_t i = 0; same && a && i < s->from->view->n_modules; i++)
		same = a[i].method == b[i].method && a[i].setting == b[i].setting;
	return same;
}

void al_shrink_order(const struct al_shrink *s, struct al_draft *draft, struct al_path *path)
{
	for (size_t i = 0; i < draft->n_choices; i++) {
		struct al_choice *choice = &draft->choices[i];
		for (size_t k = 0; k < choice->n_rungs; k++)
			choice->rungs[k].cost = s->scales[choice->purpose] * choice->rungs[k].error;
	}
	al_path_make(path, &draft->arena, draft->choices, draft->n_choices, draft->bytes);
}

bool al_shrink_draft(struct al_shrink *s, const struct al_fewer_heads *conversion,
	struct al_draft **draft, struct al_path **path, struct al_error *err)
{
	struct al_draft *d = *draft = conversion ? &s->other : &s->base;

	*path = &s->paths[conversion != NULL];
	if (d->is_open && is_same(s, d->conversion, conversion))
		return true;
	al_draft_close(d);
	if (!al_draft_open(d, s->from, conversion, err))
		return false;
	al_shrink_order(s, d, *path);
	return true;
}

static bool find_point(const struct al_shrink *s, const struct al_fewer_heads *conversion,
	size_t step, size_t *index)
{
	for (*index = 0; *index < s->n_points; ++*index)
		if (s->points[*index].step == step
			&& is_same(s, s->points[*index].conversion, conversion))
			return true;
	return false;
}

bool al_shrink_measure(struct al_shrink *s, const struct al_fewer_heads *conversion, size_t step,
	size_t *index, struct al_error *err)
{
	struct al_draft *draft;
	struct al_path *path;

	if (find_point(s, conversion, step, index))
		return true;
	if (!al_shrink_draft(s, conversion, &draft, &path, err)
		|| !al_path_apply(path, draft, step, err))
		return false;
	s->points = al_grow(&s->arena, s->points, s->n_points, &s->points_room, sizeof(*s->points));
	struct al_shrink_point *point = &s->points[s->n_points];
	*point = (struct al_shrink_point){.conversion = conversion,
		.step = step,
		.bytes = path->bytes[step],
		.cached = draft->cached,
		.size = al_shrink_size(s, path->bytes[step], draft->cached)};
	if (!al_sample_part_try(&s->parts[AL_SHRINK_CHOOSING], &draft->network, &point->choosing,
		    err))
		return false;
	point->is_accepted = s->goal->limit > 0
		? al_shrink_most(s->goal, &point->choosing) <= s->goal->limit
		: (double)point->size <= s->goal->budget * (double)s->points[0].size;
	*index = s->n_points++;
	return true;
}

/* ---- along a path ---- */

struct walk {
	struct al_shrink *shrink;
	bool is_of_heads;
	const struct al_fewer_heads *conversion; /* of formats */
	const struct al_path *path;
	uint64_t whole; /* bytes of which a part makes another point worth it */
	size_t accepted, refused; /* the farthest and the nearest point */
	double first; /* what the first point costs */
	double ratio; /* of costs that were measured to those expected */
};

/* The next point to measure, between both; where the expected costs mislead, the middle. */
static size_t choose_next(const struct walk *w, size_t n_measured)
{
	const size_t low = w->accepted + 1, high = w->refused - 1;
	size_t k = al_path_within(w->path, (w->shrink->goal->limit - w->first) / w->ratio);

	if (n_measured > 2 && (k <= low || k >= high))
		k = low + (high - low) / 2;
	return al_most(low, al_least(high, k));
}

static bool is_worth(const struct walk *w)
{
	const size_t end = al_least(w->path->n, w->refused);

	return w->refused > w->accepted + 1
		&& (double)(w->path->bytes[w->accepted] - w->path->bytes[end])
		> LEAST_SHARE * (double)w->whole;
}

static bool measure_at(struct walk *w, size_t k, size_t *index, struct al_error *err)
{
	return w->is_of_heads
		? al_shrink_measure(w->shrink, al_shrink_heads(w->shrink, k), 0, index, err)
		: al_shrink_measure(w->shrink, w->conversion, k, index, err);
}

static bool follow(struct walk *w, struct al_error *err)
{
	struct al_shrink *s = w->shrink;
	size_t index;

	for (size_t n = 0; n < MOST_MEASURED && is_worth(w); n++) {
		const size_t k = choose_next(w, n);
		if (!measure_at(w, k, &index, err))
			return false;
		const double more = al_shrink_most(s->goal, &s->points[index].choosing) - w->first;
		if (s->points[index].is_accepted)
			w->accepted = k;
		else
			w->refused = k;
		if (more > 0 && w->path->costs[k] > 0)
			w->ratio = more / w->path->costs[k];
	}
	return true;
}

bool al_shrink_follow_formats(struct al_shrink *s, const struct al_fewer_heads *conversion,
	struct al_error *err)
{
	struct al_draft *draft;
	struct al_path *path;
	size_t index;

	if (!al_shrink_draft(s, conversion, &draft, &path, err)
		|| !al_shrink_measure(s, conversion, 0, &index, err))
		return false;
	struct walk w = {.shrink = s,
		.conversion = conversion,
		.path = path,
		.whole = s->base.bytes,
		.refused = path->n + 1,
		.first = al_shrink_cost(s->goal, &s->points[index].choosing).mean,
		.ratio = 1};
	return !s->points[index].is_accepted || follow(&w, err);
}

bool al_shrink_follow_heads(struct al_shrink *s, struct al_error *err)
{
	struct walk w = {.shrink = s,
		.is_of_heads = true,
		.path = &s->heads_path,
		.whole = s->points[0].size,
		.refused = s->heads_path.n + 1,
		.ratio = 1};

	return follow(&w, err);
}
