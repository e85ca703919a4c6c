/* compress: a smaller checkpoint and what it cost; verify: both side by side. */
#include "commands/checkpoint.h"
#include "commands/kernel.h"
#include "commands/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "compress/verify.h"
#include "linalg/cp.h"
#include "linalg/kernel.h"

enum { TOKENS = 64 };

/* ---- options ---- */

struct compress_options {
	struct al_output_options output;
	struct al_layout_options layout;
	const char *file, *method, *ranks, *target_error, *drops, *for_whom;
	int64_t seed, sweeps, target_parameters; /* 0: not given */
	bool force;
};

static const struct al_option_row file_rows[] = {
	OPTION_TEXT(struct compress_options, file, "output", "FILE",
		"the safetensors file to write", .letter = 'o'),
	OPTION_END,
};

static const struct al_option_row compress_rows[] = {
	AL_SEED_ROW(struct compress_options, seed, 0),
	OPTION_TEXT(struct compress_options, method, "method", "NAME",
		"collab (shared projections), tucker (factored), truncate (per head) or drop "
		"(heads)"),
	OPTION_TEXT(struct compress_options, ranks, "rank", "N",
		"shared width, or width of each head, or a comma list, one rank per module"),
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
		"heads to leave out; a module's name may stand for LAYER"),
	OPTION_TEXT(struct compress_options, for_whom, "for", "epfml",
		"fold in the score scale of epfml/collaborative-attention, 1/sqrt(R/n_heads)"),
	OPTION_END,
};

static const struct al_option_group compress_groups[] = {{al_format_rows, 0}, {file_rows, 0},
	{al_display_rows, 0}, {al_layout_rows, offsetof(struct compress_options, layout)},
	{al_module_rows, offsetof(struct compress_options, layout)}, {compress_rows, 0}, {NULL, 0}};

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
	if (!text)
		return true;
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
			"expected --method collab, tucker, truncate or drop");
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
	const int n = (o->n_ranks > 0) + (o->target_error > 0) + (o->target_parameters > 0);

	if (o->method == AL_METHOD_DROP)
		return (n == 0 && o->n_dropped > 0)
			|| al_fail(err, AL_EINPUT,
				"--method drop takes --drop LAYER:HEAD,... and no rank");
	if (o->n_dropped > 0)
		return al_fail(err, AL_EINPUT, "--drop goes with --method drop, not %s",
			al_method_names[o->method]);
	return n == 1
		|| al_fail(err, AL_EINPUT,
			"expected one of --rank, --target-error and --target-parameters");
}

static bool read_options(struct al_session *session, struct al_compress_options *out,
	struct al_error *err)
{
	const struct compress_options *o = session->options;

	*out = (struct al_compress_options){
		.modules = o->layout.modules,
		.target_parameters = o->target_parameters,
		.must_gain = !o->force,
		.effort = {.n_sweeps = o->sweeps > 0 ? (size_t)o->sweeps : AL_CP_SWEEPS,
			.seed = (uint64_t)o->seed},
	};
	if (!read_method(o->method, o->for_whom, out, err)
		|| !read_ranks(&session->arena, o->ranks, out, err)
		|| !read_drops(&session->arena, o->drops, out, err)
		|| !read_target(o->target_error, &out->target_error, err) || !check_goal(out, err))
		return false;
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

static bool run_compress(struct al_session *session, struct al_error *err)
{
	const struct compress_options *o = session->options;
	struct al_compress_options options;
	struct al_opened_checkpoint opened;

	if (!read_options(session, &options, err)
		|| !al_opened_checkpoint_init(&opened, session, &o->layout,
			al_session_word(session, 0), al_session_word(session, 1), true, err))
		return false;
	bool ok = compress(session, &opened, &options, err);
	al_opened_checkpoint_finish(&opened);
	return ok;
}

struct verify_options {
	struct al_output_options output;
	struct al_layout_options layout;
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
	{al_module_rows, offsetof(struct verify_options, layout)}, {verify_rows, 0}, {NULL, 0}};

static bool run_verify(struct al_session *session, struct al_error *err)
{
	const struct verify_options *o = session->options;
	struct al_verify_options options = {.n_tokens = TOKENS,
		.seed = (uint64_t)o->seed,
		.modules = o->layout.modules,
		.has_tolerance = o->tolerance != NULL};
	const char *compressed = al_session_word(session, 1);
	struct al_opened_checkpoint opened;
	bool holds = true;

	if (o->tolerance
		&& (!parse_number(o->tolerance, &options.tolerance) || options.tolerance < 0))
		return al_fail(err, AL_EINPUT, "--tolerance %s: expected a number of at least 0",
			o->tolerance);
	if (!al_opened_checkpoint_init(&opened, session, &o->layout, al_session_word(session, 0),
		    al_session_word(session, 2), true, err))
		return false;
	bool ok = verify(session, &opened.view, compressed, compressed, &options, &holds, err);
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
