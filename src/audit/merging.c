/* Heads merged and dropped, the cheapest first. */
#include "audit/merging.h"

#include "audit/likeness.h"
#include "audit/losses.h"
#include "audit/rotary.h"
#include "model/calibration/outputs.h"

/* Differences of inner products below this part of their sum are rounding. */
static const double ROUNDING = 1e-13;

/* Squared relative errors that are closer than this tie. */
static const double TIE = 1e-12;

/* Near copies: at least half of the squares lie along the twin's, and scores are as sharp but for
 * this factor. */
static const double HALF = 0.5, SHARPER = 2;

/* Cosine of scores whose direction is one: they differ by a tenth of their norms, but for their
 * length. */
static const double SAME_DIRECTION = 0.995;

struct merger {
	struct al_audit_module *module;
	struct al_merging *out;
	/* Inner products of the heads' scores, [n][n], and of their value forms; on tokens the
	 * latter's diagonal alone, parts of the squared output of all. */
	struct al_view qk, ov;
	double qk_total, ov_total;
	double ov_whole; /* what errors of outputs are relative to */
	const double *replaced; /* on tokens: the square of the error with another head's output,
				   mapped, in a head's place, [n][n]; else NULL */
	struct al_matrix outputs; /* on tokens: how alike they are */
	size_t *into; /* the head that each is merged into; itself: it stays */
	bool *is_gone; /* dropped, with all that were merged into it */
	double *qk_cost, *ov_cost; /* of each head as it is now */
	bool has_twins;
	double most; /* INFINITY: near copies are merged whatever that costs */
};

static double at(struct al_view m, size_t i, size_t j)
{
	return m.data[i + j * m.ld];
}

static double cosine(struct al_view inner, size_t i, size_t j)
{
	return al_cosine(at(inner, i, j), at(inner, i, i), at(inner, j, j));
}

/* ---- what a step costs ---- */

/* ||A_i - A_j||^2 */
static double qk_distance(const struct merger *x, size_t i, size_t j)
{
	const double sum = at(x->qk, i, i) + at(x->qk, j, j);
	const double distance = sum - 2 * at(x->qk, i, j);

	return distance > ROUNDING * sum ? distance : 0;
}

/* The error of a head's scores, squared, where it attends as another does. */
static double score_error(const struct merger *x, size_t head, size_t twin)
{
	const double distance = qk_distance(x, head, twin);

	return distance > 0 ? distance / at(x->qk, head, head) : 0;
}

/* A head's values and their bias, [d_in + 1][width]. */
static bool values_of(struct al_scratch *scratch, const struct al_heads *heads, size_t head,
	struct al_matrix *out, struct al_error *err)
{
	const size_t kv_head = al_kv_head(heads, head), width = heads->d_value;
	const struct al_view v = al_head_of(heads, AL_VALUE, kv_head);

	if (!al_take(scratch, out, v.rows + 1, width, err))
		return false;
	for (size_t j = 0; heads->bias[AL_VALUE].data && j < width; j++)
		out->data[v.rows + j * out->ld] = heads->bias[AL_VALUE].data[(kv_head * width + j)
			* heads->bias[AL_VALUE].ld];
	return al_copy(v, al_part(*out, 0, 0, v.rows, width), err);
}

/* ||(V_j - P_i V_j) O_j^T||^2, P_i onto the space of V_i. On tokens what no map of i's output
 * gives. */
static bool find_outside(const struct merger *x, size_t j, size_t i, double *squared,
	struct al_error *err)
{
	if (x->replaced) {
		*squared = x->replaced[j * x->out->n_heads + i];
		return true;
	}
	AL_SCRATCH(scratch);
	const struct al_heads *heads = &x->module->heads;
	const struct al_view r = al_triangle_of(&x->module->triangles, AL_OUTPUT, j);
	struct al_matrix from, to, basis, form;

