/* Rates and what they are of: "411,000 requests of 5,000 users, 82.2 requests per user", "10.2 GB
 * at 800 GB/s take 12.8 ms", "18.1 ms per token (55.2 tok/s)". Only units decide. */
#include "paper/derive.h"
#include "paper/relating.h"
#include "scenario/scenario.h"

/* "12 ms" is in "ms", "12 tokens/s" is in "tokens" per "s". */
static bool is_in(const struct al_operand *of, const char *noun, const char *per)
{
	return al_nouns_match(of->noun, noun) && (*per ? al_nouns_match(of->per, per) : !*of->per);
}

/* What the two, or the one, make in the unit of the statement; 0: they don't. */
static double rate_of(const struct al_operand *said, const struct al_operand *a,
	const struct al_operand *b)
{
	const double x = a->word.value, y = b->word.value;

	if (a == b)
		return is_in(a, said->per, said->noun) ? 1 / x : 0;
	if (is_in(a, said->noun, "") && is_in(b, said->per, ""))
		return x / y;
	if (*said->per || *b->per || !*a->per || !*b->noun)
		return 0;
	return is_in(a, said->noun, b->noun) ? x * y : is_in(a, b->noun, said->noun) ? y / x : 0;
}

/* Judges the number by the first quantities that give it, unless chance would do. */
bool al_paper_read_rate(struct al_relating *r, size_t at)
{
	static const double most_chance = 0.1;
	const struct al_operands *all = r->operands;
	const struct al_operand said = al_operand_at(r->s, at);
	const size_t place = all->n_words - r->s->n + at;
	const double half = said.word.half_unit > 0 ? said.word.half_unit : 0.5;
	double chance = 0;

	if (!*said.noun || said.word.kind < AL_WORD_NUMBER
		|| !al_statement_is_telling(&r->s->words[at]))
		return false;
	for (size_t i = 0; i < all->n && chance <= most_chance; i++) {
		const struct al_operand *a = &all->items[i];
		if (a->place >= place
			|| !(al_nouns_match(a->noun, said.noun)
				|| al_nouns_match(a->per, said.noun)))
			continue;
		for (size_t k = 0; k < all->n && chance <= most_chance; k++) {
			const struct al_operand *b = &all->items[k];
			const double right = b->place < place ? rate_of(&said, a, b) : 0;
			chance += right != 0 ? 2 * half / said.word.value : 0;
			if (right == 0 || !al_paper_rounds_to(right, said.word.value, half)
				|| chance > most_chance)
				continue;
			al_paper_add_holding(r->out, r->counts, &r->s->words[at],
				right / (said.word.scale > 0 ? said.word.scale : 1), AL_REPRODUCED);
			return true;
		}
	}
	return false;
}
