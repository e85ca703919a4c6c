#include "paper/sizes.h"

#include "paper/stated.h"
#include "scenario/scenario.h"

struct sizes {
	const struct al_sentence *s;
	struct al_arena *arena;
	const struct al_paper_vocabulary *v;
	bool *is_judged; /* [s->n] */
	struct al_deriving *d; /* its cells: those that hold */
	size_t room;
};

static const struct al_paper_cause none = {0};

/* ---- a size ---- */

static int size_of(const struct sizes *t, const char *name)
{
	const struct al_paper_heads *found = al_paper_heads_find(t->v->heads, t->v->n_heads,
		al_paper_normal(t->arena, name));
	const bool is_setting = t->d->sheet && !name[1]; /* a row's "L=32" */

	return found->meaning == AL_MEANS_SIZE && found->size != AL_DIM_SOME && !is_setting
		? found->size
		: -1;
}

/* The size that the words from `at` on name, the longest name first: "KV heads", "-layer",
 * "transformer layers"; -1: none. */
static int size_named(const struct sizes *t, size_t at, size_t *end)
{
	enum { MOST_WORDS = 5 };
	size_t most = 0;

	at += al_sentence_is(t->s, at, "-") && t->s->words[at].is_joined;
	while (most < MOST_WORDS && at + most < t->s->n
		&& (t->s->words[at + most].kind == AL_WORD_LETTERS
			|| al_sentence_is(t->s, at + most, "_")
			|| al_sentence_is(t->s, at + most, "/")))
		most++;
	for (size_t n = most; n > 0; n--) {
		const char *name = al_sentence_join(t->s, t->arena, at, at + n);
		const int size = size_of(t, name);
		*end = at + n;
		if (size >= 0)
			return size;
		if (n == 1 && size_of(t, al_format(t->arena, "%ss", name)) >= 0)
			return size_of(t, al_format(t->arena, "%ss", name));
	}
	return al_sentence_has(t->s, at, AL_WORDS_OF_LAYERS) ? size_named(t, at + 1, end) : -1;
}

/* A number of a model, and where it is printed. */
struct size {
	struct al_paper_cell cell;
	size_t number, end; /* words: the number, and behind what is said of it */
};

static void add(struct sizes *t, const struct size *size)
{
	struct al_paper_cell *cell = al_new(t->arena, struct al_paper_cell);

	*cell = size->cell;
	al_deriving_add(t->d, cell, cell->holds ? AL_REPRODUCED : AL_INCONSISTENT, &none);
	t->is_judged[size->number] = true;
	*AL_APPEND(t->arena, t->d->cells, t->d->n, t->room) = cell;
}

static struct size size_at(const struct sizes *t, size_t number, size_t end, int size)
{
	const struct al_word *word = &t->s->words[number];

	return (struct size){{.line = word->line,
				     .printed = al_strdup(t->arena, word->text),
				     .value = word->value,
				     .half = 0.5,
				     .meaning = AL_MEANS_SIZE,
				     .size = size},
		number, end};
}

/* "32 layers", "head dimension 128", "n_layers = 32"; false: no size is here. */
static bool read_size(const struct sizes *t, size_t at, struct size *out)
{
	const struct al_sentence *s = t->s;
	size_t end;
	const bool is_first = s->words[at].kind == AL_WORD_NUMBER
		&& !al_sentence_has(s, at - 1, AL_WORDS_EQUALS); /* "12 x 12 heads = 144 heads" */
	const int size = size_named(t, at + is_first, &end);
	const bool has_sign = size >= 0 && !is_first && al_sentence_has(s, end, AL_WORDS_EQUALS);
	const size_t number = is_first || size < 0
		? at
		: end + (has_sign || al_sentence_is(s, end, "of"));

	if (size < 0 || number >= s->n || (is_first && size == AL_DIM_GROUP) /* "four GQA ratios" */
		|| (s->words[number].kind != AL_WORD_NUMBER
			&& !(has_sign && s->words[number].kind == AL_WORD_OTHER))
		|| s->words[number].scale > 0
		|| (!is_first && !has_sign && size != AL_DIM_HEAD_DIM && size != AL_DIM_WIDTH
			&& size < AL_DIM_FFN))
		return false;
	*out = size_at(t, number, is_first ? end : number + 1, size);
	return true;
}

static bool fits(struct size *size, const struct al_paper_subject *subject, double right)
{
	size->cell.subject = subject;
	size->cell.right = right;
	size->cell.holds = right > 0 && size->cell.value == right;
	return size->cell.holds;
}

/* ---- right behind a model's name ---- */

