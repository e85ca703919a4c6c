/* compress: a smaller checkpoint and what it cost; verify: both side by side. */
#include "commands/checkpoint.h"
#include "commands/kernel.h"
#include "commands/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "commands/input.h"
#include "compress/by_data.h"
#include "compress/judge.h"
#include "compress/verify.h"
#include "linalg/cp.h"
#include "linalg/kernel.h"

enum { TOKENS = 64 };

/* ---- options ---- */

struct compress_options {
	struct al_output_options output;
	struct al_layout_options layout;
	const char *file, *method, *ranks, *target_error, *drops, *for_whom, *calibration, *budget;
	int64_t seed, sweeps, target_parameters; /* 0: not given */
	int measure, side, refit;
	bool force, is_aligned;
	struct al_input_options input;
};

enum { OF_VALUES, OF_KEYS, N_SIDES };
static const char *const sides[N_SIDES] = {"values", "keys"};

static const struct al_option_row file_rows[] = {
	OPTION_TEXT(struct compress_options, file, "output", "FILE|FOLDER",
		"the safetensors file to write; or a folder to be made, with the source's shards, "
		"index and config.json",
		.letter = 'o'),
	OPTION_END,
};

static const struct al_option_row compress_rows[] = {
	AL_SEED_ROW(struct compress_options, seed, 0),
	OPTION_TEXT(struct compress_options, method, "method", "NAME",
		"collab (shared projections), tucker (factored), truncate (per head), drop "
		"(heads), ov (each head's values and outputs), kv-latent (values or keys of all "
		"heads from one narrow projection), gqa (values shared by groups of heads) or "
		"identity (nothing: another format, or a folder)"),
	OPTION_TEXT(struct compress_options, calibration, "calibration", "DIR",
		"drop, ov, kv-latent, gqa: in the measure of what `calibrate` wrote; with drop and "
		"ov W_O is fitted anew"),
	OPTION_CHOICE(struct compress_options, measure, "measure",
		"auto|weights|gain|diagonal|inputs|centred|weighed|outputs",
		"what ov, kv-latent and gqa weigh errors by: nothing, the norm's gain, of the "
		"calibration the inputs' mean squares, second moment or covariance, their moment "
		"and W_O, or the heads' outputs (default auto: the best that is known)",
		.words = al_measure_names, .n_words = AL_N_MEASURES),
	OPTION_CHOICE(struct compress_options, refit, "refit", "auto|none|tokens|sequential",
		"what W_O is fitted to: of drop and ov the calibration's outputs (auto), nothing, "
		"or what the compressed heads put out on --tokens, in the original model or in one "
		"whose layers before are compressed",
		.words = al_refit_names, .n_words = AL_N_REFITS),
	OPTION_FLAG(struct compress_options, is_aligned, "align",
		"gqa: each head's values turned onto those of the group's first (Procrustes), and "
		"their mean, in place of the best common ones"),
	OPTION_CHOICE(struct compress_options, side, "of", "values|keys",
		"kv-latent: of values (default) or of keys", .words = sides, .n_words = N_SIDES),
	OPTION_TEXT(struct compress_options, budget, "budget", "P%",
		"ov, kv-latent, gqa: the largest rank that saves this share of attention's "
		"parameters"),
	OPTION_TEXT(struct compress_options, ranks, "rank", "N",
		"shared width, or width of each head, of gqa how many values are left; or a comma "
		"list, one rank per module"),
	OPTION_TEXT(struct compress_options, target_error, "target-error", "E",
		"the smallest rank with at most this relative error"),
	OPTION_COUNT(struct compress_options, target_parameters, "target-parameters", "N",
		"the largest rank with at most so many query and key parameters a module",
		.least = 1),
	OPTION_COUNT(struct compress_options, sweeps, "sweeps", "N",
		"collab: at most so many sweeps of least squares (200)", .least = 1),
	OPTION_FLAG(struct compress_options, force, "force",
		"write a result that is no smaller than its source, too"),
	OPTION_TEXT(struct compress_options, drops, "drop", "LAYER:HEAD,...",
		"heads to leave out; a module's name may stand for LAYER; or with --calibration a "
		"number: so many of each module, whose loss the others make up for best"),
	OPTION_TEXT(struct compress_options, for_whom, "for", "epfml",
		"fold in the score scale of epfml/collaborative-attention, 1/sqrt(R/n_heads)"),
	OPTION_END,
};

