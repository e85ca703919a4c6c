/* Factors: a module's projections as matrices whose columns are heads. */
#include "views/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "ledger/ledger.h"

const char *const al_projection_names[AL_N_PROJECTIONS] = {"query", "key", "value", "output"};

/* ---- stored tensors ---- */

/* What is made of one module. */
struct maker {
	struct al_model_view *view;
	const struct al_model_module *module;
	struct al_stored_module stored;
	struct al_attention *out;
};

static bool same_shape(const struct al_tensor *found, const int64_t *dims, size_t n_dims)
{
	if (found->n_dims != n_dims)
		return false;
	for (size_t i = 0; i < n_dims; i++)
		if (found->shape[i] != dims[i])
			return false;
	return true;
}

static bool check_tensor(struct maker *m, const struct al_stored_tensor *wanted,
	const struct al_tensor *found, struct al_error *err)
{
	struct al_arena *arena = &m->view->arena;

	if (!found)
		return al_fail(err, AL_EINPUT, "tensor %s%s is missing", m->view->prefix,
			wanted->name);
	if (!same_shape(found, wanted->dims, wanted->n_dims))
		return al_fail(err, AL_EINPUT, "tensor %s is %s, expected %s", found->name,
			al_shape_text(arena, found->shape, found->n_dims),
			al_shape_text(arena, wanted->dims, wanted->n_dims));
	if (!found->dtype->to_double)
		return al_fail(err, AL_EINPUT, "tensor %s is of %s, which is not converted",
			found->name, found->dtype->stored);
	return true;
}

/* ---- scales ---- */

/* [rows, columns] of a block: the config's, a list. */
static bool read_block(struct maker *m, int64_t block[2], struct al_error *err)
{
	const struct al_setting *setting;

	if (!al_settings_get(&m->view->settings, "block", &setting, err))
		return false;
	if (!setting || !setting->list || setting->n_list != 2)
		return al_fail(err, AL_EINPUT,
			"its scales are stored, but the size of their blocks is not known");
	for (int i = 0; i < 2; i++) {
		block[i] = setting->list[i].integer;
		if (block[i] < 1)
			return al_fail(err, AL_EINPUT, "blocks of %lld numbers",
				(long long)block[i]);
	}
	return true;
}

/* Sets the run's scale, where the checkpoint stores one beside the tensor. */
static bool find_scale(struct maker *m, const char *name, struct al_factor_run *run,
	struct al_error *err)
{
	const struct al_tensor *tensor = run->tensor;
	int64_t expected[2];

	run->scale = al_model_view_find(m->view, al_format(&m->view->arena, "%s_scale_inv", name));
	if (!run->scale)
		return true;
	if (!read_block(m, run->block, err))
		return al_in(err, "tensor %s", tensor->name);
	if (tensor->n_dims != 2)
		return al_fail(err, AL_EINPUT, "tensor %s has scales, expected a matrix",
			tensor->name);
	for (int i = 0; i < 2; i++)
		expected[i] = al_divide_up(tensor->shape[i], run->block[i]);
	return check_tensor(m,
		&(struct al_stored_tensor){.name = run->scale->name,
			.n_dims = 2,
			.dims = {expected[0], expected[1]}},
		run->scale, err);
}

/* ---- runs ---- */

static void add_run(struct al_arena *arena, struct al_factor *factor, size_t *room,
	struct al_factor_run run)
{
	if (factor->n_runs > 0) {
		struct al_factor_run *last = &factor->runs[factor->n_runs - 1];
		if (last->tensor == run.tensor && last->first + last->width == run.first) {
			last->width += run.width;
			return;
		}
	}
	factor->runs = al_grow(arena, factor->runs, factor->n_runs, room, sizeof(*factor->runs));
	factor->runs[factor->n_runs++] = run;
}

/* A matrix is stored [out, in] or [in, out]. The head axis of W_Q, W_K, W_V is `out`, of W_O
 * `in`. */
