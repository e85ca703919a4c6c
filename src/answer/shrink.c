/* shrink: the smallest copy of a model within a loss, written. */
#include "answer/shrink.h"

#include <unistd.h>

#include "answer/kernel.h"
#include "answer/progress.h"
#include "answer/translate.h"
#include "base/hash.h"
#include "base/mount.h"
#include "formats/format.h"

struct shrinking {
	struct al_session *session;
	struct al_opened_checkpoint *opened;
	struct al_running *running;
	struct al_shrink_goal goal;
	struct al_drafting from;
	struct al_batch batches[AL_N_PARTS_OF_TEXT];
	struct al_sample_part parts[AL_N_PARTS_OF_TEXT];
	const char *calibrated; /* the calibration's file */
	struct al_kept trials;
	uint64_t source; /* fingerprint of the original's numbers */
	struct al_shrink shrink;
	bool is_complete;
	struct al_table modules; /* of compress, of what was written */
};

static const struct al_shrink_words *words_of(const struct shrinking *s)
{
	return s->session->options;
}

/* ---- before the work ---- */

static bool lay(void *context, struct al_checkpoint *checkpoint, struct al_model_view *view,
	struct al_error *err)
{
	const struct shrinking *s = context;
	struct al_layout_options layout = words_of(s)->layout;

	if (s->from.is_translated) /* the names and the config are others */
		layout.layout = layout.heads = NULL;
	layout.families.n = 0; /* they are in the catalog */
	return al_checkpoint_view(view, s->session, &layout, checkpoint,
		s->from.is_translated ? NULL : al_session_word(s->session, 1), true, err);
}

static bool check_file(struct shrinking *s, struct al_error *err)
{
	const char *file = words_of(s)->file, *source = s->opened->checkpoint->path;

	s->from.is_gguf = al_ends_with(file, al_format_gguf.ending);
	if (!s->from.is_gguf && s->opened->checkpoint->shards[0].pairs)
		return al_fail(err, AL_EINPUT, "-o %s: %s is a GGUF file: use -o FILE%s", file,
			source, al_format_gguf.ending);
	const struct al_compress_options options = al_conversion_options(&s->session->arena,
		&s->from, NULL);
	return al_compress_check_output(&s->opened->view, &options, file, err);
}

static bool find_context(struct shrinking *s, struct al_error *err)
{
	if (!s->goal.of_cache)
		return true;
	if (s->goal.context == 0)
		s->goal.context = s->running->network.longest;
	s->from.cached_tokens = s->goal.context;
	return s->goal.context > 0
		|| al_fail(err, AL_EINPUT, "the model has no context length: pass --context N");
}

static bool check_decoder(const struct shrinking *s, struct al_error *err)
{
	return s->running->network.how->kind == AL_FORWARD_DECODER
		|| al_fail(err, AL_EINPUT,
			"family %s is an encoder, whose loss on text isn't measured: use compress",
			s->opened->view.family->name);
}

/* ---- trials of an earlier run ---- */

/* Of all that they hang on. */
static uint64_t fingerprint(const struct shrinking *s)
{
	const struct al_shrink_goal *goal = &s->goal;
	AL_TEXT(words);

	al_text_addf(&words, "%" PRIx64 " %" PRIx64 " %a %d %a %d %d %" PRId64 " %d",
		al_network_fingerprint(&s->running->network, &s->running->all), s->source,
		goal->limit, goal->is_divergence, goal->budget, goal->of_file, goal->of_cache,
		goal->context, s->from.is_gguf);
	return al_hash(AL_HASH_EMPTY, words.data, words.length);
}

static bool open_trials(struct shrinking *s, struct al_error *err)
{
	return al_mount_now()
		|| al_kept_open(&s->trials,
			al_format(&s->session->arena, "%s.trials", s->from.path), fingerprint(s),
			sizeof(struct al_judgment), err);
}

/* ---- the calibration, in a file next to the trials, which are of the same work ---- */

