/* Training memory of a whole model on one device. */
#include "ledger/train.h"

#include "ledger/entries.h"
#include "ledger/stage.h"
#include "ledger/working.h"

struct al_saving al_training_saving(const struct al_training *t)
{
	return (struct al_saving){.recipe = t->recipe,
		.is_flash = t->is_flash,
		.loss = t->loss,
		.is_compiled = t->is_compiled,
		.is_selective = t->recompute == AL_RECOMPUTE_SELECTIVE,
		.has_adapter_dropout = t->has_adapter_dropout,
		.sp = t->is_sequence_parallel ? t->tp : 1};
}

/* ---- stages ---- */

void al_stage_memory_init(struct al_stage_memory *stage)
{
	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_init(stage->bytes[state][part]);
	mpq_init(stage->reserved);
}

void al_stage_memory_finish(void *object)
{
	struct al_stage_memory *stage = object;

	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_clear(stage->bytes[state][part]);
	mpq_clear(stage->reserved);
}

void al_stage_memory_sum(const struct al_stage_memory *stage, enum al_memory_state state, mpq_t out)
{
	mpq_set_ui(out, 0, 1);
	for (int part = 0; part < AL_N_PARTS; part++)
		al_exact_add(out, stage->bytes[state][part]);
}

void al_stage_memory_total(const struct al_stage_memory *stage, mpq_t out)
{
	AL_EXACT(sum);
	mpq_set_ui(out, 0, 1);
	for (int state = 0; state < AL_N_TRAINING_STATES; state++) {
		al_stage_memory_sum(stage, (enum al_memory_state)state, sum);
		al_exact_add(out, sum);
	}
}

/* ---- degrees ---- */

bool al_training_check(const struct al_training *t, struct al_error *err)
{
	int64_t replicas, devices;

	if (__builtin_mul_overflow(t->dp, t->cp, &replicas)
		|| __builtin_mul_overflow(t->tp, replicas, &devices)
		|| __builtin_mul_overflow(t->pp, devices, &devices))
		return al_fail(err, AL_EINPUT,
			"tp (%lld), pp (%lld), dp (%lld) and cp (%lld) make too many "
			"devices",
			(long long)t->tp, (long long)t->pp, (long long)t->dp, (long long)t->cp);
	if (t->is_sequence_parallel && t->tp == 1)
		return al_fail(err, AL_EINPUT, "sp (sequence parallelism) needs tp of at least 2");
	if (t->interleave > 1 && t->pp == 1)
		return al_fail(err, AL_EINPUT, "interleave (%lld) needs pp of at least 2",
			(long long)t->interleave);
	if (t->seq % t->cp != 0)
		return al_fail(err, AL_EINPUT, "seq (%lld) is not a multiple of cp (%lld)",
			(long long)t->seq, (long long)t->cp);
	if (!t->etp && replicas % t->ep != 0)
		return al_fail(err, AL_EINPUT, "dp*cp (%lld) is not a multiple of ep (%lld)",
			(long long)replicas, (long long)t->ep);
	if (t->etp && (t->tp * replicas / t->etp % t->ep != 0 || t->tp * replicas % t->etp != 0))
		return al_fail(err, AL_EINPUT,
			"tp*dp*cp (%lld) is not a multiple of etp*ep (%lld*%lld)",
			(long long)(t->tp * replicas), (long long)t->etp, (long long)t->ep);
	return true;
}

/* ---- weights, gradients, optimizer ---- */

static bool is_wanted(const struct al_share *share, enum al_part part, bool is_in_layers)
{
	return (share->parts >> part & 1) && (is_in_layers || !share->only_layers);
}

/* A head that is tied to an embedding on another stage needs a copy of it. */
static bool is_counted(const struct al_stage *place, const struct al_ledger_entry *t)
{
	bool is_copy = t->tied_to && t->part == AL_PART_HEAD && !t->extra
		&& place->training->pp > 1;

	return (t->is_parameter || is_copy) && al_stage_has_tensor(place, t)
		&& is_wanted(&place->training->share, t->part, t->is_in_layers);
}

