/* Recording: sums over the tokens of a pass. Products are float32, over so few tokens at a time
 * that their rounding stays below 1e-6 of the root of the two diagonal elements' product (6e-7 at
 * most, 1.3e-7 on average, of numbers whose mean is four deviations, with any kernel); these are
 * added up in double. */

#include "model/calibration/attended.h"

enum { TOKENS_AT_ONCE = 1024, COLUMNS_AT_ONCE = 32, ROWS_AT_ONCE = 256 };

struct recording {
	struct al_calibration *calibration;
	const struct al_attention *first; /* of the view's modules */
	const struct al_batch *all;
	const struct al_statistics_taker *taker;
	bool is_by_layer; /* each module is a layer's, in their order */
	struct al_attended attended;
};

static size_t fold_of(const struct recording *r, const struct al_batch *batch, size_t sequence)
{
	return (batch->first_sequence + sequence - r->all->first_sequence)
		% r->calibration->n_folds;
}

/* What a fold's tokens give in a batch. */
struct part {
	const struct al_layer *layer;
	const struct al_trace *trace;
	struct al_matrix *of; /* the module's statistics */
	size_t fold;
	struct al_view_f x, o; /* inputs and heads' outputs, of the fold */
	struct al_matrix_f room_x, room_o, gram; /* room for them, and for products of one */
};

static double *sums_of(const struct part *p, enum al_statistic_kind kind)
{
	return p->of[kind].data + p->fold * p->of[kind].ld;
}

/* ---- second moments ---- */

struct adding {
	struct al_matrix_f from;
	double *to; /* the upper triangle, column by column */
};

static bool add_columns(void *context, size_t index, struct al_error *err)
{
	const struct adding *a = context;
	const size_t first = index * COLUMNS_AT_ONCE;

	(void)err;
	for (size_t j = first; j < a->from.cols && j < first + COLUMNS_AT_ONCE; j++)
		for (size_t i = 0; i <= j; i++)
			a->to[j * (j + 1) / 2 + i] += (double)a->from.data[i + j * a->from.ld];
	return true;
}

/* to += x x^T of some of all tokens; `to` may be larger. Finite numbers may overflow as they are
 * squared: the token is named then. */
static bool add_moment(const struct part *p, struct al_view_f x, struct al_view_f all, double *to,
	struct al_error *err)
{
	struct adding a = {al_part_f(p->gram, 0, 0, x.rows, x.rows), to};
	bool ok = true;

	for (size_t first = 0; ok && first < x.cols; first += TOKENS_AT_ONCE) {
		const size_t n = al_least(x.cols - first, TOKENS_AT_ONCE);
		ok = al_gram_f(AL_PLAIN, al_columns_f(x, first, n), a.from, err)
			&& al_parallel((x.rows + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE,
				add_columns, &a, err);
	}
	if (!ok && !al_is_finite_f(al_view_f(a.from)))
		ok = al_fail_largest(p->layer, p->trace->batch, all, err);
	return ok;
}

/* Sums of x and of the norms of its pieces, each of `width` rows, side by side. */
struct summing {
	struct al_view_f x;
	size_t width;
	double *sums, *norms; /* norms: NULL: none */
};

static bool add_piece(void *context, size_t index, struct al_error *err)
{
	const struct summing *s = context;
	const size_t first = index * s->width, left = s->x.rows - first,
		     n = al_least(left, s->width);

	(void)err;
	for (size_t j = 0; j < s->x.cols; j++) {
		const float *x = s->x.data + first + j * s->x.ld;
		double squares = 0;
		for (size_t i = 0; i < n; i++) {
			s->sums[first + i] += (double)x[i];
			squares += (double)x[i] * (double)x[i];
		}
		if (s->norms)
			s->norms[index] += sqrt(squares);
	}
	return true;
}

static bool add_sums(struct al_view_f x, size_t width, double *sums, double *norms,
	struct al_error *err)
{
	struct summing s = {x, width, sums, norms};

	return al_parallel((x.rows + width - 1) / width, add_piece, &s, err);
}

/* ---- of heads ---- */

/* from [n][n] where the second is the first or before it. */
static void add_triangle(const double *from, size_t n, double *to)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			*to++ += from[i * n + j];
}

