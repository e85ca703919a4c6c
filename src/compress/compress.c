/* Compressing a checkpoint: module by module, then the file. */
#include "compress/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/measures.h"
#include "audit/select.h"
#include "base/text.h"
#include "compress/by_data.h"
#include "compress/effective.h"
#include "compress/embedding.h"

/* Errors below this are rounding: their ratios say nothing. */
#define EXACT 1e-12

double al_score_scale(const struct al_attention *attention)
{
	return 1 / sqrt((double)attention->score_divisor);
}

/* ---- which modules, which rank ---- */

static bool is_chosen(const struct al_job *job, const struct al_attention *a)
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
					"layer %s is %s or %s: name the module", dropped->module,
					found->name, a->name);
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

/* NULL where no head of the module goes. */
static bool find_dropped(struct al_job *job, const struct al_attention *a, bool **out,
	struct al_error *err)
{
	const struct al_compress_options *options = job->options;
	bool *is_dropped = NULL;

	if (options->n_of_each > 0) {
		*out = al_new_array(&job->arena, bool, (size_t)a->n_heads);
		return al_choose_dropped(job->view, options->data->calibration, a,
			options->n_of_each, *out, err);
	}
	for (size_t i = 0; i < job->options->n_dropped; i++) {
		if (!names_module(&job->options->dropped[i], a))
			continue;
		if (!is_dropped)
			is_dropped = al_new_array(&job->arena, bool, (size_t)a->n_heads);
		is_dropped[job->options->dropped[i].head] = true;
	}
	*out = is_dropped;
	return true;
}

/* A module on its way. */
struct treated {
	const struct al_attention *attention;
	const struct al_scores *scores; /* NULL: methods on values */
	const bool *is_dropped; /* drop */
	size_t index; /* of the chosen modules */
};

/* Is W_O another where the method alone leaves it? */
static bool refits(const struct al_compress_options *options)
{
	const struct al_data *data = options->data;
	const bool is_drop = options->method == AL_METHOD_DROP;

	return data && (is_drop || options->method == AL_METHOD_LATENT)
		&& (al_refit_runs(data->refit)
			|| (is_drop && al_data_refits(data, options->method)));
}

static struct al_layout wanted(const struct al_job *job, const struct treated *t, int64_t rank)
{
	const struct al_compress_options *options = job->options;

	return (struct al_layout){.attention = t->attention,
		.method = options->method,
		.rank = rank,
		.is_dropped = t->is_dropped,
		.is_refitted = refits(options),
		.of_keys = options->method == AL_METHOD_LATENT && options->of_keys};
}

static int64_t parameters_at(const struct al_job *job, const struct treated *t, int64_t rank)
{
	const struct al_layout layout = wanted(job, t, rank);

	return al_layout_parameters(&layout);
}

/* The largest rank within the parameters. */
static bool rank_by_parameters(const struct al_job *job, const struct treated *t, int64_t most,
	int64_t *rank, struct al_error *err)
{
	if (parameters_at(job, t, 1) > most)
		return al_fail(err, AL_EINPUT,
			"rank 1 takes %" PRId64 " parameters already, expected at most %" PRId64,
			parameters_at(job, t, 1), most);
	*rank = al_method_bound(t->attention, job->options->method);
	while (parameters_at(job, t, *rank) > most
		|| (job->options->method == AL_METHOD_GQA && t->attention->n_kv_heads % *rank != 0))
		--*rank;
	return true;
}

static bool make_pieces(struct al_job *job, const struct treated *t, const struct al_layout *layout,
	struct al_pieces *out, struct al_error *err)
{
	static const struct al_data none = {0};
	const struct al_data *data = job->options->data ? job->options->data : &none;

	return t->scores ? al_pieces_make(out, t->scores, layout, &job->options->effort, err)
			 : al_pieces_by_data(out, job->view, layout, data, err);
}

static bool error_at(struct al_job *job, const struct treated *t, int64_t rank, double *error,
	struct al_error *err)
{
	struct al_pieces pieces;
	const struct al_layout layout = wanted(job, t, rank);

	if (!make_pieces(job, t, &layout, &pieces, err))
		return false;
	*error = pieces.relative_error;
	al_pieces_finish(&pieces);
	return true;
}

/* CP is never worse than the greedy truncation at the same rank: where that one suffices is an
 * upper end. Below it by halving. */
