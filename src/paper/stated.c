#include "paper/stated.h"

#include "paper/statement.h"
#include "scenario/scenario.h"

struct stated {
	const struct al_sentence *s;
	struct al_arena *arena;
	const struct al_mention *model; /* the only one that is known, or NULL */
	size_t cache, size; /* words */
	bool is_of_token, is_strict;
};

/* ---- words near a size ---- */

static bool is_noun(const struct al_sentence *s, size_t at)
{
	return al_sentence_has(s, at, AL_WORDS_STORED);
}

/* "32K", "4,096 tokens" */
static bool is_tokens(const struct al_sentence *s, size_t at)
{
	const struct al_word *w = &s->words[at];
	const size_t next = at + 1 + al_sentence_is(s, at + 1, "-");
	double round;

	return w->kind != AL_WORD_LETTERS && al_paper_tokens(w->text, &round) > 0
		&& (strpbrk(w->text, "kK") || al_sentence_is(s, next, "token")
			|| al_sentence_is(s, next, "tokens"));
}

/* "70B" */
static bool is_name(const struct al_sentence *s, size_t at)
{
	return s->words[at].scale == 1e9 && !*s->words[at].family;
}

/* The nearest word that is one; s->n: there is none. */
static size_t nearest(const struct al_sentence *s, size_t at,
	bool (*is)(const struct al_sentence *s, size_t at))
{
	for (size_t far = 1; far < s->n; far++) {
		if (far <= at && is(s, at - far))
			return at - far;
		if (at + far < s->n && is(s, at + far))
			return at + far;
	}
	return s->n;
}

/* ---- the statement ---- */

/* The only one, next to the only size. */
static bool find_cache(struct stated *t)
{
	size_t n = 0, n_sizes = 0;

	for (size_t i = 0; i < t->s->n; i++) {
		const struct al_word *w = &t->s->words[i];
		const bool is_kv = al_sentence_has(t->s, i, AL_WORDS_KV)
			|| al_sentence_has(t->s, i - 1, AL_WORDS_KV);
		n_sizes += w->kind == AL_WORD_NUMBER && strcmp(w->family, "bytes") == 0;
		if (is_kv && al_sentence_has(t->s, i, AL_WORDS_CACHES)) {
			t->cache = i;
			n++;
		}
	}
	return n == 1 && n_sizes == 1 && t->s->words[t->size].kind == AL_WORD_NUMBER;
}

/* "128 KiB per token", "128 KiB/token" */
static bool is_of_token(const struct al_sentence *s, size_t size)
{
	return (al_sentence_is(s, size + 1, "per") || al_sentence_is(s, size + 1, "/"))
		&& al_sentence_is(s, size + 2, "token");
}

/* The size may be of a part, of a changed model, or only a bound. */
static bool has_condition(const struct stated *t)
{
	const struct al_sentence *s = t->s;

	for (size_t i = 0; i < s->n; i++) {
		const bool is_format = i + 1 < s->n
			&& strcmp(s->words[i + 1].text, "precision") == 0; /* "half precision" */
		if (s->words[i].kind == AL_WORD_PERCENT || s->words[i].kind == AL_WORD_TIMES
			|| (!is_format && al_sentence_has(s, i, AL_WORDS_CONDITIONS)))
			return true;
	}
	return false;
}

/* "The KV cache of Llama 3 8B at 8K tokens (batch 1, FP16) takes about 1 GiB", "16 GiB for its KV
 * cache": all words between the two are known. */
static bool is_said(const struct stated *t)
{
	const bool is_behind = t->size > t->cache;
	const size_t end = is_behind ? t->size : t->cache;

	for (size_t i = t->size + t->cache - end + 1; i < end; i++) {
		const struct al_word *w = &t->s->words[i];
		const bool is_known = (t->model && i >= t->model->first && i < t->model->end)
			|| w->kind == AL_WORD_NUMBER || w->kind == AL_WORD_OTHER;
		if (!(is_behind && is_known) && !al_sentence_has(t->s, i, AL_WORDS_OF_CACHES))
			return false;
	}
	return true;
}

/* ---- judging ---- */