/* Does ZeRO share the state out over data-parallel devices? */
static bool is_sharded(const struct al_training *t, enum al_memory_state state)
{
	static const int stage_of[] = {
		[AL_STATE_OPTIMIZER] = 1,
		[AL_STATE_GRADIENTS] = 2,
		[AL_STATE_WEIGHTS] = 3,
	};

	return t->zero >= stage_of[state];
}

/* Of what a tensor-parallel device has of a state, the share of one of all devices. Shards are as
 * large for experts as for the rest: their ep*etp devices are tp*dp*cp in other groups. */
static void share_out(const struct al_training *t, enum al_memory_state state,
	const struct al_ledger_entry *tensor, mpq_t bytes)
{
	bool is_cut = !mpq_equal(tensor->device, tensor->elements);

	if (is_sharded(t, state))
		al_exact_divide(bytes, t->dp * t->cp);
	else if (tensor->is_expert)
		al_exact_divide(bytes, t->ep);
	if (!is_sharded(t, state))
		al_training_respread(t, tensor->is_expert && is_cut, bytes);
}

static bool add_states(const struct al_training *training, const struct al_ledger_entry *t,
	struct al_stage_memory *stage, struct al_error *err)
{
	AL_EXACT(bytes);

	for (int i = AL_STATE_WEIGHTS; i <= AL_STATE_OPTIMIZER; i++) {
		const enum al_memory_state state = (enum al_memory_state)i;
		if (!al_entry_state(training->recipe, state, t, training->rank, bytes, err))
			return false;
		share_out(training, state, t, bytes);
		al_exact_add(stage->bytes[state][t->part], bytes);
	}
	return true;
}

/* ---- activations ---- */

static bool is_line_here(const struct al_stage *place, const struct al_saved_entry *line)
{
	if (line->n_layers > 0)
		return al_stage_has_layer(place, line->layer, line->n_layers);
	return line->is_first ? al_stage_is_first(place) : al_stage_is_last(place);
}

/* Full recomputation keeps the layers' inputs only, selective recomputation nothing of token x
 * token, and by a framework's rules the inputs, too. */
static bool is_kept(const struct al_training *t, const struct al_saved_entry *line)
{
	if (line->is_input)
		return t->recompute == AL_RECOMPUTE_FULL
			|| (t->recompute == AL_RECOMPUTE_SELECTIVE && line->is_ruled);
	if (line->n_layers > 0 && t->recompute >= AL_RECOMPUTE_FULL)
		return t->recompute_every > 1;
	return line->per != AL_PER_PAIR || t->recompute == AL_RECOMPUTE_NONE;
}

/* What one device saves for a micro-batch. Tokens for experts are gathered over the devices that
 * share an expert. */
static void saved_bytes(const struct al_training *t, const struct al_saved_entry *line, mpq_t bytes)
{
	bool is_on_each_device = mpq_equal(line->device, line->elements);

	mpq_set(bytes, line->device);
	al_exact_multiply(bytes, al_saved_bytes(line, t->recipe));
	al_exact_multiply(bytes, t->batch);
	al_exact_multiply(bytes, line->per == AL_PER_SEQUENCE ? 1 : t->seq / t->cp);
	if (line->per == AL_PER_PAIR)
		al_exact_multiply(bytes, t->seq);
	if (is_on_each_device && t->is_sequence_parallel)
		al_exact_divide(bytes, t->tp);
	if (line->is_routed && t->is_sequence_parallel)
		al_exact_multiply(bytes, al_training_etp(t));
}

/* Of the layers that the line is of, those that keep it: each `recompute_every`-th is computed
 * again. */
static void keep_share(const struct al_training *t, const struct al_saved_entry *line, mpq_t bytes)
{
	const int64_t every = t->recompute_every, layers = line->layer < 0 ? line->n_layers : 1;

	if (t->recompute < AL_RECOMPUTE_FULL || every <= 1 || line->n_layers == 0)
		return;
	const int64_t again = line->layer < 0 ? layers / every : (line->layer + 1) % every == 0;
	al_exact_multiply(bytes, line->is_input ? again : layers - again);
	al_exact_divide(bytes, layers);
}