	return values_of(&scratch, heads, j, &from, err) && values_of(&scratch, heads, i, &to, err)
		&& al_leading_basis(&scratch, al_view(to), heads->d_value, &basis, NULL, err)
		&& al_take_product(&scratch, AL_PLAIN, al_view(from), AL_TRANSPOSED, r, &form, err)
		&& al_outside(al_view(basis), al_view(form), squared, err);
}

/* Without the heads that are merged into `head`, and it; or with all of them in `twin`. */
static bool find_cost(const struct merger *x, size_t head, size_t twin, struct al_merge *step,
	struct al_error *err)
{
	for (size_t m = 0; m < x->out->n_heads; m++) {
		double own = at(x->ov, m, m);
		if (x->into[m] != head || x->is_gone[m])
			continue;
		if (twin != head && !find_outside(x, m, twin, &own, err))
			return false;
		if (twin != head)
			step->qk_error = fmax(step->qk_error, sqrt(score_error(x, m, twin)));
		step->qk_squared += (twin == head ? 0 : qk_distance(x, m, twin)) - x->qk_cost[m];
		step->ov_squared += own - x->ov_cost[m];
	}
	step->qk_squared /= x->qk_total;
	step->ov_squared /= x->ov_whole;
	return true;
}

/* ---- steps ---- */

struct totals {
	double qk_error, ov_squared;
};

static double own_error(const struct al_merge *step)
{
	return fmax(step->qk_error, sqrt(fmax(step->ov_squared, 0)));
}

static bool is_there(const struct merger *x, size_t head)
{
	return x->into[head] == head && !x->is_gone[head];
}

/* Among steps that differ only by rounding, take the first, and prefer merging a head into an
 * earlier one, so that the names of exact copies don't depend on a library. */
static bool is_better(const struct al_merge *step, const struct al_merge *best)
{
	const double gain = own_error(best) * own_error(best) - own_error(step) * own_error(step);

	return gain > TIE || (gain >= -TIE && best->head < best->twin && step->head >= step->twin);
}

/* Are the head, and all merged into it, near copies of the twin? */
static bool is_near(const struct merger *x, size_t head, size_t twin)
{
	for (size_t m = 0; m < x->out->n_heads; m++) {
		const double ratio = sqrt(at(x->qk, m, m) / at(x->qk, twin, twin));
		if (x->into[m] == head && !x->is_gone[m]
			&& !(cosine(x->qk, m, twin) >= sqrt(HALF)
				&& cosine(x->ov, m, twin) >= sqrt(HALF) && ratio <= SHARPER
				&& ratio >= 1 / SHARPER))
			return false;
	}
	return true;
}

/* Is the step a candidate? */
static bool is_open(const struct merger *x, size_t head, size_t twin)
{
	const double squared = x->most * x->most;

	if (isinf(x->most))
		return twin != head && is_near(x, head, twin);
	return twin == head
		? at(x->ov, head, head) <= squared * x->ov_total / (double)x->out->n_heads
		: score_error(x, head, twin) <= squared;
}

/* Takes a step that is cheaper than the best so far, unless all together cost too much. */
static bool consider(const struct merger *x, struct totals before, size_t head, size_t twin,
	struct al_merge *best, struct al_error *err)
{
	struct al_merge step = {.head = head, .twin = twin};

	if (!is_open(x, head, twin))
		return true;
	if (!find_cost(x, head, twin, &step, err))
		return false;
	step.cumulative_error = fmax(fmax(before.qk_error, step.qk_error),
		sqrt(fmax(before.ov_squared + step.ov_squared, 0)));
	if (step.cumulative_error <= x->most
		&& (isinf(best->cumulative_error) || is_better(&step, best)))
		*best = step;
	return true;
}

