/* memory --explain: where the bytes of training come from, of a model and of attention alone. */
#include "commands/explain.h"
#include "commands/memory.h"

#include "base/number.h"
#include "ledger/working.h"

/* ---- attention alone: each number ---- */

static const char *bytes_formula(struct al_arena *arena, const struct al_state_bytes *bytes)
{
	const char *sum = "";

	for (size_t i = 0; i < bytes->n_parts; i++)
		sum = bytes->parts[i].formula ? al_format(arena, "%s%s%s", sum, i ? " + " : "",
			      al_formula_source(bytes->parts[i].formula))
					      : al_format(arena, "%s%s%lld", sum, i ? " + " : "",
						      (long long)bytes->parts[i].bytes);
	return sum;
}

static void explain_state(struct al_table *table, const struct al_request *q, const char *variant,
	const char *of, const struct al_state_bytes *bytes)
{
	const char *sum = bytes_formula(&table->arena, bytes);

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
static bool explain_rule(struct al_table *table, const struct al_request *q,
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
static bool explain_saved(struct al_table *table, const struct al_request *q,
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

static bool explain_activations(struct al_table *table, const struct al_request *q,
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

static bool explain_ledger(struct al_table *table, const struct al_request *q, const char *variant,
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

static bool explain_variant(struct al_request *q, const struct al_configured_variant *configured,
	struct al_table *table, struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(q, configured, false);
	struct al_ledger ledger;

	ask.explains = true;
	if (!al_ledger_open(&ledger, &ask, err))
		return false;
	bool ok = explain_ledger(table, q, configured->name, &ledger, err);
	al_ledger_close(&ledger);
	return ok;
}

bool al_explain_attention(struct al_session *session, struct al_request *q, struct al_error *err)
{
	struct al_table *table = al_explain_table(session);

	for (size_t i = 0; i < q->variants.n; i++)
		if (!explain_variant(q, &q->variants.items[i], table, err))
			return false;
	return true;
}

/* ---- a model: its parts, the recipe's rules, what is saved ---- */

/* Which part of the model each state belongs to. */
static void add_parts(struct al_session *session, const struct al_training *t,
	const struct al_stage_memory *stage)
{
	struct al_table *table = al_session_table(session, "parts", "By part of the model");
	mpq_t sum;

	al_table_add_column(table,
		(struct al_column){.key = "part", .title = "Part", .is_key = true});
	for (int state = 0; state <= AL_TRAINING_TOTAL; state++)
		if (al_training_is_told(t, state))
			al_table_add_column(table,
				(struct al_column){.key = al_training_state_name(state),
					.title = al_training_state_title(state),
					.unit = "B",
					.quantity = AL_QUANTITY_BYTES,
					.digits = AL_DIGITS_ALL});
	mpq_init(sum);
	for (int part = 0; part < AL_N_PARTS; part++) {
		struct al_cell *cell = al_table_add_row(table);
		mpq_set_ui(sum, 0, 1);
		al_cell_set_text(table, cell++, al_part_names[part]);
		for (int state = 0; state < AL_TRAINING_TOTAL; state++) {
			if (al_training_is_told(t, state))
				al_cell_set_exact(table, cell++, stage->bytes[state][part]);
			mpq_add(sum, sum, stage->bytes[state][part]);
		}
		al_cell_set_exact(table, cell, sum);
	}
	mpq_clear(sum);
}

/* ---- where the bytes come from ---- */

static void add_rules(struct al_session *session, const struct al_request *q)
{
	struct al_table *table = al_session_table(session, "rules", "Bytes per parameter");
	const struct al_recipe *r = q->recipe;
	const struct al_state_bytes *const of[] = {&r->weights, &r->gradients, &r->optimizer};

	al_table_add_column(table,
		(struct al_column){.key = "state", .title = "State", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "bytes", .title = "Bytes per parameter"});
	al_table_add_column(table, (struct al_column){.key = "source", .title = "Source"});
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_text(table, cell++, al_memory_state_names[i]);
		al_cell_set_text(table, cell++, bytes_formula(&table->arena, of[i]));
		al_cell_set_text(table, cell, r->source);
	}
	if (r->activations_per_token) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_text(table, cell++, "activations");
		al_cell_set_text(table, cell++,
			al_format(&table->arena, "%s per token and attention module",
				al_formula_source(r->activations_per_token)));
		al_cell_set_text(table, cell, r->source);
	}
	al_table_note(table, "multiply by the parameters on one device (see `count --tensors`)");
}

static void add_saved_row(struct al_table *table, const struct al_saved_entry *line,
	const struct al_recipe *r)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, al_part_names[line->part]);
	al_cell_set_text(table, cell++, line->name);
	al_cell_set_exact(table, cell++, line->elements);
	al_cell_set_text(table, cell++, line->per == AL_PER_PAIR ? "pair of tokens" : "token");
	al_cell_set_int(table, cell++, al_saved_bytes(line, r));
	al_cell_set_text(table, cell,
		line->is_input			   ? "full"
			: line->per == AL_PER_PAIR ? "none"
			: line->n_layers > 0	   ? "none, selective"
						   : "none, selective, full");
}

/* Every tensor that is saved for backward, of the whole model on one device. */
static bool add_saved(struct al_session *session, struct al_request *q, const struct al_training *t,
	struct al_error *err)
{
	struct al_table *table = al_session_table(session, "saved", "What is saved for backward");
	struct al_saved_entries saved;
	struct al_ledger ledger;

	if (!al_open_model(q, NULL, 1, AL_TENSORS_BY_KIND, NULL, &ledger, err))
		return false;
	al_table_add_column(table,
		(struct al_column){.key = "part", .title = "Part", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "tensor", .title = "Tensor", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "numbers",
			.title = "Numbers",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL});
	al_table_add_column(table, (struct al_column){.key = "per", .title = "For each"});
	al_table_add_column(table,
		(struct al_column){.key = "bytes", .title = "Bytes each", .digits = AL_DIGITS_ALL});
	al_table_add_column(table,
		(struct al_column){.key = "kept", .title = "Saved with recompute"});
	bool ok = al_ledger_saved(&ledger, t->is_flash, &saved, err);
	for (size_t i = 0; ok && i < saved.n; i++)
		add_saved_row(table, &saved.lines[i], q->recipe);
	al_ledger_close(&ledger);
	return ok;
}

/* ---- what else is held ---- */

static void add_working_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "term", .title = "Term", .is_key = true},
		{.key = "during", .title = "Held during", .is_key = true},
		{.key = "when", .title = "Condition"},
		{.key = "formula", .title = "Bytes of a device"},
		{.key = "bytes",
			.title = "Memory",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "peak", .title = "In the peak"},
		{.key = "source", .title = "Source"},
	};

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

