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
	for (size_t end = al_least(at + MOST_WORDS, s->n); end > at; end--) {
		if (s->words[end - 1].kind == AL_WORD_SIGN)
			continue;
		*subject = al_paper_subject_find(subjects, al_sentence_join(s, &scratch, at, end));
		if (!*subject)
			continue;
		/* "DeepSeek-R1-Distill" is another one */
		if (al_sentence_is(s, end, "-") && s->words[end].is_joined && end + 1 < s->n
			&& s->words[end + 1].is_joined && s->words[end + 1].kind == AL_WORD_LETTERS)
			*subject = NULL;
		return end;
	}
	return at;
}

/* "14B" behind "Qwen2.5-7B" or "the Qwen2.5 family" is a model of that name. */
static const struct al_paper_subject *of_family(const struct al_sentence *s,
	struct al_paper_subjects *subjects, size_t at)
{
	enum { FAR = 40, MOST_WORDS = 7 };
	AL_ARENA(scratch);
	const bool is_size = s->words[at].scale >= 1e6 && !s->words[at].is_joined
		&& strcmp(s->words[at].family, "") == 0 && !al_sentence_is(s, at + 1, "-")
		&& !al_sentence_has(s, at + 1, AL_WORDS_NOUNS);

	for (size_t i = at; is_size && i-- > 0 && i + FAR > at;) {
		if (s->words[i].kind != AL_WORD_LETTERS
			|| !al_paper_model_may_be(subjects, s->words[i].text))
			continue;
		for (size_t end = al_least(i + MOST_WORDS, at); end > i; end--) {
			const struct al_paper_subject *subject = al_paper_subject_find(subjects,
				al_format(&scratch, "%s %s", al_sentence_join(s, &scratch, i, end),
					s->words[at].text));
			if (subject)
				return subject;
		}
	}
	return NULL;
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
		out[n].end = al_most(end, i + 1);
		if (s->words[i].kind == AL_WORD_NUMBER)
			out[n].subject = of_family(s, subjects, i);
		n += end > i || out[n].subject || is_unknown(s, i);
	}
	return n;
}
