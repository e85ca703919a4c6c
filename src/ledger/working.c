/* The working set of training. */
#include "ledger/working.h"

bool al_training_has_working(const struct al_training *t)
{
	return t->recipe->n_working > 0 && t->share.parts == AL_ALL_PARTS && !t->share.only_layers;
}

/* Facts available to formulas of the working set; `of` is indexed by enum al_working_fact. */
struct facts {
	mpq_ptr of[AL_N_WORKING_FACTS];
};

/* ---- from the tensors ---- */

struct counting {
	const struct al_stage *stage;
	const struct al_ledger_list *tensors;
	struct facts *facts;
};

static bool is_weight(const struct counting *c, const struct al_ledger_entry *t)
{
	return t->is_matrix && t->is_in_layers && t->sees_text && !t->extra
		&& t->entry->kind == AL_TENSOR_WEIGHT && t->part != AL_PART_NORM
		&& al_stage_has_tensor(c->stage, t);
}

/* The last two dimensions are a matrix; what is before them stacks several. */
static int64_t rows_of(const struct al_ledger_entry *t)
{
	return t->dims[t->n_dims - 2];
}

static int64_t cols_of(const struct al_ledger_entry *t)
{
	return t->dims[t->n_dims - 1];
}

/* Are both in one attention module, or one feed-forward block? */
static bool share_block(const struct al_ledger_entry *a, const struct al_ledger_entry *b)
{
	return a->module == b->module && a->layer == b->layer && a->times == b->times
		&& a->is_expert == b->is_expert;
}

/* `numbers` of one, as a tensor-parallel device has its share of the whole tensor. */
static void share_of_device(const struct al_stage *stage, const struct al_ledger_entry *t,
	mpq_t numbers)
{
	if (mpq_sgn(t->elements) == 0)
		return;
	mpq_mul(numbers, numbers, t->device);
	mpq_div(numbers, numbers, t->elements);
	al_training_respread(stage->training, t->is_expert && !mpq_equal(t->device, t->elements),
		numbers);
}

/* By shape, and within a shape by block. */
static int by_shape(const void *x, const void *y)
{
	const struct al_ledger_entry *a = *(const struct al_ledger_entry *const *)x;
	const struct al_ledger_entry *b = *(const struct al_ledger_entry *const *)y;
	const int orders[] = {al_compare(rows_of(a), rows_of(b)),
		al_compare(cols_of(a), cols_of(b)),
		al_compare((intptr_t)a->module, (intptr_t)b->module),
		al_compare(a->layer, b->layer), al_compare(a->times, b->times),
		al_compare(a->is_expert, b->is_expert)};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (orders[i] != 0)
			return orders[i];
	return 0;
}

static void add_shape(const struct counting *c, const struct al_ledger_entry *t, int64_t times)
{
	AL_EXACT(numbers);
	al_exact_set(numbers, rows_of(t));
	al_exact_multiply(numbers, cols_of(t));
	al_exact_multiply(numbers, times);
	share_of_device(c->stage, t, numbers);
	al_exact_add(c->facts->of[AL_WORKING_WEIGHT_SHAPES], numbers);
}

/* Of each shape as many matrices as the block has that has most of them: alike in one block they
 * are parts of one fused matrix (keys and values, gate and up), alike in different blocks they are
 * one shape. */
static void count_shapes(const struct counting *c)
{
	AL_FREED const struct al_ledger_entry **weights = al_calloc(c->tensors->n,
		sizeof(*weights));
	int64_t in_block = 0, most = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->tensors->n; i++)
		if (is_weight(c, &c->tensors->items[i]))
			weights[n++] = &c->tensors->items[i];
	qsort(weights, n, sizeof(*weights), by_shape);
	for (size_t i = 0; i < n; i++) {
		bool is_next = i + 1 < n && rows_of(weights[i]) == rows_of(weights[i + 1])
			&& cols_of(weights[i]) == cols_of(weights[i + 1]);
		in_block++;
		most = al_most(in_block, most);
		if (!is_next || !share_block(weights[i], weights[i + 1]))
			in_block = 0;
		if (is_next)
			continue;
		add_shape(c, weights[i], most);
		most = 0;
	}
}

static bool reads_tokens(const struct al_ledger_entry *t)
{
	const struct al_family_tensor *family = t->stored ? t->stored->tensor : NULL;

	return family && t->part == AL_PART_FEED_FORWARD
		&& (family->role == AL_FEED_UP || family->role == AL_FEED_GATE);
}

/* [out, in], or the other way round. */
static int64_t side_of(const struct al_ledger_entry *t, bool is_out)
{
	bool is_out_first = t->stored->tensor->order != AL_ORDER_IN_OUT;

	return is_out == is_out_first ? rows_of(t) : cols_of(t) * t->stored->tensor->packed;
}