static void add_saved(const struct al_stage *place, const struct al_saved_entry *line,
	struct al_stage_memory *stage)
{
	const struct al_training *t = place->training;

	AL_EXACT(bytes);
	saved_bytes(t, line, bytes);
	keep_share(t, line, bytes);
	if (!line->is_last && t->pp > 1)
		al_exact_multiply(bytes, al_stage_batches(place, line->layer, line->n_layers));
	al_exact_add(stage->bytes[AL_STATE_ACTIVATIONS][line->part], bytes);
}

/* A recipe's own rule: bytes per token and attention module. */
static void add_module(const struct al_ledger_module *module, const struct al_stage *place,
	int64_t per_token, struct al_stage_memory *stage)
{
	const struct al_training *t = place->training;

	if (!module->sees_text || !al_stage_has_layer(place, module->layer, module->n_layers)
		|| !(t->share.parts >> AL_PART_ATTENTION & 1))
		return;
	AL_EXACT(bytes);
	al_exact_set(bytes, per_token);
	al_exact_multiply(bytes, module->copies * module->uses);
	al_exact_multiply(bytes, t->batch);
	al_exact_multiply(bytes, t->seq / t->cp);
	al_exact_multiply(bytes, al_stage_batches(place, module->layer, module->n_layers));
	al_exact_add(stage->bytes[AL_STATE_ACTIVATIONS][AL_PART_ATTENTION], bytes);
}

/* Inputs of one distribution over stages. */
struct run {
	struct al_ledger *ledger;
	const struct al_training *t;
	const struct al_ledger_list *tensors;
	struct al_saved_entries saved; /* none where the recipe has a rule of its own */
	int64_t per_token; /* that rule's bytes */
};

static void add_activations(const struct run *run, const struct al_stage *place,
	struct al_stage_memory *stage)
{
	const struct al_training *t = run->t;

	for (size_t i = 0; t->recipe->activations_per_token && i < run->ledger->n_modules; i++)
		add_module(&run->ledger->modules[i], place, run->per_token, stage);
	for (size_t i = 0; i < run->saved.n; i++) {
		const struct al_saved_entry *line = &run->saved.lines[i];
		if (is_kept(t, line) && is_wanted(&t->share, line->part, line->n_layers > 0)
			&& is_line_here(place, line))
			add_saved(place, line, stage);
	}
}

/* ---- the working set ---- */

/* What a layer of the stage saves on average where it is computed again for its backward pass. */
static void add_recomputed(const struct al_stage *place, const struct al_saved_entries *saved,
	mpq_t sum)
{
	const struct al_training *t = place->training;

	AL_EXACT(bytes);
	for (size_t i = 0; t->recompute >= AL_RECOMPUTE_FULL && i < saved->n; i++) {
		const struct al_saved_entry *line = &saved->lines[i];
		if (line->n_layers == 0 || line->is_input || !is_line_here(place, line))
			continue;
		saved_bytes(t, line, bytes);
		al_exact_divide(bytes,
			line->layer < 0 ? line->n_layers : al_stage_layers(place, line->n_layers));
		al_exact_add(sum, bytes);
	}
}

static bool evaluate_working(const struct run *run, const struct al_stage *place,
	const struct al_stage_memory *held, const struct al_working_row **rows,
	struct al_error *err)
{
	AL_EXACT(layer_bytes);
	const struct al_working_ask ask = {.ledger = run->ledger,
		.tensors = run->tensors,
		.saved = &run->saved,
		.layer_bytes = layer_bytes,
		.held = held};
	add_recomputed(place, &run->saved, layer_bytes);
	return al_working_evaluate(place, &ask, rows, err);
}

/* Part by part alike. */
static void change_state(struct al_stage_memory *stage, enum al_memory_state state, mpq_srcptr by)
{
	AL_EXACT(sum);
	AL_EXACT(factor);
	al_stage_memory_sum(stage, state, sum);
	if (mpq_sgn(sum) == 0)
		return;
	mpq_add(factor, sum, by);
	mpq_div(factor, factor, sum);
	for (int part = 0; part < AL_N_PARTS; part++)
		mpq_mul(stage->bytes[state][part], stage->bytes[state][part], factor);
}

