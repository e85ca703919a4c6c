/* The options that lay a whole model over devices. */
#include "answer/devices.h"

#include "catalog/gpu.h"

const struct al_option_row al_weight_rows[] = {
	OPTION_FLAG(struct al_device_options, is_training, "train",
		"training memory instead of inference memory"),
	OPTION_TEXT(struct al_device_options, dtype, "dtype", "NAME",
		"number format of the weights: f32, bf16, fp8, q8_0, q4_k ..., or a quantization: "
		"q4_k_m, awq ... (list schemes; default: the model's, or bf16)"),
	OPTION_END,
};

const struct al_option_row al_device_rows[] = {
	WHOLE_ROW(struct al_device_options, is_whole),
	OPTION_TEXT(struct al_device_options, parts, "part", "A,B,C",
		"count only these parts: embedding, attention, feed_forward, norm, other, head, or "
		"layers (all that is inside layers)",
		.text = ""),
	OPTION_COUNT(struct al_device_options, training.zero, "zero", "STAGE",
		"ZeRO stage: 1 shards optimizer states, 2 also gradients, 3 also weights",
		.most = 3),
	OPTION_COUNT(struct al_device_options, training.tp, "tp", "N", "tensor-parallel devices",
		.fallback = 1, .least = 1),
	OPTION_COUNT(struct al_device_options, training.pp, "pp", "N", "pipeline stages",
		.fallback = 1, .least = 1),
	OPTION_COUNT(struct al_device_options, training.interleave, "interleave", "M",
		"interleaved schedule: M blocks of layers per pipeline stage", .fallback = 1,
		.least = 1),
	OPTION_COUNT(struct al_device_options, training.dp, "dp", "N", "data-parallel devices",
		.fallback = 1, .least = 1),
	OPTION_COUNT(struct al_device_options, training.cp, "cp", "N", "context-parallel devices",
		.fallback = 1, .least = 1),
	OPTION_COUNT(struct al_device_options, training.ep, "ep", "N",
		"expert-parallel devices (a subset of the data-parallel ones)", .fallback = 1,
		.least = 1),
	OPTION_COUNT(struct al_device_options, training.etp, "etp", "N",
		"tensor-parallel devices per expert in training (default: --tp); the rest of --tp "
		"hold other experts",
		.least = 1),
	OPTION_FLAG(struct al_device_options, training.is_sequence_parallel, "sp",
		"sequence parallelism (needs --tp of at least 2)"),
	OPTION_CHOICE(struct al_device_options, recompute, "recompute", "WHAT",
		"none, selective, full (save only the layers' inputs) or offloaded (not even "
		"these; "
		"default: the recipe's)",
		.words = al_recompute_names, .n_words = AL_N_RECOMPUTES, .fallback = -1),
	OPTION_COUNT(struct al_device_options, training.recompute_every, "recompute-every", "N",
		"full recomputation of each Nth layer only", .fallback = 1, .least = 1),
	OPTION_CHOICE(struct al_device_options, loss, "loss", "HOW",
		"unfused, chunked, fused (never holds all logits) or compiled",
		.words = al_loss_names, .n_words = AL_N_LOSSES, .fallback = AL_LOSS_UNFUSED),
	OPTION_FLAG(struct al_device_options, training.is_compiled, "compile",
		"layers are compiled by torch.compile"),
	OPTION_FLAG(struct al_device_options, training.has_adapter_dropout, "adapter-dropout",
		"adapters have dropout"),
	OPTION_TEXT(struct al_device_options, device, "device", "NAME|SIZE[xN]",
		"device by name or memory size: H100, 80GB, H200x8 (list devices)"),
	OPTION_TEXT(struct al_device_options, cache_dtype, "cache-dtype", "NAME",
		"number format of the KV cache (default: the model's, or bf16)"),
	OPTION_END,
};

static bool read_share(struct al_arena *arena, const char *parts, struct al_share *share,
	struct al_error *err)
{
	const char *names[AL_N_PARTS + 1];
	char *rest = al_strdup(arena, parts);