static bool find_best(const struct merger *x, struct totals before, struct al_merge *best,
	struct al_error *err)
{
	*best = (struct al_merge){.cumulative_error = INFINITY};
	for (size_t i = 0; i < x->out->n_heads; i++) {
		if (!is_there(x, i))
			continue;
		if (!consider(x, before, i, i, best, err))
			return false;
		for (size_t j = 0; x->has_twins && j < x->out->n_heads; j++)
			if (j != i && is_there(x, j) && !consider(x, before, i, j, best, err))
				return false;
	}
	return true;
}

static struct al_merge describe(const struct merger *x, struct al_merge step)
{
	const size_t head = step.head, twin = step.twin;

	step.output_share = at(x->ov, head, head) / x->ov_total;
	step.attention = twin == head ? NAN : cosine(x->qk, head, twin);
	step.outputs = twin == head ? NAN
		: x->outputs.data   ? x->outputs.data[head + twin * x->outputs.ld]
				    : cosine(x->ov, head, twin);
	step.sharpness = twin == head ? NAN : sqrt(at(x->qk, head, head) / at(x->qk, twin, twin));
	return step;
}

/* Heads that were merged into this one go with it. */
static bool move(struct merger *x, size_t head, size_t twin, struct al_error *err)
{
	for (size_t m = 0; m < x->out->n_heads; m++) {
		if (x->into[m] != head || x->is_gone[m])
			continue;
		x->is_gone[m] = twin == head;
		x->qk_cost[m] = twin == head ? 0 : qk_distance(x, m, twin);
		x->ov_cost[m] = at(x->ov, m, m);
		if (twin != head && !find_outside(x, m, twin, &x->ov_cost[m], err))
			return false;
		x->into[m] = twin;
	}
	return true;
}

/* Further steps, up to an error of `x->most`; `totals` sums the earlier ones. */
static bool take_steps_up_to(struct merger *x, struct totals *totals, struct al_error *err)
{
	struct al_merge best;

	while (x->out->n + 1 < x->out->n_heads) {
		if (!find_best(x, *totals, &best, err))
			return false;
		if (isinf(best.cumulative_error))
			return true;
		totals->qk_error = fmax(totals->qk_error, best.qk_error);
		totals->ov_squared += best.ov_squared;
		x->out->steps[x->out->n++] = describe(x, best);
		if (!move(x, best.head, best.twin, err))
			return false;
	}
	return true;
}

/* The first earlier head that attends in the same direction. */
static void find_alike(const struct merger *x, size_t head)
{
	for (size_t twin = 0; twin < head; twin++) {
		if (!is_there(x, twin) || !(cosine(x->qk, head, twin) >= SAME_DIRECTION))
			continue;
		const struct al_merge found = {.head = head,
			.twin = twin,
			.qk_error = sqrt(score_error(x, head, twin)),
			.ov_squared = NAN,
			.cumulative_error = NAN};
		x->out->alike[x->out->n_alike++] = describe(x, found);
		return;
	}
}

static bool take_steps(struct merger *x, struct al_error *err)
{
	struct totals totals = {0, 0};

	if (!take_steps_up_to(x, &totals, err))
		return false;
	x->most = INFINITY;
	if (x->has_twins && !x->replaced && !take_steps_up_to(x, &totals, err))
		return false;
	for (size_t head = 1; x->has_twins && head < x->out->n_heads; head++)
		if (is_there(x, head))
			find_alike(x, head);
	return true;
}

/* ---- a module ---- */

/* Of the tokens that the module's statistics are of; W_O as it is stored. */
static bool find_on_tokens(struct merger *x, struct al_scratch *scratch,
	const struct al_module_statistics *statistics, struct al_view output, struct al_error *err)
{
	const size_t n = x->out->n_heads;
	double *replaced = al_take_array(scratch, n * n, sizeof(*replaced), err);
	struct al_likeness alike;
	struct al_matrix own;

	if (!replaced || !al_likeness_find(scratch, statistics, &alike, err)
		|| !al_take(scratch, &own, n, n, err)
		|| !al_heads_replace(statistics->of[AL_STATISTIC_HEADS], output, n, replaced, err))
		return false;
	for (size_t i = 0; i < n; i++)
		own.data[i + i * n] = replaced[i + i * n];
	x->qk = al_view(alike.logits);
	x->ov = al_view(own);
	x->outputs = alike.outputs;
	x->replaced = replaced;
	return true;
}

