/* "normalizer" of tokenizer.json: what a text becomes before it is split. Unicode's forms and small
 * letters are GLib's, its properties PCRE2's.
 *= huggingface/tokenizers, tokenizers/src/normalizers */
#include "model/tokenize/internal.h"

#include <glib.h>

#define CHINESE \
	"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}" \
	"\\x{2B740}-\\x{2B81F}\\x{2B920}-\\x{2CEAF}\\x{F900}-\\x{FAFF}\\x{2F800}-\\x{2FA1F}]"

/* ---- steps ---- */

enum { FORM_BYTES = 36, FORM_STEPS = 16 };

static bool run_form(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const char *at = piece->text.data, *end = at + piece->text.n;
	struct al_text all;

	/* GLib's own memory: a character may become 18, of 4 bytes each at first */
	if (!al_budget_check(to->budget, piece->text.n * FORM_BYTES, to->err)
		|| !al_budget_take(to->budget, piece->text.n * FORM_STEPS, to->err))
		return false;
	al_text_init(&all);
	/* g_utf8_normalize ends at NUL, which is its own form */
	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));
		char *part = g_utf8_normalize(at, (stop ? stop : end) - at,
			(GNormalizeMode)step->form);
		al_text_add(&all, part ? part : "");
		g_free(part);
		if (stop)
			al_text_add_repeated(&all, '\0', 1);
		at = stop ? stop + 1 : end;
	}
	al_pieces_take(to, piece, &all);
	return true;
}

/* Character by character, without the rules that depend on neighbors. */
/* GLib has no small forms of Roman numbers and of letters in circles. */
static gunichar to_lowercase(gunichar c)
{
	if (c >= 0x2160 && c <= 0x216f)
		return c + 16;
	if (c >= 0x24b6 && c <= 0x24cf)
		return c + 26;
	return g_unichar_tolower(c);
}

static bool run_lowercase(const struct al_step *step, const struct al_piece *piece,
	struct al_stepping *to)
{
	const char *end = piece->text.data + piece->text.n;
	struct al_text all;

	(void)step;
	al_text_init(&all);
	for (const char *p = piece->text.data; p < end; p += g_utf8_skip[(unsigned char)*p]) {
		const gunichar c = g_utf8_get_char(p);
		char lower[6];
		const int n = g_unichar_to_utf8(to_lowercase(c), lower);
		if (c == 0x130) /* I with a dot: the only one that becomes two */
			al_text_add(&all, "i\u0307");
		else
			al_text_add_bytes(&all, lower, (size_t)n);
	}
	al_pieces_take(to, piece, &all);
	return true;
}

/* ---- parts with settings ---- */

#define AT(member) offsetof(struct al_text_part, member)

/* All that matches becomes a text. */
#define REPLACE(pattern, by) \
	{ \
		.run = al_step_replace, .regex = (pattern), .text = (by) \
	}
#define FORM(of) \
	{ \
		.run = run_form, .form = G_NORMALIZE_##of \
	}

static void add_steps(struct al_text_steps *to, struct al_arena *arena, const struct al_step *steps,
	size_t n, bool holds)
{
	for (size_t i = 0; holds && i < n; i++)
		al_steps_add(to, arena, steps[i]);
}

static bool read_strips(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	bool value = false;

	if (!node || al_json_kind(node) == AL_JSON_NULL)
		return *(int *)out = -1, true;
	if (!al_json_boolean(r->doc, node, &value, err))
		return false;
	*(int *)out = value;
	return true;
}

static const struct al_field bert_fields[] = {
	{AL_KEY("clean_text", BOOLEAN, AT(cleans_text)), .fallback = 1},
	{AL_KEY("handle_chinese_chars", BOOLEAN, AT(spaces_chinese)), .fallback = 1},
	{AL_KEY("strip_accents", BY, AT(strips_accents)), .read = read_strips,
		.reads_absent = true},
	{AL_KEY("lowercase", BOOLEAN, AT(lowercases)), .fallback = 1},
};

