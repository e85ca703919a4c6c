/* fit: the largest batch, context or model that a device holds, and models of equal size. */
#include "answer/fit.h"

#include "report/claim.h"

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
	int64_t index;

	AL_STAGE_MEMORY(stage);
	bool ok = al_ledger_train_largest(f->ledger, &f->training, &index, &stage, err);
	for (int i = 0; ok && i < AL_N_TRAINING_STATES; i++)
		al_stage_memory_sum(&stage, (enum al_memory_state)i, f->states[i]);
	return ok;
}

/* An engine whose share is of weights and cache holds all else in the rest, as far as it goes. */
static void leave_to_rest(struct al_fit *f)
{
	mpq_ptr held = f->states[AL_STATE_ACTIVATIONS], overhead = f->states[AL_STATE_OVERHEAD];

	al_exact_add(held, overhead);
	mpq_set_ui(overhead, 0, 1);
	mpq_sub(held, held, f->rest);
	if (mpq_sgn(held) < 0)
		mpq_set_ui(held, 0, 1);
}

static bool take_inference(struct al_fit *f, struct al_error *err)
{
	AL_ENDS(al_inference_rows_finish) struct al_inference_row rows[AL_N_STATES];

	al_inference_rows_init(rows);
	bool ok = al_ledger_infer_largest(f->ledger, &f->inference, rows, err);
	for (int i = 0; ok && i < AL_N_STATES; i++)
		mpq_set(f->states[i], rows[i].bytes);
	if (f->request->engine.engine->covers == AL_COVERS_STATIC)
		leave_to_rest(f);
	return ok;
}

static struct al_ledger *open_ledger(struct al_fit *f, struct al_error *err)
{
	const struct al_inference *i = &f->inference;

	return f->is_inference ? al_open_model(f->request, f->configured, i->tp,
		       al_inference_detail(i), i->weights, err)
			       : al_open_training(f->request, f->configured, &f->training, err);
}

static bool evaluate(void *context, int64_t x, mpq_t out, struct al_error *err)
{
	struct al_fit *f = context;

	if (fit_only_tokens(f))
		set_tokens(f, x);
	else
		al_ledger_set(f->ledger, f->symbol, x);
	if (!(f->is_inference ? take_inference : take_training)(f, err))
		return !fit_only_tokens(f) && al_in(err, "%s = %lld", f->symbol, (long long)x);
	mpq_set_ui(out, 0, 1);
	for (int i = 0; i < AL_N_STATES; i++)
		al_exact_add(out, f->states[i]);
	return true;
}

/* ---- the answer ---- */

struct record {
	const char *variant, *symbol;
	int64_t value, next;
	mpq_srcptr bytes, next_bytes, memory;
	struct al_titled binds;
};

enum { WITH_VARIANT = 1 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct record, symbol, "Solved for")},
	{AL_SHOW_COUNT(struct record, value, "Largest")},
	{AL_SHOW_BYTES(struct record, bytes, "Needs")},
	{AL_SHOW_COUNT(struct record, next, "Next larger")},
	{AL_SHOW_BYTES(struct record, next_bytes, "Would need")},
	{AL_SHOW_BYTES(struct record, memory, "Memory")},
	{AL_SHOW(struct record, binds, "Limited by")},
	AL_FIELDS_END,
};

static struct record begin_record(const struct al_fit *f, mpq_srcptr memory)
{
	return (struct record){.variant = f->configured ? f->configured->name : NULL,
		.symbol = f->symbol,
		.value = INT64_MIN,
		.next = INT64_MIN,
		.memory = memory};
}

/* What a size takes, in whole bytes: a block of a quantisation may end within one; a device's
 * memory doesn't. */
static bool take(struct al_fit *f, int64_t x, mpq_srcptr *out, struct al_error *err)
{
	mpq_ptr bytes = al_exact_new(&f->session->arena);

	*out = bytes;
	if (!evaluate(f, x, bytes, err))
		return false;
	mpz_cdiv_q(mpq_numref(bytes), mpq_numref(bytes), mpq_denref(bytes));
	mpz_set_ui(mpq_denref(bytes), 1);
	return true;
}

