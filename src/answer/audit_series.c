/* audit STEP...: the checkpoints of a training run, one after the other: how redundant their heads
 * are, and how far these have moved. */
#include "answer/audit_run.h"

#include <ctype.h>

#include "answer/draw.h"
#include "audit/summary.h"
#include "base/file.h"

/* How far the forms of all heads have moved, from 0 (not at all) to 1 (nothing is left). */
struct drift {
	double of[AL_N_FORMS];
};

struct step {
	int64_t step;
	const char *path;
	double rank, redundancy, different; /* medians over modules */
	struct drift since_first, since_previous; /* of the first 0, and NAN */
	struct al_estimate loss;
	double previous, first, induction; /* of the head that attends so most */
	const struct al_audit_run *run;
};

enum { WITH_LOSS = 1 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct step, step, "Step", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct step, redundancy, "Redundancy", .digits = 3)},
	{AL_SHOW(struct step, rank, "QK rank", .digits = 1)},
	{AL_SHOW(struct step, different, "Different heads", .digits = 2)},
	{{.key = "qk_since_first", .title = "QK", .group = "Since first", .digits = 4},
		AL_MEMBER(struct step, since_first.of[AL_FORM_QK])},
	{{.key = "ov_since_first", .title = "OV", .group = "Since first", .digits = 4},
		AL_MEMBER(struct step, since_first.of[AL_FORM_OV])},
	{{.key = "qk_since_previous", .title = "QK", .group = "Since previous", .digits = 4},
		AL_MEMBER(struct step, since_previous.of[AL_FORM_QK])},
	{{.key = "ov_since_previous", .title = "OV", .group = "Since previous", .digits = 4},
		AL_MEMBER(struct step, since_previous.of[AL_FORM_OV])},
	{AL_SHOW(struct step, previous, "previous", .group = "Strongest head", .digits = 2),
		.when = WITH_LOSS},
	{AL_SHOW(struct step, first, "first", .group = "Strongest head", .digits = 2),
		.when = WITH_LOSS},
	{AL_SHOW(struct step, induction, "induction", .group = "Strongest head", .digits = 2),
		.when = WITH_LOSS},
	{{.key = "loss", .title = "nats per token", .group = "Loss", .digits = 4},
		AL_MEMBER(struct step, loss.mean), .when = WITH_LOSS},
	{{.key = "loss_error", .title = "standard error", .group = "Loss", .digits = 4},
		AL_MEMBER(struct step, loss.error), .when = WITH_LOSS},
	{AL_SHOW(struct step, path, "Checkpoint")},
	AL_FIELDS_END,
};

struct series {
	struct al_session *session;
	struct al_audit_asked asked; /* of each checkpoint */
	const char *config;
	const struct al_input_options *input; /* to run each on; NULL: none */
	struct step *steps;
	size_t n;
	struct al_table *table;
};

/* ---- which checkpoints, in which order ---- */

static bool is_config(const char *word)
{
	return al_ends_with(word, ".json");
}

bool al_audit_is_series(const struct al_session *session)
{
	return !is_config(al_session_word(session, 1));
}

/* The last number in the last part of the path that has one: 1000 of "run/step-1000/model.pt"; -1:
 * none. */
static int64_t step_of(const char *path)
{
	const char *end = path + strlen(path), *digits;
	int64_t step;

	while (end > path && !isdigit((unsigned char)end[-1]))
		end--;
	for (digits = end; digits > path && isdigit((unsigned char)digits[-1]);)
		digits--;
	return digits < end && end - digits < 18 && al_read_digits(digits, &step) > 0 ? step : -1;
}

static int by_step(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return al_compare(x->step, y->step);
}

static bool name_steps(struct series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		s->steps[i].step = step_of(s->steps[i].path);
		if (s->steps[i].step < 0)
			return false;
	}
	qsort(s->steps, s->n, sizeof(*s->steps), by_step);
	for (size_t i = 1; i < s->n; i++)
		if (s->steps[i].step == s->steps[i - 1].step)
			return false;
	return true;
}

