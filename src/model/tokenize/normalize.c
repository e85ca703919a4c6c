/* "normalizer" of tokenizer.json: what a text becomes before it is split. Unicode's forms and small
 * letters are GLib's, its properties PCRE2's.
 *= huggingface/tokenizers, tokenizers/src/normalizers */
#include "model/tokenize/internal.h"

#include <glib.h>
#include <string.h>

#define CHINESE \
	"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}" \
	"\\x{2B740}-\\x{2B81F}\\x{2B920}-\\x{2CEAF}\\x{F900}-\\x{FAFF}\\x{2F800}-\\x{2FA1F}]"

/* ---- steps ---- */

static void add_replacement(struct al_tokenizer_reader *r, const char *pattern, const char *by)
{
	al_steps_add(r->steps, r->arena,
		(struct al_step){.run = al_step_replace,
			.pattern = al_pattern_of(r->arena, pattern),
			.text = al_span_of(by)});
}

static void add_text(struct al_text_pieces *out, struct al_arena *memory,
	const struct al_piece *piece, const char *text, size_t n)
{
	al_pieces_add(out, memory,
		(struct al_piece){{al_strndup(memory, text, n), n}, piece->token, piece->is_first});
}

static bool run_form(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err)
{
	const char *at = piece->text.data, *end = at + piece->text.n;
	GString *all = g_string_new(NULL);

	(void)err;
	/* g_utf8_normalize ends at NUL, which is its own form */
	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));
		char *part = g_utf8_normalize(at, (stop ? stop : end) - at,
			(GNormalizeMode)step->form);
		g_string_append(all, part ? part : "");
		g_free(part);
		if (stop)
			g_string_append_c(all, '\0');
		at = stop ? stop + 1 : end;
	}
	add_text(out, memory, piece, all->str, all->len);
	g_string_free(all, TRUE);
	return true;
}

/* Character by character, without the rules that depend on neighbours. */
static bool run_lowercase(const struct al_step *step, struct al_arena *memory,
	const struct al_piece *piece, struct al_text_pieces *out, struct al_error *err)
{
	const char *end = piece->text.data + piece->text.n;
	GString *all = g_string_new(NULL);

	(void)step;
	(void)err;
	for (const char *p = piece->text.data; p < end; p += g_utf8_skip[(unsigned char)*p]) {
		const gunichar c = g_utf8_get_char(p);
		g_string_append_unichar(all, c == 0x130 ? 'i' : g_unichar_tolower(c));
		if (c == 0x130) /* I with a dot: the only one that becomes two */
			g_string_append_unichar(all, 0x307);
	}
	add_text(out, memory, piece, all->str, all->len);
	g_string_free(all, TRUE);
	return true;
}

static void add_form(struct al_tokenizer_reader *r, GNormalizeMode form)
{
	al_steps_add(r->steps, r->arena, (struct al_step){.run = run_form, .form = (int)form});
}

static void add_lowercase(struct al_tokenizer_reader *r)
{
	al_steps_add(r->steps, r->arena, (struct al_step){.run = run_lowercase});
}

/* ---- parts that are a type alone ---- */

static bool read_nfc(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_form(r, G_NORMALIZE_NFC);
	return al_read_type_alone(r, node, err);
}

static bool read_nfd(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_form(r, G_NORMALIZE_NFD);
	return al_read_type_alone(r, node, err);
}

static bool read_nfkc(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_form(r, G_NORMALIZE_NFKC);
	return al_read_type_alone(r, node, err);
}

static bool read_nfkd(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_form(r, G_NORMALIZE_NFKD);
	return al_read_type_alone(r, node, err);
}

static bool read_lowercase(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_lowercase(r);
	return al_read_type_alone(r, node, err);
}

static bool read_strip_accents(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_replacement(r, "\\p{M}", "");
	return al_read_type_alone(r, node, err);
}

static bool read_nmt(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_replacement(r, "[\\x01-\\x08\\x0B\\x0E-\\x1F\\x7F\\x{8F}\\x{9F}]", "");
	add_replacement(r,
		"[\\x09\\x0A\\x0C\\x0D\\x{1680}\\x{200B}-\\x{200F}\\x{2028}\\x{2029}\\x{2581}"
		"\\x{FEFF}\\x{FFFD}]",
		" ");
	return al_read_type_alone(r, node, err);
}

