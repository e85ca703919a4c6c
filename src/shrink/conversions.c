/* Fewer heads: the methods of `compress` whose results other programs run, by module where a file
 * can have other heads in each, else in all at once. */
#include "compress/job.h"
#include "shrink/shrink.h"

static const enum al_method methods[] = {AL_METHOD_GQA, AL_METHOD_DROP, AL_METHOD_MERGE};
enum { N_METHODS = sizeof(methods) / sizeof(*methods) };

/* How many drafts of fewer heads are tried for a budget. */
enum { MOST_TRIED = 8 };

static const struct al_fewer_heads *in_all(struct al_shrink *s, struct al_fewer_heads heads)
{
	const size_t n = s->from->view->n_modules;
	struct al_fewer_heads *conversion = al_new_array(&s->arena, struct al_fewer_heads, n);

	for (size_t i = 0; i < n; i++)
		conversion[i] = heads;
	return conversion;
}

struct al_fewer_heads al_shrink_common(const struct al_shrink *s,
	const struct al_fewer_heads *conversion)
{
	for (size_t i = 1; conversion && i < s->from->view->n_modules; i++)
		if (conversion[i].method != conversion[0].method
			|| conversion[i].setting != conversion[0].setting)
			conversion = NULL;
	return conversion ? conversion[0] : (struct al_fewer_heads){.method = AL_METHOD_IDENTITY};
}

const struct al_fewer_heads *al_shrink_heads(struct al_shrink *s, size_t k)
{
	const size_t n = s->from->view->n_modules;
	struct al_fewer_heads *conversion = al_new_array(&s->arena, struct al_fewer_heads, n);
	AL_FREED size_t *rungs = al_calloc(s->n_heads, sizeof(*rungs));

	al_path_rungs(&s->heads_path, k, rungs);
	for (size_t i = 0; i < n; i++) {
		const size_t choice = s->n_heads == 1 ? 0 : i;
		conversion[i] = s->heads[choice].rungs[rungs[choice]].heads;
	}
	return conversion;
}

/* ---- which there are ---- */

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

/* The mildest setting behind this one, which is 0 at first; 0: there is none. More heads of many
 * differ less, so some are left out. */
static int64_t next_setting(const struct al_attention *a, enum al_method method, int64_t setting)
{
	int64_t next = setting + 1 + setting / 4;

	if (method != AL_METHOD_GQA)
		return next <= a->n_heads / 2 ? next : 0;
	next = setting ? setting - 1 : a->n_kv_heads - 1;
	while (next > 0 && a->n_kv_heads % next != 0)
		next--;
	return next;
}

static size_t count_settings(const struct al_attention *a)
{
	size_t n = 0;

	for (int i = 0; i < N_METHODS; i++)
		for (int64_t k = 0; (k = next_setting(a, methods[i], k)) > 0;)
			n++;
	return n;
}

/* Of what is to be small, a module's part: its tensors as they are stored, and its cache. */
static bool add_bytes(struct al_shrink *s, const struct al_attention *a, int64_t parameters,
	int64_t cached, uint64_t *out, struct al_error *err)
{
	const struct al_dtype *dtype = a->factors[AL_VALUE].dtype;
	int64_t seen;

	if (!al_layer_seen(&s->base.network, a->layer, s->goal->context, &seen, err))
		return false;
	*out += al_shrink_size(s, (uint64_t)parameters * dtype->block_bytes / dtype->block_elements,
		(uint64_t)cached * (uint64_t)seen * AL_CACHED_BYTES);
	return true;
}

static bool make_choices(struct al_shrink *s, struct al_error *err)
{
	const struct al_model_view *view = s->from->view;
	const size_t room = 1 + count_settings(&view->modules[0]);

	s->n_heads = s->from->is_gguf ? 1 : view->n_modules;
	s->heads = al_new_array(&s->arena, struct al_choice, s->n_heads);
	for (size_t i = 0; i < s->n_heads; i++) {
		s->heads[i].name = s->from->is_gguf ? NULL : view->modules[i].name;
		s->heads[i].rungs = al_new_array(&s->arena, struct al_rung, room);
		s->heads[i].rungs[0].heads.method = AL_METHOD_IDENTITY;
		s->heads[i].n_rungs = 1;
	}
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		if (!add_bytes(s, a, al_original_parameters(a, AL_METHOD_GQA),
			    al_original_cached(a),
			    &s->heads[s->n_heads == 1 ? 0 : i].rungs[0].bytes, err))
			return false;
	}
	return true;
}

/* How much a module's output weighs in the stream: the sum of squares of the angles by which its
 * heads turn that. */
static bool weigh(const struct al_shrink *s, const struct al_attention *a, double *out,
	struct al_error *err)
{
	const struct al_calibration *calibration = s->from->calibration;
	const struct al_module_statistics *statistics;
	AL_OWNED struct al_matrix turns = {0};

	*out = 1;
	if (!al_calibration_has(calibration, AL_STATISTIC_TURNS))
		return true;
	if (!al_calibration_find(calibration, a->name, &statistics, err)
		|| !al_statistics_mean(calibration, statistics, AL_STATISTIC_TURNS, &turns, err))
		return false;
	*out = 0;
	for (size_t i = 0; i < turns.rows * turns.cols; i++)
		*out += turns.data[i] * turns.data[i];
	return true;
}

/* With the squared error of the modules' outputs (of gqa also of their scores), by the calibration,
 * which adds to *errors. */