static const struct al_option_group compress_groups[] = {{al_format_rows, 0}, {file_rows, 0},
	{al_display_rows, 0}, {al_layout_rows, offsetof(struct compress_options, layout)},
	{al_module_rows, offsetof(struct compress_options, layout)}, {compress_rows, 0},
	{al_input_rows, offsetof(struct compress_options, input)}, {NULL, 0}};

static bool parse_whole(const char *text, const char *option, int64_t least, int64_t *out,
	struct al_error *err)
{
	size_t n = al_read_digits(text, out);

	if (n == 0 || text[n] || *out < least || *out > INT64_C(1) << 53)
		return al_fail(err, AL_EINPUT, "--%s %s: expected a whole number of at least %lld",
			option, text, (long long)least);
	return true;
}

static size_t count_items(const char *list)
{
	size_t n = 1;

	for (; *list; list++)
		n += *list == ',';
	return n;
}

/* The items of "a,b,c"; an empty one is an item. */
static char **split(struct al_arena *arena, const char *list, size_t *n)
{
	char **items = al_new_array(arena, char *, count_items(list));

	*n = 0;
	for (;;) {
		const size_t length = strcspn(list, ",");
		items[(*n)++] = al_strndup(arena, list, length);
		if (!list[length])
			return items;
		list += length + 1;
	}
}

static bool read_ranks(struct al_arena *arena, const char *text, struct al_compress_options *out,
	struct al_error *err)
{
	if (!text)
		return true;
	char **items = split(arena, text, &out->n_ranks);
	int64_t *ranks = al_new_array(arena, int64_t, out->n_ranks);
	for (size_t i = 0; i < out->n_ranks; i++)
		if (!parse_whole(items[i], "rank", 1, &ranks[i], err))
			return false;
	out->ranks = ranks;
	return true;
}

/* "3:5": head 5 of layer 3; "decoder.3.cross:5" names the module. */
static bool read_drops(struct al_arena *arena, const char *text, struct al_compress_options *out,
	struct al_error *err)
{
	int64_t of_each;

	if (!text)
		return true;
	const size_t digits = al_read_digits(text, &of_each);
	if (digits > 0 && !text[digits]) {
		out->n_of_each = of_each > 0 ? (size_t)of_each : 0;
		return of_each > 0
			|| al_fail(err, AL_EINPUT,
				"--drop %s: expected LAYER:HEAD, or a number of heads", text);
	}
	char **items = split(arena, text, &out->n_dropped);
	struct al_dropped *dropped = al_new_array(arena, struct al_dropped, out->n_dropped);
	for (size_t i = 0; i < out->n_dropped; i++) {
		char *colon = strrchr(items[i], ':');
		if (!colon || colon == items[i])
			return al_fail(err, AL_EINPUT, "--drop %s: expected LAYER:HEAD", items[i]);
		*colon = '\0';
		dropped[i].module = items[i];
		if (!parse_whole(colon + 1, "drop ...:", 0, &dropped[i].head, err))
			return false;
	}
	out->dropped = dropped;
	return true;
}

static bool parse_number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && isfinite(*out);
}

static bool read_target(const char *text, double *out, struct al_error *err)
{
	return !text || (parse_number(text, out) && *out > 0 && *out < 1)
		|| al_fail(err, AL_EINPUT, "--target-error %s: expected a number between 0 and 1",
			text);
}

static bool read_method(const char *method, const char *target, struct al_compress_options *out,
	struct al_error *err)
{
	if (!method)
		return al_fail(err, AL_EINPUT,
			"expected --method collab, tucker, truncate, drop, ov, kv-latent, gqa or "
			"identity");
	const int found = al_find_name(method, al_method_names, AL_N_METHODS);
	if (found < 0)
		return al_fail_unknown(err, "method", method, al_method_names, AL_N_METHODS);
	out->method = (enum al_method)found;
	out->for_epfml = target != NULL;
	if (target && strcmp(target, "epfml") != 0)
		return al_fail(err, AL_EINPUT, "--for %s: expected epfml", target);
	return !target || out->method == AL_METHOD_COLLAB
		|| al_fail(err, AL_EINPUT, "--for epfml takes --method collab, not %s", method);
}

