/* fit: the largest batch, context or model that a device holds, and models of equal size. */
#include "commands/fit.h"

#include <string.h>

#include "base/number.h"
#include "commands/summary.h"

static const struct al_option_row fit_rows[] = {
	OPTION_TEXT(struct al_fit_options, memory, "memory", "SIZE",
		"what a device holds: 80GiB or 80G (2^30), 80GB (10^9), a number of bytes, or the "
		"device: H100"),
	OPTION_TEXT(struct al_fit_options, solve, "solve", "SYMBOL",
		"what may grow: batch (default), seq, n_layers, any symbol"),
	OPTION_TEXT(struct al_fit_options, match, "match", "parameters=VARIANT",
		"the model with as many parameters as with this variant"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_setting_rows, offsetof(struct al_fit_options, asked)},
	{al_variant_rows, offsetof(struct al_fit_options, asked)},
	{al_recipe_rows, offsetof(struct al_fit_options, asked)},
	{al_weight_rows, offsetof(struct al_fit_options, devices)},
	{al_engine_rows, offsetof(struct al_fit_options, asked)},
	{al_device_rows, offsetof(struct al_fit_options, devices)}, {fit_rows, 0}, {NULL, 0}};

/* ---- what a size takes ---- */

/* The symbol is batch or seq: the model stays the same. */
static bool fit_only_tokens(const struct al_fit *f)
{
	return strcmp(f->symbol, "batch") == 0 || strcmp(f->symbol, "seq") == 0;
}

int64_t al_fit_most_passed(const struct al_fit *f)
{
	return fit_only_tokens(f) ? 0 : INT64_C(1) << 12;
}

static void set_tokens(struct al_fit *f, int64_t x)
{
	bool is_batch = strcmp(f->symbol, "batch") == 0;

	if (is_batch)
		f->inference.batch = al_divide_up(x, f->training.dp);
	if (is_batch)
		f->training.batch = x;
	else
		f->training.seq = f->inference.seq = f->inference.source_seq = x;
}

static bool take_training(struct al_fit *f, struct al_error *err)
{
	struct al_stage_memory stage;
	int64_t index;

	al_stage_memory_init(&stage);
	bool ok = al_train_stages(&f->ledger, &f->training, &stage, &index, err);
	for (int i = 0; ok && i < AL_N_TRAINING_STATES; i++)
		al_stage_memory_sum(&stage, (enum al_memory_state)i, f->states[i]);
	al_stage_memory_finish(&stage);
	return ok;
}

static bool take_inference(struct al_fit *f, struct al_error *err)
{
	struct al_inference_row rows[AL_N_STATES];

	al_inference_rows_init(rows);
	bool ok = al_ledger_infer_largest(&f->ledger, &f->inference, rows, err);
	for (int i = 0; ok && i < AL_N_INFERENCE_STATES; i++)
		mpq_set(f->states[i], rows[al_inference_states[i]].bytes);
	if (f->request->engine.engine->covers == AL_COVERS_STATIC)
		for (int i = 0; i < AL_N_INFERENCE_STATES; i++)
			if (al_inference_states[i] == AL_STATE_ACTIVATIONS
				|| al_inference_states[i] == AL_STATE_OVERHEAD)
				mpq_set_ui(f->states[i], 0, 1);
	al_inference_rows_finish(rows);
	return ok;
}

static bool open_ledger(struct al_fit *f, struct al_error *err)
{
	const struct al_inference *i = &f->inference;

	return f->is_inference
		? al_open_model(f->request, f->configured, i->tp, al_inference_detail(i),
			i->weights, &f->ledger, err)
		: al_open_training(f->request, f->configured, &f->training, &f->ledger, err);
}

static bool measure(struct al_fit *f, int64_t x, struct al_error *err)
{
	if (fit_only_tokens(f)) {
		set_tokens(f, x);
		return f->is_inference ? take_inference(f, err) : take_training(f, err);
	}
	al_ledger_set(&f->ledger, f->symbol, x);
	return (f->is_inference ? take_inference(f, err) : take_training(f, err))
		|| al_in(err, "%s = %lld", f->symbol, (long long)x);
}

