/* memory: what a model takes by state; here attention alone, by variant and under a recipe. */
#include "commands/explain.h"
#include "commands/memory.h"

#include <string.h>

#include "base/number.h"

static const struct al_option_row rows[] = {
	EXPLAIN_ROW(struct al_memory_options, explains),
	OPTION_TEXT(struct al_memory_options, baseline, "baseline", "NAME",
		"the variant that savings compare with"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_setting_rows, offsetof(struct al_memory_options, asked)},
	{al_variant_rows, offsetof(struct al_memory_options, asked)},
	{al_recipe_rows, offsetof(struct al_memory_options, asked)},
	{al_weight_rows, offsetof(struct al_memory_options, devices)}, {rows, 0},
	{al_device_rows, offsetof(struct al_memory_options, devices)}, {NULL, 0}};

static const enum al_measure states[] = {AL_WEIGHTS, AL_GRADIENTS, AL_OPTIMIZER, AL_ACTIVATIONS,
	AL_TOTAL};
enum { N_STATES = sizeof(states) / sizeof(*states) };

/* ---- one variant: a row a state ---- */

static bool add_states(struct al_question *q, const struct al_configured_variant *configured,
	struct al_table *table, struct al_error *err)
{
	struct al_ledger ledger;
	bool ok = true;
	mpq_t bytes;

	if (!al_ledger_open_module(&ledger, configured, &q->settings, &q->basis, err))
		return false;
	mpq_init(bytes);
	for (int i = 0; ok && i < N_STATES; i++) {
		ok = al_ledger_measure(&ledger, states[i], q->recipe, bytes, err);
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], al_measures[states[i]].key);
		al_cell_set_exact(table, &row[1], bytes);
	}
	mpq_clear(bytes);
	al_ledger_close(&ledger);
	return ok;
}

static bool answer_one(struct al_question *q, struct al_table *table, struct al_error *err)
{
	al_table_add_column(table,
		(struct al_column){.key = "state", .title = "State", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "bytes",
			.title = "Memory",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL});
	return add_states(q, &q->variants.items[0], table, err);
}

/* ---- several variants: a row a variant ---- */

static bool find_baseline(struct al_question *q, struct al_session *session, size_t *out,
	struct al_error *err)
{
	const char *name = ((const struct al_memory_options *)session->options)->baseline;
	const char **names = al_new_array(&session->arena, const char *, q->variants.n + 1);

	for (size_t i = 0; i < q->variants.n; i++)
		names[i] = q->variants.items[i].name;
	int found = al_find_name(name ? name : "mha", names, q->variants.n);
	*out = found < 0 ? 0 : (size_t)found;
	return found >= 0 || !name || al_fail_unknown(err, "baseline", name, names, q->variants.n);
}

static bool measure_all(struct al_question *q, const struct al_configured_variant *configured,
	mpq_t *values, struct al_error *err)
{
	struct al_ledger ledger;
	bool ok = true;

	if (!al_ledger_open_module(&ledger, configured, &q->settings, &q->basis, err))
		return false;
	for (int i = 0; ok && i < N_STATES; i++)
		ok = al_ledger_measure(&ledger, states[i], q->recipe, values[i], err);
	ok = ok && al_ledger_measure(&ledger, AL_PARAMETERS, NULL, values[N_STATES], err);
	al_ledger_close(&ledger);
	return ok;
}

/* Percent of the baseline's total that is saved. */
static void set_saving(struct al_table *table, struct al_cell *cell, mpq_srcptr total,
	mpq_srcptr base)
{
	mpq_t saving;

	mpq_init(saving);
	if (al_exact_saving(saving, total, base))
		al_cell_set_exact(table, cell, saving);
	mpq_clear(saving);
}

static void add_variant_row(struct al_table *table, const char *name, mpq_t *values,
	mpq_srcptr base)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, name);
	al_cell_set_exact(table, cell++, values[N_STATES]);
	for (int i = 0; i < N_STATES; i++)
		al_cell_set_exact(table, cell++, values[i]);
	set_saving(table, cell, values[N_STATES - 1], base);
}

static bool answer_several(struct al_question *q, struct al_session *session,
	struct al_table *table, struct al_error *err)
{
	mpq_t values[N_STATES + 1], base;
	size_t baseline;
	bool ok = find_baseline(q, session, &baseline, err);

