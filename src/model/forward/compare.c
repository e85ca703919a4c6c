/* Two models' next tokens side by side. Heads are read once, in blocks of rows; for each token
 * the sums over what has been read are relative to the largest logit so far. */

#include "model/forward/internal.h"

/* One token: the largest logits, sums of exponentials relative to them, and the first model's
 * sum of e^a (a - b). */
struct running {
	float most[2];
	int32_t best[2];
	double sums[2], targets[2], weighed;
};

struct comparing {
	const struct al_head *head;
	const struct al_head *other; /* the second model's own; NULL: both have one */
	struct al_view_f hidden[2];
	const int32_t *targets;
	struct running *running; /* [tokens] */
};

static void raise(struct running *r, int model, const float *x, size_t n, int64_t row)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = x[i] > x[best] ? i : best;
	if (!(x[best] > r->most[model]))
		return;
	const double scale = exp((double)r->most[model] - (double)x[best]);
	r->sums[model] *= scale;
	if (model == 0)
		r->weighed *= scale;
	r->most[model] = x[best];
	r->best[model] = (int32_t)(row + (int64_t)best);
}

static void add_token(void *context, float *const x[2], size_t n, int64_t row, size_t token)
{
	const struct comparing *c = context;
	const float *a = x[0], *b = x[1];
	struct running *r = &c->running[token];
	const int64_t target = c->targets[token] - row;

	raise(r, 0, a, n, row);
	raise(r, 1, b, n, row);
	for (size_t i = 0; i < n; i++) {
		const double e = (double)expf(a[i] - r->most[0]);
		r->sums[0] += e;
		r->weighed += e * ((double)a[i] - (double)b[i]);
		r->sums[1] += (double)expf(b[i] - r->most[1]);
	}
	if (target >= 0 && target < (int64_t)n) {
		r->targets[0] = (double)a[target];
		r->targets[1] = (double)b[target];
	}
}

static bool add_block(void *context, struct al_view_f w, int64_t row, struct al_error *err)
{
	struct comparing *c = context;
	AL_SCRATCH(scratch);
	struct al_matrix_f other;
	struct al_view_f both[2] = {w, w};

	if (c->other) {
		if (!al_weight_rows_read(&scratch, c->other->network, c->other->tensor, row,
			    (int64_t)w.cols, &other, err))
			return false;
		both[1] = al_view_f(other);
	}
	return al_head_see_block(c->head, both, row, c->hidden, 2, add_token, c, err);
}

static void give(const struct running *r, int32_t target, struct al_comparison *out)
{
	double logs[2];

	for (int model = 0; model < 2; model++) {
		logs[model] = (double)r->most[model] + log(r->sums[model]);
		out->losses[model] = target < 0 ? 0 : logs[model] - r->targets[model];
	}
	/* sum p (log p - log q) */
	out->divergence = fmax(0, r->weighed / r->sums[0] - logs[0] + logs[1]);
	out->agree = r->best[0] == r->best[1];
}

bool al_network_compare(struct al_network *network, struct al_network *other,
	const struct al_batch *batch, struct al_view_f a, struct al_view_f b,
	const int32_t *targets, struct al_comparison *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_head head, own;
	struct comparing c = {&head, other ? &own : NULL, {a, b}, targets,
		al_take_array(&scratch, a.cols, sizeof(*c.running), err)};

	if (!c.running || !al_head_open(&scratch, network, batch, a.rows, &head, err)
		|| (other && !al_head_open(&scratch, other, batch, b.rows, &own, err)))
		return false;
	for (size_t i = 0; i < a.cols; i++)
		c.running[i] = (struct running){.most = {-INFINITY, -INFINITY}};
	if (!al_head_each_block(&head, (int64_t)a.rows, add_block, &c, err))
		return false;
	for (size_t i = 0; i < a.cols; i++)
		give(&c.running[i], targets[i], &out[i]);
	return true;
}
