/* fit: the largest batch, context or model that a device holds, and models of equal size. */
#include "commands/memory.h"

#include <string.h>

#include "base/number.h"
#include "ledger/solve.h"

struct fit_options {
	struct al_output_options output;
	struct al_asked asked;
	struct al_device_options devices;
	const char *memory, *solve, *match;
};

static const struct al_option_row fit_rows[] = {
	OPTION_TEXT(struct fit_options, memory, "memory", "SIZE",
		"what a device holds: 80GiB, 24GB, a number of bytes"),
	OPTION_TEXT(struct fit_options, solve, "solve", "SYMBOL",
		"what may grow: batch (default), seq, n_layers, any symbol"),
	OPTION_TEXT(struct fit_options, match, "match", "parameters=VARIANT",
		"the model with as many parameters as with this variant"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_setting_rows, offsetof(struct fit_options, asked)},
	{al_variant_rows, offsetof(struct fit_options, asked)},
	{al_recipe_rows, offsetof(struct fit_options, asked)},
	{al_weight_rows, offsetof(struct fit_options, devices)},
	{al_device_rows, offsetof(struct fit_options, devices)}, {fit_rows, 0}, {NULL, 0}};

enum { MOST_STATES = 5 };

/* One search: a model with one of its variants, over one symbol. */
struct fit {
	struct al_session *session;
	const struct fit_options *options;
	struct al_question *question;
	const struct al_configured_variant *configured; /* NULL: the model's own attention */
	const char *symbol;
	bool is_inference;
	struct al_training training;
	struct al_inference inference;
	struct al_ledger ledger;
	mpq_t states[MOST_STATES]; /* as the last evaluation found them */
	int n_states;
};

/* ---- sizes ---- */

static const struct unit {
	const char *name;
	int64_t bytes;
} units[] = {
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"TB", 1000000000000},
	{"KiB", INT64_C(1) << 10},
	{"MiB", INT64_C(1) << 20},
	{"GiB", INT64_C(1) << 30},
	{"TiB", INT64_C(1) << 40},
};
enum { N_UNITS = sizeof(units) / sizeof(*units) };

/* "80GiB", "1.5 TB", "85899345920" */
static bool parse_size(struct al_session *session, const char *text, mpq_t out,
	struct al_error *err)
{
	const char *names[N_UNITS];
	size_t n = strspn(text, "0123456789.");
	const char *unit = text + n + strspn(text + n, " ");
	int digits, found = 0;

	for (int i = 0; i < N_UNITS; i++)
		names[i] = units[i].name;
	if (!al_exact_parse(al_strndup(&session->arena, text, n), out, &digits))
		return al_fail(err, AL_EINPUT, "--memory %s: expected a size such as 80GiB", text);
	if (*unit && (found = al_find_name(unit, names, N_UNITS)) < 0) {
		al_fail_unknown(err, "unit", unit, names, N_UNITS);
		return al_in(err, "--memory %s", text);
	}
	al_exact_multiply(out, units[found].bytes);
	return true;
}

/* ---- what a size takes ---- */

static bool only_tokens_change(const struct fit *f)
{
	return strcmp(f->symbol, "batch") == 0 || strcmp(f->symbol, "seq") == 0;
}

static void set_tokens(struct fit *f, int64_t x)
{
	bool is_batch = strcmp(f->symbol, "batch") == 0;

	if (is_batch)
		f->training.batch = f->inference.batch = x;
	else
		f->training.seq = f->inference.seq = f->inference.source_seq = x;
}

static bool take_training(struct fit *f, struct al_error *err)
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

static bool take_inference(struct fit *f, struct al_error *err)
{
	struct al_inference_row rows[AL_N_STATES];

	al_inference_rows_init(rows);
	bool ok = al_ledger_infer(&f->ledger, &f->inference, rows, err);
	for (int i = 0; ok && i < AL_N_INFERENCE_STATES; i++)
		mpq_set(f->states[i], rows[al_inference_states[i]].bytes);
	al_inference_rows_finish(rows);
	return ok;
}

