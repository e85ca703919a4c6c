/* How alike heads are on tokens. */
#include "audit/likeness.h"

/* tr of C_ij^T C_ij, C the covariance of two heads' outputs: of their moment less what their means
 * make. */
static double shared(struct al_matrix moment, const double *sums, double tokens, size_t width,
	size_t i, size_t j)
{
	double squares = 0;

	for (size_t b = j * width; b < (j + 1) * width; b++)
		for (size_t a = i * width; a < (i + 1) * width; a++) {
			const double c = moment.data[a + b * moment.ld]
				- sums[a] * sums[b] / tokens;
			squares += c * c;
		}
	return squares;
}

/* out[n_heads][n_heads] */
static bool compare_outputs(const struct al_module_statistics *statistics, struct al_matrix out,
	struct al_error *err)
{
	const double tokens = al_statistics_tokens(statistics);
	AL_OWNED struct al_matrix moment = {0}, sums = {0};

	if (!al_statistics_sum(statistics, AL_STATISTIC_HEADS, AL_ALL_FOLDS, &moment, err)
		|| !al_statistics_sum(statistics, AL_STATISTIC_SUMS, AL_ALL_FOLDS, &sums, err))
		return false;
	const size_t width = moment.rows / out.rows;
	for (size_t j = 0; j < out.rows; j++)
		for (size_t i = 0; i <= j; i++)
			out.data[i + j * out.ld] = out.data[j + i * out.ld] = shared(moment,
				sums.data, tokens, width, i, j);
	return true;
}

/* Over the roots of the diagonal; 0 where a head has none. */
static bool normalize(struct al_scratch *scratch, struct al_matrix m, struct al_matrix *out,
	struct al_error *err)
{
	if (!al_take(scratch, out, m.rows, m.cols, err))
		return false;
	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < m.rows; i++) {
			const double a = m.data[i + i * m.ld], b = m.data[j + j * m.ld];
			out->data[i + j * out->ld] = a > 0 && b > 0
				? m.data[i + j * m.ld] / sqrt(a) / sqrt(b)
				: 0;
		}
	return true;
}

bool al_likeness_find(struct al_scratch *scratch, const struct al_module_statistics *statistics,
	struct al_likeness *out, struct al_error *err)
{
	const size_t n = al_statistics_heads(statistics);
	AL_SCRATCH(room);
	AL_OWNED struct al_matrix logits = {0};
	struct al_matrix outputs;

	return al_statistics_sum(statistics, AL_STATISTIC_LOGITS, AL_ALL_FOLDS, &logits, err)
		&& al_take_copy(scratch, al_view(logits), &out->logits, err)
		&& normalize(scratch, logits, &out->correlation, err)
		&& al_take(&room, &outputs, n, n, err) && compare_outputs(statistics, outputs, err)
		&& normalize(scratch, outputs, &out->outputs, err);
}

bool al_heads_alike(const struct al_module_statistics *statistics, struct al_alike_head *out,
	struct al_error *err)
{
	const size_t n = al_statistics_heads(statistics);
	AL_SCRATCH(scratch);
	struct al_likeness alike;

	if (!al_likeness_find(&scratch, statistics, &alike, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct al_alike_head){INT64_MIN, NAN, NAN};
		for (size_t j = 0; j < n; j++) {
			const double logits = alike.correlation.data[i + j * n],
				     outputs = alike.outputs.data[i + j * n];
			if (j != i
				&& (out[i].head < 0
					|| al_likeness_score(logits, outputs)
						> al_likeness_score(out[i].logits, out[i].outputs)))
				out[i] = (struct al_alike_head){(int64_t)j, logits, outputs};
		}
	}
	return true;
}