/* The outputs of all matrices of the tensor's feed-forward block that read the token. */
static void count_inner(const struct counting *c, const struct al_ledger_entry *t)
{
	AL_EXACT(sum);
	AL_EXACT(width);
	for (size_t i = 0; i < c->tensors->n; i++) {
		const struct al_ledger_entry *other = &c->tensors->items[i];
		if (!share_block(t, other) || !reads_tokens(other) || !is_weight(c, other))
			continue;
		al_exact_set(width, side_of(other, true));
		share_of_device(c->stage, other, width);
		al_exact_add(sum, width);
	}
	al_exact_keep_most(c->facts->of[AL_WORKING_FEED_FORWARD], sum);
}

/* The numbers of a token that go to experts in one layer. */
static void count_routed(const struct counting *c, const struct al_saved_entry *line)
{
	if (!line->is_routed || !al_stage_has_layer(c->stage, line->layer, line->n_layers))
		return;
	AL_EXACT(numbers);
	mpq_set(numbers, line->elements);
	al_exact_divide(numbers, line->blocks);
	al_exact_keep_most(c->facts->of[AL_WORKING_ROUTED], numbers);
}

/* The heads' outputs that the stage keeps: what the output projections read. */
static void count_heads(const struct counting *c, const struct al_ledger_entry *t)
{
	AL_EXACT(numbers);
	al_exact_set(numbers, t->dims[0]);
	share_of_device(c->stage, t, numbers);
	al_exact_multiply(numbers, t->times);
	al_exact_multiply(numbers, al_stage_batches(c->stage, t->layer, t->n_layers));
	al_exact_add(c->facts->of[AL_WORKING_HEADS], numbers);
}

static void count_head(const struct counting *c, const struct al_ledger_entry *t)
{
	AL_EXACT(logits);
	al_exact_set(logits, side_of(t, true));
	share_of_device(c->stage, t, logits);
	mpq_set(c->facts->of[AL_WORKING_LOGITS], logits);
	mpq_set(c->facts->of[AL_WORKING_HEAD], logits);
	al_exact_multiply(c->facts->of[AL_WORKING_HEAD], side_of(t, false));
}

/* A tensor-parallel device's numbers of a tensor, or one layer's where it is in layers. */
static void add_numbers(const struct counting *c, const struct al_ledger_entry *t, mpq_t numbers)
{
	al_training_respread(c->stage->training, t->is_expert && !mpq_equal(t->device, t->elements),
		numbers);
	if (t->is_expert)
		al_exact_divide(numbers, c->stage->training->ep);
	if (t->is_in_layers && t->n_layers > 0)
		al_exact_divide(numbers,
			t->layer < 0 ? t->n_layers : al_stage_layers(c->stage, t->n_layers));
}

static bool count_gradient(const struct counting *c, const struct al_ledger_entry *t,
	enum al_working_fact fact, struct al_error *err)
{
	const struct al_training *training = c->stage->training;

	AL_EXACT(bytes);
	if (!al_entry_state(training->recipe, AL_STATE_GRADIENTS, t, training->rank, bytes, err))
		return false;
	add_numbers(c, t, bytes);
	al_exact_add(c->facts->of[fact], bytes);
	return true;
}

static bool count_step(const struct counting *c, const struct al_ledger_entry *t,
	struct al_error *err)
{
	const struct al_training *training = c->stage->training;

	AL_EXACT(bytes);
	if (!al_entry_state(training->recipe, AL_STATE_WORKING, t, training->rank, bytes, err))
		return false;
	if (training->zero > 0)
		al_exact_divide(bytes, training->dp * training->cp);
	al_exact_add(c->facts->of[AL_WORKING_STEP], bytes);
	return true;
}

/* Blocks of layers, and what is outside of them, as FSDP gathers them. */
static bool count_unit(const struct counting *c, const struct al_ledger_entry *t,
	struct al_error *err)
{
	const enum al_working_fact fact = t->is_in_layers ? AL_WORKING_BLOCK : AL_WORKING_OUTER;

	if (!t->is_parameter || !al_stage_has_tensor(c->stage, t))
		return true;
	if (!count_step(c, t, err))
		return false;
	AL_EXACT(numbers);
	mpq_set(numbers, t->device);
	add_numbers(c, t, numbers);
	al_exact_add(c->facts->of[fact], numbers);
	return !t->is_in_layers || count_gradient(c, t, AL_WORKING_BLOCK_GRADIENT, err);
}

/* A tied head's gradient is its embedding's. */
static bool count_head_gradient(const struct counting *c, const struct al_ledger_entry *t,
	struct al_error *err)
{
	return count_gradient(c, t, AL_WORKING_HEAD_GRADIENT, err)
		&& (!t->tied_to || count_gradient(c, t, AL_WORKING_TIED_GRADIENT, err));
}

