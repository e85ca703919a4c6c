/* memory --explain: where the bytes of training come from, of a model and of attention alone. */
#include "answer/explain.h"
#include "answer/memory.h"

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

	al_table_add_record(table,
		&(struct al_explanation){q->name, variant, of, "bytes per parameter", sum, sum,
			al_exact_from_int(&table->arena, bytes->total), 1, q->recipe->source});
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
		|| !al_ledger_modules(ledger, &modules, err))
		return false;
	al_table_add_record(table,
		&(struct al_explanation){q->name, variant, "activations", "bytes per token",
			al_formula_source(rule), substituted,
			al_exact_from_int(&table->arena, bytes), modules, q->recipe->source});
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
	mpq_ptr bytes = al_exact_new(q->arena);

	if (!al_ledger_symbol(ledger, "batch", 1, &batch, err)
		|| !al_ledger_symbol(ledger, "seq", 1, &seq, err))
		return false;
	mpq_set(bytes, line->elements);
	al_exact_divide(bytes, line->times);
	al_exact_multiply(bytes, batch);
	for (int i = 0; i < power; i++)
		al_exact_multiply(bytes, seq);
	al_exact_multiply(bytes, size);
	al_table_add_record(table,
		&(struct al_explanation){q->name, line->module->configured.name, "activations",
			entry->name,
			al_format(&table->arena, "%s * batch%s * %lld bytes", line->formula,
				tokens[power], (long long)size),
			al_format(&table->arena, "%s * %lld%s * %lld", line->substituted,
				(long long)batch, substituted_tokens(&table->arena, power, seq),
				(long long)size),
			bytes, line->times, line->source});
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
		al_explain_entry(table, q->name, variant, &tensors->items[i], "parameters");
	explain_state(table, q, variant, "weights", &q->recipe->weights);
	explain_state(table, q, variant, "gradients", &q->recipe->gradients);
	explain_state(table, q, variant, "optimizer", &q->recipe->optimizer);
	return q->recipe->activations_per_token ? explain_rule(table, q, ledger, variant, err)
						: explain_activations(table, q, ledger, err);
}

bool al_explain_attention(struct al_session *session, struct al_request *q, struct al_error *err)
{
	struct al_table *table = al_explain_table(session);

	for (size_t i = 0; i < q->variants.n; i++) {
		struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[i], false);
		ask.explains = true;
		struct al_ledger *ledger = al_ledger_create(q->arena, &ask, err);
		if (!ledger || !explain_ledger(table, q, q->variants.items[i].name, ledger, err))
			return false;
	}
	return true;
}

/* ---- a model: its parts, the recipe's rules, what is saved ---- */

struct part_record {
	const char *part;
	mpq_srcptr states[AL_N_TRAINING_STATES], sum;
};

enum { WITH_WORKING = 1 };

#define STATE(name, heading, state) \
	AL_COLUMN_BYTES(name, heading), AL_MEMBER(struct part_record, states[state])

static const struct al_table_field part_fields[] = {
	{AL_SHOW_KEY(struct part_record, part, "Part")},
	{STATE("weights", "weights", AL_STATE_WEIGHTS)},
	{STATE("gradients", "gradients", AL_STATE_GRADIENTS)},
	{STATE("optimizer", "optimizer", AL_STATE_OPTIMIZER)},
	{STATE("activations", "activations", AL_STATE_ACTIVATIONS)},
	{STATE("working", "working set", AL_STATE_WORKING), .when = WITH_WORKING},
	{AL_COLUMN_BYTES("total", "total"), AL_MEMBER(struct part_record, sum)},
	AL_FIELDS_END,
};

/* Which part of the model each state belongs to. */
static void add_parts(struct al_session *session, const struct al_training *t,
	const struct al_stage_memory *stage)
{
	struct al_table *table = al_session_table(session, "parts", part_fields,
		al_training_has_working(t) ? WITH_WORKING : 0, "By part of the model");

	for (int part = 0; part < AL_N_PARTS; part++) {
		mpq_ptr sum = al_exact_new(&session->arena);
		struct part_record record = {.part = al_part_names[part], .sum = sum};
		for (int state = 0; state < AL_N_TRAINING_STATES; state++) {
			record.states[state] = stage->bytes[state][part];
			mpq_add(sum, sum, stage->bytes[state][part]);
		}
		al_table_add_record(table, &record);
	}
}

struct rule_record {
	const char *state, *bytes, *source;
};

static const struct al_table_field rule_fields[] = {
	{AL_SHOW_KEY(struct rule_record, state, "State")},
	{AL_SHOW(struct rule_record, bytes, "Bytes per parameter")},
	{AL_SHOW(struct rule_record, source, "Source")},
	AL_FIELDS_END,
};