static void list_steps(struct series *s)
{
	const char *word;

	s->steps = al_new_array(&s->session->arena, struct step, s->session->line.n_words);
	for (size_t i = 0; (word = al_session_word(s->session, i)); i++)
		if (is_config(word))
			s->config = word;
		else
			s->steps[s->n++].path = word;
	if (!name_steps(s))
		for (size_t i = 0; i < s->n; i++)
			s->steps[i].step = (int64_t)i;
}

/* ---- one checkpoint ---- */

static uint64_t bit_of(const char *measurement)
{
	size_t i = 0;

	while (strcmp(al_measurements[i]->id, measurement) != 0)
		i++;
	return UINT64_C(1) << i;
}

/* |A - B| relative to the root of |A|^2 + |B|^2, all heads together: 0 where they are the same, 1
 * where they have nothing in common. */
static double change(const struct al_table *table, const char *norm, const char *other,
	const char *difference)
{
	double squares = 0, changes = 0, a, b, d;

	for (size_t row = 0; row < table->n_rows; row++)
		if (al_table_number(table, row, norm, &a) && al_table_number(table, row, other, &b)
			&& al_table_number(table, row, difference, &d)) {
			squares += a * a + b * b;
			changes += a * d * a * d;
		}
	return squares > 0 ? sqrt(changes / squares) : (double)NAN;
}

static bool find_drift(const struct step *from, const struct step *to, struct drift *drift,
	struct al_error *err)
{
	AL_ENDS(al_table_finish) struct al_table table;

	al_table_init(&table, "against", "");
	if (!al_audit_against_fill(from->run, &to->run->audit, &table, err))
		return al_in(err, "%s against %s", from->path, to->path);
	drift->of[AL_FORM_QK] = change(&table, "qk_norm", "qk_norm_against", "qk_difference");
	drift->of[AL_FORM_OV] = change(&table, "ov_norm", "ov_norm_against", "ov_difference");
	return true;
}

static double median(struct al_audit_run *run, const char *table, const char *column,
	const char *form)
{
	const struct al_range range = al_range_of(&run->session->arena,
		al_audit_run_table(run, table), column, form ? "form" : NULL, form);

	return range.n > 0 ? range.middle : (double)NAN;
}

static bool measure(struct series *s, struct step *step, struct al_error *err)
{
	struct al_audit_run *run = al_audit_run_begin(s->session, &s->asked, step->path, s->config,
		err);

	if (!run)
		return false;
	run->n_steps = run->n_chosen;
	for (size_t i = 0; i < run->n_chosen; i++)
		if (!al_audit_run_measure(run, run->chosen[i], err))
			return false;
	step->run = run;
	step->redundancy = median(run, "layers", "redundancy", NULL);
	step->rank = median(run, "layers", "qk_n90", NULL);
	step->different = median(run, "pca", "different_heads", "qk");
	return al_checkpoint_check_unchanged(run->opened->checkpoint, err);
}

/* The largest mean over all heads. */
static bool find_strongest(const struct al_calibration *calibration, enum al_statistic_kind kind,
	double *out, struct al_error *err)
{
	*out = 0;
	for (size_t i = 0; i < calibration->n_modules; i++) {
		AL_OWNED struct al_matrix means = {0};
		if (!al_statistics_mean(calibration, &calibration->modules[i], kind, &means, err))
			return false;
		for (size_t head = 0; head < means.rows; head++)
			*out = fmax(*out, means.data[head]);
	}
	return true;
}

/* What heads attend to. */
static bool find_behavior(struct al_running *running, const struct al_watch *watch,
	struct step *step, struct al_error *err)
{
	struct al_calibration calibration;

	if (!al_calibration_begin(&calibration, &running->network, &running->all, 1, err))
		return false;
	const bool ok = al_calibration_record(&calibration, &running->network, &running->all, NULL,
				watch, NULL, err)
		&& find_strongest(&calibration, AL_STATISTIC_PREVIOUS, &step->previous, err)
		&& find_strongest(&calibration, AL_STATISTIC_FIRST, &step->first, err)
		&& find_strongest(&calibration, AL_STATISTIC_SUCCESSORS, &step->induction, err);
	al_calibration_finish(&calibration);
	return ok;
}