static bool compare_on_tokens(struct merger *x, struct al_scratch *scratch,
	const struct al_audit *audit, struct al_error *err)
{
	const struct al_attention *a = x->module->attention;
	const struct al_module_statistics *statistics;
	AL_OWNED struct al_matrix output = {0};

	return al_calibration_find(al_covariance_calibration(audit->options.covariance), a->name,
		       &statistics, err)
		&& al_factor_load(audit->view->checkpoint, &a->factors[AL_OUTPUT], &output, err)
		&& find_on_tokens(x, scratch, statistics, al_view(output), err);
}

/* Under rotary positions the mean over all offsets: scores that are equal at one offset may differ
 * at others. */
static bool compare_by_weights(struct merger *x, struct al_error *err)
{
	if (!al_audit_form_inner(x->module, AL_FORM_OV, &x->ov, err)
		|| !al_audit_form_inner(x->module, AL_FORM_QK, &x->qk, err))
		return false;
	if (al_has_offset(x->module->attention))
		x->qk = x->module->rotary_inner;
	return true;
}

static bool merge(struct merger *x, struct al_scratch *scratch, const struct al_audit *audit,
	struct al_error *err)
{
	const size_t n = x->module->heads.n_heads;
	const bool is_on_tokens = al_covariance_calibration(audit->options.covariance);

	x->into = al_take_array(scratch, n, sizeof(*x->into), err);
	x->is_gone = al_take_array(scratch, n, sizeof(*x->is_gone), err);
	x->qk_cost = al_take_array(scratch, n, sizeof(*x->qk_cost), err);
	x->ov_cost = al_take_array(scratch, n, sizeof(*x->ov_cost), err);
	if (!x->into || !x->is_gone || !x->qk_cost || !x->ov_cost
		|| !(is_on_tokens ? compare_on_tokens(x, scratch, audit, err)
				  : compare_by_weights(x, err)))
		return false;
	for (size_t i = 0; i < n; i++)
		x->into[i] = i;
	x->qk_total = al_trace(x->qk);
	x->ov_total = al_trace(x->ov);
	x->ov_whole = is_on_tokens ? 1 : x->ov_total;
	x->has_twins |= is_on_tokens;
	return !(x->qk_total > 0) || !(x->ov_total > 0) || take_steps(x, err);
}

bool al_merging_find(struct al_merging *merging, struct al_scratch *scratch,
	const struct al_audit *audit, struct al_audit_module *module, double most,
	struct al_error *err)
{
	AL_SCRATCH(room);
	const size_t n = module->heads.n_heads;
	struct merger x = {.module = module,
		.out = merging,
		.most = most,
		.has_twins = !module->attention->is_latent && !module->attention->has_qk_norm};

	*merging = (struct al_merging){.n_heads = n,
		.steps = al_take_array(scratch, n, sizeof(*merging->steps), err),
		.alike = al_take_array(scratch, n, sizeof(*merging->alike), err)};
	return merging->steps && merging->alike
		&& (!al_has_values(&module->heads) || merge(&x, &room, audit, err));
}

size_t al_merging_count(const struct al_merging *merging, double most)
{
	size_t n = 0;

	while (n < merging->n && merging->steps[n].cumulative_error <= most)
		n++;
	return n;
}

void al_merging_print(const struct al_merging *merging, size_t n, struct al_text *out)
{
	for (size_t k = 0; k < n; k++) {
		const struct al_merge *s = &merging->steps[k];
		if (s->twin == s->head)
			al_text_addf(out, "%swithout %zu", k ? ", " : "", s->head);
		else
			al_text_addf(out, "%s%zu into %zu", k ? ", " : "", s->head, s->twin);
	}
}