/* Sources of the bytes. */
static void add_rules(struct al_session *session, const struct al_request *q)
{
	struct al_table *table = al_session_table(session, "rules", rule_fields, 0,
		"Bytes per parameter");
	const struct al_recipe *r = q->recipe;
	const struct al_state_bytes *const of[] = {&r->weights, &r->gradients, &r->optimizer};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		al_table_add_record(table,
			&(struct rule_record){al_memory_state_names[i],
				bytes_formula(&table->arena, of[i]), r->source});
	if (r->activations_per_token)
		al_table_add_record(table,
			&(struct rule_record){"activations",
				al_format(&table->arena, "%s per token and attention module",
					al_formula_source(r->activations_per_token)),
				r->source});
	al_table_note(table, "multiply by the parameters on one device (see `count --tensors`)");
}

struct saved_record {
	struct al_saved_entry line;
	const char *part, *per, *kept;
	int64_t bytes;
};

static const struct al_table_field saved_fields[] = {
	{AL_SHOW_KEY(struct saved_record, part, "Part")},
	{AL_COLUMN_KEY("tensor", "Tensor"), AL_MEMBER(struct saved_record, line.name)},
	{AL_COLUMN_COUNT("numbers", "Numbers"), AL_MEMBER(struct saved_record, line.elements)},
	{AL_SHOW(struct saved_record, per, "Per")},
	{AL_SHOW_WHOLE(struct saved_record, bytes, "Bytes each")},
	{AL_SHOW(struct saved_record, kept, "Saved with --recompute")},
	AL_FIELDS_END,
};

/* Every tensor that is saved for backward, of the whole model on one device. */
static bool add_saved(struct al_session *session, struct al_request *q, const struct al_training *t,
	struct al_error *err)
{
	struct al_table *table = al_session_table(session, "saved", saved_fields, 0,
		"Tensors saved for the backward pass");
	struct al_ledger *ledger = al_open_model(q, NULL, 1, AL_TENSORS_BY_KIND, NULL, err);
	const struct al_saving saving = al_training_saving(t);
	struct al_saved_entries saved;

	if (!ledger || !al_ledger_saved(ledger, &saving, &saved, err))
		return false;
	for (size_t i = 0; i < saved.n; i++) {
		const struct al_saved_entry *line = &saved.lines[i];
		const bool is_pair = line->per == AL_PER_PAIR;
		al_table_add_record(table,
			&(struct saved_record){*line, al_part_names[line->part],
				is_pair ? "pair of tokens" : "token",
				line->is_input		     ? "full"
					: is_pair	     ? "none"
					: line->n_layers > 0 ? "none, selective"
							     : "none, selective, full",
				al_saved_bytes(line, q->recipe)});
	}
	return true;
}

/* ---- what else is held ---- */

struct working_record {
	const char *name, *during, *when, *formula, *peak, *source;
	mpq_srcptr bytes;
};

static const struct al_table_field working_fields[] = {
	{AL_COLUMN_KEY("term", "Term"), AL_MEMBER(struct working_record, name)},
	{AL_SHOW_KEY(struct working_record, during, "During")},
	{AL_SHOW(struct working_record, when, "Condition")},
	{AL_SHOW(struct working_record, formula, "Bytes per device")},
	{AL_SHOW_BYTES(struct working_record, bytes, "Memory")},
	{AL_SHOW(struct working_record, peak, "In the peak")},
	{AL_SHOW(struct working_record, source, "Source")},
	AL_FIELDS_END,
};

/* The framework's working set beyond states and saved activations, term by term. */
static bool add_working(struct al_session *session, struct al_request *q,
	const struct al_training *t, int64_t stage, struct al_error *err)
{
	const struct al_working_row *rows;

	if (!al_training_has_working(t))
		return true;
	struct al_table *table = al_session_table(session, "working", working_fields, 0,
		"The working set");
	struct al_ledger *ledger = al_open_training(q, NULL, t, err);
	if (!ledger || !al_ledger_train_working(ledger, t, stage, &rows, err))
		return false;
	for (size_t i = 0; i < t->recipe->n_working; i++) {
		const struct al_working_term *term = rows[i].term;
		al_table_add_record(table,
			&(struct working_record){term->name,
				term->during ? term->during : "the whole step",
				term->when ? al_formula_source(term->when) : "always",
				al_formula_source(term->bytes), rows[i].is_in_peak ? "yes" : "no",
				term->source, rows[i].occurs ? rows[i].bytes : NULL});
	}
	al_table_note(table,
		"the peak is the memory held during the whole step plus the largest of the "
		"temporary terms");
	return true;
}

bool al_explain_training(struct al_session *session, struct al_request *q,
	const struct al_training *t, const struct al_memory_figures *figures, struct al_error *err)
{
	add_parts(session, t, figures->stage);
	add_rules(session, q);
	return (q->recipe->activations_per_token || add_saved(session, q, t, err))
		&& add_working(session, q, t, figures->stage_index, err);
}
