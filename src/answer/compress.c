/* compress: a smaller checkpoint and what it cost. */
#include "answer/compress.h"

#include "audit/select.h"
#include "answer/calibration.h"
#include "answer/kernel.h"
#include "answer/progress.h"
#include "answer/translate.h"
#include "model/calibration/imatrix.h"
#include "linalg/kernel.h"

struct compression {
	struct al_session *session;
	struct al_opened_checkpoint *opened; /* under the names of what is written */
	const struct al_compress_options *options;
	const char *file;
	struct al_progress *progress;
	struct al_watch watch; /* of its modules, which it counts */
	size_t n_done, n;
};

static bool show(void *context, const char *module, size_t done, size_t n)
{
	struct compression *c = context;
	const struct al_watch *watch = &c->progress->watch;

	(void)done, (void)n;
	return watch->show(watch->context, module, c->n_done++, c->n);
}

/* With a budget each module is looked at before it is compressed. */
static size_t count_steps(const struct al_model_view *view, const struct al_compress_options *o)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++)
		n += !o->modules || al_select_module(o->modules, view->modules[i].name);
	return o->budget > 0 ? 2 * n : n;
}

static bool check(void *context, const char *written, struct al_error *err)
{
	struct compression *c = context;
	const struct al_verify_options options = {.n_tokens = AL_VERIFY_TOKENS,
		.seed = c->options->effort.seed,
		.modules = c->options->modules};
	bool holds = true;

	if (!al_verify_add_table(c->session, &c->opened->view, written, c->file, &options, &holds,
		    err))
		return false;
	return holds
		|| al_fail(err, AL_ESYSTEM, "%s: copied tensors differ from the original's",
			c->file);
}

static bool compress(struct al_session *session, struct al_opened_checkpoint *original,
	struct al_opened_checkpoint *opened, struct al_compress_options *options,
	struct al_error *err)
{
	const char *file = ((const struct al_compress_words *)session->options)->file;
	struct compression c = {.session = session,
		.opened = opened,
		.options = options,
		.file = file};
	struct al_table *table = al_session_table(session, "compress", NULL, 0,
		"%s, compressed into %s", opened->checkpoint->path, file);

	al_compress_add_columns(table);
	struct al_table *heads = NULL;
	if (options->method == AL_METHOD_COLLAB) {
		heads = al_session_table(session, "expressiveness", NULL, 0,
			"Shared dimensions used by each head");
		al_compress_add_head_columns(heads);
	}
	c.progress = al_progress_begin(session, opened->checkpoint->path);
	c.n = count_steps(&opened->view, options);
	c.watch = (struct al_watch){show, &c};
	options->watch = &c.watch;
	options->check = check;
	options->context = &c;
	if (!al_compress(&opened->view, options, file, table, heads, err))
		return false;
	if (opened->note)
		al_table_warn(table, "%s", opened->note);
	if (!al_opened_checkpoint_note_whole(original, table, err))
		return false;
	al_table_note(table, "seed: %llu, BLAS kernel: %s",
		(unsigned long long)options->effort.seed, al_blas_kernel());
	al_kernel_note(table);
	return true;
}

/* The sample that errors are of. */
static void note_calibration(const struct al_session *session,
	const struct al_calibration *calibration)
{
	al_table_note(session->tables[0], "calibration: %s, %.0f tokens in %zu sequences",
		calibration->path, al_statistics_tokens(&calibration->modules[0]),
		calibration->n_sequences);
}

static void finish_imatrix(void *imatrix)
{
	al_imatrix_finish(imatrix);
}

static bool open_imatrix(struct al_session *session, const struct al_opened_checkpoint *opened,
	const struct al_imatrix **out, struct al_error *err)
{
	const struct al_compress_words *o = session->options;
	struct al_imatrix *imatrix = al_new(&session->arena, struct al_imatrix);

	if (!al_imatrix_open(imatrix, o->imatrix, err))
		return false;
	al_arena_defer(&session->arena, finish_imatrix, imatrix);
	*out = imatrix;
	return al_imatrix_check_layers(imatrix, &opened->view, err);
}

