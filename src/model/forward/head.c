/* The head of a decoder, or of an encoder for masked tokens, read in blocks of rows: a word's logit
 * is its row's product with a token's hidden state. */
#include "model/forward/internal.h"

/* Numbers of the head, and of logits, that are in memory at once: they stay in the cache. */
enum { HEAD_NUMBERS = 1 << 20, LOGITS = 1 << 20 };

bool al_check_decoder(const struct al_network *network, struct al_error *err)
{
	return network->how->kind == AL_FORWARD_DECODER
		|| al_fail(err, AL_EINPUT, "family %s is an encoder and predicts no next token",
			network->view->family->name);
}

bool al_head_open(struct al_scratch *scratch, struct al_network *network,
	const struct al_batch *batch, size_t width, struct al_head *head, struct al_error *err)
{
	const struct al_reading reading = al_reading_of(network, scratch);
	const char *bias = network->how->tensors[AL_FORWARD_HEAD].bias;

	*head = (struct al_head){.network = network, .batch = batch};
	if ((!network->how->mask && !al_check_decoder(network, err))
		|| !al_matrix_resolve(&reading, AL_FORWARD_HEAD, network->vocab, (int64_t)width,
			&head->tensor, err))
		return false;
	if (!head->tensor)
		return al_fail(err, AL_EINPUT, "%s: the model has no head",
			network->view->checkpoint->path);
	return al_vector_read(&reading, bias, network->vocab, &head->bias, err);
}

bool al_network_keep_head(struct al_network *network, struct al_error *err)
{
	const struct al_batch nothing = {.begin = (size_t[]){0}};
	AL_SCRATCH(scratch);
	struct al_head head;

	return network->head.data
		|| (al_check_decoder(network, err)
			&& al_head_open(&scratch, network, &nothing, 0, &head, err)
			&& al_weight_rows_read(NULL, network, head.tensor, 0, network->vocab,
				&network->head, err));
}

/* ---- logits ---- */

void al_cap(float *x, size_t n, double at)
{
	for (size_t i = 0; at > 0 && i < n; i++)
		x[i] = (float)(at * tanh((double)x[i] / at));
}

bool al_head_multiply(const struct al_head *head, struct al_view_f w, int64_t row,
	struct al_view_f x, size_t first, struct al_matrix_f logits, struct al_error *err)
{
	const struct al_pass_place place = {AL_BEHIND_LAYERS, head->batch, first};
	const float scale = (float)(1 / head->network->logit_divisor);

	if (!al_multiply(place, AL_TRANSPOSED, scale, w, x, false, logits, err))
		return false;
	for (size_t j = 0; j < logits.cols; j++) {
		float *column = logits.data + j * logits.ld;
		for (size_t i = 0; head->bias.data && i < logits.rows; i++)
			column[i] += scale * head->bias.data[(size_t)row + i];
		al_cap(column, logits.rows, head->network->logit_cap);
	}
	return true;
}

struct seeing {
	struct al_matrix_f logits[2];
	int64_t row; /* the token of the first row */
	size_t first;
	al_see_logits *see;
	void *context;
};

static void see_columns(void *context, size_t first, size_t n)
{
	const struct seeing *s = context;

	for (size_t j = first; j < first + n; j++) {
		float *const x[2] = {s->logits[0].data + j * s->logits[0].ld,
			s->logits[1].data + j * s->logits[1].ld};
		s->see(s->context, x, s->logits[0].rows, s->row, s->first + j);
	}
}

bool al_head_see_block(const struct al_head *head, const struct al_view_f *w, int64_t row,
	const struct al_view_f *hidden, size_t n_models, al_see_logits *see, void *context,
	struct al_error *err)
{
	const size_t all = hidden->cols, fit = al_most(LOGITS / w->cols, 1);
	const size_t room = al_least(fit, all);
	AL_OWNED_F struct al_matrix_f memory = {0};
	bool ok = al_matrix_init_f(&memory, w->cols, n_models * room, err);

	for (size_t first = 0; ok && first < all; first += room) {
		const size_t n = al_least(all - first, room);
		struct seeing s = {.row = row, .first = first, .see = see, .context = context};
		for (size_t i = 0; i < 2; i++) {
			s.logits[i] = al_part_f(memory, 0, i % n_models * room, w->cols, n);
			ok = ok
				&& (i >= n_models
					|| al_head_multiply(head, w[i], row,
						al_columns_f(hidden[i], first, n), first,
						s.logits[i], err));
		}
		if (ok)
			al_each_columns(n, see_columns, &s);
	}
	return ok;
}

bool al_head_each_block(const struct al_head *head, int64_t width,
	bool (*block)(void *context, struct al_view_f w, int64_t row, struct al_error *err),
	void *context, struct al_error *err)
{
	const int64_t vocab = head->network->vocab;
	const int64_t most = al_most(HEAD_NUMBERS / width, 1);
	const struct al_view_f kept = al_view_f(head->network->head);

	for (int64_t row = 0; row < vocab; row += most) {
		AL_SCRATCH(scratch);
		const int64_t n = al_least(vocab - row, most);
		struct al_matrix_f w;
		if (!kept.data
			&& !al_weight_rows_read(&scratch, head->network, head->tensor, row, n, &w,
				err))
			return false;
		if (!block(context,
			    kept.data ? al_columns_f(kept, (size_t)row, (size_t)n) : al_view_f(w),
			    row, err))
			return false;
	}
	return true;
}
