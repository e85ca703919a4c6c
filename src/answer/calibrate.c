/* calibrate: what a model's attention does on tokens, recorded. */
#include "answer/calibration.h"

#include <unistd.h>

#include "base/file.h"
#include "base/mount.h"
#include "model/calibration/imatrix_write.h"
#include "answer/input.h"
#include "answer/kernel.h"
#include "report/claim.h"

/* ---- the folder ---- */

static struct al_calibration *new_calibration(struct al_session *session)
{
	struct al_calibration *calibration = al_new(&session->arena, struct al_calibration);

	al_arena_defer(&session->arena, al_calibration_finish, calibration);
	return calibration;
}

struct al_calibration *al_session_calibration(struct al_session *session, const char *path,
	const struct al_checkpoint *checkpoint, struct al_error *err)
{
	struct al_calibration *calibration = new_calibration(session);
	const bool ok = checkpoint
		? al_calibration_read_for(calibration, path, checkpoint, NULL, 0, err)
		: al_calibration_read(calibration, path, err);

	return ok ? calibration : NULL;
}

static void remove_empty(void *folder)
{
	(void)rmdir(folder);
}

const char *al_calibration_folder_make(struct al_session *session, const char *folder,
	struct al_error *err)
{
	const bool is_new = al_path_kind(folder) == AL_PATH_NONE;

	if (!al_folder_make(folder, err))
		return NULL;
	if (is_new)
		al_arena_defer(&session->arena, remove_empty, al_strdup(&session->arena, folder));
	return al_format(&session->arena, "%s/calibration.safetensors", folder);
}

static bool is_imatrix(const char *path)
{
	return al_ends_with(path, ".imatrix") || al_ends_with(path, ".gguf");
}

/* ---- the answer ---- */

struct head {
	const char *module;
	size_t head;
	double induction, duplicate_token, previous_token;
	double self, previous, first, duplicates, successors, span, turn;
	int64_t nearest;
	double js_distance, mean_js_distance, entropy, norm;
	int64_t tokens;
};

enum { WITH_BEHAVIOR = 1, WITH_TURNS = 2 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct head, module, "Module")},
	{AL_SHOW_KEY(struct head, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct head, induction, "Induction", .group = "Random tokens twice", .digits = 4),
		.when = WITH_BEHAVIOR},
	{AL_SHOW(struct head, duplicate_token, "Duplicate", .group = "Random tokens twice",
		 .digits = 4),
		.when = WITH_BEHAVIOR},
	{AL_SHOW(struct head, previous_token, "Previous", .group = "Random tokens twice",
		 .digits = 4),
		.when = WITH_BEHAVIOR},
	{AL_SHOW(struct head, self, "Self", .group = "Attention to", .digits = 4)},
	{AL_SHOW(struct head, previous, "Previous", .group = "Attention to", .digits = 4)},
	{AL_SHOW(struct head, first, "First", .group = "Attention to", .digits = 4)},
	{AL_SHOW(struct head, duplicates, "Duplicates", .group = "Attention to", .digits = 4)},
	{AL_SHOW(struct head, successors, "Successors", .group = "Attention to", .digits = 4)},
	{AL_SHOW(struct head, span, "Distance", .unit = "tokens", .digits = 1)},
	{AL_SHOW_WHOLE(struct head, nearest, "Nearest head")},
	{AL_SHOW(struct head, js_distance, "JS distance", .digits = 4)},
	{AL_SHOW(struct head, entropy, "Attention entropy", .unit = "nats", .digits = 4)},
	{AL_SHOW(struct head, norm, "Output norm", .digits = 4)},
	{AL_SHOW(struct head, turn, "Stream turns", .unit = "°", .digits = 2), .when = WITH_TURNS},
	{AL_SHOW(struct head, mean_js_distance, "Mean JS distance to others", .digits = 4)},
	{AL_SHOW_WHOLE(struct head, tokens, "Tokens")},
	AL_FIELDS_END,
};

