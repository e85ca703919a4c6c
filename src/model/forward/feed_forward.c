/* Feed-forward blocks: down(activation(gate x) * up x), or down(activation(up x)). */
#include "model/forward/activation.h"
#include "model/forward/internal.h"

/* ---- weights ---- */

/* Of n numbers that are the gate's and up's by turns, the gate's come first. */
static void part(float *x, size_t n, size_t stride, float *memory)
{
	for (size_t i = 0; i < n; i++)
		memory[i] = x[i * stride];
	for (size_t i = 0; i < n; i++)
		x[(i % 2 * (n / 2) + i / 2) * stride] = memory[i];
}

static void part_linear(struct al_linear *linear)
{
	struct al_matrix_f *w = &linear->weight;
	const bool are_columns = linear->op == AL_TRANSPOSED;
	const size_t n = al_linear_rows(linear), n_inputs = are_columns ? w->rows : w->cols;
	AL_FREED float *memory = al_alloc(n, sizeof(*memory));

	for (size_t i = 0; i < n_inputs; i++)
		part(w->data + (are_columns ? i : i * w->ld), n, are_columns ? w->ld : 1, memory);
	if (linear->bias.data)
		part(linear->bias.data, n, 1, memory);
}

bool al_feed_block_read(const struct al_reading *reading, enum al_forward_tensor first,
	struct al_feed_block *block, struct al_error *err)
{
	const int64_t d_model = reading->network->d_model;
	struct al_linear *const linears[] = {[AL_BLOCK_GATE] = &block->gate,
		[AL_BLOCK_UP] = &block->up,
		[AL_BLOCK_GATE_UP] = &block->gate_up};
	const unsigned down = AL_BLOCK_DOWN;
	int64_t width;

	if (!al_input_width(reading, first + down, &width, err))
		return false;
	for (unsigned i = 0; i < down; i++)
		if (!al_linear_read(reading, first + i, i == AL_BLOCK_GATE_UP ? 2 * width : width,
			    d_model, linears[i], err))
			return false;
	if (reading->network->how->is_alternating && al_linear_is_there(&block->gate_up))
		part_linear(&block->gate_up);
	return al_linear_read(reading, first + down, d_model, width, &block->down, err);
}

/* ---- the block ---- */

/* Tokens that pass together: what is wide is d_ff x this many. Products of fewer are slower. */
enum { TOKENS_AT_ONCE = 2048 };

/* gate or gate_up: activation(gate) times up; else activation(up), which is `up` itself. */
struct inner {
	const struct al_activation *activation;
	struct al_matrix_f up, gate; /* gate: without data where there is none */
};

static void activate(void *context, size_t first, size_t n)
{
	const struct inner *inner = context;

	for (size_t j = first; j < first + n; j++)
		al_activate(inner->activation,
			inner->gate.data ? inner->gate.data + j * inner->gate.ld : NULL,
			inner->up.data + j * inner->up.ld, inner->up.rows);
}

static bool is_gated(const struct al_feed_block *block)
{
	return al_linear_is_there(&block->gate_up) || al_linear_is_there(&block->gate);
}

static size_t inner_width(const struct al_feed_block *block)
{
	return block->down.op == AL_PLAIN ? block->down.weight.cols : block->down.weight.rows;
}

/* `both` is room for gate and up of all columns of x. */
static bool run_block(const struct al_feed_block *block, const struct al_activation *activation,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f both,
	struct al_matrix_f out, struct al_error *err)
{
	const size_t d_ff = inner_width(block);
	struct inner inner = {.activation = activation,
		.up = al_part_f(both, both.rows - d_ff, 0, d_ff, x.cols)};

	if (is_gated(block))
		inner.gate = al_part_f(both, 0, 0, d_ff, x.cols);
	bool ok = al_linear_is_there(&block->gate_up)
		? al_linear_apply(&block->gate_up, place, x, both, err)
		: al_linear_apply(&block->up, place, x, inner.up, err)
			&& (!inner.gate.data
				|| al_linear_apply(&block->gate, place, x, inner.gate, err));

	if (!ok)
		return false;
	al_each_columns(x.cols, activate, &inner);
	return al_linear_apply(&block->down, place, al_view_f(inner.up), out, err);
}

bool al_feed_block_apply(const struct al_feed_block *block, const struct al_activation *activation,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f out,
	struct al_error *err)
{
	const size_t d_ff = inner_width(block);
	const size_t room = x.cols < TOKENS_AT_ONCE ? x.cols : TOKENS_AT_ONCE;
	AL_SCRATCH(scratch);
	struct al_matrix_f both;

	if (!al_take_f(&scratch, &both, is_gated(block) ? 2 * d_ff : d_ff, room, err))
		return false;
	for (size_t first = 0; first < x.cols; first += TOKENS_AT_ONCE) {
		const size_t left = x.cols - first;
		const size_t n = left < TOKENS_AT_ONCE ? left : TOKENS_AT_ONCE;
		const struct al_pass_place from = {place.layer, place.batch, place.first + first};
		if (!run_block(block, activation, from, al_columns_f(x, first, n),
			    al_part_f(both, 0, 0, both.rows, n),
			    al_part_f(out, 0, first, out.rows, n), err))
			return false;
	}
	return true;
}

/* ---- of a layer ---- */

bool al_feed_forward_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	return al_experts_load(&layer->experts, reading, err)
		&& (layer->experts.items
			|| (al_feed_block_read(reading, AL_FORWARD_FEED, &layer->feed, err)
				&& (al_linear_is_there(&layer->feed.down)
					|| al_fail(err, AL_EINPUT, "no feed-forward weights"))));
}

bool al_feed_forward_apply(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix_f out, struct al_error *err)
{
	const struct al_pass_place place = {layer->number, batch, 0};
	const struct al_activation *activation = layer->network->activation;

	return layer->experts.items
		? al_experts_apply(&layer->experts, activation, place, x, out, err)
		: al_feed_block_apply(&layer->feed, activation, place, x, out, err);
}
