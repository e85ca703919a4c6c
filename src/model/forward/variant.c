/* A variant's pass (catalog/pass.h) as weights that the layer runs: what heads share and what each
 * makes of it becomes columns of every head, which are the same numbers. */

#include "model/forward/internal.h"

/* ---- tensors ---- */

/* As it is declared, [rows][cols], 0: as many as it has; without data where the variant has none of
 * that name here. */
static bool load_tensor(const struct al_layer *layer, const char *name, size_t rows, size_t cols,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_factor *factor = al_attention_tensor(layer->attention, name);

	*out = (struct al_matrix){0};
	if (!factor)
		return true;
	if (!al_factor_load(layer->network->view->checkpoint, factor, out, err))
		return false;
	rows = rows ? rows : out->rows;
	cols = cols ? cols : out->cols;
	return (out->rows == rows && out->cols == cols)
		|| al_fail(err, AL_EINPUT, "%s is %zu x %zu, its pass needs %zu x %zu", name,
			out->rows, out->cols, rows, cols);
}

/* The tensors of one projection; a head's own ones are [n_heads][width]. */
struct parts {
	struct al_matrix of, bias, scale, times, add;
	size_t n_heads, width;
};

static void finish_parts(struct parts *p)
{
	al_matrix_finish(&p->of);
	al_matrix_finish(&p->bias);
	al_matrix_finish(&p->scale);
	al_matrix_finish(&p->times);
	al_matrix_finish(&p->add);
}

static bool load_parts(const struct al_layer *layer, const struct al_pass_projection *how,
	struct parts *p, struct al_error *err)
{
	const size_t n = p->n_heads, width = p->width, d_model = (size_t)layer->network->d_model;

	if (!load_tensor(layer, how->of, 0, 0, &p->of, err))
		return false;
	if (!p->of.data)
		return al_fail(err, AL_EINPUT, "%s isn't stored", how->of);
	if (p->of.rows != d_model || p->of.cols % width != 0 || n % (p->of.cols / width) != 0)
		return al_fail(err, AL_EINPUT,
			"%s is %zu x %zu, expected %zu rows and a column for each group of %zu "
			"heads of width %zu",
			how->of, p->of.rows, p->of.cols, d_model, n, width);
	return load_tensor(layer, how->bias, 1, p->of.cols, &p->bias, err)
		&& load_tensor(layer, how->scale, n, width, &p->scale, err)
		&& load_tensor(layer, how->times, n, width, &p->times, err)
		&& load_tensor(layer, how->add, n, width, &p->add, err);
}

/* ---- every head's columns ---- */

static double at(const struct al_matrix *m, size_t row, size_t col, double absent)
{
	return m->data ? m->data[row + col * m->ld] : absent;
}

/* Heads are `stride` columns apart; what is between their widths stays 0. */
static bool spread(struct al_scratch *scratch, const struct parts *p, size_t stride,
	struct al_linear *out, struct al_error *err)
{
	const size_t groups = p->of.cols / p->width;

	out->op = AL_TRANSPOSED;
	if (!al_take_f(scratch, &out->weight, p->of.rows, p->n_heads * stride, err)
		|| !al_take_f(scratch, &out->bias, p->n_heads * stride, 1, err))
		return false;
	for (size_t head = 0; head < p->n_heads; head++)
		for (size_t c = 0; c < p->width; c++) {
			const size_t from = head * groups / p->n_heads * p->width + c;
			const double factor = (1 + at(&p->scale, head, c, 0))
				* at(&p->times, head, c, 1);
			float *column = out->weight.data + (head * stride + c) * out->weight.ld;
			for (size_t i = 0; i < p->of.rows; i++)
				column[i] = (float)(factor * p->of.data[i + from * p->of.ld]);
			out->bias.data[head * stride + c] = (float)(factor
					* at(&p->bias, 0, from, 0)
				+ at(&p->add, head, c, 0));
		}
	return true;
}

