/* Fewer heads: the methods of `compress` whose results other programs run, by module where a file
 * can have other heads in each. */
#include "compress/job.h"
#include "shrink/shrink.h"

static const enum al_method methods[] = {AL_METHOD_GQA, AL_METHOD_DROP, AL_METHOD_MERGE};
enum { N_METHODS = sizeof(methods) / sizeof(*methods) };

/* A method's conversions, each of which leaves less than the one before. */
struct ladder {
	struct al_fewer_heads *items;
	size_t n, room;
};

static void add(struct al_shrink *s, struct ladder *ladder, struct al_fewer_heads conversion)
{
	ladder->items = al_grow(&s->arena, ladder->items, ladder->n, &ladder->room,
		sizeof(*ladder->items));
	ladder->items[ladder->n++] = conversion;
}

/* ---- by module ---- */

/* The squared error of a module's output (of gqa also of its scores), by the calibration. */
static bool find_error(struct al_shrink *s, const struct al_fewer_heads *of_all,
	const struct al_attention *a, double *out, struct al_error *err)
{
	struct al_fewer_heads one = *of_all;
	one.modules = a->name;
	const struct al_compress_options options = al_conversion_options(s->from, &one);
	AL_ENDS(al_job_finish)
	struct al_job job = {.view = s->from->view, .options = &options, .in_memory = true};

	if (!al_job_make(&job, err))
		return al_in(err, "%s", al_method_names[one.method]);
	*out = job.n_modules ? job.modules[0].pieces.relative_error : INFINITY;
	return true;
}

/* The module that loses least, then the two that do, and so on. */
static bool add_by_module(struct al_shrink *s, struct ladder *ladder,
	const struct al_fewer_heads *of_all, struct al_error *err)
{
	const struct al_model_view *view = s->from->view;
	AL_FREED double *errors = al_alloc(view->n_modules, sizeof(*errors));
	AL_FREED size_t *order = al_alloc(view->n_modules, sizeof(*order));
	struct al_fewer_heads some = *of_all;
	const char *list = NULL;

	for (size_t i = 0; i < view->n_modules; i++) {
		if (!find_error(s, of_all, &view->modules[i], &errors[i], err))
			return false;
		errors[i] = -errors[i];
	}
	al_sort_order(errors, view->n_modules, order);
	for (size_t n = 1; n < view->n_modules; n++) {
		const char *name = view->modules[order[n - 1]].name;
		list = list ? al_format(&s->arena, "%s,%s", list, name)
			    : al_strdup(&s->arena, name);
		some.modules = list;
		some.n_modules = n;
		add(s, ladder, some);
	}
	return true;
}

/* ---- which there are ---- */

static bool add_setting(struct al_shrink *s, struct ladder *ladder, enum al_method method,
	int64_t setting, struct al_error *err)
{
	const struct al_fewer_heads of_all = {.method = method,
		.setting = setting,
		.n_modules = s->from->view->n_modules};

	if (!s->from->is_gguf && !add_by_module(s, ladder, &of_all, err))
		return false;
	add(s, ladder, of_all);
	return true;
}

static bool check_method(const struct al_model_view *view, enum al_method method,
	struct al_error *err)
{
	const struct al_attention *first = &view->modules[0];

	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		if (!al_method_check(a, method, method == AL_METHOD_GQA, err))
			return al_in(err, "%s", a->name);
		if (a->n_heads != first->n_heads || a->n_kv_heads != first->n_kv_heads)
			return al_fail(err, AL_EINPUT, "%s and %s have other numbers of heads",
				first->name, a->name);
	}
	if (method == AL_METHOD_GQA)
		return first->n_kv_heads > 1
			|| al_fail(err, AL_EINPUT, "all heads share one key and value already");
	return first->n_heads == first->n_kv_heads
		|| al_fail(err, AL_EINPUT, "its heads share keys and values in groups");
}

static bool list_conversions(struct al_shrink *s, enum al_method method, struct ladder *out,
	struct al_error *err)
{
	const struct al_attention *a = &s->from->view->modules[0];

	*out = (struct ladder){0};
	if (!check_method(s->from->view, method, err))
		return false;
	if (method == AL_METHOD_GQA) {
		for (int64_t left = a->n_kv_heads - 1; left >= 1; left--)
			if (a->n_kv_heads % left == 0 && !add_setting(s, out, method, left, err))
				return false;
		return true;
	}
	for (int64_t n = 1; n <= a->n_heads / 2; n++)
		if (!add_setting(s, out, method, n, err))
			return false;
	return true;
}