static bool head_axis_is_slow(const struct al_stored *stored, bool is_output)
{
	return (stored->order == AL_ORDER_OUT_IN) != is_output;
}

static bool is_part(const struct al_stored_part *part, const char *name)
{
	return strcmp(part->entry->name, name) == 0;
}

/* The runs of one of the variant's tensors; none where it isn't stored. */
static bool collect_runs(struct maker *m, const char *name, bool is_output,
	struct al_factor *factor, struct al_error *err)
{
	size_t room = 0;

	for (size_t i = 0; i < m->stored.n_tensors; i++) {
		const struct al_stored_tensor *stored = &m->stored.tensors[i];
		const struct al_tensor *found = NULL;
		int64_t at = 0;
		for (int64_t turn = 0; turn < stored->repeat; turn++)
			for (size_t j = 0; j < stored->n_parts; at += stored->parts[j++].width) {
				if (!is_part(&stored->parts[j], name))
					continue;
				if (!found) {
					found = al_model_view_find(m->view, stored->name);
					if (!check_tensor(m, stored, found, err))
						return false;
				}
				bool is_matrix = stored->n_dims == 2;
				struct al_factor_run run = {.tensor = found,
					.first = at,
					.width = stored->parts[j].width,
					.is_slow = is_matrix
						&& head_axis_is_slow(stored->stored, is_output)};
				if (!find_scale(m, stored->name, &run, err))
					return false;
				add_run(&m->view->arena, factor, &room, run);
				factor->rows = !is_matrix
					? 1
					: stored->dims[(stored->stored->order == AL_ORDER_OUT_IN)
								!= is_output
							? 1
							: 0];
				factor->dtype = found->dtype;
			}
	}
	return true;
}

/* W_O isn't fused along its head axis: the run is the whole of it. */
static bool collect_output(struct maker *m, struct al_factor *factor, struct al_error *err)
{
	if (!collect_runs(m, "W_O", true, factor, err))
		return false;
	for (size_t i = 0; i < factor->n_runs; i++) {
		const struct al_tensor *tensor = factor->runs[i].tensor;
		factor->runs[i].first = 0;
		factor->runs[i].width = tensor->shape[factor->runs[i].is_slow ? 0 : 1];
	}
	return true;
}

static int64_t columns_of(const struct al_factor *factor)
{
	int64_t columns = 0;

	for (size_t i = 0; i < factor->n_runs; i++)
		columns += factor->runs[i].width;
	return columns;
}

/* ---- heads ---- */

static bool set_heads(struct al_factor *factor, int64_t heads, int64_t width, int64_t stride,
	enum al_projection projection, struct al_error *err)
{
	if (factor->n_runs == 0)
		return true;
	factor->heads = heads;
	factor->width = width;
	factor->stride = stride;
	if (columns_of(factor) != heads * stride)
		return al_fail(err, AL_EINPUT,
			"the %s projection has %lld columns, expected %lld heads of %lld",
			al_projection_names[projection], (long long)columns_of(factor),
			(long long)heads, (long long)stride);
	return true;
}

/* A symbol of the module. */
static bool symbol(struct al_ledger *ledger, const char *name, int64_t *out, struct al_error *err)
{
	return al_ledger_symbol(ledger, name, 1, out, err);
}

static bool read_dimensions(struct maker *m, struct al_error *err)
{
	struct al_variant_use use = {.variant = m->module->variant,
		.name = m->module->variant->name,
		.with = m->module->with,
		.n_with = m->module->n_with};
	struct al_attention *a = m->out;
	struct al_basis basis;
	struct al_ledger ledger;

	al_basis_init(&basis);
	if (!al_ledger_open_module(&ledger, &use, &m->view->settings, &basis, err))
		return false;
	bool ok = symbol(&ledger, "n_heads", &a->n_heads, err)
		&& symbol(&ledger, "d_value", &a->d_value, err)
		&& symbol(&ledger, a->is_latent ? "d_nope" : "d_head", &a->d_head, err)
		&& (a->is_latent || symbol(&ledger, "n_kv_heads", &a->n_kv_heads, err));
	if (a->is_latent)
		a->n_kv_heads = a->n_heads;
	al_ledger_close(&ledger);
	return ok;
}

