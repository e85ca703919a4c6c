/* A checkpoint under the names that another program's files have. */
#include "answer/translate.h"

#include "base/file.h"
#include "formats/format.h"

static bool is_gguf(const struct al_checkpoint *checkpoint)
{
	return checkpoint->shards[0].pairs != NULL;
}

enum al_translated al_translation_for(const struct al_checkpoint *checkpoint, const char *target)
{
	const enum al_path_kind kind = al_path_kind(target);

	if (al_ends_with(target, al_format_gguf.ending) && kind != AL_PATH_FOLDER)
		return is_gguf(checkpoint) ? AL_AS_IT_IS : AL_AS_GGUF;
	return is_gguf(checkpoint) && !al_ends_with(target, al_format_safetensors.ending)
			&& (kind == AL_PATH_NONE || kind == AL_PATH_FOLDER)
		? AL_AS_HUB
		: AL_AS_IT_IS;
}

enum al_translated al_translation_of(const struct al_checkpoint *checkpoint,
	const struct al_checkpoint *copy)
{
	if (is_gguf(copy))
		return is_gguf(checkpoint) ? AL_AS_IT_IS : AL_AS_GGUF;
	return is_gguf(checkpoint) && !al_checkpoint_find(copy, checkpoint->tensors[0].name)
		? AL_AS_HUB
		: AL_AS_IT_IS;
}

/* The tokenizer next to the checkpoint; NULL: there is none. */
static const char *find_tokenizer(struct al_session *session,
	const struct al_checkpoint *checkpoint)
{
	static const char *const names[] = {"tokenizer.json", "tokenizer.bin"};
	const char *path = checkpoint->shards[0].source.path, *slash = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *beside = al_format(&session->arena, "%.*s%s",
			slash ? (int)(slash - path + 1) : 0, path, names[i]);
		if (al_path_kind(beside) == AL_PATH_FILE)
			return beside;
	}
	return NULL;
}

bool al_session_translate(struct al_session *session, const struct al_layout_options *layout,
	enum al_translated as, struct al_opened_checkpoint **opened, struct al_error *err)
{
	struct al_opened_checkpoint *original = *opened,
				    *out = al_new(&session->arena, struct al_opened_checkpoint);
	struct al_translation *translation = al_new(&session->arena, struct al_translation);
	const struct al_layout_options names = {.families = layout->families, .runs = layout->runs};

	/* others keep GGUF's names, which their config says */
	if (as == AL_AS_IT_IS || (as == AL_AS_HUB && original->view.family->n_hub == 0))
		return true;
	if (!(as == AL_AS_GGUF ? al_translate_to_gguf(translation, &original->view,
		      find_tokenizer(session, original->checkpoint), err)
			       : al_translate_to_hub(translation, &original->view, err)))
		return false;
	al_arena_defer(&session->arena, al_translation_close, translation);
	out->checkpoint = &translation->checkpoint;
	if (!al_checkpoint_view(&out->view, session, &names, out->checkpoint, NULL, true, err))
		return false;
	al_arena_defer(&session->arena, al_model_view_close, &out->view);
	out->note = translation->note;
	*opened = out;
	return al_translation_check(&original->view, &out->view, err);
}