/* What is held when memory is fullest. */
static bool find_peak(const struct run *run, const struct al_stage *place,
	struct al_stage_memory *stage, const struct al_working_row **rows, struct al_error *err)
{
	static const struct {
		int term;
		enum al_memory_state state;
	} changes[] = {{AL_TERM_GRADIENTS, AL_STATE_GRADIENTS},
		{AL_TERM_ACTIVATIONS, AL_STATE_ACTIVATIONS}};

	if (!evaluate_working(run, place, stage, rows, err))
		return false;
	AL_EXACT(by);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		al_working_sum(run->t->recipe, *rows, changes[i].term, by);
		change_state(stage, changes[i].state, by);
	}
	al_working_sum(run->t->recipe, *rows, AL_TERM_RESERVED, stage->reserved);
	al_working_sum(run->t->recipe, *rows, -1, stage->bytes[AL_STATE_WORKING][AL_PART_OTHER]);
	stage->moment = al_working_moment(run->t->recipe, *rows);
	return true;
}

/* ---- all of it ---- */

static bool start(struct run *run, struct al_ledger *ledger, const struct al_training *t,
	struct al_error *err)
{
	const struct al_formula *rule = t->recipe->activations_per_token;

	*run = (struct run){.ledger = ledger, .t = t};
	if (!al_training_check(t, err)
		|| !al_ledger_entries(ledger, AL_LIST_TENSORS, &run->tensors, err))
		return false;
	const struct al_saving saving = al_training_saving(t);
	if (!rule)
		return al_ledger_saved(ledger, &saving, &run->saved, err);
	struct al_scope scope = al_settings_scope(&ledger->settings);
	return al_formula_whole(rule, &scope, 0, &run->per_token, err)
		|| al_in(err, "recipe %s", t->recipe->name);
}

static void clear_stage(struct al_stage_memory *stage)
{
	stage->moment = NULL;
	mpq_set_ui(stage->reserved, 0, 1);
	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_set_ui(stage->bytes[state][part], 0, 1);
}

static bool fill_stage(const struct run *run, int64_t index, struct al_stage_memory *stage,
	const struct al_working_row **rows, struct al_error *err)
{
	const struct al_stage place = {run->t, index};

	clear_stage(stage);
	for (size_t i = 0; i < run->tensors->n; i++)
		if (is_counted(&place, &run->tensors->items[i])
			&& !add_states(run->t, &run->tensors->items[i], stage, err))
			return false;
	add_activations(run, &place, stage);
	return !al_training_has_working(run->t) || find_peak(run, &place, stage, rows, err);
}

bool al_ledger_train(struct al_ledger *ledger, const struct al_training *t, int64_t index,
	struct al_stage_memory *stage, struct al_error *err)
{
	const struct al_working_row *rows;
	struct run run;

	return start(&run, ledger, t, err) && fill_stage(&run, index, stage, &rows, err);
}

bool al_ledger_train_largest(struct al_ledger *ledger, const struct al_training *t, int64_t *index,
	struct al_stage_memory *stage, struct al_error *err)
{
	const struct al_working_row *rows;
	struct run run;

	if (!al_stages_check(ledger, t, err) || !start(&run, ledger, t, err))
		return false;
	AL_EXACT(total);
	AL_EXACT(most);
	mpq_set_si(most, -1, 1);
	for (int64_t i = 0; i < t->pp; i++) {
		if (!fill_stage(&run, i, stage, &rows, err))
			return false;
		al_stage_memory_total(stage, total);
		if (mpq_cmp(total, most) <= 0)
			continue;
		mpq_set(most, total);
		*index = i;
	}
	return *index == t->pp - 1 || fill_stage(&run, *index, stage, &rows, err);
}

bool al_ledger_train_working(struct al_ledger *ledger, const struct al_training *t, int64_t index,
	const struct al_working_row **rows, struct al_error *err)
{
	struct run run;

	AL_STAGE_MEMORY(stage);
	return start(&run, ledger, t, err) && fill_stage(&run, index, &stage, rows, err);
}
