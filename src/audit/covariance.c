/* Weights as the inputs use them. */
#include "audit/covariance.h"

#include "audit/rotary.h"
#include "base/file.h"
#include "formats/npy.h"

/* ---- the root ---- */

static bool check_symmetric(struct al_matrix g, double tolerance, struct al_error *err)
{
	double largest = 0;

	for (size_t i = 0; i < g.rows; i++)
		largest = fmax(largest, fabs(g.data[i + i * g.ld]));
	for (size_t j = 0; j < g.cols; j++)
		for (size_t i = 0; i < j; i++)
			if (!(fabs(g.data[i + j * g.ld] - g.data[j + i * g.ld])
				    <= tolerance * largest))
				return al_fail(err, AL_EINPUT,
					"not symmetric: [%zu, %zu] is %g, but [%zu, %zu] is %g", i,
					j, g.data[i + j * g.ld], j, i, g.data[j + i * g.ld]);
	return true;
}

/* Columns times the fourth roots: V s^1/4, whose Gram matrix V s^1/2 V^T is the root. */
static bool scale_vectors(struct al_matrix vectors, const double *values, double tolerance,
	struct al_error *err)
{
	double least = values[vectors.cols - 1], largest = values[0];

	if (least < -tolerance * largest)
		return al_fail(err, AL_EINPUT,
			"not positive semidefinite: eigenvalues from %g to %g", least, largest);
	for (size_t j = 0; j < vectors.cols; j++) {
		const double scale = sqrt(sqrt(fmax(values[j], 0)));
		for (size_t i = 0; i < vectors.rows; i++)
			vectors.data[i + j * vectors.ld] *= scale;
	}
	return true;
}

/* A wrong matrix is the user's to mend: no module is left out for it, as for weights. */
static bool check_finite(struct al_view g, struct al_error *err)
{
	const int64_t n = al_matrix_count_not_finite(g);

	return n == 0
		|| al_fail(err, AL_EINPUT, "%lld of %zu numbers are NaN or infinite", (long long)n,
			g.rows * g.cols);
}

bool al_symmetric_root(struct al_matrix g, double unit, struct al_error *err)
{
	const double tolerance = fmin(4 * unit * (double)g.rows, 1e-2);
	AL_SCRATCH(scratch);
	struct al_matrix vectors, values;

	if (g.rows != g.cols || g.rows == 0)
		return al_fail(err, AL_EINPUT, "%zu x %zu, expected a square matrix", g.rows,
			g.cols);
	return check_finite(al_view(g), err) && check_symmetric(g, tolerance, err)
		&& al_take(&scratch, &values, g.rows, 1, err)
		&& al_take_copy(&scratch, al_view(g), &vectors, err)
		&& al_eigenvectors(vectors, values.data, err)
		&& scale_vectors(vectors, values.data, tolerance, err)
		&& al_gram(AL_PLAIN, al_view(vectors), g, err);
}

/* ---- files ---- */

/* In place; a row of mean squares. */
static bool diagonal_root(struct al_matrix row, struct al_error *err)
{
	for (size_t i = 0; i < row.cols; i++) {
		double *square = &row.data[i * row.ld];
		if (*square < 0)
			return al_fail(err, AL_EINPUT,
				"[%zu] is %g; a mean square can't be negative", i, *square);
		*square = sqrt(*square);
	}
	return true;
}

/* Moments are often summed in single precision, whatever they are stored in. */
static bool find_root(struct al_matrix moment, double unit, struct al_error *err)
{
	unit = fmax(unit, 0x1p-24);
	return moment.rows == 1 && moment.cols > 1 ? diagonal_root(moment, err)
						   : al_symmetric_root(moment, unit, err);
}

static bool read_root(struct al_matrix *out, const char *path, struct al_error *err)
{
	struct al_npy npy;

	if (!al_npy_read(&npy, path, err))
		return false;
	struct al_view all = {npy.data, npy.rows, npy.cols, npy.rows};
	bool ok = al_matrix_init(out, npy.rows, npy.cols, err) && check_finite(all, err)
		&& al_copy(all, *out, err) && find_root(*out, npy.dtype->epsilon / 2, err);
	al_npy_finish(&npy);
	if (!ok) {
		al_matrix_finish(out);
		return al_in(err, "%s", path);
	}
	return true;
}

static bool is_there(const char *path)
{
	return al_path_kind(path) != AL_PATH_NONE;
}

static bool is_folder(const char *path)
{
	return al_path_kind(path) == AL_PATH_FOLDER;
}

/* A file that is no .npy file, or a folder with one. */
static bool is_calibration(const char *path)
{
	AL_TEXT(file);

	if (!is_folder(path))
		return is_there(path) && !al_file_begins(path, al_npy_magic);
	al_text_addf(&file, "%s/calibration.safetensors", path);
	return is_there(file.data);
}