static bool open_ledger(struct fit *f, struct al_error *err)
{
	enum al_tensor_list_detail detail = f->is_inference ? al_inference_detail(&f->inference)
		: f->training.pp > 1			    ? AL_TENSORS_BY_LAYER
							    : AL_TENSORS_BY_KIND;

	return al_open_model(f->question, f->configured, f->training.tp, detail, &f->ledger, err);
}

static bool measure(struct fit *f, int64_t x, struct al_error *err)
{
	al_ledger_set(&f->ledger, f->symbol, x);
	if (only_tokens_change(f)) {
		set_tokens(f, x);
		return f->is_inference ? take_inference(f, err) : take_training(f, err);
	}
	return (f->is_inference ? take_inference(f, err) : take_training(f, err))
		|| al_in(err, "%s = %lld", f->symbol, (long long)x);
}

static bool evaluate(void *context, int64_t x, mpq_t out, struct al_error *err)
{
	struct fit *f = context;

	if (!measure(f, x, err))
		return false;
	mpq_set_ui(out, 0, 1);
	for (int i = 0; i < f->n_states; i++)
		al_exact_add(out, f->states[i]);
	return true;
}

static const char *state_name(const struct fit *f, int state)
{
	return al_memory_state_names[f->is_inference ? (int)al_inference_states[state] : state];
}

/* ---- the answer ---- */

/* The state that takes most of what the next size needs more; where nothing fits, most of all. */
static bool find_binding(struct fit *f, const struct al_largest *largest, mpq_t total, mpq_t next,
	const char **out, struct al_error *err)
{
	mpq_t before[MOST_STATES], grown, most;
	bool ok = true;
	int found = 0;

	for (int i = 0; i < MOST_STATES; i++)
		mpq_init(before[i]);
	mpq_inits(grown, most, NULL);
	if (largest->fits)
		ok = evaluate(f, largest->value, total, err);
	for (int i = 0; ok && largest->fits && i < f->n_states; i++)
		mpq_set(before[i], f->states[i]);
	ok = ok && evaluate(f, largest->next, next, err);
	for (int i = 0; ok && i < f->n_states; i++) {
		mpq_sub(grown, f->states[i], before[i]);
		if (i > 0 && mpq_cmp(grown, most) <= 0)
			continue;
		mpq_set(most, grown);
		found = i;
	}
	*out = state_name(f, found);
	for (int i = 0; i < MOST_STATES; i++)
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
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(t, columns[i]);
}

static bool add_answer(struct fit *f, struct al_table *table, mpq_srcptr memory,
	const struct al_largest *largest, struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(table);
	const char *binds;
	mpq_t total, next;

	mpq_inits(total, next, NULL);
	bool ok = find_binding(f, largest, total, next, &binds, err);
	if (ok) {
		if (!f->question->is_own)
			al_cell_set_text(table, cell++, f->configured->name);
		al_cell_set_text(table, &cell[0], f->symbol);
		if (largest->fits) {
			al_cell_set_int(table, &cell[1], largest->value);
			al_cell_set_exact(table, &cell[2], total);
		} else
			f->session->answer_is_no = true;
		al_cell_set_int(table, &cell[3], largest->next);
		al_cell_set_exact(table, &cell[4], next);
		al_cell_set_exact(table, &cell[5], memory);
		al_cell_set_text(table, &cell[6], binds);
	}
	mpq_clears(total, next, NULL);
	return ok;
}

/* Fewer layers than blocks of them are no pipeline. */
static int64_t least_size(const struct fit *f, int64_t step)
{
	bool is_layers = !f->is_inference && strcmp(f->symbol, "n_layers") == 0;

	return is_layers ? f->training.pp * f->training.interleave : step;
}

