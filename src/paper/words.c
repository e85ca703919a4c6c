/* Sentences of running text as words and numbers, with the line of each. */
#include "paper/words.h"

#include <ctype.h>

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || (unsigned char)c >= 128;
}

size_t al_number_length(const char *p)
{
	size_t n = 0;

	while (isdigit((unsigned char)p[n])
		|| (n > 0 && (p[n] == '.' || p[n] == ',') && isdigit((unsigned char)p[n + 1])))
		n++;
	return n;
}

size_t al_number_read(const char *p, double *value, int *digits)
{
	const size_t n = al_number_length(p);
	size_t n_points = 0;

	*value = *digits = 0;
	for (size_t i = 0; i < n; i++) {
		n_points += p[i] == '.';
		if (isdigit((unsigned char)p[i])) {
			*value = 10 * *value + p[i] - '0';
			*digits += n_points > 0;
		}
	}
	*value = n_points > 1 ? NAN : *value / pow(10, *digits);
	return n;
}

static const char arrow[] = "\u2192";

/* A letter that goes on a number or its unit, not a sign: "5 s\u2192", "4.0\u00b10.2". */
static bool is_joining(const char *p)
{
	return is_letter(*p) && strncmp(p, arrow, strlen(arrow)) != 0
		&& strncmp(p, "\u00b1", 2) != 0;
}

/* What a number is of, right behind it; NULL: none of the vocabulary's. */
static const struct al_paper_unit *unit_at(const struct al_paper_vocabulary *v, const char *p)
{
	for (size_t i = 0; i < v->n_units; i++) {
		const char *name = v->units[i].name;
		const size_t n = strlen(name);
		if (strncmp(p, name, n) == 0
			&& (!isalpha((unsigned char)name[n - 1])
				|| (!is_joining(p + n) && !isdigit((unsigned char)p[n]))))
			return &v->units[i];
	}
	return NULL;
}

/* "1,024", not "1,2". */
static bool has_groups(const char *digits, size_t n)
{
	const char *comma = memchr(digits, ',', n), *end = digits + n;

	for (const char *p = comma; p && p < end && *p == ','; p += 4)
		if (end - p < 4 || (end - p > 4 && isdigit((unsigned char)p[4]))
			|| memchr(p + 1, ',', 3) || memchr(p + 1, '.', 3))
			return false;
	return true;
}

static bool set_value(const char *digits, size_t n, struct al_word *word)
{
	if (!has_groups(digits, n))
		return false;
	al_number_read(digits, &word->value, &word->digits);
	word->half_unit = 0.5 / pow(10, word->digits);
	return !isnan(word->value);
}

/* A number next to a sign, a letter or a slash is part of a name, a range or a formula. */
static bool is_alone(const char *text, const char *p, const char *end, bool takes_sign)
{
	static const char minus[] = "\u2212";
	const char before = p > text ? p[-1] : ' ', first = p > text + 1 ? p[-2] : ' ';
	const char *symbol = p >= text + strlen(arrow) ? p - strlen(arrow) : "   ";
	const bool is_signed = (strchr("+-", before) && strchr(" (=~", first))
		|| memcmp(symbol, minus, strlen(minus)) == 0;
	const bool is_free = (first == '-' && before == '>')
		|| memcmp(symbol, arrow, strlen(arrow)) == 0 || (takes_sign && is_signed);

	return (is_free || (!is_letter(before) && !strchr("-+./_^*=<>\\", before)))
		&& !strchr("/^_*=+", *end ? *end : ' ')
		&& !(*end == '-' && isdigit((unsigned char)end[1]));
}

/* "2 x 32" is a product, as "2 x (32 + 1)", but not "2x faster" or "2x (32 vs. 16)". */
static bool is_factor(const char *end, const char *behind)
{
	const size_t n = strncmp(behind, "\u00d7", 2) == 0 ? 2 : *behind == 'x';
	const char *next = behind + n + strspn(behind + n, " ");

	return n > 0 && (isdigit((unsigned char)*next) || (*next == '(' && behind > end));
}

static bool has_word(const struct al_paper_list *list, const char *word, int *place)
{
	*place = al_find_name(word, (const char *const *)list->items, list->n);
	return *place >= 0;
}

/* "three" is a count as 3 is. */
static const char *read_letters(const struct al_sentence *s, const char *p, struct al_arena *arena,
	struct al_word *word)
{
	int place;
	size_t n = 0;

	while (is_letter(p[n]) || ((p[n] == '-' || p[n] == '\'') && is_letter(p[n + 1])))
		n++;
	char *lower = al_strndup(arena, p, n);
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)tolower((unsigned char)lower[i]);
	*word = (struct al_word){.kind = AL_WORD_LETTERS, .text = lower};
	if (has_word(&s->vocabulary->words[AL_WORDS_COUNTS], lower, &place))
		*word = (struct al_word){.kind = AL_WORD_NUMBER,
			.text = lower,
			.value = place + 2,
			.family = ""};
	return p + n;
}

/* "13.6pp", "12tok/s" */
static bool has_noun(const struct al_sentence *s, const char *p, struct al_arena *arena)
{
	struct al_word noun;
	int place;

	read_letters(s, p, arena, &noun);
	return has_word(&s->vocabulary->words[AL_WORDS_NOUNS], noun.text, &place);
}

