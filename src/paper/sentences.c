/* Running text as sentences, each of which is given to those that judge what follows within it. */

#include "paper/expressions.h"
#include "paper/relations.h"
#include "paper/sizes.h"

enum { MOST_KEPT_WORDS = 10000 };

struct reader {
	const struct al_deriving *deriving;
	struct al_paper_subjects *subjects;
	struct al_arena words; /* of the last sentences */
	size_t n_words;
	struct al_sentence sentence;
	struct al_operands operands; /* of the paragraph */
	struct al_paper_topic topic;
	bool begins; /* a paragraph */
};

static void read_sentence(struct reader *r)
{
	const struct al_deriving *d = r->deriving;
	struct al_sentence *s = &r->sentence;

	if (r->begins && s->n > 0) {
		al_paper_topic_age(&r->topic, 2);
		r->begins = false;
	}
	al_paper_read_expressions(s, d->out, d->counts);
	al_paper_read_sizes(s, d, r->subjects, &r->topic);
	al_paper_read_counts(s, d->out, d->counts);
	al_operands_add(&r->operands, s);
	al_paper_read_relations(s, &r->operands, d->out, d->counts);
	r->n_words += s->n;
	s->n = 0;
	if (r->n_words < MOST_KEPT_WORDS)
		return;
	al_arena_clear(&r->words);
	r->sentence = (struct al_sentence){.vocabulary = s->vocabulary};
	r->operands.n = 0;
	r->n_words = 0;
}

static size_t indent_of(const struct al_paper_line *line, const char *blanks)
{
	size_t n = 0;

	while (n < line->length && strchr(blanks, line->text[n]))
		n++;
	return n;
}

/* "- 4 GB", "3. ...", "# ...", "\\item". */
static bool begins_item(const struct al_paper *paper, const struct al_paper_line *line)
{
	static const char item[] = "\\item";
	const size_t i = indent_of(line, " \t>");
	const char *text = line->text + i;
	const size_t left = line->length - i, n = al_number_length(text);
	if (paper->kind == AL_PAPER_TEX)
		return left >= strlen(item) && memcmp(text, item, strlen(item)) == 0;
	return (left > 1 && strchr("-*+#", text[0]) && strchr(" #", text[1]))
		|| (n > 0 && left > n + 1 && strchr(".)", text[n]) && text[n + 1] == ' ');
}

/* A sentence ends at a table, an empty line, "\\begin{equation}" and a list's item, too. */
static void read_line(struct reader *r, const struct al_paper_line *line, size_t number,
	struct al_arena *plain)
{
	const char *text = al_paper_plain(plain, line->text, line->length), *rest = text;

	if (line->is_of_table || (!*text && !line->is_part)) {
		read_sentence(r);
		if (line->is_of_table || indent_of(line, " \t\r") == line->length)
			r->operands.n = 0;
		r->begins |= !line->is_of_table && line->length == 0;
		return;
	}
	if (begins_item(r->deriving->paper, line))
		read_sentence(r);
	while (al_sentence_add_line(&r->sentence, &r->words, text, number, &rest))
		read_sentence(r);
}

void al_paper_read_sentences(const struct al_deriving *deriving, struct al_paper_subjects *subjects)
{
	const struct al_paper *paper = deriving->paper;
	struct reader r = {.deriving = deriving,
		.subjects = subjects,
		.sentence.vocabulary = &subjects->vocabulary};

	al_arena_init(&r.words);
	for (size_t i = 0; i < paper->n_lines; i++) {
		AL_ARENA(plain);
		read_line(&r, &paper->lines[i], i + 1, &plain);
	}
	read_sentence(&r);
	al_arena_finish(&r.words);
}