/* Without tensors a head's columns are those of the input. */
static bool load_heads(struct al_layer *layer, const struct al_pass_projection *how, size_t width,
	size_t stride, struct al_linear *out, struct al_error *err)
{
	struct parts p = {.n_heads = (size_t)layer->attention->n_heads, .width = width};

	if (!how->of)
		return p.n_heads * width == (size_t)layer->network->d_model
			|| al_fail(err, AL_EINPUT,
				"%zu heads of width %zu don't add up to d_model (%lld)", p.n_heads,
				width, (long long)layer->network->d_model);
	bool ok = load_parts(layer, how, &p, err) && spread(&layer->scratch, &p, stride, out, err);
	finish_parts(&p);
	return ok;
}

/* ---- scores ---- */

/* What a key's token adds to its scores is one number more of the key, which the query takes
 * once. */
static bool add_content(struct al_layer *layer, const char *name, size_t stride,
	struct al_error *err)
{
	const size_t n_heads = (size_t)layer->attention->n_heads;
	AL_OWNED struct al_matrix content = {0};
	const bool ok = load_tensor(layer, name, (size_t)layer->network->d_model, n_heads, &content,
		err);

	for (size_t head = 0; ok && content.data && head < n_heads; head++) {
		const size_t last = head * stride + stride - 1;
		for (size_t i = 0; i < content.rows; i++)
			layer->key.weight.data[i + last * layer->key.weight.ld] =
				(float)content.data[i + head * content.ld];
		layer->query.bias.data[last] = 1;
	}
	return ok;
}

/* The width of a head's queries: that of what each multiplies them by. */
static size_t score_width(const struct al_layer *layer, const char *times)
{
	const struct al_factor *factor = al_attention_tensor(layer->attention, times);

	return (size_t)(factor ? factor->width : layer->attention->d_head);
}

static bool load_scores(struct al_layer *layer, const struct al_pass *pass, struct al_error *err)
{
	struct al_attention *shape = al_new(&layer->arena, struct al_attention);
	const size_t width = score_width(layer, pass->query.times);
	const size_t stride = width + (pass->content ? 1 : 0);

	*shape = *layer->attention;
	shape->n_kv_heads = shape->n_heads;
	shape->d_head = (int64_t)stride;
	layer->shape = shape;
	return load_heads(layer, &pass->query, width, stride, &layer->query, err)
		&& load_heads(layer, &pass->key, width, stride, &layer->key, err)
		&& (!pass->content || add_content(layer, pass->content, stride, err));
}

/* ---- across heads ---- */

void al_across_finish(struct al_across *across)
{
	for (int i = 0; i < AL_N_PASS_NORMS; i++)
		al_matrix_finish(&across->norm[i]);
	al_matrix_finish(&across->weight);
	al_matrix_finish(&across->bias);
	across->how = NULL;
}

/* Features of one head's width: the heads, and the products of each two. */
static size_t n_features(const struct al_across *across)
{
	const size_t n = across->n_heads;

	return across->how->multiplies ? n + n * (n + 1) / 2 : n;
}

static bool load_across(struct al_layer *layer, const struct al_pass_across *how,
	struct al_error *err)
{
	struct al_across *across = &layer->across;

	if (!how->weight)
		return true;
	across->n_heads = (size_t)layer->attention->n_heads;
	across->width = (size_t)layer->attention->d_value;
	across->how = how;
	const size_t features = n_features(across), numbers = features * across->width;
	if (!load_tensor(layer, how->norm[0], 0, 0, &across->norm[0], err))
		return false;
	const size_t n = across->norm[0].cols;
	if (n != features && n != numbers)
		return al_fail(err, AL_EINPUT, "%s has %zu numbers, expected %zu or %zu",
			how->norm[0], n, features, numbers);
	for (int i = 1; i < AL_N_PASS_NORMS; i++)
		if (!load_tensor(layer, how->norm[i], 1, n, &across->norm[i], err))
			return false;
	return load_tensor(layer, how->weight, features, 0, &across->weight, err)
		&& load_tensor(layer, how->bias, 1, across->weight.cols, &across->bias, err);
}

