/* Words whose rows of the head are almost equal: those that training never met stay together. */
#include "model/forward/alike.h"

/* Fewer words than LEAST_WORDS take no time. A group is found by SAMPLES rows, of which it has
 * LEAST_SAMPLES; its rows are within 1/CLOSE of one of them, measured by that one's length. */
enum { LEAST_WORDS = 1024, SAMPLES = 256, LEAST_SAMPLES = SAMPLES / 16, CLOSE = 4096 };

/* The square of the distance, or of a part of it that is beyond `most` already. */
static double distance(const float *a, const float *b, size_t n, double most)
{
	enum { AT_ONCE = 16 };
	double sum = 0;

	for (size_t first = 0; first < n && sum <= most; first += AT_ONCE)
		for (size_t i = first; i < n && i < first + AT_ONCE; i++) {
			const double difference = (double)a[i] - (double)b[i];
			sum += difference * difference;
		}
	return sum;
}

static double close_to(const float *row, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)row[i] * (double)row[i];
	return sum / CLOSE / CLOSE;
}

/* ---- the row that a group is around ---- */

static size_t count_close(struct al_view_f rows, size_t leader)
{
	const float *row = rows.data + leader * rows.ld;
	const double most = close_to(row, rows.rows);
	size_t n = 0;

	for (size_t j = 0; j < rows.cols; j++)
		n += distance(rows.data + j * rows.ld, row, rows.rows, most) <= most;
	return n;
}

/* The sample with the most close to it; NULL: there is no group. */
static const float *find_leader(struct al_view_f samples)
{
	size_t best = 0, most = 0;

	for (size_t j = 0; j < samples.cols; j++) {
		const size_t n = count_close(samples, j);
		best = n > most ? j : best;
		most = al_most(n, most);
	}
	return most >= LEAST_SAMPLES ? samples.data + best * samples.ld : NULL;
}

static bool read_samples(struct al_scratch *scratch, const struct al_head *head, size_t width,
	struct al_matrix_f *out, struct al_error *err)
{
	const struct al_network *network = head->network;

	if (!al_take_f(scratch, out, width, SAMPLES, err))
		return false;
	for (size_t j = 0; j < SAMPLES; j++) {
		AL_SCRATCH(room);
		struct al_matrix_f row;
		if (!al_weight_rows_read(&room, network, head->tensor,
			    (int64_t)j * network->vocab / SAMPLES, 1, &row, err))
			return false;
		memcpy(out->data + j * out->ld, row.data, width * sizeof(float));
	}
	return true;
}

/* ---- its words ---- */

struct gathering {
	struct al_alike *out;
	const float *leader;
	double farthest; /* of the rows from the leader, squared */
};

static bool gather(void *context, struct al_view_f w, int64_t row, struct al_error *err)
{
	struct gathering *g = context;
	const double most = close_to(g->leader, w.rows);

	(void)err;
	for (size_t j = 0; j < w.cols; j++) {
		const float *own = w.data + j * w.ld;
		const double d = distance(own, g->leader, w.rows, most);
		if (d > most)
			continue;
		g->out->is_in[(size_t)row + j] = true;
		g->out->n++;
		g->farthest = al_most(d, g->farthest);
		for (size_t i = 0; i < w.rows; i++)
			g->out->mean[i] += (double)own[i];
	}
	return true;
}

/* From the mean no row is farther than from the leader and the leader from the mean. */
static void conclude(const struct gathering *g)
{
	struct al_alike *out = g->out;
	double shift = 0;

	for (size_t i = 0; i < out->width; i++) {
		out->mean[i] /= (double)out->n;
		const double difference = out->mean[i] - (double)g->leader[i];
		shift += difference * difference;
	}
	out->spread = sqrt(g->farthest) + sqrt(shift);
}

static bool find(const struct al_head *head, struct al_alike *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix_f samples;
	struct gathering g = {.out = out};

	if (!read_samples(&scratch, head, out->width, &samples, err))
		return false;
	g.leader = find_leader(al_view_f(samples));
	if (!g.leader)
		return true;
	out->is_in = al_calloc((size_t)head->network->vocab, sizeof(*out->is_in));
	out->mean = al_calloc(out->width, sizeof(*out->mean));
	if (!al_head_each_block(head, (int64_t)out->width, gather, &g, err))
		return false;
	conclude(&g);
	return true;
}

bool al_alike_find(struct al_network *network, struct al_alike *out, struct al_error *err)
{
	const struct al_batch nothing = {.begin = (size_t[]){0}};
	AL_SCRATCH(scratch);
	struct al_head head;

	*out = (struct al_alike){0};
	if (!al_head_open(&scratch, network, &nothing, 0, &head, err))
		return false;
	out->width = (size_t)head.tensor->shape[1];
	bool ok = head.bias.data || network->logit_cap > 0 || network->logit_divisor > 1
		|| network->logit_divisor < 1 || network->vocab < LEAST_WORDS
		|| find(&head, out, err);
	if (!ok)
		al_alike_finish(out);
	return ok;
}

void al_alike_finish(struct al_alike *alike)
{
	free(alike->is_in);
	free(alike->mean);
	*alike = (struct al_alike){0};
}

/* ---- their logits ---- */

double al_alike_logit(const struct al_alike *alike, const float *hidden)
{
	double sum = 0;

	for (size_t i = 0; i < alike->width; i++)
		sum += alike->mean[i] * (double)hidden[i];
	return sum;
}

double al_alike_error(const struct al_alike *alike, const float *hidden)
{
	double squared = 0;

	for (size_t i = 0; i < alike->width; i++)
		squared += (double)hidden[i] * (double)hidden[i];
	return expm1(alike->spread * alike->spread * squared / 2);
}