/* The state that takes most of what the next size needs more than `before`. */
static struct al_titled find_binding(const struct al_fit *f, mpq_ptr before[AL_N_STATES])
{
	int found = 0;

	for (int i = 0; i < AL_N_STATES; i++) {
		mpq_sub(before[i], f->states[i], before[i]);
		if (mpq_cmp(before[i], before[found]) > 0)
			found = i;
	}
	return al_state_titled(found);
}

/* Where nothing fits, `before` is nothing. */
static bool add_answer(struct al_fit *f, struct al_table *table, mpq_srcptr memory,
	const struct al_largest *largest, struct al_error *err)
{
	struct record record = begin_record(f, memory);
	mpq_ptr before[AL_N_STATES];

	for (int i = 0; i < AL_N_STATES; i++)
		before[i] = al_exact_new(&f->session->arena);
	if (largest->fits) {
		record.value = largest->value;
		if (!take(f, largest->value, &record.bytes, err))
			return false;
		for (int i = 0; i < AL_N_STATES; i++)
			mpq_set(before[i], f->states[i]);
	} else
		f->session->answer_is_no = true;
	if (largest->has_next) {
		record.next = largest->next;
		if (!take(f, largest->next, &record.next_bytes, err))
			return false;
		record.binds = find_binding(f, before);
	}
	al_table_add_record(table, &record);
	return true;
}

/* A variant that doesn't declare what the sum needs: nobody knows what fits. */
static bool is_known(const struct al_fit *f, struct al_undeclared *out)
{
	return f->is_inference
		? al_inference_is_known(f->ledger, &f->inference, AL_N_STATES, false, out)
		: !(f->training.share.parts >> AL_PART_ATTENTION & 1)
			|| al_ledger_declares(f->ledger, AL_TOTAL, f->training.recipe, out);
}

static bool solve(struct al_fit *f, struct al_table *table, mpq_srcptr memory, struct al_error *err)
{
	const int64_t step = strcmp(f->symbol, "seq") == 0 ? f->training.cp : 1;
	/* fewer layers than blocks of them are no pipeline */
	const int64_t least = !f->is_inference && strcmp(f->symbol, "n_layers") == 0
		? f->training.pp * f->training.interleave
		: step;
	const struct al_growth growth = {evaluate, f, least, step, f->most_passed};
	struct record unknown = begin_record(f, memory);
	struct al_undeclared undeclared;
	struct al_largest largest;

	f->ledger = open_ledger(f, err);
	if (!f->ledger)
		return false;
	if (is_known(f, &undeclared))
		return (al_solve_largest(&growth, memory, &largest, err)
			       && add_answer(f, table, memory, &largest, err))
			|| al_in(err, "--solve %s", f->symbol);
	al_table_add_record(table, &unknown);
	al_note_undeclared(&undeclared, table);
	f->session->answer_is_no = true;
	return true;
}

/* ---- requests ---- */

/* What is solved for need not be given: it starts at 1. */
static bool read_options(struct al_fit *f, struct al_error *err)
{
	struct al_request *q = f->request;
	const struct al_device_options *o = &f->options->devices;
	int64_t batch;

	f->is_inference = o->is_inference;
	if ((fit_only_tokens(f) && !al_request_set(q, f->symbol, 1, err))
		|| !al_request_number(q, "batch", 0, -1, &batch, err)
		|| (batch < 0 && !al_request_set(q, "batch", 1, err)))
		return false;
	return al_devices_init(&f->training, o, q, err)
		&& (!f->is_inference
			|| (al_check_engine(q, true, err)
				&& al_inference_init(&f->inference, o, q, err)));
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
	mpq_ptr budget = al_exact_new(&f->session->arena);

	if (!read_options(f, err) || !find_budget(f, memory, budget, err))
		return false;
	mpq_sub(f->rest, memory, budget);
	if (!solve(f, table, budget, err))
		return false;
	if (is_last)
		note_budget(f, memory, budget, table);
	return true;
}