static bool add_rung(struct al_shrink *s, struct al_choice *choice, struct al_fewer_heads heads,
	double *errors, struct al_error *err)
{
	struct al_rung *rung = &choice->rungs[choice->n_rungs];
	struct al_compress_options options = al_conversion_options(&s->arena, s->from,
		in_all(s, heads));
	AL_ENDS(al_job_finish)
	struct al_job job = {.view = s->from->view, .options = &options, .in_memory = true};

	options.modules = choice->name;
	*rung = (struct al_rung){.heads = heads};
	if (!al_job_make(&job, err))
		return al_in(err, "%s", al_method_names[heads.method]);
	for (size_t i = 0; i < job.n_modules; i++) {
		const struct al_job_module *module = &job.modules[i];
		const double error = module->pieces.relative_error;
		double weight;
		if (!weigh(s, module->layout.attention, &weight, err))
			return false;
		rung->error += weight * error * error;
		if (!add_bytes(s, module->layout.attention, module->parameters,
			    al_layout_cached(&module->layout), &rung->bytes, err))
			return false;
	}
	choice->n_rungs += rung->bytes < choice->rungs[0].bytes;
	*errors += rung->error;
	return true;
}

/* ---- what a method costs ---- */

/* KL for a squared error of 1: of the mildest setting, in all modules. */
static bool add_method(struct al_shrink *s, enum al_method method, struct al_error *err)
{
	const struct al_attention *a = &s->from->view->modules[0];
	struct al_fewer_heads heads = {method, next_setting(a, method, 0)};
	double scale = -1, errors;
	size_t index;

	if (!check_method(s->from->view, method, err)
		|| !al_shrink_measure(s, in_all(s, heads), 0, &index, err))
		return false;
	for (; heads.setting > 0; heads.setting = next_setting(a, method, heads.setting)) {
		errors = 0;
		for (size_t i = 0; i < s->n_heads; i++)
			if (!add_rung(s, &s->heads[i], heads, &errors, err))
				return false;
		if (scale < 0)
			scale = errors > 0
				? fmax(s->points[index].choosing.divergence.mean, 0) / errors
				: 0;
	}
	for (size_t i = 0; i < s->n_heads; i++)
		for (size_t k = 1; k < s->heads[i].n_rungs; k++)
			if (s->heads[i].rungs[k].heads.method == method)
				s->heads[i].rungs[k].cost = scale * s->heads[i].rungs[k].error;
	return true;
}

static void leave_out(struct al_choice *choice, enum al_method method)
{
	size_t n = 0;

	for (size_t k = 0; k < choice->n_rungs; k++)
		if (choice->rungs[k].heads.method != method)
			choice->rungs[n++] = choice->rungs[k];
	choice->n_rungs = n;
}

/* What can't be written, as heads that llama.cpp can't load, ends the method, not the search. */
static bool try_method(struct al_shrink *s, enum al_method method, struct al_error *err)
{
	if (add_method(s, method, err))
		return true;
	if (err->status != AL_EINPUT)
		return false;
	for (size_t i = 0; i < s->n_heads; i++)
		leave_out(&s->heads[i], method);
	s->refusals[s->n_refusals++] = (struct al_refusal){method,
		al_strdup(&s->arena, err->message)};
	return true;
}

static bool make_path(struct al_shrink *s, struct al_error *err)
{
	uint64_t bytes = 0;

	if (!make_choices(s, err))
		return false;
	for (int i = 0; i < N_METHODS; i++)
		if (!try_method(s, methods[i], err))
			return false;
	for (size_t i = 0; i < s->n_heads; i++) {
		al_choice_keep_hull(&s->heads[i]);
		bytes += s->heads[i].rungs[0].bytes;
	}
	al_path_make(&s->heads_path, &s->arena, s->heads, s->n_heads, bytes);
	return true;
}

/* ---- a budget ---- */

/* The first step of formats whose size is within the budget; n + 1: none. */
static size_t find_step(const struct al_shrink *s, const struct al_draft *draft,
	const struct al_path *path)
{
	const double most = s->goal->budget * (double)s->points[0].size;
	size_t k = 0;

	while (k <= path->n && (double)al_shrink_size(s, path->bytes[k], draft->cached) > most)
		k++;
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

/* The first step of heads behind which the budget can be met, as far as heads alone tell. */
static size_t first_within(const struct al_shrink *s)
{
	const struct al_path *path = &s->heads_path;
	const double most = s->goal->budget * (double)s->points[0].size;
	size_t k = 1;

	while (!s->goal->of_file && k <= path->n
		&& (double)(s->points[0].size - (path->bytes[0] - path->bytes[k])) > most)
		k++;
	return k;
}

/* As long as fewer heads lose less than smaller formats. */
static bool spend(struct al_shrink *s, struct al_error *err)
{
	const size_t n = s->heads_path.n, stride = 1 + n / MOST_TRIED;
	double least = INFINITY, cost;

	for (size_t k = first_within(s); k <= n; k += stride) {
		if (!measure_within_budget(s, al_shrink_heads(s, k), &cost, err))
			return false;
		if (isfinite(least) && cost >= least)
			return true;
		least = cost;
	}
	return true;
}

/* ---- a limit ---- */

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
		if (!point.conversion || !point.is_accepted || point.step > 0)
			continue;
		if (!al_shrink_draft(s, point.conversion, &draft, &path, err))
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

	if (!make_path(s, err))
		return false;
	if (s->goal->budget > 0)
		return spend(s, err);
	if (!al_shrink_follow_heads(s, err))
		return false;
	if (!s->goal->of_file)
		return true;
	return find_promising(s, &promising, err)
		&& (promising == 0
			|| al_shrink_follow_formats(s, s->points[promising].conversion, err));
}