static void add_attended(struct recording *r, const struct part *p, size_t sequence, size_t head)
{
	double sums[AL_N_ATTENDED];

	al_attended_take(&r->attended, sequence, head, sums);
	for (int i = 0; i < AL_N_ATTENDED; i++)
		sums_of(p, (enum al_statistic_kind)(AL_STATISTIC_SELF + i))[head] += sums[i];
}

/* Of the fold's sequences. */
static void add_weights(struct recording *r, const struct part *p, size_t n_heads)
{
	for (size_t s = 0; s < p->trace->batch->n_sequences; s++) {
		const size_t pairs = s * n_heads * n_heads;
		if (fold_of(r, p->trace->batch, s) != p->fold)
			continue;
		for (size_t i = 0; i < n_heads; i++) {
			sums_of(p, AL_STATISTIC_ENTROPIES)[i] += p->trace->entropy[s * n_heads + i];
			add_attended(r, p, s, i);
		}
		add_triangle(p->trace->distance + pairs, n_heads,
			sums_of(p, AL_STATISTIC_DISTANCES));
		add_triangle(p->trace->logits + pairs, n_heads, sums_of(p, AL_STATISTIC_LOGITS));
	}
}

/* ---- folds ---- */

/* How many tokens of a batch's first n sequences belong to the fold. */
static size_t count_tokens(const struct recording *r, const struct al_batch *batch, size_t fold,
	size_t n)
{
	size_t tokens = 0;

	for (size_t s = 0; s < n; s++)
		if (fold_of(r, batch, s) == fold)
			tokens += batch->begin[s + 1] - batch->begin[s];
	return tokens;
}

/* Copies of a fold's tokens, sequence by sequence. */
struct taking {
	const struct recording *r;
	const struct al_batch *batch;
	size_t fold;
	struct al_view_f all;
	struct al_matrix_f out;
};

static bool take_sequence(void *context, size_t s, struct al_error *err)
{
	const struct taking *t = context;
	const size_t *begin = t->batch->begin;
	size_t to = count_tokens(t->r, t->batch, t->fold, s);

	(void)err;
	for (size_t j = begin[s]; j < begin[s + 1] && fold_of(t->r, t->batch, s) == t->fold; j++)
		memcpy(t->out.data + to++ * t->out.ld, t->all.data + j * t->all.ld,
			t->all.rows * sizeof(*t->all.data));
	return true;
}

static bool take_tokens(const struct recording *r, const struct part *p, struct al_view_f all,
	struct al_matrix_f room, struct al_view_f *out, struct al_error *err)
{
	const struct al_batch *batch = p->trace->batch;
	struct taking t = {r, batch, p->fold, all, room};

	*out = al_columns_f(al_view_f(room), 0,
		count_tokens(r, batch, p->fold, batch->n_sequences));
	return al_parallel(batch->n_sequences, take_sequence, &t, err);
}

/* The last column of the inputs' moments is that of the 1 in [x, 1]. */
static bool add_moments(const struct part *p, struct al_view_f o, struct al_error *err)
{
	double *inputs = sums_of(p, AL_STATISTIC_INPUTS);
	double *means = inputs + p->x.rows * (p->x.rows + 1) / 2;

	means[p->x.rows] += (double)p->x.cols;
	return add_sums(p->x, ROWS_AT_ONCE, means, NULL, err)
		&& add_moment(p, p->x, al_view_f(p->trace->input), inputs, err)
		&& add_moment(p, p->o, o, sums_of(p, AL_STATISTIC_HEADS), err);
}

static bool add_part(struct recording *r, const struct part *p, struct al_view_f o,
	struct al_error *err)
{
	const size_t n_heads = p->of[AL_STATISTIC_NORMS].rows;

	add_weights(r, p, n_heads);
	return add_sums(p->o, p->o.rows / n_heads, sums_of(p, AL_STATISTIC_SUMS),
		       sums_of(p, AL_STATISTIC_NORMS), err)
		&& (!r->taker || add_moments(p, o, err));
}

bool al_statistics_make_room(const struct al_calibration *calibration,
	struct al_module_statistics *module, struct al_error *err)
{
	for (int kind = 0; kind < AL_N_LARGE; kind++)
		if (!module->of[kind].data
			&& !al_matrix_init(&module->of[kind],
				al_statistics_length(module, (enum al_statistic_kind)kind),
				calibration->n_folds, err))
			return false;
	return true;
}

