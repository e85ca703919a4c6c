/* Training memory of a whole model on one device. */
#include "ledger/train.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "ledger/entries.h"

const char *const al_recompute_names[AL_N_RECOMPUTES] = {"none", "selective", "full"};

/* ---- stages ---- */

void al_stage_memory_init(struct al_stage_memory *stage)
{
	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_init(stage->bytes[state][part]);
}

void al_stage_memory_finish(struct al_stage_memory *stage)
{
	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_clear(stage->bytes[state][part]);
}

void al_stage_memory_sum(const struct al_stage_memory *stage, enum al_memory_state state, mpq_t out)
{
	mpq_set_ui(out, 0, 1);
	for (int part = 0; part < AL_N_PARTS; part++)
		al_exact_add(out, stage->bytes[state][part]);
}

void al_stage_memory_total(const struct al_stage_memory *stage, mpq_t out)
{
	mpq_t sum;

	mpq_init(sum);
	mpq_set_ui(out, 0, 1);
	for (int state = 0; state < AL_N_TRAINING_STATES; state++) {
		al_stage_memory_sum(stage, (enum al_memory_state)state, sum);
		al_exact_add(out, sum);
	}
	mpq_clear(sum);
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
	if (replicas % t->ep != 0)
		return al_fail(err, AL_EINPUT, "dp*cp (%lld) is not a multiple of ep (%lld)",
			(long long)replicas, (long long)t->ep);
	return true;
}

/* ---- which stage ---- */

struct place {
	const struct al_training *training;
	int64_t index;
};

/* Blocks of layers are numbered through the model; each stage has every pp-th. */
static int64_t block_of(const struct place *place, int64_t layer, int64_t n_layers)
{
	return layer * place->training->pp * place->training->interleave / n_layers;
}

static bool is_layer_here(const struct place *place, int64_t layer, int64_t n_layers)
{
	return layer < 0 || n_layers == 0
		|| block_of(place, layer, n_layers) % place->training->pp == place->index;
}

static bool is_first(const struct place *place)
{
	return place->index == 0;
}

static bool is_last(const struct place *place)
{
	return place->index == place->training->pp - 1;
}

static bool is_wanted(const struct al_share *share, enum al_part part, bool is_in_layers)
{
	return (share->parts >> part & 1) && (is_in_layers || !share->only_layers);
}

/* ---- weights, gradients, optimizer ---- */

static bool is_tensor_here(const struct place *place, const struct al_ledger_entry *t)
{
	if (!t->sees_text && !t->extra)
		return is_first(place); /* a tower makes what the first layer reads */
	if (t->is_in_layers)
		return is_layer_here(place, t->layer, t->n_layers);
	if (t->part == AL_PART_EMBEDDING
		|| (t->stored && t->stored->tensor->stage == AL_STAGE_FIRST))
		return is_first(place);
	return is_last(place);
}

/* A head that is tied to an embedding on another stage needs a copy of it. */
static bool is_counted(const struct place *place, const struct al_ledger_entry *t)
{
	bool is_copy = t->tied_to && t->part == AL_PART_HEAD && !t->extra
		&& place->training->pp > 1;

	return (t->is_parameter || is_copy) && is_tensor_here(place, t)
		&& is_wanted(&place->training->share, t->part, t->is_in_layers);
}

/* Over how many devices a state of a tensor is shared out. */
static int64_t degree_of(const struct al_training *t, enum al_memory_state state, bool is_expert)
{
	static const int stage_of[] = {
		[AL_STATE_OPTIMIZER] = 1,
		[AL_STATE_GRADIENTS] = 2,
		[AL_STATE_WEIGHTS] = 3,
	};

	if (t->zero >= stage_of[state])
		return t->dp * t->cp; /* an expert is on dp*cp/ep devices to begin with */
	return is_expert ? t->ep : 1;
}

static bool add_states(const struct al_training *training, const struct al_ledger_entry *t,
	struct al_stage_memory *stage, struct al_error *err)
{
	bool ok = true;
	mpq_t bytes;

	mpq_init(bytes);
	for (int i = AL_STATE_WEIGHTS; ok && i <= AL_STATE_OPTIMIZER; i++) {
		const enum al_memory_state state = (enum al_memory_state)i;
		ok = al_entry_state(training->recipe, state, t, training->rank, bytes, err);
		al_exact_divide(bytes, degree_of(training, state, t->is_expert));
		al_exact_add(stage->bytes[state][t->part], bytes);
	}
	mpq_clear(bytes);
	return ok;
}

/* ---- activations ---- */

