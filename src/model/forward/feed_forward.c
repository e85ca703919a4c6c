/* Feed-forward blocks, down(activation(gate x) * up x) or down(activation(up x)): a layer has one,
 * or experts. */
#include "catalog/config.h"
#include "model/forward/activation.h"
#include "model/forward/internal.h"

/* ---- weights ---- */

/* n numbers alternate between gate and up, beginning with the gate. */
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

static bool read_block(const struct al_reading *reading, enum al_forward_tensor first,
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
	const double *learned;
	struct al_matrix_f up, gate; /* gate: without data where there is none */
};

static void activate(void *context, size_t first, size_t n)
{
	const struct inner *inner = context;

	for (size_t j = first; j < first + n; j++)
		al_activate(inner->activation, inner->learned,
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
		.learned = block->learned,
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

static bool apply_block(const struct al_feed_block *block, const struct al_activation *activation,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f out,
	struct al_error *err)
{
	const size_t d_ff = inner_width(block);
	const size_t room = al_least(x.cols, TOKENS_AT_ONCE);
	AL_SCRATCH(scratch);
	struct al_matrix_f both;

	if (!al_take_f(&scratch, &both, is_gated(block) ? 2 * d_ff : d_ff, room, err))
		return false;
	for (size_t first = 0; first < x.cols; first += TOKENS_AT_ONCE) {
		const size_t left = x.cols - first;
		const size_t n = al_least(left, TOKENS_AT_ONCE);
		const struct al_pass_place from = {place.layer, place.batch, place.first + first};
		if (!run_block(block, activation, from, al_columns_f(x, first, n),
			    al_part_f(both, 0, 0, both.rows, n),
			    al_part_f(out, 0, first, out.rows, n), err))
			return false;
	}
	return true;
}

/* ---- experts: blocks of which a router chooses some for each token ---- */

static bool read_count(const struct al_reading *reading, const struct al_formula *formula,
	size_t *out, struct al_error *err)
{
	struct al_iteration iteration = reading->iteration;
	const struct al_scope scope = al_iteration_scope(&iteration);
	int64_t count = 1;

	if (formula && !al_formula_whole(formula, &scope, 1, &count, err))
		return false;
	*out = (size_t)count;
	return true;
}

static bool read_counts(struct al_experts *experts, const struct al_reading *reading,
	struct al_error *err)
{
	const struct al_forward *how = reading->network->how;
	struct al_iteration iteration = reading->iteration;
	const struct al_scope scope = al_iteration_scope(&iteration);

	if (!read_count(reading, how->n_experts, &experts->n, err)
		|| !read_count(reading, how->n_active, &experts->n_active, err)
		|| !read_count(reading, how->n_groups, &experts->n_groups, err)
		|| !read_count(reading, how->n_chosen_groups, &experts->n_chosen_groups, err))
		return false;
	experts->groups_by_best = how->groups_by_best;
	if (experts->n_active > experts->n)
		return al_fail(err, AL_EINPUT, "a token uses %zu experts, but there are only %zu",
			experts->n_active, experts->n);
	if (experts->n % experts->n_groups != 0 || experts->n_chosen_groups > experts->n_groups)
		return al_fail(err, AL_EINPUT,
			"%zu experts aren't %zu groups of one size, of which %zu are chosen",
			experts->n, experts->n_groups, experts->n_chosen_groups);
	return !how->normalized
		|| al_formula_holds(how->normalized, &scope, &experts->is_normalized, err);
}

static bool read_experts(struct al_experts *experts, const struct al_reading *reading,
	struct al_error *err)
{
	struct al_reading of = *reading;
	bool ok = true;

	of.n_stacked = (int64_t)experts->n;
	of.iteration.variables[of.iteration.n++] = "expert";
	for (size_t i = 0; ok && i < experts->n; i++) {
		of.expert = of.iteration.values[of.iteration.n - 1] = (int64_t)i;
		ok = read_block(&of, AL_FORWARD_EXPERT, &experts->items[i], err)
			&& (al_linear_is_there(&experts->items[i].down)
				|| al_fail(err, AL_EINPUT, "expert %zu has no weights", i));
	}
	return ok;
}

static bool load_experts(struct al_experts *experts, const struct al_reading *reading,
	struct al_error *err)
{
	const int64_t d_model = reading->network->d_model;
	int64_t width;

	if (!al_input_width(reading, AL_FORWARD_ROUTER, &width, err))
		return false;
	if (width == 0)
		return true;
	if (!read_counts(experts, reading, err))
		return false;
	experts->items = al_new_array(reading->arena, struct al_feed_block, experts->n);
	return al_linear_read(reading, AL_FORWARD_ROUTER, (int64_t)experts->n, d_model,
		       &experts->router, err)
		&& al_config_number(&reading->network->view->config, reading->network->config,
			&reading->network->how->expert_factor, 1, &experts->factor, err)
		&& al_config_number(&reading->network->view->config, reading->network->config,
			&reading->network->how->jitter, 0, &experts->jitter, err)
		&& al_vector_read(reading,
			reading->network->how->tensors[AL_FORWARD_CORRECTION].weight,
			(int64_t)experts->n, &experts->correction, err)
		&& read_experts(experts, reading, err)
		&& read_block(reading, AL_FORWARD_SHARED, &experts->shared, err)
		&& al_linear_read(reading, AL_FORWARD_SHARED_WEIGHT, 1, d_model,
			&experts->shared_weight, err);
}

/* ---- ... the router ---- */

/* Each token's weight for each expert, in place of the routed scores; 0: it isn't sent there. */
struct routing {
	const struct al_experts *experts;
	enum al_router_scores by;
	bool shares_input;
	struct al_matrix_f shares; /* [n][tokens] */
};

/* The share of each expert, were all chosen. */
static void find_shares(const struct routing *routing, const float *scores, double *shares)
{
	const size_t n = routing->experts->n;
	double all = 0;
	float most = scores[0];

	for (size_t i = 1; i < n; i++)
		most = al_most(scores[i], most);
	for (size_t i = 0; i < n; i++)
		all += exp((double)scores[i] - (double)most);
	for (size_t i = 0; i < n; i++)
		shares[i] = routing->by == AL_ROUTER_SIGMOID
			? 1 / (1 + exp(-(double)scores[i]))
			: exp((double)scores[i] - (double)most) / all;
}

/* Of x[n] the largest, the first of equal ones. */
static size_t find_best(const double *x, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = x[i] > x[best] ? i : best;
	return best;
}

/* What the best of a group is worth, or the two best together. */
static double group_worth(const double *x, size_t n, bool by_best)
{
	const size_t best = find_best(x, n);
	double second = n > 1 && !by_best ? -INFINITY : 0;

	for (size_t i = 0; i < n && !by_best; i++)
		second = i != best && x[i] > second ? x[i] : second;
	return x[best] + second;
}

/* Experts of other groups than the best can't be chosen. */
static void leave_groups(const struct al_experts *experts, double *worth)
{
	const size_t size = experts->n / experts->n_groups;
	AL_FREED double *groups = al_calloc(experts->n_groups, sizeof(*groups));

	for (size_t g = 0; g < experts->n_groups; g++)
		groups[g] = group_worth(worth + g * size, size, experts->groups_by_best);
	for (size_t k = 0; k < experts->n_chosen_groups; k++)
		groups[find_best(groups, experts->n_groups)] = -INFINITY;
	for (size_t i = 0; i < experts->n; i++)
		worth[i] = isinf(groups[i / size]) ? worth[i] : -INFINITY;
}

/* The scores become shares, 0 where an expert isn't chosen. */
static void route(const struct routing *routing, float *scores)
{
	const struct al_experts *experts = routing->experts;
	const size_t n = experts->n;
	AL_FREED double *shares = al_calloc(2 * n, sizeof(*shares));
	double *worth = shares + n, chosen = 0;

	find_shares(routing, scores, shares);
	for (size_t i = 0; i < n; i++) {
		worth[i] = shares[i]
			+ (experts->correction.data ? (double)experts->correction.data[i] : 0);
		scores[i] = 0;
	}
	if (experts->n_chosen_groups < experts->n_groups)
		leave_groups(experts, worth);
	for (size_t k = 0; k < experts->n_active; k++) {
		const size_t best = find_best(worth, n);
		worth[best] = -INFINITY;
		chosen += shares[best];
		scores[best] = fmaxf((float)shares[best], 1e-37f);
	}
	for (size_t i = 0; i < n; i++)
		scores[i] *= (float)(experts->factor / (experts->is_normalized ? chosen : 1));
}

/* Liu et al. 2024, arXiv:2409.12136; transformers, modeling_phimoe.py, sparsemixer. */
static void route_sparsely(const struct al_experts *experts, float *scores)
{
	const size_t n = experts->n;
	AL_FREED double *left = al_alloc(n, sizeof(*left));

	for (size_t i = 0; i < n; i++) {
		left[i] = (double)scores[i];
		scores[i] = 0;
	}
	for (size_t k = 0; k < experts->n_active; k++) {
		const size_t best = find_best(left, n);
		const double most = left[best];
		double sum = 0;
		for (size_t i = 0; i < n; i++)
			if ((most - left[i]) / fmax(fabs(left[i]), most) <= 2 * experts->jitter)
				sum += exp(left[i] - most);
		scores[best] = (float)(experts->factor / sum);
		left[best] = -INFINITY;
	}
}

static void route_columns(void *context, size_t first, size_t n)
{
	const struct routing *routing = context;

	for (size_t j = first; j < first + n; j++) {
		float *scores = routing->shares.data + j * routing->shares.ld;
		if (routing->by == AL_ROUTER_SPARSEMIXER)
			route_sparsely(routing->experts, scores);
		else
			route(routing, scores);
	}
}

/* ---- ... their blocks ---- */

struct sent {
	struct al_matrix_f x, y;
	size_t *tokens;
	size_t n;
};

static bool take_sent(struct al_scratch *scratch, struct sent *sent, const struct routing *routing,
	size_t expert, struct al_view_f x, size_t rows, struct al_error *err)
{
	for (size_t j = 0; j < x.cols; j++)
		if (routing->shares.data[expert + j * routing->shares.ld] > 0)
			sent->tokens[sent->n++] = j;
	if (!al_take_f(scratch, &sent->x, x.rows, sent->n, err)
		|| !al_take_f(scratch, &sent->y, rows, sent->n, err))
		return false;
	for (size_t j = 0; j < sent->n; j++)
		memcpy(sent->x.data + j * sent->x.ld, x.data + sent->tokens[j] * x.ld,
			x.rows * sizeof(float));
	return true;
}

static void add_times(float factor, const float *from, size_t n, float *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] += factor * from[i];
}

/* An expert reads a token's share, where what it gives isn't multiplied by it. */
static void share_input(const struct routing *routing, size_t expert, struct sent *sent)
{
	for (size_t j = 0; j < sent->n; j++) {
		float *share = routing->shares.data + expert + sent->tokens[j] * routing->shares.ld;
		al_scale(sent->x.data + j * sent->x.ld, sent->x.rows, *share);
		*share = 1;
	}
}

/* An expert's part of out. A number that isn't finite is named where the layer ends. */
static bool add_expert(const struct routing *routing, size_t expert,
	const struct al_activation *activation, struct al_pass_place place, struct al_view_f x,
	struct al_matrix_f out, size_t *memory, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct sent sent = {.tokens = memory};

	if (!take_sent(&scratch, &sent, routing, expert, x, out.rows, err))
		return false;
	if (routing->shares_input)
		share_input(routing, expert, &sent);
	if (sent.n > 0
		&& !apply_block(&routing->experts->items[expert], activation, place,
			al_view_f(sent.x), sent.y, err))
		return false;
	for (size_t j = 0; j < sent.n; j++) {
		const size_t at = sent.tokens[j];
		add_times(routing->shares.data[expert + at * routing->shares.ld],
			sent.y.data + j * sent.y.ld, out.rows, out.data + at * out.ld);
	}
	return true;
}

/* out becomes what the shared block gives, or 0. */
static bool apply_shared(const struct al_experts *experts, const struct al_activation *activation,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix_f weight;

	if (!al_linear_is_there(&experts->shared.down)) {
		for (size_t j = 0; j < out.cols; j++)
			memset(out.data + j * out.ld, 0, out.rows * sizeof(float));
		return true;
	}
	if (!apply_block(&experts->shared, activation, place, x, out, err))
		return false;
	if (!al_linear_is_there(&experts->shared_weight))
		return true;
	if (!al_take_f(&scratch, &weight, 1, x.cols, err)
		|| !al_linear_apply(&experts->shared_weight, place, x, weight, err))
		return false;
	for (size_t j = 0; j < out.cols; j++) {
		const double share = 1 / (1 + exp(-(double)weight.data[j * weight.ld]));
		for (size_t i = 0; i < out.rows; i++)
			out.data[i + j * out.ld] *= (float)share;
	}
	return true;
}

static bool apply_experts(const struct al_layer *layer, struct al_pass_place place,
	struct al_view_f x, struct al_matrix_f out, struct al_error *err)
{
	const struct al_experts *experts = &layer->experts;
	const struct al_activation *activation = layer->network->activation;
	AL_SCRATCH(scratch);
	struct routing routing = {.experts = experts,
		.by = layer->network->how->router_scores,
		.shares_input = layer->network->how->shares_input};
	size_t *memory = al_take_array(&scratch, x.cols, sizeof(*memory), err);

	if (!memory || !apply_shared(experts, activation, place, x, out, err)
		|| !al_take_f(&scratch, &routing.shares, experts->n, x.cols, err)
		|| !al_linear_apply(&experts->router, place, x, routing.shares, err))
		return false;
	al_each_columns(x.cols, route_columns, &routing);
	for (size_t i = 0; i < experts->n; i++)
		if (!add_expert(&routing, i, activation, place, x, out, memory, err))
			return false;
	return true;
}

/* ---- of a layer ---- */

/* The activation's numbers, for all blocks. */
static bool read_learned(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	const struct al_network *network = layer->network;
	const struct al_forward_names *names = &network->how->tensors[AL_FORWARD_LEARNED];
	double *learned = al_new_array(reading->arena, double, 2);
	struct al_matrix_f above = {0}, below = {0};

	if (!al_activation_learns(network->activation))
		return true;
	if (layer->experts.items)
		return al_fail(err, AL_EINPUT,
			"experts can't have an activation with learned numbers");
	if (!al_vector_read(reading, names->weight, 1, &above, err)
		|| !al_vector_read(reading, names->bias, 1, &below, err))
		return false;
	if (!above.data || !below.data)
		return al_fail(err, AL_EINPUT,
			"the activation has learned numbers, which family %s doesn't name",
			network->view->family->name);
	learned[0] = (double)above.data[0];
	learned[1] = (double)below.data[0];
	layer->feed.learned = learned;
	return true;
}

bool al_feed_forward_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	return load_experts(&layer->experts, reading, err)
		&& (layer->experts.items
			|| (read_block(reading, AL_FORWARD_FEED, &layer->feed, err)
				&& (al_linear_is_there(&layer->feed.down)
					|| al_fail(err, AL_EINPUT, "no feed-forward weights"))))
		&& read_learned(layer, reading, err);
}

bool al_feed_forward_apply(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix_f out, struct al_error *err)
{
	const struct al_pass_place place = {layer->number, batch, 0};
	const struct al_activation *activation = layer->network->activation;

	return layer->experts.items ? apply_experts(layer, place, x, out, err)
				    : apply_block(&layer->feed, activation, place, x, out, err);
}