static void add_bert_steps(struct al_text_steps *steps, struct al_arena *arena,
	const struct al_text_part *bert)
{
	static const struct al_step clean[] = {
		REPLACE("(?![\\t\\n\\r])[\\p{Cc}\\p{Cf}\\p{Co}\\x{FFFD}]", ""),
		REPLACE("\\p{White_Space}", " "),
	};
	static const struct al_step space[] = {
		REPLACE("(?=" CHINESE ")", " "),
		REPLACE("(?<=" CHINESE ")", " "),
	};
	static const struct al_step strip[] = {FORM(NFD), REPLACE("\\p{Mn}", "")};
	static const struct al_step lower[] = {{.run = run_lowercase}};

	add_steps(steps, arena, clean, 2, bert->cleans_text);
	add_steps(steps, arena, space, 2, bert->spaces_chinese);
	add_steps(steps, arena, strip, 2,
		bert->strips_accents < 0 ? bert->lowercases : bert->strips_accents != 0);
	add_steps(steps, arena, lower, 1, bert->lowercases);
}

static bool add_bert(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	(void)err;
	add_bert_steps(r->steps, r->arena, part);
	return true;
}

void al_bert_normalizer_add(struct al_text_steps *steps, struct al_arena *arena)
{
	add_bert_steps(steps, arena,
		&(struct al_text_part){.cleans_text = true,
			.spaces_chinese = true,
			.lowercases = true,
			.strips_accents = -1});
}

const struct al_step al_nfc = FORM(NFC);
const struct al_step al_strip[2] = {
	REPLACE("\\A\\p{White_Space}+", ""),
	REPLACE(AL_BLANK_AT_END, ""),
};

static const struct al_field strip_fields[] = {
	{AL_KEY("strip_left", BOOLEAN, AT(left)), .is_required = true},
	{AL_KEY("strip_right", BOOLEAN, AT(right)), .is_required = true},
};

static bool add_strip(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	(void)err;
	add_steps(r->steps, r->arena, &al_strip[0], 1, part->left);
	add_steps(r->steps, r->arena, &al_strip[1], 1, part->right);
	return true;
}

static const struct al_field prepend_fields[] = {
	{AL_KEY("prepend", TEXT, AT(step.text)), .is_required = true},
};

static const struct al_field replace_fields[] = {
	{AL_KEY("pattern", BY, AT(step.pattern)), .read = al_read_pattern, .is_required = true},
	{AL_KEY("content", TEXT, AT(step.text)), .is_required = true},
};

static const struct al_field precompiled_fields[] = {
	{AL_KEY("precompiled_charsmap", TEXT, AT(charsmap)), .is_required = true},
};

static const struct al_part_type types[] = {
	{"BertNormalizer", AL_FIELDS(bert_fields), .add = add_bert},
	{"ByteLevel", .steps = {{.run = al_step_bytes}}},
	{"Lowercase", .steps = {{.run = run_lowercase}}},
	{"NFC", .steps = {FORM(NFC)}},
	{"NFD", .steps = {FORM(NFD)}},
	{"NFKC", .steps = {FORM(NFKC)}},
	{"NFKD", .steps = {FORM(NFKD)}},
	{"Nmt",
		.steps = {REPLACE("[\\x01-\\x08\\x0B\\x0E-\\x1F\\x7F\\x{8F}\\x{9F}]", ""),
			REPLACE("[\\x09\\x0A\\x0C\\x0D\\x{1680}\\x{200B}-\\x{200F}\\x{2028}\\x{"
				"2029}"
				"\\x{2581}\\x{FEFF}\\x{FFFD}]",
				" ")}},
	{"Precompiled", AL_FIELDS(precompiled_fields), .add = al_precompiled_add},
	{"Prepend", AL_FIELDS(prepend_fields),
		.steps = {{.run = al_step_prefix, .is_inverted = true}}},
	{"Replace", AL_FIELDS(replace_fields), .steps = {{.run = al_step_replace}}},
	{"Strip", AL_FIELDS(strip_fields), .add = add_strip},
	{"StripAccents", .steps = {REPLACE("\\p{M}", "")}},
};

const struct al_part_kind al_normalizers = {"normalizer", "normalizers", types,
	sizeof(types) / sizeof(*types)};
