/* Points of paths: measured on the second part of the tokens. */
#include "shrink/shrink.h"

/* How many points of a path are measured at most, and for which share of the original's bytes
 * another one is worth it. */
enum { MOST_MEASURED = 8 };
static const double LEAST_SHARE = .002;

uint64_t al_shrink_size(const struct al_shrink *s, uint64_t bytes, uint64_t cached_numbers)
{
	return (s->goal->of_file ? bytes : 0)
		+ (s->goal->of_cache ? cached_numbers * (uint64_t)s->goal->context * AL_CACHED_BYTES
				     : 0);
}

static bool is_same(const struct al_fewer_heads *a, const struct al_fewer_heads *b)
{
	return a->method == b->method && a->setting == b->setting
		&& (a->modules == b->modules
			|| (a->modules && b->modules && strcmp(a->modules, b->modules) == 0));
}

bool al_shrink_draft(struct al_shrink *s, const struct al_fewer_heads *conversion,
	struct al_draft **draft, struct al_path **path, struct al_error *err)
{
	const bool is_base = conversion->method == AL_METHOD_IDENTITY;

	*draft = is_base ? &s->base : &s->other;
	*path = &s->paths[!is_base];
	if ((*draft)->is_open && is_same(&(*draft)->conversion, conversion))
		return true;
	al_draft_close(*draft);
	if (!al_draft_open(*draft, s->from, conversion, err))
		return false;
	al_path_make(*path, *draft, s->scales);
	return true;
}

static bool find_point(const struct al_shrink *s, const struct al_fewer_heads *conversion,
	size_t step, size_t *index)
{
	for (*index = 0; *index < s->n_points; ++*index)
		if (s->points[*index].step == step
			&& is_same(&s->points[*index].conversion, conversion))
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
	*point = (struct al_shrink_point){.conversion = *conversion,
		.step = step,
		.bytes = path->bytes[step],
		.cached = draft->cached * (uint64_t)s->goal->context * AL_CACHED_BYTES,
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
	const struct al_path *path;
	size_t accepted, refused; /* the farthest and the nearest point */
	double first; /* what the first point costs */
	double ratio; /* of costs that were measured to those expected */
};

/* The next point to measure, between both; where the expected costs mislead, the middle. */
static size_t choose_next(const struct walk *w, double limit, size_t n_measured)
{
	const size_t low = w->accepted + 1, high = w->refused - 1;
	size_t k = al_path_within(w->path, (limit - w->first) / w->ratio);

	if (n_measured > 2 && (k <= low || k >= high))
		k = low + (high - low) / 2;
	return k < low ? low : k > high ? high : k;
}

static bool is_worth(const struct walk *w, uint64_t whole)
{
	const size_t end = w->refused > w->path->n ? w->path->n : w->refused;

	return w->refused > w->accepted + 1
		&& (double)(w->path->bytes[w->accepted] - w->path->bytes[end])
		> LEAST_SHARE * (double)whole;
}

bool al_shrink_follow(struct al_shrink *s, const struct al_fewer_heads *conversion,
	struct al_error *err)
{
	const struct al_shrink_goal *goal = s->goal;
	struct al_draft *draft;
	struct al_path *path;
	size_t index;

	if (!al_shrink_draft(s, conversion, &draft, &path, err)
		|| !al_shrink_measure(s, conversion, 0, &index, err))
		return false;
	struct walk w = {.path = path,
		.refused = path->n + 1,
		.first = al_shrink_cost(goal, &s->points[index].choosing).mean,
		.ratio = 1};
	if (!s->points[index].is_accepted)
		return true;
	for (size_t n = 0; n < MOST_MEASURED && is_worth(&w, s->base.bytes); n++) {
		const size_t k = choose_next(&w, goal->limit, n);
		if (!al_shrink_measure(s, conversion, k, &index, err))
			return false;
		const double more = al_shrink_most(goal, &s->points[index].choosing) - w.first;
		if (s->points[index].is_accepted)
			w.accepted = k;
		else
			w.refused = k;
		if (more > 0 && path->costs[k] > 0)
			w.ratio = more / path->costs[k];
	}
	return true;
}
