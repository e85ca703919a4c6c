/* "added_tokens" of tokenizer.json: texts that are a token before anything else is looked at. Those
 * that aren't "normalized" are found in the text as it is, the others in what is normalized; of
 * those that begin at one place the longest counts.
 *= huggingface/tokenizers, tokenizers/src/tokenizer/added_vocabulary.rs */
#include "model/tokenize/internal.h"

/* The added tokens that a step looks for. */
struct finder {
	struct al_vocab vocab; /* of indices into `items` */
	const struct al_added *items;
	bool begins[256]; /* does one begin with this byte? */
	const struct al_pattern *word, *blank_before, *blank_after;
};

/* ---- the step ---- */

struct found {
	const struct al_added *added;
	size_t first, end;
};

static size_t before_character(struct al_span text, size_t at)
{
	do
		at -= at > 0;
	while (at > 0 && ((unsigned char)text.data[at] & 0xc0) == 0x80);
	return at;
}

static bool is_inside_word(const struct finder *finder, struct al_matcher *matcher,
	struct al_span text, const struct found *found)
{
	const size_t last = before_character(text, found->first);

	return al_pattern_is_in(finder->word, matcher, al_span_part(text, last, found->first))
		|| al_pattern_is_in(finder->word, matcher, al_span_part(text, found->end, text.n));
}

/* Blanks that belong to the token. */
static bool widen(const struct finder *finder, struct al_span text, size_t done,
	struct found *found, struct al_stepping *to)
{
	struct al_scan left = al_scan_in(to, finder->blank_before,
		al_span_part(text, done, found->first));
	struct al_scan right = al_scan_in(to, finder->blank_after,
		al_span_part(text, found->end, text.n));
	struct al_match part;

	while (found->added->takes_left && al_scan_next(&left, &part))
		if (part.is_match)
			found->first = done + part.first;
	if (found->added->takes_right && al_scan_next(&right, &part) && part.is_match)
		found->end += part.end;
	return !left.failed && !right.failed;
}

static struct al_piece piece_of(const struct al_piece *piece, size_t first, size_t end,
	int32_t token)
{
	return (struct al_piece){al_span_part(piece->text, first, end), token,
		piece->is_first && first == 0};
}

static bool find_added(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const struct finder *finder = step->data;
	size_t done = 0;

	for (size_t at = 0, next; at < piece->text.n; at = next) {
		size_t n = 0;
		const int32_t index = finder->begins[(unsigned char)piece->text.data[at]]
			? al_vocab_find_longest(&finder->vocab,
				al_span_part(piece->text, at, piece->text.n), 0, &n)
			: -1;
		next = at + 1;
		if (!al_budget_take(to->budget, 0, to->err))
			return false;
		if (index < 0)
			continue;
		struct found found = {&finder->items[index], at, at + n};
		next = found.end;
		if (found.added->is_word
			&& is_inside_word(finder, to->matcher, piece->text, &found))
			continue;
		if (!widen(finder, piece->text, done, &found, to))
			return false;
		al_pieces_add(to, piece_of(piece, done, found.first, -1));
		al_pieces_add(to, piece_of(piece, found.first, found.end, found.added->token));
		done = found.end;
		next = al_most(next, done);
	}
	al_pieces_add(to, piece_of(piece, done, piece->text.n, -1));
	return true;
}

void al_added_step(const struct al_pipeline *t, struct al_arena *arena, bool is_normalized,
	struct al_text_steps *steps)
{
	struct finder *finder = al_new(arena, struct finder);
	size_t n = 0;

	finder->items = t->added;
	al_vocab_init(&finder->vocab, arena, t->n_added);
	for (size_t i = 0; i < t->n_added; i++)
		if (t->added[i].is_normalized == is_normalized && t->added[i].text.n > 0) {
			al_vocab_add(&finder->vocab, t->added[i].text, (int32_t)i);
			finder->begins[(unsigned char)t->added[i].text.data[0]] = true;
			n++;
		}
	if (n == 0)
		return;
	finder->word = al_pattern_of(arena,
		"\\A[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]");
	finder->blank_before = al_pattern_of(arena, AL_BLANK_AT_END);
	finder->blank_after = al_pattern_of(arena, "\\A\\p{White_Space}+");
	al_steps_add(steps, arena, (struct al_step){.run = find_added, .data = finder});
}

/* ---- the file ---- */

static bool check_item(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	struct al_added *item = record;
	const int32_t known = al_vocab_find(&r->pipeline->model.vocab, al_span_of(item->content));

	item->text = al_span_of(item->content);
	return known < 0 || known == item->token
		|| al_json_fail(r->doc, node, err,
			"\"%.60s\" is token %d here but %d in the vocabulary", item->content,
			item->token, known);
}

/* An added token after the normalizer. */
static bool normalize(struct al_tokenizer_reader *r, struct al_span *text, struct al_error *err)
{
	AL_ENDS(al_stepping_finish) struct al_stepping made = al_pipeline_begin(r->pipeline, err);

	if (!al_steps_run(&r->pipeline->normalizer, *text, &made))
		return false;
	*text = made.pieces.n > 0 ? made.pieces.items[0].text : (struct al_span){"", 0};
	text->data = al_strndup(r->arena, text->data, text->n);
	return true;
}

#define AT(member) offsetof(struct al_added, member)

bool al_added_read(struct al_tokenizer_reader *r, const struct al_item *node, struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("id", BY, AT(token)), .read = al_read_token, .is_required = true},
		{AL_KEY("content", TEXT, AT(content)), .is_required = true},
		{AL_KEY("single_word", BOOLEAN, AT(is_word)), .is_required = true},
		{AL_KEY("lstrip", BOOLEAN, AT(takes_left)), .is_required = true},
		{AL_KEY("rstrip", BOOLEAN, AT(takes_right)), .is_required = true},
		{AL_KEY("normalized", BOOLEAN, AT(is_normalized)), .is_required = true},
		{AL_KEY("special", BY, 0), .read = al_read_nothing, .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields),
		.size = sizeof(struct al_added),
		.check = check_item};
	static const struct al_field list = {AL_KEY("added_tokens", LIST,
						     offsetof(struct al_pipeline, added)),
		.n_offset = offsetof(struct al_pipeline, n_added), .record = &record};
	struct al_pipeline *p = r->pipeline;

	if (!al_record_read_items(&r->source, &list, node, p, err))
		return false;
	for (size_t i = 0; i < p->n_added; i++)
		if (p->added[i].is_normalized && !normalize(r, &p->added[i].text, err))
			return al_json_in(r->doc, node, err);
	return true;
}

int32_t al_tokenizer_special(const struct al_tokenizer *tokenizer, const char *text)
{
	const struct al_pipeline *p = tokenizer->pipeline;

	for (size_t i = 0; i < p->n_added; i++)
		if (p->added[i].text.n == strlen(text)
			&& memcmp(p->added[i].text.data, text, strlen(text)) == 0)
			return p->added[i].token;
	return -1;
}