/* As much as a fold needs at most. */
static bool make_part_room(const struct recording *r, struct part *p, struct al_scratch *scratch,
	size_t n_inputs, size_t n_outputs, struct al_error *err)
{
	const struct al_batch *batch = p->trace->batch;
	const size_t side = al_most(n_inputs, n_outputs);
	size_t most = 0;

	for (size_t fold = 0; fold < r->calibration->n_folds; fold++) {
		const size_t n = count_tokens(r, batch, fold, batch->n_sequences);
		most = al_most(n, most);
	}
	return al_take_f(scratch, &p->room_x, n_inputs, most, err)
		&& al_take_f(scratch, &p->room_o, n_outputs, most, err)
		&& (!r->taker || al_take_f(scratch, &p->gram, side, side, err));
}

static bool add_layer(void *context, const struct al_layer *layer, const struct al_trace *trace,
	struct al_view_f o, struct al_error *err)
{
	struct recording *r = context;
	struct al_module_statistics *module =
		&r->calibration->modules[al_layer_attention(layer) - r->first];
	struct part p = {.layer = layer, .trace = trace, .of = module->of};
	AL_SCRATCH(scratch);

	if ((r->taker && !al_statistics_make_room(r->calibration, module, err))
		|| !make_part_room(r, &p, &scratch, trace->input.rows, o.rows, err))
		return false;
	for (p.fold = 0; p.fold < r->calibration->n_folds; p.fold++) {
		if (!take_tokens(r, &p, al_view_f(trace->input), p.room_x, &p.x, err)
			|| !take_tokens(r, &p, o, p.room_o, &p.o, err) || !add_part(r, &p, o, err))
			return false;
		module->tokens[p.fold] += (double)p.x.cols;
	}
	return true;
}

static bool add_turns(void *context, const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_view_f o, struct al_view_f y, struct al_error *err)
{
	struct recording *r = context;
	const struct al_matrix to = r->calibration->modules[al_layer_attention(layer) - r->first]
					    .of[AL_STATISTIC_TURNS];
	AL_FREED double *turns = al_calloc(batch->n_sequences * to.rows, sizeof(*turns));

	if (!al_layer_turns(layer, batch, x, o, y, turns, err))
		return false;
	for (size_t s = 0; s < batch->n_sequences; s++)
		for (size_t head = 0; head < to.rows; head++)
			to.data[head + fold_of(r, batch, s) * to.ld] += turns[s * to.rows + head];
	return true;
}

/* ---- a module when it is complete ---- */

static bool hand_over(const struct recording *r, struct al_module_statistics *module,
	struct al_error *err)
{
	const bool ok = r->taker->take(r->taker->context, module, err);

	al_statistics_drop_moments(module);
	return ok;
}

static bool end_layer(void *context, const struct al_layer *layer, struct al_error *err)
{
	const struct recording *r = context;

	return !r->taker || !r->is_by_layer
		|| hand_over(r, &r->calibration->modules[al_layer_attention(layer) - r->first],
			err);
}

/* Modules of several layers, or in another order. */
static bool hand_over_all(const struct recording *r, struct al_error *err)
{
	for (size_t i = 0; r->taker && !r->is_by_layer && i < r->calibration->n_modules; i++)
		if (!hand_over(r, &r->calibration->modules[i], err))
			return false;
	return true;
}

bool al_calibration_is_by_layer(const struct al_network *network)
{
	const struct al_model_view *view = network->view;
	bool is = al_network_shares_nothing(network);

	for (size_t i = 1; is && i < view->n_modules; i++)
		is = view->modules[i].layer > view->modules[i - 1].layer;
	return is;
}

/* ---- all ---- */

static bool init_module(struct al_calibration *calibration, const struct al_attention *a,
	struct al_error *err)
{
	struct al_module_statistics *module = &calibration->modules[calibration->n_modules++];
	const size_t n_heads = (size_t)a->n_heads;
	const size_t sizes[] =
		{[AL_SIZE_OUTPUTS] = n_heads * (size_t)a->d_value, [AL_SIZE_HEADS] = n_heads};

