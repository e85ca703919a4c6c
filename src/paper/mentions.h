/* The models that a sentence names. */
#pragma once

#include "paper/subject.h"
#include "paper/words.h"

struct al_mention {
	size_t first, end; /* words from `first` up to `end` */
	const struct al_paper_subject *subject; /* NULL: a model that isn't known */
};

enum { AL_MOST_MENTIONS = 16 };

/* Their number, in the order of the sentence. */
size_t al_paper_find_mentions(const struct al_sentence *s, struct al_paper_subjects *subjects,
	struct al_mention out[AL_MOST_MENTIONS]);
