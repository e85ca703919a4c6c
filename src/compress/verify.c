/* Attention probabilities of a checkpoint and of its compressed copy. */
#include "compress/compress.h"

#include "audit/rotary.h"
#include "audit/select.h"
#include "base/hash.h"
#include "base/random.h"
#include "compress/difference.h"
#include "compress/plan.h"
#include "model/heads/rotary.h"

/* Of keys under rotary positions, whose scores depend on how far they are before their query. */
enum { N_OFFSETS = 4, POSITIONS = 512 };

struct verification {
	struct al_job job; /* what was done to the original */
	const struct al_verify_options *options;
	struct al_table *table;
	size_t n_beyond; /* rows whose output error exceeds the tolerance */
	const struct al_tensor *checked; /* the embedding that is known to be finite */
	int64_t offsets[N_OFFSETS]; /* rising; of modules without rotary positions the first */
};

/* ---- inputs ---- */

static void fill_random(struct al_matrix m, uint64_t seed, uint64_t stream)
{
	struct al_random *random = al_random_create(seed, stream, 0, 0);

	for (size_t j = 0; j < m.cols; j++)
		al_random_gaussian(random, m.data + j * m.ld, m.rows);
	al_random_destroy(random);
}

/* Mean 0 and variance 1, like a layer norm; a row of one value becomes zeros. */
static void normalize(double *row, size_t n)
{
	double mean = 0, square = 0;

	for (size_t i = 0; i < n; i++)
		mean += row[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		square += (row[i] - mean) * (row[i] - mean) / (double)n;
	for (size_t i = 0; i < n; i++)
		row[i] = square > 0 ? (row[i] - mean) / sqrt(square) : 0;
}

static bool read_rows(const struct verification *v, const struct al_tensor *table,
	struct al_matrix m, uint64_t stream, struct al_error *err)
{
	struct al_random *random = al_random_create(v->options->seed, stream, 1, 0);
	AL_FREED double *row = al_alloc(m.cols, sizeof(*row));
	bool ok = true;

	for (size_t i = 0; ok && i < m.rows; i++) {
		const int64_t at = (int64_t)(al_random_uniform(random) * (double)table->shape[0]);
		const struct al_selection selection = al_select_block(table, at, 1, 0,
			table->shape[1]);
		ok = al_tensor_read_double(v->job.view->checkpoint, table, &selection, row, m.cols,
			err);
		if (ok)
			normalize(row, m.cols);
		for (size_t j = 0; ok && j < m.cols; j++)
			m.data[i + j * m.ld] = row[j];
	}
	al_random_destroy(random);
	return ok;
}

/* x [n_tokens][d_query] and y [n_tokens][d_key], the side of queries and of keys: keys see what
 * queries see, but where attention crosses from one model into another. */
static bool make_input(const struct verification *v, const struct al_attention *a,
	const struct al_tensor *embedding, struct al_matrix *x, struct al_matrix *y,
	struct al_error *err)
{
	const size_t n = v->options->n_tokens, d_query = (size_t)a->factors[AL_QUERY].rows;
	const size_t d_key = (size_t)a->factors[AL_KEY].rows;

	if (!al_matrix_init(x, n, d_query, err) || !al_matrix_init(y, n, d_key, err))
		return false;
	if (!embedding)
		fill_random(*x, v->options->seed, 2);
	else if (!read_rows(v, embedding, *x, 0, err)
		|| (a->is_cross && d_key == d_query && !read_rows(v, embedding, *y, 1, err)))
		return false;
	if (d_key != d_query || (a->is_cross && !embedding))
		fill_random(*y, v->options->seed, 3);
	return d_key != d_query || a->is_cross || al_copy(al_view(*x), *y, err);
}

/* ---- differences ---- */

/* One offset after the other: queries are turned on from where they are. */
static bool compare_offsets(const struct verification *v, const struct al_module_layout *layout,
	struct al_side_scores *original, struct al_side_scores *compressed,
	struct al_attention_difference *d, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	const size_t n = al_has_offset(a) ? N_OFFSETS : 1;

	for (size_t i = 0; i < n; i++) {
		const int64_t further = i > 0 ? v->offsets[i] - v->offsets[i - 1] : 0;
		al_rotate_queries(a, further, original->seen[AL_QUERY]);
		al_rotate_queries(a, further, compressed->seen[AL_QUERY]);
		for (size_t head = 0; head < original->n_heads; head++)
			if (!al_difference_add(d, original, compressed, head,
				    layout->is_dropped && layout->is_dropped[head], err))
				return false;
		al_difference_settle(d);
	}
	return true;
}

/* ---- rows ---- */

struct row {
	const char *module, *input;
	int64_t layer;
	double logit_max, probability_max, variation, output_error;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct row, module, "Module")},
	{AL_SHOW_WHOLE(struct row, layer, "Layer")},
	{AL_SHOW_KEY(struct row, input, "Input")},
	{AL_SHOW(struct row, logit_max, "Largest logit difference", .digits = 8)},
	{AL_SHOW(struct row, probability_max, "Largest probability difference", .digits = 8)},
	{{.key = "total_variation", .title = "Total variation", .digits = 6},
		AL_MEMBER(struct row, variation)},
	{AL_SHOW(struct row, output_error, "Relative error of the output", .digits = 6)},
	AL_FIELDS_END,
};