static bool evaluate(struct series *s, struct step *step, struct al_error *err)
{
	struct al_layout_options layout = s->asked.layout;

	layout.runs = true;
	struct al_opened_checkpoint *opened = al_session_checkpoint(s->session, &layout, step->path,
		s->config, true, err);
	struct al_running *running = opened
		? al_session_running(s->session, &opened->view, s->input, err)
		: NULL;

	if (!running)
		return false;
	if (running->network.how->kind != AL_FORWARD_DECODER)
		return al_fail(err, AL_EINPUT,
			"%s: family %s is an encoder, which has no loss on tokens", step->path,
			opened->view.family->name);
	const struct al_loss loss = al_loss_new(&s->session->arena, &running->all);
	const struct al_progress *progress = al_progress_begin(s->session, step->path);
	if (!al_evaluate_loss(&running->network, &loss, &progress->watch, err))
		return false;
	step->loss = al_loss_estimate(&loss);
	return find_behavior(running, &progress->watch, step, err);
}

/* One model at a time. */
static bool evaluate_all(struct series *s, struct al_error *err)
{
	bool ok = true;

	for (size_t i = 0; ok && i < s->n; i++) {
		const struct al_arena_deferred *mark = s->session->arena.deferred;
		ok = evaluate(s, &s->steps[i], err);
		al_arena_settle(&s->session->arena, mark);
	}
	return ok;
}

static bool measure_all(struct series *s, struct al_error *err)
{
	static const struct drift none = {{(double)NAN, (double)NAN}};

	for (size_t i = 0; i < s->n; i++) {
		struct step *step = &s->steps[i];
		step->since_previous = none;
		if (!measure(s, step, err))
			return false;
		if (i > 0
			&& (!find_drift(&s->steps[0], step, &step->since_first, err)
				|| !find_drift(&s->steps[i - 1], step, &step->since_previous, err)))
			return false;
		al_table_add_record(s->table, step);
	}
	return true;
}

/* ---- the figure ---- */

struct point {
	int64_t step;
	const char *what;
	double value;
};

static const struct al_table_field point_fields[] = {
	{AL_SHOW(struct point, step, "Step")},
	{AL_SHOW(struct point, what, "What")},
	{AL_SHOW(struct point, value, "Share")},
	AL_FIELDS_END,
};

static const struct line {
	const char *column, *name;
} lines[] = {
	{"redundancy", "redundancy of heads"},
	{"qk_since_first", "QK, change since the first"},
	{"ov_since_first", "OV, change since the first"},
	{"previous", "previous token, strongest head"},
	{"first", "first token, strongest head"},
	{"induction", "induction, strongest head"},
};

static const struct al_figure figure = {
	.id = "series",
	.title = "Heads in training",
	.mark = "line",
	.x = {.column = "step", .title = "Step"},
	.y = {.column = "value", .title = "From 0 to 1", .has_max = true, .max = 1},
	.series = "what",
	.legend = true,
};

static void add_points(struct al_table *points, const struct series *s, const struct line *line)
{
	for (size_t row = 0; row < s->n; row++) {
		struct point point = {.step = s->steps[row].step, .what = line->name};
		if (al_table_number(s->table, row, line->column, &point.value))
			al_table_add_record(points, &point);
	}
}