/* One way to say how much is left, and the one that the method takes. */
static bool check_goal(const struct al_compress_options *o, struct al_error *err)
{
	const int n = (o->n_ranks > 0) + (o->target_error > 0) + (o->target_parameters > 0)
		+ (o->budget > 0);

	if (o->method == AL_METHOD_IDENTITY)
		return (n == 0 && o->n_dropped == 0 && o->n_of_each == 0 && !o->modules)
			|| al_fail(err, AL_EINPUT,
				"--method identity changes no module: it takes no rank, no --drop "
				"and no --modules");
	if (o->method == AL_METHOD_DROP)
		return (n == 0 && (o->n_dropped > 0 || o->n_of_each > 0))
			|| al_fail(err, AL_EINPUT,
				"--method drop takes --drop LAYER:HEAD,... and no rank");
	if (o->n_dropped > 0 || o->n_of_each > 0)
		return al_fail(err, AL_EINPUT, "--drop goes with --method drop, not %s",
			al_method_names[o->method]);
	return n == 1
		|| al_fail(err, AL_EINPUT,
			"expected one of --rank, --target-error, --target-parameters and "
			"--budget");
}

/* "20%" or ".2" */
static bool read_budget(const char *text, double *out, struct al_error *err)
{
	char *end;

	if (!text)
		return true;
	*out = strtod(text, &end);
	if (end != text && *end == '%') {
		*out /= 100;
		end++;
	}
	return (end != text && !*end && *out > 0 && *out < 1)
		|| al_fail(err, AL_EINPUT, "--budget %s: expected a share to save, as 20%%", text);
}

/* What only methods on values, and drop, take. */
static bool check_data(const struct compress_options *o, enum al_method method,
	struct al_error *err)
{
	const char *name = al_method_names[method];
	const bool is_of_values = al_method_is_of_values(method);

	if (o->calibration && !is_of_values && method != AL_METHOD_DROP)
		return al_fail(err, AL_EINPUT,
			"--calibration goes with drop, ov, kv-latent and gqa, not %s", name);
	if ((o->measure != AL_MEASURE_AUTO || o->budget) && !is_of_values)
		return al_fail(err, AL_EINPUT, "--%s goes with ov, kv-latent and gqa, not %s",
			o->budget ? "budget" : "measure", name);
	if (o->side != OF_VALUES && method != AL_METHOD_LATENT)
		return al_fail(err, AL_EINPUT, "--of goes with kv-latent, not %s", name);
	if (o->drops && !strchr(o->drops, ':') && !o->calibration)
		return al_fail(err, AL_EINPUT,
			"--drop %s: expected LAYER:HEAD, or --calibration DIR to choose heads by",
			o->drops);
	if (o->is_aligned && method != AL_METHOD_GQA)
		return al_fail(err, AL_EINPUT, "--align goes with gqa, not %s", name);
	if (al_refit_runs((enum al_refit)o->refit)) {
		if (!is_of_values && method != AL_METHOD_DROP)
			return al_fail(err, AL_EINPUT,
				"--refit goes with drop, ov, kv-latent and gqa, not %s", name);
		return al_input_check(&o->input, err);
	}
	if (o->input.tokens || o->input.text || o->input.sequences)
		return al_fail(err, AL_EINPUT,
			"--tokens and --text go with --refit tokens or --refit sequential");
	if (o->measure == AL_MEASURE_OUTPUTS && (method == AL_METHOD_LATENT && o->side == OF_KEYS))
		return al_fail(err, AL_EINPUT, "--measure outputs: keys have none");
	return true;
}

static bool read_options(struct al_session *session, struct al_compress_options *out,
	struct al_error *err)
{
	const struct compress_options *o = session->options;

