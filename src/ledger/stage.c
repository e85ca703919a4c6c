/* Pipeline stages, and the devices that share a tensor on one. */
#include "ledger/stage.h"

/* Blocks of layers are numbered through the model; each stage has every pp-th. */
static int64_t block_of(const struct al_stage *stage, int64_t layer, int64_t n_layers)
{
	return layer * stage->training->pp * stage->training->interleave / n_layers;
}

static int64_t first_layer(int64_t block, int64_t blocks, int64_t n_layers)
{
	return (block * n_layers + blocks - 1) / blocks;
}

bool al_stage_has_layer(const struct al_stage *stage, int64_t layer, int64_t n_layers)
{
	return layer < 0 || n_layers == 0
		|| block_of(stage, layer, n_layers) % stage->training->pp == stage->index;
}

int64_t al_stage_layers(const struct al_stage *stage, int64_t n_layers)
{
	const int64_t pp = stage->training->pp, blocks = pp * stage->training->interleave;
	int64_t n = 0;

	for (int64_t block = stage->index; block < blocks; block += pp)
		n += first_layer(block + 1, blocks, n_layers)
			- first_layer(block, blocks, n_layers);
	return al_most(n, 1);
}

bool al_stage_is_first(const struct al_stage *stage)
{
	return stage->index == 0;
}

bool al_stage_is_last(const struct al_stage *stage)
{
	return stage->index == stage->training->pp - 1;
}

bool al_stage_has_tensor(const struct al_stage *stage, const struct al_ledger_entry *t)
{
	if (!t->sees_text && !t->extra)
		return al_stage_is_first(stage); /* a tower makes what the first layer reads */
	if (t->is_in_layers)
		return al_stage_has_layer(stage, t->layer, t->n_layers);
	if (t->part == AL_PART_EMBEDDING
		|| (t->stored && t->stored->tensor->stage == AL_STAGE_FIRST))
		return al_stage_is_first(stage);
	return al_stage_is_last(stage);
}

/* 1F1B: a stage has begun as many micro-batches more than it has finished as stages follow it, and
 * one. Interleaved, each block works on pp micro-batches before the next one does; a stage begins
 * its first backward when pp*interleave + pp - 1 - 2*index blocks have gone forward: beyond one
 * round, the first block again, or short of it, the last one. */
int64_t al_stage_batches(const struct al_stage *stage, int64_t layer, int64_t n_layers)
{
	int64_t pp = stage->training->pp, interleave = stage->training->interleave;
	int64_t round = layer < 0 ? 0 : block_of(stage, layer, n_layers) / pp;
	int64_t beyond = pp - 1 - 2 * stage->index;

	if (interleave == 1)
		return pp - stage->index;
	if (beyond > 0)
		return round == 0 ? pp + beyond : pp;
	return round == interleave - 1 ? pp + beyond : pp;
}

static bool check_experts(struct al_ledger *ledger, const struct al_training *t,
	struct al_error *err)
{
	const struct al_ledger_list *tensors;
	const struct al_setting *n_experts;
	bool has_experts = false;

	if (t->ep <= 1 && !t->etp)
		return true;
	if (!al_ledger_list(ledger, AL_LIST_TENSORS, &tensors, err)
		|| !al_settings_get(&ledger->settings, "n_experts", &n_experts, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++)
		has_experts |= tensors->items[i].is_expert;
	if (!has_experts)
		return al_fail(err, AL_EINPUT,
			"--ep and --etp need experts, but the model has none");
	return !n_experts || n_experts->value.integer % t->ep == 0
		|| al_fail(err, AL_EINPUT, "n_experts (%lld) is not a multiple of ep (%lld)",
			(long long)n_experts->value.integer, (long long)t->ep);
}

bool al_stages_check(struct al_ledger *ledger, const struct al_training *t, struct al_error *err)
{
	if (!al_ledger_update(ledger, err))
		return false;
	for (size_t i = 0; i < ledger->n_modules; i++) {
		const struct al_ledger_module *module = &ledger->modules[i];
		if (module->sees_text && module->n_layers / t->pp < t->interleave)
			return al_fail(err, AL_EINPUT,
				"pp*interleave is %lld*%lld, more than the %lld layers of %s",
				(long long)t->pp, (long long)t->interleave,
				(long long)module->n_layers, module->name);
	}
	return check_experts(ledger, t, err);
}

int64_t al_training_etp(const struct al_training *t)
{
	return t->etp ? t->etp : t->tp;
}

void al_training_respread(const struct al_training *t, bool is_expert, mpq_t numbers)
{
	if (!is_expert || al_training_etp(t) == t->tp)
		return;
	al_exact_multiply(numbers, t->tp);
	al_exact_divide(numbers, al_training_etp(t));
}