/* The means that a row has. */
static const struct shown {
	enum al_statistic_kind kind;
	size_t member;
} shown[] = {
	{AL_STATISTIC_RANDOM_SUCCESSORS, offsetof(struct head, induction)},
	{AL_STATISTIC_RANDOM_DUPLICATES, offsetof(struct head, duplicate_token)},
	{AL_STATISTIC_RANDOM_PREVIOUS, offsetof(struct head, previous_token)},
	{AL_STATISTIC_SELF, offsetof(struct head, self)},
	{AL_STATISTIC_PREVIOUS, offsetof(struct head, previous)},
	{AL_STATISTIC_FIRST, offsetof(struct head, first)},
	{AL_STATISTIC_DUPLICATES, offsetof(struct head, duplicates)},
	{AL_STATISTIC_SUCCESSORS, offsetof(struct head, successors)},
	{AL_STATISTIC_SPANS, offsetof(struct head, span)},
	{AL_STATISTIC_ENTROPIES, offsetof(struct head, entropy)},
	{AL_STATISTIC_NORMS, offsetof(struct head, norm)},
	{AL_STATISTIC_TURNS, offsetof(struct head, turn)},
};
enum { N_SHOWN = sizeof(shown) / sizeof(*shown) };

/* Of the distances to the other heads. */
static void find_distances(struct head *row, struct al_matrix distances)
{
	const double *own = distances.data + row->head * distances.ld;
	size_t nearest = row->head == 0;
	double sum = 0;

	if (distances.rows < 2)
		return;
	for (size_t i = 0; i < distances.rows; i++) {
		sum += own[i];
		if (i != row->head && own[i] < own[nearest])
			nearest = i;
	}
	row->nearest = (int64_t)nearest;
	row->js_distance = own[nearest];
	row->mean_js_distance = sum / (double)(distances.rows - 1);
}

static bool find_means(const struct al_calibration *calibration,
	const struct al_module_statistics *module, struct head *rows, struct al_error *err)
{
	for (size_t i = 0; i < N_SHOWN; i++) {
		AL_OWNED struct al_matrix means = {0};
		if (!al_calibration_has(calibration, shown[i].kind))
			continue;
		if (!al_statistics_mean(calibration, module, shown[i].kind, &means, err))
			return false;
		for (size_t head = 0; head < means.rows; head++)
			memcpy((char *)&rows[head] + shown[i].member, &means.data[head],
				sizeof(double));
	}
	return true;
}

static bool add_module(struct al_table *table, const struct al_calibration *calibration,
	const struct al_module_statistics *module, struct al_error *err)
{
	const size_t n_heads = al_statistics_heads(module);
	AL_FREED struct head *rows = al_calloc(n_heads, sizeof(*rows));
	AL_OWNED struct al_matrix distances = {0};

	if (!find_means(calibration, module, rows, err)
		|| !al_statistics_mean(calibration, module, AL_STATISTIC_DISTANCES, &distances,
			err))
		return false;
	for (size_t head = 0; head < n_heads; head++) {
		struct head *row = &rows[head];
		row->module = module->name;
		row->head = head;
		row->tokens = (int64_t)al_statistics_tokens(module);
		row->nearest = INT64_MIN;
		row->js_distance = row->mean_js_distance = NAN;
		find_distances(row, distances);
		al_table_add_record(table, row);
	}
	return true;
}

/* "; heads 2 and 5 of layers.3 attend most alike (Jensen-Shannon distance 0.0712)" */
static const char *say_nearest(struct al_arena *arena, const struct al_table *table)
{
	double distance;
	const size_t row = al_table_extreme(table, "js_distance", -1, &distance);

	return row == table->n_rows
		? ""
		: al_format(arena,
			"; heads %s and %s of %s attend most alike (Jensen-Shannon distance "
			"%s)",
			al_claim_cell(arena, table, row, "head"),
			al_claim_cell(arena, table, row, "nearest"),
			al_claim_cell(arena, table, row, "module"),
			al_claim_cell(arena, table, row, "js_distance"));
}