static bool count_tensor(const struct counting *c, const struct al_ledger_entry *t,
	struct al_error *err)
{
	const bool is_head = al_entry_is_logit_head(t) && !t->extra && al_stage_is_last(c->stage);

	if (!count_unit(c, t, err) || (is_head && !count_head_gradient(c, t, err)))
		return false;
	if (is_head)
		count_head(c, t);
	if (is_head || (is_weight(c, t) && !t->is_expert))
		al_exact_add(c->facts->of[AL_WORKING_MATRICES], t->device);
	if (!is_weight(c, t))
		return true;
	if (reads_tokens(t) && !t->is_expert)
		count_inner(c, t);
	if (t->module && t->entry->role == AL_ROLE_OUTPUT)
		count_heads(c, t);
	return true;
}

static bool count_facts(const struct al_stage *stage, const struct al_working_ask *ask,
	struct facts *facts, struct al_error *err)
{
	const struct counting c = {stage, ask->tensors, facts};

	count_shapes(&c);
	for (size_t i = 0; i < ask->tensors->n; i++)
		if (!count_tensor(&c, &ask->tensors->items[i], err))
			return false;
	for (size_t i = 0; i < ask->saved->n; i++)
		count_routed(&c, &ask->saved->lines[i]);
	return true;
}

/* ---- from the training ---- */

static int64_t logit_bytes(const struct al_recipe *recipe, const struct al_saved_entries *saved)
{
	for (size_t i = 0; i < saved->n; i++)
		if (saved->lines[i].is_logits)
			return al_saved_bytes(&saved->lines[i], recipe);
	return recipe->logit_bytes;
}

static void set_degrees(const struct al_stage *stage, const struct al_working_ask *ask,
	struct facts *facts)
{
	const struct al_training *t = stage->training;
	const struct {
		enum al_working_fact fact;
		int64_t value;
	} degrees[] = {
		{AL_WORKING_TP, t->tp},
		{AL_WORKING_SP, t->is_sequence_parallel ? t->tp : 1},
		{AL_WORKING_ETP, al_training_etp(t)},
		{AL_WORKING_PP, t->pp},
		{AL_WORKING_CP, t->cp},
		{AL_WORKING_LAST, al_stage_is_last(stage)},
		{AL_WORKING_LOGIT_BYTES, logit_bytes(t->recipe, ask->saved)},
		{AL_WORKING_SHARDS, t->dp * t->cp},
		{AL_WORKING_ZERO, t->zero},
		{AL_WORKING_BYTES, t->recipe->activation_bytes},
		{AL_WORKING_RESIDUAL, t->recipe->residual_bytes},
		{AL_WORKING_ENCODER, ask->ledger->family && ask->ledger->family->is_encoder},
		{AL_WORKING_CHUNKED, t->loss == AL_LOSS_CHUNKED},
		{AL_WORKING_FUSED, t->loss == AL_LOSS_FUSED},
		{AL_WORKING_COMPILED_LOSS, t->loss == AL_LOSS_COMPILED},
		{AL_WORKING_COMPILED, t->is_compiled},
		{AL_WORKING_IN_BACKWARD, t->recipe->chosen && t->recipe->chosen->is_in_backward},
	};

	for (size_t i = 0; i < sizeof(degrees) / sizeof(*degrees); i++)
		al_exact_set(facts->of[degrees[i].fact], degrees[i].value);
	al_exact_set(facts->of[AL_WORKING_TOKENS], t->batch);
	al_exact_multiply(facts->of[AL_WORKING_TOKENS], t->seq / t->cp);
	mpq_set(facts->of[AL_WORKING_LAYER_BYTES], ask->layer_bytes);
	for (int state = AL_STATE_WEIGHTS; state <= AL_STATE_ACTIVATIONS; state++)
		al_stage_memory_sum(ask->held, (enum al_memory_state)state,
			facts->of[AL_WORKING_WEIGHTS + state]);
}

/* ---- terms ---- */

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct facts *facts = context;
	int fact = al_find_name(reference->symbol, al_working_fact_names, AL_N_WORKING_FACTS);

	(void)err;
	*found = fact >= 0;
	if (*found)
		al_value_set_exact(out, facts->of[fact]);
	return true;
}

static bool evaluate_term(const struct al_scope *scope, struct al_arena *arena,
	struct al_working_row *row, struct al_error *err)
{
	row->occurs = true;
	row->bytes = al_exact_from_int(arena, 0);
	if (row->term->when && !al_formula_holds(row->term->when, scope, &row->occurs, err))
		return false;
	if (!row->occurs)
		return true;
	AL_VALUE(value);
	AL_EXACT(bytes);
	if (!al_formula_eval(row->term->bytes, scope, &value, err))
		return false;
	al_value_get(&value, bytes);
	row->bytes = al_exact_copy(arena, bytes);
	return true;
}