static bool record(struct al_calibration *calibration, struct shrinking *s,
	struct al_unfinished *unfinished, struct al_error *err)
{
	const struct al_batch *text = &s->batches[AL_SHRINK_CALIBRATING];
	struct al_network *network = &s->running->network;
	struct al_calibration_writer *writer;

	if (!al_mount_now()
		&& !al_unfinished_find(unfinished, calibration, network, text, s->calibrated, NULL,
			err))
		return false;
	struct al_pass_state *state = unfinished->state.path ? &unfinished->state : NULL;
	if (!(state ? al_calibration_writer_create_kept(&writer, calibration, s->calibrated,
		      unfinished->written, err)
		    : al_calibration_writer_create(&writer, calibration, s->calibrated, err)))
		return false;
	unfinished->writer = writer;
	const struct al_statistics_taker taker = {al_calibration_writer_put, writer};
	if (al_calibration_record(calibration, network, text, &taker, s->from.watch, state, err))
		return al_calibration_writer_commit(writer, err);
	al_calibration_writer_abandon(writer);
	return false;
}

/* What was read from it stays open. */
static void remove_file(const char *path)
{
	struct al_mounted *mounted = al_mount_find(path);

	if (mounted)
		mounted->path = NULL;
	else
		(void)unlink(path);
}

static bool record_unless_found(struct al_calibration *calibration, struct shrinking *s,
	struct al_error *err)
{
	struct al_unfinished unfinished = {0};

	if (s->trials.is_found && al_path_kind(s->calibrated) == AL_PATH_FILE)
		return true;
	const bool ok = record(calibration, s, &unfinished, err);
	al_unfinished_finish(&unfinished, ok);
	return ok;
}

static bool calibrate(struct shrinking *s, struct al_error *err)
{
	struct al_arena *arena = &s->session->arena;
	AL_ENDS(al_calibration_finish) struct al_calibration recorded = {0};
	struct al_calibration *read = al_new(arena, struct al_calibration);

	if (!al_calibration_begin(&recorded, &s->running->network,
		    &s->batches[AL_SHRINK_CALIBRATING], 0, err))
		return false;
	s->source = recorded.source;
	s->calibrated = al_format(arena, "%s.calibration", s->from.path);
	if (!open_trials(s, err) || !record_unless_found(&recorded, s, err)
		|| !al_kept_begin(&s->trials, err)
		|| !al_calibration_read(read, s->calibrated, err))
		return false;
	al_arena_defer(arena, al_calibration_finish, read);
	s->from.calibration = read;
	return true;
}

/* ---- the file ---- */

/* The file that was written runs: the loss that is reported is its own. */
static bool check_written(void *context, const char *written, struct al_error *err)
{
	struct shrinking *s = context;
	struct al_judgment *judged = &s->shrink.points[s->shrink.chosen].judging, read;
	struct al_draft draft = {0};

	if (!al_draft_open_file(&draft, &s->from, written, err))
		return false;
	s->parts[AL_SHRINK_JUDGING].trials = NULL;
	s->shrink.written_bytes = draft.checkpoint.bytes;
	const bool ok = al_sample_part_try(&s->parts[AL_SHRINK_JUDGING], &draft.network, &read,
		err);
	al_draft_close(&draft);
	if (!ok)
		return false;
	const double apart = fabs(read.compressed.mean - judged->compressed.mean);
	*judged = read;
	return apart < 1e-3
		|| al_fail(err, AL_ESYSTEM,
			"the file's loss is %.4f nats per token, %.4f away from that of the "
			"numbers which it was made of",
			read.compressed.mean, apart);
}

static bool write_copy(struct shrinking *s, struct al_error *err)
{
	struct al_shrink *shrink = &s->shrink;
	const struct al_shrink_point *point = &shrink->points[shrink->chosen];
	struct al_draft *draft;

	if (!al_shrink_show(shrink, point, &draft, err))
		return false;
	struct al_compress_options options = al_conversion_options(&s->session->arena, &s->from,
		point->conversion);
	options.formats = al_shrink_formats(shrink, draft);
	options.must_gain = true;
	options.check = check_written;
	options.context = s;
	return al_compress(&s->opened->view, &options, words_of(s)->file, &s->modules, NULL, err);
}

