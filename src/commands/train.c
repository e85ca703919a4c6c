/* memory, training: a whole model on one device. */
#include "commands/memory.h"

#include <string.h>

#include "base/number.h"

enum { TOTAL = AL_N_TRAINING_STATES };

static const char *state_name(int state)
{
	return state == TOTAL ? "total" : al_memory_state_names[state];
}

static void state_bytes(const struct al_stage_memory *stage, int state, mpq_t out)
{
	if (state == TOTAL)
		al_stage_memory_total(stage, out);
	else
		al_stage_memory_sum(stage, (enum al_memory_state)state, out);
}

static const struct al_configured_variant *variant_of(const struct al_question *q, size_t i)
{
	return q->is_own ? NULL : &q->variants.items[i];
}

/* ---- one model: a row a state ---- */

static void add_states(struct al_table *table, const struct al_stage_memory *stage)
{
	mpq_t bytes;

	al_table_add_column(table,
		(struct al_column){.key = "state", .title = "State", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "bytes",
			.title = "Memory",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL});
	mpq_init(bytes);
	for (int state = 0; state <= TOTAL; state++) {
		struct al_cell *row = al_table_add_row(table);
		state_bytes(stage, state, bytes);
		al_cell_set_text(table, &row[0], state_name(state));
		al_cell_set_exact(table, &row[1], bytes);
	}
	mpq_clear(bytes);
}

/* Which part of the model each state belongs to. */
static void add_parts(struct al_session *session, const struct al_stage_memory *stage)
{
	struct al_table *table = al_session_table(session, "parts", "By part of the model");
	mpq_t sum;

	al_table_add_column(table,
		(struct al_column){.key = "part", .title = "Part", .is_key = true});
	for (int state = 0; state <= TOTAL; state++)
		al_table_add_column(table,
			(struct al_column){.key = state_name(state),
				.unit = "B",
				.quantity = AL_QUANTITY_BYTES,
				.digits = AL_DIGITS_ALL});
	mpq_init(sum);
	for (int part = 0; part < AL_N_PARTS; part++) {
		struct al_cell *cell = al_table_add_row(table);
		mpq_set_ui(sum, 0, 1);
		al_cell_set_text(table, cell++, al_part_names[part]);
		for (int state = 0; state < TOTAL; state++) {
			al_cell_set_exact(table, cell++, stage->bytes[state][part]);
			mpq_add(sum, sum, stage->bytes[state][part]);
		}
		al_cell_set_exact(table, cell, sum);
	}
	mpq_clear(sum);
}

/* ---- where the bytes come from ---- */

static void add_rules(struct al_session *session, const struct al_question *q)
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
		al_cell_set_text(table, cell++, al_bytes_formula(&table->arena, of[i]));
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

static void add_saved_row(struct al_table *table, const struct al_saved_line *line,
	const struct al_recipe *r)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, al_part_names[line->part]);
	al_cell_set_text(table, cell++, line->name);
	al_cell_set_exact(table, cell++, line->elements);
	al_cell_set_text(table, cell++, line->per == AL_PER_PAIR ? "pair of tokens" : "token");
	al_cell_set_int(table, cell++, line->bytes ? line->bytes : r->activation_bytes);
	al_cell_set_text(table, cell,
		line->is_input			   ? "full"
			: line->per == AL_PER_PAIR ? "none"
			: line->n_layers > 0	   ? "none, selective"
						   : "none, selective, full");
}

/* Every tensor that is saved for backward, of the whole model on one device. */
static bool add_saved(struct al_session *session, struct al_question *q,
	const struct al_training *t, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "saved", "What is saved for backward");
	struct al_saved_lines saved;
	struct al_ledger ledger;

	if (!al_open_model(q, variant_of(q, 0), 1, AL_TENSORS_BY_KIND, &ledger, err))
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

static bool explain_whole(struct al_session *session, struct al_question *q,
	const struct al_training *t, const struct al_stage_memory *stage, struct al_error *err)
{
	add_parts(session, stage);
	add_rules(session, q);
	return q->recipe->activations_per_token || add_saved(session, q, t, err);
}

static void add_notes(struct al_table *table, const struct al_question *q,
	const struct al_training *t)
{
	al_note_question(q, table);
	al_table_note(table, "recipe: %s (%s)", q->recipe->name, q->recipe->source);
	al_devices_note(t, table);
}

static bool answer_one(struct al_session *session, struct al_question *q,
	const struct al_training *training, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_table *table = al_session_table(session, "memory",
		al_format(&session->arena, "Training memory of %s", q->title));
	struct al_stage_memory stage;
	int64_t index = 0;

	al_stage_memory_init(&stage);
	bool ok = al_train_largest(q, variant_of(q, 0), training, &stage, &index, err);
	if (ok) {
		add_states(table, &stage);
		add_notes(table, q, training);
		if (training->pp > 1)
			al_table_note(table, "the stage that needs most is number %lld of %lld",
				(long long)index + 1, (long long)training->pp);
		if (o->explains)
			ok = explain_whole(session, q, training, &stage, err);
	}
	al_stage_memory_finish(&stage);
	return ok;
}

/* ---- several models or variants: a row each ---- */

struct wide {
	struct al_session *session;
	const struct al_memory_options *options;
	struct al_table *table;
	bool shows_model, shows_variant, is_noted;
	mpq_t base; /* the total that savings compare with; 0: none */
};

