/* Vocabularies: which token a text is. A table with open addressing, half of it free. */
#include "model/tokenize/internal.h"

enum { HASHED_IN_A_STEP = 8, COMPARED_IN_A_STEP = 64 };

void al_vocab_init(struct al_vocab *vocab, struct al_arena *arena, size_t n)
{
	*vocab = (struct al_vocab){.n_slots = 4, .budget = arena->budget};
	while (vocab->n_slots < 2 * n)
		vocab->n_slots *= 2;
	vocab->slots = al_new_array(arena, struct al_vocab_slot, vocab->n_slots);
	for (size_t i = 0; i < vocab->n_slots; i++)
		vocab->slots[i].token = -1;
}

/* The slot of a text, or the free one where it would be. */
static struct al_vocab_slot *find_slot(const struct al_vocab *vocab, struct al_span text,
	uint64_t hash)
{
	const size_t mask = vocab->n_slots - 1;
	size_t i = (size_t)(hash ^ hash >> 32) & mask, n_seen = 1;

	for (; vocab->slots[i].token >= 0
		&& (vocab->slots[i].text.n != text.n
			|| memcmp(vocab->slots[i].text.data, text.data, text.n) != 0);
		n_seen++)
		i = (i + 1) & mask;
	vocab->budget->steps += 1 + n_seen + text.n / COMPARED_IN_A_STEP;
	return &vocab->slots[i];
}

/* False where no more may be looked up. */
static bool take_hash(const struct al_vocab *vocab, size_t n_bytes)
{
	vocab->budget->steps += n_bytes / HASHED_IN_A_STEP;
	return al_budget_holds(vocab->budget, 0);
}

void al_vocab_add(struct al_vocab *vocab, struct al_span text, int32_t token)
{
	if (!take_hash(vocab, text.n))
		return;
	*find_slot(vocab, text,
		al_hash(AL_HASH_EMPTY, text.data, text.n)) = (struct al_vocab_slot){text, token};
	vocab->longest = al_most(text.n, vocab->longest);
}

int32_t al_vocab_find_hashed(const struct al_vocab *vocab, struct al_span text, uint64_t hash)
{
	return find_slot(vocab, text, hash)->token;
}

int32_t al_vocab_find(const struct al_vocab *vocab, struct al_span text)
{
	return take_hash(vocab, text.n)
		? al_vocab_find_hashed(vocab, text, al_hash(AL_HASH_EMPTY, text.data, text.n))
		: -1;
}

int32_t al_vocab_find_longest(const struct al_vocab *vocab, struct al_span text, size_t least,
	size_t *length)
{
	uint64_t hash = AL_HASH_EMPTY;
	int32_t best = -1;

	vocab->budget->steps += least / HASHED_IN_A_STEP;
	for (size_t n = 1; n <= text.n && n <= vocab->longest; n++) {
		hash = AL_HASH_BYTE(hash, text.data[n - 1]);
		const int32_t token = n > least
			? al_vocab_find_hashed(vocab, al_span_part(text, 0, n), hash)
			: -1;
		if (token >= 0) {
			best = token;
			*length = n;
		}
	}
	return best;
}

bool al_byte_tokens(const struct al_token_model *model, struct al_span text, int32_t *out)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.n; i++) {
		const unsigned char byte = (unsigned char)text.data[i];
		const char name[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
		out[i] = model->first_byte > 0
			? model->first_byte + byte
			: al_vocab_find(&model->vocab, (struct al_span){name, sizeof(name)});
		if (out[i] < 0)
			return false;
	}
	return true;
}
