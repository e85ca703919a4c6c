/* A checkpoint under the names that another program's files have. */
#pragma once

#include "answer/checkpoint.h"
#include "model/translate/translate.h"

enum al_translated { AL_AS_IT_IS, AL_AS_GGUF, AL_AS_HUB };

/* What a file or folder of that name needs; what a copy that exists has. */
enum al_translated al_translation_for(const struct al_checkpoint *checkpoint, const char *target);
enum al_translated al_translation_of(const struct al_checkpoint *checkpoint,
	const struct al_checkpoint *copy);

/* Puts the translated checkpoint in the place of the opened one, which stays open. */
bool al_session_translate(struct al_session *session, const struct al_layout_options *layout,
	enum al_translated as, struct al_opened_checkpoint **opened,
	struct al_error *err) AL_MUST_CHECK;