static void add_working_row(struct al_table *table, const struct al_working_row *row)
{
	const struct al_working_term *term = row->term;
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, term->name);
	al_cell_set_text(table, cell++, term->during ? term->during : "all of a step");
	al_cell_set_text(table, cell++, term->when ? al_formula_source(term->when) : "always");
	al_cell_set_text(table, cell++, al_formula_source(term->bytes));
	if (row->occurs)
		al_cell_set_exact(table, cell, row->bytes);
	cell++;
	al_cell_set_text(table, cell++, row->is_in_peak ? "yes" : "no");
	al_cell_set_text(table, cell, term->source);
}

static bool fill_working(struct al_table *table, struct al_request *q, const struct al_training *t,
	int64_t stage, struct al_error *err)
{
	const struct al_working_row *rows;
	struct al_ledger ledger;

	if (!al_open_training(q, NULL, t, &ledger, err))
		return false;
	bool ok = al_ledger_train_working(&ledger, t, stage, &rows, err);
	for (size_t i = 0; ok && i < t->recipe->n_working; i++)
		add_working_row(table, &rows[i]);
	al_ledger_close(&ledger);
	return ok;
}

/* What the recipe's framework holds beyond states and saved activations, term by term. */
static bool add_working(struct al_session *session, struct al_request *q,
	const struct al_training *t, int64_t stage, struct al_error *err)
{
	if (!al_training_has_working(t))
		return true;
	struct al_table *table = al_session_table(session, "working", "The working set");
	add_working_columns(table);
	if (!fill_working(table, q, t, stage, err))
		return false;
	al_table_note(table,
		"memory is fullest in one of the moments: the peak has what is held in all of a "
		"step, and the terms of the moment that adds most");
	return true;
}

bool al_explain_training(struct al_session *session, struct al_request *q,
	const struct al_training *t, const struct al_training_figures *figures,
	struct al_error *err)
{
	add_parts(session, t, &figures->stage);
	add_rules(session, q);
	return (q->recipe->activations_per_token || add_saved(session, q, t, err))
		&& add_working(session, q, t, figures->stage_index, err);
}