/* The calibration or importance matrix, and the model that runs for W_O. */
static bool open_data(struct al_session *session, const struct al_checkpoint *original,
	struct al_opened_checkpoint *opened, struct al_data *data,
	const struct al_imatrix **imatrix, struct al_error *err)
{
	const struct al_compress_words *o = session->options;

	if (o->calibration) {
		data->calibration = al_session_calibration(session, o->calibration, original, err);
		if (!data->calibration)
			return false;
	}
	if (o->imatrix && !open_imatrix(session, opened, imatrix, err))
		return false;
	if (!al_refit_runs(data->refit))
		return true;
	struct al_running *running = al_session_running(session, &opened->view, &o->input, err);
	if (!running)
		return false;
	data->network = &running->network;
	data->tokens = &running->all;
	return true;
}

/* On the tokens that W_O was fitted to, if there are any: on others it costs more. */
static void next(struct al_session *session, const struct al_compress_words *o)
{
	/* the first row is --heads */
	const struct al_option_group taken[] = {{al_layout_rows + o->leaves_heads, 0},
		{al_input_rows, 0}, {NULL, 0}};
	struct al_arena *arena = &session->arena;
	const char *config = al_session_word(session, 1);

	al_session_next(session, "attnledger verify %s %s%s%s%s",
		al_shell_word(arena, al_session_word(session, 0)), al_shell_word(arena, o->file),
		config ? " " : "", config ? al_shell_word(arena, config) : "",
		al_session_options_text(session, taken));
}

/* Blocks of numbers have no place in the hub's files. */
static void choose_dtype(const struct al_checkpoint *checkpoint,
	struct al_compress_options *options)
{
	const bool is_hub = checkpoint->of && !checkpoint->shards[0].pairs;

	for (size_t i = 0; is_hub && !options->dtype && i < checkpoint->n_tensors; i++)
		if (checkpoint->tensors[i].dtype->block_elements > 1)
			options->dtype = al_dtype_named("f16");
}

static bool run_compress(struct al_session *session, struct al_error *err)
{
	struct al_compress_words words = *(const struct al_compress_words *)session->options;
	const struct al_compress_words *o = &words;
	struct al_compress_options options;

	if (!al_compress_read(session, &words, &options, err))
		return false;
	struct al_opened_checkpoint *original = al_session_checkpoint(session, &o->layout,
		al_session_word(session, 0), al_session_word(session, 1), true, err);
	struct al_opened_checkpoint *opened = original;
	if (!original && o->leaves_heads && al_path_kind(al_session_word(session, 0)))
		return al_in(err, "--heads %s without --rank is what gqa leaves", o->ranks);
	if (!original
		|| !al_session_translate(session, &o->layout,
			al_translation_for(original->checkpoint, o->file), &opened, err))
		return false;
	choose_dtype(opened->checkpoint, &options);
	if (!open_data(session, original->checkpoint, opened, &options.data, &options.imatrix, err)
		|| !compress(session, original, opened, &options, err))
		return false;
	if (options.data.calibration)
		note_calibration(session, options.data.calibration);
	al_session_claim(session,
		al_format(&session->arena, "%s%s",
			al_compress_summarize(session, options.method, options.dtype != NULL),
			options.data.calibration
				? al_calibration_say_few(&session->arena, options.data.calibration)
				: ""));
	next(session, o);
	return true;
}

const struct al_command al_command_compress = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"compress bert/ --method collab --rank 384 -o collab.safetensors",
		"compress model.safetensors --heads 12 --method drop --drop 0:3,5:11 -o "
		"pruned.safetensors"},
	.options = al_compress_groups,
	.options_size = sizeof(struct al_compress_words),
	.computed_with = al_kernel_library,
	.run = run_compress,
};