/* Terms of one moment share its name (recipe.c). */
static bool is_of(const struct al_working_row *row, const char *moment)
{
	return row->occurs && row->term->during == moment;
}

static void sum_moment(const struct al_working_row *rows, size_t n, const char *moment, mpq_t out)
{
	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; i < n; i++)
		if (is_of(&rows[i], moment))
			al_exact_add(out, rows[i].bytes);
}

static bool has_states(const struct al_working_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].term->has_state)
			return true;
	return false;
}

/* The moment that adds most; NULL: none adds anything. Where moments change states, memory is at
 * its fullest in one of them. */
static const char *find_peak(const struct al_working_row *rows, size_t n, mpq_t most)
{
	const bool is_in_moment = has_states(rows, n);
	const char *peak = NULL;

	AL_EXACT(sum);
	mpq_set_ui(most, 0, 1);
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].term->during || !rows[i].occurs)
			continue;
		sum_moment(rows, n, rows[i].term->during, sum);
		if (mpq_cmp(sum, most) <= 0 && (peak || !is_in_moment))
			continue;
		mpq_set(most, sum);
		peak = rows[i].term->during;
	}
	return peak;
}

static bool is_reserved(const struct al_working_term *term)
{
	return term->has_state && term->state == AL_TERM_RESERVED;
}

/* Of what is allocated, or of what is reserved. */
static bool evaluate_terms(const struct al_recipe *recipe, struct al_ledger *ledger,
	struct facts *facts, bool of_reserved, struct al_working_row *rows, struct al_error *err)
{
	const struct al_scope model = al_settings_scope(&ledger->settings),
			      scope = {.lookup = look_up, .context = facts, .outer = &model};

	for (size_t i = 0; i < recipe->n_working; i++) {
		rows[i].term = &recipe->working[i];
		if (is_reserved(rows[i].term) == of_reserved
			&& !evaluate_term(&scope, &ledger->saved, &rows[i], err))
			return al_in(err, "recipe %s: %s", recipe->name, rows[i].term->name);
	}
	return true;
}

static void mark_peak(struct al_working_row *rows, size_t n)
{
	AL_EXACT(most);
	const char *peak = find_peak(rows, n, most);
	for (size_t i = 0; i < n; i++)
		rows[i].is_in_peak = is_of(&rows[i], NULL) || (peak && is_of(&rows[i], peak));
}

/* Facts of the peak. */
static void set_peak(const struct al_recipe *recipe, const struct al_working_row *rows,
	struct facts *facts)
{
	mpq_ptr temporary = facts->of[AL_WORKING_TEMPORARY], peak = facts->of[AL_WORKING_PEAK];

	AL_EXACT(change);
	al_working_sum(recipe, rows, -1, temporary);
	al_working_sum(recipe, rows, AL_TERM_ACTIVATIONS, change);
	al_exact_add(temporary, change);
	al_exact_add(temporary, facts->of[AL_WORKING_ACTIVATIONS]);
	al_working_sum(recipe, rows, AL_TERM_GRADIENTS, peak);
	al_exact_add(peak, temporary);
	for (int fact = AL_WORKING_WEIGHTS; fact <= AL_WORKING_OPTIMIZER; fact++)
		al_exact_add(peak, facts->of[fact]);
}

void al_working_sum(const struct al_recipe *recipe, const struct al_working_row *rows, int state,
	mpq_t out)
{
	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; i < recipe->n_working; i++)
		if (rows[i].is_in_peak
			&& state == (rows[i].term->has_state ? rows[i].term->state : -1))
			al_exact_add(out, rows[i].bytes);
}

const char *al_working_moment(const struct al_recipe *recipe, const struct al_working_row *rows)
{
	for (size_t i = 0; i < recipe->n_working; i++)
		if (rows[i].is_in_peak && rows[i].term->during)
			return rows[i].term->during;
	return NULL;
}

bool al_working_evaluate(const struct al_stage *stage, const struct al_working_ask *ask,
	const struct al_working_row **out, struct al_error *err)
{
	const struct al_recipe *recipe = stage->training->recipe;
	struct al_working_row *rows = al_new_array(&ask->ledger->saved, struct al_working_row,
		recipe->n_working);
	struct facts facts;

	for (int i = 0; i < AL_N_WORKING_FACTS; i++)
		facts.of[i] = al_exact_new(&ask->ledger->saved);
	if (!count_facts(stage, ask, &facts, err))
		return false;
	set_degrees(stage, ask, &facts);
	*out = rows;
	if (!evaluate_terms(recipe, ask->ledger, &facts, false, rows, err))
		return false;
	mark_peak(rows, recipe->n_working);
	set_peak(recipe, rows, &facts);
	if (!evaluate_terms(recipe, ask->ledger, &facts, true, rows, err))
		return false;
	mark_peak(rows, recipe->n_working);
	return true;
}
