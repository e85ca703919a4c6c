#include "paper/stated.h"

#include "scenario/scenario.h"

/* Words from `first` up to `end`. */
struct span {
	size_t first, end;
};

struct stated {
	const struct al_sentence *s;
	struct al_arena *arena;
	struct span model;
	const struct al_paper_subject *subject;
	size_t cache, size; /* words */
};

static const char *join(struct al_arena *arena, const struct al_sentence *s, struct span span)
{
	return al_sentence_join(s, arena, span.first, span.end);
}

/* ---- what the sentence names ---- */

/* The longest name that begins here; its end, or `at`. */
static size_t model_end(struct stated *t, struct al_paper_subjects *subjects, size_t at)
{
	enum { MOST_WORDS = 9 };

	for (size_t end = at + MOST_WORDS < t->s->n ? at + MOST_WORDS : t->s->n; end > at; end--) {
		if (t->s->words[end - 1].kind == AL_WORD_SIGN)
			continue;
		const struct al_paper_subject *found = al_paper_subject_find(subjects,
			join(t->arena, t->s, (struct span){at, end}));
		if (!found)
			continue;
		t->subject = found;
		return end;
	}
	return at;
}

/* The next model from `at` on. */
static bool next_model(struct stated *t, struct al_paper_subjects *subjects, size_t at)
{
	for (size_t i = at; i < t->s->n; i++) {
		const size_t end = t->s->words[i].kind == AL_WORD_LETTERS
			? model_end(t, subjects, i)
			: i;
		if (end == i)
			continue;
		t->model = (struct span){i, end};
		return true;
	}
	return false;
}

static bool find_model(struct stated *t, struct al_paper_subjects *subjects)
{
	struct stated next = *t;

	return next_model(t, subjects, 0) && !next_model(&next, subjects, t->model.end);
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

static bool find_size(struct stated *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->s->n; i++)
		if (t->s->words[i].kind == AL_WORD_NUMBER
			&& strcmp(t->s->words[i].family, "bytes") == 0) {
			t->size = i;
			n++;
		}
	return n == 1;
}

/* ---- the statement ---- */

