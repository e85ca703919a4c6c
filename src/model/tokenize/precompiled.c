/* SentencePiece's replacements, "precompiled_charsmap" in base64: uint32 bytes of a double-array
 * trie; its units; then what texts become, each ended by NUL, at the offsets that the trie gives.
 * A grapheme of up to five bytes is replaced by what its first known prefix becomes, else character
 * by character: so the reference implementation does it.
 *= huggingface/spm_precompiled; google/sentencepiece, third_party/darts_clone */
#include "model/tokenize/internal.h"

#include <glib.h>

enum { MOST_GRAPHEME = 5 };

struct al_charsmap {
	const uint32_t *units;
	size_t n_units;
	const char *texts; /* ended by NUL */
	size_t n_texts;
	const struct al_pattern *graphemes;
};

/* ---- the trie (Darts-clone) ---- */

static uint32_t offset_of(uint32_t unit)
{
	return unit >> 10 << ((unit & 1u << 9) >> 6);
}

/* No text begins within a character: it would not be UTF-8. */
static const char *text_at(const struct al_charsmap *map, uint32_t unit)
{
	const uint32_t at = unit & 0x7fffffffu;

	return at < map->n_texts && (map->texts[at] & 0xC0) != 0x80 ? map->texts + at : NULL;
}

/* The replacement of a text's shortest known prefix; NULL: no prefix is known. */
static const char *find(const struct al_charsmap *map, struct al_span text)
{
	uint32_t node = map->n_units > 0 ? offset_of(map->units[0]) : 0;

	for (size_t i = 0; i < text.n; i++) {
		const unsigned char byte = (unsigned char)text.data[i];
		node ^= byte;
		if (byte == 0 || node >= map->n_units
			|| (map->units[node] & (1u << 31 | 0xff)) != byte)
			return NULL;
		const uint32_t unit = map->units[node];
		node ^= offset_of(unit);
		if (node >= map->n_units)
			return NULL;
		if (unit >> 8 & 1)
			return text_at(map, map->units[node]);
	}
	return NULL;
}

/* ---- the step ---- */

static void add_by_character(const struct al_charsmap *map, struct al_span text,
	struct al_text *out)
{
	for (size_t at = 0, n; at < text.n; at += n) {
		n = al_utf8_length(text.data + at, text.n - at);
		const char *by = find(map, al_span_part(text, at, at + n));
		if (by)
			al_text_add(out, by);
		else
			al_text_add_bytes(out, text.data + at, n);
	}
}

static bool run_charsmap(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const struct al_charsmap *map = step->data;
	struct al_scan search = al_scan_in(to, map->graphemes, piece->text);
	struct al_match match;
	struct al_text text;

	al_text_init(&text);
	while (al_scan_next(&search, &match)) {
		const struct al_span part = al_span_part(piece->text, match.first, match.end);
		const char *by = part.n <= MOST_GRAPHEME ? find(map, part) : NULL;
		if (by)
			al_text_add(&text, by);
		else
			add_by_character(map, part, &text);
		search.failed = !al_budget_check(to->budget, text.length, to->err);
	}
	al_pieces_take(to, piece, &text);
	return !search.failed;
}

/* ---- the file ---- */

/* Bytes of the file are little-endian, as this program's machines are. */
bool al_charsmap_add(struct al_text_steps *steps, struct al_arena *arena,
	const unsigned char *bytes, size_t n)
{
	struct al_charsmap *map = al_new(arena, struct al_charsmap);
	uint32_t n_trie = 0;

	if (n < 4)
		return false;
	memcpy(&n_trie, bytes, 4);
	if (n_trie % 4 != 0 || n_trie > n - 4)
		return false;
	uint32_t *units = al_new_array(arena, uint32_t, n_trie / 4);
	memcpy(units, bytes + 4, n_trie);
	*map = (struct al_charsmap){.units = units,
		.n_units = n_trie / 4,
		.n_texts = n - 4 - n_trie,
		.graphemes = al_pattern_of(arena, "\\X")};
	map->texts = al_strndup(arena, (const char *)bytes + 4 + n_trie, map->n_texts);
	al_steps_add(steps, arena, (struct al_step){.run = run_charsmap, .data = map});
	return al_utf8_valid(map->texts, map->n_texts) == map->n_texts;
}

/* GLib passes over what is no digit. */
static bool is_base64(const char *text)
{
	const size_t n = strspn(text,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
	const size_t n_padding = strspn(text + n, "=");

	return !text[n + n_padding] && n_padding <= 2 && (n + n_padding) % 4 == 0;
}

bool al_precompiled_add(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	gsize n = 0;
	guchar *bytes = is_base64(part->charsmap) ? g_base64_decode(part->charsmap, &n) : NULL;
	const bool ok = bytes && al_charsmap_add(r->steps, r->arena, bytes, n);

	g_free(bytes);
	return ok
		|| al_json_fail(r->doc, al_json_get(part->node, "precompiled_charsmap"), err,
			"\"precompiled_charsmap\" isn't a table of replacements in base64");
}