/* A key side of all heads though the settings say groups: MHA's tensors count. */
static void follow_columns(struct al_attention *a)
{
	const struct al_factor *keys = &a->factors[AL_KEY];
	int64_t heads = a->d_head > 0 ? columns_of(keys) / a->d_head : 0;

	if (heads > 0 && heads * a->d_head == columns_of(keys))
		a->n_kv_heads = heads;
}

/* ---- plain attention ---- */

static bool make_plain(struct maker *m, struct al_error *err)
{
	static const char *const weights[] = {"W_Q", "W_K", "W_V"};
	static const char *const biases[] = {"b_Q", "b_K", "b_V"};
	struct al_attention *a = m->out;

	for (int i = 0; i < AL_OUTPUT; i++)
		if (!collect_runs(m, weights[i], false, &a->factors[i], err)
			|| !collect_runs(m, biases[i], false, &a->biases[i], err))
			return false;
	if (!collect_output(m, &a->factors[AL_OUTPUT], err) || !read_dimensions(m, err))
		return false;
	follow_columns(a);
	for (int i = 0; i < AL_N_PROJECTIONS; i++) {
		enum al_projection p = (enum al_projection)i;
		bool is_kv = p == AL_KEY || p == AL_VALUE;
		int64_t heads = is_kv ? a->n_kv_heads : a->n_heads;
		int64_t width = p == AL_VALUE || p == AL_OUTPUT ? a->d_value : a->d_head;
		if (!set_heads(&a->factors[i], heads, width, width, p, err)
			|| !set_heads(&a->biases[i], heads, width, width, p, err))
			return false;
	}
	return true;
}

/* ---- MLA: arXiv:2405.04434 eq. 9 to 19 ---- */

static bool make_down(struct maker *m, const char *name, const char *gain, struct al_factor *factor,
	struct al_error *err)
{
	struct al_factor *down = al_new(&m->view->arena, struct al_factor), norm = {0};

	if (!collect_runs(m, name, false, down, err) || !collect_runs(m, gain, false, &norm, err))
		return false;
	if (down->n_runs == 0)
		return true;
	if (!set_heads(down, 1, columns_of(down), columns_of(down), AL_QUERY, err))
		return false;
	factor->down = down;
	factor->gain = norm.n_runs ? norm.runs[0].tensor : NULL;
	factor->rows = down->rows;
	return true;
}

static bool make_latent(struct maker *m, struct al_error *err)
{
	struct al_attention *a = m->out;
	struct al_factor *f = a->factors;

	a->is_latent = true;
	if (!collect_runs(m, "W_UQ", false, &f[AL_QUERY], err)
		|| (f[AL_QUERY].n_runs == 0 && !collect_runs(m, "W_Q", false, &f[AL_QUERY], err))
		|| !collect_runs(m, "W_UK", false, &f[AL_KEY], err)
		|| !collect_runs(m, "W_UV", false, &f[AL_VALUE], err)
		|| !collect_output(m, &f[AL_OUTPUT], err) || !read_dimensions(m, err)
		|| !make_down(m, "W_DQ", "g_Q", &f[AL_QUERY], err)
		|| !make_down(m, "W_DKV", "g_KV", &f[AL_KEY], err)
		|| !make_down(m, "W_DKV", "g_KV", &f[AL_VALUE], err))
		return false;
	int64_t stride = a->n_heads ? columns_of(&f[AL_QUERY]) / a->n_heads : 0;
	return set_heads(&f[AL_QUERY], a->n_heads, a->d_head, stride, AL_QUERY, err)
		&& set_heads(&f[AL_KEY], a->n_heads, a->d_head, a->d_head, AL_KEY, err)
		&& set_heads(&f[AL_VALUE], a->n_heads, a->d_value, a->d_value, AL_VALUE, err)
		&& set_heads(&f[AL_OUTPUT], a->n_heads, a->d_value, a->d_value, AL_OUTPUT, err);
}

