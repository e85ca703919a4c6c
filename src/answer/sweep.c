/* sweep: a curve as a table, over one or more symbols. */
#include "answer/progress.h"
#include "answer/request.h"
#include "figure/spec.h"
#include "report/claim.h"
#include "scenario/sweep.h"

struct sweep_options {
	struct al_output_options output;
	struct al_asked asked;
	struct al_texts over, ties, measures;
	const char *figure;
	bool is_log, is_whole;
};

static const struct al_option_row rows[] = {
	OPTION_LIST(struct sweep_options, over, "over", "SYMBOL=FROM:TO[:STEP]",
		"values to sweep over; or SYMBOL=A,B,C; 8k is 8192"),
	OPTION_LIST(struct sweep_options, ties, "tie", "SYMBOL=FORMULA",
		"compute SYMBOL from the swept symbols at every point"),
	OPTION_LIST(struct sweep_options, measures, "measure", "COLUMN",
		"what to plot: parameters, weights, gradients, optimizer, activations, total, "
		"cache, cache_bytes or flops"),
	OPTION_TEXT(struct sweep_options, figure, "figure", "FILE",
		"also draw the curve: .pdf, .svg or .png"),
	OPTION_FLAG(struct sweep_options, is_log, "log", "use a logarithmic y axis in the figure"),
	WHOLE_ROW(struct sweep_options, is_whole),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct sweep_options, asked)},
	{al_variant_rows, offsetof(struct sweep_options, asked)},
	{al_recipe_rows, offsetof(struct sweep_options, asked)},
	{al_engine_rows, offsetof(struct sweep_options, asked)}, {rows, 0}, {NULL, 0}};

static bool read_axes(struct al_session *session, struct al_ledger_sweep *sweep,
	struct al_error *err)
{
	const struct al_texts *over = &((const struct sweep_options *)session->options)->over;

	if (over->n == 0)
		return al_fail(err, AL_EINPUT, "pass --over SYMBOL=FROM:TO[:STEP]");
	if (over->n > AL_SWEEP_MOST_AXES)
		return al_fail(err, AL_EINPUT, "too many symbols to sweep over (at most %d)",
			AL_SWEEP_MOST_AXES);
	sweep->axes = al_new_array(&session->arena, struct al_sweep_axis, over->n);
	for (size_t i = 0; i < over->n; i++) {
		const char *equals = strchr(over->items[i], '=');
		if (!equals || equals == over->items[i])
			return al_fail(err, AL_EINPUT, "--over %s: expected SYMBOL=FROM:TO[:STEP]",
				over->items[i]);
		const char *symbol = al_strndup(&session->arena, over->items[i],
			(size_t)(equals - over->items[i]));
		if (!al_sweep_axis_parse(&session->arena, symbol, equals + 1,
			    &sweep->axes[sweep->n_axes++], err))
			return al_in(err, "--over");
	}
	return true;
}

static bool read_measures(struct al_ledger_sweep *sweep, const struct al_texts *measures,
	struct al_error *err)
{
	for (size_t i = 0; i < measures->n; i++)
		if (!al_sweep_add_measure(sweep, measures->items[i], err))
			return false;
	return sweep->n_measures > 0 || al_sweep_add_measure(sweep, "parameters", err);
}

static bool check_symbols(struct al_request *q, struct al_ledger_sweep *sweep, struct al_error *err)
{
	for (size_t i = 0; i < sweep->n_axes; i++) {
		if (!al_request_check_symbol(q, sweep->axes[i].symbol, err))
			return false;
		sweep->axes[i].symbol = al_request_symbol(q, sweep->axes[i].symbol);
	}
	for (size_t i = 0; i < sweep->n_ties; i++)
		if (!al_request_check_symbol(q, sweep->ties[i].symbol, err))
			return false;
	return true;
}

static bool draw_figure(struct al_session *session, const struct al_ledger_sweep *sweep,
	const struct al_table *table, struct al_error *err)
{
	const struct sweep_options *o = session->options;
	struct al_figure figure = {
		.id = "sweep",
		.mark = "line",
		.x.column = sweep->axes[0].symbol,
		.y.column = al_measures[sweep->measures[0]].key,
		.y.scale = o->is_log ? AL_AXIS_LOG : AL_AXIS_LINEAR,
		.series = "variant",
		.panel = sweep->n_axes > 1 ? sweep->axes[1].symbol : NULL,
		.width_pt = sweep->n_axes > 1 ? AL_FIGURE_PAGE_PT : AL_FIGURE_COLUMN_PT,
	};

	return session->draw(&session->files, &figure, table, o->figure, err);
}

