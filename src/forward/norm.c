/* Norms: x / rms(x), or (x - mean) / deviation, times a scale, plus a bias. */
#include <math.h>

#include "forward/internal.h"

void al_norm_finish(struct al_norm *norm)
{
	al_matrix_finish_f(&norm->scale);
	al_matrix_finish_f(&norm->bias);
}

void al_norm_numbers(const struct al_norm *norm, const float *scale, const float *bias, size_t n,
	const float *x, float *out)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; norm->kind == AL_NORM_LAYER && i < n; i++)
		mean += (double)x[i];
	mean /= (double)n;
	for (size_t i = 0; i < n; i++)
		sum += ((double)x[i] - mean) * ((double)x[i] - mean);
	const double factor = 1 / sqrt(sum / (double)n + norm->epsilon);
	for (size_t i = 0; i < n; i++)
		out[i] = (float)(((double)x[i] - mean) * factor) * scale[i] + (bias ? bias[i] : 0);
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