	al_table_add_column(table,
		(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_column(table, al_measure_column(AL_PARAMETERS));
	for (int i = 0; i < N_STATES; i++)
		al_table_add_column(table, al_measure_column(states[i]));
	al_table_add_column(table,
		(struct al_column){.key = "saving", .title = "Saving", .unit = "%", .digits = 2});
	for (int i = 0; i <= N_STATES; i++)
		mpq_init(values[i]);
	mpq_init(base);
	ok = ok && measure_all(q, &q->variants.items[baseline], values, err);
	if (ok)
		mpq_set(base, values[N_STATES - 1]);
	for (size_t i = 0; ok && i < q->variants.n; i++) {
		ok = measure_all(q, &q->variants.items[i], values, err);
		if (ok)
			add_variant_row(table, q->variants.items[i].name, values, base);
	}
	if (ok)
		al_table_note(table, "saving: against %s", q->variants.items[baseline].name);
	for (int i = 0; i <= N_STATES; i++)
		mpq_clear(values[i]);
	mpq_clear(base);
	return ok;
}

/* ---- explanations ---- */

const char *al_bytes_formula(struct al_arena *arena, const struct al_state_bytes *bytes)
{
	const char *sum = "";

	for (size_t i = 0; i < bytes->n_parts; i++)
		sum = bytes->parts[i].formula ? al_format(arena, "%s%s%s", sum, i ? " + " : "",
			      al_formula_source(bytes->parts[i].formula))
					      : al_format(arena, "%s%s%lld", sum, i ? " + " : "",
						      (long long)bytes->parts[i].bytes);
	return sum;
}

static void explain_state(struct al_table *table, const struct al_question *q, const char *variant,
	const char *of, const struct al_state_bytes *bytes)
{
	const char *sum = al_bytes_formula(&table->arena, bytes);

	al_explain(table,
		&(struct al_explanation){.model = q->name,
			.variant = variant,
			.of = of,
			.name = "bytes per parameter",
			.formula = sum,
			.substituted = sum,
			.result = al_exact_from_int(&table->arena, bytes->total),
			.times = 1,
			.source = q->recipe->source});
}

/* The rule that makes activations without looking at the variant. */
static bool explain_rule(struct al_table *table, const struct al_question *q,
	struct al_ledger *ledger, const char *variant, struct al_error *err)
{
	const struct al_formula *rule = q->recipe->activations_per_token;
	struct al_scope scope = al_settings_scope(al_ledger_settings(ledger));
	const char *substituted;
	int64_t bytes, modules;

	if (!al_formula_whole(rule, &scope, 0, &bytes, err)
		|| !al_formula_substituted(rule, &scope, &table->arena, &substituted, err)
		|| !al_ledger_modules(ledger, false, &modules, err))
		return false;
	al_explain(table,
		&(struct al_explanation){.model = q->name,
			.variant = variant,
			.of = "activations",
			.name = "bytes per token",
			.formula = al_formula_source(rule),
			.substituted = substituted,
			.result = al_exact_from_int(&table->arena, bytes),
			.times = modules,
			.source = q->recipe->source});
	return true;
}

/* "*2048^2" */
static const char *substituted_tokens(struct al_arena *arena, int power, int64_t seq)
{
	if (power == 0)
		return "";
	return al_format(arena, "*%lld%s", (long long)seq, power == 2 ? "^2" : "");
}

/* A saved tensor's bytes: elements, times tokens or pairs of tokens, times its size. */
static bool explain_saved(struct al_table *table, const struct al_question *q,
	struct al_ledger *ledger, const struct al_ledger_entry *line, struct al_error *err)
{
	const struct al_entry *entry = line->entry;
	static const char *const tokens[] = {"", "*seq", "*seq^2"};
	int power = entry->per == AL_PER_PAIR ? 2 : entry->per == AL_PER_TOKEN;
	int64_t size = entry->bytes ? entry->bytes : q->recipe->activation_bytes, batch, seq;
	mpq_t bytes;

	if (!al_ledger_symbol(ledger, "batch", 1, &batch, err)
		|| !al_ledger_symbol(ledger, "seq", 1, &seq, err))
		return false;
	mpq_init(bytes);
	mpq_set(bytes, line->elements);
	al_exact_divide(bytes, line->times);
	al_exact_multiply(bytes, batch);
	for (int i = 0; i < power; i++)
		al_exact_multiply(bytes, seq);
	al_exact_multiply(bytes, size);
	al_explain(table,
		&(struct al_explanation){.model = q->name,
			.variant = line->module->configured.name,
			.of = "activations",
			.name = entry->name,
			.formula = al_format(&table->arena, "%s * batch%s * %lld bytes",
				line->formula, tokens[power], (long long)size),
			.substituted = al_format(&table->arena, "%s * %lld%s * %lld",
				line->substituted, (long long)batch,
				substituted_tokens(&table->arena, power, seq), (long long)size),
			.result = bytes,
			.times = line->times,
			.source = line->source});
	mpq_clear(bytes);
	return true;
}

static bool explain_activations(struct al_table *table, const struct al_question *q,
	struct al_ledger *ledger, struct al_error *err)
{
	const struct al_ledger_list *saved;

	if (!al_ledger_list(ledger, q->recipe->is_flash ? AL_LIST_FLASH : AL_LIST_EAGER, &saved,
		    err))
		return false;
	for (size_t i = 0; i < saved->n; i++)
		if (!explain_saved(table, q, ledger, &saved->items[i], err))
			return false;
	return true;
}

static bool explain_ledger(struct al_table *table, const struct al_question *q, const char *variant,
	struct al_ledger *ledger, struct al_error *err)
{
	const struct al_ledger_list *tensors;

	if (!al_ledger_list(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++)
		al_explain_entry(table, q->name, variant, &tensors->items[i], "parameters", false);
	explain_state(table, q, variant, "weights", &q->recipe->weights);
	explain_state(table, q, variant, "gradients", &q->recipe->gradients);
	explain_state(table, q, variant, "optimizer", &q->recipe->optimizer);
	return q->recipe->activations_per_token ? explain_rule(table, q, ledger, variant, err)
						: explain_activations(table, q, ledger, err);
}

static bool explain_variant(struct al_question *q, const struct al_configured_variant *configured,
	struct al_table *table, struct al_error *err)
{
	struct al_ledger_ask ask = al_question_ask(q, configured, false);
	struct al_ledger ledger;

	ask.explains = true;
	if (!al_ledger_open(&ledger, &ask, err))
		return false;
	bool ok = explain_ledger(table, q, configured->name, &ledger, err);
	al_ledger_close(&ledger);
	return ok;
}

/* ---- the command ---- */

static bool answer(struct al_question *q, struct al_session *session, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_table *table = al_session_table(session, "memory",
		al_format(&session->arena, "Training memory of the attention in %s", q->title));
	bool ok = q->variants.n == 1 ? answer_one(q, table, err)
				     : answer_several(q, session, table, err);

	al_note_question(q, table);
	al_table_note(table, "recipe: %s (%s)", q->recipe->name, q->recipe->source);
	if (!ok || !o->explains)
		return ok;
	struct al_table *explanations = al_explain_table(session);
	for (size_t i = 0; ok && i < q->variants.n; i++)
		ok = explain_variant(q, &q->variants.items[i], explanations, err);
	return ok;
}

static bool answer_question(struct al_question *q, struct al_session *session, struct al_error *err)
{
	const struct al_memory_options *o = session->options;

	if (al_question_is_about_model(q, o->devices.is_whole))
		return o->devices.is_inference ? al_infer_answer(session, q, err)
					       : al_train_answer(session, q, err);
	return al_devices_refuse(&session->line, q, err) && answer(q, session, err);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_question question;

	if (session->line.n_words > 1)
		return al_train_answer(session, NULL, err);
	if (!al_ask_question(&question, session, &o->asked, session->line.words[0], true,
		    AL_BASIS_MODEL, err))
		return false;
	bool ok = answer_question(&question, session, err);
	al_question_finish(&question);
	return ok;
}

const struct al_command al_command_memory = {
	.words = "MODEL...|VARIANT",
	.examples = {"memory llama-3-8b --recipe megatron --batch 1 --seq 8192 --tp 8 --sp "
		     "--attention flash",
		"memory gpt3-175b --variants mha,skv,mhe-mul --basis output_projection=full "
		"--batch 1 --seq 2048"},
	.options = groups,
	.options_size = sizeof(struct al_memory_options),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