const char *al_calibration_say_few(struct al_arena *arena, const struct al_calibration *calibration)
{
	const struct al_module_statistics *first = &calibration->modules[0];
	const double n = al_statistics_tokens(first), width = (double)al_statistics_inputs(first);
	const char *less = n < width ? " moments of fewer tokens than dimensions are singular, and "
				       "fits of them mean little;"
				     : "";

	if (n >= AL_STABLE * width)
		return "";
	return al_format(arena,
		" Only %s tokens for each of %s input dimensions:%s use at least %s for stable "
		"fits.",
		al_claim_real(arena, "tokens_per_number", "", n / width,
			al_format(arena, "%.1f", n / width)),
		al_claim_count(arena, "width", (int64_t)width), less,
		al_claim_count(arena, "stable", AL_STABLE));
}

static const char *say(struct al_arena *arena, const struct al_table *table,
	const struct al_calibration *calibration, const char *folder)
{
	const double n = al_statistics_tokens(&calibration->modules[0]);

	return al_format(arena, "%s of %s recorded in %s%s.%s",
		al_claim_counted(arena, (uint64_t)n, "token"),
		al_claim_counted(arena, calibration->n_modules, "attention module"),
		al_claim_name(arena, "folder", folder), say_nearest(arena, table),
		al_calibration_say_few(arena, calibration));
}

static bool has_behavior(const struct al_calibration *calibration)
{
	return al_calibration_has(calibration, AL_STATISTIC_RANDOM_SUCCESSORS);
}

static bool has_turns(const struct al_calibration *calibration)
{
	return al_calibration_has(calibration, AL_STATISTIC_TURNS);
}

static void note_columns(struct al_table *table, const struct al_calibration *calibration)
{
	const char *n[AL_N_QUERIES];

	for (int i = 0; i < AL_N_QUERIES; i++)
		n[i] = al_count_text(&table->arena,
			(uint64_t)al_calibration_queries(calibration, (enum al_queries)i), "token");
	al_table_note(table,
		"attention to: mean attention weight of all tokens on themselves (Self); of %s "
		"that "
		"have one before them on it (Previous) and on the sequence's first (First); of %s "
		"that have an equal one before them on all such (Duplicates) and on all that "
		"follow "
		"these directly (Successors)",
		n[AL_QUERIES_LATER], n[AL_QUERIES_REPEATED]);
	if (has_behavior(calibration))
		al_table_note(table,
			"random tokens twice: mean attention weight of %s that come again on the "
			"one "
			"behind their first occurrence (Induction) and on that occurrence "
			"(Duplicate); of %s on the one before them (Previous)",
			n[AL_QUERIES_RANDOM_REPEATED], n[AL_QUERIES_RANDOM_LATER]);
	al_table_note(table, "distance: between query and key, weighted by attention");
	al_table_note(table,
		"JS distance: square root of the Jensen-Shannon divergence (nats) between two "
		"heads' attention weights, from 0 to %.4f, averaged over %s",
		sqrt(log(2)), n[AL_QUERIES_SAMPLED]);
	if (has_turns(calibration))
		al_table_note(table,
			"stream turns: the angle by which the residual stream behind attention "
			"turns without the head, averaged over %s",
			n[AL_QUERIES_TURNED]);
}

bool al_calibration_add_table(struct al_session *session, const struct al_calibration *calibration,
	const char *folder, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "calibration", fields,
		(has_behavior(calibration) ? WITH_BEHAVIOR : 0)
			| (has_turns(calibration) ? WITH_TURNS : 0),
		"Attention statistics, recorded in %s", folder);

	for (size_t i = 0; i < calibration->n_modules; i++)
		if (!add_module(table, calibration, &calibration->modules[i], err))
			return false;
	al_table_note(table, "%s, %s, in %s",
		al_count_text(&session->arena, calibration->n_sequences, "sequence"),
		al_count_text(&session->arena,
			(uint64_t)al_statistics_tokens(&calibration->modules[0]), "token"),
		al_count_text(&session->arena, calibration->n_folds, "fold"));
	note_columns(table, calibration);
	al_session_claim(session, say(&session->arena, table, calibration, folder));
	return true;
}