/* ---- a module ---- */

static bool is_stored(const struct maker *m, const char *name)
{
	for (size_t i = 0; i < m->stored.n_tensors; i++)
		for (size_t j = 0; j < m->stored.tensors[i].n_parts; j++)
			if (is_part(&m->stored.tensors[i].parts[j], name))
				return true;
	return false;
}

static bool check_complete(const struct al_attention *a, struct al_error *err)
{
	for (int i = 0; i < AL_OUTPUT; i++)
		if (a->factors[i].n_runs == 0)
			return al_fail(err, AL_EINPUT, "variant %s has no %s projection of its own",
				a->variant->name, al_projection_names[i]);
	if (a->n_kv_heads < 1 || a->n_heads % a->n_kv_heads != 0)
		return al_fail(err, AL_EINPUT,
			"n_heads (%lld) is not a multiple of n_kv_heads (%lld)",
			(long long)a->n_heads, (long long)a->n_kv_heads);
	return true;
}

bool make_factors(struct al_model_view *view, const struct al_model_module *module,
	struct al_attention *out, struct al_error *err)
{
	struct maker m = {.view = view, .module = module, .out = out};

	*out = (struct al_attention){.name = module->name,
		.variant = module->variant,
		.with = module->with,
		.n_with = module->n_with};
	if (!al_stored_module_read(&m.stored, &view->arena, view->catalog, module, &view->settings,
		    err))
		return false;
	out->stack = module->module->stack;
	out->is_cross = module->module->is_cross;
	out->is_rotary = m.stored.is_rotary;
	out->rotary_pairs = m.stored.rotary_pairs;
	out->rotary_width = m.stored.rotary_width;
	out->rotary_base = m.stored.rotary_base;
	return (is_stored(&m, "W_UK") ? make_latent(&m, err) : make_plain(&m, err))
		&& check_complete(out, err);
}

/* ---- reading ---- */

/* Each number times its block's scale: [rows][n] from column `first` of the head axis on. */
static bool scale_columns(const struct al_checkpoint *checkpoint, const struct al_factor_run *run,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	const struct al_tensor *scale = run->scale;
	struct al_selection all;
	double *scales;

	if (!scale)
		return true;
	all = al_select_all(scale);
	scales = al_try_calloc((size_t)scale->n_elements, sizeof(*scales), err);
	if (!scales)
		return al_in(err, "tensor %s", scale->name);
	bool ok = al_tensor_read_double(checkpoint, scale, &all, scales, (size_t)scale->n_elements,
		err);
	for (int64_t j = 0; ok && j < n; j++)
		for (int64_t i = 0; i < rows; i++) {
			int64_t row = run->is_slow ? first + j : i,
				column = run->is_slow ? i : first + j;
			out.data[(size_t)i + (size_t)j * out.ld] *=
				scales[row / run->block[0] * scale->shape[1]
					+ column / run->block[1]];
		}
	free(scales);
	return ok;
}

/* Columns [first, +n) of one run's tensor, [rows][n]. */
static bool read_columns(const struct al_checkpoint *checkpoint, const struct al_factor_run *run,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	const struct al_tensor *tensor = run->tensor;
	struct al_selection selection;

	if (tensor->n_dims == 2 && run->is_slow) {
		selection = al_select_block(tensor, first, n, 0, rows);
		return al_tensor_read_double(checkpoint, tensor, &selection, out.data, out.ld, err);
	}
	selection = al_select_block(tensor, 0, rows, first, n);

	/* The head axis runs fastest in the file: read [rows][n], then turn it over. */
	double *block = al_try_calloc((size_t)rows * (size_t)n, sizeof(*block), err);
	if (!block)
		return al_in(err, "%lld x %lld numbers", (long long)rows, (long long)n);
	bool ok = al_tensor_read_double(checkpoint, tensor, &selection, block, (size_t)n, err);
	for (int64_t i = 0; ok && i < rows; i++)
		for (int64_t j = 0; j < n; j++)
			out.data[(size_t)i + (size_t)j * out.ld] = block[i * n + j];
	free(block);
	return ok;
}