static void add_columns(struct wide *w)
{
	struct al_table *t = w->table;

	if (w->shows_model)
		al_table_add_column(t,
			(struct al_column){.key = "model", .title = "Model", .is_key = true});
	if (w->shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_column(t, al_measure_column(AL_PARAMETERS));
	for (int i = 0; i <= TOTAL; i++)
		al_table_add_column(t, al_measure_column((enum al_measure)(AL_WEIGHTS + i)));
	if (w->shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "saving",
				.title = "Saving",
				.unit = "%",
				.digits = 2});
}

static bool count_parameters(struct al_question *q, const struct al_configured_variant *configured,
	mpq_t out, struct al_error *err)
{
	struct al_ledger ledger;

	if (!al_open_model(q, configured, 1, AL_TENSORS_BY_KIND, &ledger, err))
		return false;
	bool ok = al_ledger_count(&ledger, AL_COUNT_PARAMETERS, out, err);
	al_ledger_close(&ledger);
	return ok;
}

static void set_saving(struct wide *w, struct al_cell *cell, mpq_srcptr total)
{
	mpq_t saving;

	mpq_init(saving);
	if (al_exact_saving(saving, total, w->base))
		al_cell_set_exact(w->table, cell, saving);
	mpq_clear(saving);
}

static bool add_row(struct wide *w, struct al_question *q, size_t i,
	const struct al_training *training, struct al_error *err)
{
	struct al_stage_memory stage;
	int64_t index;
	mpq_t value;

	mpq_init(value);
	al_stage_memory_init(&stage);
	bool ok = al_train_largest(q, variant_of(q, i), training, &stage, &index, err)
		&& count_parameters(q, variant_of(q, i), value, err);
	if (ok) {
		struct al_cell *cell = al_table_add_row(w->table);
		if (w->shows_model)
			al_cell_set_titled(w->table, cell++, q->name, q->title);
		if (w->shows_variant)
			al_cell_set_titled(w->table, cell++, q->variants.items[i].name,
				q->variants.items[i].title ? q->variants.items[i].title
							   : q->variants.items[i].name);
		al_cell_set_exact(w->table, cell++, value);
		for (int state = 0; state <= TOTAL; state++) {
			state_bytes(&stage, state, value);
			al_cell_set_exact(w->table, cell++, value);
		}
		if (w->shows_variant)
			set_saving(w, cell, value);
	}
	al_stage_memory_finish(&stage);
	mpq_clear(value);
	return ok;
}

/* The total that savings compare with: --baseline, mha, or the first. */
static bool find_base(struct wide *w, struct al_question *q, const struct al_training *training,
	struct al_error *err)
{
	const char *name = w->options->baseline;
	const char **names = al_new_array(&w->session->arena, const char *, q->variants.n + 1);
	struct al_stage_memory stage;
	int64_t index;

	for (size_t i = 0; i < q->variants.n; i++)
		names[i] = q->variants.items[i].name;
	int found = al_find_name(name ? name : "mha", names, q->variants.n);
	if (found < 0 && name)
		return al_fail_unknown(err, "baseline", name, names, q->variants.n);
	al_stage_memory_init(&stage);
	bool ok = al_train_largest(q, variant_of(q, found < 0 ? 0 : (size_t)found), training,
		&stage, &index, err);
	al_stage_memory_total(&stage, w->base);
	al_stage_memory_finish(&stage);
	return ok;
}

static bool add_model(struct wide *w, struct al_question *q, struct al_error *err)
{
	struct al_training training;

	if (!al_devices_init(&training, &w->options->devices, q, err)
		|| !al_devices_tokens(&training, q, err)
		|| (w->shows_variant && !find_base(w, q, &training, err)))
		return false;
	for (size_t i = 0; i < q->variants.n; i++)
		if (!add_row(w, q, i, &training, err))
			return false;
	if (!w->is_noted)
		add_notes(w->table, q, &training);
	w->is_noted = true;
	return true;
}

static bool add_word(struct wide *w, const char *word, struct al_error *err)
{
	struct al_question q;

	if (!al_ask_question(&q, w->session, &w->options->asked, word, false, AL_BASIS_MODEL, err))
		return false;
	bool ok = al_question_is_about_model(&q, w->options->devices.is_whole)
		|| al_fail(err, AL_EINPUT, "%s: comparing several models needs %s", word,
			q.is_own ? "models whose parts are all known"
				 : "--whole (attention alone cannot be compared)");
	ok = ok && add_model(w, &q, err);
	al_question_finish(&q);
	return ok;
}

static bool answer_several(struct al_session *session, struct al_question *only,
	struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	const struct al_command_line *a = &session->line;
	struct wide w = {.session = session,
		.options = o,
		.shows_model = a->n_words > 1,
		.shows_variant = al_names_variants(&o->asked)};
	bool ok = true;

	w.table = al_session_table(session, "memory",
		only ? al_format(&session->arena, "Training memory of %s", only->title)
		     : "Training memory");
	add_columns(&w);
	mpq_init(w.base);
	if (only)
		ok = add_model(&w, only, err);
	for (size_t i = 0; ok && !only && i < a->n_words; i++)
		ok = add_word(&w, a->words[i], err);
	mpq_clear(w.base);
	return ok;
}

bool al_train_answer(struct al_session *session, struct al_question *q, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_training training;

	if (!q || !q->is_own)
		return answer_several(session, q, err);
	return al_devices_init(&training, &o->devices, q, err)
		&& al_devices_tokens(&training, q, err) && answer_one(session, q, &training, err);
}