static bool rank_by_error(struct al_job *job, const struct treated *t, int64_t *rank,
	struct al_error *err)
{
	const double target = job->options->target_error;
	int64_t low = 0, high = al_method_bound(t->attention, job->options->method);

	if (job->options->method == AL_METHOD_COLLAB)
		for (int64_t r = 1; r < high; r++)
			if (t->scores->greedy[r] <= target)
				high = r;
	while (high - low > 1) {
		const int64_t middle = low + (high - low) / 2;
		double error;
		if (!error_at(job, t, middle, &error, err))
			return false;
		*(error <= target ? &high : &low) = middle;
	}
	*rank = high;
	return true;
}

static bool given_rank(const struct al_job *job, const struct al_attention *a, size_t index,
	int64_t *rank, struct al_error *err)
{
	const int64_t bound = al_method_bound(a, job->options->method);

	*rank = job->options->ranks[job->options->n_ranks == 1 ? 0 : index];
	return (*rank >= 1 && *rank <= bound)
		|| al_fail(err, AL_EINPUT, "rank %" PRId64 ", expected 1 to %" PRId64, *rank,
			bound);
}

static bool choose_rank(struct al_job *job, const struct treated *t, int64_t *rank,
	struct al_error *err)
{
	const struct al_compress_options *options = job->options;
	const double original = (double)al_original_parameters(t->attention, options->method);

	*rank = 0;
	if (options->method == AL_METHOD_DROP)
		return true;
	if (options->ranks)
		return given_rank(job, t->attention, t->index, rank, err);
	if (options->target_parameters > 0)
		return rank_by_parameters(job, t, options->target_parameters, rank, err);
	if (options->budget > 0)
		return rank_by_parameters(job, t, (int64_t)((1 - options->budget) * original), rank,
			err);
	return rank_by_error(job, t, rank, err);
}

/* ---- one module ---- */

/* epfml/collaborative-attention asks for a projection each, with these names. */
static bool check_epfml(const struct al_attention *a, struct al_error *err)
{
	static const char *const endings[] = {".query.weight", ".key.weight"};

	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		const char *name = a->factors[p].runs[0].tensor->name;
		const size_t n = strlen(name), n_ending = strlen(endings[p]);
		if (n < n_ending || strcmp(name + n - n_ending, endings[p]) != 0)
			return al_fail(err, AL_EINPUT,
				"tensor %s, expected \"...%s\": epfml/collaborative-attention "
				"takes the layers of BERT and its kin",
				name, endings[p]);
	}
	return true;
}

static void scale_by(struct al_matrix m, double factor)
{
	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < m.rows; i++)
			m.data[i + j * m.ld] *= factor;
}

/* epfml scales scores by sqrt(n_heads/R), the original by 1/sqrt(d_head): the ratio of the two is
 * folded into the mixing matrix. */
static void fold_scale(struct al_job_module *module, struct al_pieces *pieces)
{
	const struct al_attention *a = module->layout.attention;
	const double theirs = sqrt((double)a->n_heads / (double)module->layout.rank);

	scale_by(pieces->of[AL_PIECE_MIXING], module->scale / theirs);
	scale_by(pieces->of[AL_PIECE_CONTENT], module->scale / theirs);
	module->scale = theirs;
}

static double column_norm(struct al_matrix m, size_t j)
{
	double sum = 0;

	for (size_t i = 0; i < m.rows; i++)
		sum += m.data[i + j * m.ld] * m.data[i + j * m.ld];
	return sqrt(sum);
}

static int compare_descending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* The adaptive expressiveness of Cordonnier et al.: how many shared dimensions hold 90 % of
 * m_ir^2 |a_r|^2 |c_r|^2 in each head. */
static void count_dimensions(struct al_job *job, struct al_job_module *module,
	const struct al_pieces *pieces)
{
	const struct al_matrix mixing = pieces->of[AL_PIECE_MIXING];
	double *norms = al_new_array(&job->arena, double, 2 * mixing.rows),
	       *weights = norms + mixing.rows;

	module->dimensions = al_new_array(&job->arena, size_t, mixing.cols);
	for (size_t r = 0; r < mixing.rows; r++)
		norms[r] = column_norm(pieces->of[AL_PIECE_QUERY], r)
			* column_norm(pieces->of[AL_PIECE_KEY], r);
	for (size_t i = 0; i < mixing.cols; i++) {
		for (size_t r = 0; r < mixing.rows; r++)
			weights[r] = fabs(mixing.data[r + i * mixing.ld]) * norms[r];
		qsort(weights, mixing.rows, sizeof(*weights), compare_descending);
		module->dimensions[i] = al_components(weights, mixing.rows, 0.9);
	}
}

