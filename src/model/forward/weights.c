/* A layer's weights: which stored tensor a name of "forward" means, read as float32. */

#include "model/forward/internal.h"

/* ---- names ---- */

static bool holds(const struct al_reading *reading, const struct al_formula *when, bool *out,
	struct al_error *err)
{
	struct al_iteration iteration = reading->iteration;
	const struct al_scope scope = al_iteration_scope(&iteration);

	*out = true;
	return !when || al_formula_holds(when, &scope, out, err);
}

/* A family file's entry of a name under these settings. */
struct listed {
	bool is_there, is_optional;
	enum al_order order;
	const char *tied_to;
};

static bool find_tensor(const struct al_reading *reading, const char *name, struct listed *out,
	struct al_error *err)
{
	const struct al_family *family = reading->network->view->family;

	for (size_t i = 0; !out->is_there && i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		if (strcmp(tensor->entry.name, name) != 0)
			continue;
		if (!holds(reading, tensor->entry.when, &out->is_there, err))
			return false;
		out->order = tensor->order;
		out->is_optional = tensor->is_optional;
		out->tied_to = tensor->tied_to;
	}
	return true;
}

static bool find_stored(const struct al_reading *reading, const char *name, struct listed *out,
	struct al_error *err)
{
	const struct al_family_module *module = &reading->network->view->family->modules[0];

	for (size_t i = 0; !out->is_there && i < module->n_stored; i++) {
		const struct al_stored *stored = &module->stored[i];
		if (strcmp(stored->name, name) != 0)
			continue;
		if (!holds(reading, stored->when, &out->is_there, err))
			return false;
		out->order = stored->order;
		out->is_optional = stored->is_optional;
	}
	return true;
}

/* The stored tensor that a name means; NULL where its "when" doesn't hold, or no name is
 * given. `what` as in "forward": what it is tied to is followed. */
static bool tensor_resolve(const struct al_reading *reading, const char *name,
	const struct al_tensor **out, enum al_order *order, struct al_error *err)
{
	const struct al_model_view *view = reading->network->view;
	struct listed listed = {0};

	*out = NULL;
	if (!name)
		return true;
	if (!find_tensor(reading, name, &listed, err) || !find_stored(reading, name, &listed, err))
		return false;
	if (!listed.is_there)
		return true;
	if (listed.tied_to)
		return tensor_resolve(reading, listed.tied_to, out, order, err);
	const char *full = al_iteration_name(&reading->iteration, reading->arena, name);
	*order = listed.order;
	*out = al_model_view_find(view, full);
	return *out || listed.is_optional
		|| al_fail(err, AL_EINPUT, "%s: tensor %s%s is missing", view->checkpoint->path,
			view->prefix, full);
}

/* The weight and bias of a part of the model; empty names if there are none. */
static bool find_names(const struct al_reading *reading, enum al_forward_tensor what,
	struct al_forward_names *out, struct al_error *err)
{
	const struct al_forward_names *names = &reading->network->how->tensors[what];
	bool is_there;

	*out = *names;
	if (!holds(reading, names->when, &is_there, err))
		return false;
	if (!is_there)
		*out = (struct al_forward_names){.weight = names->otherwise,
			.bias = names->otherwise_bias};
	return true;
}

/* One expert's part, stored apart, of a tensor that the family stacks; NULL: none is. */
static const struct al_tensor *find_apart(const struct al_reading *reading, const char *name,
	size_t part, size_t *n_parts)
{
	const struct al_family *family = reading->network->view->family;
	const struct al_family_tensor *tensor = NULL;

	for (size_t i = 0; name && reading->n_stacked > 0 && i < family->n_tensors; i++)
		if (strcmp(family->tensors[i].entry.name, name) == 0)
			tensor = &family->tensors[i];
	if (!tensor || part >= tensor->n_each)
		return NULL;
	const char *dot = strrchr(name, '.');
	const char *full = al_format(reading->arena, "%.*s%s", dot ? (int)(dot + 1 - name) : 0,
		name, tensor->each[part]);
	*n_parts = tensor->n_each;
	return al_model_view_find(reading->network->view,
		al_iteration_name(&reading->iteration, reading->arena, full));
}

/* ---- numbers ---- */