/* A size that differs is wrong where two others of the same brackets are right. */
static void judge_behind(struct sizes *t, const struct al_mention *model)
{
	enum { MOST = 8 };
	const bool is_in_brackets = al_sentence_is(t->s, model->end, "(");
	struct size sizes[MOST];
	size_t n = 0, n_hold = 0, end;
	bool is_changed = false;

	for (size_t i = model->end; i < t->s->n && n < MOST; i = end) {
		end = i + 1;
		if (read_size(t, i, &sizes[n])) {
			end = sizes[n].end;
			n_hold += fits(&sizes[n], model->subject,
				model->subject->sizes[sizes[n].cell.size]);
			n += sizes[n].cell.right > 0
				&& (sizes[n].cell.holds || sizes[n].cell.size < AL_DIM_FFN);
		} else if (is_in_brackets ? al_sentence_is(t->s, i, ")")
					  : !al_sentence_has(t->s, i, AL_WORDS_OF_MODELS))
			break;
		else
			is_changed |= t->s->words[i].kind == AL_WORD_LETTERS
				&& !al_sentence_has(t->s, i, AL_WORDS_OF_MODELS);
	}
	const bool is_sure = is_in_brackets && !is_changed && n_hold >= 2 && n_hold + 1 == n;
	for (size_t i = 0; i < n; i++)
		if (sizes[i].cell.holds || is_sure)
			add(t, &sizes[i]);
}

/* ---- elsewhere in the sentence, and in the next ones ---- */

/* "7:1 GQA", "GQA (7:1 ratio)". */
static bool read_groups(const struct sizes *t, size_t at, struct size *out)
{
	enum { NEAR = 4 };
	const struct al_sentence *s = t->s;

	if (s->words[at].kind != AL_WORD_NUMBER || !al_sentence_is(s, at + 1, ":") || at + 2 >= s->n
		|| strcmp(s->words[at + 2].text, "1") != 0)
		return false;
	*out = size_at(t, at, at + 3, AL_DIM_HEADS);
	out->cell.printed = al_sentence_join(s, t->arena, at, at + 3);
	return al_sentence_has_near(s, at + 1, NEAR, AL_WORDS_GROUPS);
}

/* "$L=80$, $D=128$"; "128 dim" next to others. */
static bool fits_letter(const struct sizes *t, size_t at, const struct al_paper_subject *subject,
	struct size *out)
{
	static const struct {
		enum al_paper_words words;
		enum al_paper_size size;
	} letters[] = {{AL_WORDS_LETTERS_L, AL_DIM_LAYERS}, {AL_WORDS_LETTERS_D, AL_DIM_HEAD_DIM},
		{AL_WORDS_LETTERS_D, AL_DIM_WIDTH}, {AL_WORDS_LETTERS_H, AL_DIM_HEADS},
		{AL_WORDS_LETTERS_H, AL_DIM_KV_HEADS}};
	const bool is_first = t->s->words[at].kind == AL_WORD_NUMBER;
	const bool has_sign = al_sentence_is(t->s, at - 1, "=");

	if (t->s->words[at].scale > 0 || (!is_first && t->s->words[at].kind != AL_WORD_OTHER))
		return false;
	*out = size_at(t, at, at + 1, AL_DIM_LAYERS);
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if ((has_sign ? al_sentence_has(t->s, at - 2, letters[i].words)
			      : is_first && t->d->n > 0 && letters[i].words == AL_WORDS_LETTERS_D
					    && al_sentence_has(t->s, at + 1, letters[i].words))
			&& fits(out, subject, subject->sizes[letters[i].size]))
			return true;
	return false;
}

/* "124M parameters", "17B active parameters". */
static bool fits_total(const struct sizes *t, size_t at, const struct al_paper_subject *subject,
	struct size *out)
{
	const struct al_word *word = &t->s->words[at];
	const bool is_active = al_sentence_has(t->s, at + 1, AL_WORDS_ACTIVE);
	const double half = word->half_unit > 0 ? word->half_unit : 0.5;

	if (word->kind != AL_WORD_NUMBER || word->value < 1e6 || word->value < 20 * half
		|| !al_sentence_has(t->s, at + 1 + is_active, AL_WORDS_PARAMETERS))
		return false;
	*out = size_at(t, at, at + 2, is_active ? AL_TOTAL_ACTIVE : AL_TOTAL_PARAMETERS);
	out->cell.meaning = AL_MEANS_TOTAL;
	out->cell.digits = word->digits;
	out->cell.subject = subject;
	out->cell.right = subject->totals[out->cell.size] / (word->scale > 0 ? word->scale : 1);
	return out->cell.holds = fabs(subject->totals[out->cell.size] - word->value) <= half;
}