void al_verify_add_columns(struct al_table *table)
{
	al_table_add_fields(table, fields, 0);
}

static bool verify_input(struct verification *v, const struct al_module_layout *layout,
	struct al_side_scores *original, struct al_side_scores *compressed,
	const struct al_tensor *embedding, struct al_error *err)
{
	const struct al_attention *a = layout->attention;
	struct al_attention_difference d = {0};
	AL_OWNED struct al_matrix x = {0}, y = {0};

	const bool ok = make_input(v, a, embedding, &x, &y, err)
		&& al_side_take_input(original, al_view(x), al_view(y), err)
		&& al_side_take_input(compressed, al_view(x), al_view(y), err)
		&& al_difference_init(&d, original, err)
		&& compare_offsets(v, layout, original, compressed, &d, err);
	al_difference_finish(&d);
	if (!ok)
		return false;
	const struct row row = {.module = a->name,
		.input = embedding ? "embedding" : "random",
		.layer = a->layer,
		.logit_max = d.logit_max,
		.probability_max = d.probability_max,
		.variation = d.variation / (double)d.n_queries,
		.output_error = al_difference_output_error(&d)};
	al_table_add_record(v->table, &row);
	v->n_beyond += v->options->has_tolerance && !(row.output_error <= v->options->tolerance);
	return true;
}

/* The original's values are used for both where they were copied: that is compared byte for
 * byte. */
static bool has_values(const struct al_module_layout *layout)
{
	return layout->is_refitted
		|| (!layout->is_dropped
			&& (al_layout_changes(layout, AL_VALUE, false)
				|| al_layout_changes(layout, AL_OUTPUT, false)));
}

static bool verify_module(struct verification *v, const struct al_job_module *module,
	struct al_error *err)
{
	const struct al_module_layout *layout = &module->layout;
	const struct al_attention *a = layout->attention;
	const struct al_tensor *embedding = al_embedding_find(v->job.view, a);
	const bool mixes = al_method_mixes(layout->method); /* their scale is in the mixing */
	struct al_job untouched = {.view = v->job.view};
	const struct al_factor_source own = al_job_factors(&untouched);
	const struct al_factor_source other = al_job_factors(&v->job);
	struct al_side_scores original = {0}, compressed = {0};

	bool ok = al_embedding_check(v->job.view, a, &v->checked, err)
		&& al_side_load(&original, &own, a, AL_N_PROJECTIONS, a->score_scale, err)
		&& al_side_load(&compressed, &other, a,
			has_values(layout) ? AL_N_PROJECTIONS : AL_VALUE,
			mixes ? a->score_scale : module->scale, err)
		&& verify_input(v, layout, &original, &compressed, NULL, err)
		&& (!embedding || verify_input(v, layout, &original, &compressed, embedding, err));
	al_side_finish(&original);
	al_side_finish(&compressed);
	return ok || al_in(err, "%s", a->name);
}

static bool verify_modules(struct verification *v, struct al_error *err)
{
	const char *modules = v->options->modules;
	size_t n = 0;

	for (size_t i = 0; i < v->job.n_modules; i++) {
		const char *name = v->job.modules[i].layout.attention->name;
		if (modules && !al_select_module(modules, name))
			continue;
		if (!al_watch_show(v->options->watch, name, i, v->job.n_modules, err)
			|| !verify_module(v, &v->job.modules[i], err))
			return false;
		n++;
	}
	return n > 0 || (v->job.options->method == AL_METHOD_IDENTITY && !modules)
		|| al_fail(err, AL_EINPUT, "%s: no compressed module%s%s", v->job.compressed->path,
			modules ? " " : "", modules ? modules : "");
}

/* ---- the answer ---- */

/* 0, 1, the middle and the last position that the config gives, and how fast pairs turn on the way
 * there. */
static bool choose_offsets(struct verification *v, struct al_error *err)
{
	struct al_model_view *view = v->job.view;
	int64_t positions;

	if (!al_view_longest(view, &positions, err))
		return false;
	const int64_t last = (positions >= N_OFFSETS ? positions : POSITIONS) - 1;
	memcpy(v->offsets, (int64_t[N_OFFSETS]){0, 1, last / 2, last}, sizeof(v->offsets));
	for (size_t i = 0; i < view->n_modules; i++) {
		struct al_attention *a = &view->modules[i];
		struct al_rotary_rule rule;
		if (!al_has_offset(a))
			continue;
		if (!al_rotary_rule_read(view, a, &view->arena, &rule, err))
			return al_in(err, "%s", a->name);
		a->rotary_speeds = al_rotary_speeds(&rule, a, (size_t)last + 1, &view->arena);
	}
	return true;
}