static void keep_counts(struct al_job_module *module, const struct al_scores *scores,
	const struct al_pieces *pieces)
{
	const struct al_layout *layout = &module->layout;

	module->original = al_original_parameters(layout->attention, layout->method);
	module->parameters = al_layout_parameters(layout);
	module->relative_error = pieces->relative_error;
	module->is_estimate = pieces->is_estimate;
	module->has_settled = pieces->has_settled;
	module->control_error = scores ? al_control_error(scores, al_layout_weights(layout)) : NAN;
}

static const struct al_layout *find_done(const struct al_job *job,
	const struct al_attention *attention, const struct al_pieces **pieces)
{
	for (size_t i = 0; i < job->n_modules; i++) {
		*pieces = &job->modules[i].pieces;
		if (job->modules[i].layout.attention == attention)
			return &job->modules[i].layout;
	}
	return NULL;
}

/* Weights of modules that are done already. */
static bool load_done(void *context, const struct al_attention *attention, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err)
{
	const struct al_job *job = context;
	const struct al_pieces *pieces;
	const struct al_layout *layout = find_done(job, attention, &pieces);

	if (layout)
		return al_effective_factor(layout, pieces->of, job->view->checkpoint, p, is_bias,
			out, err);
	return al_factor_load(job->view->checkpoint,
		is_bias ? &attention->biases[p] : &attention->factors[p], out, err);
}

/* W_O fitted anew: to the calibration's outputs, or to what the module's heads put out then. */
static bool refit(struct al_job *job, const struct al_layout *layout, struct al_pieces *pieces,
	struct al_error *err)
{
	const struct al_data *data = job->options->data;
	const struct al_factor_source done = {load_done, job};
	struct al_pieces fitted;

	if (data && al_refit_runs(data->refit))
		return al_refit_module(&data->running,
			data->refit == AL_REFIT_SEQUENTIAL ? &done : NULL, layout, pieces, err);
	if (!layout->is_refitted)
		return true;
	if (!al_pieces_by_data(&fitted, job->view, layout, data, err))
		return false;
	pieces->of[AL_PIECE_OUTPUT] = fitted.of[AL_PIECE_OUTPUT];
	fitted.of[AL_PIECE_OUTPUT] = (struct al_matrix){0};
	pieces->relative_error = fitted.relative_error;
	al_pieces_finish(&fitted);
	return true;
}

static bool make_module(struct al_job *job, struct al_job_module *module, const struct treated *t,
	struct al_error *err)
{
	struct al_pieces pieces;
	struct al_layout layout;
	int64_t rank;

	if (!choose_rank(job, t, &rank, err))
		return false;
	layout = wanted(job, t, rank);
	if (!al_layout_make(&module->layout, &job->arena, job->view->checkpoint, &layout, err)
		|| !make_pieces(job, t, &module->layout, &pieces, err))
		return false;
	bool ok = refit(job, &module->layout, &pieces, err);
	keep_counts(module, t->scores, &pieces);
	if (job->options->method == AL_METHOD_COLLAB)
		count_dimensions(job, module, &pieces);
	module->scale = al_score_scale(t->attention);
	if (job->options->for_epfml)
		fold_scale(module, &pieces);
	ok = ok && al_job_encode(job, module, &pieces, err);
	if (ok && job->options->data && job->options->data->refit == AL_REFIT_SEQUENTIAL)
		module->pieces = pieces;
	else
		al_pieces_finish(&pieces);
	return ok;
}

static bool do_module(struct al_job *job, const struct al_attention *a, size_t index,
	const bool *is_dropped, struct al_error *err)
{
	const bool has_scores = !al_method_is_of_values(job->options->method);
	struct al_scores scores;
	const struct treated t = {a, has_scores ? &scores : NULL, is_dropped, index};

	if (job->options->watch)
		job->options->watch(job->options->context, a->name);
	if (has_scores && !al_scores_load(&scores, job->view->checkpoint, a, err))
		return al_in(err, "%s", a->name);
	bool ok = make_module(job, &job->modules[job->n_modules], &t, err);
	if (has_scores)
		al_scores_finish(&scores);
	job->n_modules += ok;
	return ok || al_in(err, "%s", a->name);
}

