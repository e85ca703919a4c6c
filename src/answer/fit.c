/* fit: the largest batch, context or model that a device holds, and models of equal size. */
#include "answer/fit.h"

#include "answer/capacity.h"
#include "report/claim.h"

static const struct al_option_row fit_rows[] = {
	OPTION_TEXT(struct al_fit_options, solve, "solve", "SYMBOL",
		"symbol to maximize: batch, seq, n_layers or any other"),
	OPTION_TEXT(struct al_fit_options, match, "match", "parameters=VARIANT",
		"solve for the same parameter count as with this variant"),
	OPTION_TEXT(struct al_fit_options, log, "log", "FILE",
		"compare the log of an engine with what is counted by its settings"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct al_fit_options, asked)},
	{al_variant_rows, offsetof(struct al_fit_options, asked)},
	{al_recipe_rows, offsetof(struct al_fit_options, asked)},
	{al_weight_rows, offsetof(struct al_fit_options, devices)},
	{al_engine_rows, offsetof(struct al_fit_options, asked)},
	{al_capacity_rows, offsetof(struct al_fit_options, asked)},
	{al_device_rows, offsetof(struct al_fit_options, devices)}, {fit_rows, 0}, {NULL, 0}};

/* ---- what a size takes ---- */

static bool is_about_context(const struct al_fit *f)
{
	return strcmp(f->symbol, "seq") == 0;
}

/* The symbol is batch or seq: the model stays the same. */
static bool fit_only_tokens(const struct al_fit *f)
{
	return strcmp(f->symbol, "batch") == 0 || is_about_context(f);
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
	return al_fit_hold(f, out, err)
		|| (!fit_only_tokens(f) && al_in(err, "%s = %lld", f->symbol, (long long)x));
}

/* ---- the answer ---- */

struct record {
	const char *variant, *device, *symbol;
	int64_t value, by_memory, next;
	mpq_srcptr bytes, next_bytes, memory;
	struct al_titled binds;
};

enum { WITH_VARIANT = 1, WITH_DEVICE = 2, WITH_CONTEXT = 4 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, device, "Device"), .when = WITH_DEVICE},
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct record, symbol, "Solved for")},
	{AL_SHOW_COUNT(struct record, value, "Largest")},
	{AL_SHOW_BYTES(struct record, bytes, "Needs")},
	{AL_SHOW_COUNT(struct record, by_memory, "By memory alone"), .when = WITH_CONTEXT},
	{AL_SHOW_COUNT(struct record, next, "Next larger")},
	{AL_SHOW_BYTES(struct record, next_bytes, "Would need")},
	{AL_SHOW_BYTES(struct record, memory, "Memory")},
	{AL_SHOW(struct record, binds, "Limited by")},
	AL_FIELDS_END,
};

static struct record begin_record(const struct al_fit *f)
{
	return (struct record){.variant = f->configured ? f->configured->name : NULL,
		.device = f->gpu.name,
		.symbol = f->symbol,
		.value = INT64_MIN,
		.by_memory = INT64_MIN,
		.next = INT64_MIN,
		.memory = f->budget};
}

static bool take(struct al_fit *f, int64_t x, mpq_srcptr *out, struct al_error *err)
{
	mpq_ptr bytes = al_exact_new(&f->session->arena);

	*out = bytes;
	return evaluate(f, x, bytes, err);
}

/* The state that grows most from `before` to the next size. */
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

/* The largest that is offered: no context is longer than the model was made for. */
static int64_t offered(const struct al_fit *f, const struct al_largest *largest)
{
	const int64_t most = f->context - f->context % f->training.cp;

	return is_about_context(f) && most > 0 && largest->value > most ? most : largest->value;
}

/* If nothing fits, `before` is empty. */
static bool add_answer(struct al_fit *f, struct al_table *table, const struct al_largest *largest,
	struct al_error *err)
{
	struct record record = begin_record(f);
	mpq_ptr before[AL_N_STATES];

