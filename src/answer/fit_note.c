/* All that an answer of `fit` hangs on, as the command that asks the same again. */

#include "answer/fit.h"

/* But for what is solved for, and what is as good as nothing. */
static void add_number(struct al_text *out, const struct al_fit *f, const char *option,
	int64_t value, int64_t least)
{
	if (value >= least && strcmp(option, f->symbol) != 0)
		al_text_addf(out, " --%s %lld", option, (long long)value);
}

static void add_settings(struct al_text *out, const struct al_fit *f)
{
	static const char *const tokens[] = {"batch", "seq", "rank"};
	const struct al_settings *asked = &f->request->asked;
	int64_t rank = f->training.rank ? f->training.rank : f->request->recipe->rank;

	for (size_t i = 0; i < asked->n; i++)
		if (al_find_name(asked->items[i].symbol, tokens, 3) < 0
			&& strcmp(asked->items[i].symbol, f->symbol) != 0)
			al_text_addf(out, " --set %s=%lld", asked->items[i].symbol,
				(long long)asked->items[i].value.integer);
	if (!f->is_inference && rank && strcmp(f->symbol, "rank") != 0)
		al_text_addf(out, " --set rank=%lld", (long long)rank);
	add_number(out, f, "batch", f->training.batch, 1);
	add_number(out, f, "seq", f->training.seq, 1);
}

/* As it is asked for: by its name, or by its file. */
static void add_variant(struct al_text *out, struct al_arena *arena,
	const struct al_configured_variant *configured)
{
	const struct al_variant *variant = configured->variant;
	const bool is_built_in = configured->is_all_own
		|| al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS), variant->name);

	const char *name = is_built_in
		? configured->name
		: al_format(arena, "%s%s", variant->file, configured->name + strlen(variant->name));

	al_text_addf(out, " --variant %s", al_shell_word(arena, name));
}

static void add_variants(struct al_text *out, const struct al_fit *f)
{
	const struct al_request *q = f->request;
	const struct al_texts *bases = &f->options->asked.bases;

	for (size_t i = 0; !q->is_own && i < q->variants.n; i++)
		add_variant(out, q->arena, &q->variants.items[i]);
	for (size_t i = 0; i < bases->n; i++)
		al_text_addf(out, " --basis %s", al_shell_word(q->arena, bases->items[i]));
	if (f->options->devices.is_whole)
		al_text_add(out, " --whole");
	if (*f->options->devices.parts)
		al_text_addf(out, " --part %s", f->options->devices.parts);
}

static void add_adapters(struct al_text *out, unsigned adapted)
{
	const char *before = " --adapters ";

	for (int i = 0; i < AL_N_ADAPTED; i++) {
		if (!(adapted >> i & 1))
			continue;
		al_text_addf(out, "%s%s", before, al_adapted_names[i]);
		before = ",";
	}
}

static void add_training(struct al_text *out, const struct al_fit *f)
{
	const struct al_training *t = &f->training;

	al_text_addf(out, " --train --recipe %s", t->recipe->name);
	if (!t->recipe->activations_per_token)
		al_text_addf(out, " --attention %s --recompute %s", t->is_flash ? "flash" : "eager",
			al_recompute_names[t->recompute]);
	if (t->recompute_every > 1)
		al_text_addf(out, " --recompute-every %lld", (long long)t->recompute_every);
	if (t->recipe->chosen)
		al_text_addf(out, " --optimizer %s", t->recipe->chosen->name);
	add_adapters(out, t->recipe->adapted);
	al_text_add(out, t->has_adapter_dropout ? " --adapter-dropout" : "");
	if (t->loss != AL_LOSS_UNFUSED)
		al_text_addf(out, " --loss %s", al_loss_names[t->loss]);
	al_text_add(out, t->is_compiled ? " --compile" : "");
	al_text_addf(out, " --zero %lld", (long long)t->zero);
	add_number(out, f, "tp", t->tp, 1);
	al_text_add(out, t->is_sequence_parallel ? " --sp" : "");
	add_number(out, f, "pp", t->pp, 1);
	add_number(out, f, "interleave", t->interleave, 1);
	add_number(out, f, "dp", t->dp, 1);
	add_number(out, f, "cp", t->cp, 1);
	add_number(out, f, "ep", t->ep, 1);
	add_number(out, f, "etp", t->etp, 1);
}

static void add_inference(struct al_text *out, const struct al_fit *f)
{
	const struct al_inference *i = &f->inference;
	const struct al_engine_choice *choice = &f->request->engine;

	if (!i->weights->is_config)
		al_text_addf(out, " --dtype %s", i->weights->name);
	if (!f->request->cache.is_declared)
		al_text_addf(out, " --cache-dtype %s", i->cache->name);
	al_text_addf(out, " --tp %lld", (long long)i->tp);
	add_number(out, f, "pp", i->pp, 2);
	add_number(out, f, "dp", f->training.dp, 2);
	add_number(out, f, "ep", i->ep, 2);
	if (!al_is_ideal(f->request)) {
		al_text_addf(out, " --engine %s@%s --block %lld", choice->engine->name,
			choice->engine->version, (long long)choice->block);
		/* those of several devices aren't the same */
		add_number(out, f, "max-num-batched-tokens",
			f->options->devices.device ? choice->chunk : choice->asked_chunk, 1);
		add_number(out, f, "max-num-seqs",
			f->options->devices.device ? choice->sequences : choice->asked_sequences,
			1);
		add_number(out, f, "max-model-len", choice->max_model_len, 1);
		add_number(out, f, "speculative-tokens", choice->speculated, 1);
	}
	if (choice->utilization)
		al_text_addf(out, " --utilization %s", choice->utilization);
	if (choice->state_dtype)
		al_text_addf(out, " --mamba-ssm-cache-dtype %s", choice->state_dtype);
	if (choice->has_mtp)
		al_text_add(out, " --mtp");
	if (f->request->offload)
		al_text_addf(out, " --kv-offloading-size %s", f->request->offload);
	if (f->request->draft)
		al_text_addf(out, " --draft %s",
			al_shell_word(f->request->arena, f->request->draft->name));
}

void al_fit_note_asked(const struct al_fit *f, struct al_table *table)
{
	const char *device = f->options->devices.device;

	AL_TEXT(text);
	al_text_add(&text, al_shell_word(&table->arena, f->request->name));
	if (device)
		al_text_addf(&text, " --device %s", al_shell_word(&table->arena, device));
	if (*f->symbol)
		al_text_addf(&text, " --solve %s", f->symbol);
	add_variants(&text, f);
	add_settings(&text, f);
	if (f->is_inference)
		add_inference(&text, f);
	else
		add_training(&text, f);
	al_table_note(table, "equivalent command with all defaults spelled out: attnledger fit %s",
		text.data);
}