static bool solve(struct fit *f, struct al_table *table, mpq_srcptr memory, struct al_error *err)
{
	bool is_seq = strcmp(f->symbol, "seq") == 0;
	const int64_t step = is_seq ? f->training.cp : 1;
	const struct al_growth growth = {evaluate, f, least_size(f, step), step};
	struct al_largest largest;

	if (!open_ledger(f, err))
		return false;
	bool ok = al_solve_largest(&growth, memory, &largest, err)
		&& add_answer(f, table, memory, &largest, err);
	al_ledger_close(&f->ledger);
	return ok || al_in(err, "%s", f->symbol);
}

/* ---- questions ---- */

/* What is solved for need not be given: it starts at 1. */
static bool read_options(struct fit *f, struct al_error *err)
{
	struct al_question *q = f->question;
	const struct al_setting *given;

	f->is_inference = f->options->devices.is_inference;
	f->n_states = f->is_inference ? AL_N_INFERENCE_STATES : AL_N_TRAINING_STATES;
	if (only_tokens_change(f) && !al_question_set(q, f->symbol, 1, err))
		return false;
	if (!al_settings_get(&q->settings, "batch", &given, err)
		|| (!given && !al_question_set(q, "batch", 1, err)))
		return false;
	return al_devices_init(&f->training, &f->options->devices, q, err)
		&& al_devices_tokens(&f->training, q, err)
		&& (!f->is_inference
			|| al_inference_init(&f->inference, &f->options->devices, q, err));
}

static bool fit_memory(struct fit *f, mpq_srcptr memory, struct al_error *err)
{
	struct al_question *q = f->question;
	struct al_table *table = al_session_table(f->session, "fit",
		al_format(&f->session->arena, "What fits of %s", q->title));

	add_columns(table, !q->is_own);
	for (size_t i = 0; i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		if (!read_options(f, err) || !solve(f, table, memory, err))
			return false;
	}
	al_note_question(q, table);
	if (f->is_inference)
		al_table_note(table,
			"inference: weights %s, cache %s; batch, seq as given where they are not "
			"solved for",
			f->options->devices.dtype, f->inference.cache->name);
	else
		al_note_recipe(q, table);
	return true;
}

/* ---- equal sizes ---- */

static bool count_at(void *context, int64_t x, mpq_t out, struct al_error *err)
{
	struct fit *f = context;

	al_ledger_set(&f->ledger, f->symbol, x);
	return al_ledger_count(&f->ledger, AL_COUNT_PARAMETERS, out, err)
		|| al_in(err, "%s = %lld", f->symbol, (long long)x);
}