	*out = (struct al_compress_options){
		.modules = o->layout.modules,
		.target_parameters = o->target_parameters,
		.must_gain = !o->force,
		.of_keys = o->side == OF_KEYS,
		.effort = {.n_sweeps = o->sweeps > 0 ? (size_t)o->sweeps : AL_CP_SWEEPS,
			.seed = (uint64_t)o->seed},
	};
	if (!read_method(o->method, o->for_whom, out, err)
		|| !read_ranks(&session->arena, o->ranks, out, err)
		|| !read_drops(&session->arena, o->drops, out, err)
		|| !read_target(o->target_error, &out->target_error, err)
		|| !read_budget(o->budget, &out->budget, err) || !check_data(o, out->method, err)
		|| !check_goal(out, err))
		return false;
	out->must_gain = out->must_gain && out->method != AL_METHOD_IDENTITY;
	if (o->sweeps > 0 && out->method != AL_METHOD_COLLAB)
		return al_fail(err, AL_EINPUT, "--sweeps goes with --method collab, not %s",
			al_method_names[out->method]);
	return o->file || al_fail(err, AL_EINPUT, "expected -o FILE, the checkpoint to write");
}

/* ---- the answer ---- */

/* `shown` is the name of the compressed file in the answer. */
static bool verify(struct al_session *session, struct al_model_view *view, const char *path,
	const char *shown, const struct al_verify_options *options, bool *holds,
	struct al_error *err)
{
	struct al_checkpoint compressed;

	if (!al_checkpoint_open(&compressed, path, err))
		return false;
	compressed.path = shown;
	struct al_table *table = al_session_table(session, "verify",
		"Attention probabilities and outputs, original and compressed");
	al_verify_add_columns(table);
	bool ok = al_verify(view, &compressed, options, table, holds, err);
	al_checkpoint_close(&compressed);
	return ok;
}

struct compression {
	struct al_session *session;
	struct al_opened_checkpoint *opened;
	const struct al_compress_options *options;
	const char *file;
	struct al_progress progress;
};

static void show(void *context, const char *module)
{
	struct compression *c = context;

	al_progress_show(&c->progress, c->opened->checkpoint.path, module);
}

static bool check(void *context, const char *written, struct al_error *err)
{
	struct compression *c = context;
	const struct al_verify_options options = {.n_tokens = TOKENS,
		.seed = c->options->effort.seed,
		.modules = c->options->modules};
	bool holds = true;

	if (!verify(c->session, &c->opened->view, written, c->file, &options, &holds, err))
		return false;
	return holds
		|| al_fail(err, AL_ESYSTEM, "%s: what was copied is not the original's", c->file);
}

static bool compress(struct al_session *session, struct al_opened_checkpoint *opened,
	struct al_compress_options *options, struct al_error *err)
{
	const char *file = ((const struct compress_options *)session->options)->file;
	struct compression c = {.session = session,
		.opened = opened,
		.options = options,
		.file = file};
	struct al_table *table = al_session_table(session, "compress",
		al_format(&session->arena, "%s, compressed into %s", opened->checkpoint.path,
			file));

	al_compress_add_columns(table);
	struct al_table *heads = NULL;
	if (options->method == AL_METHOD_COLLAB) {
		heads = al_session_table(session, "expressiveness",
			"Shared dimensions of each head");
		al_compress_add_head_columns(heads);
	}
	al_progress_init(&c.progress, session);
	options->watch = show;
	options->check = check;
	options->context = &c;
	bool ok = al_compress(&opened->view, options, file, table, heads, err);
	al_progress_finish(&c.progress);
	if (!ok)
		return false;
	al_opened_checkpoint_note(opened, table);
	al_table_note(table, "seed: %llu, BLAS kernel: %s",
		(unsigned long long)options->effort.seed, al_blas_kernel());
	al_kernel_note(table);
	return true;
}

/* The sample that errors are of. */
static void note_calibration(const struct al_session *session,
	const struct al_calibration *calibration)
{
	const struct al_module_statistics *first = &calibration->modules[0];
	const double n = al_statistics_tokens(first), width = (double)first->of[0].rows - 1;

	al_table_note(session->tables[0], "calibration: %s, %.0f tokens in %zu sequences",
		calibration->path, n, calibration->n_sequences);
	if (n < 10 * width)
		al_table_note(session->tables[0],
			"%.1f tokens of the calibration for each of %.0f coordinates, fewer than "
			"ten: expect more loss on other tokens",
			n / width, width);
}

