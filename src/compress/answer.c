/* What a compression cost, module by module. */
#include "compress/job.h"

#include "audit/control.h"

struct row {
	const char *module, *method;
	int64_t layer, rank, original, parameters;
	struct al_control_row control;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct row, module, "Module")},
	{AL_SHOW_WHOLE(struct row, layer, "Layer")},
	{AL_SHOW(struct row, method, "Method")},
	{AL_SHOW_WHOLE(struct row, rank, "Rank")},
	{AL_SHOW_COUNT(struct row, original, "Query and key parameters")},
	{AL_SHOW_COUNT(struct row, parameters, "Compressed")},
	AL_CONTROL_FIELDS(struct row, control),
	AL_FIELDS_END,
};

void al_compress_add_columns(struct al_table *table)
{
	al_table_add_fields(table, fields, 0);
}

static void add_row(const struct al_job_module *module, struct al_table *table)
{
	const struct al_module_layout *layout = &module->layout;

	al_table_add_record(table,
		&(struct row){.module = layout->attention->name,
			.layer = layout->attention->layer,
			.method = al_method_names[layout->method],
			.rank = al_method_drops(layout->method) ? INT64_MIN : layout->rank,
			.original = module->original,
			.parameters = module->parameters,
			.control = al_control_compare((size_t)module->original,
				(size_t)module->parameters, module->pieces.relative_error,
				layout->is_refitted ? NAN : module->control_error)});
}

/* What the error of a method is of. */
static const char *describe_error(const struct al_job *job, struct al_arena *arena)
{
	const struct al_compress_options *options = job->options;
	const bool has_data = options->data.calibration;
	const char *measure = has_data ? "weighted by the calibration (in sample)"
				       : "from the weights alone";
	const char *judged = has_data && options->data.calibration->n_folds > 1
		? "cross-fitted: each fold judges what the others fit"
		: "in sample";

	if (al_refit_runs(options->data.refit))
		return "of the layers' attention outputs on the tokens used to fit W_O (in sample)";
	if (options->method == AL_METHOD_MHE_MUL)
		return al_format(arena,
			"of the stacked W_Q^(i) W_K^(i)T and of the values that all heads share%s, "
			"combined as the root of the sum of squares; content biases are stored "
			"next to the shared queries",
			has_data ? ", weighted by the calibration (in sample)" : "");
	if (options->method == AL_METHOD_MERGE)
		return has_data ? al_format(arena,
			       "of the layers' attention outputs on the calibration tokens (%s), "
			       "with each removed head replaced by its twin",
			       judged)
				: "from weights alone, of W_Q^(i) W_K^(i)T and of W_V^(i) W_O^(i), "
				  "with each removed head replaced by its twin, combined as the "
				  "root of the sum of squares";
	if (al_job_refits_by_data(options))
		return al_format(arena,
			"of the layers' attention outputs on the calibration tokens (%s), with "
			"W_O refitted",
			judged);
	if (options->method == AL_METHOD_GQA && options->of_keys)
		return al_format(arena,
			"of the groups' values and of their Q K^T%s, %s, combined as the root of "
			"the sum of squares; verify --tokens measures the loss",
			job->view->modules[0].is_rotary ? " (its mean over all distances)" : "",
			measure);
	if (al_method_is_of_values(options->method))
		return al_format(arena,
			"of what the closed form minimizes, %s; verify --tokens measures the loss",
			has_data && options->method == AL_METHOD_LATENT
				? al_format(arena, "weighted by the calibration (%s)", judged)
				: measure);
	return NULL;
}