/* ---- the command ---- */

struct calibrate_options {
	struct al_output_options output;
	const char *target; /* a folder, or a file of an imatrix */
	int64_t n_folds; /* 0: AL_FOLDS */
	bool has_behavior;
	struct al_layout_options layout;
	struct al_input_options input;
};

static const struct al_option_row output_rows[] = {
	OPTION_TEXT(struct calibrate_options, target, "output", "DIR|FILE",
		"folder to write calibration.safetensors to; with FILE.imatrix or FILE.gguf only "
		"mean squares, for llama.cpp's quantizer",
		.letter = 'o', .is_required = true),
	OPTION_COUNT(struct calibrate_options, n_folds, "folds", "K",
		"folds of sequences, which judge what the others fit (default 4)", .least = 1,
		.most = AL_MOST_FOLDS),
	OPTION_FLAG(struct calibrate_options, has_behavior, "behavior",
		"induction and duplicate tokens, on random tokens twice"),
	OPTION_END,
};

static const struct al_option_group groups[] = {{al_format_rows, 0}, {output_rows, 0},
	{al_display_rows, 0}, {al_only_rows, 0},
	{al_layout_rows, offsetof(struct calibrate_options, layout)},
	{al_input_rows, offsetof(struct calibrate_options, input)}, {NULL, 0}};

struct calibrating {
	struct al_session *session;
	const struct calibrate_options *options;
	const char *path; /* of the file */
	struct al_opened_model model;
};

/* The file's table, and what the answer says of the model. */
static bool tell(struct calibrating *c, const struct al_calibration *calibration,
	struct al_error *err)
{
	const struct al_checkpoint *checkpoint = c->model.file->checkpoint;

	if (!al_calibration_add_table(c->session, calibration, c->options->target, err))
		return false;
	al_session_next_question(c->session, "audit", al_layout_groups,
		(const char *const[]){al_format(&c->session->arena, "--calibration %s",
					      al_shell_word(&c->session->arena,
						      c->options->target)),
			NULL});
	al_opened_checkpoint_note_fingerprint(c->model.file, calibration->source,
		c->session->tables[0]);
	al_kernel_note(c->session->tables[0]);
	/* What the tokens didn't need may hold NaN: rows of embeddings, the last projection. */
	return al_checkpoint_note_not_finite(checkpoint, c->session->tables[0], err)
		&& al_checkpoint_check_unchanged(checkpoint, err);
}

/* What an earlier run kept of this recording: not of models in memory. */
static bool find_unfinished(const struct calibrating *c, const struct al_calibration *calibration,
	const struct al_kept_memory *taken, struct al_unfinished *out, struct al_error *err)
{
	const struct al_running *running = c->model.running;

	return al_mount_now()
		|| al_unfinished_find(out, calibration, &running->network, &running->all, c->path,
			taken, err);
}

static bool record(struct calibrating *c, struct al_calibration *calibration,
	const struct al_statistics_taker *taker, struct al_unfinished *unfinished,
	struct al_error *err)
{
	struct al_running *running = c->model.running;
	struct al_pass_state *state = unfinished->state.path ? &unfinished->state : NULL;
	const int64_t n_passed = unfinished->state.n_passed;

	if (c->options->has_behavior && n_passed == 0
		&& !al_calibration_record_behavior(calibration, &running->network, c->model.watch,
			err))
		return false;
	if (!al_calibration_record(calibration, &running->network, &running->all, taker,
		    c->model.watch, state, err)
		|| !tell(c, calibration, err))
		return false;
	if (n_passed > 0)
		al_table_note(c->session->tables[0],
			"an earlier run ended behind %s of %" PRId64 "; this one went on there",
			al_count_text(&c->session->arena, (uint64_t)n_passed, "layer"),
			running->network.n_layers);
	return true;
}