/* ---- trying ---- */

/* The last one that is accepted; each is expected to lose more than the one before. */
static bool climb(struct al_shrink *s, const struct ladder *ladder, struct al_error *err)
{
	size_t low = 0, high = ladder->n, middle = 0, index;

	while (low < high) {
		if (!al_shrink_measure(s, &ladder->items[middle], 0, &index, err))
			return false;
		if (s->points[index].is_accepted)
			low = middle + 1;
		else
			high = middle;
		middle = low + (high - low) / 2;
	}
	return true;
}

/* The first step whose size is within the budget; n + 1: none. */
static size_t find_step(const struct al_shrink *s, const struct al_draft *draft,
	const struct al_path *path)
{
	const double most = s->goal->budget * (double)s->points[0].size;
	size_t k = 0;

	while (k <= path->n && (double)al_shrink_size(s, path->bytes[k], draft->cached) > most)
		k += s->goal->of_file ? 1 : path->n + 1;
	return k;
}

static bool measure_within_budget(struct al_shrink *s, const struct al_fewer_heads *conversion,
	double *cost, struct al_error *err)
{
	struct al_draft *draft;
	struct al_path *path;
	size_t index;

	*cost = INFINITY;
	if (!al_shrink_draft(s, conversion, &draft, &path, err))
		return false;
	const size_t step = find_step(s, draft, path);
	if (step > path->n)
		return true;
	if (!al_shrink_measure(s, conversion, step, &index, err))
		return false;
	*cost = al_shrink_most(s->goal, &s->points[index].choosing);
	return true;
}

/* As long as fewer heads lose less than smaller formats. */
static bool spend(struct al_shrink *s, const struct ladder *ladder, struct al_error *err)
{
	double least = INFINITY, cost;

	for (size_t i = 0; i < ladder->n; i++) {
		if (!measure_within_budget(s, &ladder->items[i], &cost, err))
			return false;
		if (isfinite(least) && cost >= least)
			return true;
		least = cost;
	}
	return true;
}

static void refuse(struct al_shrink *s, enum al_method method, const struct al_error *err)
{
	s->refusals[s->n_refusals++] = (struct al_refusal){method,
		al_strdup(&s->arena, err->message)};
}

/* What can't be written, as heads that llama.cpp can't load, ends the method, not the search. */
static bool try_method(struct al_shrink *s, enum al_method method, struct al_error *err)
{
	struct ladder ladder;

	if (list_conversions(s, method, &ladder, err)
		&& (s->goal->limit > 0 ? climb : spend)(s, &ladder, err))
		return true;
	if (err->status != AL_EINPUT)
		return false;
	refuse(s, method, err);
	return true;
}

/* The accepted conversion whose path is expected to lead to the smallest point; 0: none leads
 * further than what was found already. */
static bool find_promising(struct al_shrink *s, size_t *out, struct al_error *err)
{
	uint64_t least = UINT64_MAX;

	*out = 0;
	for (size_t i = 0; i < s->n_points; i++)
		if (s->points[i].is_accepted && s->points[i].size < least)
			least = s->points[i].size;
	for (size_t i = 1; i < s->n_points; i++) {
		const struct al_shrink_point point = s->points[i];
		struct al_draft *draft;
		struct al_path *path;
		if (point.conversion.method == AL_METHOD_IDENTITY || !point.is_accepted
			|| point.step > 0)
			continue;
		if (!al_shrink_draft(s, &point.conversion, &draft, &path, err))
			return false;
		const size_t k = al_path_within(path,
			s->goal->limit - al_shrink_cost(s->goal, &point.choosing).mean);
		const uint64_t size = al_shrink_size(s, path->bytes[k], draft->cached);
		if (size < least) {
			least = size;
			*out = i;
		}
	}
	return true;
}

bool al_shrink_convert(struct al_shrink *s, struct al_error *err)
{
	size_t promising;

	for (int i = 0; i < N_METHODS; i++)
		if (!try_method(s, methods[i], err))
			return false;
	if (!s->goal->of_file || s->goal->budget > 0)
		return true;
	if (!find_promising(s, &promising, err))
		return false;
	const struct al_fewer_heads conversion = s->points[promising].conversion;
	return promising == 0 || al_shrink_follow(s, &conversion, err);
}
