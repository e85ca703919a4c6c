#include "paper/mentions.h"

#include "paper/models.h"

/* The longest name that begins here; its end, or `at`. */
static size_t model_end(const struct al_sentence *s, struct al_paper_subjects *subjects, size_t at,
	const struct al_paper_subject **subject)
{
	enum { MOST_WORDS = 9 };
	AL_ARENA(scratch);

	/* "my_gpt2" */
	const bool is_inside = at > 1 && s->words[at].is_joined && s->words[at - 1].is_joined
		&& (al_sentence_is(s, at - 1, "_") || al_sentence_is(s, at - 1, "-"));
	if (is_inside || !al_paper_model_may_be(subjects, s->words[at].text))
		return at;
	for (size_t end = at + MOST_WORDS < s->n ? at + MOST_WORDS : s->n; end > at; end--) {
		if (s->words[end - 1].kind == AL_WORD_SIGN)
			continue;
		*subject = al_paper_subject_find(subjects, al_sentence_join(s, &scratch, at, end));
		if (*subject)
			return end;
	}
	return at;
}

/* "Foo-13B", "Gemma" */
static bool is_unknown(const struct al_sentence *s, size_t at)
{
	const bool is_size = s->words[at].kind == AL_WORD_OTHER && s->words[at].scale == 1e9
		&& s->words[at].is_joined;

	return is_size || al_sentence_has(s, at, AL_WORDS_FAMILIES);
}

size_t al_paper_find_mentions(const struct al_sentence *s, struct al_paper_subjects *subjects,
	struct al_mention out[AL_MOST_MENTIONS])
{
	size_t n = 0, end;

	for (size_t i = 0; i < s->n && n<AL_MOST_MENTIONS; i = end> i ? end : i + 1) {
		out[n] = (struct al_mention){.first = i};
		end = s->words[i].kind == AL_WORD_LETTERS
			? model_end(s, subjects, i, &out[n].subject)
			: i;
		out[n].end = end > i ? end : i + 1;
		n += end > i || is_unknown(s, i);
	}
	return n;
}