static bool read_byte_level(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	al_steps_add(r->steps, r->arena, (struct al_step){.run = al_step_bytes});
	return al_read_type_alone(r, node, err);
}

/* ---- parts with settings ---- */

struct bert {
	bool cleans_text, spaces_chinese, lowercases;
	int strips_accents; /* -1: as `lowercases` */
};

static bool read_strips(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	bool value = false;

	if (al_json_kind(node) == AL_JSON_NULL)
		return *(int *)out = -1, true;
	if (!al_json_boolean(r->doc, node, &value, err))
		return false;
	*(int *)out = value;
	return true;
}

static bool read_bert(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("clean_text", BOOLEAN, offsetof(struct bert, cleans_text)), .fallback = 1},
		{AL_KEY("handle_chinese_chars", BOOLEAN, offsetof(struct bert, spaces_chinese)),
			.fallback = 1},
		{AL_KEY("strip_accents", BY, offsetof(struct bert, strips_accents)),
			.read = read_strips},
		{AL_KEY("lowercase", BOOLEAN, offsetof(struct bert, lowercases)), .fallback = 1},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct bert bert = {.strips_accents = -1};

	if (!al_record_read(&r->source, &record, node, &bert, err))
		return false;
	if (bert.cleans_text) {
		add_replacement(r, "(?![\\t\\n\\r])[\\p{C}\\x{FFFD}]", "");
		add_replacement(r, "\\p{White_Space}", " ");
	}
	if (bert.spaces_chinese) {
		add_replacement(r, "(?=" CHINESE ")", " ");
		add_replacement(r, "(?<=" CHINESE ")", " ");
	}
	if (bert.strips_accents < 0 ? bert.lowercases : bert.strips_accents) {
		add_form(r, G_NORMALIZE_NFD);
		add_replacement(r, "\\p{Mn}", "");
	}
	if (bert.lowercases)
		add_lowercase(r);
	return true;
}

struct strip {
	bool left, right;
};

static bool read_strip(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("strip_left", BOOLEAN, offsetof(struct strip, left)), .is_required = true},
		{AL_KEY("strip_right", BOOLEAN, offsetof(struct strip, right)),
			.is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct strip strip = {0};

	if (!al_record_read(&r->source, &record, node, &strip, err))
		return false;
	if (strip.left)
		add_replacement(r, "\\A\\p{White_Space}+", "");
	if (strip.right)
		add_replacement(r, "\\p{White_Space}+\\z", "");
	return true;
}

static bool read_prepend(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("prepend", TEXT, 0), .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	const char *text;

	if (!al_record_read(&r->source, &record, node, &text, err))
		return false;
	al_steps_add(r->steps, r->arena,
		(struct al_step){.run = al_step_prefix,
			.text = al_span_of(text),
			.is_inverted = true});
	return true;
}

struct replacement {
	const struct al_pattern *pattern;
	const char *content;
};

static bool read_replace(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("pattern", BY, offsetof(struct replacement, pattern)),
			.read = al_read_pattern, .is_required = true},
		{AL_KEY("content", TEXT, offsetof(struct replacement, content)),
			.is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct replacement by = {0};

	if (!al_record_read(&r->source, &record, node, &by, err))
		return false;
	al_steps_add(r->steps, r->arena,
		(struct al_step){.run = al_step_replace,
			.pattern = by.pattern,
			.text = al_span_of(by.content)});
	return true;
}

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err);

static const struct al_step_type parts[] = {
	{"BertNormalizer", read_bert},
	{"ByteLevel", read_byte_level},
	{"Lowercase", read_lowercase},
	{"NFC", read_nfc},
	{"NFD", read_nfd},
	{"NFKC", read_nfkc},
	{"NFKD", read_nfkd},
	{"Nmt", read_nmt},
	{"Precompiled", al_precompiled_read},
	{"Prepend", read_prepend},
	{"Replace", read_replace},
	{"Sequence", read_sequence},
	{"Strip", read_strip},
	{"StripAccents", read_strip_accents},
};

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return al_part_read_all(r, node, "normalizers", "normalizer", parts,
		sizeof(parts) / sizeof(*parts), err);
}

bool al_normalizer_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return al_part_read(r, node, "normalizer", parts, sizeof(parts) / sizeof(*parts), err);
}
