/* Norms: x / rms(x), or (x - mean) / deviation, times a scale, plus a bias. */

#include "base/wide.h"
#include "model/forward/internal.h"

/* Several sums at once: one would wait for each addition to end. */
enum { LANES = 16 };

/* The sum of (x - mean)^power, power being 1 or 2. */
AL_LOOP double add_powers(const float *x, size_t n, double mean, int power)
{
	double sums[LANES] = {0}, sum = 0;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++) {
			const double part = (double)x[i + lane] - mean;
			sums[lane] += power == 2 ? part * part : part;
		}
	for (; i < n; i++) {
		const double part = (double)x[i] - mean;
		sum += power == 2 ? part * part : part;
	}
	for (size_t lane = 0; lane < LANES; lane++)
		sum += sums[lane];
	return sum;
}

AL_WIDEST static void normalize(const struct al_norm *norm, const float *scale, const float *bias,
	size_t n, const float *x, float *out)
{
	const double count = (double)n;
	const double mean = norm->kind == AL_NORM_LAYER ? add_powers(x, n, 0, 1) / count : 0;
	const double factor = 1 / sqrt(add_powers(x, n, mean, 2) / count + norm->epsilon);

	for (size_t i = 0; i < n; i++)
		out[i] = (float)(((double)x[i] - mean) * factor) * scale[i];
	for (size_t i = 0; bias && i < n; i++)
		out[i] += bias[i];
}

void al_norm_numbers(const struct al_norm *norm, const float *scale, const float *bias, size_t n,
	const float *x, float *out)
{
	normalize(norm, scale, bias, n, x, out);
}

struct job {
	const struct al_norm *norm;
	struct al_matrix_f x;
};

static void apply(void *context, size_t first, size_t n)
{
	const struct job *job = context;

	for (size_t j = first; j < first + n; j++) {
		float *x = job->x.data + j * job->x.ld;
		al_norm_numbers(job->norm, job->norm->scale.data, job->norm->bias.data, job->x.rows,
			x, x);
	}
}

void al_norm_apply(const struct al_norm *norm, struct al_matrix_f x)
{
	struct job job = {norm, x};

	al_each_columns(x.cols, apply, &job);
}

bool al_read_input(struct al_scratch *scratch, const struct al_norm *norm, struct al_view_f x,
	struct al_matrix_f *out, struct al_error *err)
{
	if (!al_take_f(scratch, out, x.rows, x.cols, err))
		return false;
	for (size_t j = 0; j < x.cols; j++)
		memcpy(out->data + j * out->ld, x.data + j * x.ld, x.rows * sizeof(float));
	if (al_norm_is_there(norm))
		al_norm_apply(norm, *out);
	return true;
}