	for (int i = 0; i < AL_N_STATES; i++)
		before[i] = al_exact_new(&f->session->arena);
	if (largest->fits) {
		record.value = offered(f, largest);
		if (!largest->is_unbounded)
			record.by_memory = largest->value;
		if (!take(f, record.value, &record.bytes, err))
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
	if (largest->fits && record.value < largest->value)
		record.binds = (struct al_titled){"context", "model's context"};
	al_table_add_record(table, &record);
	return true;
}

bool al_fit_is_known(const struct al_fit *f, struct al_undeclared *out)
{
	return f->is_inference
		? al_inference_is_known(f->ledger, &f->inference, AL_N_STATES, false, out)
		: !(f->training.share.parts >> AL_PART_ATTENTION & 1)
			|| al_ledger_declares(f->ledger, AL_TOTAL, f->training.recipe, out);
}

static bool solve(struct al_fit *f, struct al_table *table, struct al_error *err)
{
	const int64_t step = is_about_context(f) ? f->training.cp : 1;
	/* fewer layers than blocks of them are no pipeline */
	const int64_t least = !f->is_inference && strcmp(f->symbol, "n_layers") == 0
		? f->training.pp * f->training.interleave
		: step;
	const struct al_growth growth = {evaluate, f, least, step, f->most_passed,
		is_about_context(f) && f->context > 0};
	struct al_undeclared undeclared;
	struct al_largest largest;

	if (al_fit_is_known(f, &undeclared))
		return (al_solve_largest(&growth, f->budget, &largest, err)
			       && add_answer(f, table, &largest, err))
			|| al_in(err, "--solve %s", f->symbol);
	struct record unknown = begin_record(f);
	al_table_add_record(table, &unknown);
	al_note_undeclared(&undeclared, table);
	f->session->answer_is_no = true;
	return true;
}

/* ---- requests ---- */

/* The symbol to solve for may be missing: it starts at 1. */
bool al_fit_begin(struct al_fit *f, const struct al_device_options *o, struct al_error *err)
{
	struct al_request *q = f->request;

	f->is_inference = !o->is_training;
	if ((fit_only_tokens(f) && !al_request_set(q, f->symbol, 1, err))
		|| !al_request_context(q, &f->context, err)
		|| !al_devices_init(&f->training, o, q, err)
		|| !(f->is_inference ? al_check_engine(q, true, err)
					&& al_inference_init(&f->inference, o, q, err)
				     : al_lay_out_device(q, o, &f->training, err)))
		return false;
	if (q->offload && !o->device)
		return al_fail(err, AL_EINPUT, "--kv-offloading-size needs --device");
	if (!al_capacity_check(q, err))
		return false;
	f->ledger = open_ledger(f, err);
	return f->ledger;
}

/* Does a layer cache latents? */
static bool has_latents(const struct al_request *q)
{
	const struct al_cache_entries cache = al_request_cache(q);
	bool has = false;

	for (size_t i = 0; i < cache.n; i++)
		has |= cache.lines[i].kind == AL_CACHE_LATENT;
	return has;
}

bool al_fit_take_device(struct al_fit *f, const struct al_gpu *gpu, struct al_error *err)
{
	const struct al_inference *i = &f->inference;
	const struct al_engine_scope scope = {.choice = &f->request->engine,
		.tp = i->tp,
		.devices = i->tp * i->pp,
		.has_latents = f->is_inference && has_latents(f->request)};
	struct al_arena *arena = &f->session->arena;
	mpq_ptr share = al_exact_new(arena), budget = al_exact_new(arena),
		rest = al_exact_new(arena), pool = al_exact_new(arena);
	int64_t before = 0;

	f->gpu = *gpu;
	mpq_set_ui(share, 1, 1);
	if (f->is_inference
		&& !(al_engine_settle(&f->request->engine, gpu, err)
			&& al_engine_utilization(&scope, share, err)
			&& al_engine_pool(&scope, pool, err)
			&& al_engine_bytes(&scope, scope.choice->engine->before, &before, err)))
		return false;
	al_exact_set(rest, before < gpu->usable ? gpu->usable - before : 0);
	if (f->is_inference && scope.choice->engine->covers >= AL_COVERS_CACHE)
		mpq_set(budget, rest);
	else
		mpq_mul(budget, share, rest);
	al_exact_truncate(budget, budget, 0);
	mpq_sub(rest, rest, budget);
	f->pool = pool;
	f->share = share;
	f->budget = budget;
	f->rest = rest;
	return true;
}

void al_fit_note(struct al_fit *f, struct al_table *table)
{
	struct al_request *q = f->request;

	if (f->is_inference) {
		al_note_engine(q, table);
		al_note_cache_format(q, "cache-dtype", table);
	}
	if (f->is_reserved)
		al_table_note(table,
			"memory is what PyTorch's allocator reserves, an estimate fitted to "
			"measured settings: six of seven of these are within 10 %%");
	if (mpq_sgn(f->rest) > 0)
		al_table_note(table, "%s uses %s %% of a device's memory, for %s",
			q->engine.engine->title,
			al_exact_text(&table->arena,
				al_exact_scaled(&table->arena, f->share, 100, 1)),
			q->engine.engine->covers == AL_COVERS_STATIC
				? "weights and cache; activations use the rest"
				: "everything it allocates");
	if (!is_about_context(f))
		al_note_context(q, f->training.seq, table);
	al_note_request(q, true, table);
	if (!f->is_inference)
		al_note_recipe(q, table);
	al_fit_note_asked(f, table);
}

static bool solve_variants(struct al_fit *f, const struct al_gpu *gpu, struct al_table *table,
	struct al_error *err)
{
	const struct al_request *q = f->request;