static void note_positions(const struct verification *v)
{
	const struct al_model_view *view = v->job.view;
	bool has_rotary = false, has_norm = false;

	for (size_t i = 0; i < view->n_modules; i++) {
		has_rotary |= al_has_offset(&view->modules[i]);
		has_norm |= view->modules[i].has_qk_norm;
	}
	if (has_rotary)
		al_table_note(v->table,
			"rotary positions: all keys are 0, then %" PRId64 ", %" PRId64
			" and %" PRId64
			" tokens before their queries; reported are the largest difference, the "
			"mean total variation, and the error of all outputs",
			v->offsets[1], v->offsets[2], v->offsets[3]);
	if (has_norm)
		al_table_note(v->table,
			"without the norms of queries and keys; use --tokens FILE to include them");
}

/* What the compressed checkpoint records of its original. */
static bool note_source(const struct verification *v, struct al_error *err)
{
	const char *source = al_checkpoint_metadata(v->job.compressed, "attnledger.source");
	uint64_t hash;

	if (!source)
		return true;
	if (!al_checkpoint_hash(v->job.view->checkpoint, NULL, &hash, err))
		return false;
	const char *here = al_fingerprint_text(&v->table->arena, hash);
	if (strcmp(source, here) != 0)
		al_table_warn(v->table, "the compressed file was made from %s, but ORIGINAL is %s",
			source, here);
	return true;
}

static bool has_method(const struct al_job *job, enum al_method method)
{
	bool has = job->options->method == method;

	for (size_t i = 0; i < job->n_modules; i++)
		has = has || job->modules[i].layout.method == method;
	return has;
}

static const char *name_methods(const struct al_job *job, struct al_arena *arena)
{
	const char *names = "";

	for (int method = 0; method < AL_N_METHODS; method++)
		if (has_method(job, (enum al_method)method))
			names = al_join(arena, names, al_method_names[method]);
	return names;
}

static bool add_notes(const struct verification *v, struct al_error *err)
{
	al_table_note(v->table, "compressed: %s, method %s", v->job.compressed->path,
		name_methods(&v->job, &v->table->arena));
	if (!note_source(v, err))
		return false;
	if (v->job.options->method == AL_METHOD_IDENTITY) {
		al_table_note(v->table, "no layer is changed; tensors were compared %s",
			v->job.dtype || v->job.has_formats
				? "within what their number formats round"
				: "byte by byte");
		return true;
	}
	al_table_note(v->table,
		"%zu queries and keys each, seed %" PRIu64 ", in double precision; embedding: "
		"rows at mean 0, variance 1",
		v->options->n_tokens, v->options->seed);
	al_table_note(v->table,
		"total variation: half the sum of |p - p'| over a query's keys, mean "
		"over queries and heads (0: identical, 1: disjoint)");
	al_table_note(v->table,
		"relative error of the output: of the sum over heads of P V W_O, with the value "
		"bias, without the output bias");
	if (has_method(&v->job, AL_METHOD_DROP) || has_method(&v->job, AL_METHOD_MERGE))
		al_table_note(v->table,
			"logits, probabilities and total variation are those of the remaining "
			"heads; the output %s",
			has_method(&v->job, AL_METHOD_DROP) ? "lacks the dropped ones"
							    : "is compared with that of all heads");
	if (v->options->has_tolerance)
		al_table_note(v->table, "%zu of %zu rows exceed the tolerance of %g", v->n_beyond,
			v->table->n_rows, v->options->tolerance);
	note_positions(v);
	return true;
}

/* What the probabilities don't show. */
static bool verify_files(struct verification *v, bool *holds, struct al_error *err)
{
	const struct al_checkpoint *original = v->job.view->checkpoint;

	return al_copies_compare(&v->job, v->table, holds, err)
		&& al_checkpoint_note_not_finite(original, v->table, err)
		&& al_checkpoint_note_not_finite(v->job.compressed, v->table, err)
		&& al_checkpoint_check_unchanged(original, err)
		&& al_checkpoint_check_unchanged(v->job.compressed, err);
}

bool al_verify(struct al_model_view *view, const struct al_checkpoint *compressed,
	const struct al_verify_options *options, struct al_table *table, bool *holds,
	struct al_error *err)
{
	struct verification v = {.options = options, .table = table};

	if (!al_job_read(&v.job, view, compressed, err))
		return false;
	bool ok = choose_offsets(&v, err) && verify_modules(&v, err) && add_notes(&v, err)
		&& verify_files(&v, holds, err);
	*holds = ok && *holds && v.n_beyond == 0;
	al_job_finish(&v.job);
	return ok;
}