static bool evaluate(void *context, int64_t x, mpq_t out, struct al_error *err)
{
	struct al_fit *f = context;

	if (!measure(f, x, err))
		return false;
	mpq_set_ui(out, 0, 1);
	for (int i = 0; i < f->n_states; i++)
		al_exact_add(out, f->states[i]);
	return true;
}

/* ---- the answer ---- */

/* The state that takes most of what the next size needs more; where nothing fits, most of all. */
static bool find_binding(struct al_fit *f, const struct al_largest *largest, mpq_t total,
	mpq_t next, enum al_memory_state *out, struct al_error *err)
{
	mpq_t before[AL_FIT_STATES], grown, most;
	bool ok = true;
	int found = 0;

	for (int i = 0; i < AL_FIT_STATES; i++)
		mpq_init(before[i]);
	mpq_inits(grown, most, NULL);
	if (largest->fits)
		ok = evaluate(f, largest->value, total, err);
	for (int i = 0; ok && largest->fits && i < f->n_states; i++)
		mpq_set(before[i], f->states[i]);
	ok = ok && (!largest->has_next || evaluate(f, largest->next, next, err));
	for (int i = 0; ok && largest->has_next && i < f->n_states; i++) {
		mpq_sub(grown, f->states[i], before[i]);
		if (i > 0 && mpq_cmp(grown, most) <= 0)
			continue;
		mpq_set(most, grown);
		found = i;
	}
	*out = f->is_inference ? al_inference_states[found] : (enum al_memory_state)found;
	for (int i = 0; i < AL_FIT_STATES; i++)
		mpq_clear(before[i]);
	mpq_clears(grown, most, NULL);
	return ok;
}