static void note_error(struct al_job *job, struct al_table *table, bool has_estimate)
{
	const struct al_compress_options *options = job->options;

	if (options->method == AL_METHOD_IDENTITY) {
		al_table_note(table, "identity: %s",
			job->dtype || options->formats
				? "no layer is changed but for number formats"
				: "every tensor is copied unchanged");
		return;
	}
	for (; job->options; job->options = job->options->also) {
		const char *text = describe_error(job, &table->arena);
		const char *of = options->also
			? al_format(&table->arena, "%s: ", al_method_names[job->options->method])
			: "";
		if (text)
			al_table_note(table, "%srelative error: %s", of, text);
		else
			al_table_note(table,
				"%srelative error: of the stacked W_Q^(i) W_K^(i)T%s%s; %s", of,
				options->data.calibration
					? " weighted by the calibration (in sample)"
					: "",
				has_estimate ? ", estimated with 64 Gaussian vectors" : "",
				al_control_note);
	}
	job->options = options;
}

/* Heads as many and as wide as they were? */
static bool keeps_heads(const struct al_module_layout *layout)
{
	const struct al_attention *a = layout->attention;

	return (layout->method == AL_METHOD_QK && layout->rank == a->d_head)
		|| (layout->method == AL_METHOD_OV && layout->rank == a->d_value);
}

/* Who can load what was written. */
static void note_layout(const struct al_job *job, struct al_table *table)
{
	const struct al_module_layout *layout = job->n_modules > 0 ? &job->modules[0].layout : NULL;

	if (!layout || job->options->for_epfml || keeps_heads(layout))
		return;
	if (layout->is_padded) {
		al_table_note(table,
			"layout: zeros pad values and outputs to their old width, so llama.cpp "
			"runs the file: the cache is as large as before, and the file only "
			"shrinks where something packs zeros");
		return;
	}
	if (job->config_note) {
		al_table_note(table, "layout: %s", job->config_note);
		return;
	}
	al_table_warn(table, "layout: %s: attnledger reads it, %s",
		al_layout_unlisted(layout) ? al_layout_unlisted(layout)
					   : "the heads differ from the original's config",
		job->writes_modeling
			? "and transformers, with modeling_attnledger.py from its folder "
			  "(trust_remote_code=True), in the families that this file lists"
			: job->writes_folder || !job->view->checkpoint->config
			? "other programs don't"
			: "other programs don't; -o FOLDER/ adds a file that runs it in "
			  "transformers, in some families");
}

/* What the ranks save together. */
static void note_budget(const struct al_job *job, struct al_table *table)
{
	const bool is_cache = job->options->budget_is_cache;
	int64_t before = 0, after = 0;

	for (size_t i = 0; i < job->n_modules; i++) {
		const struct al_job_module *module = &job->modules[i];
		before += is_cache ? al_original_cached(module->layout.attention)
				   : module->original;
		after += is_cache ? al_layout_cached(&module->layout) : module->parameters;
	}
	al_table_note(table,
		"budget: %" PRId64 " of %" PRId64 " %s (%.2f %% less); ranks by the smallest sum "
		"of squared relative errors",
		after, before, is_cache ? "numbers cached per token" : "parameters",
		100 * (1 - (double)after / (double)before));
}

void al_answer_fill(struct al_job *job, struct al_table *table)
{
	bool has_estimate = false;

	if (al_method_touches_all(job->options->method))
		table->columns[al_table_find_column(table, "original")].title =
			"Attention parameters";
	for (size_t i = 0; i < job->n_modules; i++) {
		add_row(&job->modules[i], table);
		has_estimate = has_estimate || job->modules[i].pieces.is_estimate;
	}
	note_error(job, table, has_estimate);
	note_layout(job, table);
	if (job->recoded_note)
		al_table_note(table, "formats: %s", job->recoded_note);
	if (job->ranks)
		note_budget(job, table);
	for (size_t i = 0; i < job->n_modules; i++)
		if (!job->modules[i].pieces.has_settled)
			al_table_warn(table,
				"%s: not converged after %zu sweep%s; more sweeps (--sweeps N) "
				"reduce the error",
				job->modules[i].layout.attention->name,
				job->options->effort.n_sweeps,
				job->options->effort.n_sweeps == 1 ? "" : "s");
}