static bool check_tensor(const struct al_reading *reading, const struct al_tensor *tensor,
	const int64_t *shape, size_t n_dims, struct al_error *err)
{
	const char *path = reading->network->view->checkpoint->path;

	if (!al_tensor_is_shaped(tensor, shape, n_dims))
		return al_fail(err, AL_EINPUT, "%s: tensor %s is %s, expected %s", path,
			tensor->name, al_shape_text(reading->arena, tensor->shape, tensor->n_dims),
			al_shape_text(reading->arena, shape, n_dims));
	return (tensor->dtype->to_float && !tensor->dtype->needs_scale)
		|| al_fail(err, AL_EINPUT,
			"%s: tensor %s has dtype %s, which the forward pass can't read", path,
			tensor->name, al_dtype_title(tensor->dtype));
}

static int64_t count_not_finite(struct al_view_f a)
{
	int64_t n = 0;

	if (al_is_finite_f(a))
		return 0;
	for (size_t j = 0; j < a.cols; j++)
		for (size_t i = 0; i < a.rows; i++)
			n += isfinite(a.data[i + j * a.ld]) ? 0 : 1;
	return n;
}

bool al_weight_rows_read(struct al_scratch *scratch, const struct al_network *network,
	const struct al_tensor *tensor, int64_t first, int64_t n, struct al_matrix_f *out,
	struct al_error *err)
{
	const int64_t cols = tensor->n_dims ? tensor->shape[tensor->n_dims - 1] : 1;
	const struct al_selection rows = al_select_block(tensor, first, n, 0, cols);

	if (!al_take_f(scratch, out, (size_t)cols, (size_t)n, err))
		return al_in(err, "tensor %s", tensor->name);
	return al_tensor_read_float(network->view->checkpoint, tensor, &rows, out->data, out->ld,
		       err)
		&& al_check_not_finite(count_not_finite(al_view_f(*out)), n * cols, tensor->name,
			err);
}

/* Rows of a tensor that is one expert's, or that of all experts, [n_stacked] before its shape. */
static bool read_rows(const struct al_reading *reading, const char *name,
	const struct al_tensor *tensor, const int64_t *shape, size_t n_dims,
	struct al_matrix_f *out, struct al_error *err)
{
	const bool is_stacked = reading->n_stacked > 0 && !strstr(name, "{expert}");
	const int64_t stacked[3] = {reading->n_stacked, shape[0], n_dims == 2 ? shape[1] : 0};
	const int64_t n_rows = n_dims == 2 ? shape[0] : 1;

	return (is_stacked ? check_tensor(reading, tensor, stacked, n_dims + 1, err)
			   : check_tensor(reading, tensor, shape, n_dims, err))
		&& al_weight_rows_read(reading->scratch, reading->network, tensor,
			is_stacked ? reading->expert * n_rows : 0, n_rows, out, err);
}

bool al_vector_read(const struct al_reading *reading, const char *name, int64_t n,
	struct al_matrix_f *out, struct al_error *err)
{
	const struct al_tensor *tensor;
	enum al_order order;

	if (!tensor_resolve(reading, name, &tensor, &order, err))
		return false;
	const int64_t shape[2] = {1, n};
	const size_t n_dims = tensor && tensor->n_dims == 2 && reading->n_stacked == 0 ? 2 : 1;
	return !tensor || read_rows(reading, name, tensor, shape + 2 - n_dims, n_dims, out, err);
}

/* ---- matrices ---- */