/* A million rows take a tenth of the memory as text. */
static void take_rows(void *context, const struct al_table *some_rows)
{
	struct al_session *session = context;
	const bool is_first = !session->rendered.data;

	if (is_first)
		al_text_init(&session->rendered);
	al_csv_add(some_rows, is_first, &session->rendered);
}

/* ---- in a sentence ---- */

/* "n_heads = 1" of a row, over all axes. */
static const char *point(struct al_arena *arena, const struct al_table *table, size_t row,
	size_t n_axes)
{
	const char *text = "";

	for (size_t i = 0; i < n_axes; i++)
		text = al_join(arena, text,
			al_format(arena, "%s = %s", table->columns[i].key,
				al_claim_cell(arena, table, row, table->columns[i].key)));
	return text;
}

/* Rows run variant by variant. */
static size_t rows_of_first(const struct al_table *table)
{
	const char *variant = al_table_text(table, 0, "variant");
	size_t n = 1;

	while (n < table->n_rows && strcmp(al_table_text(table, n, "variant"), variant) == 0)
		n++;
	return n;
}

static bool is_same(const struct al_table *table, size_t row, const char *measure)
{
	double first, other;

	return al_table_number(table, 0, measure, &first)
		&& al_table_number(table, row, measure, &other) && first == other;
}

/* "Activations of mha from seq = 1,024 to seq = 4,096: 83.50 GiB to 874.00 GiB" */
static const char *say_first(struct al_arena *arena, const struct al_table *table, size_t n_axes,
	const char *measure, const char *title)
{
	const size_t last = rows_of_first(table) - 1;
	const char *from = al_claim_cell(arena, table, 0, measure);
	const char *to = al_claim_cell(arena, table, last, measure);
	const char *of = al_claim_cell(arena, table, 0, "variant");

	if (!*from || !*to)
		return al_format(arena, "%s of %s: not known", title, of);
	if (last == 0)
		return al_format(arena, "%s of %s at %s: " AL_CLAIM_LEAD "%s", title, of,
			point(arena, table, 0, n_axes), from);
	const char *values = is_same(table, last, measure) ? al_format(arena, "%s at both", from)
							   : al_format(arena, "%s to %s", from, to);
	return al_format(arena, "%s of %s from %s to %s: %s", title, of,
		point(arena, table, 0, n_axes), point(arena, table, last, n_axes), values);
}

/* At the last point: "; there from least to most: ..." */
static const char *say_others(struct al_arena *arena, const struct al_table *table,
	const char *measure)
{
	const size_t n_points = rows_of_first(table), n_variants = table->n_rows / n_points;
	struct al_compared *items = al_new_array(arena, struct al_compared, n_variants + 1);
	size_t n = 0;

	for (size_t row = n_points - 1; row < table->n_rows; row += n_points) {
		double value;
		if (al_table_number(table, row, measure, &value))
			items[n++] = (struct al_compared){al_claim_cell(arena, table, row,
								  "variant"),
				al_claim_cell(arena, table, row, measure), value};
	}
	return n > 1 ? al_format(arena, "; at the end, %s", al_claim_order(arena, items, n, 0))
		     : "";
}

/* Rows of the first measure; NULL: already passed on. */
static const char *say(struct al_arena *arena, const struct al_table *table,
	const struct al_ledger_sweep *sweep)
{
	const size_t n_axes = sweep->n_axes;
	const struct al_column *measure = &table->columns[n_axes + 1];
	const struct al_recipe *recipe = sweep->request->recipe;
	const bool hangs_on_it = recipe && sweep->measures[0] >= AL_WEIGHTS
		&& sweep->measures[0] <= AL_TOTAL;

	if (table->n_rows == 0)
		return NULL;
	return al_format(arena, "%s%s%s.",
		say_first(arena, table, n_axes, measure->key, measure->title),
		say_others(arena, table, measure->key),
		hangs_on_it ? al_format(arena, "; assumed: recipe %s",
			al_claim_name(arena, "recipe", recipe->name))
			    : "");
}

/* ---- requests ---- */