static bool fit_memory(struct al_fit *f, mpq_srcptr memory, struct al_error *err)
{
	struct al_request *q = f->request;
	struct al_table *table = al_session_table(f->session, "fit", fields,
		q->is_own ? 0 : WITH_VARIANT, "What fits of %s, the whole model%s", q->title,
		q->is_own ? "" : " with each variant as its attention");

	for (size_t i = 0; i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		if (!fit_variant(f, table, memory, i + 1 == q->variants.n, err))
			return false;
	}
	q->varied = (struct al_texts){&f->symbol, 1};
	al_note_request(q, true, table);
	if (!f->is_inference)
		al_note_recipe(q, table);
	al_fit_note(f, table, memory);
	al_session_claim(f->session, al_fit_summarize(&f->session->arena, table, f));
	al_fit_choose_digits(&f->session->style, table);
	return true;
}

/* ---- the command ---- */

/* Symbols that a model's shape depends on must divide each other; attention that compresses tokens
 * has no number for the first few of them. */
static int64_t most_passed(const struct al_fit *f)
{
	return strcmp(f->symbol, "batch") == 0	? 0
		: strcmp(f->symbol, "seq") == 0 ? 1 << 7
						: 1 << 12;
}

static bool fit(struct al_fit *f, struct al_error *err)
{
	const char *match = f->options->match, *device = f->options->devices.device;
	const char *size = f->options->memory ? f->options->memory : device;

	if (f->options->memory && device)
		return al_fail(err, AL_EINPUT,
			"--memory and --device both say what a device holds, expected one of them");
	const char *symbol = f->options->solve ? f->options->solve : match ? "d_ff" : "batch";
	mpq_ptr memory = al_exact_new(&f->session->arena);

	if (!al_request_is_about_model(f->request, true))
		return al_fail(err, AL_EINPUT,
			"--basis per=... asks for less than the model that is to fit");
	if (!match == !size)
		return al_fail(err, AL_EINPUT,
			"expected either --memory SIZE (or --device NAME with --inference) or "
			"--match parameters=VARIANT");
	if (!al_request_check_symbol(f->request, symbol, err))
		return al_in(err, "--solve");
	f->symbol = al_request_symbol(f->request, symbol);
	f->most_passed = most_passed(f);
	if (al_settings_is_asked(&f->request->settings, f->symbol))
		return al_fail(err, AL_EINPUT,
			"%s is given, and it is what is solved for%s: expected one of them", symbol,
			f->options->solve ? "" : " without --solve SYMBOL");
	if (match)
		return al_fit_parameters(f, match, err);
	return (size == device ? al_parse_device(&f->session->arena, size, memory, err)
			       : al_parse_size(&f->session->arena, size, memory, err))
		&& fit_memory(f, memory, err);
}

static bool answer(void *context, struct al_request *request, struct al_error *err)
{
	struct al_fit *f = context;

	f->request = request;
	for (int i = 0; i < AL_N_STATES; i++)
		f->states[i] = al_exact_new(request->arena);
	f->rest = al_exact_new(request->arena);
	return request->family
		? fit(f, err)
		: al_fail(err, AL_EINPUT, "%s: only its attention is known, expected a whole model",
			request->name);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_fit_options *o = session->options;
	struct al_fit f = {.session = session, .options = o};
	struct al_asked asked = o->asked;

	asked.only_modules = true;
	return al_devices_check_mode(&session->line, &o->devices, err)
		&& al_each_request(session, &asked, false, answer, &f, err);
}

const struct al_command al_command_fit = {
	.words = "MODEL",
	.examples = {"fit llama-3-8b --memory 80GiB --solve seq --inference --batch 8",
		"fit gpt2 --match parameters=mha --variant mqa --solve d_ff"},
	.options = groups,
	.options_size = sizeof(struct al_fit_options),
	.run = run,
};