/* Columns [first, +n) of the runs laid side by side. */
static bool read_runs(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	int64_t at = 0, end = first + n;

	for (size_t i = 0; i < factor->n_runs; at += factor->runs[i++].width) {
		const struct al_factor_run *run = &factor->runs[i];
		int64_t from = at > first ? at : first;
		int64_t to = at + run->width < end ? at + run->width : end;
		if (from >= to)
			continue;
		struct al_matrix part = al_part(out, 0, (size_t)(from - first), out.rows,
			(size_t)(to - from));
		int64_t start = run->first + from - at;
		if (!read_columns(checkpoint, run, rows, start, to - from, part, err)
			|| !scale_columns(checkpoint, run, rows, start, to - from, part, err))
			return false;
	}
	return true;
}

static bool read_heads(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	if (factor->stride == factor->width)
		return read_runs(checkpoint, factor, rows, first * factor->width, n * factor->width,
			out, err);
	for (int64_t i = 0; i < n; i++) {
		struct al_matrix head = al_part(out, 0, (size_t)(i * factor->width), out.rows,
			(size_t)factor->width);
		if (!read_runs(checkpoint, factor, rows, (first + i) * factor->stride,
			    factor->width, head, err))
			return false;
	}
	return true;
}

static bool fold_gain(const struct al_checkpoint *checkpoint, const struct al_tensor *gain,
	struct al_matrix up, struct al_error *err)
{
	struct al_selection all;
	double *values;

	if (!gain)
		return true;
	all = al_select_all(gain);
	values = al_alloc(up.rows, sizeof(*values));
	bool ok = al_tensor_read_double(checkpoint, gain, &all, values, up.rows, err);
	for (size_t j = 0; ok && j < up.cols; j++)
		for (size_t i = 0; i < up.rows; i++)
			up.data[i + j * up.ld] *= values[i];
	free(values);
	return ok;
}

/* down * diag(gain) * up */
static bool read_composed(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	struct al_matrix up = {0}, down = {0};
	int64_t rank = factor->down->width;
	bool ok = al_matrix_init(&up, (size_t)rank, out.cols, err)
		&& read_heads(checkpoint, factor, rank, first, n, up, err)
		&& fold_gain(checkpoint, factor->gain, up, err)
		&& al_factor_load(checkpoint, factor->down, &down, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(down), al_view(up), 0, out, err);

	al_matrix_finish(&up);
	al_matrix_finish(&down);
	return ok;
}

bool al_factor_read(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	if (first < 0 || n < 0 || first + n > factor->heads || out.rows != (size_t)factor->rows
		|| out.cols != (size_t)(n * factor->width))
		return al_fail(err, AL_EINPUT, "heads %lld to %lld of %lld into a %zu x %zu matrix",
			(long long)first, (long long)(first + n), (long long)factor->heads,
			out.rows, out.cols);
	return factor->down ? read_composed(checkpoint, factor, first, n, out, err)
			    : read_heads(checkpoint, factor, factor->rows, first, n, out, err);
}

bool al_factor_load(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	struct al_matrix *out, struct al_error *err)
{
	if (!al_matrix_init(out, (size_t)factor->rows, (size_t)(factor->heads * factor->width),
		    err))
		return false;
	if (al_factor_read(checkpoint, factor, 0, factor->heads, *out, err))
		return true;
	al_matrix_finish(out);
	return false;
}