/* Of how many micro-batches a stage keeps what a layer saves (-1: what stands before the layers).
 *
 * 1F1B: a stage has begun as many micro-batches more than it has finished as stages follow it, and
 * one. Interleaved, each block works on pp micro-batches before the next one does; a stage begins
 * its first backward when pp*interleave + pp - 1 - 2*index blocks have gone forward: beyond one
 * round, the first block again, or short of it, the last one. */
static int64_t batches_in_flight(const struct place *place, int64_t layer, int64_t n_layers)
{
	int64_t pp = place->training->pp, interleave = place->training->interleave;
	int64_t round = layer < 0 ? 0 : block_of(place, layer, n_layers) / pp;
	int64_t beyond = pp - 1 - 2 * place->index;

	if (interleave == 1)
		return pp - place->index;
	if (beyond > 0)
		return round == 0 ? pp + beyond : pp;
	return round == interleave - 1 ? pp + beyond : pp;
}

static bool is_line_here(const struct place *place, const struct al_saved_entry *line)
{
	if (line->n_layers > 0)
		return is_layer_here(place, line->layer, line->n_layers);
	return line->is_first ? is_first(place) : is_last(place);
}

/* Full recomputation keeps the layers' inputs only, selective recomputation nothing of token x
 * token. */
static bool is_kept(const struct al_training *t, const struct al_saved_entry *line)
{
	if (line->is_input)
		return t->recompute == AL_RECOMPUTE_FULL;
	if (line->n_layers > 0 && t->recompute == AL_RECOMPUTE_FULL)
		return false;
	return line->per != AL_PER_PAIR || t->recompute == AL_RECOMPUTE_NONE;
}

/* In one step, unless the product is beyond 64 bits. */
static void multiply_by_tokens(const struct al_training *t, enum al_per per, mpq_t bytes)
{
	const int64_t own = per == AL_PER_SEQUENCE ? 1 : t->seq / t->cp;
	const int64_t others = per == AL_PER_PAIR ? t->seq : 1;
	int64_t factor;

	if (!__builtin_mul_overflow(t->batch, own, &factor)
		&& !__builtin_mul_overflow(factor, others, &factor)) {
		al_exact_multiply(bytes, factor);
		return;
	}
	al_exact_multiply(bytes, t->batch);
	al_exact_multiply(bytes, own);
	al_exact_multiply(bytes, others);
}

static void add_saved(const struct place *place, const struct al_saved_entry *line,
	struct al_stage_memory *stage)
{
	const struct al_training *t = place->training;
	bool is_on_each_device = mpq_equal(line->device, line->elements);
	mpq_t bytes;

	mpq_init(bytes);
	mpq_set(bytes, line->device);
	al_exact_multiply(bytes, line->bytes ? line->bytes : t->recipe->activation_bytes);
	multiply_by_tokens(t, line->per, bytes);
	if (is_on_each_device && t->is_sequence_parallel)
		al_exact_divide(bytes, t->tp);
	if (!line->is_last && t->pp > 1)
		al_exact_multiply(bytes, batches_in_flight(place, line->layer, line->n_layers));
	al_exact_add(stage->bytes[AL_STATE_ACTIVATIONS][line->part], bytes);
	mpq_clear(bytes);
}

static struct place place_of(const struct al_training *training, int64_t index)
{
	return (struct place){training, index};
}

/* A recipe's own rule: bytes a token and attention module. */
static void add_module(const struct al_ledger_module *module, const struct place *place,
	int64_t per_token, struct al_stage_memory *stage)
{
	const struct al_training *t = place->training;
	mpq_t bytes;

	if (!module->sees_text || !is_layer_here(place, module->layer, module->n_layers)
		|| !(t->share.parts >> AL_PART_ATTENTION & 1))
		return;
	mpq_init(bytes);
	mpq_set_si(bytes, (long)per_token, 1);
	al_exact_multiply(bytes, module->copies * module->uses);
	al_exact_multiply(bytes, t->batch);
	al_exact_multiply(bytes, t->seq / t->cp);
	al_exact_multiply(bytes, batches_in_flight(place, module->layer, module->n_layers));
	al_exact_add(stage->bytes[AL_STATE_ACTIVATIONS][AL_PART_ATTENTION], bytes);
	mpq_clear(bytes);
}

static bool add_rule(struct al_ledger *ledger, const struct al_training *t,
	struct al_stage_memory *stages, struct al_error *err)
{
	struct al_scope scope = al_settings_scope(&ledger->settings);
	int64_t per_token;

	if (!al_formula_whole(t->recipe->activations_per_token, &scope, 0, &per_token, err))
		return al_in(err, "recipe %s", t->recipe->name);
	for (int64_t index = 0; index < t->pp; index++) {
		const struct place place = place_of(t, index);
		for (size_t i = 0; i < ledger->n_modules; i++)
			add_module(&ledger->modules[i], &place, per_token, &stages[index]);
	}
	return true;
}