/* Parts of an expert's matrix, one below the other. */
static bool read_apart(const struct al_reading *reading, const char *name, int64_t rows,
	int64_t cols, struct al_linear *out, struct al_error *err)
{
	size_t n = 1;

	out->op = AL_TRANSPOSED;
	if (!al_take_f(reading->scratch, &out->weight, (size_t)cols, (size_t)rows, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct al_tensor *tensor = find_apart(reading, name, i, &n);
		const int64_t shape[2] = {rows / (int64_t)n, cols};
		AL_SCRATCH(scratch);
		struct al_matrix_f part;
		if (!tensor)
			return al_fail(err, AL_EINPUT, "an expert's part %zu of %s is missing", i,
				name);
		if (!check_tensor(reading, tensor, shape, 2, err)
			|| !al_weight_rows_read(&scratch, reading->network, tensor, 0, shape[0],
				&part, err))
			return false;
		for (size_t j = 0; j < part.cols; j++)
			memcpy(out->weight.data + (i * part.cols + j) * out->weight.ld,
				part.data + j * part.ld, part.rows * sizeof(float));
	}
	return true;
}

bool al_linear_read(const struct al_reading *reading, enum al_forward_tensor what, int64_t rows,
	int64_t cols, struct al_linear *out, struct al_error *err)
{
	struct al_forward_names names;
	const struct al_tensor *tensor;
	enum al_order order;
	size_t n_parts;

	if (!find_names(reading, what, &names, err))
		return false;
	if (find_apart(reading, names.weight, 0, &n_parts))
		return read_apart(reading, names.weight, rows, cols, out, err);
	if (!tensor_resolve(reading, names.weight, &tensor, &order, err))
		return false;
	if (!tensor)
		return true;
	const bool is_out_in = order == AL_ORDER_OUT_IN;
	const int64_t shape[2] = {is_out_in ? rows : cols, is_out_in ? cols : rows};
	const size_t is_row = is_out_in && rows == 1
		&& tensor->n_dims == 1; /* [cols] is [1, cols] */
	out->op = is_out_in ? AL_TRANSPOSED : AL_PLAIN;
	return read_rows(reading, names.weight, tensor, shape + is_row, 2 - is_row, &out->weight,
		       err)
		&& al_vector_read(reading, names.bias, rows, &out->bias, err);
}

bool al_input_width(const struct al_reading *reading, enum al_forward_tensor what, int64_t *out,
	struct al_error *err)
{
	struct al_forward_names names;
	const struct al_tensor *tensor;
	enum al_order order = AL_ORDER_OUT_IN;
	size_t n_parts;

	*out = 0;
	if (!find_names(reading, what, &names, err))
		return false;
	tensor = find_apart(reading, names.weight, 0, &n_parts);
	if (!tensor && !tensor_resolve(reading, names.weight, &tensor, &order, err))
		return false;
	if (!tensor)
		return true;
	if (tensor->n_dims < 2)
		return al_fail(err, AL_EINPUT, "%s: tensor %s has %zu dimensions, expected two",
			reading->network->view->checkpoint->path, tensor->name, tensor->n_dims);
	*out = tensor->shape[tensor->n_dims - (order == AL_ORDER_OUT_IN ? 1 : 2)];
	return true;
}

bool al_matrix_resolve(const struct al_reading *reading, enum al_forward_tensor what, int64_t rows,
	int64_t cols, const struct al_tensor **out, struct al_error *err)
{
	struct al_forward_names names;
	enum al_order order = AL_ORDER_OUT_IN;

	if (!find_names(reading, what, &names, err)
		|| !tensor_resolve(reading, names.weight, out, &order, err))
		return false;
	if (!*out)
		return true;
	const int64_t shape[2] = {rows || (*out)->n_dims < 1 ? rows : (*out)->shape[0],
		cols || (*out)->n_dims < 2 ? cols : (*out)->shape[1]};
	return check_tensor(reading, *out, shape, 2, err);
}

struct bias {
	const float *numbers;
	struct al_matrix_f to;
};

static void fill_columns(void *context, size_t first, size_t n)
{
	const struct bias *bias = context;

	for (size_t j = first; j < first + n; j++)
		memcpy(bias->to.data + j * bias->to.ld, bias->numbers,
			bias->to.rows * sizeof(float));
}

/* A product that is added to the bias costs what one that is added to 0 does. */
bool al_linear_apply(const struct al_linear *linear, struct al_pass_place place, struct al_view_f x,
	struct al_matrix_f y, struct al_error *err)
{
	struct bias bias = {linear->bias.data, y};

	if (bias.numbers)
		al_each_columns(y.cols, fill_columns, &bias);
	return al_multiply(place, linear->op, 1, al_view_f(linear->weight), x, bias.numbers != NULL,
		y, err);
}

/* ---- norms ---- */

static bool read_ones(const struct al_reading *reading, int64_t n, struct al_matrix_f *out,
	struct al_error *err)
{
	if (!al_take_f(reading->scratch, out, (size_t)n, 1, err))
		return false;
	for (size_t i = 0; i < out->rows; i++)
		out->data[i] = 1;
	return true;
}

bool al_norm_read(const struct al_reading *reading, enum al_forward_tensor what, int64_t n,
	struct al_norm *out, struct al_error *err)
{
	const struct al_network *network = reading->network;
	struct al_forward_names names;

	*out = (struct al_norm){.kind = network->how->norm, .epsilon = network->epsilon};
	if (!find_names(reading, what, &names, err))
		return false;
	if (!names.weight)
		return true;
	if (!*names.weight)
		return read_ones(reading, n, &out->scale, err);
	if (!al_vector_read(reading, names.weight, n, &out->scale, err)
		|| !al_vector_read(reading, names.bias, n, &out->bias, err))
		return false;
	for (size_t i = 0; network->how->has_unit_offset && i < out->scale.rows; i++)
		out->scale.data[i] += 1;
	return true;
}
