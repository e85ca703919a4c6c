/* What a compression is asked to treat: modules and heads, and all that can be refused before the
 * work. */
#include "compress/job.h"

#include "audit/select.h"
#include "catalog/config.h"
#include "catalog/forward.h"

bool al_job_takes(const struct al_job *job, const struct al_attention *a)
{
	return !job->options->modules || al_select_module(job->options->modules, a->name);
}

static bool names_module(const struct al_dropped *dropped, const struct al_attention *a)
{
	char *end;
	const long long layer = strtoll(dropped->module, &end, 10);

	return strcmp(dropped->module, a->name) == 0
		|| (end != dropped->module && *end == '\0' && layer == a->layer && !a->is_cross);
}

static bool check_dropped(const struct al_job *job, struct al_error *err)
{
	for (size_t i = 0; i < job->options->n_dropped; i++) {
		const struct al_dropped *dropped = &job->options->dropped[i];
		const struct al_attention *found = NULL;
		for (size_t m = 0; m < job->view->n_modules; m++) {
			const struct al_attention *a = &job->view->modules[m];
			if (!names_module(dropped, a))
				continue;
			if (found)
				return al_fail(err, AL_EINPUT,
					"layer %s is ambiguous (%s or %s): name the module",
					dropped->module, found->name, a->name);
			found = a;
		}
		if (!found)
			return al_fail(err, AL_EINPUT, "no module %s, the last is %s",
				dropped->module, job->view->modules[job->view->n_modules - 1].name);
		if (dropped->head < 0 || dropped->head >= found->n_heads)
			return al_fail(err, AL_EINPUT,
				"%s has no head %" PRId64 ", the last is %" PRId64, found->name,
				dropped->head, found->n_heads - 1);
	}
	return true;
}

bool *al_job_find_dropped(struct al_job *job, const struct al_attention *a)
{
	const struct al_compress_options *options = job->options;
	bool *is_dropped = NULL;

	if (options->n_of_each > 0)
		return al_new_array(&job->arena, bool, (size_t)a->n_heads);
	for (size_t i = 0; i < options->n_dropped; i++) {
		if (!names_module(&options->dropped[i], a))
			continue;
		if (!is_dropped)
			is_dropped = al_new_array(&job->arena, bool, (size_t)a->n_heads);
		is_dropped[options->dropped[i].head] = true;
	}
	return is_dropped;
}

static size_t count_chosen(const struct al_job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->view->n_modules; i++)
		n += al_job_takes(job, &job->view->modules[i]);
	return n;
}

static const char *find_own_tensor(const struct al_job *job, const struct al_attention *a)
{
	const struct al_tensor_list *tensor_list = &job->view->tensor_list;

	for (size_t i = 0; i < tensor_list->n_tensors; i++) {
		const struct al_model_item *t = &tensor_list->tensors[i];
		bool has_heads = t->tensor->entry.is_of_scores && t->tensor->loops.n > 1;
		for (size_t j = 0; j < t->n_dims; j++)
			has_heads = has_heads || t->dims[j] == a->n_heads;
		if (has_heads && t->tensor->part == AL_PART_ATTENTION
			&& al_model_view_find(job->view, t->name))
			return t->name;
	}
	return NULL;
}

bool al_job_find_own(const struct al_job *job, const struct al_attention *a, const char **out,
	struct al_error *err)
{
	const struct al_model_view *view = job->view;
	const char *tensor = find_own_tensor(job, a);
	const struct al_forward *how;
	double alibi = 0;

	if (!al_catalog_forward(view->catalog, view->family, &how, err)
		|| (how
			&& !al_config_number(&view->config,
				al_config_of_text(view->family, view->config.root), &how->alibi, 0,
				&alibi, err)))
		return false;
	*out = tensor ? al_format(&job->view->arena, "tensor %s also has values per head", tensor)
		: alibi > 0 ? "its positions are ALiBi's, whose slopes differ by head"
			    : NULL;
	return true;
}

static bool check_own(const struct al_job *job, const struct al_attention *a, struct al_error *err)
{
	const char *own;

	return al_job_find_own(job, a, &own, err)
		&& (!own
			|| al_fail(err, AL_EINPUT, "%s can't remove heads: %s",
				al_method_names[job->options->method], own));
}

/* Tensors are cut and put together as matrices. */
static bool check_matrices(const struct al_attention *a, struct al_error *err)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		for (size_t i = 0; i < a->factors[p].n_runs; i++)
			if (a->factors[p].runs[i].columns > 0)
				return al_fail(err, AL_EINPUT,
					"tensor %s has a separate axis for heads, which compress "
					"can't write: convert it to PyTorch's shapes first",
					a->factors[p].runs[i].tensor->name);
	return true;
}

static bool check_part(struct al_job *job, struct al_error *err)
{
	const struct al_compress_options *options = job->options;
	const size_t n = count_chosen(job);
	size_t index = 0;
	const struct al_tensor *checked = NULL;
	int64_t rank;

	if (options->method == AL_METHOD_IDENTITY)
		return true;
	if (n == 0)
		return al_fail(err, AL_EINPUT, "no module %s, the first is %s", options->modules,
			job->view->modules[0].name);
	if (options->budget_is_cache && job->view->family->is_encoder)
		return al_fail(err, AL_EINPUT,
			"--budget ...:cache: %s is an encoder and caches nothing; use a share of "
			"the parameters",
			job->view->checkpoint->path);
	if (options->ranks && options->n_ranks != 1 && options->n_ranks != n)
		return al_fail(err, AL_EINPUT,
			"%zu ranks for %zu modules: give one rank, or one per module",
			options->n_ranks, n);
	for (size_t i = 0; i < job->view->n_modules; i++) {
		const struct al_attention *a = &job->view->modules[i];
		if (!al_job_takes(job, a))
			continue;
		if (!check_matrices(a, err)
			|| !al_method_check(a, options->method, options->of_keys, err)
			|| (options->for_epfml && !al_epfml_check(a, err))
			|| (al_method_drops(options->method) && !check_own(job, a, err))
			|| (options->ranks && !al_given_rank(job, a, index, &rank, err))
			|| !al_embedding_check(job->view, a, &checked, err))
			return al_in(err, "%s", a->name);
		index++;
	}
	return check_dropped(job, err);
}

bool al_job_check(struct al_job *job, struct al_error *err)
{
	return al_job_each_part(job, check_part, err);
}