/* Features of one token, [n][width], the heads first. */
static void make_features(const struct al_across *across, const float *o, double *out)
{
	const size_t n = across->n_heads, w = across->width;
	size_t to = n * w;

	for (size_t i = 0; i < n * w; i++)
		out[i] = (double)o[i];
	for (size_t a = 0; across->how->multiplies && a < n; a++)
		for (size_t b = a; b < n; b++)
			for (size_t c = 0; c < w; c++)
				out[to++] = out[a * w + c] * out[b * w + c];
}

/* PyTorch's epsilon of a batch normalization. */
#define NORM_EPSILON 1e-5

static void normalize(const struct al_across *across, double *x, size_t n)
{
	const size_t each = n / across->norm[0].cols;

	for (size_t i = 0; i < n; i++) {
		const size_t j = i / each;
		const double variance = at(&across->norm[AL_PASS_VARIANCE], 0, j, 1);
		x[i] = (x[i] - at(&across->norm[AL_PASS_MEAN], 0, j, 0))
				/ sqrt(variance + NORM_EPSILON)
				* at(&across->norm[AL_PASS_SCALE], 0, j, 1)
			+ at(&across->norm[AL_PASS_BIAS], 0, j, 0);
	}
}

static void average(double *x, size_t n, size_t width)
{
	for (size_t i = 0; i < n; i++) {
		double sum = 0;
		for (size_t c = 0; c < width; c++)
			sum += x[i * width + c];
		x[i] = sum / (double)width;
	}
}

bool al_across_apply(const struct al_across *across, struct al_view_f o, struct al_matrix_f *out,
	struct al_error *err)
{
	const size_t n = n_features(across), numbers = n * across->width;
	const size_t width = across->how->averages ? 1 : across->width;
	const size_t kept = across->weight.cols;
	AL_FREED double *x = al_alloc(numbers, sizeof(*x));

	if (!al_matrix_init_f(out, kept * width, o.cols, err))
		return false;
	for (size_t j = 0; j < o.cols; j++) {
		make_features(across, o.data + j * o.ld, x);
		normalize(across, x, numbers);
		if (across->how->averages)
			average(x, n, across->width);
		for (size_t i = 0; i < kept * width; i++) {
			double sum = at(&across->bias, 0, i / width, 0);
			for (size_t f = 0; f < n; f++)
				sum += at(&across->weight, f, i / width, 0)
					* x[f * width + i % width];
			out->data[i + j * out->ld] = (float)sum;
		}
	}
	return true;
}

/* ---- all ---- */

/* The input of W_O: the heads side by side, or a function of them. */
static size_t output_width(const struct al_layer *layer)
{
	const struct al_across *across = &layer->across;
	const size_t width = (size_t)layer->attention->d_value;

	if (!across->how)
		return (size_t)layer->attention->n_heads * width;
	return across->weight.cols * (across->how->averages ? 1 : width);
}

static bool load_output(struct al_layer *layer, const struct al_pass_projection *how,
	struct al_error *err)
{
	const size_t rows = output_width(layer), d_model = (size_t)layer->network->d_model;
	AL_OWNED struct al_matrix of = {0}, bias = {0};
	bool ok = load_tensor(layer, how->of, rows, d_model, &of, err)
		&& load_tensor(layer, how->bias, 1, d_model, &bias, err)
		&& (of.data || al_fail(err, AL_EINPUT, "%s isn't stored", how->of))
		&& al_take_f(&layer->scratch, &layer->output.weight, of.rows, of.cols, err)
		&& al_narrow(al_view(of), layer->output.weight, err);

	layer->output.op = AL_TRANSPOSED;
	if (ok && bias.data)
		ok = al_take_f(&layer->scratch, &layer->output.bias, d_model, 1, err);
	for (size_t i = 0; ok && bias.data && i < d_model; i++)
		layer->output.bias.data[i] = (float)bias.data[i * bias.ld];
	return ok;
}

bool al_variant_load(struct al_layer *layer, struct al_error *err)
{
	const struct al_pass *pass = layer->attention->variant->pass;
	const size_t width = (size_t)layer->attention->d_value;

	return (load_scores(layer, pass, err)
		       && load_heads(layer, &pass->value, width, width, &layer->value, err)
		       && load_across(layer, &pass->across, err)
		       && load_output(layer, &pass->output, err))
		|| al_in(err, "variant %s", layer->attention->variant->name);
}