static struct al_texts list_varied(struct al_arena *arena, const struct al_ledger_sweep *sweep)
{
	const char **symbols = al_new_array(arena, const char *, sweep->n_axes + sweep->n_ties);
	size_t n = 0;

	for (size_t i = 0; i < sweep->n_axes; i++)
		symbols[n++] = sweep->axes[i].symbol;
	for (size_t i = 0; i < sweep->n_ties; i++)
		symbols[n++] = sweep->ties[i].symbol;
	return (struct al_texts){symbols, n};
}

static bool answer(struct al_request *q, struct al_session *session, struct al_ledger_sweep *sweep,
	struct al_error *err)
{
	const struct sweep_options *o = session->options;
	const struct al_configured_variant **variants = al_new_array(&session->arena,
		const struct al_configured_variant *, q->variants.n);
	struct al_table table;

	for (size_t i = 0; i < q->variants.n; i++)
		variants[i] = &q->variants.items[i];
	sweep->variants = variants;
	sweep->n_variants = q->variants.n;
	sweep->request = q;
	sweep->watch = &al_progress_begin(session, session->line.words[0])->watch;
	if (strcmp(session->writer->name, "csv") == 0 && !o->figure) {
		sweep->take_rows = take_rows;
		sweep->context = session;
	}
	if (!read_axes(session, sweep, err) || !read_measures(sweep, &o->measures, err)
		|| !al_substitutions_parse(&session->arena, o->ties, &sweep->ties, &sweep->n_ties,
			err)
		|| !check_symbols(q, sweep, err) || !al_sweep_run(sweep, &table, err))
		return false;
	q->varied = list_varied(&session->arena, sweep);
	al_note_variant_defaults(q, &table);
	al_note_cache_format(q, NULL, &table);
	al_session_claim(session, say(&session->arena, &table, sweep));
	al_session_take(session, &table);
	return !o->figure || draw_figure(session, sweep, &table, err);
}

static bool is_of_cache(const struct sweep_options *o)
{
	for (size_t i = 0; i < o->measures.n; i++)
		if (strstr(o->measures.items[i], "cache_bytes"))
			return true;
	return false;
}

/* An engine changes what is cached, and nothing else that can be swept. */
static bool check_engine(struct al_session *session, struct al_request *request,
	struct al_error *err)
{
	const struct sweep_options *o = session->options;
	const char *given = al_command_line_first_of(&session->line, al_engine_rows);

	if (is_of_cache(o) && !al_request_cache_format(request, NULL, err))
		return false;
	if (given && !is_of_cache(o))
		return al_fail(err, AL_EINPUT,
			"--%s only affects cache_bytes: add --measure cache_bytes", given);
	if (request->draft)
		return al_fail(err, AL_EINPUT, "--draft can't be swept; use `cache` or `fit`");
	return al_refuse_unused_engine(&o->asked, request, err);
}

static bool sweep_request(void *context, struct al_request *request, struct al_error *err)
{
	struct al_session *session = context;
	const struct sweep_options *o = session->options;
	struct al_ledger_sweep sweep = {.id = "sweep",
		.title = al_format(&session->arena, "Sweep of %s",
			al_request_covered(request, o->is_whole))};

	if (al_request_is_about_model(request, o->is_whole))
		request->basis.per = AL_BASIS_WHOLE;
	return al_check_whole(request, o->is_whole, err) && check_engine(session, request, err)
		&& answer(request, session, &sweep, err);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct sweep_options *o = session->options;
	struct al_asked asked = o->asked;

	if (o->figure && !session->draw)
		return al_fail(err, AL_EFORMAT, "--figure needs the full library");
	asked.keeps_all = o->over.n > 0;
	return al_each_request(session, &asked, true, sweep_request, session, err);
}

const struct al_command al_command_sweep = {
	.words = "MODEL|VARIANT",
	.examples = {"sweep bert-base --over n_heads=1:128 --set d_head=64 "
		     "--tie 'd_model=n_heads*d_head' --variant mha,mhe-mul --basis "
		     "output_projection=none --figure heads.pdf",
		"sweep gpt3-175b --over seq=1024,2048,4096 --measure activations --recipe "
		"korthikanti2022 --batch 1"},
	.options = groups,
	.options_size = sizeof(struct sweep_options),
	.has_formats = true,
	.run = run,
};
