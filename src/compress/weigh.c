/* What squared errors count where a tensor is quantized: the mean squares of what its columns read,
 * by an importance matrix or, of attention's tensors, by the calibration. */
#include "compress/plan.h"

#include "model/calibration/imatrix.h"

/* A module's projection that a tensor holds, alone or with others. */
struct held {
	const struct al_attention *attention; /* NULL: none */
	enum al_projection projection;
};

static struct held find_held(const struct al_model_view *view, const struct al_tensor *tensor)
{
	for (size_t i = 0; i < view->n_modules; i++)
		for (int p = 0; p < AL_N_PROJECTIONS; p++) {
			const struct al_factor *factor = &view->modules[i].factors[p];
			for (size_t k = 0; k < factor->n_runs; k++)
				if (factor->runs[k].tensor == tensor && !factor->down)
					return (struct held){&view->modules[i],
						(enum al_projection)p};
		}
	return (struct held){0};
}

static bool take(const double *numbers, size_t step, size_t n, struct al_matrix *row,
	struct al_error *err)
{
	if (!al_matrix_init(row, 1, n, err))
		return false;
	for (size_t i = 0; i < n; i++)
		row->data[i * row->ld] = numbers[i * step];
	return true;
}

static bool take_recorded(const struct al_calibration *calibration, const struct held *held,
	struct al_matrix *row, struct al_error *err)
{
	const bool is_output = held->projection == AL_OUTPUT;
	const struct al_module_statistics *statistics;
	AL_OWNED struct al_matrix moments = {0};

	return al_calibration_find(calibration, held->attention->name, &statistics, err)
		&& al_statistics_sum(statistics,
			is_output ? AL_STATISTIC_HEADS : AL_STATISTIC_INPUTS, AL_ALL_FOLDS,
			&moments, err)
		&& take(moments.data, moments.ld + 1, moments.rows - !is_output, row, err);
}

/* Of the columns that the source has; no data: none are known. */
static bool find_row(const struct al_job *job, const struct al_tensor *source,
	const struct held *held, struct al_matrix *row, struct al_error *err)
{
	const struct al_compress_options *options = job->options;
	AL_ENDS(al_diagonal_finish) struct al_diagonal own = {0};

	if (options->imatrix)
		return al_imatrix_read_weight(options->imatrix, source->name,
			       source->shape[source->n_dims - 1], &own, err)
			&& (own.n == 0 || take(own.squares, 1, own.n, row, err));
	return !held->attention || take_recorded(options->data.calibration, held, row, err);
}

/* Of those that the copy has: of heads that stay those of their outputs in the original. */
static bool gather(const struct al_job *job, const struct held *held, struct al_matrix *row,
	struct al_error *err)
{
	const struct al_job_module *module = held->attention ? al_job_find(job, held->attention)
							     : NULL;

	if (!module || held->projection != AL_OUTPUT)
		return true;
	AL_OWNED struct al_matrix before = *row;
	*row = (struct al_matrix){0};
	if (module->layout.method == AL_METHOD_OV) /* of other outputs than were recorded */
		return true;
	return al_effective_gather(&module->layout, AL_OUTPUT, al_view(before), row, err);
}

static void keep(struct al_plan *plan, size_t i, struct al_matrix row)
{
	const struct al_tensor *header = &plan->headers[i];
	const size_t n = (size_t)header->shape[header->n_dims - 1];
	double *weights = al_new_array(&plan->job->arena, double, n), sum = 0;

	if (row.cols != n)
		return;
	for (size_t k = 0; k < n; k++)
		sum += weights[k] = row.data[k * row.ld];
	if (sum > 0) {
		plan->tensors[i].weights = weights;
		plan->tensors[i].n_weights = n;
	}
}

static bool weigh(struct al_plan *plan, size_t i, struct al_error *err)
{
	const struct al_job *job = plan->job;
	const struct al_tensor *source = plan->tensors[i].source;
	const struct held held = find_held(job->view, source);
	AL_OWNED struct al_matrix row = {0};

	if (!find_row(job, source, &held, &row, err)
		|| (row.data && !gather(job, &held, &row, err)))
		return false;
	if (row.data)
		keep(plan, i, row);
	return true;
}

bool al_plan_weigh(struct al_plan *plan, struct al_error *err)
{
	const struct al_imatrix *imatrix = plan->job->options->imatrix;
	size_t n = 0, n_weighted = 0;

	if (!plan->job->is_weighted)
		return true;
	for (size_t i = 0; i < plan->n; i++) {
		if (!plan->tensors[i].recoded || !plan->tensors[i].recoded->from_weighted)
			continue;
		if (!weigh(plan, i, err))
			return false;
		n++;
		n_weighted += plan->tensors[i].weights != NULL;
	}
	if (imatrix && n == 0)
		return al_fail(err, AL_EINPUT,
			"--imatrix %s: no tensor is quantized; use --dtype to quantize",
			imatrix->path);
	return !imatrix || n_weighted > 0
		|| al_fail(err, AL_EINPUT, "%s: has none of the %zu tensors that are quantized",
			imatrix->path, n);
}

/* ---- in words ---- */

static bool is_recoded_alike(const struct al_planned_tensor *a, const struct al_planned_tensor *b)
{
	return a->recoded == b->recoded && a->source && b->source
		&& a->source->dtype == b->source->dtype;
}

const char *al_plan_describe_formats(const struct al_plan *plan)
{
	struct al_arena *arena = &plan->job->arena;
	const char *note = "",
		   *changed = plan->job->dtype || plan->job->options->formats ? "" : "changed ";
	size_t n_weighted = 0;

	for (size_t i = 0; i < plan->n; i++) {
		const struct al_planned_tensor *tensor = &plan->tensors[i];
		size_t n_before = 0, n = 0;
		for (size_t k = 0; tensor->recoded && k < plan->n; k++)
			if (is_recoded_alike(&plan->tensors[k], tensor)) {
				n++;
				n_before += k < i;
			}
		if (n > 0 && n_before == 0)
			note = al_join(arena, note,
				al_format(arena, "%zu %stensor%s of %s as %s", n, changed,
					n == 1 ? "" : "s", al_dtype_title(tensor->source->dtype),
					al_dtype_title(tensor->recoded)));
		n_weighted += tensor->weights != NULL;
	}
	if (n_weighted > 0)
		note = al_format(arena, "%s, %zu of them weighted by the mean squares of inputs",
			note, n_weighted);
	return *note ? note : NULL;
}
