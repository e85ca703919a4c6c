/* Vocabularies: which token a text is. A table with open addressing, half of it free. */
#include "model/tokenize/internal.h"

/* Two seconds' worth. */
static const size_t most_lookups = (size_t)1 << 28;

void al_vocab_init(struct al_vocab *vocab, struct al_arena *arena, size_t n)
{
	*vocab = (struct al_vocab){.n_slots = 4};
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
	size_t i = (size_t)(hash ^ hash >> 32) & mask;

	while (vocab->slots[i].token >= 0
		&& (vocab->slots[i].text.n != text.n
			|| memcmp(vocab->slots[i].text.data, text.data, text.n) != 0))
		i = (i + 1) & mask;
	return &vocab->slots[i];
}

void al_vocab_add(struct al_vocab *vocab, struct al_span text, int32_t token)
{
	*find_slot(vocab, text,
		al_hash(AL_HASH_EMPTY, text.data, text.n)) = (struct al_vocab_slot){text, token};
	if (text.n > vocab->longest)
		vocab->longest = text.n;
}

bool al_vocab_check_lookups(const struct al_vocab *vocab, size_t n_bytes, struct al_error *err)
{
	const size_t most = vocab->longest ? most_lookups / vocab->longest : SIZE_MAX;

	return n_bytes <= most
		|| al_fail(err, AL_EINPUT,
			"%zu bytes, expected at most %zu, since the vocabulary has a piece of %zu "
			"bytes",
			n_bytes, most, vocab->longest);
}

int32_t al_vocab_find_hashed(const struct al_vocab *vocab, struct al_span text, uint64_t hash)
{
	return find_slot(vocab, text, hash)->token;
}

int32_t al_vocab_find(const struct al_vocab *vocab, struct al_span text)
{
	return al_vocab_find_hashed(vocab, text, al_hash(AL_HASH_EMPTY, text.data, text.n));
}

int32_t al_vocab_find_longest(const struct al_vocab *vocab, struct al_span text, size_t least,
	size_t *length)
{
	uint64_t hash = AL_HASH_EMPTY;
	int32_t best = -1;

	for (size_t n = 1; n <= text.n && n <= vocab->longest; n++) {
		hash = al_hash(hash, text.data + n - 1, 1);
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