/* The word that begins at `p`; returns where the next may begin. */
static const char *read_number(const struct al_sentence *s, const char *text, const char *p,
	struct al_arena *arena, struct al_word *word)
{
	const size_t n = al_number_length(p);
	const char *end = p + n, *behind = end + strspn(end, " ");
	const struct al_paper_unit *unit = is_factor(end, behind) ? NULL
								  : unit_at(s->vocabulary, behind);

	*word = (struct al_word){.kind = AL_WORD_NUMBER, .family = ""};
	if (unit) {
		end = behind + strlen(unit->name);
		word->kind = *unit->family == '%' ? AL_WORD_PERCENT
			: *unit->family == 'x'	  ? AL_WORD_TIMES
						  : AL_WORD_NUMBER;
		word->family = unit->family;
	}
	if (!set_value(p, n, word) || !is_alone(text, p, end, word->kind == AL_WORD_PERCENT)
		|| (!unit && is_joining(end) && !has_noun(s, end, arena)))
		word->kind = AL_WORD_OTHER;
	word->text = behind > p + n + 1 && end > behind
		? al_format(arena, "%.*s %s", (int)n, p, unit->name)
		: al_strndup(arena, p, (size_t)(end - p));
	word->scale = unit ? unit->scale : 0;
	word->value *= unit ? unit->scale : 1;
	word->half_unit *= unit ? unit->scale : word->digits > 0 ? 1 : 0;
	return end;
}

bool al_sentence_add_line(struct al_sentence *s, struct al_arena *arena, const char *text,
	size_t line, const char **rest)
{
	const char *p = *rest;

	while (*p) {
		struct al_word word;
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		const bool is_joined = p > text && !isspace((unsigned char)p[-1]);
		const bool is_abbreviated = *p == '.' && s->n > 0
			&& al_sentence_has(s, s->n - 1, AL_WORDS_ABBREVIATIONS);
		const bool ends = strchr(".?!;", *p) && (!p[1] || isspace((unsigned char)p[1]))
			&& (is_joined || *p != '.') && !is_abbreviated;
		if (is_abbreviated) {
			p++;
			continue;
		}
		if (isdigit((unsigned char)*p))
			p = read_number(s, text, p, arena, &word);
		else if (strncmp(p, "->", 2) == 0) {
			word = (struct al_word){.kind = AL_WORD_LETTERS, .text = arrow};
			p += 2;
		} else if (is_letter(*p))
			p = read_letters(s, p, arena, &word);
		else
			word = (struct al_word){.kind = AL_WORD_SIGN,
				.text = al_strndup(arena, p++, 1)};
		word.line = line;
		word.is_joined = is_joined;
		if (word.kind <= AL_WORD_SIGN)
			word.listed = al_paper_listed_find(s->vocabulary, word.text);
		*rest = p;
		if (ends)
			return true;
		*AL_APPEND(arena, s->words, s->n, s->room) = word;
		if (s->n == AL_SENTENCE_MOST_WORDS)
			return true;
	}
	return false;
}

void al_word_share_unit(struct al_word *first, const struct al_word *second)
{
	if (first->scale > 0 || second->scale == 0)
		return;
	first->half_unit = 0.5 * second->scale * pow(10, -first->digits);
	first->value *= second->scale;
	first->scale = second->scale;
	first->family = second->family;
}

bool al_sentence_is_of_name(const struct al_sentence *s, size_t at)
{
	return at > 0 && s->words[at].is_joined && s->words[at - 1].kind == AL_WORD_LETTERS;
}

bool al_sentence_has(const struct al_sentence *s, size_t at, enum al_paper_words list)
{
	return at < s->n && s->words[at].listed && s->words[at].listed->is_in[list];
}

bool al_sentence_has_any(const struct al_sentence *s, size_t first, size_t end,
	enum al_paper_words list)
{
	for (size_t i = first; i < s->n && i < end; i++)
		if (al_sentence_has(s, i, list))
			return true;
	return false;
}

bool al_sentence_has_before(const struct al_sentence *s, size_t at, size_t reach,
	enum al_paper_words list)
{
	return al_sentence_has_any(s, at > reach ? at - reach : 0, at, list);
}

bool al_sentence_has_near(const struct al_sentence *s, size_t at, size_t reach,
	enum al_paper_words list)
{
	return al_sentence_has_before(s, at, reach, list)
		|| al_sentence_has_any(s, at, at + reach + 1, list);
}

bool al_sentence_is(const struct al_sentence *s, size_t at, const char *text)
{
	return at < s->n && s->words[at].kind <= AL_WORD_SIGN
		&& al_is_same(s->words[at].text, text);
}

const char *al_sentence_join(const struct al_sentence *s, struct al_arena *arena, size_t first,
	size_t end)
{
	AL_TEXT(out);

	for (size_t i = first; i < end; i++)
		al_text_addf(&out, "%s%s", i > first && !s->words[i].is_joined ? " " : "",
			s->words[i].text);
	return al_strdup(arena, out.data);
}