	for (int i = 0; i < AL_N_PARTS; i++)
		names[i] = al_part_names[i];
	names[AL_N_PARTS] = "layers";
	for (char *name = strtok_r(rest, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		const int found = al_find_name(name, names, AL_N_PARTS + 1);
		if (found < 0) {
			al_fail_unknown(err, "part", name, names, AL_N_PARTS + 1);
			return al_in(err, "--part");
		}
		share->only_layers |= found == AL_N_PARTS;
		share->parts |= found == AL_N_PARTS ? 0 : 1u << found;
	}
	if (!share->parts)
		share->parts = AL_ALL_PARTS;
	return true;
}

/* Batch is at least assumed; a context not every model has. */
static bool read_tokens(struct al_request *q, struct al_training *t, struct al_error *err)
{
	return al_request_assume(q, err) && al_request_number(q, "batch", 1, 1, &t->batch, err)
		&& al_request_number(q, "seq", 1, 0, &t->seq, err)
		&& (t->seq > 0
			|| al_fail(err, AL_EINPUT,
				"%s has no context length of its own: pass --seq N", q->title));
}

bool al_devices_init(struct al_training *t, const struct al_device_options *o,
	struct al_request *request, struct al_error *err)
{
	*t = o->training;
	t->recipe = request->recipe;
	t->is_flash = request->recipe->is_flash;
	t->recompute = o->recompute < 0 ? t->recipe->recompute : (enum al_recompute)o->recompute;
	t->loss = (enum al_loss_memory)o->loss;
	t->zero = al_most(t->zero, t->recipe->zero);
	if (t->recompute != AL_RECOMPUTE_NONE && request->recipe->activations_per_token)
		return al_fail(err, AL_EINPUT,
			"--recompute can't be used with recipe %s, which has its own rule for "
			"saved activations",
			request->recipe->name);
	if ((t->loss != AL_LOSS_UNFUSED || t->is_compiled) && t->recipe->n_saved == 0)
		return al_fail(err, AL_EINPUT,
			"--%s needs a recipe of PyTorch, such as bf16, autocast or fsdp; found %s",
			t->is_compiled ? "compile" : "loss", t->recipe->name);
	if (t->recompute_every > 1 && t->recompute < AL_RECOMPUTE_FULL)
		return al_fail(err, AL_EINPUT,
			"--recompute-every needs --recompute full or offloaded; found %s",
			al_recompute_names[t->recompute]);
	if (t->has_adapter_dropout && !t->recipe->trainable)
		return al_fail(err, AL_EINPUT,
			"--adapter-dropout can't be used with recipe %s, which trains all weights",
			t->recipe->name);
	return read_share(request->arena, o->parts, &t->share, err) && read_tokens(request, t, err)
		&& al_request_number(request, "rank", 1, 0, &t->rank, err);
}

/* Options that only one of the two answers hears. */
static const char *const of_training[] = {"recipe", "recompute", "optimizer", "adapters",
	"adapter-dropout", "loss", "compile", "recompute-every", "sp", "etp", "zero", "cp",
	"interleave"};
static const char *const of_inference[] = {"dtype", "cache-dtype", "engine", "block",
	"max-num-batched-tokens", "max-num-seqs", "max-model-len", "prefix-caching",
	"mamba-ssm-cache-dtype", "speculative-tokens", "draft", "kv-offloading-size", "utilization",
	"mtp"};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

bool al_devices_check_mode(const struct al_command_line *line, const struct al_device_options *o,
	struct al_error *err)
{
	const char *const *unheard = o->is_training ? of_inference : of_training;
	const size_t n = o->is_training ? COUNT(of_inference) : COUNT(of_training);

	for (size_t i = 0; i < line->n_given; i++) {
		const char *name = line->given[i].row->name;
		if (al_find_name(name, unheard, n) >= 0)
			return al_fail(err, AL_EINPUT,
				o->is_training
					? "--%s only applies to inference; remove it or --train"
					: "--%s only applies to training; add --train",
				name);
	}
	return true;
}

bool al_devices_refuse(const struct al_command_line *line, const struct al_request *request,
	struct al_error *err)
{
	const char *given = al_command_line_first_of(line, al_device_rows);

	return !given
		|| al_fail(err, AL_EINPUT,
			request->family
				? "--%s needs a whole model; add --whole"
				: "--%s needs a whole model, but only its attention is known",
			given);
}

void al_devices_note(const struct al_training *t, struct al_table *table)
{
	const struct al_formula *rule = t->recipe->activations_per_token;

	if (rule)
		al_table_note(table,
			"saves only the layers' inputs: %s bytes per token and attention block",
			al_formula_source(rule));
	if (t->tp * t->pp * t->dp * t->cp > 1) /* ep divides dp*cp */
		al_table_warn(table,
			"one of %lld devices: tp=%lld%s, pp=%lld%s, dp=%lld, cp=%lld, ep=%lld%s, "
			"ZeRO stage %lld",
			(long long)(t->tp * t->pp * t->dp * t->cp), (long long)t->tp,
			t->is_sequence_parallel ? " with sequence parallelism" : "",
			(long long)t->pp,
			t->interleave == 1
				? ""
				: al_format(&table->arena, " with %lld blocks of layers each",
					(long long)t->interleave),
			(long long)t->dp, (long long)t->cp, (long long)t->ep,
			t->etp ? al_format(&table->arena, ", etp=%lld", (long long)t->etp) : "",
			(long long)t->zero);
}

void al_note_nominal(const struct al_gpus *gpus, struct al_table *table)
{
	AL_TEXT(names);

	for (size_t i = 0; i < gpus->n; i++)
		if (gpus->items[i].is_nominal)
			al_text_addf(&names, "%s%s", names.length ? ", " : "", gpus->items[i].name);
	if (names.length > 0)
		(gpus->n > 1 ? al_table_note : al_table_warn)(table,
			"usable memory not measured, all of it counted: %s", names.data);
}

struct al_ledger *al_open_model(struct al_request *q,
	const struct al_configured_variant *configured, int64_t tp,
	enum al_tensor_list_detail detail, struct al_quantization *quantization,
	struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(q, configured, true);
	const struct al_ledger_list *tensors;

	ask.configured = configured;
	ask.tp = tp;
	ask.detail = detail;
	ask.quantization = quantization;
	if (!al_request_open_draft(q, &ask, err))
		return NULL;
	struct al_ledger *ledger = al_ledger_create(q->arena, &ask, err);
	if (!ledger || !al_ledger_list(ledger, AL_LIST_TENSORS, &tensors, err))
		return NULL;
	q->uncut = al_ledger_uncut(ledger);
	return ledger;
}

struct al_ledger *al_open_training(struct al_request *q,
	const struct al_configured_variant *configured, const struct al_training *t,
	struct al_error *err)
{
	return al_open_model(q, configured, t->tp,
		t->pp > 1 ? AL_TENSORS_BY_LAYER : AL_TENSORS_BY_KIND, NULL, err);
}