/* ---- all ---- */

static size_t count_chosen(const struct al_job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->view->n_modules; i++)
		n += is_chosen(job, &job->view->modules[i]);
	return n;
}

/* Numbers of each head beside the projections (T5's position biases, Cohere's norms) would have to
 * lose the same heads, in every module that reads them. */
static bool check_beside(const struct al_job *job, const struct al_attention *a,
	struct al_error *err)
{
	const struct al_tensor_list *tensor_list = &job->view->tensor_list;

	for (size_t i = 0; i < tensor_list->n_tensors; i++) {
		const struct al_model_tensor *t = &tensor_list->tensors[i];
		bool has_heads = false;
		for (size_t j = 0; j < t->n_dims; j++)
			has_heads = has_heads || t->dims[j] == a->n_heads;
		if (has_heads && t->tensor->part == AL_PART_ATTENTION
			&& al_model_view_find(job->view, t->name))
			return al_fail(err, AL_EINPUT,
				"drop cannot remove heads: tensor %s has per-head values that it "
				"would leave behind",
				t->name);
	}
	return true;
}

/* All that can be refused before the work. */
static bool check_modules(struct al_job *job, struct al_error *err)
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
	if (options->ranks && options->n_ranks != 1 && options->n_ranks != n)
		return al_fail(err, AL_EINPUT,
			"%zu ranks for %zu modules, expected one, or one each", options->n_ranks,
			n);
	for (size_t i = 0; i < job->view->n_modules; i++) {
		const struct al_attention *a = &job->view->modules[i];
		if (!is_chosen(job, a))
			continue;
		if (!al_method_check(a, options->method, err)
			|| (options->for_epfml && !check_epfml(a, err))
			|| (options->method == AL_METHOD_DROP && !check_beside(job, a, err))
			|| (options->ranks && !given_rank(job, a, index, &rank, err))
			|| !al_embedding_check(job->view, a, &checked, err))
			return al_in(err, "%s", a->name);
		index++;
	}
	return check_dropped(job, err);
}

static bool do_modules(struct al_job *job, struct al_error *err)
{
	const struct al_model_view *view = job->view;
	size_t index = 0;

	job->modules = al_new_array(&job->arena, struct al_job_module, view->n_modules);
	if (job->options->method == AL_METHOD_IDENTITY)
		return true;
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		bool *is_dropped;
		if (!is_chosen(job, a))
			continue;
		if (!find_dropped(job, a, &is_dropped, err))
			return false;
		if (job->options->method == AL_METHOD_DROP && !is_dropped)
			continue;
		if (!do_module(job, a, index++, is_dropped, err))
			return false;
	}
	return true;
}

/* ---- the answer ---- */

void al_compress_add_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "module", .title = "Module", .is_key = true},
		{.key = "layer", .title = "Layer", .digits = AL_DIGITS_ALL},
		{.key = "method", .title = "Method"},
		{.key = "rank", .title = "Rank", .digits = AL_DIGITS_ALL},
		{.key = "original",
			.title = "Query and key parameters",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "parameters",
			.title = "Compressed",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "saving", .title = "Saving", .unit = "%", .digits = 2},
		{.key = "relative_error", .title = "Relative error", .digits = 6},
		{.key = "control_error", .title = "Error of truncating", .digits = 6},
		{.key = "sharing_gain", .title = "Gain over truncating", .digits = 3},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(table, columns[i]);
}

static void add_row(const struct al_job_module *module, struct al_table *table)
{
	const struct al_layout *layout = &module->layout;
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, layout->attention->name);
	al_cell_set_int(table, cell++, layout->attention->layer);
	al_cell_set_text(table, cell++, al_method_names[layout->method]);
	if (layout->method != AL_METHOD_DROP)
		al_cell_set_int(table, cell, layout->rank);
	cell++;
	al_cell_set_int(table, cell++, module->original);
	al_cell_set_int(table, cell++, module->parameters);
	al_cell_set_real(cell++, 100 * (1 - (double)module->parameters / (double)module->original));
	al_cell_set_real(cell++, module->relative_error);
	if (isnan(module->control_error) || layout->is_refitted)
		return;
	al_cell_set_real(cell++, module->control_error);
	if (module->relative_error > EXACT)
		al_cell_set_real(cell, module->control_error / module->relative_error);
}