static bool read_cell(struct stated *t, struct al_paper_cell *out)
{
	const struct al_word *word = &t->s->words[t->size];
	const size_t noun = nearest(t->s, t->size, is_noun);
	const size_t tokens = nearest(t->s, t->size, is_tokens);
	char *number = al_strdup(t->arena, word->text);
	struct al_paper_facts facts;

	if (al_ends_with(number, "KB"))
		number[strlen(number) - 2] = 'k';
	*out = (struct al_paper_cell){0};
	if (!al_paper_cell_number(t->arena, number, out))
		return false;
	al_paper_read_facts(al_sentence_join(t->s, t->arena, 0, t->s->n), true, &facts);
	t->is_strict = t->is_strict && facts.tokens > 0
		&& !(facts.has_several_tokens || facts.has_several_batches
			|| facts.has_several_formats || facts.is_shared);
	out->printed = al_strdup(t->arena, word->text);
	out->line = word->line;
	out->meaning = t->is_of_token ? AL_MEANS_CACHE_OF_TOKEN
		: t->is_strict || al_sentence_has(t->s, noun, AL_WORDS_KV)
			|| al_sentence_has(t->s, noun, AL_WORDS_CACHES)
		? AL_MEANS_CACHE
		: noun < t->s->n ? AL_MEANS_WEIGHTS
				 : AL_MEANS_NOTHING;
	out->tokens = facts.tokens;
	out->round_tokens = facts.round_tokens;
	if (!t->is_strict && tokens < t->s->n)
		out->tokens = al_paper_tokens(t->s->words[tokens].text, &out->round_tokens);
	out->batch = facts.has_several_batches ? 0 : facts.batch;
	out->bytes = facts.has_several_formats ? 0 : facts.bytes;
	out->tokens_from = out->bytes_from = "the sentence";
	return out->meaning != AL_MEANS_NOTHING
		&& (out->tokens > 0 || out->meaning != AL_MEANS_CACHE)
		&& (out->bytes > 0 || out->meaning != AL_MEANS_WEIGHTS);
}

/* "140 GB" of "70B" in 16 bits. */
static void read_name(const struct stated *t, struct al_paper_cell *cell)
{
	const size_t name = nearest(t->s, t->size, is_name);
	struct al_paper_subject *subject = al_new(t->arena, struct al_paper_subject);

	if (name == t->s->n)
		return;
	subject->title = al_strdup(t->arena, t->s->words[name].text);
	subject->from = "its name";
	subject->totals[AL_TOTAL_PARAMETERS] = t->s->words[name].value;
	cell->subject = subject;
	al_paper_read_cell(cell, &(struct al_paper_reading){.bytes = cell->bytes});
}

static void judge(struct al_deriving *d, struct al_paper_cell *cell, bool is_about)
{
	static const struct al_paper_cause none = {0},
					   about = {"about", "within 5 %, which \"about\" allows",
						   true};
	const struct al_paper_cause *convention;

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
	size_t at, const struct al_paper_subject *subject, const struct al_mention *models,
	size_t n_models)
{
	struct stated t = {.s = sentence, .arena = deriving->arena, .size = at};
	struct al_deriving d = *deriving;
	struct al_paper_cell cell, *cells[] = {&cell};
	size_t n = 0;

	for (size_t i = 0; i < n_models; i++)
		if (models[i].subject)
			t.model = n++ > 0 ? NULL : &models[i];
	t.is_of_token = is_of_token(sentence, at);
	const bool is_plain = n < 2 && !t.is_of_token && find_cache(&t) && !has_condition(&t)
		&& is_said(&t);
	t.is_strict = is_plain && t.model;
	if (!read_cell(&t, &cell))
		return;
	cell.subject = t.is_strict ? t.model->subject : subject;
	d.cells = cells;
	d.n = 1;
	if (cell.subject) {
		d.fit = al_paper_best_reading(cells, 1, (enum al_paper_gb)d.options->gb);
		al_paper_read_cell(&cell, &d.fit.reading);
	}
	if (!cell.holds && cell.meaning == AL_MEANS_WEIGHTS)
		read_name(&t, &cell);
	const bool is_telling = is_plain || t.is_of_token
		|| al_significant_digits(&sentence->words[at]) >= 2;
	if (!t.is_strict
		&& (!cell.holds || !is_telling || (cell.bytes == 0 && d.fit.reading.bytes != 2)))
		return;
	judge(&d, &cell, al_sentence_has(sentence, at - 1, AL_WORDS_ABOUT));
	al_deriving_note(&d);
}
