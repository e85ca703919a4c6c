/* Positions as what is added to scores: ALiBi (Press et al. 2021, arXiv:2108.12409; slopes of heads
 * that are no power of two as in BLOOM and MPT) and T5's relative positions (Raffel et al. 2020,
 * arXiv:1910.10683; transformers, modeling_t5.py, _relative_position_bucket). */
#include "model/forward/internal.h"

/* ---- ALiBi ---- */

/* With p the largest power of two, the first p heads have those of p heads, the others every second
 * of those of 2p. */
static double slope(double most, size_t head, size_t n_heads)
{
	size_t power = 1;

	while (2 * power <= n_heads)
		power *= 2;
	return head < power ? exp2(-most * (double)(head + 1) / (double)power)
			    : exp2(-most * (double)(2 * (head - power) + 1) / (double)(2 * power));
}

/* ---- relative positions ---- */

/* A bucket for each distance up to half of them, then wider ones up to `farthest`; an encoder has
 * half of all for the keys behind the query. In float, as the reference implementation counts. */
static size_t bucket(int64_t distance, size_t n_buckets, size_t farthest, bool is_causal)
{
	const size_t n = is_causal ? n_buckets : n_buckets / 2, exact = n / 2;
	const size_t first = distance > 0 && !is_causal ? n : 0;
	const size_t far = (size_t)llabs(distance);

	if (far < exact)
		return first + far;
	const float ratio = logf((float)far / (float)exact)
		/ (float)log((double)farthest / (double)exact);
	const size_t wide = exact + (size_t)(ratio * (float)(n - exact));
	return first + (wide < n ? wide : n - 1);
}

static bool check_buckets(const struct al_tensor *tensor, size_t farthest, bool is_causal,
	struct al_error *err)
{
	const int64_t n_buckets = tensor->shape[0] / (is_causal ? 1 : 2);

	return (n_buckets >= 2 && (int64_t)farthest > n_buckets / 2)
		|| al_fail(err, AL_EINPUT,
			"tensor %s has %lld buckets, too few or too many for distances to %zu",
			tensor->name, (long long)tensor->shape[0], farthest);
}

static bool make_table(struct al_position_bias *bias, const struct al_reading *reading,
	const struct al_tensor *tensor, size_t n_heads, struct al_error *err)
{
	const struct al_network *network = reading->network;
	const bool is_causal = network->how->kind == AL_FORWARD_DECODER;
	const size_t farthest = (size_t)network->relative_distance, n = 2 * farthest + 1;
	AL_SCRATCH(scratch);
	struct al_matrix_f rows; /* [n_heads][buckets] */

	if (!check_buckets(tensor, farthest, is_causal, err)
		|| !al_weight_rows_read(&scratch, network, tensor, 0, tensor->shape[0], &rows, err))
		return false;
	bias->farthest = farthest;
	bias->table = al_new_array(reading->arena, float, n_heads *n);
	for (size_t i = 0; i < n; i++) {
		const size_t at = bucket((int64_t)i - (int64_t)farthest, rows.cols, farthest,
			is_causal);
		for (size_t head = 0; head < n_heads; head++)
			bias->table[head * n + i] = rows.data[head + at * rows.ld];
	}
	return true;
}

/* ---- both ---- */

bool al_position_bias_load(struct al_position_bias *bias, const struct al_reading *reading,
	size_t n_heads, struct al_error *err)
{
	const struct al_tensor *tensor;

	if (reading->network->alibi > 0)
		bias->slopes = al_new_array(reading->arena, double, n_heads);
	for (size_t i = 0; bias->slopes && i < n_heads; i++)
		bias->slopes[i] = slope(reading->network->alibi, i, n_heads);
	return al_matrix_resolve(reading, AL_FORWARD_RELATIVE, 0, (int64_t)n_heads, &tensor, err)
		&& (!tensor || make_table(bias, reading, tensor, n_heads, err));
}

void al_position_bias_add(const struct al_position_bias *bias, size_t head, size_t query,
	size_t first_key, size_t n, float *scores)
{
	const int64_t first = (int64_t)first_key - (int64_t)query;
	const int64_t farthest = (int64_t)bias->farthest;

	for (size_t i = 0; bias->slopes && i < n; i++)
		scores[i] += (float)(bias->slopes[head] * (double)(first + (int64_t)i));
	for (size_t i = 0; bias->table && i < n; i++) {
		const int64_t distance = first + (int64_t)i;
		const int64_t held = al_most(-farthest, al_least(farthest, distance));
		scores[i] += bias->table[(int64_t)head * (2 * farthest + 1) + held + farthest];
	}
}
