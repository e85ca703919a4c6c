/* How likely a decoder finds the next token: block by block of its head, for each token the sum of
 * exponentials over what has been read, in double, relative to the largest logit so far. */
#include "model/forward/alike.h"
#include "model/forward/activation.h"

struct running {
	float most;
	double sum, target;
};

/* ---- sums ---- */

struct scoring {
	const struct al_head *head;
	struct al_view_f hidden;
	const int32_t *targets; /* NULL: none */
	struct running *running;
	const struct al_alike *alike; /* NULL: all words */
	bool is_in; /* with `alike`: the words of the group, or all others */
};

static void add_token(void *context, float *const logits[2], size_t n, int64_t row, size_t token)
{
	const struct scoring *s = context;
	float *x = logits[0];
	struct running *r = &s->running[token];
	const int64_t target = s->targets && !s->alike ? s->targets[token] - row : -1;
	const float most = al_largest(x, n);

	if (most > r->most) {
		r->sum *= exp((double)r->most - (double)most);
		r->most = most;
	}
	if (target >= 0 && target < (int64_t)n)
		r->target = (double)x[target];
	r->sum += al_exp_all(x, n, r->most, NULL);
}

/* Copies the rows of those words. */
static bool pick(const struct scoring *s, struct al_view_f w, int64_t row, struct al_matrix_f *out,
	struct al_error *err)
{
	const bool *is_in = s->alike->is_in + row;
	size_t n = 0;

	if (!al_matrix_init_f(out, w.rows, w.cols, err))
		return false;
	for (size_t j = 0; j < w.cols; j++)
		if (is_in[j] == s->is_in)
			memcpy(out->data + n++ * out->ld, w.data + j * w.ld,
				w.rows * sizeof(float));
	out->cols = n;
	return true;
}

/* The targets' logits, of whatever words. */
static void add_targets(const struct scoring *s, struct al_view_f w, int64_t row)
{
	for (size_t j = 0; s->targets && j < s->hidden.cols; j++) {
		const int64_t target = s->targets[j] - row;
		const float *x = s->hidden.data + j * s->hidden.ld;
		if (target < 0 || target >= (int64_t)w.cols)
			continue;
		s->running[j].target = 0;
		for (size_t i = 0; i < w.rows; i++)
			s->running[j].target += (double)w.data[i + (size_t)target * w.ld]
				* (double)x[i];
	}
}

static bool score_block(void *context, struct al_view_f w, int64_t row, struct al_error *err)
{
	struct scoring *s = context;
	AL_OWNED_F struct al_matrix_f some = {0};

	if (s->alike) {
		add_targets(s, w, row);
		if (!pick(s, w, row, &some, err))
			return false;
		w = al_view_f(some);
	}
	return w.cols == 0 || al_head_see_block(s->head, &w, row, &s->hidden, 1, add_token, s, err);
}

static bool score_words(struct scoring *s, struct al_error *err)
{
	return al_head_each_block(s->head, (int64_t)s->hidden.rows, score_block, s, err);
}

/* ---- words that are alike ---- */

/* Adds the group as if each of its words had their mean logit, where that is exact enough. */
static bool add_group(const struct al_alike *alike, const float *hidden, struct running *r)
{
	const double logit = al_alike_logit(alike, hidden);
	const float most = (double)r->most > logit ? r->most : (float)logit;
	const double others = r->sum * exp((double)r->most - (double)most);
	const double group = (double)alike->n * exp(logit - (double)most);

	if (!(group / (others + group) * al_alike_error(alike, hidden) <= AL_ALIKE_NATS))
		return false;
	r->most = most;
	r->sum = others + group;
	return true;
}

/* Some columns of a scoring, whose group is gone through word by word. */
static bool score_group(const struct scoring *all, const size_t *columns, size_t n,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix_f hidden;
	struct running *running = al_take_array(&scratch, n, sizeof(*running), err);

	if (!running || !al_take_f(&scratch, &hidden, all->hidden.rows, n, err))
		return false;
	for (size_t j = 0; j < n; j++) {
		memcpy(hidden.data + j * hidden.ld, all->hidden.data + columns[j] * all->hidden.ld,
			hidden.rows * sizeof(float));
		running[j] = all->running[columns[j]];
	}
	if (!score_words(&(struct scoring){.head = all->head,
				 .hidden = al_view_f(hidden),
				 .running = running,
				 .alike = all->alike,
				 .is_in = true},
		    err))
		return false;
	for (size_t j = 0; j < n; j++)
		all->running[columns[j]] = running[j];
	return true;
}

static bool score_alike(const struct scoring *s, struct al_error *err)
{
	AL_SCRATCH(scratch);
	size_t *columns = al_take_array(&scratch, s->hidden.cols, sizeof(*columns), err), n = 0;

	if (!columns)
		return false;
	for (size_t j = 0; j < s->hidden.cols; j++)
		if (!add_group(s->alike, s->hidden.data + j * s->hidden.ld, &s->running[j]))
			columns[n++] = j;
	return n == 0 || score_group(s, columns, n, err);
}

static void give(const struct scoring *s, const struct al_token_scores *scores)
{
	for (size_t i = 0; i < s->hidden.cols; i++) {
		const struct running *r = &s->running[i];
		scores->losses[i] = scores->targets[i] < 0
			? 0
			: (double)r->most + log(r->sum) - r->target;
	}
}

/* ---- logits as they are ---- */

struct keeping {
	const struct al_head *head;
	struct al_view_f hidden;
	struct al_matrix_f out;
};

static bool keep_block(void *context, struct al_view_f w, int64_t row, struct al_error *err)
{
	const struct keeping *k = context;

	return al_head_multiply(k->head, w, row, k->hidden, 0,
		al_part_f(k->out, (size_t)row, 0, w.cols, k->out.cols), err);
}

bool al_network_score(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, const struct al_token_scores *scores, struct al_error *err)
{
	const bool has_group = scores->alike && scores->alike->n > 0;
	AL_SCRATCH(scratch);
	struct al_head head;
	struct scoring s = {.head = &head,
		.hidden = hidden,
		.targets = scores->targets,
		.alike = has_group ? scores->alike : NULL};

	s.running = al_take_array(&scratch, hidden.cols, sizeof(*s.running), err);
	if (!s.running || !al_head_open(&scratch, network, batch, hidden.rows, &head, err))
		return false;
	for (size_t i = 0; i < hidden.cols; i++)
		s.running[i] = (struct running){.most = -INFINITY};
	if (!score_words(&s, err) || (has_group && !score_alike(&s, err)))
		return false;
	give(&s, scores);
	return true;
}

bool al_network_logits(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, struct al_matrix_f *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_head head;
	struct keeping k = {.head = &head, .hidden = hidden};

	if (!al_matrix_init_f(out, (size_t)network->vocab, hidden.cols, err))
		return false;
	k.out = *out;
	return al_head_open(&scratch, network, batch, hidden.rows, &head, err)
		&& al_head_each_block(&head, (int64_t)hidden.rows, keep_block, &k, err);
}