static void add_match_columns(struct al_table *t, bool shows_variant)
{
	static const struct al_column columns[] = {
		{.key = "symbol", .title = "Solved for", .is_key = true},
		{.key = "value",
			.title = "Value",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "parameters",
			.title = "Parameters",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "target",
			.title = "To match",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
		{.key = "distance",
			.title = "Distance",
			.quantity = AL_QUANTITY_COUNT,
			.digits = AL_DIGITS_ALL},
	};

	if (shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(t, columns[i]);
}

static bool add_neighbour(struct fit *f, struct al_table *table, int64_t value, mpq_srcptr target,
	struct al_error *err)
{
	struct al_cell *cell = al_table_add_row(table);
	mpq_t parameters;

	mpq_init(parameters);
	bool ok = count_at(f, value, parameters, err);
	if (ok) {
		if (!f->question->is_own)
			al_cell_set_text(table, cell++, f->configured->name);
		al_cell_set_text(table, cell++, f->symbol);
		al_cell_set_int(table, cell++, value);
		al_cell_set_exact(table, cell++, parameters);
		al_cell_set_exact(table, cell++, target);
		mpq_sub(parameters, parameters, target);
		al_cell_set_exact(table, cell, parameters);
	}
	mpq_clear(parameters);
	return ok;
}

static bool match_variant(struct fit *f, struct al_table *table, mpq_srcptr target,
	struct al_error *err)
{
	const struct al_growth growth = {count_at, f, 1, 1};
	struct al_largest largest;

	if (!al_open_model(f->question, f->configured, 1, AL_TENSORS_BY_KIND, &f->ledger, err))
		return false;
	bool ok = al_solve_largest(&growth, target, &largest, err) || al_in(err, "%s", f->symbol);
	if (ok && !largest.fits)
		f->session->answer_is_no = true;
	ok = ok && (!largest.fits || add_neighbour(f, table, largest.value, target, err))
		&& add_neighbour(f, table, largest.next, target, err);
	al_ledger_close(&f->ledger);
	return ok;
}

static bool count_like(struct al_question *q, const struct al_configured_variant *like, mpq_t out,
	struct al_error *err)
{
	struct al_ledger ledger;

	if (!al_open_model(q, like, 1, AL_TENSORS_BY_KIND, &ledger, err))
		return false;
	bool ok = al_ledger_count(&ledger, AL_COUNT_PARAMETERS, out, err);
	al_ledger_close(&ledger);
	return ok;
}

static bool fit_parameters(struct fit *f, const char *match, struct al_error *err)
{
	static const char key[] = "parameters=";
	struct al_question *q = f->question;
	struct al_configured_variant like;
	mpq_t target;

	if (strncmp(match, key, strlen(key)) != 0)
		return al_fail(err, AL_EINPUT, "--match %s: expected parameters=VARIANT", match);
	if (!al_configured_variant_parse(&f->session->arena, q->catalog, match + strlen(key), &like,
		    err))
		return al_in(err, "--match");
	struct al_table *table = al_session_table(f->session, "fit",
		al_format(&f->session->arena, "As many parameters as %s with %s", q->title,
			like.name));
	add_match_columns(table, !q->is_own);
	mpq_init(target);
	bool ok = count_like(q, &like, target, err);
	for (size_t i = 0; ok && i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		ok = match_variant(f, table, target, err);
	}
	al_note_question(q, table);
	mpq_clear(target);
	return ok;
}

/* ---- the command ---- */

static bool answer(struct fit *f, struct al_error *err)
{
	const char *match = f->options->match, *size = f->options->memory;
	const char *symbol = f->options->solve ? f->options->solve : match ? "d_ff" : "batch";
	bool ok;
	mpq_t memory;

	if (!match == !size)
		return al_fail(err, AL_EINPUT,
			"expected either --memory SIZE or --match parameters=VARIANT");
	if (!al_question_check_symbol(f->question, symbol, err))
		return al_in(err, "--solve");
	f->symbol = al_question_symbol(f->question, symbol);
	if (match)
		return fit_parameters(f, match, err);
	mpq_init(memory);
	ok = parse_size(f->session, size, memory, err) && fit_memory(f, memory, err);
	mpq_clear(memory);
	return ok;
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct fit_options *o = session->options;
	struct al_question question;
	struct fit f = {.session = session, .options = o, .question = &question};

	if (!al_devices_check_mode(&session->line, &o->devices, err)
		|| !al_ask_question(&question, session, &o->asked, session->line.words[0], false,
			AL_BASIS_MODEL, err))
		return false;
	for (int i = 0; i < MOST_STATES; i++)
		mpq_init(f.states[i]);
	bool ok = question.family
		? answer(&f, err)
		: al_fail(err, AL_EINPUT, "%s: only its attention is known, expected a whole model",
			question.name);
	for (int i = 0; i < MOST_STATES; i++)
		mpq_clear(f.states[i]);
	al_question_finish(&question);
	return ok;
}

const struct al_command al_command_fit = {
	.words = "MODEL",
	.examples = {"fit llama-3-8b --memory 80GiB --solve seq --inference --batch 8",
		"fit gpt2 --match parameters=mha --variant mqa --solve d_ff"},
	.options = groups,
	.options_size = sizeof(struct fit_options),
	.least_words = 1,
	.most_words = 1,
	.run = run,
};