void al_compress_add_head_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "module", .title = "Module", .is_key = true},
		{.key = "layer", .title = "Layer", .digits = AL_DIGITS_ALL},
		{.key = "head", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "dimensions", .title = "Shared dimensions", .digits = AL_DIGITS_ALL},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(table, columns[i]);
}

static void fill_heads(const struct al_job *job, struct al_table *table)
{
	for (size_t m = 0; m < job->n_modules; m++) {
		const struct al_attention *a = job->modules[m].layout.attention;
		for (int64_t i = 0; i < a->n_heads; i++) {
			struct al_cell *cell = al_table_add_row(table);
			al_cell_set_text(table, cell++, a->name);
			al_cell_set_int(table, cell++, a->layer);
			al_cell_set_int(table, cell++, i);
			al_cell_set_int(table, cell, (int64_t)job->modules[m].dimensions[i]);
		}
	}
	al_table_note(table,
		"the number of shared dimensions r that hold 90 %% of m_ir^2 |a_r|^2 |c_r|^2");
}

/* What the error is of. */
static void note_error(const struct al_job *job, struct al_table *table, bool has_estimate)
{
	const struct al_data *data = job->options->data;
	const bool has_data = data && data->calibration;

	if (job->options->method == AL_METHOD_IDENTITY)
		al_table_note(table, "identity: no module is changed, every tensor is copied");
	else if (data && al_refit_runs(data->refit))
		al_table_note(table,
			"relative error: of the modules' outputs on the tokens that W_O was fitted "
			"to (in sample)");
	else if (refits(job->options))
		al_table_note(table,
			"relative error: of the modules' outputs on the calibration's tokens (in "
			"sample), W_O of the heads that are left fitted anew");
	else if (al_method_is_of_values(job->options->method))
		al_table_note(table,
			"relative error: of what the closed form minimises, %s%s; what it costs "
			"the "
			"model, verify --tokens measures",
			has_data ? "in the measure of the calibration's tokens (in sample)"
				 : "of the weights alone",
			has_data && al_data_refits(data, job->options->method)
				? ", before W_O is fitted anew"
				: "");
	else
		al_table_note(table,
			"relative error: of the stack of W_Q^(i) W_K^(i)T%s; truncating: the "
			"largest singular triples of all heads, at as many parameters; gain: the "
			"error of truncating over the method's error",
			has_estimate ? ", estimated with 64 Gaussian vectors" : "");
}

static void fill_table(const struct al_job *job, struct al_table *table)
{
	bool has_estimate = false;

	if (al_method_is_of_values(job->options->method))
		table->columns[al_table_find_column(table, "original")].title =
			"Attention parameters";
	for (size_t i = 0; i < job->n_modules; i++) {
		add_row(&job->modules[i], table);
		has_estimate = has_estimate || job->modules[i].is_estimate;
	}
	note_error(job, table, has_estimate);
	for (size_t i = 0; i < job->n_modules; i++)
		if (!job->modules[i].has_settled)
			al_table_note(table,
				"%s: not converged after %zu sweep%s; more (--sweeps N) lessen "
				"the error",
				job->modules[i].layout.attention->name,
				job->options->effort.n_sweeps,
				job->options->effort.n_sweeps == 1 ? "" : "s");
}

bool al_compress(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_table *table, struct al_table *heads, struct al_error *err)
{
	struct al_job job = {.view = view, .options = options};

	al_arena_init(&job.arena);
	bool ok = al_job_open_output(&job, path, err) && check_modules(&job, err)
		&& do_modules(&job, err) && al_job_write(&job, path, err);
	if (ok)
		fill_table(&job, table);
	if (ok && heads && options->method == AL_METHOD_COLLAB)
		fill_heads(&job, heads);
	for (size_t i = 0; i < job.n_modules; i++)
		al_pieces_finish(&job.modules[i].pieces);
	al_aside_close(&job.aside);
	al_arena_finish(&job.arena);
	return ok;
}
