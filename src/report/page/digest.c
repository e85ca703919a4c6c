/* SHA-256 (FIPS 180-4), in base 64. */
#include "report/page/html.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK_BYTES = 64, STATE_WORDS = 8, ROUNDS = 64, DIGEST_BYTES = 32 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[ROUNDS] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,
	0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
	0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
	0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
	0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int bits)
{
	return x >> bits | x << (32 - bits);
}

static void expand(const unsigned char block[BLOCK_BYTES], uint32_t w[ROUNDS])
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16
			| (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < ROUNDS; i++) {
		const uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7]
			+ (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
}

static void take_block(uint32_t state[STATE_WORDS], const unsigned char block[BLOCK_BYTES])
{
	uint32_t w[ROUNDS], s[STATE_WORDS];

	expand(block, w);
	memcpy(s, state, sizeof(s));
	for (int i = 0; i < ROUNDS; i++) {
		const uint32_t e = s[4], a = s[0];
		const uint32_t t1 = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25))
			+ ((e & s[5]) ^ (~e & s[6])) + round_constants[i] + w[i];
		const uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22))
			+ ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < STATE_WORDS; i++)
		state[i] += s[i];
}

/* What is left of the text, a bit, and the length in bits. */
static void take_end(uint32_t state[STATE_WORDS], const char *rest, size_t n, uint64_t bits)
{
	unsigned char block[2 * BLOCK_BYTES] = {0};
	const size_t end = n + 9 <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;

	memcpy(block, rest, n);
	block[n] = 0x80;
	for (size_t i = 0; i < 8; i++)
		block[end - 1 - i] = (unsigned char)(bits >> 8 * i);
	for (size_t at = 0; at < end; at += BLOCK_BYTES)
		take_block(state, block + at);
}

static void write_base64(const unsigned char *bytes, size_t n, char *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		const size_t left = n - i;
		const uint32_t group = (uint32_t)bytes[i] << 16
			| (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0)
			| (left > 2 ? bytes[i + 2] : 0);
		*out++ = letters[group >> 18];
		*out++ = letters[group >> 12 & 63];
		*out++ = (char)(left > 1 ? letters[group >> 6 & 63] : '=');
		*out++ = (char)(left > 2 ? letters[group & 63] : '=');
	}
	*out = '\0';
}

void al_html_add_base64(struct al_text *out, const char *bytes, size_t length)
{
	enum { GROUP = 3 };
	char letters[5];

	for (size_t at = 0; at < length; at += GROUP) {
		const size_t left = length - at;
		write_base64((const unsigned char *)bytes + at, left < GROUP ? left : GROUP,
			letters);
		al_text_add(out, letters);
	}
}

void al_html_digest(const char *text, size_t length, char out[AL_HTML_DIGEST_BYTES])
{
	uint32_t state[STATE_WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
		0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	unsigned char digest[DIGEST_BYTES];
	size_t at = 0;

	for (; length - at >= BLOCK_BYTES; at += BLOCK_BYTES)
		take_block(state, (const unsigned char *)text + at);
	take_end(state, text + at, length - at, (uint64_t)length * 8);
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
	write_base64(digest, DIGEST_BYTES, out);
}