	for (size_t i = 0; i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		if (!al_fit_begin(f, &f->options->devices, err) || !al_fit_take_device(f, gpu, err)
			|| !solve(f, table, err))
			return false;
	}
	return true;
}

/* Of the row that fits, in the words of the engine's log. */
static bool say_capacity(struct al_fit *f, const struct al_table *table, const char **out,
	struct al_error *err)
{
	mpq_srcptr value = al_cell_exact(table, 0, "value");
	struct al_inference one = f->inference;
	struct al_capacity capacity;

	if (!f->is_inference || !value || !fit_only_tokens(f) || !al_capacity_is_known(f->request))
		return true;
	if (is_about_context(f))
		one.seq = one.source_seq = al_exact_whole(value);
	AL_EXACT(left);
	if (!al_capacity_left(f->ledger, f->request, &one, f->budget, left, err)
		|| !al_capacity_find(f->ledger, f->request, &one, left, &capacity, err))
		return false;
	*out = al_format(&f->session->arena, " %s",
		al_capacity_say(&f->session->arena, f->request, &capacity));
	return true;
}

static bool solve_devices(struct al_fit *f, const struct al_gpus *gpus, struct al_error *err)
{
	struct al_request *q = f->request;
	struct al_table *table = al_session_table(f->session, "fit", fields,
		(q->is_own ? 0 : WITH_VARIANT) | (gpus->n > 1 ? WITH_DEVICE : 0)
			| (is_about_context(f) ? WITH_CONTEXT : 0),
		"What fits: %s, whole model%s", q->title,
		q->is_own ? "" : " with each variant as its attention");

	for (size_t i = 0; i < gpus->n; i++)
		if (!solve_variants(f, &gpus->items[i], table, err))
			return false;
	q->varied = (struct al_texts){&f->symbol, 1};
	al_fit_note(f, table);
	al_note_nominal(gpus, table);
	if (gpus->n > 1)
		f->gpu = (struct al_gpu){0};
	else
		al_fit_choose_digits(&f->session->style, table);
	const char *capacity = "";
	if (table->n_rows == 1 && !say_capacity(f, table, &capacity, err))
		return false;
	al_session_claim(f->session,
		al_format(&f->session->arena, "%s%s",
			al_fit_summarize(&f->session->arena, table, f), capacity));
	return true;
}

/* ---- the command ---- */

/* Symbols that a model's shape depends on must divide each other; attention that compresses tokens
 * has no number for the first few of them. */
static int64_t most_passed(const struct al_fit *f)
{
	return is_about_context(f) ? 1 << 7 : fit_only_tokens(f) ? 0 : 1 << 12;
}

static int by_memory(const void *a, const void *b)
{
	const struct al_gpu *x = a, *y = b;
	const int order = al_compare(x->usable, y->usable);

	return order ? order : strcmp(x->name, y->name);
}

/* The device that is asked for, or all that have a name, from the smallest on. */
static bool find_devices(const struct al_fit *f, struct al_gpus *out, struct al_error *err)
{
	const char *name = f->options->devices.device;
	int64_t n;

	if (!name) {
		if (!al_gpus_load(&f->session->arena, out, err))
			return false;
		qsort(out->items, out->n, sizeof(*out->items), by_memory);
		return true;
	}
	*out = (struct al_gpus){al_new(&f->session->arena, struct al_gpu), 1};
	return al_gpu_parse(&f->session->arena, name, out->items, &n, err)
		|| al_in(err, "--device");
}

/* Without --solve the batch of one device is solved for, unless it is given. */
static const char *solved_for(const struct al_fit *f)
{
	const struct al_fit_options *o = f->options;

	if (o->solve)
		return o->solve;
	if (o->match)
		return "d_ff";
	return o->devices.device && !al_settings_is_asked(&f->request->settings, "batch") ? "batch"
											  : "";
}

static bool fit(struct al_fit *f, struct al_error *err)
{
	const char *symbol = solved_for(f), *match = f->options->match;
	struct al_gpus gpus;

	if (!al_request_is_about_model(f->request, true))
		return al_fail(err, AL_EINPUT, "fit needs the whole model; remove --basis per=...");
	if (match && f->options->devices.device)
		return al_fail(err, AL_EINPUT,
			"--match compares models of any size; remove --device or --match");
	if (*symbol && !al_request_check_symbol(f->request, symbol, err))
		return al_in(err, "--solve");
	f->symbol = *symbol ? al_request_symbol(f->request, symbol) : symbol;
	f->most_passed = most_passed(f);
	if (*symbol && al_settings_is_asked(&f->request->settings, f->symbol))
		return al_fail(err, AL_EINPUT, "cannot both set %s and solve for it%s", symbol,
			f->options->solve ? "" : "; use --solve SYMBOL for another");
	if (match)
		return al_fit_parameters(f, match, err);
	return find_devices(f, &gpus, err)
		&& (*symbol ? solve_devices : al_fit_devices)(f, &gpus, err);
}

static bool answer(void *context, struct al_request *request, struct al_error *err)
{
	struct al_fit *f = context;

	f->request = request;
	for (int i = 0; i < AL_N_STATES; i++)
		f->states[i] = al_exact_new(request->arena);
	if (!request->family)
		return al_fail(err, AL_EINPUT,
			"fit needs a whole model, but only the attention of %s is known",
			request->title);
	if (!fit(f, err))
		return false;
	if (!f->options->match)
		al_request_next_fit(request, f->session, f->options->devices.is_training, NULL);
	return true;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_fit_options *o = session->options;
	struct al_fit f = {.session = session, .options = o};
	struct al_asked asked = o->asked;

	asked.only_modules = true;
	if (o->log)
		return al_fit_log(session, o, err);
	if (session->line.n_words == 0)
		return al_fail(err, AL_EINPUT, "expected MODEL, or --log FILE that names it");
	return al_devices_check_mode(&session->line, &o->devices, err)
		&& al_each_request(session, &asked, false, answer, &f, err);
}

const struct al_command al_command_fit = {
	.words = "[MODEL]",
	.examples = {"fit llama-3-8b --device H100 --engine vllm --solve seq",
		"fit gpt2 --match parameters=mha --variant mqa --solve d_ff"},
	.options = groups,
	.options_size = sizeof(struct al_fit_options),
	.run = run,
};