/* The table of modules where heads are fewer. */
static bool answer(struct shrinking *s, struct al_error *err)
{
	struct al_shrink *shrink = &s->shrink;

	if (!al_shrink_add_tables(s->session, shrink, err))
		return false;
	if (shrink->points[shrink->chosen].conversion) {
		al_session_take(s->session, &s->modules);
		s->modules = (struct al_table){0};
	}
	al_shrink_conclude(s->session, shrink);
	s->session->answer_is_no = shrink->chosen == 0;
	al_kernel_note(s->session->tables[0]);
	if (s->trials.n_found > 0)
		al_table_note(s->session->tables[0],
			"an earlier run was ended behind %s, which weren't made again",
			al_count_text(&s->session->arena, s->trials.n_found, "trial"));
	return al_opened_checkpoint_note_whole(s->opened, s->session->tables[0], err);
}

/* ---- all ---- */

static const char *without_slash(struct al_arena *arena, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return al_strndup(arena, path, n);
}

static bool prepare(struct shrinking *s, struct al_error *err)
{
	struct al_session *session = s->session;

	s->opened = al_session_checkpoint(session, &words_of(s)->layout,
		al_session_word(session, 0), al_session_word(session, 1), true, err);
	if (!s->opened)
		return false;
	const enum al_translated as = al_translation_for(s->opened->checkpoint, words_of(s)->file);
	if (!al_session_translate(session, &words_of(s)->layout, as, &s->opened, err))
		return false;
	s->from = (struct al_drafting){.view = &s->opened->view,
		.path = without_slash(&session->arena, words_of(s)->file),
		.is_translated = as != AL_AS_IT_IS,
		.lay = lay,
		.context = s,
		.watch = &al_progress_begin(session, s->opened->checkpoint->path)->watch};
	if (!check_file(s, err))
		return false;
	s->running = al_session_running(session, &s->opened->view, &words_of(s)->input, err);
	return s->running && check_decoder(s, err) && find_context(s, err)
		&& al_shrink_split(&session->arena, s->running, s->batches, err);
}

static void finish(void *shrinking)
{
	struct shrinking *s = shrinking;

	al_table_finish(&s->modules);
	al_shrink_finish(&s->shrink);
	if (s->calibrated && (s->is_complete || s->trials.n == 0))
		remove_file(s->calibrated);
	al_kept_close(&s->trials, s->is_complete);
	for (int i = 0; i < AL_N_PARTS_OF_TEXT; i++)
		al_sample_part_finish(&s->parts[i]);
}

static bool sample(struct shrinking *s, struct al_error *err)
{
	for (int i = 0; i < AL_N_PARTS_OF_TEXT; i++) {
		if (!al_sample_part_init(&s->parts[i], &s->running->network, &s->batches[i],
			    s->from.watch, err))
			return false;
		s->parts[i].trials = al_mount_now() ? NULL : &s->trials;
	}
	return true;
}

static bool run_shrink(struct al_session *session, struct al_error *err)
{
	struct shrinking *s = al_new(&session->arena, struct shrinking);

	s->session = session;
	if (!al_shrink_read(session->options, &s->goal, err) || !prepare(s, err))
		return false;
	al_arena_defer(&session->arena, finish, s);
	al_table_init(&s->modules, "modules", "Attention modules with fewer heads");
	al_compress_add_columns(&s->modules);
	if (!calibrate(s, err) || !sample(s, err)
		|| !al_shrink_search(&s->shrink, &s->from, &s->goal, s->parts, err)
		|| (s->shrink.chosen > 0 && !write_copy(s, err)))
		return false;
	s->is_complete = true;
	return answer(s, err);
}

const struct al_command al_command_shrink = {
	.words = "MODEL [CONFIG]",
	.examples = {"shrink model.gguf --text stories.txt --limit 1%ppl -o small.gguf",
		"shrink llama/ --text stories.txt --for cache --budget 50% -o small/"},
	.options = al_shrink_groups,
	.options_size = sizeof(struct al_shrink_words),
	.computed_with = al_kernel_library,
	.run = run_shrink,
};