/* The model runs for W_O. */
static bool compress_running(struct al_session *session, struct al_opened_checkpoint *opened,
	struct al_compress_options *options, struct al_data *data, struct al_error *err)
{
	const struct compress_options *o = session->options;
	struct al_network network;
	struct al_tokens tokens;

	if (!al_refit_runs(data->refit))
		return compress(session, opened, options, err);
	if (!al_network_open(&network, &opened->view, err))
		return false;
	bool ok = al_input_read(&o->input, &network, &tokens, err);
	if (ok) {
		const struct al_batch all = al_input_batch(&tokens);
		data->running = (struct al_refitting){&network, &all};
		ok = compress(session, opened, options, err);
		al_tokens_finish(&tokens);
	}
	al_network_close(&network);
	return ok;
}

static bool compress_with_data(struct al_session *session, struct al_opened_checkpoint *opened,
	struct al_compress_options *options, struct al_error *err)
{
	const struct compress_options *o = session->options;
	struct al_calibration calibration;
	struct al_data data = {.measure = (enum al_measure)o->measure,
		.refit = (enum al_refit)o->refit,
		.is_aligned = o->is_aligned};

	options->data = &data;
	if (!o->calibration)
		return compress_running(session, opened, options, &data, err);
	if (!al_calibration_read_for(&calibration, o->calibration, &opened->checkpoint, err))
		return false;
	data.calibration = &calibration;
	bool ok = compress_running(session, opened, options, &data, err);
	if (ok)
		note_calibration(session, &calibration);
	al_calibration_finish(&calibration);
	return ok;
}

static bool run_compress(struct al_session *session, struct al_error *err)
{
	const struct compress_options *o = session->options;
	struct al_compress_options options;
	struct al_opened_checkpoint opened;

	if (!read_options(session, &options, err)
		|| !al_opened_checkpoint_init(&opened, session, &o->layout,
			al_session_word(session, 0), al_session_word(session, 1), true, err))
		return false;
	bool ok = compress_with_data(session, &opened, &options, err);
	al_opened_checkpoint_finish(&opened);
	return ok;
}

struct verify_options {
	struct al_output_options output;
	struct al_layout_options layout;
	struct al_input_options input;
	const char *tolerance;
	int64_t seed;
};

static const struct al_option_row verify_rows[] = {
	AL_SEED_ROW(struct verify_options, seed, 0),
	OPTION_TEXT(struct verify_options, tolerance, "tolerance", "X",
		"exit status 1 if a relative error of the output exceeds X"),
	OPTION_END,
};

static const struct al_option_group verify_groups[] = {OUTPUT_GROUPS,
	{al_layout_rows, offsetof(struct verify_options, layout)},
	{al_module_rows, offsetof(struct verify_options, layout)},
	{al_input_rows, offsetof(struct verify_options, input)}, {verify_rows, 0}, {NULL, 0}};

/* ---- on tokens ---- */

static void add_loss(struct al_session *session, const struct al_judgement *judgement,
	const struct al_batch *all)
{
	static const struct al_column columns[] = {
		{.key = "sequences", .title = "Sequences", .digits = AL_DIGITS_ALL},
		{.key = "predicted", .title = "Predicted", .digits = AL_DIGITS_ALL},
		{.key = "original", .title = "Loss", .unit = "nats per token", .digits = 6},
		{.key = "compressed", .title = "Compressed", .unit = "nats per token", .digits = 6},
		{.key = "kl", .title = "KL divergence", .unit = "nats per token", .digits = 6},
		{.key = "agreement", .title = "Same likeliest token", .unit = "%", .digits = 2},
	};
	struct al_table *table = al_session_table(session, "loss",
		"Original and compressed on the tokens");

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		al_table_add_column(table, columns[i]);
	struct al_cell *cell = al_table_add_row(table);
	al_cell_set_int(table, cell++, (int64_t)all->n_sequences);
	al_cell_set_int(table, cell++, (int64_t)judgement->n_predicted);
	al_cell_set_real(cell++, judgement->original);
	al_cell_set_real(cell++, judgement->compressed);
	al_cell_set_real(cell++, judgement->divergence);
	al_cell_set_real(cell, 100 * judgement->agreement);
	al_table_note(table,
		"the compressed model gives each next token %.4g times the probability (the "
		"geometric mean); KL(original || compressed) and agreement leave out each "
		"sequence's first token, which sees itself alone",
		exp(judgement->original - judgement->compressed));
	al_table_note(table,
		"judge on other sequences than those of the calibration: in their sample errors "
		"are smaller");
}