bool al_covariance_open(struct al_covariance *covariance, const char *path,
	const struct al_checkpoint *checkpoint, const struct al_attention *const *modules, size_t n,
	struct al_error *err)
{
	*covariance = (struct al_covariance){.path = path, .is_folder = is_folder(path)};
	if (al_imatrix_is(path))
		return al_imatrix_open(&covariance->imatrix, path, err);
	if (is_calibration(path))
		return al_calibration_read_for(&covariance->calibration, path, checkpoint, modules,
			n, err);
	return covariance->is_folder || read_root(&covariance->root, path, err);
}

const struct al_calibration *al_covariance_calibration(const struct al_covariance *covariance)
{
	return covariance && covariance->calibration.n_modules > 0 ? &covariance->calibration
								   : NULL;
}

const struct al_imatrix *al_covariance_imatrix(const struct al_covariance *covariance)
{
	return covariance && covariance->imatrix.n_entries > 0 ? &covariance->imatrix : NULL;
}

void al_covariance_finish(struct al_covariance *covariance)
{
	al_matrix_finish(&covariance->root);
	if (covariance->calibration.n_modules > 0)
		al_calibration_finish(&covariance->calibration);
	if (covariance->imatrix.path)
		al_imatrix_finish(&covariance->imatrix);
	*covariance = (struct al_covariance){0};
}

/* ---- weights ---- */

/* A module's projections and their biases, which those of [x, 1] take in. */
struct sides {
	const struct al_attention *attention;
	struct al_matrix *weights, *biases;
};

/* The matrix that [x, 1] is multiplied by: the weights, and below them their bias or zeros. */
static bool put_together(struct al_matrix weights, struct al_matrix bias, struct al_matrix *out,
	struct al_error *err)
{
	if (!al_matrix_init(out, weights.rows + 1, weights.cols, err))
		return false;
	for (size_t j = 0; bias.data && j < bias.cols; j++)
		out->data[weights.rows + j * out->ld] = bias.data[j * bias.ld];
	return al_copy(al_view(weights), al_part(*out, 0, 0, weights.rows, weights.cols), err);
}

/* Takes off what a constant in the inputs makes: each column's part along the root's last one. What
 * is left has the Gram matrix W^T (E[x x^T] - E[x] E[x]^T) W. */
static void take_off_constant(struct al_matrix root, struct al_matrix product)
{
	const double *constant = root.data + (root.cols - 1) * root.ld;
	double squared = 0;

	for (size_t i = 0; i < root.rows; i++)
		squared += constant[i] * constant[i];
	for (size_t j = 0; squared > 0 && j < product.cols; j++) {
		double *column = product.data + j * product.ld, sum = 0;
		for (size_t i = 0; i < root.rows; i++)
			sum += constant[i] * column[i];
		for (size_t i = 0; i < root.rows; i++)
			column[i] -= constant[i] * sum / squared;
	}
}

static bool multiply(struct al_matrix root, struct al_view weights, struct al_matrix *out,
	struct al_error *err)
{
	return al_matrix_init(out, root.rows, weights.cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(root), weights, 0, *out, err);
}

/* A diagonal scales rows. */
static void scale_rows(struct al_matrix root, struct al_matrix weights)
{
	for (size_t j = 0; j < weights.cols; j++)
		for (size_t i = 0; i < weights.rows; i++)
			weights.data[i + j * weights.ld] *= root.data[i * root.ld];
}

/* Keys that aren't rotated lose the mean of their inputs, which a softmax doesn't see. */
static bool change_side(struct al_matrix root, const struct sides *s, int p, struct al_error *err)
{
	AL_OWNED struct al_matrix product = {0}, all = {0};
	struct al_matrix *weights = &s->weights[p];
	bool ok;

	if (root.rows == 1 && root.cols == weights->rows) {
		scale_rows(root, *weights);
		return true;
	}
	if (root.rows != weights->rows && root.rows != weights->rows + 1)
		return al_fail(err, AL_EINPUT,
			"found %zu x %zu; the layer's inputs need %zu x %zu (with [x, 1]: %zu x "
			"%zu) or %zu mean squares",
			root.rows, root.cols, weights->rows, weights->rows, weights->rows + 1,
			weights->rows + 1, weights->rows);
	if (root.rows == weights->rows)
		ok = multiply(root, al_view(*weights), &product, err);
	else {
		ok = put_together(*weights, s->biases[p], &all, err)
			&& multiply(root, al_view(all), &product, err);
		if (ok && p == AL_KEY && !al_has_offset(s->attention))
			take_off_constant(root, product);
		if (ok)
			al_matrix_finish(&s->biases[p]);
	}
	if (!ok)
		return false;
	al_matrix_finish(weights);
	*weights = product;
	product = (struct al_matrix){0};
	return true;
}