static bool add_activations(struct al_ledger *ledger, const struct al_training *t,
	struct al_stage_memory *stages, struct al_error *err)
{
	struct al_saved_entries saved;

	if (t->recipe->activations_per_token)
		return add_rule(ledger, t, stages, err);
	if (!al_ledger_saved(ledger, t->is_flash, &saved, err))
		return false;
	for (size_t i = 0; i < saved.n_sums; i++) {
		const struct al_saved_entry *line = &saved.sums[i];
		if (!is_kept(t, line) || !is_wanted(&t->share, line->part, line->n_layers > 0))
			continue;
		for (int64_t index = 0; index < t->pp; index++) {
			const struct place place = place_of(t, index);
			if (is_line_here(&place, line))
				add_saved(&place, line, &stages[index]);
		}
	}
	return true;
}

static void clear_stage(struct al_stage_memory *stage)
{
	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		for (int part = 0; part < AL_N_PARTS; part++)
			mpq_set_ui(stage->bytes[state][part], 0, 1);
}

bool al_ledger_train_activations(struct al_ledger *ledger, const struct al_training *t,
	struct al_stage_memory *stages, struct al_error *err)
{
	for (int64_t index = 0; index < t->pp; index++)
		clear_stage(&stages[index]);
	return al_training_check(t, err) && add_activations(ledger, t, stages, err);
}

/* ---- states, as long as nothing that they are made of changes ---- */

struct al_trained_states {
	uint64_t version; /* of the tensors */
	struct al_training training;
	struct al_stage_memory *stages; /* [training.pp] */
};

/* States don't ask how many tokens there are, nor what is saved of them. */
static bool have_same_states(const struct al_training *a, const struct al_training *b)
{
	return a->recipe == b->recipe && a->share.parts == b->share.parts
		&& a->share.only_layers == b->share.only_layers && a->pp == b->pp && a->dp == b->dp
		&& a->cp == b->cp && a->ep == b->ep && a->interleave == b->interleave
		&& a->zero == b->zero && a->rank == b->rank;
}

void al_trained_states_destroy(struct al_trained_states *states)
{
	for (int64_t i = 0; states && i < states->training.pp; i++)
		al_stage_memory_finish(&states->stages[i]);
	if (states)
		free(states->stages);
	free(states);
}

static struct al_trained_states *make_states(const struct al_training *t, uint64_t version)
{
	struct al_trained_states *states = al_calloc(1, sizeof(*states));

	*states = (struct al_trained_states){.version = version,
		.training = *t,
		.stages = al_calloc((size_t)t->pp, sizeof(*states->stages))};
	for (int64_t i = 0; i < t->pp; i++)
		al_stage_memory_init(&states->stages[i]);
	return states;
}

static bool add_all_states(const struct al_ledger_list *tensors, struct al_trained_states *states,
	struct al_error *err)
{
	for (int64_t index = 0; index < states->training.pp; index++) {
		const struct place place = place_of(&states->training, index);
		for (size_t i = 0; i < tensors->n; i++)
			if (is_counted(&place, &tensors->items[i])
				&& !add_states(&states->training, &tensors->items[i],
					&states->stages[index], err))
				return false;
	}
	return true;
}

/* Those of the ledger, made where the last ones are of something else; NULL: an error. */
static const struct al_trained_states *states_of(struct al_ledger *ledger,
	const struct al_training *t, struct al_error *err)
{
	const struct al_ledger_list *tensors;
	struct al_trained_states *states = ledger->trained;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return NULL;
	if (states && states->version == tensors->version && have_same_states(&states->training, t))
		return states;
	al_trained_states_destroy(states);
	ledger->trained = NULL;
	states = make_states(t, tensors->version);
	if (add_all_states(tensors, states, err))
		return ledger->trained = states;
	al_trained_states_destroy(states);
	return NULL;
}

bool al_ledger_train(struct al_ledger *ledger, const struct al_training *t,
	struct al_stage_memory *stages, struct al_error *err)
{
	const struct al_trained_states *states;

	if (!al_training_check(t, err) || !(states = states_of(ledger, t, err)))
		return false;
	for (int64_t index = 0; index < t->pp; index++)
		for (int state = 0; state < AL_N_TRAINING_STATES; state++)
			for (int part = 0; part < AL_N_PARTS; part++)
				mpq_set(stages[index].bytes[state][part],
					states->stages[index].bytes[state][part]);
	return add_activations(ledger, t, stages, err);
}