static bool judge_on(struct al_session *session, struct al_network *network,
	const struct al_recorded *recorded, const struct al_input_options *input,
	struct al_error *err)
{
	struct al_judgement judgement;
	struct al_tokens tokens;

	if (!al_input_read(input, network, &tokens, err))
		return false;
	const struct al_batch all = al_input_batch(&tokens);
	bool ok = al_judge_compressed(network, recorded, &all, NULL, &judgement, err);
	if (ok)
		add_loss(session, &judgement, &all);
	al_tokens_finish(&tokens);
	return ok;
}

static bool judge_recorded(struct al_session *session, struct al_model_view *view,
	const struct al_checkpoint *compressed, const struct al_input_options *input,
	struct al_error *err)
{
	struct al_recorded recorded;
	struct al_network network;

	if (!al_recorded_open(&recorded, view, compressed, err))
		return false;
	bool ok = al_network_open(&network, view, err);
	if (ok) {
		ok = judge_on(session, &network, &recorded, input, err);
		al_network_close(&network);
	}
	al_recorded_close(&recorded);
	return ok;
}

/* Both models run on tokens. */
static bool judge(struct al_session *session, struct al_model_view *view, const char *path,
	const struct al_input_options *input, struct al_error *err)
{
	struct al_checkpoint compressed;

	if (!al_checkpoint_open(&compressed, path, err))
		return false;
	bool ok = judge_recorded(session, view, &compressed, input, err)
		&& al_checkpoint_check_unchanged(&compressed, err);
	al_checkpoint_close(&compressed);
	return ok;
}

static bool run_verify(struct al_session *session, struct al_error *err)
{
	const struct verify_options *o = session->options;
	struct al_verify_options options = {.n_tokens = TOKENS,
		.seed = (uint64_t)o->seed,
		.modules = o->layout.modules,
		.has_tolerance = o->tolerance != NULL};
	const char *compressed = al_session_word(session, 1);
	struct al_opened_checkpoint opened;
	const bool has_input = o->input.tokens || o->input.text;
	bool holds = true;

	if (has_input && !al_input_check(&o->input, err))
		return false;
	if (!has_input && o->input.sequences)
		return al_fail(err, AL_EINPUT, "--sequences goes with --tokens or --text");
	if (o->tolerance
		&& (!parse_number(o->tolerance, &options.tolerance) || options.tolerance < 0))
		return al_fail(err, AL_EINPUT, "--tolerance %s: expected a number of at least 0",
			o->tolerance);
	if (!al_opened_checkpoint_init(&opened, session, &o->layout, al_session_word(session, 0),
		    al_session_word(session, 2), true, err))
		return false;
	bool ok = (!has_input || judge(session, &opened.view, compressed, &o->input, err))
		&& verify(session, &opened.view, compressed, compressed, &options, &holds, err);
	session->answer_is_no = !holds;
	if (ok)
		al_opened_checkpoint_note(&opened, session->tables[0]);
	al_opened_checkpoint_finish(&opened);
	return ok;
}

const struct al_command al_command_compress = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"compress bert/ --method collab --rank 384 -o collab.safetensors",
		"compress model.safetensors --heads 12 --method drop --drop 0:3,5:11 -o "
		"pruned.safetensors"},
	.options = compress_groups,
	.options_size = sizeof(struct compress_options),
	.least_words = 1,
	.most_words = 2,
	.computes = true,
	.run = run_compress,
};

const struct al_command al_command_verify = {
	.words = "ORIGINAL COMPRESSED [CONFIG]",
	.examples = {"verify bert/ collab.safetensors",
		"verify model.safetensors pruned.safetensors -f csv"},
	.options = verify_groups,
	.options_size = sizeof(struct verify_options),
	.least_words = 2,
	.most_words = 3,
	.computes = true,
	.run = run_verify,
};