/* Projections from `first` to `last`, as far as the module has them. */
static bool change_sides(struct al_matrix root, const struct sides *s, int first, int last,
	struct al_error *err)
{
	for (int p = first; p <= last; p++)
		if (s->weights[p].data && !change_side(root, s, p, err))
			return false;
	return true;
}

static bool apply_file(const struct al_covariance *covariance, const char *ending,
	const struct sides *s, int first, int last, struct al_error *err)
{
	AL_OWNED struct al_matrix root = {0};
	AL_TEXT(path);

	al_text_addf(&path, "%s/%s%s", covariance->path, s->attention->name, ending);
	return read_root(&root, path.data, err)
		&& (change_sides(root, s, first, last, err) || al_in(err, "%s", path.data));
}

/* [x, 1]^T [x, 1], its sums over the tokens. */
static bool apply_calibration(const struct al_calibration *calibration, const struct sides *s,
	struct al_error *err)
{
	const struct al_module_statistics *statistics;
	AL_OWNED struct al_matrix root = {0};

	if (!al_calibration_find(calibration, s->attention->name, &statistics, err))
		return false;
	bool ok = al_statistics_sum(statistics, AL_STATISTIC_INPUTS, AL_ALL_FOLDS, &root, err);
	for (size_t i = 0; ok && i < root.rows * root.cols; i++)
		root.data[i] /= al_statistics_tokens(statistics);
	ok = ok && al_symmetric_root(root, AL_CALIBRATION_UNIT, err)
		&& change_sides(root, s, AL_QUERY, AL_VALUE, err);
	return ok || al_in(err, "%s", calibration->path);
}

/* With v = E[x^2] - E[x]^2 the moment of [x, 1] is F^T F, F = [diag(v)^1/2, 0; E[x], 1], where
 * different inputs count as uncorrelated. The last row is what a constant makes. */
static bool apply_means(const struct al_diagonal *d, const struct sides *s, int p, bool keeps_mean,
	struct al_error *err)
{
	struct al_matrix *weights = &s->weights[p], *bias = &s->biases[p], product = {0};

	if (!al_matrix_init(&product, weights->rows + 1, weights->cols, err))
		return false;
	for (size_t j = 0; j < weights->cols; j++) {
		const double *from = weights->data + j * weights->ld;
		double *to = product.data + j * product.ld,
		       mean = bias->data ? bias->data[j * bias->ld] : 0;
		for (size_t i = 0; i < d->n; i++) {
			to[i] = sqrt(fmax(0, d->squares[i] - d->means[i] * d->means[i])) * from[i];
			mean += d->means[i] * from[i];
		}
		to[d->n] = keeps_mean ? mean : 0;
	}
	al_matrix_finish(bias);
	al_matrix_finish(weights);
	*weights = product;
	return true;
}

static bool apply_squares(const struct al_diagonal *d, struct al_matrix weights)
{
	for (size_t j = 0; j < weights.cols; j++)
		for (size_t i = 0; i < d->n; i++)
			weights.data[i + j * weights.ld] *= sqrt(d->squares[i]);
	return true;
}

static bool apply_imatrix(const struct al_imatrix *imatrix, const struct sides *s,
	struct al_error *err)
{
	bool ok = true;

	for (int p = AL_QUERY; ok && p <= AL_VALUE; p++) {
		const bool keeps_mean = p != AL_KEY || al_has_offset(s->attention);
		struct al_diagonal d;
		if (!s->weights[p].data)
			continue;
		ok = al_imatrix_read(imatrix, s->attention, p, &d, err);
		if (ok)
			ok = d.means ? apply_means(&d, s, p, keeps_mean, err)
				     : apply_squares(&d, s->weights[p]);
		al_diagonal_finish(&d);
	}
	return ok;
}

bool al_covariance_apply(const struct al_covariance *covariance,
	const struct al_attention *attention, struct al_matrix weights[AL_N_PROJECTIONS],
	struct al_matrix biases[AL_N_PROJECTIONS], struct al_error *err)
{
	const struct sides s = {attention, weights, biases};

	if (al_covariance_calibration(covariance))
		return apply_calibration(&covariance->calibration, &s, err);
	if (al_covariance_imatrix(covariance))
		return apply_imatrix(&covariance->imatrix, &s, err);
	if (!covariance->is_folder && attention->is_cross)
		return al_fail(err, AL_EINPUT,
			"%s: cross attention has two inputs; give a folder with %s.npy and "
			"%s.memory.npy",
			covariance->path, attention->name, attention->name);
	if (!covariance->is_folder)
		return change_sides(covariance->root, &s, AL_QUERY, AL_VALUE, err)
			|| al_in(err, "%s", covariance->path);
	if (!attention->is_cross)
		return apply_file(covariance, ".npy", &s, AL_QUERY, AL_VALUE, err);
	return apply_file(covariance, ".npy", &s, AL_QUERY, AL_QUERY, err)
		&& apply_file(covariance, ".memory.npy", &s, AL_KEY, AL_VALUE, err);
}
