/* Both models' losses on the same tokens. Hidden states are compared, not logits: each model has a
 * head of its own, which may be one of the tensors that changed. */
#include "shrink/trial.h"

/* ---- the original ---- */

/* Where a batch's hidden states are in the file. */
static uint64_t place_of(const struct al_sample_part *part, const struct al_batch *batch,
	size_t width)
{
	return (uint64_t)(batch->tokens - part->all.tokens) * width * sizeof(float);
}

static bool keep(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct al_sample_part *part = context;

	return al_spill_put_at(&part->hidden, place_of(part, batch, hidden.rows), hidden.data,
		hidden.rows * hidden.cols * sizeof(float), err);
}

bool al_sample_part_init(struct al_sample_part *part, struct al_network *network,
	const struct al_batch *all, const struct al_watch *watch, struct al_error *err)
{
	*part = (struct al_sample_part){.network = network, .all = *all, .watch = watch};
	return al_spill_open(&part->hidden, NULL, err)
		&& al_network_pass(network, all, watch,
			&(struct al_visitor){.hidden = keep, .context = part}, err);
}

void al_sample_part_finish(struct al_sample_part *part)
{
	al_spill_close(&part->hidden);
}

/* ---- the copy ---- */

enum { ORIGINAL, COPY, DIVERGENCE, AGREEMENT, N_SUMS };

struct trying {
	const struct al_sample_part *part;
	struct al_network *copy;
	struct al_unit *sums[N_SUMS]; /* [n_sequences] */
};

static void add(const struct trying *t, const struct al_batch *batch,
	const struct al_comparison *each)
{
	const size_t first = batch->first_sequence - t->part->all.first_sequence;

	for (size_t i = 0; i < batch->n_sequences; i++)
		for (size_t k = batch->begin[i]; k + 1 < batch->begin[i + 1]; k++) {
			const double numbers[N_SUMS] = {each[k].losses[0], each[k].losses[1],
				each[k].divergence, each[k].agree};
			for (int sum = 0; sum < N_SUMS; sum++) {
				t->sums[sum][first + i].sum += numbers[sum];
				t->sums[sum][first + i].n++;
			}
		}
}

static bool compare(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct trying *t = context;
	const size_t n = al_batch_tokens(batch);
	AL_FREED int32_t *targets = al_batch_targets(batch);
	AL_FREED struct al_comparison *each = al_alloc(n, sizeof(*each));
	AL_OWNED_F struct al_matrix_f original = {0};

	if (!al_matrix_init_f(&original, hidden.rows, n, err)
		|| !al_spill_get(&t->part->hidden, place_of(t->part, batch, hidden.rows),
			original.data, hidden.rows * n * sizeof(float), err)
		|| !al_network_compare(t->part->network, t->copy, batch, al_view_f(original),
			hidden, targets, each, err))
		return false;
	add(t, batch, each);
	return true;
}

bool al_sample_part_try(const struct al_sample_part *part, struct al_network *copy,
	struct al_judgment *out, struct al_error *err)
{
	const size_t n = part->all.n_sequences;
	AL_FREED struct al_unit *sums = al_calloc(N_SUMS * n, sizeof(*sums));
	struct trying t = {part, copy, {NULL}};

	if (part->trials && al_kept_next(part->trials, out))
		return true;
	for (size_t i = 0; i < N_SUMS; i++)
		t.sums[i] = sums + i * n;
	if (!al_network_pass(copy, &part->all, part->watch,
		    &(struct al_visitor){.hidden = compare, .context = &t}, err))
		return false;
	*out = (struct al_judgment){.original = al_estimate_mean(t.sums[ORIGINAL], n),
		.compressed = al_estimate_mean(t.sums[COPY], n),
		.change = al_estimate_change(t.sums[ORIGINAL], t.sums[COPY], n),
		.divergence = al_estimate_mean(t.sums[DIVERGENCE], n),
		.agreement = al_estimate_mean(t.sums[AGREEMENT], n),
		.n_predicted = al_batch_tokens(&part->all) - n};
	return !part->trials || al_kept_add(part->trials, out, err);
}