static bool record_imatrix(struct calibrating *c, struct al_calibration *calibration,
	struct al_unfinished *unfinished, struct al_error *err)
{
	const struct al_input_options *input = &c->options->input;
	const char *dataset = input->tokens ? input->tokens : input->text ? input->text : "sampled";
	struct al_imatrix_writer *writer = al_imatrix_writer_create(&c->model.file->view,
		calibration);

	al_arena_defer(&c->session->arena, al_imatrix_writer_destroy, writer);
	if (!find_unfinished(c, calibration, al_imatrix_writer_taken(writer), unfinished, err)
		|| !record(c, calibration,
			&(struct al_statistics_taker){al_imatrix_writer_put, writer}, unfinished,
			err))
		return false;
	al_table_note(c->session->tables[0],
		"the imatrix covers attention's weights, with means and mean squares "
		"of their inputs; llama.cpp quantizes other tensors without one, and "
		"refuses types that need it");
	return al_imatrix_writer_write(writer, dataset, c->path, err);
}

static bool record_folder(struct calibrating *c, struct al_calibration *calibration,
	struct al_unfinished *unfinished, struct al_error *err)
{
	struct al_calibration_writer *writer;

	if (!find_unfinished(c, calibration, NULL, unfinished, err)
		|| !(unfinished->state.path
				? al_calibration_writer_create_kept(&writer, calibration, c->path,
					unfinished->written, err)
				: al_calibration_writer_create(&writer, calibration, c->path, err)))
		return false;
	unfinished->writer = writer;
	if (record(c, calibration, &(struct al_statistics_taker){al_calibration_writer_put, writer},
		    unfinished, err))
		return al_calibration_writer_commit(writer, err);
	al_calibration_writer_abandon(writer);
	return false;
}

static bool record_target(struct calibrating *c, struct al_calibration *calibration,
	struct al_error *err)
{
	struct al_unfinished unfinished = {0};
	const bool ok = is_imatrix(c->options->target)
		? record_imatrix(c, calibration, &unfinished, err)
		: record_folder(c, calibration, &unfinished, err);

	al_unfinished_finish(&unfinished, ok);
	return ok;
}

static bool record_all(struct calibrating *c, struct al_error *err)
{
	struct al_calibration *calibration = new_calibration(c->session);
	struct al_running *running = c->model.running;

	return al_watch_show(c->model.watch, "fingerprint of the weights", 0, 0, err)
		&& al_calibration_begin(calibration, &running->network, &running->all,
			(size_t)c->options->n_folds, err)
		&& (!c->options->has_behavior
			|| al_calibration_begin_behavior(calibration, &running->network, err))
		&& record_target(c, calibration, err);
}

static bool run_calibrate(struct al_session *session, struct al_error *err)
{
	struct calibrating c = {.session = session, .options = session->options};

	if (c.options->has_behavior && is_imatrix(c.options->target))
		return al_fail(err, AL_EINPUT,
			"-o %s: an imatrix has no place for --behavior; remove it, or pass -o DIR",
			c.options->target);
	/* The folder is made first: what can't be written needs no recording. */
	return al_opened_model_init(&c.model, session, &c.options->layout, &c.options->input, err)
		&& (!c.options->has_behavior
			|| al_calibration_check_behavior(&c.model.running->network, err))
		&& (c.path = is_imatrix(c.options->target)
				? c.options->target
				: al_calibration_folder_make(session, c.options->target, err))
		&& record_all(&c, err);
}

const struct al_command al_command_calibrate = {
	.words = "MODEL [CONFIG]",
	.examples = {"calibrate stories15M.bin --tokens stories.npy --sequences 0:16 -o measured/",
		"calibrate all-MiniLM-L6-v2/ --tokens ids.txt -o measured/ -f csv",
		"calibrate stories15M.gguf --tokens stories.npy -o stories15M.imatrix"},
	.options = groups,
	.options_size = sizeof(struct calibrate_options),
	.computed_with = al_kernel_library,
	.run = run_calibrate,
};