/* The size may be of a part, of a changed model, or only a bound. */
static bool has_condition(const struct al_sentence *s)
{

	for (size_t i = 0; i < s->n; i++) {
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
	for (size_t i = t->size + 1; i < t->cache; i++)
		if (!al_sentence_has(t->s, i, AL_WORDS_BEFORE_CACHES))
			return false;
	return true;
}

/* ---- judging ---- */

static bool read_cell(const struct stated *t, struct al_paper_cell *out)
{
	const struct span before = {0, t->model.first}, behind = {t->model.end, t->s->n};
	struct al_paper_facts facts;
	const char *rest = al_format(t->arena, "%s ; %s", join(t->arena, t->s, before),
		join(t->arena, t->s, behind));

	*out = (struct al_paper_cell){0};
	al_paper_read_facts(t->arena, rest, true, &facts);
	if (facts.tokens == 0 || facts.has_several_tokens || facts.has_several_batches
		|| facts.has_several_formats || facts.is_shared
		|| !al_paper_cell_number(t->arena, al_strdup(t->arena, t->s->words[t->size].text),
			out))
		return false;
	out->line = t->s->words[t->size].line;
	out->meaning = AL_MEANS_CACHE;
	out->subject = t->subject;
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
	struct al_paper_subjects *subjects)
{
	struct stated t = {.s = sentence, .arena = deriving->arena};
	struct al_deriving d = *deriving;
	struct al_paper_cell cell, *cells[] = {&cell};

	if (!find_cache(&t) || !find_size(&t) || has_condition(sentence)
		|| !find_model(&t, subjects)
		|| !(t.size > t.cache ? is_said_behind(&t) : is_said_before(&t))
		|| !read_cell(&t, &cell))
		return;
	d.cells = cells;
	d.n = 1;
	d.fit = al_paper_best_reading(cells, 1, (enum al_paper_gb)d.options->gb);
	judge(&d, &cell, al_sentence_has(sentence, t.size - 1, AL_WORDS_ABOUT));
	al_deriving_note(&d);
}

/* ---- sizes: "Llama 3 8B (32 layers, 8 KV heads, head dimension 128)" ---- */

/* The size that the words from `at` on name, the longest name first; -1: none. */
static int size_named(const struct stated *t, const struct al_paper_vocabulary *v, size_t at,
	size_t *end)
{
	enum { MOST_WORDS = 5 };

	size_t most = 0;

	while (most < MOST_WORDS && at + most < t->s->n
		&& (t->s->words[at + most].kind == AL_WORD_LETTERS
			|| al_sentence_is(t->s, at + most, "_")))
		most++;
	for (size_t n = most; n > 0; n--) {
		*end = at + n;
		const struct al_paper_heads *found = al_paper_heads_find(v->heads, v->n_heads,
			al_paper_normal(t->arena, join(t->arena, t->s, (struct span){at, *end})));
		if (found->meaning == AL_MEANS_SIZE)
			return found->size;
	}
	return -1;
}

/* "32 layers", "head dimension 128", "n_layers = 32"; false: no size is here. */
static bool read_size(const struct stated *t, const struct al_paper_vocabulary *v, size_t at,
	struct al_paper_cell *out, size_t *end)
{
	const bool is_first = t->s->words[at].kind == AL_WORD_NUMBER
		&& !al_sentence_has(t->s, at - 1,
			AL_WORDS_EQUALS); /* "12 x 12 heads = 144 heads" */
	const int size = size_named(t, v, at + is_first, end);
	const bool has_sign = !is_first && al_sentence_has(t->s, *end, AL_WORDS_EQUALS);
	const size_t number = is_first ? at : *end + (has_sign || al_sentence_is(t->s, *end, "of"));

	if (size < 0 || number >= t->s->n
		|| (t->s->words[number].kind != AL_WORD_NUMBER
			&& !(has_sign && t->s->words[number].kind == AL_WORD_OTHER))
		|| t->s->words[number].scale > 0
		|| (!is_first && !has_sign && size != AL_DIM_HEAD_DIM && size != AL_DIM_WIDTH))
		return false;
	const struct al_word *word = &t->s->words[number];
	*end = is_first ? *end : number + 1;
	*out = (struct al_paper_cell){.line = word->line,
		.printed = al_strdup(t->arena, word->text),
		.value = word->value,
		.half = 0.5,
		.meaning = AL_MEANS_SIZE,
		.size = size,
		.subject = t->subject,
		.right = t->subject->sizes[size]};
	out->holds = out->value == out->right;
	return out->right > 0;
}

/* A size that differs is wrong where two others of the same brackets are right. */
static void judge_sizes(struct al_deriving *d, const struct stated *t,
	const struct al_paper_vocabulary *v)
{
	enum { MOST = 8 };
	static const struct al_paper_cause none = {0};
	const bool is_in_brackets = al_sentence_is(t->s, t->model.end, "(");
	struct al_paper_cell cells[MOST];
	struct al_paper_cell *first = cells;
	size_t n = 0, n_hold = 0, end;
	bool is_changed = false;

	for (size_t i = t->model.end; i < t->s->n && n < MOST; i = end) {
		end = i + 1;
		if (read_size(t, v, i, &cells[n], &end))
			n_hold += cells[n++].holds;
		else if (is_in_brackets ? al_sentence_is(t->s, i, ")")
					: !al_sentence_has(t->s, i, AL_WORDS_OF_MODELS))
			break;
		else
			is_changed |= t->s->words[i].kind == AL_WORD_LETTERS
				&& !al_sentence_has(t->s, i, AL_WORDS_OF_MODELS);
	}
	const bool is_sure = is_in_brackets && !is_changed && n_hold >= 2 && n_hold + 1 == n;
	for (size_t i = 0; i < n; i++)
		if (cells[i].holds || is_sure)
			al_deriving_add(d, &cells[i],
				cells[i].holds ? AL_REPRODUCED : AL_INCONSISTENT, &none);
	d->cells = &first;
	d->n = 1;
	if (n_hold > 0)
		al_deriving_note(d);
}

void al_paper_read_sizes(const struct al_sentence *sentence, const struct al_deriving *deriving,
	struct al_paper_subjects *subjects)
{
	struct stated t = {.s = sentence, .arena = deriving->arena};
	struct al_deriving d = *deriving;
	bool has_sizes = false;

	for (size_t i = 0; i < sentence->n && !has_sizes; i++)
		has_sizes = al_sentence_has(sentence, i, AL_WORDS_OF_SIZES);
	for (size_t at = 0; has_sizes && next_model(&t, subjects, at); at = t.model.end)
		judge_sizes(&d, &t, &subjects->vocabulary);
}