/* Heads of all layers count, too: "144 heads (12 layers of 12)". */
static bool fits_size(struct size *size, const struct al_paper_subject *subject)
{
	const double right = subject->sizes[size->cell.size];
	const bool is_of_heads = size->cell.size == AL_DIM_HEADS
		|| size->cell.size == AL_DIM_KV_HEADS;

	return size->cell.value > 1
		&& (fits(size, subject, right)
			|| (is_of_heads
				&& fits(size, subject, right * subject->sizes[AL_DIM_LAYERS])));
}

/* Has a model the size that is printed here? */
static bool holds_at(const struct sizes *t, size_t at, const struct al_paper_subject *subject,
	bool is_named, struct size *out)
{
	const double *sizes = subject->sizes;

	if (read_groups(t, at, out))
		return fits(out, subject, sizes[AL_DIM_HEADS] / sizes[AL_DIM_KV_HEADS]);
	if (read_size(t, at, out))
		return fits_size(out, subject);
	return (is_named && !t->d->sheet && fits_letter(t, at, subject, out))
		|| fits_total(t, at, subject, out);
}

/* The model that a size is of: "of" one behind it, the last one before it, one that comes soon, or
 * the topic where none is named; NULL: an unknown one, or none. */
static const struct al_paper_subject *find_subject(const struct al_sentence *s, size_t at,
	const struct al_mention *models, size_t n, const struct al_paper_topic *topic)
{
	enum { SOON = 6, NEXT = 4 };
	size_t i = n;

	while (i > 0 && models[i - 1].end > at)
		i--;
	if (i < n && models[i].first <= at + NEXT && al_sentence_is(s, models[i].first - 1, "of"))
		return models[i].subject;
	return i > 0			       ? models[i - 1].subject
		: n == 0		       ? topic->subject
		: models[0].first <= at + SOON ? models[0].subject
					       : NULL;
}

/* "the first 12 layers" */
static bool is_part(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 3 };

	return al_sentence_has_before(s, at, NEAR, AL_WORDS_PARTS);
}

/* What holds counts, no more. */
static void judge_elsewhere(struct sizes *t, const struct al_mention *models, size_t n_models,
	const struct al_paper_topic *topic)
{
	for (size_t i = 0; i < t->s->n; i++) {
		const struct al_paper_subject *subject = find_subject(t->s, i, models, n_models,
			topic);
		struct size size;
		if (subject && !t->is_judged[i] && !is_part(t->s, i)
			&& holds_at(t, i, subject, n_models > 0, &size)
			&& !t->is_judged[size.number])
			add(t, &size);
		if (t->s->words[i].scale > 0 && strcmp(t->s->words[i].family, "bytes") == 0)
			al_paper_read_stated(t->s, t->d, i, subject, models, n_models);
	}
}

void al_paper_topic_age(struct al_paper_topic *topic, size_t n_sentences)
{
	enum { MOST_AGE = 6 };

	topic->age += n_sentences;
	if (topic->age >= MOST_AGE)
		topic->subject = NULL;
}

static void change_topic(struct al_paper_topic *topic, const struct al_mention *models, size_t n)
{
	const struct al_paper_subject *subject = n > 0 ? models[0].subject : topic->subject;

	for (size_t i = 1; i < n; i++)
		subject = models[i].subject == subject ? subject : NULL;
	topic->subject = subject;
	if (n > 0)
		topic->age = 0;
	else
		al_paper_topic_age(topic, 1);
}

void al_paper_read_sizes(const struct al_sentence *sentence, const struct al_deriving *deriving,
	struct al_paper_subjects *subjects, struct al_paper_topic *topic)
{
	AL_ARENA(scratch);
	struct al_deriving d = *deriving;
	struct al_mention models[AL_MOST_MENTIONS];
	struct sizes t = {sentence, deriving->arena, &subjects->vocabulary,
		al_new_array(&scratch, bool, sentence->n + 1), &d, 0};

	d.cells = NULL;
	d.n = 0;
	const size_t n = al_paper_find_mentions(sentence, subjects, models);
	const bool has_sizes = al_sentence_has_any(sentence, 0, sentence->n, AL_WORDS_OF_SIZES);
	for (size_t i = 0; has_sizes && i < n; i++)
		if (models[i].subject)
			judge_behind(&t, &models[i]);
	if (has_sizes)
		judge_elsewhere(&t, models, n, topic);
	if (d.n > 0)
		al_deriving_note(&d);
	if (sentence->n > 0)
		change_topic(topic, models, n);
}
