#include "paper/stated.h"

#include "paper/mentions.h"
#include "scenario/scenario.h"

struct stated {
	const struct al_sentence *s;
	struct al_arena *arena;
	struct al_mention model;
	size_t cache, size; /* words */
	bool is_of_topic, is_of_token; /* it is said of the model before, of a token */
};

/* ---- what the sentence names ---- */

/* The only one, or the topic where none is named. */
static bool find_model(struct stated *t, struct al_paper_subjects *subjects,
	const struct al_paper_topic *topic)
{
	struct al_mention found[AL_MOST_MENTIONS];
	const size_t n_found = al_paper_find_mentions(t->s, subjects, found);
	size_t n = 0;

	for (size_t i = 0; i < n_found; i++)
		if (found[i].subject) {
			t->model = found[i];
			n++;
		}
	t->is_of_topic = n_found == 0;
	if (t->is_of_topic)
		t->model.subject = topic->subject;
	return n == 1 || (t->is_of_topic && topic->subject);
}

static bool find_cache(struct stated *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->s->n; i++)
		if (al_sentence_has(t->s, i, AL_WORDS_KV_CACHES)
			|| (i > 0 && al_sentence_has(t->s, i, AL_WORDS_CACHES)
				&& al_sentence_has(t->s, i - 1, AL_WORDS_KV))) {
			t->cache = i;
			n++;
		}
	return n == 1;
}

/* "128 KiB per token", "128 KiB/token" */
static bool is_of_token(const struct al_sentence *s, size_t size)
{
	return (al_sentence_is(s, size + 1, "per") || al_sentence_is(s, size + 1, "/"))
		&& al_sentence_is(s, size + 2, "token");
}

static bool find_size(struct stated *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->s->n; i++)
		if ((t->s->words[i].kind == AL_WORD_NUMBER
			    || (t->s->words[i].kind == AL_WORD_OTHER && is_of_token(t->s, i)))
			&& strcmp(t->s->words[i].family, "bytes") == 0) {
			t->size = i;
			n++;
		}
	t->is_of_token = n == 1 && is_of_token(t->s, t->size);
	return n == 1;
}

/* ---- the statement ---- */

/* The size may be of a part, of a changed model, or only a bound. */
static bool has_condition(const struct stated *t)
{
	const struct al_sentence *s = t->s;

	for (size_t i = 0; i < s->n; i++) {
		if (t->is_of_token && i == t->size + 1)
			continue;
		const bool is_format = i + 1 < s->n
			&& strcmp(s->words[i + 1].text, "precision") == 0; /* "half precision" */
		if (s->words[i].kind == AL_WORD_PERCENT || s->words[i].kind == AL_WORD_TIMES
			|| (!is_format && al_sentence_has(s, i, AL_WORDS_CONDITIONS)))
			return true;
	}
	return false;
}

/* "The KV cache of Llama 3 8B at 8K tokens (batch 1, FP16) takes about 1 GiB". */
static bool is_said_behind(const struct stated *t)
{
	for (size_t i = t->cache + 1; i < t->size; i++) {
		const struct al_word *w = &t->s->words[i];
		const bool is_known = (i >= t->model.first && i < t->model.end)
			|| w->kind == AL_WORD_NUMBER || w->kind == AL_WORD_OTHER
			|| al_sentence_has(t->s, i, AL_WORDS_OF_CACHES);
		if (!is_known)
			return false;
	}
	return true;
}

/* "16 GiB of KV cache", "16 GiB for its KV cache". */
static bool is_said_before(const struct stated *t)
{
	for (size_t i = t->size + (t->is_of_token ? 3 : 1); i < t->cache; i++)
		if (!al_sentence_has(t->s, i, AL_WORDS_BEFORE_CACHES))
			return false;
	return true;
}

/* ---- judging ---- */

static bool read_cell(const struct stated *t, struct al_paper_cell *out)
{
	struct al_paper_facts facts;
	const char *rest = al_format(t->arena, "%s ; %s",
		al_sentence_join(t->s, t->arena, 0, t->model.first),
		al_sentence_join(t->s, t->arena, t->model.end, t->s->n));

	char *number = al_strdup(t->arena, t->s->words[t->size].text);

	*out = (struct al_paper_cell){0};
	al_paper_read_facts(rest, true, &facts);
	if (al_ends_with(number, "KB"))
		number[strlen(number) - 2] = 'k';
	if ((facts.tokens == 0 && !t->is_of_token) || facts.has_several_tokens
		|| facts.has_several_batches || facts.has_several_formats || facts.is_shared
		|| !al_paper_cell_number(t->arena, number, out))
		return false;
	out->printed = al_strdup(t->arena, t->s->words[t->size].text);
	out->line = t->s->words[t->size].line;
	out->meaning = t->is_of_token ? AL_MEANS_CACHE_OF_TOKEN : AL_MEANS_CACHE;
	out->subject = t->model.subject;
	out->tokens = facts.tokens;
	out->round_tokens = facts.round_tokens;
	out->batch = facts.batch;
	out->bytes = facts.bytes;
	out->tokens_from = out->bytes_from = "the sentence";
	return true;
}

static void judge(struct al_deriving *d, struct al_paper_cell *cell, bool is_about)
{
	static const struct al_paper_cause none = {0},
					   about = {"about", "within 5 %, which \"about\" allows",
						   true};
	const struct al_paper_cause *convention;

	al_paper_read_cell(cell, &d->fit.reading);
	if (cell->right == 0)
		return;
	if (!cell->holds && is_about && fabs(cell->value - cell->right) < 0.05 * cell->right) {
		al_deriving_add(d, cell, AL_CONSISTENT, &about);
		return;
	}
	convention = al_deriving_convention(d, cell);
	if (cell->holds) {
		al_deriving_add(d, cell, convention ? AL_CONSISTENT : AL_REPRODUCED,
			convention ? convention : &none);
		return;
	}
	const struct al_paper_cause cause = al_deriving_cause(d, cell);
	if (cause.name && cell->subject->has_plain_cache)
		al_deriving_add(d, cell, cause.is_note ? AL_CONSISTENT : AL_INCONSISTENT, &cause);
	else
		al_deriving_add_undecided(d, cell, &cause);
}

void al_paper_read_stated(const struct al_sentence *sentence, const struct al_deriving *deriving,
	struct al_paper_subjects *subjects, const struct al_paper_topic *topic)
{
	struct stated t = {.s = sentence, .arena = deriving->arena};
	struct al_deriving d = *deriving;
	struct al_paper_cell cell, *cells[] = {&cell};

	if (!find_cache(&t) || !find_size(&t) || has_condition(&t)
		|| !find_model(&t, subjects, topic)
		|| !(t.size > t.cache ? is_said_behind(&t) : is_said_before(&t))
		|| !read_cell(&t, &cell))
		return;
	d.cells = cells;
	d.n = 1;
	d.fit = al_paper_best_reading(cells, 1, (enum al_paper_gb)d.options->gb);
	if (t.is_of_topic
		|| t.is_of_token) { /* what holds counts, in 16 bits if no others are said */
		al_paper_read_cell(&cell, &d.fit.reading);
		if (!cell.holds || (cell.bytes == 0 && d.fit.reading.bytes != 2))
			return;
	}
	judge(&d, &cell, al_sentence_has(sentence, t.size - 1, AL_WORDS_ABOUT));
	al_deriving_note(&d);
}