	module->name = al_strdup(&calibration->arena, a->name);
	module->n_inputs = (size_t)a->factors[AL_QUERY].rows;
	module->tokens = al_new_array(&calibration->arena, double, calibration->n_folds);
	for (int kind = AL_N_LARGE; kind < AL_N_STATISTICS; kind++) {
		if (!al_calibration_has(calibration, (enum al_statistic_kind)kind))
			continue;
		const size_t n = sizes[al_statistics[kind].size];
		if (!al_matrix_init(&module->of[kind],
			    al_statistics[kind].is_square ? n * (n + 1) / 2 : n,
			    calibration->n_folds, err))
			return false;
	}
	return true;
}

static bool init_modules(struct al_calibration *calibration, const struct al_model_view *view,
	struct al_error *err)
{
	calibration->modules = al_new_array(&calibration->arena, struct al_module_statistics,
		view->n_modules);
	for (size_t i = 0; i < view->n_modules; i++)
		if (!init_module(calibration, &view->modules[i], err)
			|| !al_module_fingerprint(view->checkpoint, &view->modules[i],
				&calibration->modules[i].source, err))
			return false;
	return true;
}

static void take_sequences(struct al_calibration *calibration, const struct al_batch *all)
{
	calibration->n_sequences = all->n_sequences;
	calibration->sequences = al_alloc(all->n_sequences, sizeof(*calibration->sequences));
	for (size_t i = 0; i < all->n_sequences; i++)
		calibration->sequences[i] = al_sequence_fingerprint(all, i);
	al_calibration_sort(calibration);
}

static void count_queries(const struct recording *r)
{
	struct al_calibration *calibration = r->calibration;

	for (size_t i = 0; i < r->all->n_sequences; i++) {
		const size_t n = r->all->begin[i + 1] - r->all->begin[i];
		const size_t counts[AL_N_QUERIES] = {[AL_QUERIES_SAMPLED] = al_sampled_queries(n),
			[AL_QUERIES_LATER] = n - 1,
			[AL_QUERIES_REPEATED] = al_attended_repeated(&r->attended, i),
			[AL_QUERIES_TURNED] = al_turned_tokens(n)};
		for (int kind = 0; kind <= AL_QUERIES_TURNED; kind++)
			calibration->n_queries[kind][i % calibration->n_folds] += (int64_t)
				counts[kind];
	}
}

bool al_calibration_begin(struct al_calibration *calibration, const struct al_network *network,
	const struct al_batch *all, size_t n_folds, struct al_error *err)
{
	const struct al_model_view *view = network->view;

	*calibration = (struct al_calibration){.path = view->checkpoint->path,
		.n_folds = al_least(n_folds ? n_folds : AL_FOLDS, all->n_sequences),
		.most_tokens = (double)al_batch_tokens(all)
			* (double)(al_calibration_is_by_layer(network) ? 1 : network->n_layers)};
	al_arena_init(&calibration->arena);
	take_sequences(calibration, all);
	for (int kind = 0; kind <= AL_QUERIES_TURNED; kind++)
		calibration->n_queries[kind] = al_calloc(calibration->n_folds, sizeof(int64_t));
	if (al_network_check_tokens(network, all, err)
		&& al_checkpoint_hash(view->checkpoint, NULL, &calibration->source, err)
		&& init_modules(calibration, view, err))
		return true;
	al_calibration_finish(calibration);
	return false;
}

bool al_calibration_record(struct al_calibration *calibration, struct al_network *network,
	const struct al_batch *all, const struct al_statistics_taker *taker,
	const struct al_watch *watch, struct al_pass_state *state, struct al_error *err)
{
	struct recording r = {.calibration = calibration,
		.first = network->view->modules,
		.all = all,
		.taker = taker,
		.is_by_layer = al_calibration_is_by_layer(network)};

	al_attended_init(&r.attended, network->view, all);
	count_queries(&r);
	const bool ok = al_network_pass(network, all, watch,
				&(struct al_visitor){.trace = add_layer,
					.behind = add_turns,
					.done = end_layer,
					.weights = &r.attended.taker,
					.state = state,
					.context = &r},
				err)
		&& hand_over_all(&r, err);
	al_attended_finish(&r.attended);
	return ok;
}
