/* The search: what rounding costs by purpose, points with the original's heads, points with fewer,
 * and the judgment of the one that is chosen. */
#include "shrink/shrink.h"

/* Of what the limit leaves, so much is aimed at behind a point that was refuted. */
static const double CAUTION = .9;

/* ---- what rounding costs ---- */

/* KL for a squared error of 1, of all tensors for a purpose: each in the last format that it has,
 * the coarsest. Rounding of all that isn't for the purpose stays out. */
static bool find_scale(struct al_shrink *s, enum al_purpose purpose, struct al_error *err)
{
	double errors = 0;
	struct al_judgment trial;

	for (size_t i = 0; i < s->base.n_choices; i++) {
		const struct al_choice *choice = &s->base.choices[i];
		if (choice->purpose == purpose)
			errors += choice->rungs[choice->n_rungs - 1].error;
	}
	if (!(errors > 0))
		return true;
	if (!al_choices_set(&s->base, purpose, SIZE_MAX, err)
		|| !al_sample_part_try(&s->parts[AL_SHRINK_CALIBRATING], &s->base.network, &trial,
			err)
		|| !al_choices_set(&s->base, purpose, 0, err))
		return false;
	s->scales[purpose] = trial.divergence.mean / errors;
	return true;
}

static bool find_scales(struct al_shrink *s, struct al_error *err)
{
	for (int purpose = 0; s->goal->of_file && purpose < AL_N_PURPOSES; purpose++)
		if (!find_scale(s, (enum al_purpose)purpose, err))
			return false;
	return true;
}

/* ---- the original's heads ---- */

static bool follow_formats(struct al_shrink *s, struct al_error *err)
{
	size_t index, step = 0;

	if (!al_shrink_measure(s, NULL, 0, &index, err))
		return false;
	if (!s->goal->of_file)
		return true;
	if (s->goal->limit > 0)
		return al_shrink_follow_formats(s, NULL, err);
	while (step < s->paths[0].n
		&& (double)al_shrink_size(s, s->paths[0].bytes[step], s->base.cached)
			> s->goal->budget * (double)s->points[0].size)
		step++;
	return al_shrink_measure(s, NULL, step, &index, err);
}

/* ---- the choice ---- */

/* Of a limit the smallest point, of a budget that which loses least. */
static bool is_better(const struct al_shrink *s, const struct al_shrink_point *a,
	const struct al_shrink_point *b)
{
	const double x = al_shrink_most(s->goal, &a->choosing),
		     y = al_shrink_most(s->goal, &b->choosing);

	if (s->goal->limit > 0 && a->size != b->size)
		return a->size < b->size;
	return x < y;
}

static size_t choose(const struct al_shrink *s)
{
	size_t best = 0;

	for (size_t i = 1; i < s->n_points; i++)
		if (s->points[i].is_accepted && !s->points[i].is_judged
			&& s->points[i].size < s->points[0].size
			&& (best == 0 || is_better(s, &s->points[i], &s->points[best])))
			best = i;
	return best;
}

bool al_shrink_show(struct al_shrink *s, const struct al_shrink_point *point,
	struct al_draft **draft, struct al_error *err)
{
	struct al_path *path;

	return al_shrink_draft(s, point->conversion, draft, &path, err)
		&& al_path_apply(path, *draft, point->step, err);
}

/* Measures a point of the same path that is expected to cost what the limit allows, by what the
 * third part of the tokens judged. */
static bool step_back(struct al_shrink *s, struct al_shrink_point refuted, struct al_error *err)
{
	const double judged = al_shrink_cost(s->goal, &refuted.judging).mean;
	struct al_draft *draft;
	struct al_path *path;
	size_t index;

	if (refuted.step == 0)
		return true;
	if (!al_shrink_draft(s, refuted.conversion, &draft, &path, err))
		return false;
	const size_t step = al_path_within(path,
		CAUTION * s->goal->limit / judged * path->costs[refuted.step]);
	return step == 0
		|| al_shrink_measure(s, refuted.conversion,
			step < refuted.step ? step : refuted.step - 1, &index, err);
}

/* Where the third part of the tokens refutes a point, the next smallest one is chosen. */
static bool judge(struct al_shrink *s, struct al_error *err)
{
	struct al_draft *draft;

	for (size_t chosen; (chosen = choose(s)) > 0 && s->n_back <= AL_SHRINK_MOST_BACK;) {
		struct al_shrink_point *point = &s->points[chosen];
		if (!al_shrink_show(s, point, &draft, err)
			|| !al_sample_part_try(&s->parts[AL_SHRINK_JUDGING], &draft->network,
				&point->judging, err))
			return false;
		point->is_judged = true;
		if (s->goal->budget > 0
			|| al_shrink_cost(s->goal, &point->judging).mean <= s->goal->limit) {
			s->chosen = chosen;
			return true;
		}
		s->n_back++;
		if (!step_back(s, *point, err))
			return false;
	}
	return true;
}

bool al_shrink_search(struct al_shrink *s, const struct al_drafting *from,
	const struct al_shrink_goal *goal, const struct al_sample_part *parts, struct al_error *err)
{
	*s = (struct al_shrink){.from = from, .goal = goal, .parts = parts};
	if (!al_draft_open(&s->base, from, NULL, err) || !find_scales(s, err))
		return false;
	al_shrink_order(s, &s->base, &s->paths[0]);
	return follow_formats(s, err) && al_shrink_convert(s, err) && judge(s, err);
}

void al_shrink_finish(struct al_shrink *s)
{
	al_draft_close(&s->base);
	al_draft_close(&s->other);
	al_arena_finish(&s->arena);
}

/* ---- what is written ---- */

const struct al_dtype *const *al_shrink_formats(struct al_shrink *s, const struct al_draft *draft)
{
	const struct al_checkpoint *source = s->from->view->checkpoint;
	const struct al_dtype **formats = al_new_array(&s->arena, const struct al_dtype *,
		source->n_tensors);
	bool has_any = false;

	for (size_t i = 0; i < draft->checkpoint.n_tensors; i++) {
		const struct al_tensor *now = &draft->checkpoint.tensors[i];
		const struct al_tensor *tensor = al_checkpoint_find(source, now->name);
		if (!tensor || now->dtype == al_recoding_own(&draft->recoding, i)->dtype)
			continue;
		formats[tensor - source->tensors] = now->dtype;
		has_any = true;
	}
	return has_any ? formats : NULL;
}