static void add_columns(struct al_table *t, bool shows_variant)
{
	static const struct al_column columns[] = {
		{.key = "symbol", .title = "Solved for", .is_key = true},
		{.key = "value",
			.title = "Largest",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "bytes",
			.title = "Needs",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "next",
			.title = "Next larger",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "next_bytes",
			.title = "Would need",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "memory",
			.title = "Memory",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "binds", .title = "Limited by"},
	};

	if (shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_columns(t, columns, sizeof(columns) / sizeof(*columns));
}

/* A block of a quantisation may end within a byte; a device's memory doesn't. */
static void round_up(mpq_t bytes)
{
	mpz_cdiv_q(mpq_numref(bytes), mpq_numref(bytes), mpq_denref(bytes));
	mpz_set_ui(mpq_denref(bytes), 1);
}

static bool add_answer(struct al_fit *f, struct al_table *table, mpq_srcptr memory,
	const struct al_largest *largest, struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(table);
	enum al_memory_state binds;
	mpq_t total, next;

	mpq_inits(total, next, NULL);
	bool ok = find_binding(f, largest, total, next, &binds, err);
	round_up(total);
	round_up(next);
	if (ok) {
		if (!f->request->is_own)
			al_cell_set_text(table, cell++, f->configured->name);
		al_cell_set_text(table, &cell[0], f->symbol);
		if (largest->fits) {
			al_cell_set_int(table, &cell[1], largest->value);
			al_cell_set_exact(table, &cell[2], total);
		} else
			f->session->answer_is_no = true;
		al_cell_set_exact(table, &cell[5], memory);
		if (largest->has_next) {
			al_cell_set_int(table, &cell[3], largest->next);
			al_cell_set_exact(table, &cell[4], next);
			al_cell_set_titled(table, &cell[6], al_memory_state_names[binds],
				al_memory_state_titles[binds]);
		}
	}
	mpq_clears(total, next, NULL);
	return ok;
}

/* Fewer layers than blocks of them are no pipeline. */
static int64_t least_size(const struct al_fit *f, int64_t step)
{
	bool is_layers = !f->is_inference && strcmp(f->symbol, "n_layers") == 0;

	return is_layers ? f->training.pp * f->training.interleave : step;
}

/* A variant that doesn't declare what the sum needs: nobody knows what fits. */
static bool is_known(const struct al_fit *f, struct al_undeclared *out)
{
	return f->is_inference
		? al_inference_is_known(&f->ledger, &f->inference, AL_N_STATES, false, out)
		: !(f->training.share.parts >> AL_PART_ATTENTION & 1)
			|| al_ledger_declares(&f->ledger, AL_TOTAL, f->training.recipe, out);
}

static void add_unknown(struct al_fit *f, struct al_table *table, mpq_srcptr memory,
	const struct al_undeclared *undeclared)
{
	struct al_cell *cell = al_table_add_row(table);

	if (!f->request->is_own)
		al_cell_set_text(table, cell++, f->configured->name);
	al_cell_set_text(table, &cell[0], f->symbol);
	al_cell_set_exact(table, &cell[5], memory);
	al_note_undeclared(undeclared, table);
	f->session->answer_is_no = true;
}

static bool solve(struct al_fit *f, struct al_table *table, mpq_srcptr memory, struct al_error *err)
{
	bool is_seq = strcmp(f->symbol, "seq") == 0;
	const int64_t step = is_seq ? f->training.cp : 1;
	const struct al_growth growth = {evaluate, f, least_size(f, step), step,
		al_fit_most_passed(f)};
	struct al_undeclared undeclared;
	struct al_largest largest;
	bool ok = true;

	if (!open_ledger(f, err))
		return false;
	if (is_known(f, &undeclared))
		ok = al_solve_largest(&growth, memory, &largest, err)
			&& add_answer(f, table, memory, &largest, err);
	else
		add_unknown(f, table, memory, &undeclared);
	al_ledger_close(&f->ledger);
	return ok || al_in(err, "--solve %s", f->symbol);
}

/* ---- requests ---- */

/* What is solved for need not be given: it starts at 1. */
static bool read_options(struct al_fit *f, struct al_error *err)
{
	struct al_request *q = f->request;
	const struct al_setting *given;

	f->is_inference = f->options->devices.is_inference;
	f->n_states = f->is_inference ? AL_N_INFERENCE_STATES : AL_N_TRAINING_STATES;
	if (fit_only_tokens(f) && !al_request_set(q, f->symbol, 1, err))
		return false;
	if (!al_settings_get(&q->settings, "batch", &given, err)
		|| (!given && !al_request_set(q, "batch", 1, err)))
		return false;
	return al_devices_init(&f->training, &f->options->devices, q, err)
		&& al_devices_tokens(&f->training, q, err)
		&& (!f->is_inference
			|| al_inference_init(&f->inference, &f->options->devices, q, err));
}

/* The engine's share of a device's memory, in whole bytes. */
static bool find_budget(const struct al_fit *f, mpq_srcptr memory, mpq_t out, struct al_error *err)
{
	const struct al_inference *i = &f->inference;
	const struct al_engine_scope scope = {.choice = &f->request->engine,
		.tp = i->tp,
		.devices = i->tp * i->pp * f->training.dp};

	mpq_set_ui(out, 1, 1);
	if (f->is_inference && !al_engine_utilization(&scope, out, err))
		return false;
	mpq_mul(out, out, memory);
	al_exact_truncate(out, out, 0);
	return true;
}

static void note_budget(const struct al_fit *f, mpq_srcptr memory, mpq_srcptr budget,
	struct al_table *table)
{
	if (!f->is_inference)
		return;
	al_note_engine(f->request, table);
	al_note_cache_format(f->request, "cache-dtype", table);
	if (mpq_equal(memory, budget))
		return;
	al_table_note(table, "of %s the engine takes %s (%s bytes), for %s",
		al_text_of_bytes(&table->arena, memory), al_text_of_bytes(&table->arena, budget),
		al_exact_text(&table->arena, budget),
		f->request->engine.engine->covers == AL_COVERS_STATIC
			? "weights and cache; what a forward holds is in the rest"
			: "all that it holds");
}

static bool fit_variant(struct al_fit *f, struct al_table *table, mpq_srcptr memory, bool is_last,
	struct al_error *err)
{
	mpq_t budget;

	al_inference_finish(&f->inference);
	if (!read_options(f, err))
		return false;
	mpq_init(budget);
	bool ok = find_budget(f, memory, budget, err) && solve(f, table, budget, err);
	if (ok && is_last)
		note_budget(f, memory, budget, table);
	mpq_clear(budget);
	return ok;
}

static bool fit_memory(struct al_fit *f, mpq_srcptr memory, struct al_error *err)
{
	struct al_request *q = f->request;
	struct al_table *table = al_session_table(f->session, "fit",
		al_format(&f->session->arena, "What fits of %s, the whole model%s", q->title,
			q->is_own ? "" : " with each variant as its attention"));

	add_columns(table, !q->is_own);
	for (size_t i = 0; i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		if (!fit_variant(f, table, memory, i + 1 == q->variants.n, err))
			return false;
	}
	al_note_request(q, true, table);
	if (!f->is_inference)
		al_note_recipe(q, table);
	al_fit_note(f, table, memory);
	f->session->style.summary = al_fit_summarize(&f->session->arena, table, f);
	al_fit_choose_digits(&f->session->style, table);
	return true;
}

/* ---- the command ---- */

static bool answer(struct al_fit *f, struct al_error *err)
{
	const char *match = f->options->match, *device = f->options->devices.device;
	const char *size = f->options->memory ? f->options->memory : device;

	if (f->options->memory && device)
		return al_fail(err, AL_EINPUT,
			"--memory and --device both say what a device holds, expected one of "
			"them");
	const char *symbol = f->options->solve ? f->options->solve : match ? "d_ff" : "batch";
	bool ok;
	mpq_t memory;

	if (!al_request_is_about_model(f->request, true))
		return al_fail(err, AL_EINPUT,
			"--basis per=... asks for less than the model that is to fit");
	if (!match == !size)
		return al_fail(err, AL_EINPUT,
			"expected either --memory SIZE (or --device NAME with --inference) or "
			"--match "
			"parameters=VARIANT");
	if (!al_request_check_symbol(f->request, symbol, err))
		return al_in(err, "--solve");
	f->symbol = al_request_symbol(f->request, symbol);
	if (al_settings_is_asked(&f->request->settings, f->symbol))
		return al_fail(err, AL_EINPUT,
			"%s is given, and it is what is solved for%s: expected one of them", symbol,
			f->options->solve ? "" : " without --solve SYMBOL");
	if (match)
		return al_fit_parameters(f, match, err);
	mpq_init(memory);
	ok = (size == device ? al_parse_device(&f->session->arena, size, memory, err)
			     : al_parse_size(&f->session->arena, size, memory, err))
		&& fit_memory(f, memory, err);
	mpq_clear(memory);
	return ok;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_fit_options *o = session->options;
	struct al_request request;
	struct al_fit f = {.session = session, .options = o, .request = &request};
	struct al_asked asked = o->asked;

	asked.only_modules = true;
	if (!al_devices_check_mode(&session->line, &o->devices, err)
		|| !al_ask_request(&request, session, &asked, session->line.words[0], false,
			AL_BASIS_MODEL, err))
		return false;
	for (int i = 0; i < AL_FIT_STATES; i++)
		mpq_init(f.states[i]);
	bool ok = request.family
		? answer(&f, err)
		: al_fail(err, AL_EINPUT, "%s: only its attention is known, expected a whole model",
			request.name);
	for (int i = 0; i < AL_FIT_STATES; i++)
		mpq_clear(f.states[i]);
	al_inference_finish(&f.inference);
	al_request_finish(&request);
	return ok;
}

const struct al_command al_command_fit = {
	.words = "MODEL",
	.examples = {"fit llama-3-8b --memory 80GiB --solve seq --inference --batch 8",
		"fit gpt2 --match parameters=mha --variant mqa --solve d_ff"},
	.options = groups,
	.options_size = sizeof(struct al_fit_options),
	.least_words = 1,
	.most_words = 1,
	.run = run,
};
