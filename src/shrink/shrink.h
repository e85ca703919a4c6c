/* The smallest copy of a model that loses no more than a limit, or the best one of a size: number
 * formats by tensor and, where they help, fewer heads by module.
 *
 * Numbers propose an order, losses decide. A format's error on a tensor's numbers, times what
 * rounding all tensors for the same purpose was measured to cost, orders the steps from each
 * tensor's own format to ever smaller ones by their cost for the bytes that they save: a path. The
 * first k steps are a point on it. Fewer heads are such a path, too: a step leaves a module fewer
 * heads, by the method that is expected to cost least: the error of the module's output, weighed by
 * how far its heads turn the stream, times what the method was measured to cost in all modules.
 * Costs of purposes are measured on the first part of the tokens, where calibrations are recorded
 * as well; points are chosen on the second, and judged on the third. */
#pragma once

#include "shrink/draft.h"

struct al_shrink_goal {
	double limit; /* nats per token that may be lost; 0: none is given */
	bool is_divergence; /* ... of KL, else of loss */
	double budget; /* what may be left, as a share; 0: none is given */
	bool of_file, of_cache; /* what is to be small */
	int64_t context; /* tokens that the cache has */
};

/* The order of steps. */
struct al_path {
	struct al_path_step *steps; /* [n] */
	uint64_t *bytes; /* [n + 1], of all that can change, behind the first k steps */
	double *costs; /* [n + 1], expected */
	size_t n;
};

struct al_shrink_point {
	const struct al_fewer_heads *conversion; /* NULL: the original's heads */
	size_t step; /* so many steps of its path */
	uint64_t bytes, cached, size; /* of tensors, of the cache, of what is to be small */
	struct al_judgment choosing, judging;
	bool is_accepted, is_judged;
};

/* A method that can't be tried, or whose first step costs too much. */
struct al_refusal {
	enum al_method method;
	const char *reason;
};

enum al_shrink_part {
	AL_SHRINK_CALIBRATING,
	AL_SHRINK_CHOOSING,
	AL_SHRINK_JUDGING,
	AL_N_PARTS_OF_TEXT
};

struct al_shrink {
	struct al_arena arena;
	const struct al_drafting *from;
	const struct al_shrink_goal *goal;
	const struct al_sample_part *parts; /* [AL_N_PARTS_OF_TEXT] */
	struct al_draft base, other; /* the original's heads, and the conversion tried last */
	struct al_path paths[2]; /* their formats' */
	struct al_choice *heads; /* whose rungs are fewer heads: one a module, or one for all */
	size_t n_heads;
	struct al_path heads_path;
	double scales[AL_N_PURPOSES]; /* cost for an error of 1 */
	struct al_shrink_point *points; /* all that were measured; the first is the original */
	size_t n_points, points_room;
	struct al_refusal refusals[AL_N_METHODS];
	size_t n_refusals;
	size_t chosen; /* of the points; 0: none */
	size_t n_back; /* points that the third part refuted */
	uint64_t written_bytes; /* of the file or files; 0: none */
};

/* It is to be finished on failure too. */
bool al_shrink_search(struct al_shrink *out, const struct al_drafting *from,
	const struct al_shrink_goal *goal, const struct al_sample_part *parts,
	struct al_error *err) AL_MUST_CHECK;
void al_shrink_finish(struct al_shrink *shrink);

/* How many points the third part may refute before the search ends without an answer. */
enum { AL_SHRINK_MOST_BACK = 3 };

/* What of a trial the goal limits. */
static inline struct al_estimate al_shrink_cost(const struct al_shrink_goal *goal,
	const struct al_judgment *trial)
{
	return goal->is_divergence ? trial->divergence : trial->change;
}

/* ... and one standard error more, by which points are chosen. */
static inline double al_shrink_most(const struct al_shrink_goal *goal,
	const struct al_judgment *trial)
{
	const struct al_estimate cost = al_shrink_cost(goal, trial);

	return cost.mean + (isfinite(cost.error) ? cost.error : 0);
}

/* The draft with the formats of a point, and its choices' rungs. */
bool al_shrink_show(struct al_shrink *shrink, const struct al_shrink_point *point,
	struct al_draft **draft, struct al_error *err) AL_MUST_CHECK;

/* The formats that al_compress takes, of the original's tensors, in the arena; NULL: no other ones
 * than the original's. */
const struct al_dtype *const *al_shrink_formats(struct al_shrink *shrink,
	const struct al_draft *draft);

/* ---- path.c ---- */

/* Of choices whose costs are known, which have so many bytes before the first step. In the arena.
 */
void al_path_make(struct al_path *path, struct al_arena *arena, const struct al_choice *choices,
	size_t n_choices, uint64_t bytes);

/* Each choice's rung behind the first k steps; those that no step changes stay as they are. */
void al_path_rungs(const struct al_path *path, size_t k, size_t *rungs);

/* Sets the formats behind the first k steps. */
bool al_path_apply(const struct al_path *path, struct al_draft *draft, size_t k,
	struct al_error *err) AL_MUST_CHECK;

/* The last point that is expected to cost no more. */
size_t al_path_within(const struct al_path *path, double cost);

/* ---- points.c ---- */

/* Measures a point on the second part, or finds it among those that were. */
bool al_shrink_measure(struct al_shrink *s, const struct al_fewer_heads *conversion, size_t step,
	size_t *index, struct al_error *err) AL_MUST_CHECK;

/* Goes along a path to the smallest point that is accepted. */
bool al_shrink_follow_formats(struct al_shrink *s, const struct al_fewer_heads *conversion,
	struct al_error *err) AL_MUST_CHECK;
bool al_shrink_follow_heads(struct al_shrink *s, struct al_error *err) AL_MUST_CHECK;

/* A conversion's draft, which is opened, and the path of its formats. */
bool al_shrink_draft(struct al_shrink *s, const struct al_fewer_heads *conversion,
	struct al_draft **draft, struct al_path **path, struct al_error *err) AL_MUST_CHECK;

/* The path of a draft's formats, by the scales of their purposes. */
void al_shrink_order(const struct al_shrink *s, struct al_draft *draft, struct al_path *path);

uint64_t al_shrink_size(const struct al_shrink *s, uint64_t bytes, uint64_t cached);

/* ---- conversions.c ---- */

/* Tries fewer heads, by the methods that programs run: the points that are measured. */
bool al_shrink_convert(struct al_shrink *s, struct al_error *err) AL_MUST_CHECK;

/* The heads behind the first k steps of their path, in the arena. */
const struct al_fewer_heads *al_shrink_heads(struct al_shrink *s, size_t k);

/* What becomes of all modules; AL_METHOD_IDENTITY where it isn't the same. */
struct al_fewer_heads al_shrink_common(const struct al_shrink *s,
	const struct al_fewer_heads *conversion);