static bool draw(struct series *s, const char *folder, struct al_error *err)
{
	AL_ENDS(al_table_finish) struct al_table points;

	al_table_init(&points, figure.id, "");
	al_table_add_fields(&points, point_fields, 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		add_points(&points, s, &lines[i]);
	return al_folder_make(folder, err)
		&& al_draw_into(&s->session->files, &figure, &points, folder, err);
}

/* ---- the answer ---- */

/* "goes from 0.10 to 0.63", "stays at 0.10"; `error` NULL: it has none. */
static const char *say_change(const struct series *s, const char *column, const char *error)
{
	struct al_arena *arena = &s->session->arena;
	const char *first = al_claim_cell(arena, s->table, 0, column);
	const char *last = al_claim_cell(arena, s->table, s->n - 1, column);
	double a, b;

	if (al_table_number(s->table, 0, column, &a)
		&& al_table_number(s->table, s->n - 1, column, &b) && a == b)
		return al_format(arena, "stays at %s", first);
	if (!error)
		return al_format(arena, "goes from %s to %s", first, last);
	return al_format(arena, "goes from %s to %s",
		al_claim_with_error(arena, s->table, 0, column, error),
		al_claim_with_error(arena, s->table, s->n - 1, column, error));
}

static const char *say_moves(const struct series *s)
{
	struct al_arena *arena = &s->session->arena;
	const struct al_table *table = s->table;
	double most;
	const size_t row = al_table_extreme(table, "qk_since_previous", 1, &most);

	if (row == table->n_rows || !(most > 0))
		return "the heads' QK forms don't change";
	return al_format(arena,
		"the heads' QK forms change by %s, most between steps %s and %s (%s)",
		al_claim_cell(arena, table, s->n - 1, "qk_since_first"),
		al_claim_cell(arena, table, row - 1, "step"),
		al_claim_cell(arena, table, row, "step"),
		al_claim_cell(arena, table, row, "qk_since_previous"));
}

static void say(const struct series *s)
{
	struct al_arena *arena = &s->session->arena;

	al_session_claim(s->session,
		al_format(arena, "From step %s to %s (%s) redundancy %s%s%s; %s.",
			al_claim_cell(arena, s->table, 0, "step"),
			al_claim_cell(arena, s->table, s->n - 1, "step"),
			al_claim_counted(arena, s->n, "checkpoint"),
			say_change(s, "redundancy", NULL), s->input ? ", the loss " : "",
			s->input ? say_change(s, "loss", "loss_error") : "", say_moves(s)));
}

static bool check_options(const struct al_audit_asked *o, struct al_error *err)
{
	const char *wrong = o->against ? "--against"
		: o->report	       ? "--report"
		: o->shard	       ? "--shard"
		: o->fragment	       ? "--fragment"
		: o->calibration       ? "--calibration"
		: o->ablated	       ? "--ablate"
		: o->is_across	       ? "--across"
		: o->only	       ? "--only"
				       : NULL;

	return !wrong
		|| al_fail(err, AL_EINPUT, "%s is for one checkpoint; several were given", wrong);
}

bool al_audit_series(struct al_session *session, const struct al_audit_asked *options,
	struct al_error *err)
{
	struct series s = {.session = session, .asked = *options};

	if (!check_options(options, err)
		|| (al_input_is_given(&options->input) && !al_input_check(&options->input, err)))
		return false;
	s.asked.only = bit_of("layers") | bit_of("pca");
	s.asked.tables = s.asked.figures = NULL;
	list_steps(&s);
	s.input = al_input_is_given(&options->input) ? &options->input : NULL;
	s.asked.input = (struct al_input_options){0};
	s.table = al_session_table(session, "series", fields, s.input ? WITH_LOSS : 0,
		"Heads of %zu checkpoints", s.n);
	if ((s.input && !evaluate_all(&s, err)) || !measure_all(&s, err))
		return false;
	al_table_note(s.table,
		"medians over layers; QK rank: dimensions that hold 90 %% of the energy of all "
		"heads' scores");
	al_table_note(s.table,
		"since first, since previous: norm of the change of all heads' forms, relative to "
		"the root of both squared norms' sum: 0 the same, 1 nothing in common; heads are "
		"matched as by --against");
	say(&s);
	if (options->tables)
		al_csv_add(s.table, true,
			al_files_add(&session->files, options->tables, "series", "csv"));
	return !options->figures || draw(&s, options->figures, err);
}
